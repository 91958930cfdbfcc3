"""What the builtin Overcooked reactor sees for itself: what it wants next, and what three moves can reach.

Distances are counted as the crow flies, counters and cooks not minded, and Bob is taken to stand still: a glance, not a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from games.overcooked import faced, object_at, soup_in
from games.overcooked.kitchen import FLOOR, STEP, Cell

__all__ = ["Glance", "at", "hands"]

Step = tuple[str, str]

MOVES = 3
"""Moves looked ahead, the I included."""
FAR = 99

_FIXTURE = {"X": "a counter", "P": "pot", "O": "the onions", "D": "the dishes", "S": "the serving counter"}
_BACK = {"U": "D", "D": "U", "L": "R", "R": "L"}


class Glance:
    """One look at the fresh kitchen."""

    def __init__(self, view: dict[str, Any]) -> None:
        self.view = view
        self.terrain: list[str] = view["terrain"]
        (cell, self.facing, held), (bob, self.bob_facing, _) = view["players"]
        self.cell: Cell = (cell[0], cell[1])
        self.bob: Cell = (bob[0], bob[1])
        self.held: str = held[0] if held else ""
        self.aim, self.wanted = self._wants()
        self.letter = "S"
        """The answer, once `choose` is through."""
        self.shunned: set[Cell] = set()
        """Cells the planner warns of for the next turn."""

    def _wants(self) -> tuple[str, list[Cell]]:
        """Return what I want next in words, and where it is to be had."""
        cells: dict[str, list[Cell]] = {kind: [] for kind in "XPODS"}
        for y, row in enumerate(self.terrain):
            for x, kind in enumerate(row):
                if kind != FLOOR:
                    cells[kind].append((x, y))
        lying = {(thing[1][0], thing[1][1]): thing for thing in self.view["objects"]}
        on_counters = {cell: thing[0] for cell, thing in lying.items() if cell not in cells["P"]}
        full = [pot for pot in cells["P"] if pot in lying and len(lying[pot][2]) == self.view["onions_per_soup"]]
        ready = [pot for pot in full if lying[pot][4] == "ready"]
        room = [pot for pot in cells["P"] if pot not in full]
        free = [cell for cell in cells["X"] if cell not in on_counters]
        if self.held == "soup":
            return "serve the soup", cells["S"]
        if self.held == "dish":
            if ready or full:
                return "lift a soup", ready or full
            begun = [pot for pot in cells["P"] if pot in lying]
            return ("be at a pot when its soup is ready", begun) if begun else ("lay the dish down", free)
        if self.held == "onion":
            return ("put the onion into a pot with room", room) if room else ("lay the onion down, for no pot has room", free)
        soups = [cell for cell, thing in on_counters.items() if thing == "soup"]
        if soups:
            return "take a soup off a counter", soups
        if ready or not room:
            return "get a dish", [*cells["D"], *(cell for cell, thing in on_counters.items() if thing == "dish")]
        return "get an onion", [*cells["O"], *(cell for cell, thing in on_counters.items() if thing == "onion")]

    def look(self) -> Iterator[Step]:
        """Say what is there, what I want, and where three moves lead."""
        yield from self._situation()
        yield "plan", f"I want to {self.aim}. As the crow flies: {self._distances()}.\n"
        yield from self._moves()

    def _situation(self) -> Iterator[Step]:
        view = self.view
        bob_held = view["players"][1][2]
        yield (
            "understand",
            f"Turn {view['turn']}. I am at {at(self.cell)} facing {self.facing}, {hands(self.held)}. Bob is at {at(self.bob)} facing {self.bob_facing}, "
            f"{hands(bob_held[0] if bob_held else '')}.\n",
        )
        pots = []
        for y, row in enumerate(self.terrain):
            for x, kind in enumerate(row):
                if kind == "P":
                    soup = soup_in(view, [x, y])
                    inside = "is empty" if soup is None else f"has {_onions(soup)}" if soup[4] == "idle" else "cooks" if soup[4] == "cooking" else "is ready"
                    pots.append(f"Pot {at((x, y))} {inside}.")
        lying = [f"{thing[0]} {at(thing[1])}" for thing in view["objects"] if self.terrain[thing[1][1]][thing[1][0]] != "P"]
        yield "understand", " ".join(pots) + (f" On the counters: {', '.join(lying)}.\n" if lying else "\n")

    def _distances(self) -> str:
        near = sorted((self._crow(self.cell, [cell]), cell) for cell in self.wanted)[:4]
        return ", ".join([f"{at(cell)} is {steps} away" for steps, cell in near]) or "there is none"

    def _crow(self, cell: Cell, targets: list[Cell]) -> int:
        return min((abs(cell[0] - x) + abs(cell[1] - y) for x, y in targets), default=FAR)

    def _moves(self) -> Iterator[Step]:
        """Write down every way of up to three moves; what they reach is remembered."""
        self.reached: list[tuple[int, str]] = []
        """(moves with the I, letters) of each way to something wanted, shortest first."""
        self.nearest: list[tuple[int, int, str]] = []
        """(distance left, moves, letters) of each way that only leads on."""
        front = faced(self.view["players"][0])
        self._note(self.cell, (front[0], front[1]), "")
        yield "execute", self._facing_text((front[0], front[1]))
        seen = {self.cell}
        level = [(self.cell, "")]
        for depth in range(1, MOVES + 1):
            further = []
            for cell, letters in level:
                said = []
                for letter, (dx, dy) in STEP.items():
                    there = (cell[0] + dx, cell[1] + dy)
                    kind = self.terrain[there[1]][there[0]]
                    if kind != FLOOR:
                        said.append(f"{letter} turns me to {_FIXTURE[kind]} {at(there)}")
                        if depth < MOVES:
                            self._note(cell, there, letters + letter)
                            if there in self.wanted and letters + letter + "I" in [way for _, way in self.reached]:
                                said[-1] += ", then I does it"
                    elif there == self.bob:
                        said.append(f"{letter} runs into Bob")
                    elif there not in seen:
                        seen.add(there)
                        further.append((there, letters + letter))
                        left = self._crow(there, self.wanted)
                        self.nearest.append((left, depth, letters + letter))
                        said.append(f"{letter} to {at(there)}, {left} away")
                        ahead = (there[0] + dx, there[1] + dy)
                        if depth < MOVES and ahead in self.wanted:
                            self._note(there, ahead, letters + letter)
                            said[-1] += " and facing it"
                start = f"after {' '.join(letters)}" if letters else "now"
                if said:
                    yield "execute", f"Move {depth} {start}: {'; '.join(said)}.\n"
            level = further
        self.reached.sort(key=lambda way: way[0])

    def again(self) -> Iterator[Step]:
        """Hold the moves looked at against a changed wish: nothing new is looked at, only what is wanted is another thing."""
        yield "plan", f"As the crow flies: {self._distances()}.\n"
        yield from self._moves()

    def _note(self, cell: Cell, ahead: Cell, letters: str) -> None:
        """Remember a way that ends in front of something wanted."""
        if ahead in self.wanted and not (letters and any(way == letters + "I" for _, way in self.reached)):
            self.reached.append((len(letters) + 1, letters + "I"))

    def _facing_text(self, front: Cell) -> str:
        kind = self.terrain[front[1]][front[0]]
        if kind == FLOOR:
            return f"Before me is the floor {at(front)}.\n"
        what = f"{_FIXTURE[kind]} {at(front)}"
        if front in self.wanted:
            return f"I face {what}, which is what I want.\n"
        return f"I face {what}, of no use now.\n"

    def does(self, player_view: dict[str, Any] | None = None) -> bool:
        """Return whether I in front of what I face does what I want at once: a soup that still cooks cannot be lifted."""
        front = faced(self.view["players"][0])
        if (front[0], front[1]) not in self.wanted:
            return False
        soup = soup_in(self.view, front) if self.terrain[front[1]][front[0]] == "P" else None
        return not (self.held == "dish" and (soup is None or soup[4] != "ready"))

    def choose(self) -> Iterator[Step]:
        """Settle on a letter of my own."""
        if self.does():
            self.letter = "I"
            yield "check", f"I am in front of it, so I can {self.aim} now.\n"
            return
        ways = [way for way in self.reached if way[1] != "I"]
        if self.reached and self.reached[0][1] == "I":
            yield "check", "I am in front of it, but it is not ready, so I wait.\n"
            self.letter = "S"
            return
        if self._dancing():
            self.letter = "S"
            yield "check", "Bob and I keep stepping the same way in front of each other, so I stay once.\n"
            return
        if ways:
            steps, letters = ways[0]
            self.letter = letters[0]
            yield "check", f"{' '.join(letters)} gets it done in {steps} moves, so {self.letter}.\n"
            return
        open_ways = [way for way in self.nearest if self._first_cell(way[2]) not in self.shunned] or self.nearest
        if not open_ways:
            yield "check", "There is no way on now, so I stay.\n"
            return
        here = self._crow(self.cell, self.wanted)
        left, moves, letters = min(open_ways, key=lambda way: way[:2])
        self.letter = letters[0]
        closer = "" if left < here else ", though it is no closer than here"
        yield "check", f"The nearest I get is {left} away, by {' '.join(letters)}{closer}, so {self.letter}.\n"

    def _first_cell(self, letters: str) -> Cell:
        dx, dy = STEP[letters[0]]
        return (self.cell[0] + dx, self.cell[1] + dy)

    def _dancing(self) -> bool:
        """Return whether Bob stands within two steps and my last three letters went to and fro, as happens when we mirror each other."""
        mine = self.view["history"][0][-3:]
        if abs(self.cell[0] - self.bob[0]) + abs(self.cell[1] - self.bob[1]) > 2 or len(mine) < 3:
            return False
        return mine[0] == mine[2] and _BACK.get(mine[0]) == mine[1]


def at(cell: Any) -> str:
    return f"({cell[0]},{cell[1]})"


def hands(held: str) -> str:
    return f"holding {held or 'nothing'}"


def _onions(soup: list[Any]) -> str:
    count = len(soup[2])
    return f"{count} onion{'' if count == 1 else 's'}"
