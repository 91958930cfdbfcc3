"""The one bell a process sleeps on, shared by all rings it reads: an eventfd, or a pipe where there is none."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

__all__ = ["Doorbell"]

_ONE = (1).to_bytes(8, "little")


class Doorbell(NamedTuple):
    """Two descriptors, or twice the same one. Both ends never block."""

    read_fd: int
    write_fd: int

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

    def ring(self) -> None:
        """Wake whoever sleeps on it; if nobody does, the next to try wakes at once."""
        # Full: it has been rung often enough. Broken: the listener's end of a pipe is gone, and with it whoever would wake.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self.write_fd, _ONE)

    def drain(self) -> None:
        """Forget how often it was rung."""
        # An eventfd gives its eight bytes at once; a pipe is emptied.
        with suppress(BlockingIOError):
            while len(os.read(self.read_fd, 4096)) == 4096:
                pass

    def close(self) -> None:
        """Close both ends."""
        os.close(self.read_fd)
        if self.write_fd != self.read_fd:
            os.close(self.write_fd)
