"""Sleeping until one of several rings has something.

A sleeper raises its flag in every ring it reads, looks once more, then sleeps on its process's one bell. A writer that finds the flag rings.
On x86 the writer's look at the flag may overtake its `tail` store, so a wake-up can be lost; the sleeper looks by itself every 50 ms.
Nothing here spins: alone on a core spinning is best, and where cores are scarce it is the worst.

In a flood a wake-up for every few frames costs more than the frames: 25 us in the reader and 18 in the writer, against 1.2 for a frame. So a
reader that is woken by text and just polled many frames at once first sleeps a little without a flag. Those who wait for events never do.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Sequence
from typing import Any, Protocol

from workers.rings.doorbell import Doorbell

__all__ = ["NAP_S", "Waiter", "wait_any"]

NAP_S = 0.05
"""Longest sleep without a look of one's own: what a lost wake-up costs."""

FLOOD_FRAMES = 32
"""Frames in one poll that make a flood."""
FLOOD_NAP_S = 0.0005
"""The sleep without a flag in a flood: the most it adds to the way of a frame."""


class Sleeper(Protocol):
    """What `wait_any` needs of a reader."""

    burst: int

    @property
    def doorbell(self) -> Doorbell | None: ...

    def ready(self, events_only: bool = False) -> bool: ...

    def reported(self) -> None: ...

    def lie_down(self, events_only: bool) -> None: ...

    def get_up(self, events_only: bool) -> bool: ...


class Waiter:
    """The wait on certain readers and descriptors: what one wait needs is looked up once, for those who wait for the same again and again.

    What stands between the bell and the return to the caller is as short as can be: a process fresh from its sleep finds its caches cold.
    """

    __slots__ = ("_bells", "_others", "_poller", "_readers")

    def __init__(self, readers: Sequence[Sleeper], extra_fds: Sequence[Any] = ()) -> None:
        self._readers = tuple(readers)
        self._bells = tuple({reader.doorbell for reader in readers if reader.doorbell is not None})
        self._others = {other if isinstance(other, int) else other.fileno(): other for other in extra_fds}
        self._poller = select.poll()
        for fd in [bell.read_fd for bell in self._bells] + list(self._others):
            self._poller.register(fd, select.POLLIN)

    def wait(self, timeout: float | None, events_only: bool = False) -> list[Any]:
        """What `wait_any` says."""
        readers, others = self._readers, self._others
        found: list[Any] = _ready(readers, events_only)
        at_once = bool(found) or (timeout is not None and timeout <= 0) or not (self._bells or others)
        if at_once:
            return found + self._signalled(0) if others else found
        deadline = None if timeout is None else time.monotonic() + timeout
        if not events_only and (timeout is None or timeout > FLOOD_NAP_S) and max((reader.burst for reader in readers), default=0) >= FLOOD_FRAMES:
            time.sleep(FLOOD_NAP_S)
            if found := _ready(readers, events_only):
                return found
            # The flood is over.
            for reader in readers:
                reader.burst = 0
        while True:
            left = NAP_S if deadline is None else min(NAP_S, deadline - time.monotonic())
            if left <= 0:
                return _ready(readers, events_only)
            signalled: list[tuple[int, int]] = []
            try:
                for reader in readers:
                    reader.lie_down(events_only)
                for bell in self._bells:
                    # Emptied before the rings are looked at, so that whoever rings after the look is heard; and here, not after waking,
                    # where somebody may count the microseconds.
                    if bell.rung:
                        bell.drain()
                if not any(reader.ready(events_only) for reader in readers):
                    for bell in self._bells:
                        bell.rung = True
                    signalled = self._poller.poll(math.ceil(left * 1000))
            except BaseException:
                for reader in readers:
                    reader.get_up(events_only)
                raise
            found = []
            for reader in readers:
                if reader.get_up(events_only):
                    found.append(reader)
            if others:
                found += [others[fd] for fd, _ in signalled if fd in others]
            if found:
                return found

    def _signalled(self, timeout_ms: int) -> list[Any]:
        others = self._others
        return [others[fd] for fd, _ in self._poller.poll(timeout_ms) if fd in others]


def wait_any(readers: Sequence[Sleeper], timeout: float | None, events_only: bool = False, extra_fds: Sequence[Any] = ()) -> list[Any]:
    """Return those of `readers` and `extra_fds` that have something; empty after `timeout` seconds (None: no limit).

    A reader has something if there are frames to poll or if its ring was closed, aborted or reopened since it was last returned here. With
    `events_only` text (CHUNK frames) is no reason to wake. `extra_fds` are descriptors or objects with `fileno()` that become readable,
    such as a parent's sentinel; they are looked at also when a reader is ready. Readers without a bell (of a ListRing) are filled by
    this very process: if nothing is there, it returns at once.
    """
    return Waiter(readers, extra_fds).wait(timeout, events_only)


def _ready(readers: Sequence[Sleeper], events_only: bool) -> list[Any]:
    found: list[Any] = []
    for reader in readers:
        if reader.ready(events_only):
            reader.reported()
            found.append(reader)
    return found
