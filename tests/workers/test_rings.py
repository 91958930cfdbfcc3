"""One writer and its readers, in shared memory and in a list: what goes in comes out."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest
from ring_kit import check, drain, payload, write

from workers.rings import KIND_CHUNK, KIND_EVENT, KIND_MARK, ListRing, Ring, RingError, RingReader, capacity_for
from workers.rings.layout import CRC, HEAD_BYTES, HEADER_BYTES, PAD_BIT, W_MAGIC, max_frame


@pytest.fixture(params=["checked", "plain", "list"])
def ring(request: pytest.FixtureRequest) -> Iterator[Ring | ListRing]:
    """A ring of each kind; what is tested with it holds for the simulator's as well."""
    if request.param == "list":
        yield ListRing()
    else:
        with Ring.create(1 << 14, crc=request.param == "checked") as made:
            yield made


def test_frames_come_out_as_they_went_in(ring: Ring | ListRing) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    for number in range(50):
        write(writer, number)
    frames = reader.poll()
    assert [check(frame) for frame in frames] == list(range(50))
    assert [frame.seq for frame in frames] == list(range(50))
    assert frames[-1].position == reader.cursor == ring.tail
    assert reader.poll() == []


def test_each_reader_has_its_own_cursor(ring: Ring | ListRing) -> None:
    writer, quick, slow = ring.writer(), ring.reader(0), ring.reader(1)
    seen: list[int] = []
    for number in range(60):
        write(writer, number)
        seen += [check(frame) for frame in quick.poll()]
    assert seen == list(range(60))
    assert slow.cursor == 0
    assert slow.lag == ring.tail
    assert [check(frame) for frame in drain(slow)] == seen
    assert slow.lost == quick.lost == 0


def test_a_late_reader_begins_at_the_cursor_of_its_slot(ring: Ring | ListRing) -> None:
    writer = ring.writer()
    ring.reader(0)
    for number in range(20):
        write(writer, number)
    late = ring.reader(1)
    assert [check(frame) for frame in late.poll()] == list(range(20))
    middle = ring.reader(2)
    ring.set_cursor(2, 0)
    position = middle.poll()[9].position
    ring.set_cursor(2, position)
    assert [check(frame) for frame in ring.reader(2).poll()] == list(range(10, 20))


def test_the_public_cursor_moves_only_when_told(ring: Ring | ListRing) -> None:
    writer, recorder = ring.writer(), ring.reader(3)
    for number in range(10):
        write(writer, number)
    frames = recorder.poll(publish=False)
    assert len(frames) == 10
    assert ring.cursor(3) == 0
    assert writer.lag(3) == ring.tail
    recorder.publish(frames[3])
    assert ring.cursor(3) == frames[3].position
    restarted = ring.reader(3)
    assert [check(frame) for frame in restarted.poll(publish=False)] == list(range(4, 10))
    restarted.publish()
    assert ring.lag(3) == 0


@pytest.mark.parametrize("crc", [True, False])
def test_frames_one_by_one_are_those_of_a_row(crc: bool) -> None:
    """A single frame has a short way of its own through `poll`: three times round the ring it gives what reading in a row gives."""
    with Ring.create(1 << 12, crc=crc) as ring:
        writer, single, row = ring.writer(), ring.reader(0), ring.reader(1)
        seen, number = [], 0
        while ring.tail < 3 << 12:
            write(writer, number)
            told = ring.cursor(0)
            (frame,) = single.poll(publish=number % 2 == 0)
            assert ring.cursor(0) == (frame.position if number % 2 == 0 else told)
            assert (check(frame), frame.seq, single.cursor, single.lag) == (number, number, ring.tail, 0)
            seen.append(frame)
            number += 1
            if number % 20 == 0:
                assert row.poll() == seen[-20:]
        single.publish()
        assert ring.cursor(0) == ring.tail
        assert single.lost == row.lost == 0


def test_a_reader_cannot_publish_what_it_has_not_read(ring: Ring | ListRing) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    write(writer, 1)
    with pytest.raises(RingError, match="cannot publish position"):
        reader.publish(ring.tail)


