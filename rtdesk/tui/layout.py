"""Where the parts of the screen stand, for every size. Pure.

    head      one row: what runs, which tick, how it runs
    left      board, who decided, facts (and score plot and event list where there is room)
    planner   heading rule, pinned lines, running tail
    reactor   the same
    rail      beside the streams where the screen is wide: the thinkers' pace, their token use, the event list
    meter     the tick's budget, then the history
    foot      keys, or a notice
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MINIMUM", "PARTS", "RAIL", "Layout", "Rect", "arrange", "largest_cell", "narrowed"]

PARTS = ("head", "left", "planner", "reactor", "rail", "meter", "foot")

MINIMUM = (60, 20)
"""Columns and rows below which the screen shows one polite line instead."""

RAIL = 48
"""Columns of the rail."""
READABLE = 80
"""Columns the streams keep beside it: longer lines than some hundred are hard to read, shorter ones break every sentence."""

SCALES = ((8, 4), (6, 3), (4, 2), (2, 1))
"""Columns and rows of a board cell, largest first; a terminal's cell is about twice as high as wide, so these are square."""


class Rect(NamedTuple):
    x: int
    y: int
    width: int
    height: int


class Layout(NamedTuple):
    width: int
    height: int
    cell: tuple[int, int]
    """Columns and rows of one board cell."""
    axes: bool
    """Coordinates stand at the board's edge."""
    parts: dict[str, Rect]
    history: int
    """Rows of history in the meter: 1 (all in one row) or 3."""

    @property
    def small(self) -> bool:
        return self.width < MINIMUM[0] or self.height < MINIMUM[1]


def arrange(width: int, height: int, columns: int = 8, rows: int = 8, *, planner: bool = True, reactor: bool = True) -> Layout:
    """Return the layout of a screen of `width` x `height` for a board of `columns` x `rows` cells."""
    if width < MINIMUM[0] or height < MINIMUM[1]:
        whole = Rect(0, 0, max(1, width), max(1, height))
        nothing = Rect(0, 0, 0, 0)
        return Layout(width, height, (2, 1), False, {part: whole if part == "head" else nothing for part in PARTS}, 1)
    tall = height >= 32
    history = 3 if tall else 1
    meter = 7 if tall else 4
    body = height - 2 - meter
    cell, axes = _scale(width, body, columns, rows)
    left = max(columns * cell[0] + (3 if axes else 0) + 3, 27 if width >= 80 else 25, round(width * 0.26) if width >= 160 else 0)
    left = min(left, width - 33)
    rail = RAIL if height >= 40 and width - left - RAIL >= READABLE else 0
    right = width - left - rail
    parts = {
        "head": Rect(0, 0, width, 1),
        "left": Rect(0, 1, left, body),
        "meter": Rect(0, 1 + body, width, meter),
        "foot": Rect(0, height - 1, width, 1),
    }
    low = 0
    if reactor:
        low = body if not planner else max(6, round(body * (0.4 if tall else 0.42)))
    parts["planner"] = Rect(left, 1, right, body - low)
    parts["reactor"] = Rect(left, 1 + body - low, right, low)
    parts["rail"] = Rect(left + right, 1, rail, body) if rail else Rect(0, 0, 0, 0)
    return Layout(width, height, cell, axes, parts, history)


def narrowed(layout: Layout, column: int) -> Layout:
    """Return the layout with streams that end before `column`, and no rail: what lies from there on is a panel's, and no line is cut by it."""
    parts = dict(layout.parts)
    for part in ("planner", "reactor"):
        rect = parts[part]
        parts[part] = rect._replace(width=max(0, min(rect.width, column - rect.x)))
    parts["rail"] = Rect(0, 0, 0, 0)
    return layout._replace(parts=parts)


def _scale(width: int, body: int, columns: int, rows: int) -> tuple[tuple[int, int], bool]:
    """Return the largest cell for which the board leaves the streams their room and the facts theirs, and whether axes fit."""
    for across, down in SCALES:
        if across * columns + 6 > width * 0.36 and (across, down) != (2, 1):
            continue
        for axes in (True, False):
            # Heading, board, who decided, three facts; a blank row between where the cells are large.
            # The largest cells only where score plot and event list keep theirs.
            if 1 + down * rows + axes + 4 + (down > 1) + 20 * (down > 3) <= body:
                return (across, down), axes
    return (2, 1), False


def largest_cell(room: tuple[int, int], columns: int, rows: int) -> tuple[tuple[int, int], bool]:
    """Return the largest cell with which a board fits into `room` (columns, rows), and whether axes fit as well."""
    for across, down in SCALES:
        for axes in (True, False):
            if across * columns + 3 * axes <= room[0] and down * rows + axes <= room[1]:
                return (across, down), axes
    return SCALES[-1], False
