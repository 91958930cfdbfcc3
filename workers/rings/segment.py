"""One ring's memory: made anonymous, mapped, and its header as named properties.

The one thing that surprises: the pages are taken when the ring is made. A segment that is merely sized succeeds on any machine and
ends the process with SIGBUS at the first write the memory does not hold.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import mmap
import os
from pathlib import Path
from types import TracebackType

from workers.errors import RingError
from workers.rings.layout import (
    HEADER_BYTES,
    MAGIC,
    MAX_SLOTS,
    MIN_CAPACITY,
    RING_CRC,
    S_CURSOR,
    S_LOST,
    S_PID,
    SLOT_WORDS,
    STATE_ABORTED,
    STATE_OPEN,
    VERSION,
    W_CAPACITY,
    W_COUNT,
    W_EPOCH,
    W_FLAGS,
    W_HEARTBEAT,
    W_INTENT,
    W_MAGIC,
    W_PID,
    W_SLOTS,
    W_START,
    W_STATE,
    W_TAIL,
    W_VERSION,
)

__all__ = ["Segment", "available_bytes", "create_segment", "process_start"]

_POPULATED = {"flags": mmap.MAP_SHARED | mmap.MAP_POPULATE} if hasattr(mmap, "MAP_POPULATE") else {}


class Segment:
    """A mapped ring. Views are released before the mapping is closed, else the mapping refuses to go."""

    __slots__ = ("capacity", "map", "name", "octets", "words")

    def __init__(self, fd: int, name: str = "ring") -> None:
        """Map `fd`, which stays the caller's. Raises RingError if it is no ring of this layout."""
        size = os.fstat(fd).st_size
        if size <= HEADER_BYTES:
            raise RingError(f"{name}: a segment of {size} bytes is no ring; at least {HEADER_BYTES + MIN_CAPACITY} were expected")
        self.name = name
        # All pages at once: one at a time, each costs the writer or the reader that meets it first a microsecond.
        self.map = mmap.mmap(fd, size, **_POPULATED)
        self.octets = memoryview(self.map)
        self.words = self.octets[:HEADER_BYTES].cast("Q")
        # The mapping may be rounded up to whole pages, so only the header knows the capacity.
        self.capacity = self.words[W_CAPACITY]
        magic, version = self.words[W_MAGIC], self.words[W_VERSION]
        if magic != MAGIC or version != VERSION or not 0 < self.capacity <= size - HEADER_BYTES:
            capacity = self.capacity
            self.close()
            raise RingError(
                f"{name}: no ring of layout {VERSION} (magic {magic:#x}, layout {version}, capacity {capacity} in {size} bytes); "
                "writer and readers must come from the same rtdesk"
            )

    @property
    def state(self) -> int:
        """STATE_OPEN, STATE_CLOSED or STATE_ABORTED."""
        return self.words[W_STATE]

    @property
    def aborted(self) -> bool:
        """Whether the desk found the writer dead."""
        return self.words[W_STATE] == STATE_ABORTED

    @property
    def tail(self) -> int:
        """Position up to which frames may be read."""
        return self.words[W_TAIL]

    @property
    def intent(self) -> int:
        """Position up to which the writer may be writing now."""
        return self.words[W_INTENT]

    @property
    def frames(self) -> int:
        """Frames written, as of the writer's last sixteenth of the ring, heartbeat, batch or close."""
        return self.words[W_COUNT]

    @property
    def epoch(self) -> int:
        """Writers that attached so far; 0 before the first."""
        return self.words[W_EPOCH]

    @property
    def heartbeat_ns(self) -> int:
        """Monotonic instant of the writer's last sign of life; 0 before the first."""
        return self.words[W_HEARTBEAT]

    @property
    def owner_pid(self) -> int:
        """Pid of the last writer that attached; 0 before the first."""
        return self.words[W_PID]

    @property
    def crc(self) -> bool:
        """Whether every frame has a crc."""
        return bool(self.words[W_FLAGS] & RING_CRC)

    @property
    def writer_alive(self) -> bool:
        """Whether the last writer has neither closed nor died. False before the first attaches. Reads /proc: not for hot loops."""
        words = self.words
        if not words[W_EPOCH] or words[W_STATE] != STATE_OPEN:
            return False
        start = process_start(words[W_PID])
        return start is not None and start == words[W_START]

    def cursor(self, slot: int) -> int:
        """Public cursor of a slot."""
        return self.words[self._slot(slot) + S_CURSOR]

    def lag(self, slot: int) -> int:
        """Bytes between a slot's public cursor and `tail`."""
        return self.words[W_TAIL] - self.cursor(slot)

    def lost_bytes(self, slot: int) -> int:
        """Bytes a slot's readers have lost to being lapped."""
        return self.words[self._slot(slot) + S_LOST]

    def reader_pid(self, slot: int) -> int:
        """Pid of the last reader that took the slot; 0 if none did."""
        return self.words[self._slot(slot) + S_PID]

    def _slot(self, slot: int) -> int:
        if not 0 <= slot < MAX_SLOTS:
            raise RingError(f"{self.name}: reader slot {slot} does not exist; slots are 0 to {MAX_SLOTS - 1}")
        return W_SLOTS + slot * SLOT_WORDS

    def close(self) -> None:
        """Unmap. Safe to call twice."""
        self.words.release()
        self.octets.release()
        self.map.close()

    def __enter__(self) -> Segment:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def create_segment(capacity: int, *, crc: bool, name: str = "ring") -> int:
    """Return the descriptor of a new, anonymous, empty ring whose memory is really there.

    Raises RingError if `capacity` is no power of two of at least 512, or if there is not that much memory.
    """
    if capacity < MIN_CAPACITY or capacity & (capacity - 1):
        usable = max(MIN_CAPACITY, 1 << max(capacity - 1, 1).bit_length())
        raise RingError(f"{name}: ring capacity {capacity} is no power of two of at least {MIN_CAPACITY}; try {usable}")
    needed = HEADER_BYTES + capacity
    free = available_bytes()
    if free is not None and needed > free:
        raise RingError(_no_memory(name, needed, free))
    fd = -1
    try:
        fd = _anonymous()
        os.ftruncate(fd, needed)
        _reserve(fd, needed)
    except OSError as error:
        if fd >= 0:
            os.close(fd)
        raise RingError(f"{_no_memory(name, needed, free)} ({error.strerror})") from error
    _seal(fd)
    with mmap.mmap(fd, needed) as memory:
        octets = memoryview(memory)
        words = octets[:HEADER_BYTES].cast("Q")
        words[W_VERSION] = VERSION
        words[W_CAPACITY] = capacity
        words[W_FLAGS] = RING_CRC if crc else 0
        words[W_MAGIC] = MAGIC
        words.release()
        octets.release()
    return fd


