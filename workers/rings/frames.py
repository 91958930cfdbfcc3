"""What travels in a ring: the frame as a reader gets it, and how a run of tokens is packed into a CHUNK.

A CHUNK's payload is `ntok` token byte lengths, then the UTF-8 text. A length is one byte; 255 is an escape and a little-endian u32
follows. The one thing that surprises: a length may be 0. A token whose bytes end inside a code point counts to the token that
completes it, so that every cut between two tokens is a cut between two code points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from workers.errors import RingError

__all__ = [
    "KIND_CHUNK",
    "KIND_EVENT",
    "KIND_MARK",
    "MAX_TOKENS",
    "Frame",
    "FrameReader",
    "FrameWriter",
    "pack_chunk",
    "split_chunk",
    "unpack_chunk",
]

KIND_CHUNK = 1
"""A run of tokens of one generation and channel. The one kind that does not wake a reader asleep for events."""
KIND_EVENT = 2
"""A MessagePack event."""
KIND_MARK = 3
"""A message that steers a live run and is never recorded."""

MAX_TOKENS = 65_535
"""Tokens in one chunk: `ntok` is a u16."""

_ESCAPE = 255


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One whole frame, out of the ring. Holds no reference to shared memory."""

    kind: int
    """KIND_CHUNK, KIND_EVENT or KIND_MARK; other values up to 255 travel too and count as events."""
    channel: int
    """Channel number of a chunk, 0 to 255."""
    ntok: int
    """Tokens in a chunk, 0 to 65,535."""
    tick: int
    """Tick it was written in."""
    generation: int
    """Generation of a chunk."""
    flags: int
    """The writer's own flags, below 2^28."""
    at: int
    """Virtual instant in tokens."""
    t_ns: int
    """Monotonic nanoseconds, from whatever epoch the writer counts."""
    seq: int
    """Number of the frame in its ring, modulo 2^32. An event in several frames has the number of its last."""
    payload: bytes
    """The bytes written."""
    position: int
    """Byte position of the frame's end; where the next one begins, and what `seek` takes."""


class FrameWriter(Protocol):
    """The writing end, in shared memory (RingWriter) or in a list (ListWriter)."""

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
    ) -> None: ...

    def hold(self) -> None: ...

    def show(self) -> None: ...

    def heartbeat(self) -> None: ...

    def close(self) -> None: ...


class FrameReader(Protocol):
    """The reading end, in shared memory (RingReader) or in a list (ListReader)."""

    @property
    def lost(self) -> int: ...

    @property
    def lag(self) -> int: ...

    @property
    def cursor(self) -> int: ...

    @property
    def writer_alive(self) -> bool: ...

    @property
    def closed(self) -> bool: ...

    @property
    def aborted(self) -> bool: ...

    def poll(self, max_bytes: int = ..., publish: bool = True) -> list[Frame]: ...

    def publish(self, upto: Frame | int | None = None) -> None: ...

    def seek(self, position: int) -> None: ...

    def wait(self, timeout: float | None, events_only: bool = False) -> bool: ...

    def close(self) -> None: ...


def pack_chunk(text: str, lengths: Sequence[int]) -> bytes:
    """Return the payload of a CHUNK frame: `lengths` are the bytes of each token in UTF-8, and together those of `text`.

    Raises RingError if they are not, or if one is negative.
    """
    body = text.encode()
    if sum(lengths) != len(body):
        raise RingError(f"a chunk of {len(body)} bytes was given token lengths of {sum(lengths)} bytes in all; the lengths must add up to the text")
    try:
        head = bytes(lengths)
    except ValueError:
        return _pack_long(lengths) + body
    if _ESCAPE in head:
        return _pack_long(lengths) + body
    return head + body


def _pack_long(lengths: Sequence[int]) -> bytes:
    out = bytearray()
    for length in lengths:
        if length < 0:
            raise RingError(f"token length {length} is negative; a token has 0 bytes or more")
        if length < _ESCAPE:
            out.append(length)
        else:
            out.append(_ESCAPE)
            out += length.to_bytes(4, "little")
    return bytes(out)


def unpack_chunk(payload: bytes, ntok: int) -> tuple[str, tuple[int, ...]]:
    """Return text and token byte lengths of a CHUNK frame's payload.

    Raises RingError if the payload is shorter than its lengths say, longer, or no UTF-8.
    """
    head = payload[:ntok]
    if _ESCAPE in head:
        lengths, begin = _unpack_long(payload, ntok)
    else:
        lengths, begin = tuple(head), ntok
    if begin + sum(lengths) != len(payload):
        raise RingError(f"a chunk of {ntok} tokens says it has {begin + sum(lengths)} bytes and has {len(payload)}; its writer packed it wrongly")
    try:
        return payload[begin:].decode(), lengths
    except UnicodeDecodeError as error:
        raise RingError(f"a chunk's text is no UTF-8 at byte {error.start}; whole code points were expected") from error


def _unpack_long(payload: bytes, ntok: int) -> tuple[tuple[int, ...], int]:
    lengths: list[int] = []
    place = 0
    for _ in range(ntok):
        if place >= len(payload):
            raise RingError(f"a chunk of {ntok} tokens ends after the length of {len(lengths)}; its writer packed it wrongly")
        length = payload[place]
        place += 1
        if length == _ESCAPE:
            length = int.from_bytes(payload[place : place + 4], "little")
            place += 4
        lengths.append(length)
    return tuple(lengths), place


def split_chunk(text: str, lengths: Sequence[int], *, max_bytes: int, max_tokens: int = MAX_TOKENS) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield (text, lengths) pieces that each pack into at most `max_bytes` of payload and `max_tokens` tokens.

    Cuts only between tokens; a single token longer than `max_bytes` stays whole (the ring then carries it in several frames).
    Most chunks are one piece, and come back as given.
    """
    # Five bytes is the dearest a length can be.
    if len(lengths) <= max_tokens and 4 * len(text) + 5 * len(lengths) <= max_bytes:
        yield text, lengths
        return
    body = text.encode()
    begin = first = end = cost = 0
    for number, length in enumerate(lengths):
        price = length + (1 if length < _ESCAPE else 5)
        if number > first and (cost + price > max_bytes or number - first >= max_tokens):
            yield body[begin:end].decode(), lengths[first:number]
            begin, first, cost = end, number, 0
        end += length
        cost += price
    yield body[begin:end].decode(), lengths[first:]