def test_seek_goes_back_and_forth_between_frames(ring: Ring | ListRing) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    for number in range(10):
        write(writer, number)
    frames = reader.poll()
    reader.seek(frames[4].position)
    assert [check(frame) for frame in reader.poll()] == list(range(5, 10))
    reader.seek(0)
    assert [check(frame) for frame in reader.poll()] == list(range(10))
    with pytest.raises(RingError, match="cannot seek"):
        reader.seek(ring.tail + 8)


def test_poll_stops_near_its_limit_but_gives_at_least_one_frame(ring: Ring | ListRing) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    for _ in range(8):
        writer.write(KIND_EVENT, 0, b"x" * 900)
    assert len(reader.poll(1)) == 1
    assert len(reader.poll(2 * 960)) == 2
    assert len(reader.poll()) == 5


def test_closed_means_writer_closed_and_everything_read(ring: Ring | ListRing) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    assert not reader.closed
    write(writer, 1)
    assert reader.writer_alive
    writer.close()
    writer.close()
    assert not reader.closed
    assert not reader.writer_alive
    assert len(reader.poll()) == 1
    assert reader.closed
    assert not reader.aborted
    with pytest.raises(RingError, match="closed"):
        write(writer, 2)


def test_an_aborted_ring_can_be_drained_and_opened_again(ring: Ring | ListRing) -> None:
    reader = ring.reader(0)
    assert reader.epoch == 0
    assert not reader.writer_alive
    write(ring.writer(), 0)
    ring.abort()
    assert reader.aborted
    assert not reader.closed
    assert [check(frame) for frame in reader.poll()] == [0]
    write(ring.writer(), 1)
    assert not reader.aborted
    assert reader.epoch == 2
    assert [frame.seq for frame in reader.poll()] == [1]


@pytest.mark.parametrize(
    "fields",
    [{"ntok": 65_536}, {"channel": 256}, {"at": -1}, {"generation": 1 << 32}, {"flags": 1 << 28}, {"flags": -1}],
    ids=lambda fields: next(iter(fields.items())),
)
def test_a_number_that_does_not_fit_is_refused_and_nothing_is_written(ring: Ring | ListRing, fields: dict[str, int]) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    write(writer, 0)
    with pytest.raises(RingError, match=r"flags|fit"):
        writer.write(KIND_CHUNK, 0, b"abc", **fields)  # type: ignore[arg-type]
    with pytest.raises(RingError, match="fit"):
        writer.write(KIND_CHUNK, 0, "abc")  # type: ignore[arg-type]
    write(writer, 1)
    assert [check(frame) for frame in reader.poll()] == [0, 1]


def test_an_unstamped_frame_gets_the_monotonic_time(ring: Ring | ListRing) -> None:
    writer, reader = ring.writer(), ring.reader(0)
    writer.write(KIND_MARK, 0, b"")
    writer.write(KIND_MARK, 0, b"", t_ns=-5)
    first, second = reader.poll()
    writer.heartbeat()
    assert 0 < first.t_ns <= ring.heartbeat_ns
    assert second.t_ns == -5


def test_a_batch_appears_at_once_also_when_it_is_left_by_an_error() -> None:
    with Ring.create(1 << 14, crc=True) as ring, ring.writer() as writer, ring.reader(0) as reader:
        with suppress(KeyError), writer.batch():
            for number in range(5):
                with writer.batch():
                    write(writer, number)
                assert ring.tail == 0
                assert reader.poll() == []
            raise KeyError
        assert [check(frame) for frame in reader.poll()] == list(range(5))


@pytest.mark.parametrize("crc", [True, False])
def test_a_batch_larger_than_a_quarter_of_the_ring_is_published_in_between(crc: bool) -> None:
    with Ring.create(1 << 14, crc=crc) as ring, ring.writer() as writer, ring.reader(0) as reader:
        seen: list[int] = []
        with writer.batch():
            for number in range(2000):
                write(writer, number)
                seen += [check(frame) for frame in reader.poll()]
        seen += [check(frame) for frame in reader.poll()]
        assert seen == list(range(2000))


