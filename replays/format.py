"""The bytes of a replay file: one header map, then records, each a MessagePack array of six.

    file    header record record record ...                    a plain concatenation of MessagePack objects
    record  96  ce 00 52 54 4b  kind  tick  c4 04 crc  codec  payload
            |   |               |     |     |          |      bin: the payload as stored
            |   |               |     |     |          0 as is, 1 zlib
            |   |               |     |     4 bytes, little-endian crc32 over kind (u8), tick (u64 LE), codec (u8), stored payload
            |   the mark, always as uint32: with the byte before it, what a reader looks for after damage
            array of 6

The tick stands outside the payload, so an index is rebuilt without inflating anything. A record is whole or it is not there: its
length is compared with what is left of the file before it is read, and its checksum before it is believed.

The one thing that surprises: a well-formed payload of a few bytes can stand for gigabytes of objects (`80 80 80 ...` is one empty
dict a byte, and zlib packs a thousand such bytes into one), so three limits hold before any object is made: stored size, inflated
size and number of objects.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

import msgspec

from games.nesting import nests_deeper

__all__ = [
    "CODEC_RAW",
    "CODEC_ZLIB",
    "FORMAT",
    "HEAD_BYTES",
    "KEYFRAME_EVERY",
    "KIND_ANNOTATION",
    "KIND_INDEX",
    "KIND_KEYFRAME",
    "KIND_TICK",
    "MARK",
    "MARK_BYTES",
    "MAX_DEPTH",
    "MAX_EVENTS",
    "MAX_HEADER",
    "MAX_INFLATED",
    "MAX_OBJECTS",
    "MAX_PAYLOAD",
    "MAX_RECORDS",
    "VERSION",
    "BadRecord",
    "Head",
    "ShortRecord",
    "inflate",
    "keyframe_due",
    "pack_record",
    "parse_head",
    "record_crc",
    "too_deep",
    "vet",
    "weight",
]

FORMAT = "rtdesk.replay"
VERSION = 1
"""Goes up only when an old reader would misread a new file; added fields and kinds do not need it."""

MARK = 0x52544B
MARK_BYTES = b"\x96\xce\x00\x52\x54\x4b"
"""How every record begins."""

KIND_TICK, KIND_INDEX, KIND_KEYFRAME, KIND_ANNOTATION = range(4)
CODEC_RAW, CODEC_ZLIB = range(2)
KEYFRAME_EVERY = 32
"""Ticks from one keyframe to the next; more in a very long episode, see `keyframe_due`."""
KEYFRAME_SPARSE = 8192
"""Tick from which keyframes grow rarer."""

MAX_HEADER = 4 << 20
"""Bytes of the header map; it holds the fixed prompt texts once."""
MAX_PAYLOAD = 32 << 20
"""Bytes of one payload as stored. The largest tick seen in tests, 130,000 token events, has 10 MB."""
MAX_INFLATED = 32 << 20
"""Bytes of one payload after inflating."""
MAX_OBJECTS = 4_000_000
"""Objects in one payload; at some 70 bytes each this bounds what a hostile payload can make of itself to 300 MB."""
MAX_EVENTS = 500_000
"""Events in one payload; an ordinary one of 32 MiB has fewer. Finding out that one is none takes 10 us here."""
MAX_DEPTH = 64
"""Nesting of a snapshot, view or `meas`."""
MAX_RECORDS = 2_000_000
"""Records in one file: 18 hours of a game at 30 ticks a second."""

HEAD_BYTES = 44
"""The most bytes a record can have before its payload."""

_CRC_HEAD = struct.Struct("<BQB")
_U16, _U32, _U64 = struct.Struct(">H"), struct.Struct(">I"), struct.Struct(">Q")
_MAX_TICK = 2**64 - 1


class ShortRecord(Exception):
    """The bytes end inside the record's head."""


class BadRecord(Exception):
    """What stands here is no record, or one that does not hold what it promises; the text says why."""


