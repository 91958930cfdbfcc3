"""Words looked for, shown where they stand in wrapped text. Pure; costs what is visible."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rich.style import Style

from rtdesk.tui.runs import Run
from rtdesk.tui.wrap import Line

__all__ = ["painted", "spans"]

BEFORE = 200
"""Characters before the first row that are looked at: the words may begin there."""


def spans(text: str, lines: Sequence[Line], pattern: re.Pattern[str] | None) -> list[tuple[int, int]]:
    """Return (start, end) in `text` of every match that touches the rows."""
    if pattern is None or not lines:
        return []
    start = max(0, lines[0].offset - BEFORE)
    end = lines[-1].offset + len(lines[-1].text) + BEFORE
    return [match.span() for match in pattern.finditer(text, start, end) if match.end() > lines[0].offset]


def painted(line: Line, style: Style, found: Sequence[tuple[int, int]], mark: Style, last: Style) -> list[Run]:
    """Return a row as runs, matches in `mark`, the last of them in `last`."""
    start, end = line.offset, line.offset + len(line.text)
    inside = [(max(a, start), min(b, end), (a, b) == found[-1]) for a, b in found if a < end and b > start]
    if not inside:
        return [(line.text, style)]
    borders = sorted({start, end, *(place for a, b, _ in inside for place in (a, b))})
    runs: list[Run] = []
    for a, b in pairwise(borders):
        hit = next((one for one in inside if one[0] <= a and b <= one[1]), None)
        runs.append((line.text[a - start : b - start], style if hit is None else last if hit[2] else mark))
    return runs
