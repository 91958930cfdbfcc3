"""Rings in spawned processes: one wiring a child, restarts, and nothing left behind."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from ring_kit import check, drain, write

from workers.rings import Doorbell, Ring, RingError, RingHandle, RingReader, RingWriter, Switchboard, Wiring, wait_any

LONG_S = 30.0
SPAWN = multiprocessing.get_context("spawn")
RINGS = {"game": 1 << 14, "planner": 1 << 14, "reactor": 1 << 14, "desk": 1 << 14}
PROCESSES = ("game", "planner", "reactor", "recorder", "desk")


@pytest.fixture
def board() -> Iterator[Switchboard]:
    with Switchboard(RINGS, PROCESSES, me="desk", crc=True) as made:
        yield made


@pytest.fixture
def start() -> Iterator[Callable[..., BaseProcess]]:
    """Start a spawned child; whatever is alive at the end is killed."""
    children: list[BaseProcess] = []

    def run(target: Callable[..., None], *args: object) -> BaseProcess:
        child = SPAWN.Process(target=target, args=args, daemon=True)
        child.start()
        children.append(child)
        return child

    yield run
    for child in children:
        child.kill()
        child.join()


def until(true: Callable[[], bool], late: str) -> None:
    deadline = time.monotonic() + LONG_S
    while not true():
        assert time.monotonic() < deadline, late


def echo(wiring: Wiring) -> None:
    """A planner that answers each frame of the game ring with one of its own, until the ring closes; it publishes once it has written."""
    with wiring.reader("game") as orders, wiring.writer("planner") as answers:
        while not orders.closed:
            for frame in orders.poll(publish=False):
                write(answers, check(frame))
            orders.publish()
            answers.heartbeat()
            wait_any([orders], 1.0)


def named_segments() -> set[str]:
    """Names in /dev/shm, semaphores of other programs' queues apart: rings have none."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")}


def test_a_restarted_child_goes_on_where_its_cursor_was(board: Switchboard, start: Callable[..., BaseProcess]) -> None:
    before = named_segments()
    game, answers = board.writer("game"), board.reader("planner")
    seen: list[int] = []

    def answered(number: int) -> bool:
        seen.extend(check(frame) for frame in answers.poll())
        return bool(seen) and seen[-1] == number and board.lag("game", "planner") == 0

    child = start(echo, board.for_child("planner"))
    for number in range(30):
        write(game, number)
    until(lambda: answered(29), "the planner did not answer")
    assert answers.writer_alive
    assert board.ring("planner").heartbeat_ns > 0
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    board.abort("planner")
    assert answers.aborted
    for number in range(30, 40):
        write(game, number)
    second = start(echo, board.for_child("planner"))
    until(lambda: answered(39), "the planner's successor did not answer")
    assert seen == list(range(40))
    assert answers.epoch == 2
    assert answers.lost == 0
    # And set back, as a reactor is to the frame that began the running generation.
    game.close()
    second.join(LONG_S)
    assert second.exitcode == 0
    until(lambda: answers.poll() == [] and answers.closed, "the planner did not close its ring")
    assert named_segments() <= before


def pass_on(orders: RingHandle, answers: RingHandle) -> None:
    with RingReader(orders) as reader, RingWriter(answers) as writer:
        while not reader.closed:
            for frame in reader.poll():
                write(writer, check(frame))
            reader.wait(1.0, events_only=True)


def test_two_handles_of_one_wiring_travel_in_one_start(board: Switchboard, start: Callable[..., BaseProcess]) -> None:
    wiring = board.for_child("reactor")
    child = start(pass_on, wiring.handle("desk", wiring.slot("reactor")), wiring.handle("reactor"))
    desk, answers = board.writer("desk"), board.reader("reactor")
    for number in range(10):
        write(desk, number)
    desk.close()
    child.join(LONG_S)
    assert child.exitcode == 0
    assert [check(frame) for frame in drain(answers)] == list(range(10))


def test_a_ring_on_its_own_travels_by_its_handle(start: Callable[..., BaseProcess]) -> None:
    with Ring.create(1 << 14, crc=True, readers=1) as ring, ring.reader(0) as reader:
        child = start(write_some, ring.handle())
        seen: list[int] = []
        until(lambda: bool(seen.extend(check(frame) for frame in reader.poll()) or reader.closed), "the writer did not finish")
        assert seen == list(range(50))
        child.join(LONG_S)


