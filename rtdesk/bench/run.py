"""The command: what is missing in the folder is played, each result kept as it comes.

The one thing that surprises: starting it again with the same words is how a bench goes on, after Ctrl-C, after a crash, or with more
seeds. An episode is done if a good row with its key is there, and its key holds the configuration hash; failed ones are played again.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rtdesk.bench.folder import ROWS, Writer
from rtdesk.bench.grid import Asked, Cell, Job, make_plan
from rtdesk.bench.pool import Engine, LocalEngine
from rtdesk.bench.rows import Row, accept
from rtdesk.leave import Exit
from rtdesk.live import Signals
from rtdesk.say import complain, print_json
from workers import backends
from workers.errors import ConfigError

__all__ = ["Prices", "Settings", "bench", "cost_of", "drive", "money", "token_totals"]

LOOK_S = 0.25
MODEL_EPISODES = 4
"""Episodes at a time that ask a model, unless told otherwise: two streams each; a model in a file has slots for one episode."""
PLAIN_S = 10.0
"""Between two lines of progress where nobody watches; more as time goes by."""

Prices = dict[str, tuple[float, float]]
"""Of a million tokens by role: read, written."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How it is played, which changes no result."""

    folder: str
    jobs: int | None = None
    engine: str = "local"
    concurrency: int | None = None
    """Episodes at a time that ask a model."""
    limit_s: float | None = None
    """Seconds an episode may take."""
    prices: Prices = {}
    as_json: bool = False


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def drive(
    jobs: Iterable[Job],
    engine: Engine,
    *,
    done: Callable[[Job, Row], None],
    models: int = MODEL_EPISODES,
    stopped: Callable[[], bool] = lambda: False,
    look: Callable[[], None] = lambda: None,
) -> None:
    """Play all `jobs`; `done` is told of each as it ends, `look` is called now and then. At most `models` of them ask a model at a time."""
    queues = {True: deque(job for job in jobs if job.model), False: deque(job for job in jobs if not job.model)}
    running: Counter[bool] = Counter()
    while any(queues.values()) or running.total():
        if stopped():
            return
        for model, limit in ((True, models), (False, engine.slots)):
            while queues[model] and running[model] < limit and running.total() < engine.slots:
                engine.start(queues[model].popleft())
                running[model] += 1
        for job, row in engine.wait(LOOK_S):
            running[job.model] -= 1
            # What fails while everything is being ended has not failed.
            if row.ok or not stopped():
                done(job, row)
        look()


def bench(asked: Asked, settings: Settings) -> int:
    """Play what is missing, and say what it came to. Returns the exit code."""
    plan = make_plan(asked)
    if settings.jobs is not None and not 1 <= settings.jobs <= 1024:
        raise ConfigError(f"{settings.jobs} jobs cannot be run; give --jobs from 1 to 1024")
    kind, _, address = settings.engine.partition("=")
    if kind not in ("local", "dask") or (kind == "local" and address):
        raise ConfigError(f"unknown engine {settings.engine!r}; give local, dask, or dask=ADDRESS of a scheduler such as dask=tcp://127.0.0.1:8786")
    if kind == "dask":
        from rtdesk.bench.cluster import check_dask

        check_dask(address, plan.cells, limited=settings.limit_s is not None)
    for note in plan.notes:
        complain(f"note: {note}")
    with Writer(Path(settings.folder)) as writer:
        held = accept(writer.found.rows).rows
        jobs = plan.jobs()
        wanted = [job for job in jobs if job.key not in held or not held[job.key].ok]
        writer.plan(plan.cells)
        _say_found(writer, len(jobs) - len(wanted), len(jobs))
        began = time.monotonic()
        signals = Signals()
        progress = _Progress(len(wanted))
        rows: dict[str, Row] = {}

        def done(job: Job, row: Row) -> None:
            writer.row(row)
            rows[row.key] = row
            progress.add(row)

        try:
            if wanted:
                _play(wanted, settings, kind, address, writer, done=done, stopped=lambda: signals.code is not None, look=progress.look)
        finally:
            progress.close()
            signals.restore()
        told = {**{job.key: held[job.key] for job in jobs if job.key in held}, **rows}
        result = _result(settings, plan.cells, told, jobs=len(jobs), played=rows, wall_s=time.monotonic() - began)
    return _say(result, settings, code=signals.code)


def _play(
    jobs: Sequence[Job],
    settings: Settings,
    kind: str,
    address: str,
    writer: Writer,
    *,
    done: Callable[[Job, Row], None],
    stopped: Callable[[], bool],
    look: Callable[[], None],
) -> None:
    # A model in a file is loaded once, and its address is left to the processes that are started from here.
    hosts = backends.hosts(dict.fromkeys(spec for job in jobs for spec in (job.config.planner, job.config.reactor) if spec is not None))
    engine: Engine | None = None
    try:
        slots = min(settings.jobs or cores(), len(jobs))
        models = settings.concurrency or (1 if hosts else MODEL_EPISODES)
        if any(job.model for job in jobs) and settings.jobs is None:
            # They wait for a server more than they compute.
            slots = min(max(slots, models), len(jobs))
        if kind == "dask":
            from rtdesk.bench.cluster import DaskEngine

            engine = DaskEngine(address, slots, folder=writer.replays, asked=settings.jobs)
        else:
            engine = LocalEngine(slots, folder=str(writer.replays), limit_s=settings.limit_s)
        drive(jobs, engine, done=done, models=models, stopped=stopped, look=look)
    finally:
        if engine is not None:
            engine.close()
        for host in hosts:
            host.close()


