"""What is inside a record: event maps, keyframe states, the index; packed strictly, unpacked with tolerance.

The one thing that surprises: unpacking a file's events never fails as a whole. An event of a kind this version does not know, or one
whose fields are not as they should be, comes back as an `UnknownEvent` with its plain data, and its neighbours come back typed.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from replays import events as ev
from replays.format import MAX_DEPTH, MAX_EVENTS, MAX_RECORDS, BadRecord, too_deep, vet

__all__ = ["AnyRecorded", "Index", "Table", "UnknownEvent", "pack_events", "pack_index", "pack_state", "unpack_events", "unpack_index", "unpack_state"]


class UnknownEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event this version cannot type: of a newer kind, or of a known kind with fields it does not expect."""

    kind: str
    tick: int
    seq: int = -1
    t_ns: int = 0
    at: int | None = None
    data: dict[Any, Any]
    """The whole map as it stands in the file."""
    why: str
    """`unknown kind`, or what is wrong with its fields and where."""


AnyRecorded = ev.AnyEvent | UnknownEvent
"""What reading a replay gives."""

# What decoding hostile bytes can raise: MsgspecError is wrong or malformed data, the others come from odd keys and timestamps.
DECODING = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)

_encoder = msgspec.msgpack.Encoder(enc_hook=ev.plain)
_events: msgspec.msgpack.Decoder[list[ev.AnyEvent]] = msgspec.msgpack.Decoder(list[ev.AnyEvent])
_items: msgspec.msgpack.Decoder[list[msgspec.Raw]] = msgspec.msgpack.Decoder(list[msgspec.Raw])
_anything = msgspec.msgpack.Decoder()


MOST_MALFORMED = 1000
"""Events of a payload that may be other than this version knows them; with more of them it is no payload of events."""


class _Arrivals(msgspec.Struct, frozen=True):
    """`meas` of a token event. A struct because the library remembers what it found out about one, and about a bare list it does not."""

    arrivals: list[tuple[Annotated[int, msgspec.Meta(ge=0)], int]]


# The fields without a type of their own, the only ones that can nest without end.
_OPEN_FIELDS: dict[Any, tuple[str, ...]] = {ev.Episode: ("meas",), ev.Tick: ("view", "snapshot"), ev.Generation: ("meas",), ev.Token: ("meas",), ev.Step: ("state",)}


def pack_events(events: Sequence[ev.Event]) -> bytes:
    """Return the events as one MessagePack array of maps. Raises ValueError or TypeError for what cannot be recorded."""
    if len(events) > MAX_EVENTS:
        raise ValueError(f"{len(events)} events in one record; at most {MAX_EVENTS} are allowed")
    for event in events:
        if type(event) is ev.Token and len(event.meas) == 1 and _are_arrivals(event.meas.get("arrivals")):
            continue
        if _nests_too_deep(event):
            raise ValueError(f"a {type(event).__name__.lower()} event nests deeper than {MAX_DEPTH} levels")
    return _pack(list(events))


def pack_state(state: dict[str, Any]) -> bytes:
    """Return a keyframe's state. Raises ValueError or TypeError for what cannot be recorded."""
    if too_deep(state):
        raise ValueError(f"the state nests deeper than {MAX_DEPTH} levels")
    return _pack(state)


def _pack(value: Any) -> bytes:
    try:
        data = _encoder.encode(value)
        vet(data)
    except (RecursionError, OverflowError, BadRecord) as error:
        raise ValueError(str(error)) from None
    return data


def unpack_events(payload: bytes, tick: int) -> tuple[tuple[AnyRecorded, ...], list[str]]:
    """Return the events of a payload, and what was wrong with some of them. Raises BadRecord if it is no array of maps at all."""
    vet(payload)
    if _listed(payload) > MAX_EVENTS:
        raise BadRecord(f"it lists {_listed(payload)} events; at most {MAX_EVENTS} are allowed")
    try:
        events = _events.decode(payload)
    except DECODING:
        return _unpack_one_by_one(payload, tick)
    if any(_unsound(event, tick) for event in events):
        return _unpack_one_by_one(payload, tick)
    return tuple(events), []


def _listed(payload: bytes) -> int:
    """Return how many objects an array says it holds; 0 for what is no array."""
    form = payload[0]
    return form & 0x0F if 0x90 <= form < 0xA0 else int.from_bytes(payload[1 : 3 if form == 0xDC else 5], "big") if form in (0xDC, 0xDD) else 0


def _unpack_one_by_one(payload: bytes, tick: int) -> tuple[tuple[AnyRecorded, ...], list[str]]:
    try:
        items = _items.decode(payload)
    except DECODING:
        raise BadRecord("its payload is no array of events") from None
    found: list[AnyRecorded] = []
    problems: list[str] = []
    for number, item in enumerate(items):
        if len(problems) > MOST_MALFORMED:
            raise BadRecord(f"more than {MOST_MALFORMED} of its events are not as this version knows them; {problems[0]}")
        why = ""
        try:
            event = ev.decode(memoryview(item))
            why = _unsound(event, tick)
            if not why:
                found.append(event)
                continue
        except DECODING as error:
            why = str(error)
        try:
            data = _anything.decode(item)
        except DECODING as error:
            problems.append(f"event {number} cannot be read ({error})")
            continue
        if not isinstance(data, dict) or too_deep(data):
            problems.append(f"event {number} is no map of events nested at most {MAX_DEPTH} levels deep")
            continue
        kind = data.get("kind")
        if isinstance(kind, str) and kind not in _KINDS:
            why = "unknown kind"
        else:
            problems.append(f"event {number} ({kind!r}) is not as this version knows it: {why}")
        found.append(
            UnknownEvent(
                kind=str(kind),
                tick=_int(data.get("tick"), tick),
                seq=_int(data.get("seq"), -1),
                t_ns=_int(data.get("t_ns"), 0),
                at=_int(data.get("at"), None),
                data=data,
                why=why,
            )
        )
    return tuple(found), problems


