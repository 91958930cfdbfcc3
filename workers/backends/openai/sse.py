"""Server-sent events from bytes as they come: lines, fields, events. Pure, and apart from what the data means.

A line ends at LF, CR or CRLF and nowhere else: 0x85 and U+2028 are text. Everything stays bytes here, so a character cut
by a write is whole again before anybody decodes it; a blank after a field's colon is optional, a line that starts with a
colon is a comment, several `data` lines of an event are joined by LF, and a byte order mark at the start is skipped.

The one thing that surprises: a server that forgets the blank line between events is understood all the same. When a second
`data` line comes and the first was JSON by itself, each line is an event of its own from there on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["BOM", "Event", "EventParser", "TooLong"]

BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 16 << 20
_LINE_END = re.compile(rb"\r\n|\n|\r")


class TooLong(ValueError):
    """A line or an event is longer than anybody can mean."""


class Event(NamedTuple):
    """One event: its name (`event:` field, mostly empty) and its data."""

    name: bytes
    data: bytes


class EventParser:
    """`feed` bytes, get the events they complete; `end` gives what an unterminated last line holds.

    `whole(data)` says whether data is complete by itself; see the module's text. Raises TooLong beyond `max_bytes` in one event.
    """

    def __init__(self, *, whole: Callable[[bytes], bool], max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._whole = whole
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._at_start = True
        self._after_cr = False
        self._each_line = False
        self._idle = False
        self._name = b""
        self._data: list[bytes] = []
        self._data_size = 0
        self.strange = b""
        """The beginning of the first line that is no field of an event stream."""

    def feed(self, data: bytes) -> list[Event]:
        """Return the events completed by `data`, in order."""
        if self._idle and data.startswith(b"data: ") and data.endswith(b"\n\n") and data.find(b"\n") == len(data) - 2 and b"\r" not in data:
            # One whole event in one read: what a model as fast as we read sends, and most of what is ever read.
            return [Event(b"", data[6:-2])]
        events = self._feed(data)
        self._idle = not (self._at_start or self._after_cr or self._parts or self._data or self._name or self._each_line)
        return events

    def _feed(self, data: bytes) -> list[Event]:
        if self._after_cr and data:
            self._after_cr = False
            if data.startswith(b"\n"):
                data = data[1:]
        plain = b"\r" not in data
        if plain and b"\n" not in data:
            self._keep(data)
            return []
        if self._parts:
            self._parts.append(data)
            data = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        if plain:
            lines = data.split(b"\n")
        else:
            self._after_cr = data.endswith(b"\r")
            lines = _LINE_END.split(data)
        tail = lines.pop()
        if tail:
            self._keep(tail)
        return self._take(lines)

    def end(self) -> list[Event]:
        """Return what stands after the last line end, and an event whose blank line never came."""
        rest = b"".join(self._parts)
        self._parts.clear()
        events = self._take([rest]) if rest else []
        if self._data:
            events.append(self._dispatch())
        return events

    def _keep(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size > self._max_bytes:
            raise TooLong(f"a line of more than {self._max_bytes} bytes")

    def _take(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        if self._at_start and lines:
            self._at_start = False
            lines[0] = lines[0].removeprefix(BOM)
        for line in lines:
            if not line:
                if self._data:
                    events.append(self._dispatch())
                else:
                    self._name = b""
            elif line.startswith(b"data:"):
                self._on_data(line[6:] if line.startswith(b"data: ") else line[5:], events)
            elif not line.startswith(b":"):
                # A comment is a sign of life, and its bytes have been that already.
                self._on_field(line)
        return events

    def _on_data(self, value: bytes, events: list[Event]) -> None:
        if self._data:
            if not self._each_line and len(self._data) == 1 and self._whole(self._data[0]):
                self._each_line = True
            if self._each_line:
                events.append(self._dispatch())
        self._data.append(value)
        self._data_size += len(value)
        if self._data_size > self._max_bytes:
            raise TooLong(f"an event of more than {self._max_bytes} bytes")
        if self._each_line:
            events.append(self._dispatch())

    def _on_field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == b"event":
            self._name = value.strip()
        elif field not in (b"id", b"retry", b"data") and not self.strange:
            self.strange = line[:200]

    def _dispatch(self) -> Event:
        event = Event(self._name, self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
        self._data.clear()
        self._data_size = 0
        self._name = b""
        return event
