"""The screen as a film for asciinema (file format version 2): a header line, then [seconds, "o", bytes for a terminal] a frame.

Only rows that changed are written, each over its whole width, with no clearing in between: it plays without flicker. What a model or a
file said comes from the scene, where it was cleaned, so a film never holds a control sequence but our own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from replays.clean import one_line
from replays.reader import Replay
from rtdesk.exports import Span
from rtdesk.exports.frames import Film
from rtdesk.tui.ink import sgr
from rtdesk.tui.pair import playing
from rtdesk.tui.runs import Row

__all__ = ["cast_lines"]

_BEGIN = "\x1b[?25l\x1b[2J"
_END = "\x1b[?25h"


def cast_lines(
    recording: Replay, span: Span, *, size: tuple[int, int] = (120, 36), look: str = "dark", rate: float | None = None, fps: int = 8, game: str | None = None
) -> Iterator[bytes]:
    """Yield the lines of the film from the beginning of the first tick of `span` to the end of its last."""
    film = Film(recording, size=size, look=look, rate=rate, game=game)
    header = recording.header
    title = one_line(f"rtdesk: {header.game} {header.load}, seed {header.seed}, {playing(header)}", 200)
    told = {"version": 2, "width": size[0], "height": size[1], "title": title, "env": {"TERM": "xterm-256color"}}
    yield _line(told)
    shown: list[Row] = []
    seconds = 0.0
    for seconds, rows in film.play(span, fps=fps):
        text = _frame(shown, rows)
        if text:
            yield _line([round(seconds, 3), "o", text if shown else _BEGIN + text])
        shown = rows
    # A moment to read the last frame before a player loops.
    yield _line([round(seconds + 1.0, 3), "o", f"\x1b[{size[1]};1H{_END}"])


def _line(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _frame(shown: list[Row], rows: list[Row]) -> str:
    """Return what a terminal is sent so that it shows `rows` after `shown`."""
    out = []
    for y, row in enumerate(rows):
        if y < len(shown) and shown[y] == row:
            continue
        out.append(f"\x1b[{y + 1};1H" + sgr(row))
    return "".join(out)
