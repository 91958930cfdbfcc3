"""How earlier runs of a level went, from the recordings in the replays folder: for the result card."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from pathlib import Path

from replays.errors import ReplayError
from replays.events import End, Episode
from replays.reader import open_replay
from replays.view_state import ViewState
from workers.recorded import file_id

__all__ = ["MOST", "Earlier"]

MOST = 30
"""Newest recordings that are looked at: opening one costs some milliseconds, and the screen waits."""


class Earlier:
    """Called with a state, gives the normalised scores of finished runs of the same game, load, seed and length in `folder`, whoever played."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._of: str | None = None
        self._scores: list[float] = []

    def __call__(self, state: ViewState) -> list[float]:
        header = state.header
        if header is None:
            return []
        run = file_id(header) or f"{header.game} {header.load} {header.seed}"
        if run != self._of:
            # The card is drawn many times, and reading is dear.
            self._of, self._scores = run, list(_scores(self._folder, header))
        return self._scores


def _scores(folder: Path, header: Episode) -> Iterable[float]:
    level = (header.game, header.load, header.seed, header.options.get("ticks"))
    try:
        named = [path for path in folder.iterdir() if path.suffix == ".rtr" and f"-s{header.seed}-" in path.name]
        newest = heapq.nlargest(MOST, named, key=lambda path: path.stat().st_mtime_ns)
    except OSError:
        return
    for path in newest:
        try:
            with open_replay(path) as recording:
                other = recording.header
                if (other.game, other.load, other.seed, other.options.get("ticks")) != level or other.parent is not None:
                    continue
                if file_id(other) == file_id(header) or not recording.ticks:
                    continue
                end = next((event for event in recording.events(recording.ticks[-1]) if isinstance(event, End)), None)
        except (ReplayError, OSError, ValueError):
            # A recording that cannot be read has no score; whoever opens it is told why.
            continue
        if end is not None and end.done_reason not in ("quit", "fault"):
            yield end.totals.score
