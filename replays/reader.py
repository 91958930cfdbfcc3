"""Reading a replay: opened at once, read tick by tick.

Opening reads the header and the index; a tick is read, checked, inflated and typed when it is asked for. The one thing that surprises:
damage is no exception. What cannot be read is missing from what you get, and `warnings` says what and at which byte; only a file that
is no replay at all, or of a newer version, raises.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Any, Generic, TypeVar

from replays import events as ev
from replays.format import KIND_ANNOTATION, KIND_INDEX, KIND_KEYFRAME, KIND_TICK, BadRecord, weight
from replays.payload import AnyRecorded, unpack_events, unpack_state
from replays.scan import MAX_WARNINGS, Header, ReplayWarning, Source, find_records, read_header, read_record

__all__ = ["Replay", "open_replay"]

T = TypeVar("T")

CACHE_TICKS = 256
CACHE_BYTES = 64 << 20
"""Of memory, as `weight` reckons it."""


def open_replay(path: str | os.PathLike[str]) -> Replay:
    """Return the replay at `path`. Raises ReplayError, in one sentence, if it is none or of a newer version."""
    source = Source(path)
    try:
        return Replay(source, read_header(source))
    except BaseException:
        source.close()
        raise


class Replay:
    """An open replay; safe to use from several threads. Close it, or use it in a `with` block."""

    def __init__(self, source: Source, header: Header) -> None:
        self._source = source
        self._lock = threading.RLock()
        self._found = find_records(source, header)
        self._table = table = self._found.table
        self._warnings = {warning.offset: warning for warning in self._found.warnings}
        self._ticks = _Column(table.of_kind(KIND_TICK), table.ticks)
        self._keyframes = _Column(table.of_kind(KIND_KEYFRAME), table.ticks)
        self._events: _Cache[tuple[AnyRecorded, ...]] = _Cache()
        self._end: ev.End | None = None
        self._end_known = False
        self.path = source.path
        self.header: ev.Episode = header.episode
        """The episode event."""
        self.header_map = header.data
        """The header as it stands in the file, with what newer versions may have added."""
        self.version = header.version
        self._header_size = header.size
        self.size = source.size
        """Bytes of the file."""
        self.ticks: Sequence[int] = self._ticks.distinct()
        """The ticks the file holds, ascending. A fork's begin at the tick it was forked at."""

    @property
    def tick_count(self) -> int:
        """How many ticks the file holds."""
        return len(self.ticks)

    @property
    def first_tick(self) -> int | None:
        """The first tick; None for a file without any."""
        return self.ticks[0] if self.ticks else None

    @property
    def last_tick(self) -> int | None:
        """The last tick; None for a file without any."""
        return self.ticks[-1] if self.ticks else None

    @property
    def closed(self) -> bool:
        """Whether the recorder closed the file: it ends with an index, and nothing was torn off it."""
        return self._found.closed

    @property
    def end(self) -> ev.End | None:
        """The `end` event, None if the file holds none."""
        if not self._end_known:
            tick = self.last_tick
            found = self.events(tick) if tick is not None else ()
            self._end = next((event for event in reversed(found) if isinstance(event, ev.End)), None)
            self._end_known = True
        return self._end

    @property
    def incomplete(self) -> bool:
        """Whether the end of the episode is missing, or the file was not closed behind it."""
        return not self.closed or self.end is None

    @property
    def warnings(self) -> list[ReplayWarning]:
        """What was found damaged so far, by byte; `check` looks everywhere."""
        with self._lock:
            return sorted(self._warnings.values(), key=lambda warning: warning.offset)

    @property
    def unknown_records(self) -> dict[int, int]:
        """How many records of each kind this version does not know."""
        counts: dict[int, int] = {}
        for kind in self._table.kinds:
            if kind > KIND_ANNOTATION:
                counts[kind] = counts.get(kind, 0) + 1
        return counts

    def events(self, tick: int) -> tuple[AnyRecorded, ...]:
        """Return the events of a tick in canonical order, `end` included; empty if the file does not hold the tick or lost it."""
        with self._lock:
            cached = self._events.get(tick)
            if cached is not None:
                return cached
            found: list[AnyRecorded] = []
            cost = 0
            for i in self._ticks.rows(tick):
                part, size = self._unpack(i)
                found.extend(part)
                cost += size
            events = tuple(found)
            self._events.put(tick, events, cost)
            return events

    def iter(self, start: int | None = None, stop: int | None = None) -> Iterator[ev.AnyEvent | AnyRecorded]:
        """Yield the header and then every event, in order; with `start` or `stop` only the events of ticks start <= tick < stop."""
        if start is None and stop is None:
            yield self.header
        first = 0 if start is None else bisect_left(self.ticks, start)
        last = len(self.ticks) if stop is None else bisect_left(self.ticks, stop)
        for place in range(first, last):
            yield from self.events(self.ticks[place])

    __iter__ = iter

    def keyframe(self, tick: int) -> tuple[int, dict[str, Any]] | None:
        """Return the nearest keyframe at or before `tick`, as (its tick, the state after all events of that tick).

        None if there is none: then fold from the first tick. A damaged keyframe counts as not there.
        """
        with self._lock:
            for place in range(self._keyframes.upto(tick) - 1, -1, -1):
                i = self._keyframes.row(place)
                state = self._guarded(i, unpack_state)
                if state is not None:
                    return self._table.ticks[i], state
            return None

    @property
    def keyframe_ticks(self) -> Sequence[int]:
        """The ticks that have a keyframe, ascending."""
        return self._keyframes.distinct()

    @property
    def annotations(self) -> list[AnyRecorded]:
        """The bookmarks appended after the recording, by tick and then age; those set during the run are among the events."""
        with self._lock:
            found: list[AnyRecorded] = []
            for i in self._table.of_kind(KIND_ANNOTATION):
                found.extend(self._unpack(i)[0])
            return sorted(found, key=lambda event: event.tick)

    def check(self, *, events: bool = True) -> list[ReplayWarning]:
        """Read the whole file and return all warnings; `events=False` where they have all been read already."""
        if events:
            for _ in self.iter():
                pass
        with self._lock:
            for i, kind in enumerate(self._table.kinds):
                if kind == KIND_KEYFRAME:
                    self._guarded(i, unpack_state)
                elif kind == KIND_ANNOTATION:
                    self._unpack(i)
                elif kind > KIND_ANNOTATION:
                    self._guarded(i, lambda payload: payload)
        return self.warnings

    def records(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield (kind, tick, the record's bytes as they stand in the file) of every whole record but the indexes."""
        table = self._table
        for i, kind in enumerate(table.kinds):
            if kind == KIND_INDEX:
                continue
            with self._lock:
                whole = self._guarded(i, lambda payload: payload) is not None
            if whole:
                yield kind, table.ticks[i], self._source.read(table.offsets[i], table.sizes[i])

    @property
    def header_bytes(self) -> bytes:
        """The header map as it stands in the file."""
        return self._source.read(0, self._header_size)

    @property
    def header_sum(self) -> tuple[int, int]:
        """(bytes, crc32) the header had when it was written."""
        return self._found.header

    def close(self) -> None:
        """Close the file; again is no error."""
        with self._lock:
            self._source.close()

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _unpack(self, i: int) -> tuple[tuple[AnyRecorded, ...], int]:
        """Return the events of the record in row `i` and about the bytes of memory they take."""
        tick = self._table.ticks[i]
        size = 0

        def unpack(payload: bytes) -> tuple[AnyRecorded, ...]:
            nonlocal size
            events, problems = unpack_events(payload, tick)
            size = weight(payload, sum(_foreign(event) for event in events))
            if problems:
                more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
                self._warn(i, f"{problems[0]}{more}")
            return events

        return self._guarded(i, unpack) or (), size

    def _guarded(self, i: int, unpack: Callable[[bytes], Any]) -> Any:
        """Return what `unpack` makes of the record in row `i`; None, with a warning kept, if it is damaged."""
        table = self._table
        try:
            head, payload = read_record(self._source, table.offsets[i], table.sizes[i])
            if (head.kind, head.tick) != (table.kinds[i], table.ticks[i]):
                raise BadRecord("the index says it is another record")
            return unpack(payload)
        except BadRecord as error:
            self._warn(i, str(error))
            return None

    def _warn(self, i: int, text: str) -> None:
        offset = self._table.offsets[i]
        if len(self._warnings) < MAX_WARNINGS:
            self._warnings.setdefault(offset, ReplayWarning(offset, f"record at byte {offset} (tick {self._table.ticks[i]}): {text}"))


def _foreign(event: AnyRecorded) -> int:
    """Return how many bytes of an event's text are not ASCII, each of which could be taken for an object."""
    text = event.text if isinstance(event, ev.Token | ev.Tick) else ""
    if text.isascii():
        return 0
    data = text.encode("utf-8", "surrogatepass")
    return len(data) - len(data.translate(None, _NOT_ASCII))


_NOT_ASCII = bytes(range(0x80, 0x100))


class _Column:
    """The rows of one kind of record, by tick."""

    def __init__(self, rows: list[int], ticks: Sequence[int]) -> None:
        self._ticks = [ticks[row] for row in rows]
        if any(later < earlier for earlier, later in pairwise(self._ticks)):
            # No recorder of ours writes them out of order; a stable sort keeps what stands first in the file first.
            rows = sorted(rows, key=lambda row: ticks[row])
            self._ticks.sort()
        self._rows = rows

    def rows(self, tick: int) -> list[int]:
        return self._rows[bisect_left(self._ticks, tick) : self.upto(tick)]

    def row(self, place: int) -> int:
        return self._rows[place]

    def upto(self, tick: int) -> int:
        """Return how many rows have a tick up to and including `tick`."""
        return bisect_right(self._ticks, tick)

    def distinct(self) -> list[int]:
        return list(dict.fromkeys(self._ticks))


class _Cache(Generic[T]):
    """The values last asked for, bounded by number and by the memory they take."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, tuple[T, int]] = OrderedDict()
        self._cost = 0

    def get(self, key: int) -> T | None:
        found = self._held.get(key)
        if found is None:
            return None
        self._held.move_to_end(key)
        return found[0]

    def put(self, key: int, value: T, cost: int) -> None:
        self._held[key] = value, cost
        self._cost += cost
        while len(self._held) > CACHE_TICKS or (self._cost > CACHE_BYTES and len(self._held) > 1):
            _, (_, freed) = self._held.popitem(last=False)
            self._cost -= freed
