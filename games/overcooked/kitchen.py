"""The three kitchens, and the ways through them.

A kitchen is drawn with row 0 first, which is y = 0, the bottom row on the screen: U is y + 1. X counter, P pot, O onions, D dishes,
S serving counter, blank floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["FLOOR", "KITCHENS", "STEP", "Cell", "Kitchen", "Routes", "routes"]

Cell = tuple[int, int]

FLOOR = " "
STEP = {"U": (0, 1), "D": (0, -1), "L": (-1, 0), "R": (1, 0)}
"""Direction letter -> (dx, dy)."""
# The order in which the reference looks around a cell; among equally short ways the first found wins.
LOOK = (("D", 0, -1), ("U", 0, 1), ("R", 1, 0), ("L", -1, 0))

# 1 is where Alice starts, 2 Bob.
_DRAWN = {
    "easy": ("XPXPX", "X 2 X", "D   S", "X 1 X", "XOXOX"),
    "medium": ("XXPXPXX", "X  2  X", "D XXX S", "X  1  X", "XXOXOXX"),
    "hard": ("XXXPPXXX", "X  2   X", "D XXXX S", "X  1   X", "XXXOOXXX"),
}


class Routes(NamedTuple):
    """Where somebody can go from a cell, the other cook standing still."""

    first: dict[Cell, str]
    """Reached cell -> first letter of a shortest way there; for a fixture, of the way that ends facing it. Own cell: empty."""
    distance: dict[Cell, int]
    """Reached cell -> letters it takes; for a fixture the last one is the turn towards it."""
    floor: tuple[Cell, ...]
    """Reached floor cells, own cell included, ordered by y, then x."""


def routes(terrain: Sequence[str], start: Cell, other: Cell | None = None) -> Routes:
    """Return the ways from `start` that do not enter the cell `other`. Breadth first; only floor is walked through."""
    first = {start: ""}
    distance = {start: 0}
    queue = [start]
    for cell in queue:
        x, y = cell
        for letter, dx, dy in LOOK:
            there = (x + dx, y + dy)
            if there in first or there == other:
                continue
            first[there] = first[cell] or letter
            distance[there] = distance[cell] + 1
            if terrain[y + dy][x + dx] == FLOOR:
                queue.append(there)
    return Routes(first=first, distance=distance, floor=tuple(sorted(queue, key=lambda cell: (cell[1], cell[0]))))


class Kitchen:
    """One layout, with what is asked of it every turn worked out once."""

    def __init__(self, drawn: tuple[str, ...]) -> None:
        self.terrain = tuple(row.replace("1", FLOOR).replace("2", FLOOR) for row in drawn)
        """Rows without the cooks, y = 0 first."""
        self.starts = (_find(drawn, "1"), _find(drawn, "2"))
        """Where Alice and Bob start."""
        self.columns, self.rows = len(drawn[0]), len(drawn)
        self._routes: dict[tuple[Cell, Cell], Routes] = {}

    def cells(self, kinds: str) -> tuple[Cell, ...]:
        """Return the cells whose letter is in `kinds`, ordered by y, then x."""
        return tuple((x, y) for y, row in enumerate(self.terrain) for x, kind in enumerate(row) if kind in kinds)

    def routes(self, start: Cell, other: Cell) -> Routes:
        """Return `routes` in this kitchen, remembered: a few hundred pairs of cells at most."""
        found = self._routes.get((start, other))
        if found is None:
            found = self._routes[start, other] = routes(self.terrain, start, other)
        return found


def _find(drawn: tuple[str, ...], mark: str) -> Cell:
    return next((row.index(mark), y) for y, row in enumerate(drawn) if mark in row)


KITCHENS = {load: Kitchen(drawn) for load, drawn in _DRAWN.items()}
"""Load -> its kitchen."""
