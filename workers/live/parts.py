"""One child process as the desk sees it: how it is started, what it said last, how it died."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any

from replays.clean import one_line
from workers.errors import WorkerError
from workers.live.birth import Cord, born
from workers.live.child import HELD_BACK, TOLD, Pipe

__all__ = ["Part", "held_back"]

_HINTS = {"SIGKILL": " (out of memory, or somebody killed it)", "SIGBUS": " (no memory behind a shared mapping)"}


@contextmanager
def _bare_main() -> Iterator[None]:
    """Start children without running the user's main module again: a script without a main guard works, and starts faster."""
    kept = sys.modules["__main__"]
    bare = types.ModuleType("__main__")
    bare.__spec__ = None
    sys.modules["__main__"] = bare
    try:
        yield
    finally:
        sys.modules["__main__"] = kept


@contextmanager
def held_back() -> Iterator[None]:
    """Keep the terminal's signals from a child that does not ignore them yet.

    The mask goes by thread and is inherited, so this serves a restart from the supervisor's thread as well; a Ctrl-C pressed meanwhile
    is not lost, it arrives afterwards.
    """
    # Python starts its resource tracker with the first child, if nothing has yet, and opens the mask for everybody when it has.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_folder() -> None:
    """Raise WorkerError where the folder we stand in was deleted: `spawn` hands it to every child, and would say no more than ENOENT."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise WorkerError("the folder this was started in is gone, and no process starts without one; go to another and try again") from None


class Part:
    """One role: the process that fills it now, and its past."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.process: BaseProcess | None = None
        self.incarnation = -1
        self.started_ns = 0
        self.over = False
        """Nobody fills the role any more, and nobody will."""
        self.verdict = ""
        """Why the desk itself ended it."""
        self._pipe = -1
        self._line = b""
        self.last_line = ""

    def start(self, main: Callable[..., None], arguments: Callable[[int, bool], tuple[Any, ...]], queue: Any) -> None:
        """Start the next incarnation. Raises OSError if there is no process or descriptor to be had, WorkerError if there is no folder to stand in.

        `arguments(incarnation, kernel_watch)` gives (wiring, orders) of `main(wiring, pipe, orders, queue)`.
        """
        _check_folder()
        self.incarnation += 1
        self.verdict = self.last_line = ""
        self.close_pipe()
        read, write = os.pipe()
        os.set_blocking(read, False)
        self._pipe = read
        self.started_ns = time.monotonic_ns()
        kernel_watch = threading.current_thread() is threading.main_thread()
        wiring, orders = arguments(self.incarnation, kernel_watch)
        process = multiprocessing.get_context("spawn").Process(
            target=born,
            args=(Cord(os.getpid(), holds=kernel_watch), main, (wiring, Pipe(write), orders, queue)),
            name=f"rtdesk-{self.role}",
            daemon=True,
        )
        try:
            with _bare_main(), held_back():
                process.start()
            self.process = process
        finally:
            os.close(write)

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.is_alive()

    @property
    def sources(self) -> list[Any]:
        """What becomes readable when the child has died or has said something."""
        out: list[Any] = [] if self.process is None or self.over else [self.process.sentinel]
        return out if self._pipe < 0 else [*out, self._pipe]

    def read(self) -> list[str]:
        """Return the whole lines it has written since the last call, fit for a screen. Never blocks."""
        lines: list[str] = []
        while self._pipe >= 0:
            try:
                data = os.read(self._pipe, 65536)
            except BlockingIOError:
                break
            if not data:
                self.close_pipe()
                data = b"\n" if self._line else b""
            *whole, self._line = (self._line + data).split(b"\n")
            lines += [text for line in whole if (text := one_line(line.decode(errors="replace")).strip())]
        if lines:
            self.last_line = lines[-1]
        return lines

    def close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def obituary(self) -> str:
        """Name a dead child with its exit code, its last line, and the usual cause where there is one."""
        code = None if self.process is None else self.process.exitcode
        if self.verdict:
            return f"{self.role} was ended: {self.verdict}"
        if code == TOLD:
            text = f"{self.role} was ended by SIGTERM (somebody told it to go)"
        elif code == 0:
            text = f"{self.role} ended by itself, without a word"
        elif code is not None and code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            text = f"{self.role} was ended by {name}{_HINTS.get(name, '')}"
        else:
            text = f"{self.role} failed with exit code {code}"
        return f"{text}: {self.last_line}" if self.last_line else text
