"""What every child process does first and last: signals, its parent's life, its log, its pipe; and the one wait.

A child ends by itself when its parent is gone (a thread watches the parent's sentinel; on Linux the kernel says so as
well), on SIGTERM at its next wait, and when its part is done. It never writes to the terminal: its stdout and stderr are
a pipe to the desk, which keeps the last line for the message that names it.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import logging.handlers
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from games.base import GameError
from replays import events as ev
from workers.config import Config
from workers.errors import ConfigError, WorkerError
from workers.live.birth import die_with
from workers.rings import Doorbell, RingReader, RingWriter, Waiter, Wiring
from workers.wire import Emitter, Ready

__all__ = ["DONE", "HELD_BACK", "TOLD", "WRITE_FAILED", "Child", "Orders", "Pipe", "follow_parent", "hush_terminal", "main"]

log = logging.getLogger(__name__)

DONE = 99
"""Exit code of a child whose part is over. Not 0: with that a library ends a process behind our back, and nobody may take it for the end."""
TOLD = 128 + signal.SIGTERM
"""Exit code of a child that went because somebody told it to, in the middle of an episode."""
WRITE_FAILED = 74
"""Exit code of a recorder that cannot write its file (EX_IOERR of sysexits.h); it is not started again."""
HELD_BACK = (signal.SIGINT, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGINT,)
"""What a terminal sends to everybody. Blocked around a child's start, which inherits that, until the child ignores them."""

_MAINS = {"game": "workers.live.game", "planner": "workers.live.thinkers", "reactor": "workers.live.thinkers", "recorder": "workers.live.recorder"}
_PR_SET_TIMERSLACK = 29
BEAT_NS = 50_000_000
"""A sign of life is due every 100 ms."""
NAP_S = 0.05
"""Longest wait without a look around."""


class Pipe:
    """The writing end of a pipe, for a starting child."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __getstate__(self) -> Any:
        from multiprocessing import reduction

        return reduction.DupFd(self.fd)

    def __setstate__(self, state: Any) -> None:
        self.fd = state.detach()


class Orders(NamedTuple):
    """What a child is told at birth."""

    role: str
    incarnation: int
    config: bytes
    header: bytes
    """The episode event."""
    recording: str | None
    desk: int
    """The desk's pid."""
    kernel_watch: bool
    """Whether the kernel may end the child with its parent: it goes by the starting thread, which must be the main one."""
    jitter: float
    """Tests only: sleep up to so many seconds at random in every wait, to shake the order of things."""
    held: bool = False
    """For the game: the episode begins at the desk's word."""
    together: bool = False
    """For the game: it is one side of a match, whose ticks end at the desk's word."""
    keyboard: str | None = None
    """For the game: the terminal its person types at."""


