"""A folder of results: `bench.json` (what was planned), `results.jsonl` (a line an episode), `replays/`.

    bench.json      replaced whole, by renaming; cells of earlier runs stay in it unless a newer one has their place
    results.jsonl   one line appended as each episode ends; a line without its line end was torn off by a kill and is cut off when
                    the next run begins
    replays/        a replay has its name only when it is whole
    .lock           held while a bench writes here; it goes with the process

The one thing that surprises: rows are never taken back. Which of them count is decided on reading: one a key, and of the keys those that
the plan names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rtdesk.bench.episode import PART
from rtdesk.bench.grid import MAX_EPISODES, Cell
from rtdesk.bench.rows import Row, decode_rows, encode_row
from workers.errors import ConfigError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

__all__ = ["PLAN", "REPLAYS", "ROWS", "Found", "Writer", "read_folder", "write_whole"]

PLAN = "bench.json"
ROWS = "results.jsonl"
REPLAYS = "replays"
LOCK = ".lock"
FORMAT = "rtdesk.bench"
VERSION = 1
MAX_BYTES = 1 << 31


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """`bench.json`."""

    format: str
    version: int
    cells: list[Cell]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder of results holds."""

    cells: list[Cell]
    rows: list[Row]
    """In the order they were written."""
    bad: int = 0
    """Lines that are no rows."""
    torn: bool = False
    """Whether the last line was torn off."""
    planned: bool = True
    """Whether there is a plan; without one nobody knows what is missing."""


def read_folder(folder: Path) -> Found:
    """Return plan and rows of a folder; raises ConfigError for a plan that is none. Neither file need be there."""
    cells: list[Cell] = []
    plan = folder / PLAN
    if plan.exists():
        try:
            file = msgspec.json.decode(_read(plan), type=_File)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ConfigError(f"{plan}: is no plan of a bench ({error}); give another folder") from None
        if file.format != FORMAT or file.version > VERSION:
            raise ConfigError(f"{plan}: is {file.format} version {file.version}, and this rtdesk reads {FORMAT} up to {VERSION}; use a newer rtdesk")
        cells = file.cells
        if sum(len(cell.seeds) * cell.samples for cell in cells) > MAX_EPISODES:
            raise ConfigError(f"{plan}: plans more than {MAX_EPISODES} episodes, which no bench does; give another folder")
    path = folder / ROWS
    data = _read(path) if path.exists() else b""
    rows, bad, whole = decode_rows(data)
    return Found(cells=cells, rows=rows, bad=bad, torn=whole < len(data), planned=plan.exists())


def _read(path: Path) -> bytes:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise ConfigError(f"{path}: is no regular file; give a folder that rtdesk bench has made")
        if about.st_size > MAX_BYTES:
            raise ConfigError(f"{path}: is larger than {MAX_BYTES} bytes; split it")
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the folder") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, whatever ends this process."""
    part = path.with_name(f"{path.name}.{os.getpid()}{PART}")
    try:
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


class Writer:
    """The one who writes into a folder of results; use it as a context. Raises ConfigError for a folder that is not to be had."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.replays = folder / REPLAYS
        try:
            # A bench that was killed early has left all of its own but the plan.
            ours = {LOCK, ROWS, REPLAYS}
            if folder.is_dir() and not (folder / PLAN).exists() and any(path.name not in ours and PART not in path.name for path in folder.iterdir()):
                raise ConfigError(f"{folder} is not empty and no folder of results; give -o a new one, or one that a bench has made")
            self.replays.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigError(f"{folder} cannot be written to ({error.strerror}); give -o another folder") from None
        try:
            self._take_lock()
            self.found = read_folder(folder)
            for left in (*folder.glob(f"*{PART}"), *self.replays.glob(f"*{PART}")):
                left.unlink(missing_ok=True)
            self._rows = os.open(folder / ROWS, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except BaseException:
            os.close(self._lock)
            raise
        if self.found.torn:
            data = os.pread(self._rows, os.fstat(self._rows).st_size, 0)
            os.ftruncate(self._rows, data.rfind(b"\n") + 1)

    def _take_lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"{self.folder} is being written by another bench; wait for it, or give -o another folder") from None
        except OSError:
            # A file system without locks: one bench a folder is then only a habit.
            return

    def plan(self, cells: Sequence[Cell]) -> None:
        """Write the plan: these cells, and those of earlier runs that none of them takes the place of."""
        merged: dict[tuple[Any, ...], Cell] = {cell.place: cell for cell in self.found.cells}
        for cell in cells:
            held = merged.get(cell.place)
            if held is not None and held.config == cell.config:
                cell = msgspec.structs.replace(cell, seeds=sorted({*held.seeds, *cell.seeds}), samples=max(held.samples, cell.samples))
            merged[cell.place] = cell
        data = msgspec.json.format(msgspec.json.encode(_File(format=FORMAT, version=VERSION, cells=list(merged.values()))), indent=1)
        write_whole(self.folder / PLAN, data + b"\n")

    def row(self, row: Row) -> None:
        """Append a row. Raises OSError, which names the file, with the file as it was, if it cannot be written whole."""
        data = encode_row(row)
        size = os.fstat(self._rows).st_size
        written = 0
        try:
            while written < len(data):
                written += os.write(self._rows, data[written:])
        except OSError as error:
            os.ftruncate(self._rows, size)
            error.filename = str(self.folder / ROWS)
            raise

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        for left in self.replays.glob(f"*{PART}"):
            left.unlink(missing_ok=True)
        os.close(self._rows)
        os.close(self._lock)