def _no_memory(name: str, needed: int, free: int | None) -> str:
    known = "an unknown number" if free is None else str(free)
    return f"{name}: no shared memory for the ring: {needed} bytes needed, {known} free; close something, raise the limit, or lower --tick-budget"


def _anonymous() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rtdesk-ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    # macOS: a name for an instant. Python keeps it at the resource tracker only when SharedMemory makes it.
    shm = importlib.import_module("_posixshmem")
    name = f"/rtd{os.getpid()}.{os.urandom(6).hex()}"
    fd: int = shm.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    shm.shm_unlink(name)
    return fd


def _reserve(fd: int, size: int) -> None:
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as error:
        if error.errno not in {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}:
            raise


def _seal(fd: int) -> None:
    """Fix the size, so that no process can shrink a segment under the feet of another."""
    # Imported here because Windows, where the simulator runs and no ring does, has no such module.
    import fcntl

    # A kernel without seals has rings all the same.
    if hasattr(fcntl, "F_ADD_SEALS"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)


def available_bytes() -> int | None:
    """Return how much memory the kernel and the control group would still give; None where neither says."""
    amounts = [amount for amount in (_machine_free(), _group_free()) if amount is not None]
    return min(amounts) if amounts else None


def _machine_free() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _group_free() -> int | None:
    try:
        group = next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        folder = Path("/sys/fs/cgroup") / group.strip().lstrip("/")
        limit = (folder / "memory.max").read_text().strip()
        if limit == "max":
            return None
        used = int((folder / "memory.current").read_text())
        # Cached file pages count as used, and go when they are needed.
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, int(limit) - used + int(stat.get("inactive_file", "0")))
    except (OSError, ValueError, StopIteration):
        return None


def process_start(pid: int) -> int | None:
    """Return when a living process started, in kernel ticks since boot (0 where the system does not say); None if it is dead.

    A child that was killed and not yet waited for counts as dead.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass
        return 0
    # The second field is the command in parentheses, and may itself hold any character.
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])
