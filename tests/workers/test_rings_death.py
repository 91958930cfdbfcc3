"""Writers and readers that are killed, at every step of a write and at any moment, and those who take over."""

from __future__ import annotations

import mmap
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from ring_kit import drain

from workers.rings import KIND_CHUNK, KIND_EVENT, Frame, Ring, RingError, RingHandle, RingReader, RingWriter
from workers.rings.layout import HEADER_BYTES, W_CHECKPOINTS, W_COUNT, W_EVENT_TAIL, W_INTENT, W_TAIL

LONG_S = 30.0


@pytest.fixture
def fork() -> Iterator[Callable[[Callable[[], None]], int]]:
    """Run something in a forked child that never comes back to pytest; who has not been waited for at the end is killed."""
    children: list[int] = []

    def run(what: Callable[[], None]) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                what()
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        children.append(pid)
        return pid

    yield run
    for pid in children:
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


Fork = Callable[[Callable[[], None]], int]


def end_of(pid: int) -> int:
    """Wait for a child and return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def text_of(number: int) -> bytes:
    return (number.to_bytes(4, "little") * 40)[: 4 + number * 13 % 150]


class Dying:
    """A writer's header words: the store number `fatal` (counted with those of its memory) kills the process instead."""

    def __init__(self, words: Any, fatal: int) -> None:
        self.words = words
        self.left = fatal

    def __getitem__(self, place: Any) -> Any:
        return self.words[place]

    def __setitem__(self, place: int, value: int) -> None:
        self.step()
        self.words[place] = value

    def step(self) -> bool:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.left == 0


