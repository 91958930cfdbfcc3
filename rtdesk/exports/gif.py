"""The screen as a moving picture: board, streams and meter, for pages that play no terminal film.

Letters come from DejaVu Sans Mono, which matplotlib carries (the extra [plots] has both it and pillow) and many systems have. All frames
share one palette, and only rows that changed are drawn anew, so a film of a hundred ticks takes seconds.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from replays.reader import Replay
from rtdesk.exports import Span
from rtdesk.exports.frames import Film
from rtdesk.leave import Exit
from rtdesk.tui.ink import BLOCKS, GROUND, LINES, SHADES, Ink, pieces
from rtdesk.tui.looks import Look
from rtdesk.tui.runs import Row

__all__ = ["gif_bytes"]

CELL = 8, 16
FONT_PX = 13
PAD = 8
COLOURS = 96
SAMPLES = 6
"""Frames the palette is made from."""
LAST_MS = 2000
"""How long the last frame stands before the film begins again."""
MOST_FRAMES = 4000
_FACES = ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")
_FOLDERS = ("/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/dejavu", "/usr/share/fonts/TTF", "/usr/share/fonts/dejavu-sans-mono-fonts")


def gif_bytes(
    recording: Replay, span: Span, *, size: tuple[int, int] = (100, 32), look: str = "dark", rate: float | None = None, fps: int = 4, game: str | None = None
) -> Iterator[bytes]:
    """Yield the film as one piece. Raises Exit if pillow or a font is missing, or the film would be too long."""
    try:
        from PIL import Image
    except ImportError:
        raise Exit(2, "gif needs pillow, which is not installed; pip install 'rtdesk[plots]', or use --to cast or --to html") from None
    fonts = _fonts()
    film = Film(recording, size=size, look=look, rate=rate, game=game)
    frames = (span.last - span.first + 1) / film.rate * fps
    if frames > MOST_FRAMES:
        raise Exit(2, f"a film of about {frames:.0f} frames is too long for a gif; give fewer --ticks, a lower --fps or a higher --tick-rate")
    return _encode(Image, film, span, fps, fonts)


def _encode(image: Any, film: Film, span: Span, fps: int, fonts: tuple[Any, Any]) -> Iterator[bytes]:
    count = min(SAMPLES, span.last - span.first + 1)
    painter = _Painter(image, film.look, film.size, fonts)
    ticks = [span.first + (span.last - span.first) * i // max(1, count - 1) for i in range(count)]
    samples = [painter.paint(film.at(film.recording.ticks[_place(film.recording.ticks, tick)])).copy() for tick in ticks]
    sheet = image.new("RGB", (samples[0].width, samples[0].height * count))
    for i, sample in enumerate(samples):
        sheet.paste(sample, (0, i * sample.height))
    palette = sheet.quantize(colors=COLOURS, method=image.Quantize.MEDIANCUT, dither=image.Dither.NONE)
    pictures: list[Any] = []
    times: list[int] = []
    last: list[Row] | None = None
    for _, rows in film.play(span, fps=fps):
        if rows == last:
            times[-1] += 1000 // fps
            continue
        pictures.append(painter.paint(rows).quantize(palette=palette, dither=image.Dither.NONE))
        times.append(1000 // fps)
        last = rows
    times[-1] = max(times[-1], LAST_MS)
    out = io.BytesIO()
    pictures[0].save(out, format="GIF", save_all=True, append_images=pictures[1:], duration=times, loop=0, optimize=False, disposal=1)
    yield out.getvalue()


def _place(ticks: Sequence[int], tick: int) -> int:
    """The last place whose tick is not beyond `tick`: a damaged file may lack some."""
    return max(0, next((i for i in range(len(ticks) - 1, -1, -1) if ticks[i] <= tick), 0))


def _fonts() -> tuple[Any, Any]:
    """Return the plain and the bold face. Raises Exit if there is no such font here."""
    from PIL import ImageFont

    folders = [Path(folder) for folder in _FOLDERS]
    found = importlib.util.find_spec("matplotlib")
    if found is not None and found.origin is not None:
        folders.insert(0, Path(found.origin).parent / "mpl-data" / "fonts" / "ttf")
    for folder in folders:
        if all((folder / face).is_file() for face in _FACES):
            plain, bold = (ImageFont.truetype(str(folder / face), FONT_PX) for face in _FACES)
            return plain, bold
    raise Exit(2, "gif needs the font DejaVu Sans Mono, which is not here; pip install 'rtdesk[plots]' brings it, or use --to cast or --to html")


class _Painter:
    """Draws screens of one size, keeping what did not change."""

    def __init__(self, image: Any, look: Look, size: tuple[int, int], fonts: tuple[Any, Any]) -> None:
        from PIL import ImageDraw

        self._image = image
        self._look = look
        self._fonts = fonts
        base = look.value("bg") if look.rgb else GROUND
        self._picture = image.new("RGB", (size[0] * CELL[0] + 2 * PAD, size[1] * CELL[1] + 2 * PAD), base)
        self._draw = ImageDraw.Draw(self._picture)
        self._rows: list[Row] = []
        self._masks: dict[tuple[str, bool], Any] = {}

    def paint(self, rows: Sequence[Row]) -> Any:
        """Return the picture of a screen; it is drawn over by the next."""
        for y, row in enumerate(rows):
            if y < len(self._rows) and self._rows[y] == row:
                continue
            for piece in pieces(row, self._look):
                left, top = PAD + piece.column * CELL[0], PAD + y * CELL[1]
                self._fill(piece.ink.ground, left, top, piece.width * CELL[0], CELL[1])
                if piece.sign:
                    self._sign(piece.text[0], len(piece.text), piece.ink, left, top)
                elif piece.text.isascii():
                    for i, char in enumerate(piece.text):
                        self._letter(char, piece.ink, left + i * CELL[0], top, CELL[0])
                else:
                    self._letter(piece.text, piece.ink, left, top, piece.width * CELL[0])
        self._rows = list(rows)
        return self._picture

    def _fill(self, colour: str, left: float, top: float, width: float, height: float) -> None:
        if width > 0 and height > 0:
            self._draw.rectangle((round(left), round(top), round(left + width) - 1, round(top + height) - 1), fill=colour)

    def _sign(self, sign: str, count: int, ink: Ink, left: int, top: int) -> None:
        across, down = CELL
        if sign in SHADES:
            share = SHADES[sign]
            colour = "#" + "".join(f"{round(int(ink.ground[i : i + 2], 16) * (1 - share) + int(ink.front[i : i + 2], 16) * share):02x}" for i in (1, 3, 5))
            self._fill(colour, left, top, count * across, down)
        elif sign in LINES:
            self._fill(ink.front, left, top + down // 2, count * across, LINES[sign])
        else:
            for x, y, width, height in BLOCKS[sign]:
                for i in range(count):
                    self._fill(ink.front, left + i * across + x * across / 8, top + y * down / 8, width * across / 8, height * down / 8)

    def _letter(self, char: str, ink: Ink, left: int, top: int, width: int) -> None:
        if char == " ":
            return
        mask = self._masks.get((char, ink.bold))
        if mask is None:
            mask = self._image.new("L", (width, CELL[1]))
            from PIL import ImageDraw

            ImageDraw.Draw(mask).text((width / 2, 12), char, fill=255, font=self._fonts[ink.bold], anchor="ms")
            self._masks[char, ink.bold] = mask
        self._picture.paste(ink.front, (left, top), mask)