class Child:
    """One child's surroundings: its wiring, its settings, and the wait that notices everything it must."""

    def __init__(self, wiring: Wiring, orders: Orders) -> None:
        self.wiring = wiring
        self.role = orders.role
        self.incarnation = orders.incarnation
        self.recording = orders.recording
        self.held = orders.held
        self.together = orders.together
        self.keyboard = orders.keyboard
        self.config = msgspec.msgpack.decode(orders.config, type=Config)
        header = ev.decode(orders.header)
        assert isinstance(header, ev.Episode)
        self.header = header
        self.stopping = False
        self._beat = 0
        self._writer: RingWriter | None = None
        self._orders: RingReader | None = None
        self._nudge = Doorbell.create()
        self._waiters: dict[tuple[RingReader, ...], Waiter] = {}
        self._jitter = orders.jitter
        self._shake = random.Random(f"{orders.role}/{time.monotonic_ns()}")

    def writer(self) -> RingWriter:
        """This child's own ring."""
        self._writer = self.wiring.writer(self.role)
        return self._writer

    def reader(self, ring: str) -> RingReader:
        """This child's reader of a ring. An aborted game ring is a reason to go: nobody gives orders any more."""
        reader = self.wiring.reader(ring)
        if ring == "game":
            self._orders = reader
        return reader

    def ready(self, emitter: Emitter) -> None:
        """Say that every reader stands."""
        emitter.control(Ready(role=self.role, incarnation=self.incarnation))

    def beat(self) -> None:
        """Show a sign of life, at most every 50 ms."""
        now = time.monotonic_ns()
        if self._writer is not None and now - self._beat > BEAT_NS:
            self._beat = now
            self._writer.heartbeat()

    def wake(self) -> None:
        """End the wait that is on, or the next; from any thread."""
        self._nudge.ring()

    @property
    def orphaned(self) -> bool:
        """Whether nobody gives orders any more: the game process is gone, or the desk has given it up."""
        return self._orders is not None and self._orders.aborted

    @property
    def leaving(self) -> bool:
        """Whether it is time to go: SIGTERM, or nobody gives orders any more."""
        return self.stopping or self.orphaned

    def wait(self, readers: Sequence[RingReader], timeout: float, *, events_only: bool = False) -> bool:
        """Sleep until a reader has something, `wake` was called, or `timeout` seconds have gone. False: it is time to go.

        The one wait of all children: it shows a sign of life, and sees SIGTERM and an aborted game. A dead parent ends the process by
        itself.
        """
        self.beat()
        if self._jitter:
            time.sleep(self._shake.random() * self._jitter)
        if timeout > 0 and not self.leaving and self._nudge.read_fd in self._waiter(readers).wait(min(timeout, NAP_S), events_only):
            self._nudge.drain()
        return not self.leaving

    def _waiter(self, readers: Sequence[RingReader]) -> Waiter:
        key = tuple(readers)
        waiter = self._waiters.get(key)
        if waiter is None:
            waiter = self._waiters[key] = Waiter(key, [self._nudge.read_fd])
        return waiter


def main(wiring: Wiring, pipe: Pipe, orders: Orders, queue: Any) -> None:
    """Entry point of every child."""
    hush_terminal(pipe)
    follow_parent(orders.desk, kernel_watch=orders.kernel_watch)
    _start_log(queue)
    child = Child(wiring, orders)

    def stop(number: int, frame: object) -> None:
        child.stopping = True

    signal.signal(signal.SIGTERM, stop)
    try:
        code = importlib.import_module(_MAINS[orders.role]).main(child)
    except WorkerError as error:
        log.error("%s failed: %s", orders.role, error)
        print(error, file=sys.stderr)
        code = 1
    except BaseException as error:
        # Also SystemExit: that its part is done nobody but the part may say.
        log.critical("%s failed", orders.role, exc_info=error)
        # One line for the desk's message; the traceback, without locals, is in the log.
        print(_last_word(error), file=sys.stderr)
        code = 1
    _end_log(queue)
    sys.stderr.flush()
    os._exit(code)


def _last_word(error: BaseException) -> str:
    """What went wrong, in a line: a sentence of ours as it stands, anything else with its kind in front."""
    return str(error) if isinstance(error, GameError | ConfigError) else f"{type(error).__name__}: {error}".rstrip(": ")


def hush_terminal(pipe: Pipe) -> None:
    """Write to the pipe instead of the terminal, and ignore what a terminal sends to everybody."""
    os.dup2(pipe.fd, 1)
    os.dup2(pipe.fd, 2)
    os.close(pipe.fd)
    for number in HELD_BACK:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)


def follow_parent(parent_pid: int, *, kernel_watch: bool) -> None:
    """See to it that this process ends with its parent, whatever it is doing; `kernel_watch` as in `Orders`."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel

        def watch() -> None:
            from multiprocessing.connection import wait

            wait([sentinel])
            os._exit(0)

        threading.Thread(target=watch, name="parent", daemon=True).start()
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    if kernel_watch:
        # Also where the thread above never comes to run: in a loop of foreign code that keeps the interpreter's lock.
        die_with(parent_pid)


def _start_log(queue: Any) -> None:
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    if queue is not None:
        root.addHandler(logging.handlers.QueueHandler(queue))


def _end_log(queue: Any) -> None:
    if queue is None:
        return
    logging.getLogger().handlers.clear()
    queue.close()
