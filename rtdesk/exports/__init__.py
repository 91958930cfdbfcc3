"""A replay for other programs and other people: tables and events, films and pictures of the screen, a page to click through.

Each format is a module that is loaded when it is asked for. The one thing that surprises: nothing is ever overwritten. A name given with
-o must be free; a name made here has a number where the first choice is taken.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
from collections.abc import Callable, Iterator

import msgspec

from replays.reader import Replay, open_replay
from rtdesk.leave import Exit
from rtdesk.say import complain

__all__ = ["KINDS", "Span", "Wanted", "export", "new_file"]

KINDS = ("csv", "jsonl", "cast", "svg", "gif", "html")
MOST_COLUMNS, MOST_ROWS = 400, 120
"""Size of an exported screen at most."""

_TAKES = {
    "csv": frozenset[str](),
    "jsonl": frozenset[str](),
    "svg": frozenset({"tick", "size", "look", "game"}),
    "cast": frozenset({"ticks", "size", "look", "tick_rate", "fps", "game"}),
    "gif": frozenset({"ticks", "size", "look", "tick_rate", "fps", "game"}),
    "html": frozenset({"ticks", "game"}),
}


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asked for; None where it did not."""

    tick: float | None = None
    """Such as 40, its end, or 40.5, half way through it."""
    ticks: str | None = None
    size: str | None = None
    look: str | None = None
    tick_rate: float | None = None
    fps: int | None = None
    game: str | None = None


class Span(msgspec.Struct, frozen=True):
    """Ticks from `first` to `last`, both included."""

    first: int
    last: int


def export(file: str, *, kind: str, output: str | None, wanted: Wanted) -> int:
    """Write the replay at `file` as `kind`. Returns the exit code."""
    from rtdesk.look_back import tell_damage
    from rtdesk.say import hush
    from workers.plugins import unknown

    hush()
    if kind not in KINDS:
        raise unknown("export format", kind, list(KINDS))
    for name in wanted.__struct_fields__:
        if getattr(wanted, name) is not None and name not in _TAKES[kind]:
            takers = ", ".join(one for one, takes in _TAKES.items() if name in takes)
            raise Exit(2, f"--{name.replace('_', '-')} is no matter of {kind}; it is for --to {takers}")
    with open_replay(file) as recording:
        chunks = _make(recording, kind, wanted)
        if output == "-" or (output is None and kind in ("csv", "jsonl")):
            for chunk in chunks:
                _write_all(sys.stdout.fileno(), chunk)
            tell_damage(recording)
            return 0
        # Before the first byte is made: what cannot be written need not be drawn.
        first = next(chunks, b"")
        path, fd = new_file(output) if output is not None else free_file(_name(file, kind, wanted, recording))
        try:
            _write_all(fd, first)
            for chunk in chunks:
                _write_all(fd, chunk)
            size = os.fstat(fd).st_size
        except OSError as error:
            # Half a picture is none; and what is empty would only stand in the way of the next attempt.
            kept = kind in ("csv", "jsonl", "cast") and os.fstat(fd).st_size > 0
            if not kept:
                with contextlib.suppress(OSError):
                    os.unlink(path)
            left = "what was written so far is there" if kept else "nothing is left of it"
            raise Exit(1, f"{path}: {error.strerror}; {left}; free space, or give another place with -o OUT") from error
        finally:
            os.close(fd)
        tell_damage(recording)
        if kind not in ("csv", "jsonl"):
            print(f"{path} ({size:,} bytes)")
    return 0


def _make(recording: Replay, kind: str, wanted: Wanted) -> Iterator[bytes]:
    """Return the pieces of the export; what was asked for is checked before this returns."""
    if kind in ("csv", "jsonl"):
        from replays.export import csv_lines, jsonl_lines

        lines = (csv_lines if kind == "csv" else jsonl_lines)(recording)
        # A replay may hold halves of surrogate pairs, which have no UTF-8.
        return (line.encode("utf-8", "surrogatepass") for line in lines)
    if recording.first_tick is None:
        raise Exit(2, f"{recording.path}: holds no tick to draw; export it as csv or jsonl")
    _check_board(recording, wanted.game)
    if kind == "html":
        from rtdesk.exports.html import html_page

        return iter([html_page(recording, span(recording, wanted.ticks), game=wanted.game).encode("utf-8", "replace")])
    size = parse_size(wanted.size) if wanted.size is not None else (100, 32) if kind == "gif" else (120, 36)
    look = wanted.look or "dark"
    _check_look(look)
    if wanted.tick_rate == float("inf"):
        raise Exit(2, "--tick-rate max is no pace for a film; give ticks a second such as 2/s")
    if kind == "svg":
        from rtdesk.exports.svg import svg_at

        tick, share = tick_of(recording, wanted.tick)
        return iter([svg_at(recording, tick, share, size=size, look=look, game=wanted.game).encode("utf-8", "replace")])
    frames = span(recording, wanted.ticks)
    make: Callable[..., Iterator[bytes]]
    if kind == "cast":
        from rtdesk.exports.cast import cast_lines as make
    else:
        from rtdesk.exports.gif import gif_bytes as make
    return make(recording, frames, size=size, look=look, rate=wanted.tick_rate, fps=wanted.fps or (8 if kind == "cast" else 4), game=wanted.game)


