"""Writing a replay: one record a tick, each handed to the system whole before `tick` returns.

Append-only: a killed recorder leaves at most one torn record at the end, which `resume` cuts off; a full disk leaves the ticks written
before. The one thing that surprises: nothing is buffered here, so what `tick` has returned from survives the death of this process
(not of the machine: the file is synced to the disk once, by `close`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import zlib
from collections.abc import Callable, Sequence
from types import ModuleType, TracebackType
from typing import Any

import msgspec

from replays import events as ev
from replays.errors import ReplayError
from replays.format import (
    FORMAT,
    KIND_ANNOTATION,
    KIND_INDEX,
    KIND_KEYFRAME,
    KIND_TICK,
    MAX_HEADER,
    MAX_RECORDS,
    VERSION,
    BadRecord,
    pack_record,
)
from replays.payload import Table, pack_events, pack_index, pack_state, unpack_events
from replays.scan import Source, read_header, read_record, walk

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, which only reads replays.
    fcntl = None

__all__ = ["ReplayWriter", "check_target", "pack_header"]

_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def pack_header(episode: ev.Episode) -> bytes:
    """Return the header map of a file. Raises ValueError or TypeError for what cannot be recorded."""
    data = msgspec.msgpack.encode({"format": FORMAT, "version": VERSION, **ev.to_map(episode)}, enc_hook=ev.plain)
    if len(data) > MAX_HEADER:
        raise ValueError(f"the header has {len(data)} bytes; at most {MAX_HEADER} are allowed")
    return data


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise ReplayError, in one sentence, unless a new replay can be created at `path`; called before a run starts.

    Tries it for real, by the very call `ReplayWriter.create` uses, and leaves nothing behind.
    """
    os.close(_create(os.fspath(path)))
    os.unlink(path)


def _create(path: str) -> int:
    """Return a descriptor of a file that did not exist before."""
    other = "give another path with --record FILE, or --no-record"
    try:
        # O_EXCL refuses a link of that name too, whether or not it leads anywhere.
        return os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o644)
    except ValueError as error:
        raise ReplayError(f"{path!r}: cannot be the path of a replay ({error}); {other}") from None
    except OSError as error:
        folder = os.path.dirname(path) or "."
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            mode = 0
        if not path:
            text = "the replay's path is empty"
        elif stat.S_ISLNK(mode):
            text = f"{path}: is a symbolic link, and a replay is never written through one"
        elif stat.S_ISDIR(mode):
            text = f"{path}: is a folder, expected the path of a new file"
        elif mode:
            text = f"{path}: already exists, and a replay never overwrites a file"
        elif not os.path.exists(folder):
            text = f"{path}: its folder {folder} does not exist; create it"
        elif not os.path.isdir(folder):
            text = f"{path}: {folder} is a file, not a folder"
        else:
            text = f"{path}: a file cannot be created in {folder} ({error.strerror})"
        raise ReplayError(f"{text}; {other}") from None


