"""The local engine: a few processes, one episode each at a time.

Processes are started like those of a live run: `spawn`, deaf to the terminal's Ctrl-C, gone when their parent is, their output a pipe. One that
dies (a game that ends its process, no memory) costs its own episode and is started again. The one thing that surprises: there is no queue
between them; whoever is idle is handed the next episode, so what runs and what failed is known at every moment.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

from rtdesk.bench.episode import play, settle
from rtdesk.bench.grid import Job
from rtdesk.bench.rows import Row, failed
from workers.live.child import Pipe, follow_parent, hush_terminal
from workers.live.parts import Part

__all__ = ["Engine", "LocalEngine"]

ENDS_S = 2.0
AGAIN = 3
"""How often a place is filled anew because a process died before it had taken its episode; more often is a machine in trouble."""


class Engine(Protocol):
    """What plays episodes."""

    slots: int
    """Episodes at a time."""

    def start(self, job: Job) -> None:
        """Begin an episode; there must be a free slot."""

    def wait(self, timeout: float) -> list[tuple[Job, Row]]:
        """Return episodes that are over, perhaps none, after at most `timeout` seconds."""

    def close(self) -> None:
        """End everything at once; what runs is lost."""


class _Orders(NamedTuple):
    """What a process is told at birth."""

    desk: int
    kernel_watch: bool
    folder: str | None


class _Worker:
    """One process and the episode it plays."""

    def __init__(self, number: int, folder: str | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.part = Part(f"bench-{number}")
        self.job: Job | None = None
        self.began = 0.0
        self.taken = False
        self._again = AGAIN
        self._folder = folder
        self._line: Connection | None = None

    @property
    def line(self) -> Connection:
        assert self._line is not None
        return self._line

    def start(self, job: Job) -> None:
        if not self.part.alive:
            self._begin()
        self.job, self.began, self.taken = job, self._clock(), False
        self.part.last_line = ""
        # If it has died while it had nothing to do, that shows when it takes the job, or does not.
        with suppress(OSError):
            self.line.send(job)

    def _begin(self) -> None:
        self.close()
        if self.part.process is not None:
            self.part.process.join(ENDS_S)
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        try:
            self.part.start(_main, lambda incarnation, kernel_watch: (theirs, _Orders(os.getpid(), kernel_watch, self._folder)), None)
        finally:
            theirs.close()
        self._line = ours

    def kill(self, why: str) -> None:
        if self.part.process is not None:
            self.part.verdict = why
            self.part.process.kill()

    def finished(self) -> Row | None:
        """Return the row of its episode if that is over, the process's death included."""
        job = self.job
        if job is None:
            return None
        self.part.read()
        row: Row | None = None
        try:
            while row is None and self.line.poll():
                row = self.line.recv()
                if not self.taken:
                    # How long a process takes to start, on a machine with much to do, is no part of an episode.
                    self.taken, self.began = True, self._clock()
        except (EOFError, OSError):
            if self.part.process is not None:
                self.part.process.join(ENDS_S)
        if row is None and not self.part.alive:
            self.part.read()
            if not self.taken and self._again:
                self._again -= 1
                self.start(job)
                return None
            row = failed(job.row, self.part.obituary(), meas={"wall_s": round(self._clock() - self.began, 3)})
            row = settle(job, row, self._folder)
        if row is not None:
            self.job = None
        return row

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        self.part.close_pipe()


class LocalEngine:
    """Plays up to `slots` episodes at a time on this machine. `limit_s` ends an episode that takes longer by `clock`, in seconds."""

    def __init__(self, slots: int, *, folder: str | None = None, limit_s: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.slots = slots
        self._limit_s = limit_s
        self._clock = clock
        self._workers = [_Worker(number, folder, clock) for number in range(1, slots + 1)]

    def start(self, job: Job) -> None:
        next(worker for worker in self._workers if worker.job is None).start(job)

    def wait(self, timeout: float) -> list[tuple[Job, Row]]:
        busy = [worker for worker in self._workers if worker.job is not None]
        wait([source for worker in busy for source in (worker.line, *worker.part.sources)], timeout)
        out = []
        for worker in busy:
            job = worker.job
            if self._limit_s is not None and worker.taken and self._clock() - worker.began > self._limit_s:
                worker.kill(f"it took longer than {self._limit_s:g} s")
            row = worker.finished()
            if row is not None and job is not None:
                out.append((job, row))
        return out

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
            if worker.part.process is not None:
                worker.part.process.kill()
        for worker in self._workers:
            if worker.part.process is not None:
                worker.part.process.join(ENDS_S)


def _main(line: Connection, pipe: Pipe, orders: _Orders, queue: Any) -> None:
    """Entry point of a process: play what comes until nothing more does."""
    hush_terminal(pipe)
    follow_parent(orders.desk, kernel_watch=orders.kernel_watch)
    # Whoever ends a bench ends all of its processes, often with one signal to everybody; the bench itself decides what is lost.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            job = line.recv()
        except (EOFError, OSError):
            return
        # From here on it is the episode that is to blame.
        line.send(None)
        line.send(play(job, orders.folder))