class Head(NamedTuple):
    """A record's head, as found."""

    kind: int
    tick: int
    crc: int
    codec: int
    start: int
    """Where the payload begins, counted from the record's first byte."""
    size: int
    """Bytes of the payload as stored."""

    @property
    def total(self) -> int:
        """Bytes of the whole record."""
        return self.start + self.size


def keyframe_due(tick: int) -> bool:
    """Return whether a keyframe follows `tick`: every KEYFRAME_EVERY ticks, twice as rare whenever the episode has got twice as long.

    A keyframe carries a few characters for every tick before it, so an even spacing would make a file grow with the square of its ticks.
    32 and not 64: a screen folds what lies between, some 0.12 ms for a tick of 200 tokens, and 10 ms is all it has.
    """
    return (tick + 1) % (KEYFRAME_EVERY << (tick // KEYFRAME_SPARSE).bit_length()) == 0


def record_crc(kind: int, tick: int, codec: int, stored: bytes | memoryview) -> int:
    """Return the crc32 a record with this content must carry."""
    return zlib.crc32(stored, zlib.crc32(_CRC_HEAD.pack(kind, tick, codec)))


def pack_record(kind: int, tick: int, payload: bytes, *, compress: bool = True) -> bytes:
    """Return one record; the payload is deflated where that makes it smaller.

    Raises ValueError where a limit of this file would be passed: what no reader opens is not written.
    """
    if not 0 <= tick <= _MAX_TICK:
        raise ValueError(f"tick {tick} does not fit a record; ticks count from 0")
    if len(payload) > MAX_INFLATED:
        raise ValueError(f"{len(payload)} bytes in one record; at most {MAX_INFLATED} are allowed")
    codec, stored = CODEC_RAW, payload
    if compress and len(payload) > 64:
        # Level 6 takes 60 us for a tick of 200 tokens here; level 9 gains under 1 %.
        smaller = zlib.compress(payload, 6)
        if len(smaller) < len(payload):
            codec, stored = CODEC_ZLIB, smaller
    crc = record_crc(kind, tick, codec, stored).to_bytes(4, "little")
    return msgspec.msgpack.encode((MARK, kind, tick, crc, codec, stored))


def parse_head(data: bytes | memoryview, at: int = 0) -> Head:
    """Return the head of the record that begins at `data[at]`.

    Any of MessagePack's integer and bin forms is read except for the mark. Raises ShortRecord if `data` ends first and BadRecord if no
    record begins there. Nothing of the payload is touched.
    """
    here = bytes(data[at : at + HEAD_BYTES])
    if not here.startswith(MARK_BYTES):
        if MARK_BYTES.startswith(here):
            raise ShortRecord
        raise BadRecord("no record begins here")
    try:
        kind, next_at = _uint(here, 6)
        tick, next_at = _uint(here, next_at)
        if here[next_at] != 0xC4 or here[next_at + 1] != 4:
            raise BadRecord("its checksum is not 4 bytes")
        crc = int.from_bytes(here[next_at + 2 : next_at + 6], "little")
        codec, next_at = _uint(here, next_at + 6)
        form = here[next_at]
        if form == 0xC4:
            size, start = here[next_at + 1], next_at + 2
        elif form == 0xC5:
            size, start = _U16.unpack_from(here, next_at + 1)[0], next_at + 3
        elif form == 0xC6:
            size, start = _U32.unpack_from(here, next_at + 1)[0], next_at + 5
        else:
            raise BadRecord("its payload is not bytes")
    except (IndexError, struct.error):
        raise ShortRecord from None
    if kind > 255 or codec > 255:
        raise BadRecord(f"kind {kind} and codec {codec} must fit one byte each")
    if size > MAX_PAYLOAD:
        raise BadRecord(f"it claims {size} bytes; a record holds at most {MAX_PAYLOAD}")
    return Head(kind, tick, crc, codec, start, size)


def _uint(here: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned integer at `here[at]` and where the next object begins."""
    form = here[at]
    if form < 0x80:
        return form, at + 1
    if form == 0xCC:
        return here[at + 1], at + 2
    if form == 0xCD:
        return _U16.unpack_from(here, at + 1)[0], at + 3
    if form == 0xCE:
        return _U32.unpack_from(here, at + 1)[0], at + 5
    if form == 0xCF:
        return _U64.unpack_from(here, at + 1)[0], at + 9
    raise BadRecord("a number was expected in its head")


def inflate(codec: int, stored: bytes, *, limit: int = MAX_INFLATED) -> bytes:
    """Return the payload. Raises BadRecord for an unknown codec, broken zlib data, or more than `limit` bytes."""
    if codec == CODEC_RAW:
        if len(stored) > limit:
            raise BadRecord(f"it holds {len(stored)} bytes; at most {limit} are allowed")
        return stored
    if codec != CODEC_ZLIB:
        raise BadRecord(f"its codec {codec} is not known to this version")
    machine = zlib.decompressobj()
    try:
        data = machine.decompress(stored, limit + 1)
    except zlib.error as error:
        raise BadRecord(f"it cannot be inflated ({error})") from None
    if len(data) > limit:
        raise BadRecord(f"it inflates to more than {limit} bytes")
    if not machine.eof:
        raise BadRecord("its zlib data ends early")
    return data


_whole = msgspec.msgpack.Decoder(msgspec.Raw)
# Lead bytes of objects that cost memory; 0x00..0x7f are small integers, which Python shares.
_COSTLY = bytes(range(0x80, 0x100))


def vet(payload: bytes) -> None:
    """Raise BadRecord unless `payload` is one well-formed MessagePack object within the limits; no object of it is made."""
    # An upper bound at memory speed decides nearly every payload: text in another script may count as costly, hence the exact count.
    if len(payload) > MAX_OBJECTS and len(payload) - len(payload.translate(None, _COSTLY)) > MAX_OBJECTS:
        _count_objects(payload)
    try:
        _whole.decode(payload)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRecord(f"its MessagePack is malformed ({error})") from None


def weight(payload: bytes, foreign: int = 0) -> int:
    """Return about how many bytes of memory the objects of `payload` take, reckoned high; `foreign` of its bytes are text that is not ASCII.

    One byte may be a dict of 64, so a payload's own size says nothing about it.
    """
    costly = len(payload) - len(payload.translate(None, _COSTLY)) - foreign
    return len(payload) + 64 * max(0, costly)


def _count_objects(payload: bytes) -> None:
    """Raise BadRecord if more than MAX_OBJECTS objects stand in `payload`; stops as soon as it knows, or at the first malformed byte."""
    at, end, count = 0, len(payload), 0
    while at < end:
        form = payload[at]
        at += 1
        if form < 0x80:
            continue
        count += 1
        if count > MAX_OBJECTS:
            raise BadRecord(f"it holds more than {MAX_OBJECTS} objects")
        if 0xA0 <= form < 0xC0:
            at += form & 0x1F
        elif 0xC4 <= form < 0xE0:
            width, fixed = _SHAPE[form - 0xC4]
            if width:
                fixed += int.from_bytes(payload[at : at + width], "big") * (form in _SIZED)
                at += width
            at += fixed


# (bytes of the length that follows, bytes of fixed content) for 0xc4 .. 0xdf. Arrays and maps have a length but no content of their own.
_SHAPE = (
    *((1, 0), (2, 0), (4, 0)),  # bin 8, 16, 32
    *((1, 1), (2, 1), (4, 1)),  # ext 8, 16, 32
    *((0, 4), (0, 8)),  # float 32, 64
    *((0, 1), (0, 2), (0, 4), (0, 8)),  # uint
    *((0, 1), (0, 2), (0, 4), (0, 8)),  # int
    *((0, 2), (0, 3), (0, 5), (0, 9), (0, 17)),  # fixext
    *((1, 0), (2, 0), (4, 0)),  # str 8, 16, 32
    *((2, 0), (4, 0), (2, 0), (4, 0)),  # array, map
)
_SIZED = frozenset((0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xD9, 0xDA, 0xDB))


def too_deep(value: Any) -> bool:
    """Return whether lists and dicts nest in `value` by more than MAX_DEPTH levels."""
    return nests_deeper(value, MAX_DEPTH)
