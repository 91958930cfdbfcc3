"""One episode of a bench, in whatever process: played by the simulator, recorded as it goes, told as a row.

A failing game, agent or thinker is a row with its fault, never an exception: the rest of the bench goes on. Its replay is kept as far as it
got, under a name of its own (`.failed.rtr`). A replay has its name only when it is whole; until then it is a `.part`.
"""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path
from typing import Any

import msgspec

from replays import events as ev
from replays.format import keyframe_due
from replays.reduce import fold
from replays.view_state import ViewState
from replays.writer import ReplayWriter
from rtdesk.bench.grid import Job
from rtdesk.bench.rows import Row, Tally, failed
from workers import backends
from workers.config import Config
from workers.episode import make_backend, make_game, make_header
from workers.simulator import run_simulation

__all__ = ["FAILED", "PART", "play", "settle"]

PART = ".part"
FAILED = ".failed.rtr"


def play(job: Job, folder: str | None = None) -> Row:
    """Play one episode and return its row; its replay goes into `folder` (None: nothing is kept)."""
    began, cpu = time.perf_counter(), time.process_time()
    tally = Tally()
    try:
        _play(job, tally, _part(job, folder))
        row = msgspec.structs.replace(job.row, **tally.fields())
    except BaseException as error:
        # Also what a game of somebody's raises to end a process: only the episode is over.
        row = failed(job.row, _sentence(error))
    row = settle(job, row, folder)
    times = {"wall_s": round(time.perf_counter() - began, 3), "cpu_s": round(time.process_time() - cpu, 3), "finished": _now()}
    return msgspec.structs.replace(row, meas={**row.meas, **times})


def settle(job: Job, row: Row, folder: str | None) -> Row:
    """Give what was recorded of an episode that is over the name it keeps, and return its row with it; for one whose process died as well."""
    part = _part(job, folder)
    if part is None or not part.exists():
        return row
    whole = part.with_name(part.name.removesuffix(PART))
    broken = whole.with_name(whole.name.removesuffix(".rtr") + FAILED)
    target = whole if row.ok else broken
    os.replace(part, target)
    if row.ok:
        broken.unlink(missing_ok=True)
    return msgspec.structs.replace(row, replay=f"{part.parent.name}/{target.name}")


def _part(job: Job, folder: str | None) -> Path | None:
    """Where an episode is recorded while it is played; None where nothing is kept."""
    return None if folder is None or job.replay is None else Path(folder) / (job.replay + PART)


def _play(job: Job, tally: Tally, part: Path | None) -> None:
    config = _varied(job.config, job.row.sample)
    try:
        meas = {"engine": "simulator", "file_id": job.key, "started": _now(), "bench": job.bench}
        header = make_header(config, make_game(config), meas=meas)
        tally.add([header])
        recording = None if part is None else _Recording(part, header)
        try:

            def commit(tick: int, events: list[ev.AnyEvent]) -> None:
                tally.add(events)
                if recording is not None:
                    recording.tick(tick, events)

            _, end = run_simulation(config, commit=commit, meas=meas)
            tally.add([end])
            if recording is not None:
                recording.writer.end(end)
        finally:
            if recording is not None:
                recording.writer.close()
    finally:
        for made in (config.planner, config.reactor):
            if made is not None and not isinstance(made, str):
                backends.shut(made)


def _varied(config: Config, sample: int) -> Config:
    """Return the settings with thinkers that answer as another sample does; sample 0 asks as `play` would."""
    if not sample:
        return config
    given: dict[str, Any] = {}
    for role in ("planner", "reactor"):
        spec = getattr(config, role)
        if not isinstance(spec, str):
            continue
        backend = make_backend(config, role)
        vary = getattr(backend, "vary", None)
        if vary is None:
            # It can only be asked again.
            backends.shut(backend)
            continue
        vary(sample)
        given[role] = backend
    return msgspec.structs.replace(config, **given)


class _Recording:
    """The replay of an episode under way."""

    def __init__(self, path: Path, header: ev.Episode) -> None:
        path.unlink(missing_ok=True)
        self.writer = ReplayWriter.create(path, header)
        self._state = ViewState()
        fold(self._state, header)

    def tick(self, tick: int, events: list[ev.AnyEvent]) -> None:
        for event in events:
            fold(self._state, event)
        self.writer.tick(tick, events)
        if keyframe_due(tick):
            self.writer.keyframe(tick, self._state.to_map())


def _sentence(error: BaseException) -> str:
    """An error on one line, with the place it came from at first; that of the last file which is not Python's own."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    frames = [frame for frame in traceback.extract_tb(root.__traceback__) if "lib/python" not in frame.filename]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' + text if text else ''}{where}"[:500]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