def _check_board(recording: Replay, game: str | None) -> None:
    """Say at once why there will be no board. Raises GameError for a game the person has named that is none."""
    import games
    from replays import events as ev
    from rtdesk.tui.boards import BoardMaker

    if game is not None:
        games.spec(game)
    assert recording.first_tick is not None
    maker = BoardMaker.named(game)
    for event in recording.events(recording.first_tick):
        if isinstance(event, ev.Tick) and event.snapshot:
            maker.board(recording.header, event.snapshot)
    if maker.why:
        complain(f"{recording.path}: drawn without its board: {maker.why}")


def _check_look(name: str) -> None:
    from rtdesk.tui.looks import LOOKS
    from workers.config import choice

    choice(name, LOOKS, what="look")


def parse_size(text: str) -> tuple[int, int]:
    """Return (columns, rows) from `120x36`. Raises Exit."""
    from rtdesk.tui.layout import MINIMUM

    match = re.fullmatch(r"\s*(\d{1,4})\s*[xX]\s*(\d{1,4})\s*", text)
    if match:
        columns, rows = int(match[1]), int(match[2])
        if MINIMUM[0] <= columns <= MOST_COLUMNS and MINIMUM[1] <= rows <= MOST_ROWS:
            return columns, rows
    raise Exit(2, f"size {text!r} is no screen; give columns and rows from {MINIMUM[0]}x{MINIMUM[1]} to {MOST_COLUMNS}x{MOST_ROWS}, such as 120x36")


def tick_of(recording: Replay, tick: float | None) -> tuple[int, float]:
    """Return the tick to show and how much of it: 40 is its end, 40.25 a quarter. Raises Exit for one the file does not hold."""
    assert recording.last_tick is not None
    if tick is None:
        return recording.last_tick, 1.0
    whole = math.floor(tick) if math.isfinite(tick) else -1
    if whole not in recording.ticks:
        raise Exit(2, f"tick {tick:g} is not in {recording.path}; it holds ticks {recording.first_tick} to {recording.last_tick}")
    return whole, tick - whole or 1.0


def span(recording: Replay, text: str | None) -> Span:
    """Return the ticks of `A-B` (or `A`), all without. Raises Exit for what the file does not hold."""
    assert recording.first_tick is not None
    assert recording.last_tick is not None
    whole = Span(recording.first_tick, recording.last_tick)
    if text is None:
        return whole
    match = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", text)
    found = Span(int(match[1]), int(match[2] or match[1])) if match else None
    if found is None or not whole.first <= found.first <= found.last <= whole.last:
        raise Exit(2, f"ticks {text!r} are not in {recording.path}; give A-B within {whole.first}-{whole.last}")
    return found


def _name(file: str, kind: str, wanted: Wanted, recording: Replay) -> str:
    """Return the name a picture or a film gets unasked: the replay's own, here."""
    stem = os.path.splitext(os.path.basename(file))[0] or "replay"
    if kind == "svg":
        tick, share = tick_of(recording, wanted.tick)
        stem += f"-t{tick}" if share == 1.0 else f"-t{tick + share:g}"
    return f"{stem}.{kind}"


_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def new_file(path: str) -> tuple[str, int]:
    """Return (path, descriptor) of a file that did not exist. A link planted at its name is not followed. Raises Exit."""
    try:
        return path, os.open(path, _FLAGS, 0o644)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Exit(2, f"{path}: cannot be written ({why}); give a path that does not exist yet with -o OUT") from error


def free_file(path: str) -> tuple[str, int]:
    """Return (path, descriptor) of a new file called `path`, or `path` with a number where that is taken. Raises Exit."""
    stem, ending = os.path.splitext(path)
    for count in range(1, 1000):
        name = path if count == 1 else f"{stem}-{count}{ending}"
        try:
            return name, os.open(name, _FLAGS, 0o644)
        except FileExistsError:
            continue
        except OSError as error:
            raise Exit(2, f"{name}: cannot be written ({error.strerror}); give another path with -o OUT") from error
    raise Exit(2, f"{path} and 998 names like it are taken; give another path with -o OUT")


def _write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


