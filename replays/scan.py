"""Finding the records of a replay: by its last index, or by walking the file and stepping over what is damaged.

The one thing that surprises: an index is trusted only for where to look. Every record is checked against its own checksum when it is
read, so an index that lies costs records that cannot be found, and never shows one that is not there.
"""

from __future__ import annotations

import os
import stat
import threading
import zlib
from typing import Any

import msgpack  # type: ignore[import-untyped]
import msgspec

from replays import events as ev
from replays.compare import brief
from replays.errors import ReplayError
from replays.format import (
    FORMAT,
    HEAD_BYTES,
    KIND_INDEX,
    MARK_BYTES,
    MAX_HEADER,
    MAX_PAYLOAD,
    VERSION,
    BadRecord,
    Head,
    ShortRecord,
    inflate,
    parse_head,
    record_crc,
    too_deep,
    vet,
)
from replays.payload import DECODING, Table, unpack_index

__all__ = ["Found", "Header", "ReplayWarning", "Source", "find_records", "read_header", "read_record", "walk"]

_WINDOW = 1 << 20
MAX_WARNINGS = 200


class ReplayWarning(msgspec.Struct, frozen=True):
    """Something in a file that could not be used, and where."""

    offset: int
    """Byte of the file where it begins."""
    text: str

    def __str__(self) -> str:
        return self.text


class Source:
    """A file opened for reading at any place, from any thread. Only regular files: a pipe or device could be without end."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            # Without O_NONBLOCK opening a named pipe would wait for a writer.
            fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ReplayError(f"{self.path or repr(self.path)}: cannot be opened ({reason}); give the path of a replay (.rtr) file") from None
        self._fd = fd
        self._lock = threading.Lock()
        about = os.fstat(fd)
        self.size = about.st_size
        if not stat.S_ISREG(about.st_mode):
            self.close()
            raise ReplayError(f"{self.path}: is no regular file; give the path of a replay (.rtr) file")

    def read(self, offset: int, count: int) -> bytes:
        """Return up to `count` bytes from `offset` on; fewer at the end of the file."""
        try:
            with self._lock:
                os.lseek(self._fd, offset, os.SEEK_SET)
                data = os.read(self._fd, count)
                while 0 < len(data) < count:
                    more = os.read(self._fd, count - len(data))
                    if not more:
                        break
                    data += more
                return data
        except (OSError, OverflowError) as error:
            raise ReplayError(f"{self.path}: cannot be read at byte {offset} ({error}); copy the file and try the copy") from None

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._fd

    def close(self) -> None:
        """Close the file; again is no error."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Header(msgspec.Struct, frozen=True):
    """The first object of a file."""

    episode: ev.Episode
    version: int
    data: dict[Any, Any]
    """The header map as it stands, fields of newer versions included."""
    size: int
    """Its bytes; the first record begins there."""
    crc: int


def read_header(source: Source) -> Header:
    """Return the header. Raises ReplayError, in one sentence, for anything that is no replay or a newer one."""
    path = source.path
    no_replay = f"{path}: is no rtdesk replay"
    instead = "give a file that rtdesk has recorded (.rtr)"
    data = source.read(0, 1 << 16)
    if not data:
        raise ReplayError(f"{path}: is empty, expected a replay, which begins with a MessagePack map; {instead}")
    if not (0x80 <= data[0] < 0x90 or data[0] in (0xDE, 0xDF)):
        raise ReplayError(f"{no_replay}: it begins with byte {data[0]:#04x}, expected a MessagePack map with format {FORMAT!r}; {instead}")
    size = _first_object(data)
    if size is None and source.size > len(data):
        data = source.read(0, MAX_HEADER)
        size = _first_object(data)
    if size is None:
        held = f"in its first {MAX_HEADER} bytes" if source.size > MAX_HEADER else f"(the file has {source.size} bytes)"
        raise ReplayError(f"{no_replay}: its header map is cut short or does not end {held}; {instead}")
    data = data[:size]
    try:
        vet(data)
        found = msgspec.msgpack.decode(data)
    except (BadRecord, *DECODING) as error:
        raise ReplayError(f"{no_replay}: its header map cannot be read ({error}); {instead}") from None
    if found.get("format") != FORMAT:
        raise ReplayError(f"{no_replay}: its header has format {brief(found.get('format'))}, expected {FORMAT!r}; {instead}")
    version = found.get("version")
    if type(version) is not int or version < 1:
        raise ReplayError(f"{no_replay}: its header has version {brief(version)}, expected a whole number from 1 to {VERSION}; {instead}")
    if version > VERSION:
        raise ReplayError(f"{path}: was written by a newer rtdesk (replay version {version}, this one reads up to {VERSION}); update rtdesk to open it")
    try:
        episode = msgspec.convert(found, ev.Episode)
    except DECODING as error:
        raise ReplayError(f"{path}: its header is not as replay version {version} has it ({error}); restore it from a copy") from None
    if too_deep(found):
        raise ReplayError(f"{path}: its header nests too deep; {instead}")
    return Header(episode, version, found, size, zlib.crc32(data))


