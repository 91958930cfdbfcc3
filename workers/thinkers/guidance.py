r"""How a builtin reactor reads guidance: plan lines, goals and warnings picked out of text that may be cut anywhere.

The text is all there is; whoever wrote it, a search or a language model, only needs to have used these forms, one a line:

    Best line so far: Turn 12: U to (3,5); Turn 13: R to (4,5).            where each move leads (Snake, Freeway: `to lane 3`)
    Best line so far: Turn 0: U from (3,3) holding nothing; ...            or where it starts (Overcooked)
    If at turn 13 I stand on (2,4) instead: Turn 13: U to (2,5); ...       a line for another place; `, then S; ...` reads as well
    GOAL target food (3,5).
    WARNING avoid food (5,2): dead end until turn 17.

A part that begins `Conclusion of the planner's last finished thinking, made for turn 12:` is older than one that begins `The
planner's thinking so far, unfinished, made for turn 15:`, and of a kind later lines win. A move counts once what follows it shows
that it was not cut: a semicolon, a full stop or the end of its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Line", "Move", "Notes", "read_notes"]


class Move(NamedTuple):
    """One step of a plan line."""

    turn: int
    letter: str
    where: str
    """What stands behind the letter: `to (3,5)`, `to lane 3`, `from (3,3) holding nothing`; empty if nothing does."""


class Line(NamedTuple):
    """One plan line."""

    moves: tuple[Move, ...]
    made_for: int
    """Turn of the observation it was thought on; -1 if the text does not say."""
    finished: bool
    """From the conclusion of a finished thinking, not from one under way."""
    instead: str
    """Where a contingency wants me at its first move, such as `(2,4)` or `lane 3`; empty for a best line."""


class Notes(NamedTuple):
    """What guidance says, oldest first. Plan lines are read only when asked for: most are never looked at."""

    raw_lines: tuple[tuple[str, int, bool], ...]
    goal: str
    """The last goal without its word: `target food (3,5)`; empty if there is none."""
    warnings: tuple[str, ...]
    """Each warning once, without its word and the full stop; those of a finished thinking only if the newer one has no plan line."""

    def lines(self) -> Iterator[Line]:
        """Yield the plan lines, newest first."""
        for text, made_for, finished in reversed(self.raw_lines):
            line = _line(text, made_for, finished)
            if line is not None:
                yield line


_LABEL = re.compile(r"(Conclusion of the planner's last finished thinking|The planner's thinking so far)\b.*?\bmade for turn (\d{1,9}):")
_MARKS = ("Best line", "If at turn ", "GOAL ", "WARNING ", "Conclusion of", "The planner's")
_MOVE = re.compile(r"Turn (\d{1,9}): ([A-Z])(?![A-Za-z]) ?([^;.\n]*)[;.\n]")
_INSTEAD = re.compile(r"If at turn (\d{1,9}) I (?:stand|am) (?:on|at|still on|still at) (.+?)(?: instead)?(?:: |, then ([A-Z])[;.\n])")


def read_notes(guidance: str) -> Notes:
    """Read guidance text. Never fails: what is not in one of the forms is passed over."""
    lines: list[tuple[str, int, bool]] = []
    goal = ""
    warnings: dict[str, bool] = {}
    made_for, finished = -1, False
    # Only the last line can be cut; the others get their end of line back, which shows that they are whole.
    *whole, last = guidance.split("\n")
    for k, text in enumerate((*whole, last)):
        if not text.startswith(_MARKS):
            continue
        if k < len(whole):
            text += "\n"
        if text.startswith(("B", "I")):
            lines.append((text, made_for, finished))
        elif text.startswith("GOAL"):
            goal = _whole(text[5:]) or goal
        elif text.startswith("WARNING"):
            warning = _whole(text[8:])
            if warning:
                warnings[warning] = finished
        else:
            label = _LABEL.match(text)
            if label is not None:
                made_for, finished = int(label[2]), text.startswith("C")
    fresh = any(not done for _, _, done in lines)
    return Notes(tuple(lines), goal, tuple(text for text, done in warnings.items() if not (done and fresh)))


def _whole(text: str) -> str:
    """Return a sentence without its end, or "" if it was cut: only an end of line or a full stop shows that it was not."""
    if text.endswith((".", "\n")):
        return text.rstrip().rstrip(".")
    return ""


def _line(text: str, made_for: int, finished: bool) -> Line | None:
    instead = ""
    moves = []
    if text.startswith("If"):
        match = _INSTEAD.match(text)
        if match is None:
            return None
        instead = match[2]
        if match[3]:
            moves.append(Move(int(match[1]), match[3], ""))
    moves += [Move(int(turn), letter, where.rstrip()) for turn, letter, where in _MOVE.findall(text)]
    return Line(tuple(moves), made_for, finished, instead) if moves else None
