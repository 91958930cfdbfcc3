"""Making rings and looking after them: the supervisor's side.

`Ring` is one ring on its own, with a bell a slot. `Switchboard` is a whole run's: rings and processes by name, one wiring for each
child. Both own their descriptors and close them; memory goes when the last mapping does, also after SIGKILL, because it never had a
name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from workers.errors import RingError
from workers.rings.doorbell import Doorbell
from workers.rings.layout import (
    MASK32,
    MAX_SLOTS,
    S_CURSOR,
    S_PID,
    S_SEQ,
    S_SLEEPING,
    STATE_ABORTED,
    W_ASLEEP_ANY,
    W_ASLEEP_EVENTS,
    W_STATE,
    wants_crc,
)
from workers.rings.reader import RingReader
from workers.rings.segment import Segment, create_segment
from workers.rings.wiring import RingHandle, Wiring
from workers.rings.writer import RingWriter

__all__ = ["Ring", "Switchboard"]


class Ring:
    """One ring, its header mapped: `segment` has tail, intent, cursors, heartbeat and state by name."""

    __slots__ = ("_alone", "_index", "_wiring", "name", "segment")

    def __init__(self, wiring: Wiring, index: int, *, alone: bool = False) -> None:
        self._wiring = wiring
        self._index = index
        self._alone = alone
        self.name = wiring.rings[index]
        self.segment: Segment = wiring.segment(index)

    @classmethod
    def create(cls, capacity: int, *, name: str = "ring", readers: int = MAX_SLOTS, crc: bool | None = None) -> Ring:
        """Return a new ring of `capacity` data bytes (a power of two) with a bell for each of `readers` slots.

        `crc` None means: as `layout.wants_crc` says. Raises RingError if there is not that much memory.
        """
        if not 1 <= readers <= MAX_SLOTS:
            raise RingError(f"{name}: {readers} readers were asked for; a ring has 1 to {MAX_SLOTS}")
        fd = create_segment(capacity, crc=wants_crc() if crc is None else crc, name=name)
        bells = [Doorbell.create() for _ in range(readers)]
        return cls(Wiring([name], [fd], [f"reader {slot}" for slot in range(readers)], bells), 0, alone=True)

    def handle(self, slot: int | None = None) -> RingHandle:
        """Return what RingWriter (no slot) or RingReader (a slot) attaches with; travels as an argument of Process.start()."""
        return RingHandle(self._wiring, self._index, slot)

    def writer(self) -> RingWriter:
        """Attach as the writer, in this process."""
        return RingWriter(self.handle())

    def reader(self, slot: int = 0) -> RingReader:
        """Attach as the reader of a slot, in this process."""
        return RingReader(self.handle(slot))

    @property
    def tail(self) -> int:
        """Position up to which frames may be read."""
        return self.segment.tail

    @property
    def heartbeat_ns(self) -> int:
        """Monotonic instant of the writer's last sign of life; 0 before the first."""
        return self.segment.heartbeat_ns

    @property
    def aborted(self) -> bool:
        """Whether the writer was declared dead."""
        return self.segment.aborted

    def cursor(self, slot: int) -> int:
        """Public cursor of a slot: for the recorder, what is durable."""
        return self.segment.cursor(slot)

    def lag(self, slot: int) -> int:
        """Bytes between a slot's public cursor and `tail`."""
        return self.segment.lag(slot)

    def abort(self) -> None:
        """Declare the writer dead, and wake everybody to see it.

        The one store into a header by a process that is neither its writer nor the reader of the slot. A new writer opens the ring again.
        """
        self.segment.words[W_STATE] = STATE_ABORTED
        self._wiring.ring_doorbells()

    def ring_doorbells(self) -> None:
        """Wake every process that sleeps."""
        self._wiring.ring_doorbells()

    def set_cursor(self, slot: int, position: int = 0, *, seq: int | None = None) -> None:
        """Set where the next reader of a slot begins, and free the slot of a dead one's pid and flags. No reader may be using it.

        `position` is a frame's end (or 0). `seq` is the number of the frame that begins there, if known: without it a reader that is
        lapped before its first frame knows the bytes it lost, not the frames. Raises RingError beyond `tail`.
        """
        segment = self.segment
        if not 0 <= position <= segment.tail:
            raise RingError(f"{self.name}: cursor {position} is outside the ring; positions reach from 0 to tail {segment.tail}")
        place = segment._slot(slot)
        words = segment.words
        words[place + S_SLEEPING] = 0
        segment.octets[8 * W_ASLEEP_ANY + slot] = 0
        segment.octets[8 * W_ASLEEP_EVENTS + slot] = 0
        words[place + S_PID] = 0
        # Without a number the tag is made not to fit the cursor.
        tag = position if seq is not None else ~position
        words[place + S_SEQ] = (tag & MASK32) << 32 | (seq or 0) & MASK32
        words[place + S_CURSOR] = position

    def close(self) -> None:
        """Unmap; a ring on its own closes its descriptors too. Those who have it mapped keep it."""
        self.segment.close()
        if self._alone:
            self._wiring.close()

    def __enter__(self) -> Ring:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Switchboard:
    """Rings and bells of one run, made and owned by the supervisor.

    `rings` gives each ring's capacity in bytes. The slot of a process, in every ring, is its place in `processes`; the last slot of a
    ring stays free for a watcher, so there are at most seven. Raises RingError if the memory is not there.
    """

    __slots__ = ("_rings", "_wiring")

    def __init__(self, rings: Mapping[str, int], processes: Sequence[str], *, me: str | None = None, crc: bool | None = None) -> None:
        if len(processes) >= MAX_SLOTS or len(set(processes)) != len(processes):
            raise RingError(f"{len(processes)} processes ({', '.join(processes)}) were asked for; at most {MAX_SLOTS - 1}, each once, can be wired")
        checked = wants_crc() if crc is None else crc
        segments: list[int] = []
        bells: list[Doorbell] = []
        self._wiring = Wiring([], [], [], [])
        self._rings: dict[str, Ring] = {}
        try:
            for name, capacity in rings.items():
                segments.append(create_segment(capacity, crc=checked, name=f"{name} ring"))
            bells.extend(Doorbell.create() for _ in processes)
        finally:
            # Also what a failure half-way has made is owned, and closed below.
            self._wiring = Wiring(list(rings)[: len(segments)], segments, processes, bells, me=me)
            if len(segments) < len(rings) or len(bells) < len(processes):
                self._wiring.close()
        self._rings = {name: Ring(self._wiring, index) for index, name in enumerate(rings)}

    @property
    def wiring(self) -> Wiring:
        """The supervisor's own wiring, with `me` as it was given."""
        return self._wiring

    def for_child(self, process: str) -> Wiring:
        """Return the one wiring to hand to that child; the same again for a restarted one."""
        return self._wiring.for_child(process)

    def ring(self, name: str) -> Ring:
        """Return a ring's supervisor: tail, heartbeat, cursors, abort."""
        self._wiring.index(name)
        return self._rings[name]

    def slot(self, process: str) -> int:
        """Return the reader slot a process has in every ring."""
        return self._wiring.slot(process)

    def writer(self, ring: str) -> RingWriter:
        """Attach as the writer of a ring, in the supervisor itself."""
        return self._wiring.writer(ring)

    def reader(self, ring: str) -> RingReader:
        """Attach as the supervisor's own reader of a ring; needs `me`."""
        return self._wiring.reader(ring)

    def abort(self, ring: str) -> None:
        """Declare a ring's writer dead and wake everybody."""
        self.ring(ring).abort()

    def ring_doorbells(self) -> None:
        """Wake every process that sleeps."""
        self._wiring.ring_doorbells()

    def cursor(self, ring: str, process: str) -> int:
        """Public cursor of a process in a ring."""
        return self.ring(ring).cursor(self.slot(process))

    def lag(self, ring: str, process: str) -> int:
        """Bytes a process is behind in a ring, by its public cursor."""
        return self.ring(ring).lag(self.slot(process))

    def set_cursor(self, ring: str, process: str, position: int = 0, *, seq: int | None = None) -> None:
        """Set where the next incarnation of a process begins in a ring."""
        self.ring(ring).set_cursor(self.slot(process), position, seq=seq)

    def close(self) -> None:
        """Unmap everything and close the descriptors."""
        for ring in self._rings.values():
            ring.close()
        self._rings = {}
        self._wiring.close()

    def __enter__(self) -> Switchboard:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
