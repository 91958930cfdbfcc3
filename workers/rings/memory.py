"""A ring without shared memory, for one process: the simulator's.

Writer and readers have the surface of the real ones, and frames are objects in a list. The one thing that surprises: nobody is ever lapped
by the writer; frames go only when every reader attached so far has published its cursor beyond them, so attach all readers first.
Positions count as in a real ring without pads or checksums.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from contextlib import nullcontext
from types import TracebackType

from workers.errors import RingError
from workers.rings.doorbell import Doorbell
from workers.rings.frames import KIND_CHUNK, Frame
from workers.rings.layout import FLAG_FIRST, HEAD, HEAD_BYTES, MASK32, STATE_ABORTED, STATE_CLOSED, STATE_OPEN
from workers.rings.reader import DEFAULT_POLL_BYTES
from workers.rings.wait import wait_any

__all__ = ["ListReader", "ListRing", "ListWriter"]

# Frames that are read by everybody are dropped in runs: dropping from the front of a list costs the length of the rest.
_RUN = 4096


class ListRing:
    """Frames in a list; `writer()` and `reader(slot)` attach."""

    def __init__(self, *, name: str = "ring") -> None:
        self.name = name
        self.frames: list[Frame] = []
        """Frames still held, oldest first."""
        self.begin = 0
        """Position of the first frame still held."""
        self.tail = 0
        """Position after the last."""
        self.event_tail = 0
        """Position after the last that is no CHUNK."""
        self.count = 0
        """Frames written so far."""
        self.dropped = 0
        """Frames no longer held."""
        self.state = STATE_OPEN
        self.epoch = 0
        self.heartbeat_ns = 0
        self.cursors: dict[int, int] = {}
        """Public cursors by slot."""

    def writer(self) -> ListWriter:
        """Attach as the writer."""
        return ListWriter(self)

    def reader(self, slot: int = 0) -> ListReader:
        """Attach as the reader of a slot, at its public cursor."""
        return ListReader(self, slot)

    @property
    def aborted(self) -> bool:
        """Whether the writer was declared dead."""
        return self.state == STATE_ABORTED

    def abort(self) -> None:
        """Declare the writer dead."""
        self.state = STATE_ABORTED

    def cursor(self, slot: int) -> int:
        """Public cursor of a slot."""
        return self.cursors.get(slot, 0)

    def lag(self, slot: int) -> int:
        """Bytes between a slot's public cursor and the tail."""
        return self.tail - self.cursor(slot)

    def set_cursor(self, slot: int, position: int = 0) -> None:
        """Set where the next reader of a slot begins. Raises RingError beyond the tail."""
        if not 0 <= position <= self.tail:
            raise RingError(f"{self.name}: cursor {position} is outside the ring; positions reach from 0 to tail {self.tail}")
        self.cursors[slot] = position

    def forget(self) -> None:
        """Drop the frames that every reader has published, if there are enough of them to be worth it."""
        if not self.cursors:
            return
        least = min(self.cursors.values())
        gone = self.after(least)
        if gone >= _RUN:
            self.begin = self.frames[gone - 1].position
            self.dropped += gone
            del self.frames[:gone]

    def after(self, position: int) -> int:
        """Return the index of the first held frame that ends beyond `position`."""
        if position <= self.begin:
            return 0
        return bisect_right(self.frames, position, key=_end)

    def number(self, position: int) -> int:
        """Return the number of the frame that begins at `position`; among frames no longer held only that of the first is known."""
        return self.dropped + self.after(position) if position >= self.begin or position else 0


def _end(frame: Frame) -> int:
    return frame.position


