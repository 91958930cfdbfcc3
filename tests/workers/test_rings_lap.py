"""A writer that overtakes a reader: what the reader is told, and that it never sees a byte of it."""

from __future__ import annotations

from typing import Any

import pytest
from ring_kit import check, drain, write

from workers.rings import KIND_EVENT, ListRing, Ring, RingError, RingReader
from workers.rings.layout import CRC, HEAD_BYTES, HEADER_BYTES
from workers.rings.selftest import Tally, torture


@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("written", [40, 77, 1000, 5003])
def test_a_late_reader_is_told_how_many_frames_it_lost(crc: bool, written: int) -> None:
    with Ring.create(1 << 12, crc=crc) as ring, ring.writer() as writer, ring.reader(0) as reader:
        for number in range(written):
            write(writer, number)
        numbers = [check(frame) for frame in drain(reader)]
        # The newest run, without a hole, and not just its end.
        assert numbers == list(range(written - len(numbers), written))
        assert len(numbers) > 15
        assert reader.lost == written - len(numbers)
        assert reader.laps == (written > 40)
        assert ring.segment.lost_bytes(0) == reader.lost_bytes < ring.tail


def test_a_lapped_reader_gets_back_to_the_oldest_checkpoint_that_is_safe() -> None:
    with Ring.create(1 << 14, crc=True) as ring, ring.writer() as writer, ring.reader(0) as reader:
        for number in range(5000):
            write(writer, number)
        first = drain(reader)[0]
        held = ring.tail - (first.position - 56 - len(first.payload))
        # Fifteen sixteenths at least, less the frame that lies over the border.
        assert held > (1 << 14) * 15 // 16 - 200


def test_every_reader_that_pauses_accounts_for_every_frame() -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.writer() as writer:
        readers = [ring.reader(slot) for slot in range(8)]
        accepted = [0] * 8
        for number in range(6000):
            write(writer, number)
            for slot, reader in enumerate(readers):
                # The pauses are 1, 11, 21 ... 71 frames; a ring holds about 35.
                if number % (1 + 10 * slot) == 0:
                    accepted[slot] += len([check(frame) for frame in reader.poll()])
        writer.close()
        for slot, reader in enumerate(readers):
            accepted[slot] += len(drain(reader))
            assert reader.closed
            assert accepted[slot] + reader.lost == 6000
        assert [reader.laps > 0 for reader in readers] == [False] * 3 + [reader.laps > 0 for reader in readers[3:5]] + [True] * 3


def test_two_readers_one_slow_and_the_quick_one_loses_nothing() -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.writer() as writer, ring.reader(0) as quick, ring.reader(1) as slow:
        seen = []
        for number in range(3000):
            write(writer, number)
            seen += [check(frame) for frame in quick.poll()]
        assert seen == list(range(3000))
        assert quick.lost == 0
        rest = [check(frame) for frame in drain(slow)]
        assert rest == seen[-len(rest) :]
        assert slow.lost == 3000 - len(rest)


def test_frames_lost_at_the_very_end_are_counted_when_the_ring_is_closed() -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.reader(0) as reader:
        writer = ring.writer()
        for number in range(300):
            write(writer, number)
        # As if every checkpoint were overrun while the reader looked.
        ring.segment.words[32:48] = memoryview(bytes(128)).cast("Q")
        assert reader.poll() == []
        assert reader.cursor == ring.tail
        assert reader.lost == 0
        writer.close()
        assert reader.lost == 300


def test_an_event_in_parts_is_dropped_whole_when_its_reader_is_lapped_in_the_middle() -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.writer() as writer, ring.reader(0) as reader:
        writer.write(KIND_EVENT, 0, b"before", at=0)
        writer.write(KIND_EVENT, 0, b"x" * 1500, at=1)
        # Enough for the first event and the first parts of the second.
        assert [frame.payload for frame in reader.poll(700)] == [b"before"]
        for number in range(300):
            write(writer, number)
        numbers = [check(frame) for frame in drain(reader)]
        assert numbers == list(range(300 - len(numbers), 300))
        writer.close()
        # The event's four parts are among the frames lost.
        assert 1 + len(numbers) + reader.lost == ring.segment.frames