def _first_object(data: bytes) -> int | None:
    """Return the length of the MessagePack object `data` begins with, None if it does not end there. Skips; makes no object."""
    unpacker = msgpack.Unpacker(max_buffer_size=MAX_HEADER)
    unpacker.feed(data)
    try:
        unpacker.skip()
    except (msgpack.UnpackException, ValueError):
        return None
    return int(unpacker.tell())


def read_record(source: Source, offset: int, size: int) -> tuple[Head, bytes]:
    """Return the head and inflated payload of the record that stands at `offset`. Raises BadRecord if none of that size does."""
    data = source.read(offset, size)
    try:
        head = parse_head(data)
    except ShortRecord:
        raise BadRecord("it is cut short") from None
    if head.total != size or len(data) != size:
        raise BadRecord(f"it is cut short (expected {head.total} bytes, found {len(data)})")
    stored = data[head.start :]
    if record_crc(head.kind, head.tick, head.codec, stored) != head.crc:
        raise BadRecord("its checksum does not match its content")
    return head, inflate(head.codec, stored)


class Found(msgspec.Struct):
    """Where the records of a file are."""

    table: Table
    warnings: list[ReplayWarning]
    closed: bool
    """Whether the file ends with an index, as a recorder that was not killed leaves it."""
    end: int
    """Where the last whole record ends; less than the file's size if its tail is torn."""
    header: tuple[int, int]
    """(bytes, crc32) the header had when it was written; as it is now where no index tells."""


def find_records(source: Source, header: Header) -> Found:
    """Return where the records are: from the index the file ends with, else by walking it."""
    found = _by_index(source, header)
    return found if found is not None else walk(source, header)


def _by_index(source: Source, header: Header) -> Found | None:
    tail = source.read(max(header.size, source.size - 9), 9)
    if len(tail) < 9 or tail[0] != 0xCF:
        return None
    at = int.from_bytes(tail[1:], "big")
    if not header.size <= at < source.size - HEAD_BYTES // 2:
        return None
    try:
        head = parse_head(source.read(at, HEAD_BYTES))
        if head.kind != KIND_INDEX or at + head.total != source.size:
            return None
        _, payload = read_record(source, at, head.total)
        table, about = unpack_index(payload)
        if not _orderly(table, header.size, at):
            return None
        gaps = _gaps(table, header.size, at)
        table.add(KIND_INDEX, head.tick, at, head.total)
    except (BadRecord, ShortRecord):
        return None
    # A file that was opened for recording and left at once ends with the index it began with.
    closed = len(table) > 1
    warnings = _header_warning(header, about) + gaps + ([] if closed else [_not_closed(source.size)])
    return Found(table, warnings, closed, source.size, about)


def _orderly(table: Table, start: int, end: int) -> bool:
    """Return whether the records of an index follow each other between two places of the file."""
    at = start
    for offset, size in zip(table.offsets, table.sizes):
        if offset < at or not 0 < size <= min(end - offset, MAX_PAYLOAD + HEAD_BYTES):
            return False
        at = offset + size
    return True


def _gaps(table: Table, start: int, end: int) -> list[ReplayWarning]:
    """Return a warning for each stretch the index lists no record for: it was damaged before the index was written."""
    warnings: list[ReplayWarning] = []
    at = start
    for offset, size in zip((*table.offsets, end), (*table.sizes, 0)):
        if offset != at and len(warnings) < MAX_WARNINGS:
            warnings.append(ReplayWarning(at, f"bytes {at} to {offset - 1} are damaged and hold no whole record; skipped"))
        at = offset + size
    return warnings


def _header_warning(header: Header, about: tuple[int, int]) -> list[ReplayWarning]:
    if about == (header.size, header.crc):
        return []
    return [ReplayWarning(0, "the header (from byte 0) does not match its checksum: game, seed, options or texts may be wrong")]


