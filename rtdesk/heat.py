"""What is played together at one desk: a run alone or the sides of a match, how they begin, and the next one when it is asked for.

A person who plays is not thrown in: the gate holds the start while the rules are read, until every process stands ready, and for
the 3, 2, 1. Imports no screen library. Starting and ending processes takes a moment, so a change of runs happens in a thread and the
screen keeps drawing meanwhile.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from workers.config import Config
from workers.errors import WorkerError
from workers.live.desk import LiveRun
from workers.live.match import Referee
from workers.wire import START

__all__ = ["COUNT", "Gate", "Heat", "Table"]

log = logging.getLogger(__name__)

COUNT = 3
"""Seconds counted down before a person plays."""


class Gate:
    """Holds the start of a heat: while `reading`, then until all is ready, then for `count` seconds. Time is given, never asked for."""

    def __init__(self, *, count: int = 0, reading: bool = False) -> None:
        self.reading = reading
        """Whether the person is still at the rules."""
        self.paused = False
        """Whether a pause was asked for before the beginning: there is no count in it, and afterwards it begins again."""
        self.open = False
        self._count = count
        self._since: int | None = None
        self._now = 0

    def due(self, now_ns: int, *, ready: bool) -> bool:
        """Whether play begins with this call: true once."""
        self._now = now_ns
        if self.open:
            return False
        if self.reading or self.paused or not ready:
            self._since = None
            return False
        if self._since is None:
            self._since = now_ns
        self.open = now_ns - self._since >= self._count * 1_000_000_000
        return self.open

    @property
    def left(self) -> int:
        """What the count says: 3, 2, 1; 0 while it does not run."""
        if self.open or self._since is None:
            return 0
        return max(0, self._count - (self._now - self._since) // 1_000_000_000)


class Heat:
    """Runs that are on together. With a gate all of them begin at its word; several have a referee."""

    def __init__(self, runs: Sequence[LiveRun], *, gate: Gate | None = None) -> None:
        self.runs = tuple(runs)
        self.gate = gate
        self.held = False
        """Whether its time was asked to stand still, or to stand still again after a step."""
        self._referee: Referee | None = None
        self._closed = False

    def start(self) -> None:
        """Start all processes; returns at once. Raises WorkerError if one cannot be started; then everything is closed."""
        try:
            for run in self.runs:
                run.start()
            if len(self.runs) > 1:
                self._referee = Referee(self.runs)
        except BaseException:
            self.close()
            raise

    @property
    def ready(self) -> bool:
        """Whether everybody stands at the beginning."""
        return self._referee.ready if self._referee is not None else self.runs[0].stands == START

    @property
    def over(self) -> bool:
        return all(run.over for run in self.runs)

    def poll(self, now_ns: int) -> None:
        """Begin, if it is time. What has been closed never begins: the heat after it may have failed to start while this one was counting."""
        if self._closed or self.gate is None or not self.gate.due(now_ns, ready=self.ready):
            return
        if self._referee is not None:
            self._referee.begin()
        else:
            self.runs[0].go(START, time.monotonic_ns())

    def hold(self, still: bool) -> None:
        """Let the time of every run stand still, or go on; asking twice is asking once."""
        if still == self.held:
            return
        self.held = still
        if self.gate is not None and not self.gate.open:
            self.gate.paused = still
        else:
            self._tell("pause" if still else "resume")

    def step(self) -> None:
        """Let every run play one tick, and stand still then."""
        self.held = True
        if self.gate is not None:
            self.gate.paused = False
        self._tell("step")

    def _tell(self, what: str) -> None:
        now_ns = time.monotonic_ns()
        for run in self.runs:
            run.command(what, t_ns=now_ns)

    def close(self) -> None:
        """End everything. Safe to call twice."""
        if not self._closed:
            self._closed = True
            for run in self.runs:
                # All at once: closed one after the other, the last would play on until its turn comes.
                if not run.over:
                    run.command("quit")
        if self._referee is not None:
            self._referee.close()
        for run in self.runs:
            run.close()


class Table:
    """The heat that is on, and the change to the next. `begin(configs)` makes and starts one; every side of it has its `LiveSource`."""

    def __init__(
        self, heat: Heat, begin: Callable[[Sequence[Config]], Heat], *, note: str = "", log_path: Path | None = None, one_seed: bool = False, read: Callable[[], None] | None = None
    ) -> None:
        """`one_seed` is for a race against a recording, which is of one level only; `read` is called when a person has read the rules."""
        self.heat = heat
        self._one_seed = one_seed
        self._read = read
        self.note = note
        self.log_path = log_path
        self.error: str | None = None
        """Why no further heat could be started."""
        self.record_failure: str | None = None
        self.past: list[str] = []
        """Replays of the heats before this one, oldest first."""
        self._begin = begin
        self._swap: threading.Thread | None = None
        self._fresh: Heat | None = None

    @property
    def changing(self) -> bool:
        """Whether one heat is being ended and the next one started."""
        return self._swap is not None

    def poll(self, now_ns: int) -> None:
        """Take over a heat that has been started, and let it begin when it is time. Every side may call this; it costs nothing."""
        if self._swap is not None and not self._swap.is_alive():
            self._swap = None
            if self._fresh is not None:
                self.heat, self._fresh = self._fresh, None
        if self._swap is None:
            self.heat.poll(now_ns)

    def reading(self, still: bool) -> None:
        """A person reads the rules, or has read them: before its beginning a heat waits for that."""
        if self.heat.gate is not None:
            self.heat.gate.reading = still
        if not still and self._read is not None:
            self._read()

    def change(self, what: str) -> str:
        """`restart` or `next-seed`; returns a line for the person."""
        if self._swap is not None:
            return "starting"
        configs = [run.config for run in self.heat.runs]
        if what == "next-seed" and self._one_seed:
            return f"the recording is of seed {configs[0].seed}; restart races it again"
        if what == "next-seed":
            # A fork's state belongs to its own seed: the next one begins at the beginning.
            configs = [msgspec.structs.replace(config, seed=config.seed + 1, start=None) for config in configs]
        old = self.heat

        def swap() -> None:
            self._put_away(old)
            self.past += [run.recording for run in old.runs if run.recording and os.path.exists(run.recording)]
            try:
                self._fresh = self._begin(configs)
                self.error = None
            except Exception as error:
                # Whatever it is: a traceback of a thread's own would be written over the screen, and the person never told.
                log.exception("no further run")
                known = isinstance(error, WorkerError | ValueError | OSError)
                self.error = str(error) if known else f"no further run: {type(error).__name__}: {error}"

        self._swap = threading.Thread(target=swap, name="change-run", daemon=True)
        self._swap.start()
        return f"seed {configs[0].seed}"

    def _put_away(self, heat: Heat) -> None:
        heat.close()
        self.record_failure = self.record_failure or next((run.record_failure for run in heat.runs if run.record_failure), None)

    def close(self) -> None:
        """End the heat that is on, and one that was just being started. Safe to call twice."""
        if self._swap is not None:
            self._swap.join(30.0)
            if self._fresh is not None:
                self._fresh.close()
        self._put_away(self.heat)


def rate_of(config: Config) -> float | None:
    """Ticks a second a run is paced at in token time; infinity for unpaced, None in wall time, which has no pace to change."""
    if config.clock == "wall":
        return None
    if config.tpot_s is not None and config.tick_budget_tokens:
        return 1 / (config.tpot_s * config.tick_budget_tokens)
    return math.inf if config.tick_rate is None else config.tick_rate