def unpack_state(payload: bytes) -> dict[str, Any]:
    """Return a keyframe's state. Raises BadRecord if it is no map."""
    vet(payload)
    try:
        state = _anything.decode(payload)
    except DECODING as error:
        raise BadRecord(f"its state cannot be read ({error})") from None
    if not isinstance(state, dict) or too_deep(state):
        raise BadRecord(f"its state is no map nested at most {MAX_DEPTH} levels deep")
    return state


_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in (*ev.Event.__subclasses__(),))


def _int(value: Any, otherwise: Any) -> Any:
    return value if type(value) is int else otherwise


def _unsound(event: Any, tick: int) -> str:
    """Return what is wrong with an event whose types are right, or an empty string: readers need not ask again."""
    if event.tick != tick:
        return f"it is of tick {event.tick}, in a record of tick {tick}"
    if type(event) is ev.Token:
        if event.lens and min(event.lens) < 0:
            return "a token has less than no bytes"
        arrivals = event.meas.get("arrivals")
        if arrivals is not None and _are_arrivals(arrivals):
            if len(event.meas) == 1:
                # Nearly every token event: nothing else there is that could nest.
                return ""
        elif arrivals is not None and not too_deep(arrivals):
            return "meas.arrivals is no list of [tokens, ns]"
    return f"nests deeper than {MAX_DEPTH} levels" if _nests_too_deep(event) else ""


def _are_arrivals(value: Any) -> bool:
    # Every token event has some, so the library looks at them: a tenth of the time of a loop.
    try:
        msgspec.convert({"arrivals": value}, _Arrivals)
    except DECODING:
        return False
    return type(value) is list


def _nests_too_deep(event: Any) -> bool:
    names = _OPEN_FIELDS.get(type(event))
    return names is not None and any(value and too_deep(value) for name in names if (value := getattr(event, name)))


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """The payload of an index record, stored without zlib so that the file's last nine bytes are `at`."""

    header: tuple[int, int]
    """(bytes, crc32) of the header map."""
    count: int
    """Records it lists: all before it in the file, older indexes included."""
    columns: bytes
    """zlib of four columns one after the other, little-endian: kind u8, tick u64, offset u64, size u32."""
    at: int
    """Where the index record itself begins, always as uint64."""


class Table:
    """Where the records of a file are: four columns, 21 bytes a record."""

    def __init__(self) -> None:
        self.kinds = array("B")
        self.ticks = array("Q")
        self.offsets = array("Q")
        self.sizes = array("I")

    def __len__(self) -> int:
        return len(self.kinds)

    def add(self, kind: int, tick: int, offset: int, size: int) -> None:
        """Append a record. Raises BadRecord beyond MAX_RECORDS."""
        if len(self.kinds) >= MAX_RECORDS:
            raise BadRecord(f"the file holds more than {MAX_RECORDS} records")
        self.kinds.append(kind)
        self.ticks.append(tick)
        self.offsets.append(offset)
        self.sizes.append(size)

    def end(self, start: int) -> int:
        """Return where the last record ends; `start` if there is none."""
        return self.offsets[-1] + self.sizes[-1] if self.kinds else start

    def of_kind(self, kind: int) -> list[int]:
        """Return the positions of the records of a kind, in file order."""
        return [i for i, found in enumerate(self.kinds) if found == kind]


_index = msgspec.msgpack.Decoder(Index)


def pack_index(table: Table, header: tuple[int, int], at: int) -> bytes:
    """Return the payload of an index record that is to begin at byte `at`."""
    columns = zlib.compress(b"".join(_little(column).tobytes() for column in _columns(table)), 6)
    # `at` is written by hand: a MessagePack library would choose its shortest form, and the reader counts on nine bytes.
    head = msgspec.msgpack.encode({"header": header, "count": len(table), "columns": columns, "at": 0})
    return head[:-1] + b"\xcf" + at.to_bytes(8, "big")


def unpack_index(payload: bytes) -> tuple[Table, tuple[int, int]]:
    """Return the table and the header's (bytes, crc32). Raises BadRecord for anything that is no index."""
    vet(payload)
    try:
        found = _index.decode(payload)
    except DECODING as error:
        raise BadRecord(f"its index cannot be read ({error})") from None
    if not 0 <= found.count <= MAX_RECORDS:
        raise BadRecord(f"its index claims {found.count} records")
    machine = zlib.decompressobj()
    try:
        data = machine.decompress(found.columns, found.count * 21 + 1)
    except zlib.error as error:
        raise BadRecord(f"its index cannot be inflated ({error})") from None
    if len(data) != found.count * 21:
        raise BadRecord(f"its index claims {found.count} records and lists another number")
    table, at = Table(), 0
    for column in _columns(table):
        size = found.count * column.itemsize
        column.frombytes(data[at : at + size])
        if sys.byteorder == "big":
            column.byteswap()
        at += size
    return table, found.header


def _columns(table: Table) -> tuple[array[int], ...]:
    return table.kinds, table.ticks, table.offsets, table.sizes


def _little(column: array[int]) -> array[int]:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column