class DyingMap(mmap.mmap):
    """A writer's memory: a store may be its last, and is then done by half."""

    def __setitem__(self, place: Any, value: Any) -> None:
        if self.dying.step():
            super().__setitem__(slice(place.start, place.start + len(value) // 2), value[: len(value) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        super().__setitem__(place, value)


def write_until_dead(handle: RingHandle, fatal: int) -> None:
    writer = RingWriter(handle)
    dying = Dying(writer._words, fatal)
    memory = DyingMap(handle.wiring._segments[handle.index], 0)
    memory.dying = dying  # type: ignore[attr-defined]
    writer._words, writer._map = dying, memory  # type: ignore[assignment]
    while True:
        number = writer._seq
        if number % 5 == 4:
            with writer.batch():
                writer.write(KIND_CHUNK, 0, text_of(number), at=number)
                writer.write(KIND_EVENT, 0, text_of(number + 1), at=number + 1)
        elif number % 11 == 3:
            # In parts.
            writer.write(KIND_EVENT, 0, text_of(number) * 20, at=number)
        else:
            writer.write(KIND_EVENT if number % 2 else KIND_CHUNK, 0, text_of(number), at=number)


def check(frames: list[Frame], begin: int) -> int:
    """Assert that frames follow each other from number `begin` on, whole; return the number after them."""
    for frame in frames:
        assert frame.at == begin
        assert frame.payload in (text_of(frame.at), text_of(frame.at) * 20)
        begin = frame.seq + 1
    return begin


def test_a_writer_killed_at_any_store_shows_no_half_frame_and_its_successor_goes_on(fork: Fork) -> None:
    with Ring.create(1 << 14, crc=True) as ring, ring.reader(0) as reader:
        following = 0
        # A frame takes two stores of words and one of memory, some a pad, a checkpoint or more parts: 40 kills meet them all, at ever other places.
        for kill in range(40):
            before = reader.cursor
            assert end_of(fork(lambda kill=kill: write_until_dead(ring.handle(), 1 + kill * 2))) == -signal.SIGKILL  # type: ignore[misc]
            ring.abort()
            assert reader.aborted
            assert not reader.writer_alive
            following = check(drain(reader), following)
            assert reader.cursor == ring.tail
            assert reader.cursor > before or kill < 2
            assert ring.segment.intent >= ring.tail
            assert ring.segment.epoch == kill + 1
        assert reader.lost == reader.laps == 0
        with ring.writer() as writer:
            assert ring.segment.frames == following
            writer.write(KIND_EVENT, 0, text_of(following), at=following)
        check(drain(reader), following)
        assert reader.closed


def test_a_killed_writers_checkpoints_mislead_nobody(fork: Fork) -> None:
    with Ring.create(1 << 13, crc=True) as ring:
        reader, late = ring.reader(0), ring.reader(1)
        random = Random(3)
        following = 0
        for fatal in random.choices(range(20, 400), k=40):
            assert end_of(fork(lambda fatal=fatal: write_until_dead(ring.handle(), fatal))) == -signal.SIGKILL  # type: ignore[misc]
            frames = drain(reader)
            # Both may be lapped here; what they get is whole and in order.
            for frame in [*frames, *drain(late)]:
                assert frame.payload in (text_of(frame.at), text_of(frame.at) * 20)
            for mark in ring.segment.words[W_CHECKPOINTS : W_CHECKPOINTS + 16]:
                if ring.tail - (1 << 13) < mark <= ring.tail and ring.segment.intent - mark <= 1 << 13:
                    late.seek(mark)
                    drain(late)
                    assert late.cursor == ring.tail
            following = ring.segment.frames
        assert following > 40


def flood(handle: RingHandle) -> None:
    writer = RingWriter(handle)
    while True:
        number = writer._seq
        writer.write(KIND_EVENT, 0, text_of(number), at=number)


@pytest.mark.parametrize("crc", [True, False])
def test_a_writer_killed_at_any_moment_shows_no_half_frame(fork: Fork, crc: bool) -> None:
    random = Random(7)
    with Ring.create(1 << 13, crc=crc) as ring, ring.reader(0) as reader:
        accepted = 0
        for _ in range(20):
            goal = ring.tail + random.randrange(1, 60_000)
            pid = fork(lambda: flood(ring.handle()))
            deadline = time.monotonic() + LONG_S
            try:
                while ring.tail < goal:
                    assert time.monotonic() < deadline, "the writer did not write"
                    for frame in reader.poll():
                        assert frame.payload == text_of(frame.at)
                        accepted += 1
            finally:
                os.kill(pid, signal.SIGKILL)
                end_of(pid)
            ring.abort()
            for frame in drain(reader):
                assert frame.payload == text_of(frame.at)
                accepted += 1
            assert reader.cursor == ring.tail
        ring.writer().close()
        assert accepted + reader.lost == ring.segment.frames


def test_a_killed_writer_is_seen_by_its_pid_before_anybody_says_so(fork: Fork) -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.reader(0) as reader:

        def run() -> None:
            RingWriter(ring.handle())
            signal.pause()

        pid = fork(run)
        deadline = time.monotonic() + LONG_S
        while not reader.writer_alive:
            assert time.monotonic() < deadline, "the writer did not attach"
        assert ring.segment.owner_pid == pid
        assert ring.segment.heartbeat_ns > 0
        os.kill(pid, signal.SIGKILL)
        # Dead also while nobody has waited for it.
        while reader.writer_alive:
            assert time.monotonic() < deadline, "a zombie counts as alive"
        end_of(pid)
        assert not reader.writer_alive
        assert not reader.aborted


def test_a_killed_reader_stops_nobody_and_the_next_begins_where_it_was_durable(fork: Fork) -> None:
    with Ring.create(1 << 13, crc=True) as ring, ring.writer() as writer, ring.reader(1) as other:

        def run() -> None:
            reader = RingReader(ring.handle(0))
            while True:
                frames = reader.poll(publish=False)
                if frames:
                    # Durable up to the one before the last.
                    reader.publish(frames[-2] if len(frames) > 1 else 0)
                reader.wait(1.0)

        for number in range(10):
            writer.write(KIND_EVENT, 0, text_of(number), at=number)
        ninth = other.poll()[8].position
        pid = fork(run)
        deadline = time.monotonic() + LONG_S
        while ring.cursor(0) != ninth:
            assert time.monotonic() < deadline, f"the reader stands at {ring.cursor(0)}, not at {ninth}"
        os.kill(pid, signal.SIGKILL)
        end_of(pid)
        # It may have died asleep; its flag is worth one ring, and stops nothing.
        for number in range(10, 60):
            writer.write(KIND_EVENT, 0, text_of(number), at=number)
        second = ring.reader(0)
        assert [frame.at for frame in drain(second)] == list(range(9, 60))
        assert second.lost == 0
        assert [frame.at for frame in drain(other)] == list(range(10, 60))


def test_a_new_writer_never_lowers_intent() -> None:
    with Ring.create(1 << 12, crc=False) as ring, ring.reader(0) as reader:
        first = ring.writer()
        first.write(KIND_EVENT, 0, b"seen", at=0)
        # As a writer leaves it that is killed in a batch of a thousand bytes.
        ring.segment.words[W_INTENT] = ring.tail + 1000
        second = ring.writer()
        seen = []
        for number in range(1, 100):
            before = ring.segment.intent
            second.write(KIND_EVENT, 0, b"x" * 20, at=number)
            assert ring.segment.intent == max(before, ring.tail)
            seen += [frame.at for frame in reader.poll()]
        assert seen == list(range(100))


@pytest.mark.parametrize("behind", [0, 1, 7, -3])
def test_a_new_writer_finds_its_number_though_the_count_is_not_its_own(behind: int) -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.reader(0) as reader:
        with ring.writer() as writer:
            for number in range(100):
                writer.write(KIND_EVENT, 0, text_of(number), at=number)
                reader.poll()
        # As it is after a kill between `tail` and what follows it; or, less than 0, before the `tail` of a batch.
        ring.segment.words[W_COUNT] -= behind
        ring.segment.words[W_EVENT_TAIL] = 0
        with ring.writer() as writer:
            assert ring.segment.frames == 100
            assert ring.segment.words[W_EVENT_TAIL] == ring.segment.words[W_TAIL]
            writer.write(KIND_EVENT, 0, b"", at=100)
        assert [frame.seq for frame in reader.poll()] == [100]


def test_a_new_writer_refuses_a_ring_whose_frames_lead_nowhere() -> None:
    with Ring.create(1 << 12, crc=True) as ring:
        with ring.writer() as writer:
            writer.write(KIND_EVENT, 0, b"whole")
            writer.write(KIND_EVENT, 0, b"broken")
        ring.segment.octets[HEADER_BYTES + 56] = 3
        with pytest.raises(RingError, match="damaged at byte 56: no row of frames leads to tail"):
            ring.writer()
