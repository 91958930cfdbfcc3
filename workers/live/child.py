"""What every child process does first and last: signals, its parent's life, its log, its pipe; and the one wait.

A child ends by itself when its parent is gone (a thread watches the parent's sentinel; on Linux the kernel says so as
well), on SIGTERM at its next wait, and when its part is done. It never writes to the terminal: its stdout and stderr are
a pipe to the desk, which keeps the last line for the message that names it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import logging
import logging.handlers
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from replays import events as ev
from workers.config import Config
from workers.errors import WorkerError
from workers.rings import RingReader, RingWriter, Wiring, wait_any
from workers.wire import AnyControl, Emitter, Ready

__all__ = ["WRITE_FAILED", "Child", "Orders", "Pipe", "main"]

log = logging.getLogger(__name__)

WRITE_FAILED = 74
"""Exit code of a recorder that cannot write its file (EX_IOERR of sysexits.h); it is not started again."""

_MAINS = {"game": "workers.live.game", "planner": "workers.live.thinkers", "reactor": "workers.live.thinkers", "recorder": "workers.live.recorder"}
_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
HEARTBEAT_NS = 50_000_000


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
    """The episode event; its `meas.epoch_ns` is there only for a restarted child."""
    recording: str | None
    jitter: float
    """Tests only: sleep up to so many seconds at random in every wait, to shake the order of things."""


class Child:
    """One child's surroundings: its wiring, its settings, and the wait that notices everything it must."""

    def __init__(self, wiring: Wiring, orders: Orders) -> None:
        self.wiring = wiring
        self.role = orders.role
        self.incarnation = orders.incarnation
        self.recording = orders.recording
        self.config = msgspec.msgpack.decode(orders.config, type=Config)
        header = ev.decode(orders.header)
        assert isinstance(header, ev.Episode)
        self.header = header
        self.stopping = False
        self._beat = 0
        self._writer: RingWriter | None = None
        self._jitter = orders.jitter
        if self._jitter:
            import random

            self._shake = random.Random(f"{orders.role}/{time.monotonic_ns()}")

    def writer(self) -> RingWriter:
        """This child's own ring."""
        self._writer = self.wiring.writer(self.role)
        return self._writer

    def reader(self, ring: str) -> RingReader:
        return self.wiring.reader(ring)

    def ready(self, emitter: Emitter) -> None:
        emitter.control(Ready(role=self.role, incarnation=self.incarnation))

    def beat(self) -> None:
        """Show a sign of life, at most every 50 ms."""
        now = time.monotonic_ns()
        if self._writer is not None and now - self._beat > HEARTBEAT_NS:
            self._beat = now
            self._writer.heartbeat()

    def wait(self, readers: Sequence[RingReader], timeout: float, *, events_only: bool = False) -> bool:
        """Sleep until a reader has something or `timeout` seconds have gone. False: it is time to go.

        The one wait of all children: it shows a sign of life and sees SIGTERM. A dead parent ends the process by itself.
        """
        self.beat()
        if self._jitter:
            time.sleep(self._shake.random() * self._jitter)
        if timeout > 0 and not self.stopping:
            wait_any(readers, min(timeout, 0.05), events_only=events_only)
        return not self.stopping


def main(wiring: Wiring, pipe: Pipe, orders: Orders, queue: Any) -> None:
    """Entry point of every child."""
    os.dup2(pipe.fd, 1)
    os.dup2(pipe.fd, 2)
    os.close(pipe.fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _follow_parent()
    _start_log(queue)
    child = Child(wiring, orders)

    def stop(number: int, frame: object) -> None:
        child.stopping = True

    signal.signal(signal.SIGTERM, stop)
    code = 0
    try:
        code = importlib.import_module(_MAINS[orders.role]).main(child) or 0
    except WorkerError as error:
        log.error("%s failed: %s", orders.role, error)
        print(error, file=sys.stderr)
        code = 1
    except Exception as error:
        log.exception("%s failed", orders.role)
        # One line for the desk's message; the traceback, without locals, is in the log.
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        code = 1
    _end_log(queue)
    sys.stderr.flush()
    os._exit(code)


def _follow_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        from multiprocessing.connection import wait

        wait([parent.sentinel])
        os._exit(0)

    if parent is not None:
        threading.Thread(target=watch, name="parent", daemon=True).start()
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def _start_log(queue: Any) -> None:
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    if queue is not None:
        root.addHandler(logging.handlers.QueueHandler(queue))


def _end_log(queue: Any) -> None:
    if queue is None:
        return
    queue.close()
    # A sibling killed while it held the queue's lock must not keep this one from ending.
    joiner = threading.Thread(target=queue.join_thread, daemon=True)
    joiner.start()
    joiner.join(0.5)


def seconds_until(instant_ns: float) -> float:
    """Seconds from now to an absolute monotonic instant, 0 if it is over, at most one."""
    return min(1.0, max(0.0, (instant_ns - time.monotonic_ns()) / 1e9))


def sleep_until(instant_ns: int) -> None:
    """Sleep to an absolute monotonic instant."""
    with contextlib.suppress(ValueError):
        time.sleep((instant_ns - time.monotonic_ns()) / 1e9)


Item = ev.AnyEvent | AnyControl
