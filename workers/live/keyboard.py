"""The terminal a person types at, as the game's process sees it: whether keys have been typed that nobody has read yet.

The desk reads the keys. On a machine with more to do than cores its thread may come to that a few milliseconds late, and a key typed in
time would act a tick late. So the game's process asks the terminal itself before it ends a tick; it never reads from it.
"""

from __future__ import annotations

import os
import select
import sys

__all__ = ["Keyboard", "terminal_path"]


def terminal_path() -> str | None:
    """Return the path of the terminal on this process's stdin; None where that is no terminal, or the system has no paths of them."""
    try:
        return os.ttyname(sys.__stdin__.fileno()) if sys.__stdin__ is not None else None
    except (AttributeError, OSError, ValueError):
        return None


class Keyboard:
    """Looks at the terminal at `path`; with None, or one that cannot be opened, nothing is ever waiting."""

    def __init__(self, path: str | None) -> None:
        self._poller = select.poll()
        self._fd = -1
        if path is not None:
            try:
                self._fd = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                return
            self._poller.register(self._fd, select.POLLIN)

    @property
    def waiting(self) -> bool:
        """Whether something has been typed that has not been read; never so at a terminal that has gone."""
        return self._fd >= 0 and any(event == select.POLLIN for _, event in self._poller.poll(0))

    def close(self) -> None:
        """Let go of the terminal. Safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
