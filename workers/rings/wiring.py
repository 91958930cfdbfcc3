"""How rings reach spawned children: one wiring a child, which holds every descriptor exactly once.

    board = Switchboard({"game": cap, "planner": cap}, processes=("game", "planner", "recorder"))
    Process(target=main, args=(board.for_child("planner"),)).start()      in the child: wiring.writer("planner"), wiring.reader("game")

A process has the same reader slot in every ring: its place among the processes. The one thing that surprises: descriptors survive only
as arguments of `Process.start()`, and the same descriptor in two wirings of one start makes it raise `bad value(s) in fds_to_keep`. So
a child gets one wiring, and the ring handles inside refer to it by number.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workers.errors import RingError
from workers.rings.doorbell import Doorbell
from workers.rings.layout import MAX_SLOTS
from workers.rings.segment import Segment

if TYPE_CHECKING:
    from workers.rings.reader import RingReader
    from workers.rings.writer import RingWriter

__all__ = ["RingHandle", "Wiring"]


class Wiring:
    """All segments and doorbells of a run, and who in it the holder is. Small to pickle, and only picklable into a starting child."""

    __slots__ = ("_segments", "doorbells", "me", "processes", "rings")

    def __init__(
        self,
        rings: Sequence[str],
        segments: Sequence[int],
        processes: Sequence[str],
        doorbells: Sequence[Doorbell],
        *,
        me: str | None = None,
    ) -> None:
        self.rings = tuple(rings)
        self.processes = tuple(processes)
        self.doorbells = tuple(doorbells)
        self.me = me
        self._segments = tuple(segments)

    def for_child(self, name: str) -> Wiring:
        """Return this wiring as the process `name` shall see it. Raises RingError for a name nobody has."""
        self.slot(name)
        return Wiring(self.rings, self._segments, self.processes, self.doorbells, me=name)

    def slot(self, process: str) -> int:
        """Return the reader slot a process has in every ring."""
        try:
            return self.processes.index(process)
        except ValueError:
            raise RingError(f"process {process!r} is not wired; the processes of this run are {', '.join(self.processes)}") from None

    def index(self, ring: str) -> int:
        """Return the number of a ring."""
        try:
            return self.rings.index(ring)
        except ValueError:
            raise RingError(f"ring {ring!r} is not wired; the rings of this run are {', '.join(self.rings)}") from None

    def segment(self, index: int) -> Segment:
        """Map a ring anew, to look at its header; the caller closes it."""
        return Segment(self._segments[index], self.rings[index])

    def peek(self, ring: str) -> Segment:
        """Map a ring by name, to look at its header (cursors, tail, heartbeat); the caller closes it."""
        return self.segment(self.index(ring))

    def handle(self, ring: str, slot: int | None = None) -> RingHandle:
        """Return what RingWriter (no slot) and RingReader (a slot) attach with."""
        return RingHandle(self, self.index(ring), slot)

    def writer(self, ring: str) -> RingWriter:
        """Attach as the one writer of a ring."""
        from workers.rings.writer import RingWriter

        return RingWriter(self.handle(ring))

    def reader(self, ring: str) -> RingReader:
        """Attach as the reader `me` of a ring."""
        from workers.rings.reader import RingReader

        if self.me is None:
            raise RingError(f"this wiring belongs to no process, so it has no slot in ring {ring!r}; take it from for_child(name)")
        return RingReader(self.handle(ring, self.slot(self.me)))

    def ring_doorbells(self) -> None:
        """Wake every process that sleeps."""
        for bell in self.doorbells:
            bell.ring()

    def close(self) -> None:
        """Close the descriptors; what is mapped stays mapped."""
        for fd in self._segments:
            os.close(fd)
        for bell in self.doorbells:
            bell.close()
        self._segments = ()
        self.doorbells = ()

    def __getstate__(self) -> dict[str, Any]:
        from multiprocessing import context, reduction

        if context.get_spawning_popen() is None:
            raise RingError("a wiring was pickled outside of Process.start(); hand it to a spawned child as an argument")
        return {
            "rings": self.rings,
            "processes": self.processes,
            "me": self.me,
            "segments": [reduction.DupFd(fd) for fd in self._segments],
            "doorbells": [(reduction.DupFd(bell.read_fd), None if bell.write_fd == bell.read_fd else reduction.DupFd(bell.write_fd)) for bell in self.doorbells],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rings = state["rings"]
        self.processes = state["processes"]
        self.me = state["me"]
        self._segments = tuple(dup.detach() for dup in state["segments"])
        ends = [(read.detach(), write and write.detach()) for read, write in state["doorbells"]]
        self.doorbells = tuple(Doorbell(read, read if write is None else write) for read, write in ends)


class RingHandle:
    """One ring of a wiring, and a reader slot or none. Handles of one wiring may travel in one start together."""

    __slots__ = ("index", "slot", "wiring")

    def __init__(self, wiring: Wiring, index: int, slot: int | None = None) -> None:
        if slot is not None and not 0 <= slot < MAX_SLOTS:
            raise RingError(f"reader slot {slot} does not exist; slots are 0 to {MAX_SLOTS - 1}")
        self.wiring = wiring
        self.index = index
        self.slot = slot

    def segment(self) -> Segment:
        """Map the ring; the caller closes it."""
        return self.wiring.segment(self.index)

    @property
    def doorbells(self) -> tuple[Doorbell, ...]:
        """The bells, by slot."""
        return self.wiring.doorbells

    def __getstate__(self) -> tuple[Wiring, int, int | None]:
        return self.wiring, self.index, self.slot

    def __setstate__(self, state: tuple[Wiring, int, int | None]) -> None:
        self.wiring, self.index, self.slot = state
