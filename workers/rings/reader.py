"""The reading end: polls, never blocks the writer, and knows what it lost.

The one thing that surprises: there are two cursors. `cursor` is how far this reader has got; the *public* one, in the ring's header, is
how far it says so. `poll` moves both unless it is told `publish=False`; the recorder moves the second by itself, after its flush, so that
the public cursor is the durable position and a restarted reader begins there.
"""

from __future__ import annotations

import os
import time
from types import TracebackType
from zlib import crc32

from workers.errors import RingError
from workers.rings.doorbell import Doorbell
from workers.rings.frames import Frame
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
    HEADER_BYTES,
    MASK32,
    MAX_FRAME,
    NAP_ANY,
    NAP_EVENTS,
    PAD,
    PAD_BIT,
    S_CURSOR,
    S_LOST,
    S_PID,
    S_SEQ,
    S_SLEEPING,
    SLOT_WORDS,
    STATE_ABORTED,
    STATE_CLOSED,
    STATE_OPEN,
    STRONG_MEMORY,
    W_ASLEEP_ANY,
    W_ASLEEP_EVENTS,
    W_CHECKPOINTS,
    W_COUNT,
    W_EVENT_TAIL,
    W_INTENT,
    W_SLOTS,
    W_STATE,
    W_TAIL,
    max_frame,
)
from workers.rings.segment import Segment
from workers.rings.wait import Waiter
from workers.rings.wiring import RingHandle

__all__ = ["DEFAULT_POLL_BYTES", "RingReader"]

DEFAULT_POLL_BYTES = 1 << 18
"""What one poll copies at most, about 5,000 one-token frames."""

# Up to how many bytes there may be for `poll` to look whether they are one frame: a copy in vain costs less than that look.
_SMALL = 1024
# How often one poll tries again after it was lapped in the middle of its copy, each time an eighth of the ring nearer to the tail.
_TRIES = 8
# On machines with weak memory order: how long a frame may look wrong before that is called damage.
_PATIENCE_S = 2.0


