"""How the builtin Overcooked reactor takes the planner's notes: find the line that passes here, walk it on, take its step or drop it.

A plan line says for each turn where I should stand and what I should hold, so the text alone shows whether it still fits. A line that
fits another turn than this one is taken up where it fits: in the kitchen being late matters less than being in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from games.overcooked import advance, faced
from games.overcooked.kitchen import FLOOR, STEP, Cell
from workers.thinkers.guidance import Line, Notes
from workers.thinkers.overcooked_glance import Glance, at, hands
from workers.tokens import count_tokens

__all__ = ["Advice"]

Step = tuple[str, str]

LATE = 8
"""Turns by which I may be ahead of a line or behind it."""
WALKED = 16
"""Moves of a line that are walked at most."""

_PLACE = re.compile(r"from \((\d+),(\d+)\) holding (\w+)")
_CELL = re.compile(r"\((\d+),(\d+)\)")
_KEEP_OUT = re.compile(r"keep out of \((\d+),(\d+)\) at turn (\d+)")
_BLOCKED = re.compile(r"with ([UDLRIS]) blocked")
_ERRANDS = (
    ("onion from", "", "get the onion"),
    ("onion off", "", "get the onion"),
    ("dish", "", "get the dish"),
    ("soup off", "", "take the soup"),
    ("onion into", "onion", "put the onion into the pot"),
    ("soup out", "dish", "lift the soup"),
    ("serve", "soup", "serve the soup"),
    ("lay down", "onion", "lay the onion down"),
)
"""Beginning of an errand in a goal, what my hands must hold for it, and the errand in my words."""


class Fit(NamedTuple):
    """A line, and where in it I am."""

    line: Line
    index: int
    late: int
    """Turns I am behind it; negative if ahead."""


class Advice:
    """The notes held against the fresh kitchen."""

    def __init__(self, view: dict[str, Any], notes: Notes, glance: Glance) -> None:
        self.view = view
        self.notes = notes
        self.glance = glance
        self.turn: int = view["turn"]
        self.letter = ""
        """The step I take from the notes; empty if none."""
        self.dropped = ""

    def weigh(self, left: int) -> Iterator[Step]:
        """Say what the notes are worth now, in about `left` tokens, and settle `letter`, or the goal of my own look-ahead."""
        fit = self._fit()
        if fit is None:
            yield "plan", "Now the planner's notes. None of its lines passes where I stand with what I hold.\n"
        else:
            yield from self._follow(fit, left)
            if not self.letter:
                other = self._fit(instead=self.dropped)
                if other is not None:
                    yield from self._follow(other, left)
        if not self.letter:
            yield from self._goal()

    def _fit(self, instead: str = "") -> Fit | None:
        """Return the newest line that fits this turn, else the newest that fits a near one; `instead`: of the lines for a blocked step."""
        near: Fit | None = None
        for line in self.notes.lines():
            blocked = _BLOCKED.search(line.instead)
            if (blocked[1] if blocked is not None else "") != instead:
                continue
            for index, move in enumerate(line.moves):
                late = self.turn - move.turn
                if abs(late) > LATE or (near is not None and late and near.line is not line) or not self._here(move.where):
                    continue
                if not late:
                    return Fit(line, index, 0)
                if near is None or abs(late) < abs(near.late):
                    near = Fit(line, index, late)
        return near

    def _here(self, where: str) -> bool:
        match = _PLACE.match(where)
        if match is None:
            return False
        held = "" if match[3] == "nothing" else match[3]
        return (int(match[1]), int(match[2])) == self.glance.cell and held == self.glance.held

    def _follow(self, fit: Fit, left: int) -> Iterator[Step]:
        """Walk a line from here on in the fresh kitchen; take its first step if nothing speaks against it."""
        line, index, late = fit
        move = line.moves[index]
        made = "" if line.made_for < 0 else " made for this turn" if line.made_for == self.turn else f" made for turn {line.made_for}"
        kind = "line for when its step is blocked" if line.instead else "finished plan" if line.finished else "line"
        when = "that is where I am now" if not late else f"that is where I am, {abs(late)} turns {'late' if late > 0 else 'early'}"
        text = f"Now the planner's notes. Its {kind}{made} says Turn {move.turn}: {move.letter} {move.where}, and {when}. Let me walk it on in the kitchen as it is.\n"
        left -= count_tokens(text)
        yield "plan", text
        against = self._bob_in_the_way(move.letter)
        if against:
            self.dropped = move.letter
            yield "check", against
            return
        view = self.view
        walked = 0
        moves = line.moves[index : index + WALKED]
        for k, step in enumerate(moves):
            after = moves[k + 1].where if k + 1 < len(moves) else ""
            text, next_view, well = self._walked(view, step.letter, after, k)
            left -= count_tokens(text)
            yield "check", text
            if not well:
                break
            view = next_view
            walked += 1
            if left < 0:
                yield "check", "That is as far as I can check it now.\n"
                break
        if walked:
            self.letter = move.letter
            yield "check", f"The line stands for {walked} turns, so I take its {move.letter}.\n"
        else:
            self.dropped = move.letter
            yield "check", f"So I drop its {move.letter}.\n"

    def _bob_in_the_way(self, letter: str) -> str:
        """Return why Bob speaks against a step, or nothing."""
        if letter not in STEP:
            return ""
        dx, dy = STEP[letter]
        there = (self.glance.cell[0] + dx, self.glance.cell[1] + dy)
        if there != self.glance.bob:
            return ""
        return f"But Bob stands at {at(there)}, just where {letter} leads, so I drop that step.\n"

    def _walked(self, view: dict[str, Any], letter: str, after: str, k: int) -> tuple[str, dict[str, Any], bool]:
        """Return (what one move of a line does in the kitchen, the kitchen after it, whether it does what the line wants)."""
        me = view["players"][0]
        turn = view["turn"]
        if k >= 1:
            # From the second move on nobody knows where Bob is; a corner is a place where he is not in the way.
            view = {**view, "players": [me, [[0, 0], *view["players"][1][1:]]]}
        next_view, soups, _ = advance(view, letter, "S")
        now = next_view["players"][0]
        held = now[2][0] if now[2] else ""
        if letter == "I":
            front = faced(me)
            what = {"P": "pot", "O": "the onions", "D": "the dishes", "S": "the serving counter", "X": "the counter", FLOOR: "the floor"}
            kind = what[view["terrain"][front[1]][front[0]]]
            if held == (me[2][0] if me[2] else ""):
                return f"Turn {turn}: I in front of {kind} {at(front)} does nothing now. There the line breaks.\n", next_view, False
            done = "serves the soup" if soups else f"leaves me {hands(held)}"
            return f"Turn {turn}: I in front of {kind} {at(front)} {done}.\n", next_view, True
        if letter == "S":
            return f"Turn {turn}: S, I wait at {at(now[0])}.\n", next_view, True
        if now[0] == me[0]:
            front = faced(now)
            return f"Turn {turn}: {letter} turns me to {at(front)}, still at {at(now[0])} {hands(held)}.\n", next_view, True
        return f"Turn {turn}: {letter} to {at(now[0])}, free, {hands(held)}.\n", next_view, True

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
            for begins, held, aim in _ERRANDS:
                place = _CELL.search(errand)
                if errand.startswith(begins) and held == glance.held and place is not None:
                    target = (int(place[1]), int(place[2]))
                    if target in glance.wanted:
                        yield "plan", f"Its goal {errand} still suits me, so I aim to {aim}.\n"
                        glance.wanted = [target]
                        yield from glance.again()
                    return
