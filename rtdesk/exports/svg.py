"""The screen at a tick as one SVG document: no script, no fetched font, no outside reference.

Block signs and lines are shapes, so that boards and meters have no gaps in any font; text is text, set to its cells' width, so that it can
be searched and copied. The one thing that surprises: cells are whole pixels, twice as high as wide, because that keeps boards square.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from replays.clean import one_line
from replays.reader import Replay
from rtdesk.exports.frames import Film
from rtdesk.tui.ink import BLOCKS, GROUND, LINES, SHADES, Ink, Piece, pieces
from rtdesk.tui.looks import Look
from rtdesk.tui.pair import playing
from rtdesk.tui.runs import Row

__all__ = ["FONTS", "svg_at", "svg_of"]

FONTS = "'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace"
CELL = 9, 18
FONT_PX = 15
BASELINE = 14
PAD = 14


def svg_at(recording: Replay, tick: int, share: float = 1.0, *, size: tuple[int, int] = (120, 36), look: str = "dark", game: str | None = None) -> str:
    """Return the screen at `share` of a tick as one SVG document; at its end, everything is said and nothing applied yet."""
    film = Film(recording, size=size, look=look, game=game)
    rows = film.at(tick, share)
    header = recording.header
    title = f"rtdesk: {header.game} {header.load}, seed {header.seed}, {playing(header)}, tick {tick}"
    return svg_of(rows, film.look, title=one_line(title, 200))


def svg_of(rows: Sequence[Row], look: Look, *, title: str = "rtdesk") -> str:
    """Return rows of styled text, all of one width, as one SVG document."""
    across, down = CELL
    drawn = [list(pieces(row, look)) for row in rows]
    columns = max((row[-1].column + row[-1].width for row in drawn if row), default=0)
    width, height = columns * across + 2 * PAD, len(rows) * down + 2 * PAD
    base = look.value("bg") if look.rgb else GROUND
    shapes, texts, inks = _Shapes(), [], _Classes()
    for y, row in enumerate(drawn):
        for piece in row:
            _ground(shapes, piece, y, base)
            if piece.sign:
                _sign(shapes, piece, y)
        texts += _texts(row, y, inks)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<style>text{{font-family:{FONTS};font-size:{FONT_PX}px;white-space:pre}}{inks.css()}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="{base}"/>',
        f'<g transform="translate({PAD} {PAD})"><g shape-rendering="crispEdges">{shapes.paths()}</g>',
        '<g xml:space="preserve">',
        *texts,
        "</g></g></svg>",
    ]
    return "\n".join(out) + "\n"


class _Shapes:
    """Rectangles by colour, later colours over earlier ones where they were first used later."""

    def __init__(self) -> None:
        self._by: dict[tuple[int, str, float], list[str]] = {}

    def add(self, layer: int, colour: str, x: float, y: float, width: float, height: float, *, opacity: float = 1.0) -> None:
        self._by.setdefault((layer, colour, opacity), []).append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")

    def paths(self) -> str:
        out = []
        for (_, colour, opacity), parts in sorted(self._by.items(), key=lambda item: item[0][0]):
            seen = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
            out.append(f'<path fill="{colour}"{seen} d="{"".join(parts)}"/>')
        return "\n".join(out)


def _ground(shapes: _Shapes, piece: Piece, y: int, base: str) -> None:
    if piece.ink.ground != base:
        shapes.add(0, piece.ink.ground, piece.column * CELL[0], y * CELL[1], piece.width * CELL[0], CELL[1])


def _sign(shapes: _Shapes, piece: Piece, y: int) -> None:
    across, down = CELL
    sign, left, top = piece.text[0], piece.column * across, y * down
    whole = piece.width * across
    if sign in SHADES:
        shapes.add(1, piece.ink.front, left, top, whole, down, opacity=SHADES[sign])
        return
    if sign in LINES:
        thick = LINES[sign]
        shapes.add(1, piece.ink.front, left, top + down // 2 - thick // 2, whole, thick)
        return
    for x, v, width, height in BLOCKS[sign]:
        if width == 8:
            shapes.add(1, piece.ink.front, left, top + v * down / 8, whole, height * down / 8)
        else:
            for i in range(len(piece.text)):
                shapes.add(1, piece.ink.front, left + i * across + x * across / 8, top + v * down / 8, width * across / 8, height * down / 8)


class _Classes:
    """A short class for each ink text is drawn in."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, bool], str] = {}

    def name(self, ink: Ink) -> str:
        return self._names.setdefault((ink.front, ink.bold), f"i{len(self._names)}")

    def css(self) -> str:
        return "".join(f".{name}{{fill:{colour}{';font-weight:bold' if bold else ''}}}" for (colour, bold), name in self._names.items())


def _texts(row: Sequence[Piece], y: int, inks: _Classes) -> list[str]:
    out = []
    for piece in row:
        if piece.sign or not piece.text.strip():
            continue
        left = len(piece.text) - len(piece.text.lstrip(" "))
        text = piece.text.strip(" ")
        across = CELL[0]
        # Letters outside ASCII stand alone, and are as wide as their font has them.
        length = f' textLength="{len(text) * across}"' if len(text) > 1 and text.isascii() else ""
        x: float = (piece.column + left) * across
        if not text.isascii():
            length, x = ' text-anchor="middle"', x + piece.width * across / 2
        out.append(f'<text class="{inks.name(piece.ink)}" x="{x:g}" y="{y * CELL[1] + BASELINE}"{length}>{escape(text, quote=False)}</text>')
    return out