def test_a_reader_that_comes_back_between_two_parts_drops_the_rest_of_the_event() -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.writer() as writer, ring.reader(0) as reader:
        accepted = 0
        for number in range(400):
            writer.write(KIND_EVENT, 0, bytes([number % 251]) * (1200 + number), at=number)
            if number % 5 == 4:
                frames = drain(reader)
                for frame in frames:
                    assert frame.payload == bytes([frame.at % 251]) * (1200 + frame.at)
                accepted += sum(-(-len(frame.payload) // (512 - HEAD_BYTES - CRC.size)) for frame in frames)
        writer.close()
        # Frames, not events: each part of what was dropped is counted.
        assert accepted + reader.lost == ring.segment.frames


def test_a_restarted_reader_that_was_lapped_knows_what_it_lost() -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.writer() as writer:
        for number in range(20):
            write(writer, number)
        first = ring.reader(0)
        frames = first.poll(publish=False)
        first.publish(frames[9])
        first.close()
        for number in range(20, 400):
            write(writer, number)
        second = ring.reader(0)
        numbers = [check(frame) for frame in drain(second)]
        assert 10 + second.lost + len(numbers) == 400


def test_a_reader_set_back_to_what_is_gone_is_lapped_as_ever() -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.writer() as writer, ring.reader(0) as reader:
        positions = []
        for number in range(400):
            write(writer, number)
            positions.append(reader.poll()[-1].position)
        reader.seek(positions[3])
        numbers = [check(frame) for frame in drain(reader)]
        assert numbers == list(range(400 - len(numbers), 400))
        assert reader.laps == 1


def test_a_list_forgets_what_everybody_has_read_and_counts_it_for_those_who_come_late() -> None:
    ring = ListRing()
    writer, reader = ring.writer(), ring.reader(0)
    for number in range(10_000):
        write(writer, number)
        reader.poll()
    assert len(ring.frames) < 5000
    held = len(ring.frames)
    late = ring.reader(1)
    assert [check(frame) for frame in drain(late)] == list(range(10_000 - held, 10_000))
    assert late.lost == 10_000 - held


class Racing:
    """A ring's memory in which the writer goes on while a reader's copy is done up to a byte."""

    def __init__(self, memory: Any, meanwhile: Any, done: int) -> None:
        self.memory = memory
        self.meanwhile = meanwhile
        self.done = done

    def __getitem__(self, place: slice) -> bytes:
        middle = min(place.start + self.done, place.stop)
        first = self.memory[place.start : middle]
        self.meanwhile()
        return first + self.memory[middle : place.stop]


def _read_while_the_writer_laps(*, crc: bool, recheck: bool, done: int) -> tuple[RingReader, list[int]]:
    """Poll once, the writer going round the ring when `done` bytes are copied; return the reader and the numbers it believed."""
    with Ring.create(1 << 12, crc=crc) as ring:
        writer = ring.writer()
        reader = RingReader(ring.handle(0), recheck=recheck)
        number = 0

        def go_on(frames: int) -> None:
            nonlocal number
            for _ in range(frames):
                # Frames of one length, so that only their content tells a torn row.
                writer.write(KIND_EVENT, number // 10, number.to_bytes(4, "little") * 8, at=number)
                number += 1

        go_on(30)
        racing = Racing(reader._map, lambda: go_on(45 if number < 100 else 0), done)
        reader._map = racing  # type: ignore[assignment]
        frames = reader.poll()
        for frame in frames:
            assert frame.payload == frame.at.to_bytes(4, "little") * 8, "torn"
        return reader, [frame.at for frame in frames]


@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("done", [0, 4, 44, 80, 1200])
def test_a_copy_the_writer_ran_into_is_dropped(crc: bool, done: int) -> None:
    reader, numbers = _read_while_the_writer_laps(crc=crc, recheck=True, done=done)
    assert numbers == list(range(120 - len(numbers), 120))
    assert reader.laps == 2
    assert len(numbers) + reader.lost == 120


@pytest.mark.parametrize(("done", "says"), [(0, "frame 0 was expected and"), (8, "checksum"), (44, "checksum")])
def test_without_the_second_look_the_same_copy_is_seen_to_be_torn(done: int, says: str) -> None:
    with pytest.raises(RingError, match=f"damaged at byte 0: .*{says}"):
        _read_while_the_writer_laps(crc=True, recheck=False, done=done)


def test_without_the_second_look_and_checksums_torn_bytes_are_believed() -> None:
    with pytest.raises(AssertionError, match="torn"):
        _read_while_the_writer_laps(crc=False, recheck=False, done=44)


def _read_one_while_the_writer_laps(*, recheck: bool, done: int) -> tuple[RingReader, list[int]]:
    """The same with a single frame to read, which has a short way of its own; the writer goes round once while it is read."""
    with Ring.create(1 << 12, crc=False) as ring:
        writer = ring.writer()
        reader = RingReader(ring.handle(0), recheck=recheck)
        numbers: list[int] = []

        def go_on(begin: int, end: int) -> None:
            for number in range(begin, end):
                writer.write(KIND_EVENT, number // 10, number.to_bytes(4, "little") * 8, at=number)

        def take() -> None:
            for frame in reader.poll():
                assert frame.payload == frame.at.to_bytes(4, "little") * 8, "torn"
                numbers.append(frame.at)

        go_on(0, 29)
        take()
        go_on(29, 30)
        pending = [lambda: go_on(30, 150)]
        memory, reader._map = reader._map, Racing(reader._map, lambda: pending.pop()() if pending else None, done)  # type: ignore[assignment]
        take()
        reader._map = memory
        take()
        return reader, numbers


@pytest.mark.parametrize("done", [0, 4, 44, 80])
def test_a_frame_alone_is_dropped_as_well_if_the_writer_ran_into_it(done: int) -> None:
    reader, numbers = _read_one_while_the_writer_laps(recheck=True, done=done)
    assert numbers[:29] == list(range(29))
    assert numbers[29:] == list(range(150 - len(numbers[29:]), 150))
    assert reader.laps == 1
    assert len(numbers) + reader.lost == 150


def test_without_the_second_look_a_frame_alone_is_believed_torn() -> None:
    with pytest.raises(AssertionError, match="torn"):
        _read_one_while_the_writer_laps(recheck=False, done=44)


def _accounted(tallies: list[Tally], frames: int) -> None:
    for slot, tally in enumerate(tallies):
        assert tally.wrong == 0, f"reader {slot} accepted {tally.wrong} frames that were not what was written"
        assert tally.accepted + tally.lost == frames, f"reader {slot}: {tally}"
        assert tally.accepted > 0
    assert sum(tally.laps for tally in tallies) > 0, "nobody was lapped: the torture was none"


@pytest.mark.parametrize("crc", [True, False])
def test_no_torn_frame_in_a_short_torture(crc: bool) -> None:
    _accounted(torture(60_000, crc=crc), 60_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("crc", [True, False])
def test_no_torn_frame_in_ten_million(crc: bool) -> None:
    _accounted(torture(10_000_000, crc=crc), 10_000_000)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_torture_sees_tearing_when_the_second_look_is_left_out() -> None:
    tallies = torture(3_000_000, readers=2, recheck=False)
    assert sum(tally.wrong for tally in tallies) > 0


def test_the_header_is_not_part_of_the_data() -> None:
    with Ring.create(1 << 12, crc=False) as ring, ring.writer() as writer:
        before = bytes(ring.segment.octets[1024:HEADER_BYTES])
        for number in range(1000):
            write(writer, number)
        assert bytes(ring.segment.octets[1024:HEADER_BYTES]) == before == bytes(HEADER_BYTES - 1024)
