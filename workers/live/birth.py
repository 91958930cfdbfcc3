"""The first thing a child does: tie its life to its parent's, before it imports anything of weight.

A spawned child unpickles what it is to run, and that imports most of us: half a second on a busy machine, in which a parent that is killed
would leave it behind for as long. So what it unpickles first is a cord. Only the standard library is imported here.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["Cord", "born", "die_with"]

_PR_SET_PDEATHSIG = 1


class Cord:
    """In a parent a note of its pid; where it is unpickled, a child that the kernel ends with that parent.

    The kernel goes by the thread that started the child, so `holds` says whether that was one which lives as long as the process.
    """

    def __init__(self, parent: int, *, holds: bool) -> None:
        self.parent = parent
        self.holds = holds

    def __reduce__(self) -> tuple[Any, ...]:
        return _tied, (self.parent, self.holds)


def _tied(parent: int, holds: bool) -> Cord:
    if holds:
        die_with(parent)
    return Cord(parent, holds=holds)


def die_with(parent: int) -> None:
    """Have the kernel end this process with its parent, where it can; end it now if the parent has gone already."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def born(cord: Cord, main: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Entry point of every child; `cord` comes first because arguments are unpickled in their order."""
    main(*arguments)
