"""Sleeping and being woken: for what, how often, and by whom."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from ring_kit import write

from workers.rings import KIND_CHUNK, KIND_EVENT, KIND_MARK, ListRing, Ring, RingReader, RingWriter, Switchboard, Waiter, wait_any
from workers.rings.layout import S_SLEEPING, SLOT_WORDS, W_ASLEEP_ANY, W_ASLEEP_EVENTS, W_SLOTS
from workers.rings.wait import FLOOD_FRAMES, FLOOD_NAP_S

# Far more than anything here takes; a wait that reaches it fails its test.
LONG_S = 30.0


@pytest.fixture
def ring() -> Iterator[Ring]:
    with Ring.create(1 << 14, crc=True) as made:
        yield made


def rung(reader: RingReader) -> int:
    """How often the reader's bell was rung since it was last emptied."""
    assert reader.doorbell is not None
    fd = reader.doorbell.read_fd
    return int.from_bytes(os.read(fd, 8), "little") if select.select([fd], [], [], 0)[0] else 0


def asleep(ring: Ring, slot: int = 0) -> int:
    return ring.segment.words[W_SLOTS + slot * SLOT_WORDS + S_SLEEPING]


def when_asleep(ring: Ring, wait: Callable[[], object], act: Callable[[], None]) -> object:
    """Run `wait` in a thread, `act` once slot 0 sleeps in it; return what it returned."""
    result: list[object] = []
    thread = threading.Thread(target=lambda: result.append(wait()))
    thread.start()
    deadline = time.monotonic() + LONG_S
    while not asleep(ring):
        assert time.monotonic() < deadline, "the reader did not go to sleep"
    act()
    thread.join(LONG_S)
    assert not thread.is_alive(), "the sleeper was not woken"
    assert not asleep(ring)
    return result[0]


def test_a_wait_returns_at_once_when_there_is_something(ring: Ring) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    assert not reader.wait(0)
    writer.write(KIND_CHUNK, 0, b"")
    assert reader.wait(LONG_S)
    reader.poll()
    assert not reader.wait(0.001)


@pytest.mark.parametrize("kind", [KIND_CHUNK, KIND_EVENT, KIND_MARK])
def test_a_frame_wakes_a_sleeper(ring: Ring, kind: int) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    assert when_asleep(ring, lambda: reader.wait(LONG_S), lambda: writer.write(kind, 0, b"")) is True


def test_text_does_not_wake_who_sleeps_for_events(ring: Ring) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    writer.write(KIND_CHUNK, 0, b"")
    assert not reader.wait(0, events_only=True)
    assert reader.wait(0)
    writer.write(KIND_MARK, 0, b"")
    assert reader.wait(LONG_S, events_only=True)
    # All that was there was text and one mark; having polled them, it would sleep again.
    reader.poll()
    writer.write(KIND_CHUNK, 0, b"")
    assert not reader.wait(0, events_only=True)


def test_the_writer_rings_once_a_nap_and_only_for_what_is_wanted(ring: Ring) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    assert reader.doorbell is not None
    reader.doorbell.drain()
    write(writer, 0)
    assert rung(reader) == 0, "nobody slept"
    reader.lie_down(False)
    for _ in range(3):
        writer.write(KIND_CHUNK, 0, b"")
    assert rung(reader) == 1
    reader.get_up()
    writer.write(KIND_EVENT, 0, b"")
    assert rung(reader) == 0
    reader.lie_down(True)
    for _ in range(3):
        writer.write(KIND_CHUNK, 0, b"")
    assert rung(reader) == 0
    for _ in range(3):
        writer.write(KIND_EVENT, 0, b"")
    assert rung(reader) == 1
    reader.get_up()
    reader.lie_down(False)
    with writer.batch():
        writer.write(KIND_CHUNK, 0, b"")
        assert rung(reader) == 0
    assert rung(reader) == 1
    reader.get_up()
    assert ring.segment.words[W_ASLEEP_ANY] == ring.segment.words[W_ASLEEP_EVENTS] == 0


def test_a_batch_with_an_event_in_it_wakes_who_sleeps_for_events(ring: Ring) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    assert reader.doorbell is not None
    reader.doorbell.drain()
    reader.lie_down(True)
    with writer.batch():
        writer.write(KIND_EVENT, 0, b"")
        writer.write(KIND_CHUNK, 0, b"")
    assert rung(reader) == 1
    reader.lie_down(True)
    with writer.batch():
        writer.write(KIND_CHUNK, 0, b"")
    assert rung(reader) == 0


def test_what_is_held_wakes_nobody_until_it_is_shown_and_then_once(ring: Ring) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    assert reader.doorbell is not None
    reader.doorbell.drain()
    reader.lie_down(True)
    writer.show()
    writer.hold()
    for _ in range(3):
        writer.write(KIND_EVENT, 0, b"")
    assert (rung(reader), reader.ready(events_only=True)) == (0, False)
    writer.show()
    assert (rung(reader), len(reader.poll())) == (1, 3)
    reader.get_up()
    writer.write(KIND_EVENT, 0, b"")
    assert len(reader.poll()) == 1, "nothing is held after `show`"
    writer.hold()
    writer.write(KIND_EVENT, 0, b"")
    writer.close()
    assert len(reader.poll()) == 1, "what a closed writer held is not lost"


