"""Rows of styled text: what the scene makes and the widgets paint. A row is a tuple of (text, style) runs of an exact width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.style import Style

from replays.clean import width as cells
from rtdesk.tui.looks import Look
from rtdesk.tui.wrap import clip

__all__ = ["Row", "Run", "blank", "columns", "finish", "plain", "rule", "spread"]

Run = tuple[str, Style]
Row = tuple[Run, ...]


def finish(runs: Iterable[Run], width: int, look: Look) -> Row:
    """Return the runs as a row of exactly `width` cells: clipped, padded, equal neighbours merged (a run costs some 40 bytes a frame)."""
    out: list[Run] = []
    left = width
    for text, style in runs:
        if not text or left <= 0:
            continue
        size = cells(text)
        if size > left:
            text = clip(text, left, look.signs.ellipsis if left > 3 else "")
            size = cells(text)
            text += " " * (left - size)
            size = left
        left -= size
        if out and out[-1][1] is style:
            out[-1] = (out[-1][0] + text, style)
        else:
            out.append((text, style))
    if left > 0:
        pad = " " * left
        if out and _same_ground(out[-1][1], look.base):
            out[-1] = (out[-1][0] + pad, out[-1][1])
        else:
            out.append((pad, look.base))
    return tuple(out)


def _same_ground(one: Style, other: Style) -> bool:
    return one is other or (one.bgcolor == other.bgcolor and not one.reverse and not one.underline)


def blank(width: int, look: Look) -> Row:
    return ((" " * width, look.base),) if width > 0 else ()


def spread(left: Sequence[Run], right: Sequence[Run], width: int, look: Look) -> Row:
    """Return `left` at the left edge and `right` at the right one, a blank between them; the left gives way."""
    room = width - columns(right)
    if room <= 0:
        return finish(right, width, look)
    if columns(left) >= room:
        left = (*finish(left, room - 1, look), (" ", look.base))
    return finish((*finish(left, room, look), *right), width, look)


def columns(runs: Iterable[Run]) -> int:
    return sum(cells(text) for text, _ in runs)


def plain(row: Iterable[Run]) -> str:
    """Return the letters of a row, for tests and text exports."""
    return "".join(text for text, _ in row)


def rule(look: Look, voice: str, title: str, notes: Sequence[str], right: str, width: int, *, extra: Sequence[Run] = (), chip: bool = False) -> Row:
    """Return a heading rule: thick start and title in the voice's colour, a note, a thin line, the counter.

    `notes` are variants of the note, longest first; the first that leaves the counter whole is taken, or none. `chip` reverses the title.
    """
    signs = look.signs
    strong = look.strong[voice] if voice else look.bright
    head: list[Run] = [(signs.thick * 2, strong), (f" {title} ", look.chip[voice])] if chip else [(signs.thick * 2 + " ", strong), (title, strong)]
    tail: list[Run] = [*extra, (f" {right} ", look.dim)] if right or extra else []
    if columns(head) + columns(tail) > width - 1:
        # The title gives way to the counter.
        head = list(finish(head, max(0, width - columns(tail) - 1), look))
    room = width - columns(head) - columns(tail) - 4
    note = next((one for one in notes if one and cells(one) <= room), "")
    if note:
        head.append(("  " + note, look.dim))
    gap = width - columns(head) - columns(tail) - (0 if tail else 1)
    line = " " + signs.line * max(0, gap - 1)
    runs = [*head, (line if gap > 0 else "", look.rule), *tail]
    return finish(runs, width, look)
