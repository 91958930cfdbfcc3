"""The log's queue: records of several processes arrive whole, nobody waits, nothing has a name."""

from __future__ import annotations

import logging
import multiprocessing
import time
from pathlib import Path
from queue import Empty

import pytest

from workers.live.log_queue import LogQueue


@pytest.fixture
def queue() -> LogQueue:
    return LogQueue()


def record(text: str, level: int = logging.INFO) -> logging.LogRecord:
    return logging.LogRecord("somewhere", level, "file.py", 1, text, None, None)


def test_record_arrives_as_it_was_sent(queue: LogQueue) -> None:
    queue.put_nowait(record("one é"))
    got = queue.get(timeout=1)
    assert (got.getMessage(), got.name, got.levelname) == ("one é", "somewhere", "INFO")
    assert queue.qsize() == 0
    queue.close()


def test_empty_queue_says_so_and_a_finished_one_at_once(queue: LogQueue) -> None:
    with pytest.raises(Empty):
        queue.get(timeout=0.01)
    queue.put_nowait(record("last"))
    queue.finish()
    assert queue.get(timeout=60).getMessage() == "last"
    began = time.monotonic()
    for _ in range(3):
        with pytest.raises(Empty):
            queue.get(timeout=60)
    assert time.monotonic() - began < 5
    queue.close()


def test_full_queue_drops_and_the_next_record_tells_how_many(queue: LogQueue) -> None:
    sent = 0
    while not queue.dropped:
        queue.put_nowait(record(f"{sent} " + "x" * 1000))
        sent += 1
        assert sent < 100_000
    queue.put_nowait(record("lost too"))
    for _ in range(sent - 1):
        queue.get(timeout=1)
    queue.put_nowait(record("room again"))
    assert queue.get(timeout=1).getMessage() == "room again (2 records before this one were lost)"
    queue.close()


def test_record_too_long_for_the_socket_is_cut(queue: LogQueue) -> None:
    queue.put_nowait(record("begin" + "x" * 5_000_000 + "end"))
    text = queue.get(timeout=1).getMessage()
    assert text.startswith("begin")
    assert text.endswith("end")
    assert len(text) < 20_000
    queue.close()


def named_memory() -> set[str]:
    """What of /dev/shm this process has mapped: a semaphore of `multiprocessing` is there."""
    maps = Path("/proc/self/maps")
    return {line.split()[-1] for line in maps.read_text().splitlines() if "/dev/shm/" in line} if maps.exists() else set()


def _write(queue: LogQueue, name: str, count: int) -> None:
    for number in range(count):
        queue.put_nowait(record(f"{name} {number}"))


def test_processes_write_whole_records_in_their_own_order(queue: LogQueue) -> None:
    context = multiprocessing.get_context("spawn")
    before = named_memory()
    children = [context.Process(target=_write, args=(queue, name, 20)) for name in ("a", "b")]
    for child in children:
        child.start()
    heard: dict[str, list[int]] = {"a": [], "b": []}
    deadline = time.monotonic() + 30
    while sum(map(len, heard.values())) < 40:
        assert time.monotonic() < deadline, heard
        try:
            name, number = queue.get(timeout=0.2).getMessage().split()
        except Empty:
            continue
        heard[name].append(int(number))
    assert heard == {"a": list(range(20)), "b": list(range(20))}
    assert named_memory() == before
    for child in children:
        child.join()
    queue.close()