def test_a_waiter_serves_one_wait_after_the_other(ring: Ring) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    read_end, write_end = os.pipe()
    waiter = Waiter([reader], [read_end])
    for number in range(3):
        assert when_asleep(ring, lambda: waiter.wait(LONG_S), lambda number=number: write(writer, number)) == [reader]  # type: ignore[misc]
        reader.poll()
        assert waiter.wait(0.001) == []
    assert when_asleep(ring, lambda: waiter.wait(LONG_S, True), lambda: os.close(write_end)) == [read_end]
    os.close(read_end)


def test_a_new_incarnation_is_rung_for_though_the_last_one_died_asleep(ring: Ring) -> None:
    writer, first = ring.writer(), ring.reader(0)
    first.lie_down(False)
    write(writer, 0)
    second = ring.reader(0)
    assert asleep(ring) == 0
    assert second.doorbell is not None
    second.doorbell.drain()
    second.lie_down(False)
    write(writer, 1)
    assert rung(second) == 1


def test_a_lost_wake_up_costs_a_nap_and_no_hang(ring: Ring) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    writer._bells = ()
    assert when_asleep(ring, lambda: reader.wait(LONG_S), lambda: write(writer, 0)) is True


@pytest.mark.parametrize("how", ["abort", "close"])
def test_the_end_of_a_writer_wakes_everybody_and_is_told_once(ring: Ring, how: str) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    act = ring.abort if how == "abort" else writer.close
    assert when_asleep(ring, lambda: reader.wait(LONG_S, events_only=True), act) is True
    assert not reader.wait(0), "told twice"
    assert (reader.aborted, reader.closed) == (how == "abort", how == "close")
    # A new writer opens it again, and that is told too.
    ring.writer()
    assert reader.wait(0)
    assert not reader.wait(0)


def test_a_descriptor_wakes_and_is_returned_beside_the_readers(ring: Ring) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    read_end, write_end = os.pipe()
    assert wait_any([reader], 0, extra_fds=[read_end]) == []
    found = when_asleep(ring, lambda: wait_any([reader], LONG_S, extra_fds=[read_end]), lambda: os.close(write_end))
    assert found == [read_end]
    # It is seen, too, when a reader is never out of work.
    write(writer, 0)
    with open(read_end, "rb") as parent:
        assert wait_any([reader], LONG_S, extra_fds=[parent]) == [reader, parent]
        assert wait_any([], LONG_S, extra_fds=[parent]) == [parent]


def test_one_bell_for_all_rings_a_process_reads() -> None:
    with Switchboard({"game": 1 << 14, "planner": 1 << 14}, ["game", "planner", "desk"], me="desk", crc=True) as board:
        game, planner = board.reader("game"), board.reader("planner")
        assert game.doorbell is planner.doorbell
        writer = board.writer("planner")
        found = when_asleep_in(board, lambda: wait_any([game, planner], LONG_S), lambda: write(writer, 0))
        assert found == [planner]


def when_asleep_in(board: Switchboard, wait: Callable[[], object], act: Callable[[], None]) -> object:
    result: list[object] = []
    thread = threading.Thread(target=lambda: result.append(wait()))
    thread.start()
    words = board.ring("planner").segment.words
    deadline = time.monotonic() + LONG_S
    while not words[W_SLOTS + board.slot("desk") * SLOT_WORDS + S_SLEEPING]:
        assert time.monotonic() < deadline, "the reader did not go to sleep"
    act()
    thread.join(LONG_S)
    assert not thread.is_alive(), "the sleeper was not woken"
    return result[0]


def _flood(writer: RingWriter, reader: RingReader, frames: int) -> None:
    for number in range(frames):
        write(writer, number)
    assert len(reader.poll()) == frames


def test_in_a_flood_of_text_a_reader_naps_without_a_flag_but_not_for_events(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        assert not asleep(ring)
        if len(naps) == 1:
            write(writer, 0)

    monkeypatch.setattr("workers.rings.wait.time.sleep", nap)
    _flood(writer, reader, FLOOD_FRAMES - 1)
    assert not reader.wait(0.001)
    assert naps == []
    _flood(writer, reader, FLOOD_FRAMES)
    assert not reader.wait(0.001, events_only=True)
    assert naps == []
    assert reader.wait(LONG_S)
    assert naps == [FLOOD_NAP_S]
    # The nap in which nothing came is the last.
    reader.poll()
    _flood(writer, reader, FLOOD_FRAMES)
    assert not reader.wait(0.001)
    assert not reader.wait(0.001)
    assert naps == [FLOOD_NAP_S] * 2


def test_a_list_never_sleeps() -> None:
    ring = ListRing()
    writer, reader = ring.writer(), ring.reader(0)
    assert wait_any([reader], None) == []
    writer.write(KIND_CHUNK, 0, b"")
    assert wait_any([reader], None, events_only=True) == []
    assert reader.wait(None)
    writer.write(KIND_MARK, 0, b"")
    assert reader.wait(None, events_only=True)
    reader.poll()
    writer.close()
    assert reader.wait(None)
    assert not reader.wait(None)
