"""From styled text to what an export needs: colours as `#rrggbb`, block signs as rectangles (no font draws them without gaps), control sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.color import Color, ColorSystem, ColorType
from rich.style import Style

from replays.clean import width as cells
from rtdesk.tui.looks import Look
from rtdesk.tui.runs import Row

__all__ = ["BLOCKS", "GROUND", "LINES", "SHADES", "Ink", "Piece", "ink_of", "pieces", "sgr"]

_NAMED = {
    "black": "#14181f", "red": "#c9484d", "green": "#6fae52", "yellow": "#c9a03a", "blue": "#4a7fe0", "magenta": "#a678c8", "cyan": "#3fb0a5", "white": "#cbd4df",
    "bright_black": "#7a8696", "bright_red": "#f5494b", "bright_green": "#8fd16a", "bright_yellow": "#ffd24a", "bright_blue": "#6296ff",
    "bright_magenta": "#c9a3e8", "bright_cyan": "#3df0d0", "bright_white": "#ffffff",
}  # fmt: skip
"""What a terminal's own sixteen colours look like in a picture."""
GROUND, FRONT = "#0e1218", "#dde4ec"
"""Background and text where a look leaves both to the terminal."""

_Q = {"UL": (0, 0, 4, 4), "UR": (4, 0, 4, 4), "DL": (0, 4, 4, 4), "DR": (4, 4, 4, 4)}
BLOCKS: dict[str, tuple[tuple[int, int, int, int], ...]] = {
    "█": ((0, 0, 8, 8),), "▀": ((0, 0, 8, 4),), "▄": ((0, 4, 8, 4),), "▌": ((0, 0, 4, 8),), "▐": ((4, 0, 4, 8),),
    "▘": (_Q["UL"],), "▝": (_Q["UR"],), "▖": (_Q["DL"],), "▗": (_Q["DR"],),
    "▛": ((0, 0, 8, 4), _Q["DL"]), "▜": ((0, 0, 8, 4), _Q["DR"]), "▙": (_Q["UL"], (0, 4, 8, 4)), "▟": (_Q["UR"], (0, 4, 8, 4)),
    "▚": (_Q["UL"], _Q["DR"]), "▞": (_Q["UR"], _Q["DL"]),
    **{sign: ((0, 0, i, 8),) for i, sign in enumerate("▏▎▍▌▋▊▉", 1)},
    **{sign: ((0, 8 - i, 8, i),) for i, sign in enumerate("▁▂▃▄▅▆▇", 1)},
}  # fmt: skip
"""Sign -> rectangles (x, y, width, height) in eighths of a cell."""
SHADES = {"░": 0.25, "▒": 0.5, "▓": 0.75}
LINES = {"─": 1, "━": 2}
"""Sign -> thickness of a line through the middle, in sixteenths of a cell's height."""


class Ink(NamedTuple):
    """How a run is drawn."""

    front: str
    ground: str
    bold: bool


class Piece(NamedTuple):
    """A stretch of one row: all signs, or all letters, of one ink."""

    column: int
    width: int
    """Cells."""
    text: str
    ink: Ink
    sign: bool
    """The same block sign, shade or line in every cell."""


def ink_of(style: Style, look: Look) -> Ink:
    """Return the colours of a style; a look without any gives light on dark."""
    base = look.value("bg") if look.rgb else GROUND
    plain = look.value("text") if look.rgb else FRONT
    front, ground = _hex(style.color, plain), _hex(style.bgcolor, base)
    if style.reverse:
        front, ground = ground, front
    if style.dim:
        front = _mix(front, ground, 0.42)
    return Ink(front, ground, bool(style.bold))


def _hex(color: Color | None, otherwise: str) -> str:
    if color is None or color.type is ColorType.DEFAULT:
        return otherwise
    if color.triplet is not None:
        return color.triplet.hex
    return _NAMED.get(color.name) or color.get_truecolor().hex


def _mix(one: str, other: str, share: float) -> str:
    return "#" + "".join(f"{round(int(one[i : i + 2], 16) * (1 - share) + int(other[i : i + 2], 16) * share):02x}" for i in (1, 3, 5))


def pieces(row: Row, look: Look) -> Iterator[Piece]:
    """Yield a row's pieces, left to right: signs apart from letters, and letters outside ASCII one by one, so that no font shifts others."""
    column = 0
    for text, style in row:
        ink = ink_of(style, look)
        start, kind, width = 0, "", 0
        for i, char in enumerate(text):
            now = _kind(char)
            if i > start and (now != kind or kind == "odd"):
                yield Piece(column, width, text[start:i], ink, kind not in ("text", "odd"))
                column, start, width = column + width, i, 0
            kind = now
            width += cells(char)
        if text:
            yield Piece(column, width, text[start:], ink, kind not in ("text", "odd"))
            column += width


def _kind(char: str) -> str:
    if char in BLOCKS or char in SHADES or char in LINES:
        return char
    return "text" if " " <= char <= "~" else "odd"


def sgr(row: Row) -> str:
    """Return a row as a terminal is sent it, styles switched on and off around each run."""
    return "".join(style.render(text, color_system=ColorSystem.TRUECOLOR) for text, style in row)