def walk(source: Source, header: Header) -> Found:
    """Return where the records are by walking the whole file, checking each record's checksum, inflating none.

    After damage it goes on at the next mark that begins a whole record. Raises ReplayError for a file so damaged that looking for
    records would take more than a few passes over it.
    """
    table = Table()
    warnings: list[ReplayWarning] = []
    window = _Window(source)
    # A file full of marks that each claim megabytes would cost their product; a few passes are enough for honest damage.
    budget = 4 * source.size + (64 << 20)
    at, end = header.size, header.size
    reason, bad_from = "", -1
    about: tuple[int, int] | None = None
    while at < source.size:
        try:
            head, stored = _record_at(window, at)
        except BadRecord as error:
            if bad_from < 0:
                reason, bad_from = str(error), at
            if isinstance(error, _WrongSum):
                budget -= error.size
                if budget < 0:
                    raise ReplayError(f"{source.path}: is too damaged to be searched for records (byte {at}); restore it from a copy") from None
            at = window.find(MARK_BYTES, at + 1)
            continue
        if bad_from >= 0:
            _warn(warnings, bad_from, f"bytes {bad_from} to {at - 1} are damaged and were skipped: {reason}")
            bad_from = -1
        try:
            table.add(head.kind, head.tick, at, head.total)
            if head.kind == KIND_INDEX and about is None:
                about = unpack_index(inflate(head.codec, bytes(stored)))[1]
        except BadRecord as error:
            _warn(warnings, at, f"record at byte {at}: {error}")
        at += head.total
        end = at
    closed = len(table) > 0 and table.kinds[-1] == KIND_INDEX and len(table) > 1 and end == source.size
    if bad_from >= 0 and reason.startswith("is cut short"):
        _warn(warnings, bad_from, f"record at byte {bad_from} {reason}")
    elif bad_from >= 0:
        _warn(warnings, bad_from, f"bytes {bad_from} to {source.size - 1} are damaged: {reason}")
    elif not closed:
        warnings.append(_not_closed(end))
    elif not _index_fits(window, table):
        _warn(warnings, table.offsets[-1], f"the index at byte {table.offsets[-1]} does not fit the file: bytes before it were added or removed")
    about = about or (header.size, header.crc)
    return Found(table, _header_warning(header, about) + warnings, closed, end, about)


def _index_fits(window: _Window, table: Table) -> bool:
    """Return whether the index that ends the file lists the records a walk has found before it."""
    head, stored = _record_at(window, table.offsets[-1])
    try:
        listed, _ = unpack_index(inflate(head.codec, bytes(stored)))
    except BadRecord:
        return False
    return len(listed) == len(table) - 1 and listed.offsets == table.offsets[:-1] and listed.sizes == table.sizes[:-1]


def _not_closed(at: int) -> ReplayWarning:
    return ReplayWarning(at, f"no index at byte {at}, where the file ends: the recording was not closed")


def _warn(warnings: list[ReplayWarning], offset: int, text: str) -> None:
    if len(warnings) < MAX_WARNINGS:
        warnings.append(ReplayWarning(offset, text))


class _WrongSum(BadRecord):
    """A record whose checksum fails, and what it cost to find out."""

    def __init__(self, size: int) -> None:
        super().__init__("its checksum does not match its content")
        self.size = size


class _Window:
    """A sliding window over a source, so that a walk reads each byte once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._base = 0
        self._data = b""

    @property
    def size(self) -> int:
        return self._source.size

    def view(self, at: int, count: int) -> memoryview:
        """Return `count` bytes from `at` on, fewer at the end of the file."""
        if at < self._base or at + count > self._base + len(self._data):
            self._data = self._source.read(at, max(count, _WINDOW))
            self._base = at
        return memoryview(self._data)[at - self._base : at - self._base + count]

    def find(self, mark: bytes, at: int) -> int:
        """Return where `mark` stands at or after `at`; the file's size if nowhere."""
        while at < self.size:
            self.view(at, len(mark))
            place = self._data.find(mark, at - self._base)
            if place >= 0:
                return self._base + place
            # The mark may straddle the window's end.
            at = max(at + 1, self._base + len(self._data) - len(mark) + 1)
            if self._base + len(self._data) >= self.size:
                break
        return self.size


def _record_at(window: _Window, at: int) -> tuple[Head, memoryview]:
    """Return the head and stored payload of the record at `at`. Raises BadRecord if there is no whole, correct one."""
    left = window.size - at
    try:
        head = parse_head(window.view(at, min(HEAD_BYTES, left)))
    except ShortRecord:
        raise BadRecord(f"is cut short (found {left} bytes of its head)") from None
    if head.total > left:
        raise BadRecord(f"is cut short (expected {head.total} bytes, found {left})")
    stored = window.view(at, head.total)[head.start :]
    if record_crc(head.kind, head.tick, head.codec, stored) != head.crc:
        raise _WrongSum(head.total)
    return head, stored
