"""What lies around a response's body: chunked transfer, a stated length, compression. Pure and incremental.

The body is taken from the socket itself (see `wire`), so that one read gives all that has come, however many chunks the
server made of it, and a cancelled read can be told from an ended one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

__all__ = ["Dechunker", "FramingError", "Inflater", "Measured", "Transfer", "Unending", "inflater"]

_MAX_SIZE_LINE = 16_384
_MAX_CHUNK = 1 << 40
_PIECE = 1 << 20


class FramingError(ValueError):
    """The body is not framed or packed as its headers say."""


class Transfer(Protocol):
    """Takes what comes from the socket and gives the body's bytes."""

    @property
    def done(self) -> bool:
        """Whether the body is over by its own word."""

    @property
    def clean(self) -> bool:
        """Whether the end of the connection is an end of the body."""

    def feed(self, data: bytes) -> bytes: ...


class Unending:
    """A body that ends with its connection."""

    done = False
    clean = True

    def feed(self, data: bytes) -> bytes:
        return data


class Measured:
    """A body of a stated number of bytes."""

    clean = False

    def __init__(self, length: int) -> None:
        self._left = length

    @property
    def done(self) -> bool:
        return self._left <= 0

    def feed(self, data: bytes) -> bytes:
        data = data[: self._left]
        self._left -= len(data)
        return data


class Dechunker:
    """Chunked transfer coding (RFC 9112, section 7.1): size lines may have extensions, and trailers are skipped."""

    clean = False

    def __init__(self) -> None:
        self._tail = b""
        self._left = 0
        self._trailers = False
        self.done = False

    def feed(self, data: bytes) -> bytes:
        """Return the body bytes in `data`. Raises FramingError for a size that is none."""
        if self._tail:
            data = self._tail + data
            self._tail = b""
        out: list[bytes] = []
        at, size = 0, len(data)
        while at < size and not self.done:
            if self._left:
                piece = data[at : at + self._left]
                out.append(piece)
                self._left -= len(piece)
                at += len(piece)
                continue
            end = data.find(b"\n", at)
            if end < 0:
                self._tail = data[at:]
                if len(self._tail) > _MAX_SIZE_LINE:
                    raise FramingError("a chunk's size line does not end")
                break
            self._on_line(data[at:end].strip())
            at = end + 1
        return out[0] if len(out) == 1 else b"".join(out)

    def _on_line(self, line: bytes) -> None:
        if self._trailers:
            self.done = not line
        elif line:
            # An empty line here is the one that closes a chunk's data.
            digits = line.partition(b";")[0].strip()
            try:
                # int() takes signs and underscores, which no chunk size has.
                self._left = int(digits, 16) if digits.isalnum() else -1
            except ValueError:
                self._left = -1
            if not 0 <= self._left <= _MAX_CHUNK:
                self._left = 0
                raise FramingError(f"{digits[:20]!r} is no chunk size")
            self._trailers = self._left == 0


class Inflater:
    """gzip or deflate, a piece at a time; a small body that unpacks into a huge one never stands in memory whole."""

    def __init__(self, coding: str) -> None:
        self._gzip = coding in ("gzip", "x-gzip")
        self._head = b""
        self._unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS) if self._gzip else None

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` unpacks to. Raises FramingError if it is not packed so."""
        if self._unpacker is None:
            self._head = data = self._head + data
            if len(data) < 2:
                return
            # Some servers call the bare format deflate, without the two bytes of zlib header the standard asks for.
            header = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._unpacker = zlib.decompressobj(zlib.MAX_WBITS if header else -zlib.MAX_WBITS)
        while data:
            try:
                piece = self._unpacker.decompress(data, _PIECE)
            except zlib.error as error:
                raise FramingError(f"the compressed body is broken: {error}") from error
            data = self._unpacker.unconsumed_tail
            if piece:
                yield piece
            if self._unpacker.eof:
                data = self._unpacker.unused_data
                if not self._gzip:
                    return
                self._unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)


def inflater(content_encoding: str) -> Inflater | None:
    """Return what undoes a Content-Encoding, None for none. Raises FramingError for one we did not ask for and do not know."""
    coding = content_encoding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip", "deflate"):
        return Inflater(coding)
    raise FramingError(f"the body is packed as {coding[:40]!r}; plain, gzip and deflate are understood")
