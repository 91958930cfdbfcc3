"""The one bell a process sleeps on, shared by all rings it reads: an eventfd, or a pipe where there is none."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial

__all__ = ["Doorbell"]

_ONE = (1).to_bytes(8, "little")


class Doorbell:
    """Two descriptors, or twice the same one. Both ends never block."""

    __slots__ = ("read_fd", "ring", "rung", "write_fd")

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.ring: Callable[[], None] = partial(os.eventfd_write, write_fd, 1) if read_fd == write_fd else self._ring_pipe
        """Wake whoever sleeps on it; if nobody does, the next to try wakes at once. Of an eventfd it is the call itself: no step of ours
        stands on the way to the sleeper. Its count holds 2^64 rings, so it is never full."""
        self.rung = True
        """Whether it may have to be emptied before the next sleep; only its listener's copy counts."""

    @classmethod
    def create(cls) -> Doorbell:
        """Return a new bell that has not been rung."""
        if hasattr(os, "eventfd"):
            fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            return cls(fd, fd)
        read_fd, write_fd = os.pipe()
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        return cls(read_fd, write_fd)

    def _ring_pipe(self) -> None:
        # Full: it has been rung often enough. Broken: the listener's end is gone, and with it whoever would wake.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self.write_fd, _ONE)

    def drain(self) -> None:
        """Forget how often it was rung."""
        self.rung = False
        try:
            # An eventfd gives its eight bytes at once; a pipe is emptied.
            while len(os.read(self.read_fd, 4096)) == 4096:
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Close both ends."""
        os.close(self.read_fd)
        if self.write_fd != self.read_fd:
            os.close(self.write_fd)
