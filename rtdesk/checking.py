"""`rtdesk check`: the public checkers on the command line."""

from __future__ import annotations

from typing import Any

from rtdesk.leave import Exit
from rtdesk.say import print_json, print_plain

__all__ = ["check"]


def check(kind: str, name: str, *, game: str | None, as_json: bool) -> int:
    """Print what is wrong with a `kind` (game, agent, backend) called `name`. Returns 0 if nothing is, else 1."""
    if kind == "game":
        if game is not None:
            raise Exit(2, "--game says what an agent or a backend is tried on; a game needs no other: leave it out")
        from games.check import check_game

        report = check_game(name)
    else:
        from workers.check import check_agent, check_backend

        report = (check_agent if kind == "agent" else check_backend)(name, game=game or "snake")
    if as_json:
        findings: list[dict[str, Any]] = [{"check": found.check, "problem": found.problem, "cause": found.cause} for found in report.findings]
        print_json({"kind": kind, "subject": name, "ok": report.ok, "checks": list(report.checks), "findings": findings})
    else:
        print_plain("\n".join(report.lines()))
    return 0 if report.ok else 1
