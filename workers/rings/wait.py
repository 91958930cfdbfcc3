"""Sleeping until one of several rings has something.

A sleeper raises its flag in every ring it reads, looks once more, then sleeps on its process's one bell. A writer that finds the flag rings.
On x86 the writer's look at the flag may overtake its `tail` store, so a wake-up can be lost; the sleeper looks by itself every 50 ms.
Nothing here spins: alone on a core spinning is best, and where cores are scarce it is the worst.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from workers.rings.doorbell import Doorbell

__all__ = ["NAP_S", "wait_any"]

NAP_S = 0.05
"""Longest sleep without a look of one's own: what a lost wake-up costs."""


class Sleeper(Protocol):
    """What `wait_any` needs of a reader."""

    @property
    def doorbell(self) -> Doorbell | None: ...

    def ready(self, events_only: bool = False) -> bool: ...

    def reported(self) -> None: ...

    def lie_down(self, events_only: bool) -> None: ...

    def get_up(self) -> None: ...


S = TypeVar("S", bound=Sleeper)


def wait_any(readers: Sequence[S], timeout: float | None, events_only: bool = False, extra_fds: Sequence[Any] = ()) -> list[Any]:
    """Return those of `readers` and `extra_fds` that have something; empty after `timeout` seconds (None: no limit).

    A reader has something if there are frames to poll or if its ring was closed, aborted or reopened since it was last returned here. With
    `events_only` text (CHUNK frames) is no reason to wake. `extra_fds` are descriptors or objects with `fileno()` that become readable,
    such as a parent's sentinel; they are looked at also when a reader is ready. Readers without a bell (of a ListRing) are filled by
    this very process: if nothing is there, it returns at once.
    """
    found = _ready(readers, events_only)
    bells = {reader.doorbell.read_fd: reader.doorbell for reader in readers if reader.doorbell is not None}
    others = {other if isinstance(other, int) else other.fileno(): other for other in extra_fds}
    at_once = bool(found) or (timeout is not None and timeout <= 0) or not (bells or others)
    if at_once and not others:
        return found
    poller = select.poll()
    for fd in others:
        poller.register(fd, select.POLLIN)
    if at_once:
        return found + [others[fd] for fd, _ in poller.poll(0)]
    for fd in bells:
        poller.register(fd, select.POLLIN)
    deadline = None if timeout is None else time.monotonic() + timeout
    left = NAP_S
    while True:
        if deadline is not None:
            left = min(NAP_S, deadline - time.monotonic())
            if left <= 0:
                return []
        rung: list[tuple[int, int]] = []
        try:
            for reader in readers:
                reader.lie_down(events_only)
            found = _ready(readers, events_only)
            if not found:
                rung = poller.poll(math.ceil(left * 1000))
        finally:
            for reader in readers:
                reader.get_up()
        for fd, _ in rung:
            if fd in bells:
                # Emptied before the rings are looked at: whoever rings after this look is heard in the next sleep.
                bells[fd].drain()
            else:
                found.append(others[fd])
        if not found or rung:
            found = _ready(readers, events_only) + found
        if found:
            return found


def _ready(readers: Sequence[S], events_only: bool) -> list[Any]:
    found = [reader for reader in readers if reader.ready(events_only)]
    for reader in found:
        reader.reported()
    return list(found)
