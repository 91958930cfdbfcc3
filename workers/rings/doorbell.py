"""The one bell a process sleeps on, shared by all rings it reads: an eventfd, or a pipe where there is none."""

from __future__ import annotations

import os

__all__ = ["Doorbell"]

_ONE = (1).to_bytes(8, "little")


class Doorbell:
    """Two descriptors, or twice the same one. Both ends never block."""

    __slots__ = ("read_fd", "rung", "write_fd")

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
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

    def ring(self) -> None:
        """Wake whoever sleeps on it; if nobody does, the next to try wakes at once."""
        # A try costs nothing when nothing is raised; contextlib.suppress is half a microsecond on the way to the sleeper.
        try:  # noqa: SIM105
            os.write(self.write_fd, _ONE)
        except (BlockingIOError, BrokenPipeError):
            # Full: it has been rung often enough. Broken: the listener's end of a pipe is gone, and with it whoever would wake.
            pass

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
