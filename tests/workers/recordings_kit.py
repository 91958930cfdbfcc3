"""Recordings of simulated episodes, for the tests of what is done with a recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from replays import events as ev
from replays.writer import ReplayWriter
from workers.config import Config, plan_episode
from workers.simulator import run_simulation

Change = Callable[[ev.AnyEvent], ev.AnyEvent | None]


def write(
    path: Path,
    config: Config,
    *,
    change: Change = lambda event: event,
    header: Change = lambda event: event,
    more: Callable[[int], list[ev.AnyEvent]] = lambda tick: [],
    end: bool = True,
) -> Path:
    """Simulate an episode and record it; `change` may alter or drop events on their way to the file, `more` adds some behind a tick's first."""
    batches: list[tuple[int, list[ev.AnyEvent]]] = []
    episode, last = run_simulation(config, commit=lambda tick, events: batches.append((tick, events)), meas={"file_id": path.stem})
    told = header(episode)
    assert isinstance(told, ev.Episode)
    with ReplayWriter.create(path, told) as writer:
        for tick, events in batches:
            kept = [new for event in events if (new := change(event)) is not None]
            writer.tick(tick, [*kept[:1], *more(tick), *kept[1:]])
        last = change(last) if end else None
        if isinstance(last, ev.End):
            writer.end(last)
    return path


def record(path: Path, game: str = "snake", **options: Any) -> Path:
    """Simulate an episode by the options of `play` and record it."""
    return write(path, plan_episode(game, **options))
