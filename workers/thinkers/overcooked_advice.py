"""How the builtin Overcooked reactor takes the planner's notes: find the line that passes here, walk it on, take its step or drop it.

A plan line says for each turn where I should stand and what I should hold, so the text alone shows whether it still fits. A line that
fits another turn than this one is taken up where it fits: in a kitchen, being late matters less than being in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from games.overcooked import advance, faced
from games.overcooked.kitchen import FLOOR, STEP, Cell
from workers.thinkers.commit import Step
from workers.thinkers.guidance import Line, Notes
from workers.thinkers.overcooked_glance import Glance, at, hands
from workers.tokens import count_tokens

__all__ = ["Advice"]

LATE = 8
"""Turns by which I may be ahead of a line or behind it."""
OLD = 12
"""Turns after which a finished plan is no longer preferred to a line of a thinking under way."""
WALKED = 24
"""Moves of a line that are walked at most."""
TRIED = 2
"""Times I walk against the other cook, which costs no more than waiting, before I drop the step."""

_PLACE = re.compile(r"from \((\d+),(\d+)\) holding (\w+)")
_CELL = re.compile(r"\((\d+),(\d+)\)")
_KEEP_OUT = re.compile(r"keep out of \((\d+),(\d+)\) at turn (\d+)")
_BLOCKED = re.compile(r"with ([UDLRIS]) blocked")
_FIXTURE = {"P": "pot", "O": "the onions", "D": "the dishes", "S": "the serving counter", "X": "the counter", FLOOR: "the floor"}
# Beginning of an errand in a goal, what my hands must hold for it, and the errand in my words.
_ERRANDS = (
    ("onion from", "", "get that onion"),
    ("onion off", "", "get that onion"),
    ("dish", "", "get that dish"),
    ("soup off", "", "take that soup"),
    ("onion into", "onion", "put the onion into that pot"),
    ("soup out", "dish", "lift that soup"),
    ("serve", "soup", "serve the soup"),
)


class Fit(NamedTuple):
    """A line, and where in it I am."""

    line: Line
    start: int
    """Index of the move to be made now."""
    late: int
    """Turns I am behind it; negative if ahead."""


class Advice:
    """The notes held against the fresh kitchen."""

    def __init__(self, view: dict[str, Any], notes: Notes, glance: Glance, *, ended: bool) -> None:
        self.view = view
        self.notes = notes
        self.glance = glance
        self.ended = ended
        """Whether the thinking under way has come to its end: then its last line is its plan."""
        self.turn: int = view["turn"]
        self.letter = ""
        """The step I take from the notes; empty if none."""
        self._dropped = ""

    def weigh(self, left: int) -> Iterator[Step]:
        """Say what the notes are worth now, in about `left` tokens, and settle `letter`, or the goal of my own look-ahead."""
        before = left
        fit = self._fit("")
        if fit is None:
            yield "plan", "Now the planner's notes. None of its lines passes where I stand with what I hold.\n"
        else:
            for step in self._follow(fit, left):
                left -= count_tokens(step[1])
                yield step
        if self._dropped:
            fit = self._fit(self._dropped)
            if fit is not None:
                yield from self._follow(fit, min(left, before // 2))
        if not self.letter:
            yield from self._goal()

    def _fit(self, blocked: str) -> Fit | None:
        """Return the line to follow, of those made for the case that the step `blocked` is, or of the others if that is empty.

        What a finished plan says for this very turn comes first, for it was thought through; then the newest line that fits this turn,
        then the newest that fits a near one.
        """
        lines = [line for line in self.notes.lines() if self._case(line) == blocked]
        fits = [fit for line in lines if (fit := self._where(line)) is not None]
        exact = [fit for fit in fits if not fit.late]
        if not self.ended:
            for fit in exact:
                if fit.line.finished and self.turn - fit.line.made_for <= OLD:
                    return fit
        return next(iter(exact or fits), None)

    @staticmethod
    def _case(line: Line) -> str:
        match = _BLOCKED.search(line.instead)
        return match[1] if match is not None else ""

    def _where(self, line: Line) -> Fit | None:
        """Return where a line has me as I am, at the turn nearest to this one."""
        best: Fit | None = None
        for index, move in enumerate(line.moves):
            late = self.turn - move.turn
            if abs(late) <= LATE and (best is None or abs(late) < abs(best.late)) and self._here(move.where):
                best = Fit(line, index, late)
        return best

    def _here(self, where: str) -> bool:
        match = _PLACE.match(where)
        return match is not None and (int(match[1]), int(match[2])) == self.glance.cell and match[3] == (self.glance.held or "nothing")

    def _follow(self, fit: Fit, left: int) -> Iterator[Step]:
        """Walk a line from here on in the fresh kitchen; take its first step if nothing speaks against it."""
        moves = fit.line.moves[fit.start : fit.start + WALKED]
        first = moves[0]
        text = self._introduction(fit)
        left -= count_tokens(text)
        yield "plan", text
        if self._in_the_way(first.letter):
            if self.view["history"][0][-TRIED:] == first.letter * TRIED:
                self._dropped = first.letter
                yield "check", f"But {self.glance.mate} stands just there and has not given way to me {TRIED} times, so I drop {first.letter}.\n"
                return
            yield "check", f"{self.glance.mate} stands just there, but may move on in this very turn, and trying costs no more than waiting.\n"
        view = self.view
        stands = 0
        for k, move in enumerate(moves):
            after = moves[k + 1].where if k + 1 < len(moves) else ""
            text, view, well = self._walked(view, move.letter, after)
            left -= count_tokens(text)
            yield "check", text
            if not well:
                break
            stands += 1
            if left < 0:
                yield "check", "That is as far as I can check it now.\n"
                break
        if stands:
            self.letter = first.letter
            yield "check", f"The line stands for {stands} turn{'' if stands == 1 else 's'}, so I take its {first.letter}.\n"
        else:
            self._dropped = first.letter
            yield "check", f"So I drop its {first.letter}.\n"

    def _introduction(self, fit: Fit) -> str:
        line, start, late = fit
        move = line.moves[start]
        kind = "line for when that step is blocked" if line.instead else "finished plan" if line.finished else "line"
        made = "" if line.made_for < 0 else ", made for this turn," if line.made_for == self.turn else f", made for turn {line.made_for},"
        when = "which is how I stand now"
        if late:
            when = f"which is how I stand, {abs(late)} turn{'' if abs(late) == 1 else 's'} {'late' if late > 0 else 'early'}"
        return f"Now the planner's notes. Its {kind}{made} says Turn {move.turn}: {move.letter} {move.where}, {when}. Let me walk it on in the kitchen as it is.\n"

    def _in_the_way(self, letter: str) -> bool:
        dx, dy = STEP.get(letter, (0, 0))
        x, y = self.glance.cell
        return (x + dx, y + dy) == self.glance.other

    def _walked(self, view: dict[str, Any], letter: str, after: str) -> tuple[str, dict[str, Any], bool]:
        """Return (what one move of a line does in the kitchen, the kitchen after it, whether it is what the line wants).

        Where the other cook will be nobody knows, so he is taken as out of the way: in a corner, where there is no floor.
        """
        me = view["players"][0]
        turn = view["turn"]
        after_view, soups, _ = advance({**view, "players": [me, [[0, 0], *view["players"][1][1:]]]}, letter, "S")
        now = after_view["players"][0]
        held = now[2][0] if now[2] else ""
        had = me[2][0] if me[2] else ""
        front = faced(now)
        if letter == "I":
            what = f"Turn {turn}: I in front of {_FIXTURE[view['terrain'][front[1]][front[0]]]} {at(front)}"
            if held == had:
                return f"{what} does nothing now. There the line breaks.\n", after_view, False
            text = f"{what} {'serves the soup' if soups else 'works'}, and I then hold {hands(held)}"
        elif letter == "S":
            text = f"Turn {turn}: S, I wait at {at(now[0])} and hold {hands(held)}"
        elif now[0] == me[0]:
            text = f"Turn {turn}: {letter} from {at(me[0])} turns me to {at(front)}, and I still hold {hands(held)}"
        else:
            text = f"Turn {turn}: {letter} from {at(me[0])} gets to {at(now[0])}, a free cell, and I hold {hands(held)}"
        wanted = _PLACE.match(after)
        if wanted is not None and ((int(wanted[1]), int(wanted[2])) != tuple(now[0]) or wanted[3] != (held or "nothing")):
            return f"{text}, but the line wants me {after}. There it breaks.\n", after_view, False
        return f"{text}, as the line has it.\n", after_view, True

    def _goal(self) -> Iterator[Step]:
        """Make the planner's goal mine where my hands are right for it, and mind its warnings."""
        glance = self.glance
        for warning in self.notes.warnings:
            match = _KEEP_OUT.match(warning)
            if match is not None and int(match[3]) == self.turn + 1:
                cell: Cell = (int(match[1]), int(match[2]))
                glance.shunned.add(cell)
                yield "plan", f"The planner warns: {warning}.\n"
        for errand in self.notes.goal.split(", then "):
            place = _CELL.search(errand)
            for begins, held, aim in _ERRANDS:
                if place is not None and errand.startswith(begins) and held == glance.held:
                    target = (int(place[1]), int(place[2]))
                    if target in glance.wanted:
                        yield "plan", f"Its goal {errand} suits me still, so I aim to {aim}.\n"
                        yield from glance.aim_at(target)
                    return
