"""Is this a game? `check_game("snake")`, or a path, or any object with SPEC and Game, gives a report of what is wrong and why.

It plays short episodes in every load, compares what should be equal byte for byte, and tries what must be refused. The one thing that
surprises: it finds what is wrong in one process only. A game that walks over a set of strings differs between processes, and passes.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import msgspec

import games
from games._checks import CHECKS, GATES
from games._subject import Subject
from games.base import GameError

__all__ = ["CheckFailed", "Finding", "Report", "check_game", "run_checks"]

# More of one kind say nothing new.
_PER_CHECK = 3

Check = Callable[[Any], Iterator[tuple[str, str]]]


class CheckFailed(AssertionError):
    """A report with findings, raised by `Report.raise_on_error` for use in tests."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong."""

    check: str
    """Which check found it, such as `determinism`."""
    problem: str
    """What was given and what was expected."""
    cause: str = ""
    """The likely cause, and so what to try."""

    def __str__(self) -> str:
        return self.problem + (f"; likely cause: {self.cause}" if self.cause else "")


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a checker found."""

    kind: str
    """game, agent or backend."""
    subject: str
    """What was checked, as it was named."""
    checks: tuple[str, ...]
    """The checks that ran, in order; fewer than usual where one made the rest pointless."""
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not self.findings

    def lines(self) -> list[str]:
        """Return the report for a person: a line a check, and under it what is wrong."""
        out = []
        for check in self.checks:
            found = [finding for finding in self.findings if finding.check == check]
            out.append(f"{'FAIL' if found else 'ok':5} {check}")
            for finding in found:
                out.append(f"        {finding.problem}")
                if finding.cause:
                    out.append(f"        likely cause: {finding.cause}")
        count = len(self.findings)
        verdict = "passes" if self.ok else f"has {count} problem{'s' if count > 1 else ''}"
        return [*out, f"{self.kind} {self.subject} {verdict} ({len(self.checks)} checks)"]

    def raise_on_error(self) -> Report:
        """Return the report, or raise CheckFailed with all its findings if there are any."""
        if self.findings:
            raise CheckFailed("\n".join([f"{self.kind} {self.subject}:", *(f"  {finding.check}: {finding}" for finding in self.findings)]))
        return self


def run_checks(kind: str, name: str, subject: Any, *, gates: Sequence[tuple[str, Check]], checks: Sequence[tuple[str, Check]]) -> Report:
    """Run checks in order and return their report; where a gate found something, what comes after it would only repeat it and does not run.

    A check yields (problem, likely cause) pairs. What it raises is a finding too, with the place it came from.
    """
    done: list[str] = []
    findings: list[Finding] = []
    for place, (title, check) in enumerate((*gates, *checks)):
        if findings and place <= len(gates):
            break
        done.append(title)
        findings += _found(title, check, subject)
    return Report(kind=kind, subject=name, checks=tuple(done), findings=tuple(findings))


def check_game(game: str | ModuleType | Any, *, steps: int = 120, seeds: tuple[int, ...] | None = None) -> Report:
    """Return what is wrong with a game: its name, the path of its file, its module, or an object with SPEC and Game.

    `steps` bounds each episode played; `seeds` are those played, by default the smallest, the next and the largest. Raises GameError if
    there is no game of that name, or its file does not load.

    >>> check_game("snake", steps=20).ok
    True
    """
    module = games._module(game) if isinstance(game, str) else game
    name = game if isinstance(game, str) else getattr(getattr(module, "SPEC", None), "name", None) or getattr(module, "__name__", "game")
    missing = [part for part in ("SPEC", "Game") if not hasattr(module, part)]
    if missing:
        raise GameError(f"{name!r} is no game: it has no {' and no '.join(missing)}; a game module defines SPEC and class Game")
    return run_checks("game", str(name), Subject(module, steps=steps, seeds=seeds), gates=GATES, checks=CHECKS)


def _found(title: str, check: Check, subject: Any) -> list[Finding]:
    findings: list[Finding] = []
    try:
        for problem, cause in check(subject):
            finding = Finding(title, problem, cause)
            if finding not in findings:
                findings.append(finding)
            if len(findings) == _PER_CHECK:
                break
    except Exception as error:
        findings.append(Finding(title, f"raised {type(error).__name__}: {error}", f"see {_place(error)}"))
    return findings


def _place(error: Exception) -> str:
    """Return where an exception was raised, the nearest place outside the checkers first: `mygame.py, line 41, in step`."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.endswith(_OURS)]
    frame = theirs[-1] if theirs else frames[-1]
    return f"{os.path.basename(frame.filename)}, line {frame.lineno}, in {frame.name}"


_OURS = tuple(os.path.join(folder, file) for folder, file in (("games", "check.py"), ("games", "_checks.py"), ("games", "_look_checks.py"), ("games", "_subject.py"), ("workers", "check.py")))