def write_some(handle: RingHandle) -> None:
    with RingWriter(handle) as writer:
        for number in range(50):
            write(writer, number)


def nothing(*_: object) -> None:
    """A child that does nothing."""


def test_two_wirings_in_one_start_are_refused_by_the_system(board: Switchboard) -> None:
    child = SPAWN.Process(target=nothing, args=(board.for_child("game"), board.for_child("planner")))
    with pytest.raises(ValueError, match="fds_to_keep"):
        child.start()


def test_a_wiring_is_pickled_only_into_a_starting_child(board: Switchboard) -> None:
    with pytest.raises(RingError, match=r"outside of Process.start\(\)"):
        pickle.dumps(board.for_child("game"))


def test_a_process_has_the_same_slot_in_every_ring_and_its_own_bell(board: Switchboard) -> None:
    for place, name in enumerate(PROCESSES):
        wiring = board.for_child(name)
        assert wiring.slot(name) == board.slot(name) == place
        for ring in RINGS:
            with wiring.reader(ring) as reader:
                assert reader.doorbell is board.wiring.doorbells[place]
                assert reader.segment.reader_pid(place) == os.getpid()


def test_the_supervisor_sees_and_sets_every_cursor(board: Switchboard) -> None:
    game = board.writer("game")
    for number in range(5):
        write(game, number)
    with board.for_child("recorder").reader("game") as recorder:
        frames = recorder.poll(publish=False)
        recorder.publish(frames[1])
        assert board.cursor("game", "recorder") == frames[1].position
        assert board.lag("game", "recorder") == board.ring("game").tail - frames[1].position
        with board.for_child("game").peek("game") as seen:
            assert seen.lag(board.slot("recorder")) == game.lag(board.slot("recorder")) > 0
    board.set_cursor("game", "recorder", frames[0].position, seq=frames[0].seq + 1)
    with board.for_child("recorder").reader("game") as recorder:
        assert [check(frame) for frame in recorder.poll()] == [1, 2, 3, 4]


def test_names_nobody_has_are_refused_with_those_there_are(board: Switchboard) -> None:
    with pytest.raises(RingError, match="'plannner' is not wired; the processes of this run are game, planner"):
        board.for_child("plannner")
    with pytest.raises(RingError, match="'gam' is not wired; the rings of this run are game, planner"):
        board.for_child("game").writer("gam")
    with pytest.raises(RingError, match="belongs to no process"):
        Switchboard({"game": 1 << 12}, ["game"]).reader("game")
    with pytest.raises(RingError, match="8 processes"):
        Switchboard({"game": 1 << 12}, [str(number) for number in range(8)])


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_is_made_is_closed_also_when_the_memory_runs_out_half_way() -> None:
    before = descriptors()
    with pytest.raises(RingError, match="planner ring: no shared memory"):
        Switchboard({"game": 1 << 14, "planner": 1 << 50}, PROCESSES)
    assert descriptors() == before
    with Switchboard(RINGS, PROCESSES, me="desk") as board:
        board.reader("game").close()
        board.writer("game").close()
        # One for each ring and each bell, and one more where a ring is mapped.
        assert descriptors() >= before + len(RINGS) + len(PROCESSES)
    assert descriptors() == before


def test_a_bell_without_eventfd_is_a_pipe(monkeypatch: pytest.MonkeyPatch, start: Callable[..., BaseProcess]) -> None:
    monkeypatch.delattr(os, "eventfd")
    with Switchboard({"game": 1 << 14, "planner": 1 << 14}, ["game", "planner", "desk"], me="desk", crc=True) as board:
        bell = board.wiring.doorbells[0]
        assert bell.read_fd != bell.write_fd
        for _ in range(20_000):
            bell.ring()
        bell.drain()
        with pytest.raises(BlockingIOError):
            os.read(bell.read_fd, 1)
        game, answers = board.writer("game"), board.reader("planner")
        start(echo, board.for_child("planner"))
        for number in range(5):
            write(game, number)
        game.close()
        seen: list[int] = []
        until(lambda: bool(seen.extend(check(frame) for frame in answers.poll()) or answers.closed), "no answer through a pipe")
        assert seen == list(range(5))


def test_a_bell_whose_listener_is_gone_can_be_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "eventfd")
    bell = Doorbell.create()
    os.close(bell.read_fd)
    bell.ring()
    os.close(bell.write_fd)
