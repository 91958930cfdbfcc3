"""Changing a replay without rewriting it: bookmarks appended, and a copy that keeps every byte of what it keeps.

The one thing that surprises: nothing here decodes what it copies. A file from a newer minor version, with fields and kinds this one
does not know, loses nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from replays import events as ev
from replays.errors import ReplayError
from replays.format import KIND_ANNOTATION
from replays.reader import open_replay
from replays.writer import ReplayWriter

__all__ = ["annotate", "resave"]


def annotate(path: str | os.PathLike[str], bookmarks: Sequence[ev.Bookmark]) -> None:
    """Append bookmarks to a finished replay, and a new index behind them.

    A torn last record is cut off first. Raises ReplayError if it is no replay, not writable, still being recorded, or lacks a tick.
    """
    # The person chose this file, and a link they made themselves is followed.
    name = os.path.realpath(path)
    with open_replay(name) as replay:
        held = set(replay.ticks)
        for bookmark in bookmarks:
            if bookmark.tick not in held:
                span = f"ticks {replay.first_tick} to {replay.last_tick}" if held else "no ticks"
                raise ReplayError(f"{name}: has no tick {bookmark.tick} to bookmark; it holds {span}")
    with ReplayWriter.resume(name) as writer:
        writer.annotate(bookmarks)


def resave(source: str | os.PathLike[str], target: str | os.PathLike[str], *, annotations: bool = True) -> int:
    """Write the whole records of `source` to the new file `target`, byte for byte, with a fresh index; return how many there were.

    What is damaged is left out; `annotations=False` leaves the bookmarks out as well. Raises ReplayError if `target` exists.
    """
    with open_replay(source) as replay, ReplayWriter.copy_header(target, replay.header_bytes, replay.header_sum) as writer:
        count = 0
        for kind, tick, record in replay.records():
            if annotations or kind != KIND_ANNOTATION:
                writer.copy(kind, tick, record)
                count += 1
        return count