@pytest.mark.parametrize("crc", [True, False])
def test_an_event_longer_than_a_frame_is_joined_and_never_shown_in_part(crc: bool) -> None:
    with Ring.create(1 << 12, crc=crc) as ring, ring.writer() as writer, ring.reader(0) as reader:
        room = max_frame(1 << 12) - HEAD_BYTES - (CRC.size if crc else 0)
        for number in range(300):
            size = number * 37 % (4 * room)
            text = payload(number, 10**6)[:0] + (number.to_bytes(2, "little") * (size // 2 + 1))[:size]
            writer.write(KIND_EVENT, number, text, at=number, flags=3)
            # However little is asked for, an event comes whole.
            got = reader.poll(1 + number * 13 % 600)
            while len(got) < 1:
                got = reader.poll(1)
            assert [(frame.at, frame.payload, frame.flags) for frame in got] == [(number, text, 3)]
            assert reader.cursor == got[0].position == ring.tail
        assert reader.lost == 0


def test_an_event_of_more_than_half_the_ring_is_refused() -> None:
    with Ring.create(1 << 12) as ring, ring.writer() as writer, ring.reader(0) as reader:
        with pytest.raises(RingError, match=r"2048 bytes does not fit.*larger"):
            writer.write(KIND_EVENT, 0, bytes(2048))
        assert reader.poll() == []


@pytest.mark.parametrize(("capacity", "crc"), [(512, True), (512, False), (1024, True), (1024, False)])
def test_every_frame_length_meets_the_wrap_at_every_alignment(capacity: int, crc: bool) -> None:
    trailer = CRC.size if crc else 0
    room = max_frame(capacity) - HEAD_BYTES - trailer
    spans = {HEAD_BYTES + len(payload(number, room)) + trailer + 7 & -8: number for number in range(room + 1)}
    seen = set()
    with Ring.create(capacity, crc=crc) as ring, ring.writer() as writer, ring.reader(0) as reader:
        random = Random(1)
        for _ in range(12_000):
            begin = writer.position % capacity
            # A length not tried here yet, if there is one.
            number = spans[random.choice([span for span in spans if (begin, span) not in seen] or list(spans))]
            write(writer, number, room)
            (frame,) = reader.poll()
            assert check(frame, room) == number
            span = HEAD_BYTES + len(frame.payload) + trailer + 7 & -8
            seen.add((begin, span))
            if begin + span > capacity:
                begin = 0
            assert frame.position % capacity == (begin + span) % capacity
        assert reader.lost == reader.laps == 0
    # Every pair of a place that rows of frames can lead to and a length.
    places = [0]
    for place in places:
        reached = {span if place + span > capacity else (place + span) % capacity for span in spans}
        places.extend(reached - set(places))
    assert seen == {(place, span) for place in places for span in spans}


@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("before", [1, 3, 500])
def test_sequence_numbers_go_on_after_two_to_the_32(crc: bool, before: int) -> None:
    with Ring.create(1 << 12, crc=crc) as ring:
        writer, reader = ring.writer(), ring.reader(0)
        writer._seq = reader._seq = (1 << 32) - before
        seen = []
        for number in range(600):
            write(writer, number)
            seen += [(check(frame), frame.seq) for frame in reader.poll()]
        assert seen == [(number, (number - before) % (1 << 32)) for number in range(600)]
        restarted = ring.writer()
        write(restarted, 600)
        assert [frame.seq for frame in reader.poll()] == [600 - before]
        restarted.close()
        assert ring.segment.frames == (1 << 32) + 601 - before


def test_a_ring_of_no_power_of_two_names_the_next_one() -> None:
    with pytest.raises(RingError, match=r"capacity 5000 is no power of two.*try 8192"):
        Ring.create(5000)
    with pytest.raises(RingError, match=r"capacity 256 .*try 512"):
        Ring.create(256)


def test_memory_that_is_not_there_is_an_error_with_numbers_not_a_signal() -> None:
    with pytest.raises(RingError, match=rf"{(1 << 50) + HEADER_BYTES} bytes needed, \d+ free"):
        Ring.create(1 << 50)


def test_a_system_that_refuses_the_memory_is_an_error_with_numbers() -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        with pytest.raises(RingError, match=r"1052672 bytes needed, .* free; .*\(File too large\)"):
            Ring.create(1 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_nobody_can_shrink_a_segment_under_the_feet_of_another() -> None:
    with Ring.create(1 << 14) as ring, pytest.raises(PermissionError):
        os.ftruncate(ring._wiring._segments[0], 4096)


def test_a_segment_that_is_no_ring_is_refused() -> None:
    with Ring.create(1 << 14) as ring:
        ring.segment.words[W_MAGIC] = 7
        with pytest.raises(RingError, match=r"no ring of layout 1 \(magic 0x7"):
            ring.reader(0)


def test_a_reader_without_a_slot_is_refused() -> None:
    with Ring.create(1 << 14) as ring:
        with pytest.raises(RingError, match="needs a slot"):
            RingReader(ring.handle())
        with pytest.raises(RingError, match="slot 8 does not exist"):
            ring.handle(8)


def test_a_cursor_beyond_the_tail_is_refused(ring: Ring | ListRing) -> None:
    with pytest.raises(RingError, match="outside the ring"):
        ring.set_cursor(0, 8)


def test_capacity_holds_two_ticks_of_one_token_frames() -> None:
    assert capacity_for(1) == 1 << 20
    assert capacity_for(8192) == 1 << 20
    assert capacity_for(8193) == 1 << 21
    assert capacity_for(32_768) == 1 << 22


@pytest.mark.parametrize(
    ("what", "place", "value", "says"),
    [
        ("zero length", 0, (0).to_bytes(4, "little"), "frame length of 0"),
        ("huge length", 0, (1 << 30).to_bytes(4, "little"), "frame length of 1073741824"),
        ("length beyond the tail", 0, (400).to_bytes(4, "little"), "frame length of 400"),
        ("pad that ends nowhere", 0, (PAD_BIT | 16).to_bytes(4, "little"), "pad of 16"),
        ("wrong number", 4, (77).to_bytes(4, "little"), "frame 1 was expected and 77 is there"),
        ("wrong byte", HEAD_BYTES, b"?", "checksum is wrong"),
        ("no checksum", 20, (0).to_bytes(4, "little"), "no checksum"),
    ],
)
def test_damage_is_reported_and_reported_again(what: str, place: int, value: bytes, says: str) -> None:
    with Ring.create(1 << 12, crc=True) as ring, ring.writer() as writer, ring.reader(0) as reader:
        writer.write(KIND_EVENT, 0, b"whole")
        begin = ring.tail
        writer.write(KIND_EVENT, 0, b"broken")
        at = HEADER_BYTES + begin + place
        ring.segment.octets[at : at + len(value)] = value
        # What stood before the damage is still to be had.
        assert [frame.payload for frame in reader.poll()] == [b"whole"]
        for _ in range(2):
            with pytest.raises(RingError, match=f"damaged at byte {begin}: .*{says}"):
                reader.poll()
        reader.seek(ring.tail)
        writer.write(KIND_EVENT, 0, b"after")
        assert [frame.payload for frame in reader.poll()] == [b"after"]


def test_on_weak_memory_what_looks_wrong_is_not_there_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("workers.rings.reader.time.monotonic", lambda: now)
    with Ring.create(1 << 12, crc=True) as ring, ring.writer() as writer, RingReader(ring.handle(0), strict=False) as reader:
        writer.write(KIND_EVENT, 0, b"first")
        begin = ring.tail
        writer.write(KIND_EVENT, 0, b"second")
        at = HEADER_BYTES + begin + HEAD_BYTES
        ring.segment.octets[at : at + 1] = b"?"
        assert [frame.payload for frame in reader.poll()] == [b"first"]
        assert reader.poll() == []
        ring.segment.octets[at : at + 1] = b"s"
        assert [frame.payload for frame in reader.poll()] == [b"second"]
        # It is damage if it stays.
        begin = ring.tail
        writer.write(KIND_EVENT, 0, b"third")
        ring.segment.octets[HEADER_BYTES + begin] = 0
        assert reader.poll() == []
        now += 1.9
        assert reader.poll() == []
        now += 0.2
        with pytest.raises(RingError, match="damaged"):
            reader.poll()
