"""The writing end. It waits for nobody.

A position is stored with `words[i] = v` alone: `struct.pack_into` clears before it writes, and a reader that looks in between sees 0 (in
15 % of its looks, measured on 2-core x86-64). The header of a frame may be packed in place, because `intent` covers it.
"""

from __future__ import annotations

import os
import struct
import time
from types import TracebackType
from zlib import crc32

from workers.errors import RingError
from workers.rings.frames import KIND_CHUNK
from workers.rings.layout import (
    CHECKPOINTS,
    CRC,
    FLAG_BEGIN,
    FLAG_CRC,
    FLAG_FIRST,
    FLAG_MORE,
    FLAG_PART,
    HEAD,
    HEAD_BYTES,
    HEAD_FORMAT,
    HEADER_BYTES,
    MASK32,
    NAP_ANY,
    PAD,
    PAD_BIT,
    S_SLEEPING,
    SLOT_WORDS,
    STATE_CLOSED,
    STATE_OPEN,
    W_ASLEEP_ANY,
    W_ASLEEP_EVENTS,
    W_CHECKPOINTS,
    W_COUNT,
    W_EPOCH,
    W_EVENT_TAIL,
    W_HEARTBEAT,
    W_INTENT,
    W_PID,
    W_SLOTS,
    W_START,
    W_STATE,
    W_TAIL,
    max_frame,
)
from workers.rings.segment import Segment, process_start
from workers.rings.wiring import RingHandle

__all__ = ["Batch", "RingWriter"]

# Payloads below this are packed together with their header in one call: 150 ns instead of 200, and no slice.
_SMALL = 512
_PACK_SMALL = tuple(struct.Struct(f"{HEAD_FORMAT}{size}s").pack_into for size in range(_SMALL))
_now = time.monotonic_ns


class Batch:
    """`with writer.batch():` several frames under one `tail` store and one wake-up.

    Frames are published in between only when a quarter of the ring is held back, and when the block is left by an exception too: they
    were written. A batch in a batch is the outer one.
    """

    __slots__ = ("_outer", "_writer")

    def __init__(self, writer: RingWriter) -> None:
        self._writer = writer
        self._outer = False

    def __enter__(self) -> RingWriter:
        self._outer = self._writer._holding
        self._writer.hold()
        return self._writer

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if not self._outer:
            self._writer.show()


