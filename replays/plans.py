"""Read, from a planner's text as it arrives, the few lines a screen pins: best line, goal, warnings.

Any thinker may write them; the builtin one always does (`Best line so far: Turn 12: U to (3,5); ...`, `GOAL ...`,
`WARNING ...`). The one thing that surprises: a plan line says either where its move leads ("to") or where it is made
("from"), and both are turned into one question, "where must the player stand when this turn begins?".
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

__all__ = ["Pins", "PlanLine", "PlanStep", "position", "read_plan", "where"]

Cell = tuple[int, ...]

_STEP = re.compile(r"Turn (\d{1,6}): ([A-Za-z])\b(?: (to|from) (\(-?\d{1,4},-?\d{1,4}\)|lane \d{1,3}))?")
_BEST = re.compile(r"best line(?: so far)?:", re.IGNORECASE)
_NAME = re.compile(r"\w|\s*[=,)\]]")
_NUMBERS = re.compile(r"-?\d+")
_TURN = re.compile(r"\bturn (\d{1,6})")

LINE_LIMIT = 8192
"""Characters of one line that are looked at; what follows is ignored."""


class PlanStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One move of a plan."""

    turn: int
    letter: str
    to: Cell | None = None
    """Where it leads: (x, y), or (lane,)."""
    start: Cell | None = None
    """Where it is made."""


class PlanLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of moves, each for a turn of its own."""

    generation: int
    """Turn the thinking it stands in is about."""
    steps: tuple[PlanStep, ...]
    note: str = ""
    """What the thinker says of it, such as `It eats 2 and leaves me alive.`"""

    def step(self, turn: int) -> PlanStep | None:
        return next((step for step in self.steps if step.turn == turn), None)

    def expects(self, turn: int) -> Cell | None:
        """Return where the player must stand when `turn` begins for the line to hold; None if the line does not say."""
        for step in self.steps:
            if step.turn == turn and step.start is not None:
                return step.start
            if step.turn == turn - 1 and step.to is not None:
                return step.to
        return None

    def covers(self, turn: int) -> bool:
        return self.step(turn) is not None


def read_plan(line: str, generation: int) -> PlanLine | None:
    """Return the plan a line of text holds, or None. Text in front of the first `Turn n: X` is no part of it."""
    steps: list[PlanStep] = []
    end = 0
    for match in _STEP.finditer(line):
        turn, letter, word, place = match.groups()
        cell = tuple(int(number) for number in _NUMBERS.findall(place)) if place else None
        steps.append(PlanStep(int(turn), letter.upper(), cell if word == "to" else None, cell if word == "from" else None))
        end = match.end()
    if not steps:
        return None
    # Behind the last step its position may go on ("holding onion"); what is said of the line begins a sentence of its own.
    _, _, note = line[end:].partition(". ")
    return PlanLine(generation, tuple(steps), note.strip())


class Pins(msgspec.Struct, omit_defaults=True):
    """What is pinned, and the unfinished line it is read from. `feed` takes clean text in pieces of any size."""

    best: PlanLine | None = None
    goal: str = ""
    goal_turn: int = -1
    """Turn the thinking the goal stands in is about."""
    warnings: list[str] = []
    """Newest first, at most four, of the newest thinking."""
    warned: int = -1
    """Turn the thinking the warnings stand in is about."""
    line: str = ""

    def begin(self) -> None:
        """A generation starts: what is pinned stays until the new thinking says better."""
        self.line = ""

    def feed(self, back: int, text: str, generation: int) -> None:
        first, border, rest = text.partition("\n")
        line = (self.line[:-back] if back else self.line) + first
        if border:
            self._read(line[:LINE_LIMIT], generation)
            cut = rest.rfind("\n")
            if cut >= 0:
                self._read_all(rest[:cut], generation)
            line = rest[cut + 1 :]
        # One more than is looked at, so that taking one back stays right.
        self.line = line[: LINE_LIMIT + 1]

    def close(self, generation: int) -> None:
        """The generation is over: read the line it broke off in."""
        self._read(self.line[:LINE_LIMIT], generation)
        self.line = ""

    def _read_all(self, text: str, generation: int) -> None:
        """Read whole lines, many at once.

        A recording's ticks are folded by the dozen for a jump: looking for the three words first, and parsing only the last line that is
        a plan, costs a fraction of reading line by line.
        """
        if not text.isascii():
            # Another alphabet's lower case may have other lengths.
            for line in text.split("\n"):
                self._read(line[:LINE_LIMIT], generation)
            return
        starts = set()
        for source, word in ((text, "GOAL"), (text, "WARNING"), (text.lower(), "best line")):
            at = source.find(word)
            while at >= 0:
                starts.add(text.rfind("\n", 0, at) + 1)
                # On from the next line: a line of nothing but such words is looked at once.
                end = text.find("\n", at)
                at = source.find(word, end) if end >= 0 else -1
        plans: list[str] = []
        for start in sorted(starts):
            end = text.find("\n", start)
            line = self._read_words(text[start : end if end >= 0 else len(text)][:LINE_LIMIT], generation)
            if line:
                plans.append(line)
        self._take_last(plans, generation)

    def _read(self, line: str, generation: int) -> None:
        plan = self._read_words(line, generation)
        if plan:
            self._take_last([plan], generation)

    def _take_last(self, plans: list[str], generation: int) -> None:
        for line in reversed(plans):
            plan = read_plan(line, generation)
            if plan is not None:
                self.best = plan
                return

    def _read_words(self, line: str, generation: int) -> str:
        """Take goal and warning from a line; return what stands behind `best line:` in it, empty if that is not there."""
        line = line.strip()
        if len(line) < 6:
            return ""
        if line.startswith("WARNING"):
            text = line[7:].lstrip(": ").rstrip(".")
            if self.warned != generation:
                self.warned, self.warnings = generation, []
            self.warnings = [text, *(one for one in self.warnings if one != text)][:4]
            return ""
        best = _BEST.search(line)
        # In a program it may be a name.
        if line.startswith("GOAL") and not _NAME.match(line, 4):
            text = line[4 : best.start() if best else len(line)].lstrip(": ").rstrip(". ")
            if text:
                self.goal, self.goal_turn = text.removeprefix("target "), generation
        return line[best.end() :] if best is not None else ""


def position(snapshot: dict[str, Any], player: int = 0) -> Cell | None:
    """Return where a player stands, from a game's snapshot, as plan lines write it: (x, y), or (lane,); None if unknown."""
    try:
        if "snake" in snapshot:
            return tuple(int(number) for number in snapshot["snake"][0])
        if "players" in snapshot:
            return tuple(int(number) for number in snapshot["players"][player][0])
        if "cars" in snapshot and "pos" in snapshot:
            return (9 - int(snapshot["pos"]),)
    except (IndexError, KeyError, OverflowError, TypeError, ValueError):
        # Snapshots come from files: one of another shape has no position, and that is all.
        return None
    return None


def where(cell: Cell | None) -> str:
    """Return a position in words.

    >>> where((3, 5)), where((4,))
    ('(3,5)', 'lane 4')
    """
    if cell is None:
        return "?"
    return f"lane {cell[0]}" if len(cell) == 1 else f"({','.join(str(number) for number in cell)})"


def until(warning: str) -> int | None:
    """Return the last turn a warning names, or None."""
    turns = _TURN.findall(warning)
    return int(turns[-1]) if turns else None