class RingReader:
    """One reader in its slot of a ring; from one thread. `segment` shows the header."""

    __slots__ = (
        "_crc",
        "_cursor",
        "_cursor_seq",
        "_head_place",
        "_lapped",
        "_lost",
        "_map",
        "_mask",
        "_max_frame",
        "_nap",
        "_octets",
        "_overrun",
        "_parts",
        "_plain",
        "_scan",
        "_seen_state",
        "_seq",
        "_sleeping",
        "_slot",
        "_strict",
        "_suspect",
        "_waiter",
        "_words",
        "burst",
        "doorbell",
        "laps",
        "lost_bytes",
        "segment",
    )

    def __init__(self, handle: RingHandle, *, strict: bool = STRONG_MEMORY, recheck: bool = True) -> None:
        """Attach to the handle's slot and begin at its public cursor (0 in a new ring).

        `strict` says that what cannot be is damage at once, as it is where stores are seen in order. `recheck=False` leaves out the second
        look at `intent`: for the test that shows what it is good for, and for nothing else. Raises RingError for a handle without a slot.
        """
        if handle.slot is None:
            raise RingError("a reader needs a slot of its own; take the handle as ring.handle(slot)")
        self.segment: Segment = handle.segment()
        words = self._words = self.segment.words
        self._map = self.segment.map
        self._octets = self.segment.octets
        capacity = self.segment.capacity
        self._mask = capacity - 1
        self._max_frame = max_frame(capacity)
        self._overrun = capacity if recheck else 1 << 63
        self._strict = strict
        self._crc = self.segment.crc
        # Flags below this are those of a plain frame: whole, and with no checksum to look at.
        self._plain = 0 if self._crc else FLAG_FIRST
        bells = handle.doorbells
        self.doorbell: Doorbell | None = bells[handle.slot] if handle.slot < len(bells) else None
        self._waiter: Waiter | None = None
        self._slot = handle.slot
        self._head_place = W_SLOTS + handle.slot * SLOT_WORDS

        self._scan = self._cursor = words[self._head_place + S_CURSOR]
        tag = words[self._head_place + S_SEQ]
        known = not self._cursor or tag >> 32 == self._cursor & MASK32
        self._seq: int | None = (tag & MASK32 if self._cursor else 0) if known else None
        self._cursor_seq = self._seq
        self._parts: list[bytes] = []
        self._lapped = False
        self._suspect: tuple[int, float] | None = None
        self._lost = 0
        self._seen_state = STATE_OPEN
        self.burst = 0
        """Frames of the last poll."""
        self.lost_bytes = 0
        """Bytes lost to being lapped, pads included."""
        self.laps = 0
        """Times it was lapped."""
        # A new incarnation never repeats the nap numbers of one that died asleep.
        self._nap = time.monotonic_ns() & (1 << 60) - 1
        words[self._head_place + S_LOST] = 0
        words[self._head_place + S_PID] = os.getpid()
        # The last reader of the slot may have died in either sleep.
        words[self._head_place + S_SLEEPING] = 0
        for word in (W_ASLEEP_EVENTS, W_ASLEEP_ANY):
            self._sleeping = 8 * word + handle.slot
            self._octets[self._sleeping] = 0

    # Reading.

    def poll(self, max_bytes: int = DEFAULT_POLL_BYTES, publish: bool = True) -> list[Frame]:
        """Return the whole frames up to `tail`, about `max_bytes` of them at most, and at least one if there is one. Never blocks.

        `publish` moves the public cursor, too. Raises RingError if the ring is damaged, and again at the next poll: it never loops.
        """
        words = self._words
        scan = self._scan
        tail = words[W_TAIL]
        if tail == scan:
            return []
        mask = self._mask
        memory = self._map
        # One plain frame since the last poll: what a reader finds that was just woken. The same steps as below with nothing between them,
        # because a process fresh from its sleep finds its caches cold, and every step costs it several times what it costs in a row. What
        # is anything else goes the long way, and so does a lap: nothing has been taken yet.
        size = tail - scan
        if HEAD_BYTES <= size <= _SMALL and (place := scan & mask) + size <= mask and size <= max_bytes:
            place += HEADER_BYTES
            copy = memory[place : place + size]
            if words[W_INTENT] - scan <= self._overrun:
                length, number, tick, kind, channel, ntok, generation, flags, at, t_ns = HEAD.unpack_from(copy)
                if length + 7 & -8 == size and number == self._seq and flags < self._plain and length >= HEAD_BYTES and scan == self._cursor:
                    seq = number + 1
                    self._scan = self._cursor = tail
                    self._seq = self._cursor_seq = seq
                    self._suspect = None
                    self._lapped = False
                    self.burst = 1
                    if publish:
                        head = self._head_place
                        words[head + S_SEQ] = (tail & MASK32) << 32 | seq & MASK32
                        words[head + S_CURSOR] = tail
                    return [Frame(kind, channel, ntok, tick, generation, flags, at, t_ns, number, copy[HEAD_BYTES:length], tail)]
        capacity = mask + 1
        frames: list[Frame] = []
        # Copies end where frames and pads may begin: at multiples of 8.
        max_bytes = (max_bytes if max_bytes > HEAD_BYTES else HEAD_BYTES) + 7 & -8
        goal = scan + max_bytes
        want = max_bytes
        tries = 0
        while True:
            offset = scan & mask
            place = HEADER_BYTES + offset
            # Not min(): a third of a microsecond on the way of a single frame.
            size = tail - scan
            if size > want:
                size = want
            if size > capacity - offset:
                size = capacity - offset
            if words[W_INTENT] - scan > capacity:
                overrun = True
            else:
                copy = memory[place : place + size]
                overrun = words[W_INTENT] - scan > self._overrun
            if overrun:
                # What was parsed before stands on its own; the next poll deals with the lap.
                if frames or tries == _TRIES:
                    break
                scan, tail = self._resync(tries)
                tries += 1
                goal = scan + max_bytes
                if scan == tail:
                    break
                continue
            done = self._parse(copy, scan, offset + size == capacity or scan + size == tail, frames)
            if done == scan:
                # Nothing whole in the copy: a frame longer than what is left of `max_bytes`, or one that is not to be had yet.
                want = (PAD.unpack_from(copy)[0] & ~PAD_BIT) + 7 & -8
                if frames or want <= size or self._suspect is not None:
                    break
                continue
            scan = done
            if scan >= tail or self._suspect is not None:
                break
            want = goal - scan
            if want < HEAD_BYTES:
                # An event in several frames is finished, whatever was asked for, if there is nothing else to return.
                if frames:
                    break
                want = HEAD_BYTES
        self.burst = len(frames)
        if publish:
            position, seq = self._cursor, self._cursor_seq
            if seq is not None:
                words[self._head_place + S_SEQ] = (position & MASK32) << 32 | seq & MASK32
                words[self._head_place + S_CURSOR] = position
            else:
                self.publish()
        return frames

    def _parse(self, copy: bytes, base: int, complete: bool, out: list[Frame]) -> int:
        """Append the whole frames of a private copy that begins at position `base`; return where the next one begins.

        `complete` says that the copy ends at the wrap or at `tail`, where a frame must end.
        """
        unpack, append = HEAD.unpack_from, out.append
        greatest = self._max_frame
        plain = self._plain
        size = len(copy)
        last = size - HEAD_BYTES
        seq = self._seq
        place = 0
        why = ""
        while place <= last:
            length, number, tick, kind, channel, ntok, generation, flags, at, t_ns = unpack(copy, place)
            if length > greatest or length < HEAD_BYTES:
                break
            end = place + length
            if end > size:
                break
            if number != seq and (why := self._out_of_order(number, seq)):
                break
            following = (end + 7) & -8
            if flags < plain:
                payload = copy[place + HEAD_BYTES : end]
            else:
                if flags & FLAG_CRC:
                    end -= 4
                    if crc32(copy[place:end], base + place & MASK32) != CRC.unpack_from(copy, end)[0]:
                        why = "a frame's checksum is wrong"
                        break
                elif self._crc:
                    why = "a frame has no checksum in a ring of checksums"
                    break
                payload = copy[place + HEAD_BYTES : end]
                if flags & FLAG_PART:
                    seq = number + 1
                    if flags & FLAG_BEGIN:
                        self._cursor, self._cursor_seq = base + place, number
                    elif not self._parts:
                        # The reader began between two parts: the rest of the event is lost with its beginning.
                        self._lost += 1
                        self.lost_bytes += following - place
                        self._words[self._head_place + S_LOST] = self.lost_bytes
                        place = following
                        continue
                    self._parts.append(payload)
                    if flags & FLAG_MORE:
                        place = following
                        continue
                    payload = b"".join(self._parts)
                    self._parts.clear()
                flags &= FLAG_FIRST - 1
            append(Frame(kind, channel, ntok, tick, generation, flags, at, t_ns, number, payload, base + following))
            seq = number + 1
            place = following
        self._seq = seq
        if place > 0:
            self._lapped = False
            self._suspect = None
        # The common end is exact; anything else is a pad, a cut copy, or trouble.
        if place < size:
            place = self._after_last(copy, base, place, complete, why, bool(out))
        position = self._scan = base + place
        if not self._parts:
            self._cursor = position
            self._cursor_seq = seq
        return position

    def _after_last(self, copy: bytes, base: int, place: int, complete: bool, why: str, keep: bool) -> int:
        """Return where to go on in a copy that did not end with a frame. Raises RingError for damage."""
        if not why:
            (length,) = PAD.unpack_from(copy, place)
            to_wrap = self._mask + 1 - (base + place & self._mask)
            if length == PAD_BIT | to_wrap and place + to_wrap <= len(copy):
                return place + to_wrap
            cut = not complete and (length == PAD_BIT | to_wrap or HEAD_BYTES <= length <= self._max_frame)
            if cut and (place + length > len(copy) or len(copy) - place < HEAD_BYTES):
                return place
            what = f"pad of {length & ~PAD_BIT}" if length & PAD_BIT else f"frame length of {length}"
            why = f"a {what} bytes cannot be there ({to_wrap} to the wrap, frames have {HEAD_BYTES} to {self._max_frame})"
        position = base + place
        # What was read before the trouble is returned; the next poll comes to it again and raises.
        if not keep and not self._not_yet(position):
            raise RingError(
                f"{self.segment.name}: damaged at byte {position}: {why}; nothing after it can be trusted up to tail {self.segment.tail} "
                "(seek there to go on)"
            )
        if keep:
            self._suspect = self._suspect or (position, time.monotonic())
        return place

    def _not_yet(self, position: int) -> bool:
        """On a machine with weak memory order, whether what looks wrong may just not have arrived."""
        if self._strict:
            return False
        now = time.monotonic()
        if self._suspect is None or self._suspect[0] != position:
            self._suspect = position, now
        return now - self._suspect[1] < _PATIENCE_S

    def _out_of_order(self, number: int, expected: int | None) -> str:
        """Count what a lap lost before frame `number`; return what is wrong, or "" if nothing is."""
        if expected is None:
            return ""
        missed = number - expected & MASK32
        if not missed:
            return ""
        # A lap skips frames; nothing goes back to earlier ones.
        if not self._lapped or missed >= 1 << 31:
            return f"frame {expected & MASK32} was expected and {number} is there"
        self._lost += missed
        self._lapped = False
        return ""

    def _resync(self, tries: int) -> tuple[int, int]:
        """Go to the oldest checkpoint that is safe, a little nearer to the tail at each try; return it and the tail."""
        words = self._words
        marks = words[W_CHECKPOINTS : W_CHECKPOINTS + CHECKPOINTS].tolist()
        tail = words[W_TAIL]
        capacity = self._mask + 1
        oldest = max(words[W_INTENT] - capacity + tries * capacity // _TRIES, self._cursor + 1)
        scan = min((mark for mark in marks if oldest <= mark <= tail), default=tail)
        self.laps += 1
        self.lost_bytes += scan - self._cursor
        words[self._head_place + S_LOST] = self.lost_bytes
        self._parts.clear()
        self._lapped = True
        self._suspect = None
        self._seq = self._cursor_seq
        self._scan = self._cursor = scan
        return scan, words[W_TAIL]

    def publish(self, upto: Frame | int | None = None) -> None:
        """Move the public cursor: to what was polled, or to the end of the frame `upto` (or a position that is one)."""
        words, place = self._words, self._head_place
        if upto is None:
            position, seq = self._cursor, self._cursor_seq
        elif isinstance(upto, int):
            position, seq = upto, None
        else:
            position, seq = upto.position, upto.seq + 1
        if position > self._cursor:
            raise RingError(f"{self.segment.name}: cannot publish position {position}; this reader has read up to {self._cursor}")
        # The tag goes first: a kill in between leaves one that does not fit the cursor, and is not believed.
        tag = position if seq is not None else ~position
        words[place + S_SEQ] = (tag & MASK32) << 32 | (seq or 0) & MASK32
        words[place + S_CURSOR] = position

    def seek(self, position: int) -> None:
        """Go to a position where a frame begins: 0, a frame's `position`, or `tail`. The public cursor moves at the next poll.

        Raises RingError for a position beyond `tail`. One that is no longer in the ring is a lap, as always.
        """
        if not 0 <= position <= self._words[W_TAIL]:
            raise RingError(f"{self.segment.name}: cannot seek to {position}; positions reach from 0 to tail {self._words[W_TAIL]}")
        self._scan = self._cursor = position
        self._seq = self._cursor_seq = None if position else 0
        self._parts.clear()
        self._lapped = False
        self._suspect = None

    # What it knows.

    @property
    def cursor(self) -> int:
        """Position after the last whole event that was polled."""
        return self._cursor

    @property
    def lag(self) -> int:
        """Bytes between this reader and `tail`."""
        return self._words[W_TAIL] - self._cursor

    @property
    def lost(self) -> int:
        """Frames lost to being lapped.

        Known when the first frame after a lap is polled, or at the end of a closed ring; until then the last lap is not in it.
        """
        if self._lapped and self.closed and self._cursor_seq is not None:
            return self._lost + (self._words[W_COUNT] - self._cursor_seq & MASK32)
        return self._lost

    @property
    def closed(self) -> bool:
        """Whether the writer has closed and this reader stands at `tail`."""
        return self._words[W_STATE] == STATE_CLOSED and self._words[W_TAIL] == self._cursor

    @property
    def aborted(self) -> bool:
        """Whether the desk found the writer dead. What it had published can still be read."""
        return self._words[W_STATE] == STATE_ABORTED

    @property
    def epoch(self) -> int:
        """Writers that attached so far; 0 before the first."""
        return self.segment.epoch

    @property
    def writer_alive(self) -> bool:
        """Whether a writer is attached, has not closed, and its process lives. False before the first. Not for hot loops."""
        return self.segment.writer_alive

    # Sleeping: the parts a `Waiter` is made of.

    def wait(self, timeout: float | None, events_only: bool = False) -> bool:
        """Sleep until there is something to poll or the ring's state changed, `timeout` seconds at most (None: no limit)."""
        if self._waiter is None:
            self._waiter = Waiter((self,))
        return bool(self._waiter.wait(timeout, events_only))

    def ready(self, events_only: bool = False) -> bool:
        """Whether a wait would return at once: something to read (with `events_only`, more than text), or a state not yet reported."""
        words = self._words
        if words[W_STATE] != self._seen_state:
            return True
        if events_only:
            return words[W_EVENT_TAIL] > self._cursor
        return words[W_TAIL] != self._cursor

    def reported(self) -> None:
        """The state of the ring has been told to whoever waited; it wakes nobody a second time."""
        self._seen_state = self._words[W_STATE]

    def lie_down(self, events_only: bool) -> None:
        """Raise the sleeping flag, with a new number: the writer rings once for each."""
        self._nap += 1
        self._words[self._head_place + S_SLEEPING] = self._nap << 2 | (NAP_EVENTS if events_only else NAP_ANY)
        self._sleeping = 8 * (W_ASLEEP_EVENTS if events_only else W_ASLEEP_ANY) + self._slot
        self._octets[self._sleeping] = 1

    def get_up(self, events_only: bool = False) -> bool:
        """Lower the sleeping flag; return whether the reader is ready, and take a new state for reported if so."""
        words = self._words
        words[self._head_place + S_SLEEPING] = 0
        self._octets[self._sleeping] = 0
        state = words[W_STATE]
        if state != self._seen_state:
            self._seen_state = state
            return True
        return words[W_EVENT_TAIL] > self._cursor if events_only else words[W_TAIL] != self._cursor

    def close(self) -> None:
        """Unmap. The slot keeps its public cursor. Safe to call twice."""
        self._waiter = None
        self.segment.close()

    def __enter__(self) -> RingReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


assert DEFAULT_POLL_BYTES >= MAX_FRAME