class RingWriter:
    """The one writer of a ring; from one thread. `segment` shows the header (cursors and lag of readers among it)."""

    __slots__ = (
        "_bells",
        "_checkpoint",
        "_closed",
        "_crc",
        "_event_tail",
        "_floor",
        "_holding",
        "_limit",
        "_map",
        "_mask",
        "_max_event",
        "_max_frame",
        "_max_held",
        "_plain",
        "_room",
        "_rung",
        "_seq",
        "_seq_base",
        "_small",
        "_tail",
        "_words",
        "segment",
    )

    def __init__(self, handle: RingHandle) -> None:
        """Attach: take the ring over at `tail`, raise its epoch, and open it (again, if its last writer died)."""
        self.segment: Segment = handle.segment()
        self._words = self.segment.words
        self._map = self.segment.map
        capacity = self.segment.capacity
        self._mask = capacity - 1
        self._max_frame = max_frame(capacity)
        self._crc = self.segment.crc
        self._room = self._max_frame - HEAD_BYTES - (CRC.size if self._crc else 0)
        # One event takes half the ring at most, its parts' headers included, and a batch holds back a quarter before it: together with a
        # pad they never lap a reader that keeps up.
        self._max_event = capacity // 2 // self._max_frame * self._room
        self._max_held = capacity // 4
        self._small = -1 if self._crc else min(_SMALL, self._room + 1)
        self._bells = tuple((slot, W_SLOTS + slot * SLOT_WORDS + S_SLEEPING, bell.ring) for slot, bell in enumerate(handle.doorbells))
        self._rung = [0] * len(self._bells)
        self._holding = False
        self._closed = False

        try:
            self._take_over(handle)
        except BaseException:
            self.segment.close()
            raise

    def _take_over(self, handle: RingHandle) -> None:
        words = self._words
        tail = self._tail = words[W_TAIL]
        # What the last writer meant to write beyond `tail` was never visible, but a reader may have dropped a copy because of it:
        # `intent` never goes down.
        self._floor = words[W_INTENT]
        # A kill between the two stores may have left an event out; one wake-up for nothing makes up for it.
        self._event_tail = words[W_EVENT_TAIL] = tail
        count = self._count_to(tail)
        # The number of the next frame, and what to add to it for the frame count.
        self._seq = count & MASK32
        self._seq_base = count - self._seq
        self._forget_checkpoints(tail)
        # All make the next write take the slow way and the turn, which sets them.
        self._plain = -1
        self._limit = 0
        self._checkpoint = -1
        words[W_COUNT] = count
        words[W_PID] = os.getpid()
        words[W_START] = process_start(os.getpid()) or 0
        words[W_HEARTBEAT] = _now()
        words[W_EPOCH] += 1
        words[W_STATE] = STATE_OPEN
        for bell in handle.doorbells:
            bell.ring()

    def write(
        self,
        kind: int,
        tick: int,
        payload: bytes,
        *,
        ntok: int = 0,
        at: int = 0,
        generation: int = 0,
        channel: int = 0,
        t_ns: int | None = None,
        flags: int = 0,
    ) -> None:
        """Write one frame, or one event in several, and make it visible.

        `t_ns` None means now (monotonic). Raises RingError if a number does not fit its field, if the payload is longer than half the
        ring, or if the writer was closed; then nothing was written.
        """
        size = len(payload)
        if size >= self._plain or flags >= FLAG_FIRST:
            self._write_parts(kind, tick, payload, ntok, at, generation, channel, _now() if t_ns is None else t_ns, flags)
            return
        start = self._tail
        end = start + ((size + 47) & -8)
        if end > self._limit:
            start, end = self._turn(start, end - start)
        words = self._words
        words[W_INTENT] = end
        seq = self._seq
        try:
            _PACK_SMALL[size](
                self._map,
                HEADER_BYTES + (start & self._mask),
                size + HEAD_BYTES,
                seq,
                tick,
                kind,
                channel,
                ntok,
                generation,
                flags,
                at,
                _now() if t_ns is None else t_ns,
                payload,
            )
        except struct.error as error:
            raise self._misfit(end, error) from error
        self._seq = seq + 1
        self._tail = end
        if self._holding:
            if kind != KIND_CHUNK:
                self._event_tail = end
            if end - words[W_TAIL] > self._max_held:
                self._publish()
            return
        words[W_TAIL] = end
        if kind == KIND_CHUNK:
            if words[W_ASLEEP_ANY]:
                self._wake(False)
        else:
            words[W_EVENT_TAIL] = end
            if words[W_ASLEEP_ANY] or words[W_ASLEEP_EVENTS]:
                self._wake(True)

    def batch(self) -> Batch:
        """Return a context in which frames are held back and published together."""
        return Batch(self)

    def hold(self) -> None:
        """Hold back what is written from here on, for those whose batch is no block; `show` ends it."""
        self._holding = True

    def show(self) -> None:
        """Publish what is held back, and whatever is written next at once."""
        if self._holding:
            self._holding = False
            if not self._closed:
                self._publish()

    def heartbeat(self) -> None:
        """Give a sign of life. Due every 100 ms; a write is none."""
        if not self._closed:
            self._words[W_HEARTBEAT] = _now()
            self._words[W_COUNT] = self._seq_base + self._seq

    def lag(self, slot: int) -> int:
        """Bytes the reader of a slot is behind, by its public cursor."""
        return self.segment.lag(slot)

    @property
    def position(self) -> int:
        """Where the next frame begins, or the pad before it."""
        return self._tail

    def close(self) -> None:
        """Say that nothing follows, wake everybody, and unmap. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._holding = False
        self._publish()
        self._words[W_STATE] = STATE_CLOSED
        for _, _, ring in self._bells:
            ring()
        # The next write comes to the slow turn, which refuses it.
        self._limit = -1
        self.segment.close()

    def __enter__(self) -> RingWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # What is not hot.

    def _write_parts(
        self, kind: int, tick: int, payload: bytes, ntok: int, at: int, generation: int, channel: int, t_ns: int, flags: int
    ) -> None:
        if flags >= FLAG_FIRST or flags < 0:
            raise RingError(f"{self.segment.name}: frame flags {flags:#x} are not free; flags of a frame are below {FLAG_FIRST:#x}")
        if self._closed:
            raise self._refusal()
        size, room = len(payload), self._room
        if size > self._max_event:
            raise RingError(
                f"{self.segment.name}: an event of {size} bytes does not fit; the limit is {self._max_event} (half of the ring); "
                "make the ring larger or the event smaller"
            )
        if self._crc:
            flags |= FLAG_CRC
        if size <= room:
            self._put(payload, kind, tick, channel, ntok, generation, flags, at, t_ns)
        else:
            flags |= FLAG_PART
            last = size - room
            for begin in range(0, size, room):
                place = (0 if begin else FLAG_BEGIN) | (FLAG_MORE if begin < last else 0)
                self._put(payload[begin : begin + room], kind, tick, channel, ntok, generation, flags | place, at, t_ns)
        if kind != KIND_CHUNK:
            self._event_tail = self._tail
        if not self._holding or self._tail - self._words[W_TAIL] > self._max_held:
            self._publish()

    def _put(self, part: bytes, kind: int, tick: int, channel: int, ntok: int, generation: int, flags: int, at: int, t_ns: int) -> None:
        """Write one frame beyond `tail` without showing it."""
        trailer = CRC.size if self._crc else 0
        length = HEAD_BYTES + len(part) + trailer
        start = self._tail
        span = (length + 7) & -8
        end = start + span
        try:
            body = HEAD.pack(length, self._seq, tick, kind, channel, ntok, generation, flags, at, t_ns) + part
        except (struct.error, TypeError) as error:
            raise self._misfit(0, error) from error
        if end > self._limit:
            start, end = self._turn(start, span)
        if trailer:
            body += CRC.pack(crc32(body, start & MASK32))
        self._words[W_INTENT] = end if end > self._floor else self._floor
        place = HEADER_BYTES + (start & self._mask)
        self._map[place : place + length] = body
        self._tail = end
        if self._seq == MASK32:
            self._seq = 0
            self._seq_base += MASK32 + 1
        else:
            self._seq += 1

    def _turn(self, start: int, span: int) -> tuple[int, int]:
        """Return start and end of a frame that may not fit before the wrap or may begin a new sixteenth; pad, and note the checkpoint."""
        if self._closed:
            raise self._refusal()
        words, mask = self._words, self._mask
        wrap = (start | mask) + 1
        if start + span > wrap:
            end = wrap + span
            words[W_INTENT] = end if end > self._floor else self._floor
            PAD.pack_into(self._map, HEADER_BYTES + (start & mask), PAD_BIT | wrap - start)
            start = wrap
        step = (mask + 1) // CHECKPOINTS
        sixteenth = start & -step
        if self._checkpoint != sixteenth:
            # A restarted writer may come to a sixteenth that has its checkpoint; the first one stays.
            place = W_CHECKPOINTS + (start & mask) // step
            if words[place] < sixteenth:
                words[place] = start
            self._checkpoint = sixteenth
        self._limit = sixteenth + step
        words[W_COUNT] = self._seq_base + self._seq
        # The fast way neither keeps `intent` up nor begins numbers anew; it is taken for a sixteenth in which neither can be due.
        simple = start >= self._floor and self._seq + step // HEAD_BYTES < MASK32
        self._plain = self._small if simple else -1
        return start, start + span

    def _publish(self) -> None:
        """Show what was held back."""
        words = self._words
        words[W_TAIL] = self._tail
        words[W_COUNT] = self._seq_base + self._seq
        # Held events end beyond the last one shown; a writer that held none has an older position here.
        events = self._event_tail > words[W_EVENT_TAIL]
        if events:
            words[W_EVENT_TAIL] = self._event_tail
        if words[W_ASLEEP_ANY] or (events and words[W_ASLEEP_EVENTS]):
            self._wake(events)

    def _wake(self, events: bool) -> None:
        """Ring for those asleep whom it concerns, each once a nap: the number of the nap is in the flag."""
        words, rung = self._words, self._rung
        for slot, place, ring in self._bells:
            flag = words[place]
            if flag and flag != rung[slot] and (events or flag & 3 == NAP_ANY):
                rung[slot] = flag
                ring()

    def _misfit(self, end: int, error: Exception) -> RingError:
        # The bytes under `intent` may be half overwritten, so `intent` stays; and the next frame may need the pad this one did.
        self._floor = max(self._floor, end)
        self._plain = -1
        self._limit = 0
        return RingError(f"{self.segment.name}: a frame's number does not fit its field, or its payload is not bytes ({error}); see the frame layout")

    def _refusal(self) -> RingError:
        return RingError(f"{self.segment.name}: this writer was closed; a ring is written by one writer, until it closes")

    def _count_to(self, tail: int) -> int:
        """Return how many frames end at or before `tail`: the number of the last one plus 1, with the frame count's upper half."""
        words = self._words
        counted = words[W_COUNT]
        if not tail:
            return 0
        place = max((mark for mark in words[W_CHECKPOINTS : W_CHECKPOINTS + CHECKPOINTS] if mark < tail), default=0)
        seq = None
        while place < tail:
            at = HEADER_BYTES + (place & self._mask)
            (length,) = PAD.unpack_from(self._map, at)
            if length & PAD_BIT:
                place += length & ~PAD_BIT
            elif HEAD_BYTES <= length <= self._max_frame:
                seq = HEAD.unpack_from(self._map, at)[1]
                place += (length + 7) & -8
            else:
                break
            if place & 7:
                break
        if seq is None or place != tail:
            raise RingError(f"{self.segment.name}: damaged at byte {place}: no row of frames leads to tail {tail}; the ring must be made anew")
        # The count is from before the last sixteenth, or counts frames that were never shown: less than a ring of them either way.
        return counted + ((seq + 1 - counted + (1 << 31)) & MASK32) - (1 << 31)

    def _forget_checkpoints(self, tail: int) -> None:
        """Drop checkpoints beyond `tail`: the last writer's, in frames that never became visible. Ours will lie elsewhere."""
        words = self._words
        for place in range(W_CHECKPOINTS, W_CHECKPOINTS + CHECKPOINTS):
            if words[place] > tail:
                words[place] = 0