class ReplayWriter:
    """One replay file, open for appending. Use `create` or `resume`; `close`, or leaving the `with` block, writes the index."""

    def __init__(self, fd: int, path: str, header: tuple[int, int], table: Table) -> None:
        self._fd = fd
        self._header = header
        self._table = table
        self._broken = ""
        self._named = self._names() > 0
        # Whether this file system counts names; then a count of none says that the file was deleted.
        self.path = path
        self.size = table.end(header[0])
        """Bytes written, all of them whole records."""
        self.last_tick: int | None = None
        """The last tick in the file: a restarted recorder goes on with the next."""
        self.next_seq = 0
        """One more than the largest `seq` in the last tick of the file, or in the header; set by `create` and `resume` only."""
        self.ended = False
        """Whether the file holds an `end` event."""

    @classmethod
    def create(cls, path: str | os.PathLike[str], episode: ev.Episode) -> ReplayWriter:
        """Return a writer of a new file, header written. Raises ReplayError if anything is at `path`, a link included."""
        try:
            header = pack_header(episode)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ReplayError(f"{os.fspath(path)}: the header cannot be recorded: {error}; what an agent, a game or a backend of yours puts there must be plain values") from None
        writer = cls.copy_header(path, header, (len(header), zlib.crc32(header)))
        writer.next_seq = episode.seq + 1
        return writer

    @classmethod
    def copy_header(cls, path: str | os.PathLike[str], header: bytes, about: tuple[int, int]) -> ReplayWriter:
        """Return a writer of a new file that begins with a header as packed before; `about` is its (bytes, crc32) when it was made."""
        name = os.fspath(path)
        fd = _create(name)
        writer = cls(fd, name, about, Table())
        writer.size = 0
        try:
            writer._lock()
            writer._write(header, "the header")
            writer.size = len(header)
            # An index of nothing, for the checksum of the header in it.
            writer._append_index()
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        return writer

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> ReplayWriter:
        """Return a writer that goes on with an existing file; a record its end was torn out of is cut off first.

        Raises ReplayError if it is no replay, a symbolic link, not writable, or being recorded by another process.
        """
        name = os.fspath(path)
        source = Source(name)
        try:
            header = read_header(source)
            try:
                fd = os.open(name, _FLAGS)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise ReplayError(f"{name}: is a symbolic link, and a replay is never written through one; give the file it leads to") from None
                raise ReplayError(f"{name}: cannot be written to ({error.strerror}); copy it to a place where you may write") from None
            writer = cls(fd, name, (header.size, header.crc), Table())
            try:
                if not os.path.sameopenfile(fd, source.fileno()):
                    raise ReplayError(f"{name}: was replaced while it was being opened; try again")
                writer._lock()
                found = walk(source, header)
                # The checksum the header had when it was written, not the one it has now: damage stays visible.
                writer._header = found.header
                writer._table = found.table
                writer.size = found.end
                if found.end < source.size:
                    os.ftruncate(fd, found.end)
                writer._take_up(source, header.episode.seq)
            except BaseException:
                os.close(fd)
                raise
        finally:
            source.close()
        return writer

    def tick(self, tick: int, events: Sequence[ev.Event]) -> None:
        """Append a tick's events, in canonical order and with their `seq`.

        Raises ReplayError if the disk is full, an event cannot be recorded, or the file already holds this tick; the file then ends as
        it did before, and the call may be repeated.
        """
        if self.ended:
            raise ReplayError(f"{self.path}: tick {tick} comes after the end of the episode; record another episode in another file")
        if self.last_tick is not None and tick <= self.last_tick:
            raise ReplayError(f"{self.path}: tick {tick} is already there, the file ends with tick {self.last_tick}; go on with the next")
        self._append_events(KIND_TICK, tick, events)
        self.last_tick = tick

    def end(self, event: ev.End) -> None:
        """Append the `end` event as a record of its own. Raises ReplayError like `tick`."""
        self._append_events(KIND_TICK, event.tick, [event])
        self.ended = True

    def keyframe(self, tick: int, state: dict[str, Any]) -> None:
        """Append the reducer's state after the events of every tick up to and including `tick`. Raises ReplayError like `tick`."""
        self._append(KIND_KEYFRAME, tick, lambda: pack_state(state))

    def annotate(self, bookmarks: Sequence[ev.Bookmark]) -> None:
        """Append bookmarks, one record each. Raises ReplayError like `tick`."""
        for bookmark in bookmarks:
            self._append_events(KIND_ANNOTATION, bookmark.tick, [bookmark])

    def copy(self, kind: int, tick: int, record: bytes) -> None:
        """Append a record as it stood in another file. Raises ReplayError like `tick`."""
        self._append_record(kind, tick, record)

    def close(self) -> None:
        """Write the index and close the file; again is no error. Raises ReplayError if the index does not fit on the disk."""
        if self._fd < 0:
            return
        try:
            if not self._broken:
                self._append_index()
            # Some file systems cannot sync; what they hold is then as safe as they make it.
            with contextlib.suppress(OSError):
                os.fsync(self._fd)
        finally:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> ReplayWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.close()
        else:
            # The first failure is the one to tell; a full disk fails twice.
            with contextlib.suppress(ReplayError):
                self.close()

    def _take_up(self, source: Source, seq: int) -> None:
        """Learn from the file how far it got."""
        self.next_seq = seq + 1
        table = self._table
        # The last two: `end` is a record of its own.
        for i in table.of_kind(KIND_TICK)[-2:]:
            self.last_tick = table.ticks[i]
            try:
                _, payload = read_record(source, table.offsets[i], table.sizes[i])
                events, _ = unpack_events(payload, table.ticks[i])
            except BadRecord:
                continue
            self.next_seq = max([self.next_seq, *(event.seq + 1 for event in events)])
            self.ended = self.ended or any(isinstance(event, ev.End) for event in events)

    def _append_events(self, kind: int, tick: int, events: Sequence[ev.Event]) -> None:
        self._append(kind, tick, lambda: pack_events(events))

    def _append(self, kind: int, tick: int, payload: Callable[[], bytes], *, compress: bool = True) -> None:
        try:
            record = pack_record(kind, tick, payload(), compress=compress)
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            raise ReplayError(f"{self.path}: tick {tick} cannot be recorded: {error}; what a game or a backend of yours puts there must be plain values") from None
        self._append_record(kind, tick, record)

    def _append_record(self, kind: int, tick: int, record: bytes) -> None:
        if len(self._table) >= MAX_RECORDS:
            raise ReplayError(f"{self.path}: is full: it holds {MAX_RECORDS} records; go on in another file")
        self._write(record, f"tick {tick}")
        self._table.add(kind, tick, self.size, len(record))
        self.size += len(record)

    def _append_index(self) -> None:
        payload = pack_index(self._table, self._header, self.size)
        self._append(KIND_INDEX, self.last_tick or 0, lambda: payload, compress=False)

    def _write(self, data: bytes, what: str) -> None:
        """Write all of `data` at the end of the file, or leave the file as it was and raise ReplayError."""
        if self._fd < 0:
            raise ReplayError(f"{self.path}: is closed; {what} was not recorded")
        if self._broken:
            raise ReplayError(self._broken)
        try:
            os.lseek(self._fd, self.size, os.SEEK_SET)
            left = memoryview(data)
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError as error:
            held = "no tick" if self.last_tick is None else f"the ticks up to {self.last_tick}"
            text = f"{self.path}: {what} could not be written ({error.strerror}); the replay holds {held}; free space, or record elsewhere with --record FILE"
            try:
                os.ftruncate(self._fd, self.size)
            except OSError:
                # Half a record stands at the end, and nothing may follow it.
                self._broken = text
            raise ReplayError(text) from None
        if self._named and self._names() == 0:
            # Writing works as before, but nobody will ever read it.
            self._broken = f"{self.path}: was deleted while it was being recorded, and what is recorded is lost with it; record elsewhere with --record FILE"
            raise ReplayError(self._broken)

    def _names(self) -> int:
        """Return how many names the file has; 0 where it cannot be asked any more."""
        try:
            return os.fstat(self._fd).st_nlink
        except OSError:
            return 0

    def _lock(self) -> None:
        """Keep a second writer out. The lock goes with the process, so it never outlives a crash."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ReplayError(f"{self.path}: is being recorded by another process; wait until that run is over") from None
        except OSError:
            # A file system without locks: one writer a file is then only a habit.
            return
