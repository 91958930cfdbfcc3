"""Wrap the tail of a stream for the rows on show, from its end or from a place in it. Pure; costs what is visible.

Text is clean (`replays.clean`): lines end at LF, every character is one or two cells wide.
"""

from __future__ import annotations

from typing import NamedTuple

from replays.clean import width as cells

__all__ = ["Line", "clip", "fit", "last_rows", "rows_at", "rows_before"]

PARAGRAPH = 16_000
"""Characters of one line that are wrapped for a view: a text without line ends must not cost its whole length every frame."""


class Line(NamedTuple):
    """One row of wrapped text."""

    offset: int
    """Where its first character stands in the text."""
    text: str
    first: bool
    """It begins a line of the text."""


def wrap(text: str, start: int, end: int, columns: int) -> list[Line]:
    """Return text[start:end], which holds no line end, broken at blanks into rows of at most `columns` cells; one row at least."""
    columns = max(2, columns)
    line = text[start:end]
    if len(line) <= columns and line.isascii():
        return [Line(start, line, True)]
    return _ascii(line, start, columns) if line.isascii() else _wide(line, start, columns)


def _ascii(line: str, start: int, columns: int) -> list[Line]:
    rows: list[Line] = []
    at, size = 0, len(line)
    while size - at > columns:
        cut = line.rfind(" ", at, at + columns + 1)
        if cut <= at:
            rows.append(Line(start + at, line[at : at + columns], not rows))
            at += columns
        else:
            rows.append(Line(start + at, line[at:cut], not rows))
            at = cut + 1
    rows.append(Line(start + at, line[at:], not rows))
    return rows


def _wide(line: str, start: int, columns: int) -> list[Line]:
    rows: list[Line] = []
    at = used = 0
    blank = -1
    i = 0
    while i < len(line):
        char = line[i]
        size = 1 if char < "\u1100" else cells(char)
        if used + size > columns:
            cut = blank if blank > at and char != " " else i
            rows.append(Line(start + at, line[at:cut], not rows))
            at = cut + 1 if cut < len(line) and line[cut] == " " else cut
            i, used, blank = at, 0, -1
            continue
        if char == " ":
            blank = i
        used += size
        i += 1
    rows.append(Line(start + at, line[at:], not rows))
    return rows


def last_rows(text: str, columns: int, count: int) -> list[Line]:
    """Return the last `count` rows of `text`, fewer if there are not so many."""
    if count <= 0 or not text:
        return []
    rows: list[Line] = []
    end = len(text)
    # The line end that closes the last line opens no row: the row is there once its first character is.
    if text[-1] == "\n":
        end -= 1
    while True:
        cut = text.rfind("\n", 0, end)
        start = cut + 1
        from_ = start if end - start <= PARAGRAPH else end - PARAGRAPH
        rows[:0] = wrap(text, from_, end, columns)
        if len(rows) >= count or cut < 0:
            break
        end = cut
    return rows[-count:]


def rows_at(text: str, columns: int, count: int, offset: int) -> list[Line]:
    """Return `count` rows from the one that holds the character at `offset` on."""
    offset = max(0, min(offset, len(text)))
    start = text.rfind("\n", 0, offset) + 1
    if offset - start > PARAGRAPH:
        start = offset
    rows: list[Line] = []
    while len(rows) < count + 1 and start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if start >= len(text) and start > 0:
            break
        found = wrap(text, start, min(end, start + 2 * PARAGRAPH), columns)
        rows.extend(row for row, after in zip(found, [*found[1:], None]) if after is None or after.offset > offset)
        start = end + 1
    return rows[:count]


def rows_before(text: str, columns: int, count: int, offset: int) -> int:
    """Return the offset of the row `count` rows above the one at `offset`."""
    rows = last_rows(text[:offset], columns, count)
    return rows[0].offset if rows else 0


def clip(text: str, columns: int, ellipsis: str = "…") -> str:
    """Return `text` cut to at most `columns` cells, with a sign where something was cut."""
    if cells(text) <= columns:
        return text
    if columns <= len(ellipsis):
        return ellipsis[: max(0, columns)]
    room = columns - len(ellipsis)
    used = 0
    for i, char in enumerate(text):
        size = cells(char)
        if used + size > room:
            return text[:i] + ellipsis
        used += size
    return text


def fit(text: str, columns: int, ellipsis: str = "…") -> str:
    """Return `text` exactly `columns` cells wide: clipped, or padded with blanks."""
    text = clip(text, columns, ellipsis)
    return text + " " * (columns - cells(text))