def _say_found(writer: Writer, have: int, planned: int) -> None:
    if writer.found.bad or writer.found.torn:
        torn = " and a torn one" if writer.found.torn else ""
        complain(f"note: {writer.folder / ROWS}: {writer.found.bad} lines{torn} are no rows and do not count")
    if have:
        complain(f"{have} of {planned} episodes are there already")


class _Progress:
    """One line on stderr: in place on a terminal, now and then elsewhere."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._count = self._failed = 0
        self._last = ""
        self._began = time.monotonic()
        self._said = self._began
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._width = 0
        self._at = -1.0

    def add(self, row: Row) -> None:
        self._count += 1
        self._failed += not row.ok
        score = f"{row.score:.2f}" if row.score is not None else "failed"
        self._last = f"{row.game} {row.load} s{row.seed} {row.agent} {score}"
        self.look(fresh=True)

    def look(self, *, fresh: bool = False) -> None:
        now = time.monotonic()
        if self._live and (fresh or now - self._at >= 1.0):
            self._at = now
            self._paint(now)
        elif not self._live and now - self._said >= max(PLAIN_S, (now - self._began) / 10) and self._count < self._total:
            self._said = now
            complain(self._text(now))

    def _text(self, now: float) -> str:
        took = now - self._began
        left = f", about {took / self._count * (self._total - self._count):.0f} s to go" if 0 < self._count < self._total else ""
        bad = f", {self._failed} failed" if self._failed else ""
        return f"{self._count} of {self._total} episodes{bad}, {took:.0f} s{left}"

    def _paint(self, now: float) -> None:
        import shutil

        from replays.clean import one_line

        room = shutil.get_terminal_size().columns - 1
        text = one_line(f"{self._text(now)}: {self._last}" if self._last else self._text(now))[:room]
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._live and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
        if self._count and sys.stderr is not None:
            complain(self._text(time.monotonic()))


def token_totals(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Return tokens read and written by role over all rows, failed ones too: they were paid for."""
    read: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for row in rows:
        read.update(row.read_tokens)
        written.update(row.billed_tokens)
    return {role: {"read": read[role], "written": written[role]} for role in sorted({*read, *written})}


def cost_of(tokens: dict[str, dict[str, int]], prices: Prices) -> float | None:
    """Return what tokens cost at `prices`; None where none were given."""
    if not prices:
        return None
    return round(sum((told["read"] * prices[role][0] + told["written"] * prices[role][1]) / 1e6 for role, told in tokens.items() if role in prices), 6)


def money(cost: float) -> str:
    """A cost to be read: two digits behind the point, more of what is little."""
    return f"{cost:,.2f}" if cost >= 1 else f"{cost:.4f}"


def _result(settings: Settings, cells: Sequence[Cell], told: dict[str, Row], *, jobs: int, played: dict[str, Row], wall_s: float) -> dict[str, Any]:
    groups = []
    for cell in cells:
        rows = [told[key] for key in cell.episode_keys() if key in told]
        scores = [row.score for row in rows if row.score is not None]
        groups.append(
            {
                **{name: getattr(cell, name) for name in ("game", "load", "agent", "tick_budget", "reactive_budget", "config", "seeds", "samples")},
                "ok": len(scores),
                "failed": sum(not row.ok for row in rows),
                "missing": len(cell.episode_keys()) - len(rows),
                "score": round(sum(scores) / len(scores), 6) if scores else None,
            }
        )
    failures = [{"key": row.key, "game": row.game, "load": row.load, "agent": row.agent, "seed": row.seed, "fault": row.fault} for row in told.values() if not row.ok]
    tokens = token_totals(told.values())
    return {
        "folder": settings.folder,
        "episodes": {"planned": jobs, "ok": sum(row.ok for row in told.values()), "failed": len(failures), "missing": jobs - len(told)},
        "cells": groups,
        "failures": sorted(failures, key=lambda failure: failure["key"]),
        "tokens": tokens,
        "cost": cost_of(tokens, settings.prices),
        "meas": {"played": len(played), "wall_s": round(wall_s, 3), "engine": settings.engine},
    }


def _say(result: dict[str, Any], settings: Settings, *, code: int | None) -> int:
    counts = result["episodes"]
    if settings.as_json:
        print_json(result)
    else:
        from rtdesk.say import print_plain

        lines = [f"{counts['ok']} of {counts['planned']} episodes in {settings.folder}, {counts['failed']} failed; rtdesk report {settings.folder} has the tables"]
        if result["cost"] is not None:
            lines.append(f"cost at the prices given: {money(result['cost'])}")
        print_plain("\n".join(lines))
    if code is not None:
        raise Exit(code, f"interrupted: {counts['ok']} of {counts['planned']} episodes are in {settings.folder}; the same command goes on from there")
    if counts["failed"]:
        first = result["failures"][0]
        raise Exit(1, f"{counts['failed']} of {counts['planned']} episodes failed, first {first['game']} {first['load']} seed {first['seed']} {first['agent']}: {first['fault']}")
    return 0