class ListWriter:
    """The writing end of a ListRing, with the surface of RingWriter."""

    def __init__(self, ring: ListRing) -> None:
        self._ring = ring
        self._closed = False
        ring.epoch += 1
        ring.state = STATE_OPEN
        ring.heartbeat_ns = time.monotonic_ns()

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
        """Append one frame. Raises RingError as RingWriter does, but for its size."""
        ring = self._ring
        if self._closed:
            raise RingError(f"{ring.name}: this writer was closed; a ring is written by one writer, until it closes")
        if t_ns is None:
            t_ns = time.monotonic_ns()
        in_fields = 0 <= kind < 256 and 0 <= channel < 256 and 0 <= ntok < 1 << 16 and 0 <= at < 1 << 64 and -(1 << 63) <= t_ns < 1 << 63
        if not (in_fields and 0 <= tick <= MASK32 and 0 <= generation <= MASK32 and 0 <= flags < FLAG_FIRST and isinstance(payload, bytes)):
            raise RingError(
                f"{ring.name}: a frame's number does not fit its field ({HEAD.format}), or its payload is not bytes: kind {kind}, channel {channel}, "
                f"ntok {ntok}, tick {tick}, generation {generation}, flags {flags}, at {at}, t_ns {t_ns}"
            )
        end = ring.tail + (HEAD_BYTES + len(payload) + 7 & -8)
        ring.frames.append(Frame(kind, channel, ntok, tick, generation, flags, at, t_ns, ring.count & MASK32, payload, end))
        ring.count += 1
        ring.tail = end
        if kind != KIND_CHUNK:
            ring.event_tail = end

    def batch(self) -> nullcontext[ListWriter]:
        """Return a context that does nothing: one process sees frames together anyhow."""
        return nullcontext(self)

    def hold(self) -> None:
        """Nothing, for the same reason."""

    def show(self) -> None:
        """Nothing."""

    def heartbeat(self) -> None:
        """Give a sign of life."""
        self._ring.heartbeat_ns = time.monotonic_ns()

    def lag(self, slot: int) -> int:
        """Bytes the reader of a slot is behind, by its public cursor."""
        return self._ring.lag(slot)

    @property
    def position(self) -> int:
        """Where the next frame begins."""
        return self._ring.tail

    def close(self) -> None:
        """Say that nothing follows. Safe to call twice."""
        if not self._closed:
            self._closed = True
            self._ring.state = STATE_CLOSED

    def __enter__(self) -> ListWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class ListReader:
    """The reading end of a ListRing, with the surface of RingReader."""

    doorbell: Doorbell | None = None
    """None: nobody can write while this process sleeps."""
    burst: int = 0
    """0: nobody waits for the end of a flood either."""

    def __init__(self, ring: ListRing, slot: int = 0) -> None:
        self._ring = ring
        self._slot = slot
        self._cursor = ring.cursors.setdefault(slot, 0)
        self._read = ring.number(self._cursor)
        self._seen_state = STATE_OPEN
        self.lost = 0
        """Frames that were dropped before this reader came to them."""
        self.lost_bytes = 0
        """Their bytes."""
        self.laps = 0
        """Times that happened."""

    def poll(self, max_bytes: int = DEFAULT_POLL_BYTES, publish: bool = True) -> list[Frame]:
        """Return the frames up to the tail, about `max_bytes` of them at most, and at least one if there is one."""
        ring = self._ring
        if self._cursor == ring.tail:
            return []
        if self._cursor < ring.begin:
            self.lost_bytes += ring.begin - self._cursor
            self.lost += ring.dropped - self._read
            self.laps += 1
            self._cursor = ring.begin
            self._read = ring.dropped
        first = ring.after(self._cursor)
        if ring.tail - self._cursor <= max_bytes:
            frames = ring.frames[first:]
        else:
            frames = ring.frames[first : max(first + 1, ring.after(self._cursor + max_bytes))]
        if frames:
            self._cursor = frames[-1].position
            self._read += len(frames)
        if publish:
            self.publish()
        return frames

    def publish(self, upto: Frame | int | None = None) -> None:
        """Move the public cursor: to what was polled, or to the end of the frame `upto` (or a position that is one)."""
        position = self._cursor if upto is None else upto if isinstance(upto, int) else upto.position
        if position > self._cursor:
            raise RingError(f"{self._ring.name}: cannot publish position {position}; this reader has read up to {self._cursor}")
        self._ring.cursors[self._slot] = position
        self._ring.forget()

    def seek(self, position: int) -> None:
        """Go to a position where a frame begins. Raises RingError beyond the tail."""
        if not 0 <= position <= self._ring.tail:
            raise RingError(f"{self._ring.name}: cannot seek to {position}; positions reach from 0 to tail {self._ring.tail}")
        self._cursor = position
        self._read = self._ring.number(position)

    @property
    def cursor(self) -> int:
        """Position after the last frame that was polled."""
        return self._cursor

    @property
    def lag(self) -> int:
        """Bytes between this reader and the tail."""
        return self._ring.tail - self._cursor

    @property
    def closed(self) -> bool:
        """Whether the writer has closed and this reader stands at the tail."""
        return self._ring.state == STATE_CLOSED and self._cursor == self._ring.tail

    @property
    def aborted(self) -> bool:
        """Whether the writer was declared dead."""
        return self._ring.aborted

    @property
    def epoch(self) -> int:
        """Writers that attached so far."""
        return self._ring.epoch

    @property
    def writer_alive(self) -> bool:
        """Whether a writer is attached that has neither closed nor been declared dead."""
        return self._ring.epoch > 0 and self._ring.state == STATE_OPEN

    def wait(self, timeout: float | None, events_only: bool = False) -> bool:
        """Whether there is something to poll. Never sleeps: the writer is this very process."""
        return bool(wait_any((self,), timeout, events_only))

    def ready(self, events_only: bool = False) -> bool:
        """Whether a wait would say yes."""
        ring = self._ring
        return ring.state != self._seen_state or (ring.event_tail > self._cursor if events_only else ring.tail != self._cursor)

    def reported(self) -> None:
        """The state of the ring has been told to whoever waited."""
        self._seen_state = self._ring.state

    def lie_down(self, events_only: bool) -> None:
        """Nothing: it never sleeps."""

    def get_up(self, events_only: bool = False) -> bool:
        """Whether it is ready; it never slept."""
        return self.ready(events_only)

    def close(self) -> None:
        """Let go. The slot keeps its public cursor."""

    def __enter__(self) -> ListReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
