"""Reading: cut, zeroed, hostile and newer files, and what is read when."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest
from memory_kit import Peak
from replay_episodes import Played, play, record_starts, write

from replays import events as ev
from replays import scan
from replays.annotate import resave
from replays.errors import ReplayError
from replays.export import csv_lines, jsonl_lines
from replays.format import KIND_KEYFRAME, KIND_TICK, MARK_BYTES, MAX_INFLATED, BadRecord, inflate, pack_record, vet
from replays.info import info
from replays.payload import Table, UnknownEvent, pack_events, pack_index, unpack_events
from replays.reader import Replay, open_replay
from replays.writer import ReplayWriter, pack_header

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def played() -> Played:
    return play(ticks=30)


@pytest.fixture(scope="module")
def whole(played: Played, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(tmp_path_factory.mktemp("whole") / "a.rtr", played).read_bytes()


def opened(path: Path, data: bytes) -> Replay:
    path.write_bytes(data)
    return open_replay(path)


def header_map(**changes: Any) -> dict[str, Any]:
    data = msgspec.msgpack.decode(pack_header(ev.Episode(tick=0, game="snake", load="easy", seed=1, agent="random")))
    return {**data, **changes}


def tick_record(tick: int, *events: Any) -> bytes:
    return pack_record(KIND_TICK, tick, msgpack.packb(list(events)))


def assert_usable(replay: Replay) -> None:
    """Everything a command may ask of a replay works, and its output is strict JSON."""
    replay.check()
    msgspec.json.decode(msgspec.json.encode(info(replay)))
    assert list(csv_lines(replay))
    for line in jsonl_lines(replay):
        msgspec.json.decode(line)


def test_every_cut_of_the_tail_leaves_every_whole_tick(tmp_path: Path, played: Played, whole: bytes) -> None:
    starts = record_starts(whole)
    path = tmp_path / "a.rtr"
    path.write_bytes(whole)
    for k in sorted({*range(1, 201), *(len(whole) - start + shift for start in starts[1:] for shift in (-1, 0, 1))}):
        os.truncate(path, len(whole) - k)
        with open_replay(path) as replay:
            kept = [start for start, stop in zip(starts, [*starts[1:], len(whole)]) if stop <= len(whole) - k]
            assert replay.incomplete, k
            assert replay.warnings, k
            assert str(replay.warnings[-1].offset) in str(replay.warnings[-1])
            read = list(replay)
            assert read == played.events[: len(read)]
            assert replay.tick_count <= len(kept)
            if replay.last_tick is not None:
                assert replay.events(replay.last_tick)
            # One record is the index of nothing, some are keyframes.
            assert len(replay.ticks) == max(0, min(30, len(kept) - 1 - len(replay.keyframe_ticks))), k


def test_a_small_file_cut_at_every_byte_opens_or_says_it_is_no_replay(tmp_path: Path) -> None:
    short = play(ticks=2)
    whole = write(tmp_path / "whole.rtr", short).read_bytes()
    header = record_starts(whole)[0]
    path = tmp_path / "a.rtr"
    path.write_bytes(whole)
    # From the longest down: cutting a file is quick, writing thousands of them is not.
    for length in range(len(whole) - 1, -1, -1):
        os.truncate(path, length)
        if length < header:
            with pytest.raises(ReplayError) as error:
                open_replay(path)
            assert "\n" not in str(error.value)
            continue
        with open_replay(path) as replay:
            read = list(replay)
            assert read == short.events[: len(read)]
            assert replay.incomplete


def test_a_cut_record_is_named_with_its_byte_and_sizes(tmp_path: Path, whole: bytes) -> None:
    last_tick = record_starts(whole)[-3]
    with opened(tmp_path / "a.rtr", whole[: last_tick + 40]) as replay:
        assert f"record at byte {last_tick} is cut short (expected" in str(replay.warnings[-1])
        assert "found 40)" in str(replay.warnings[-1])
        assert info(replay)["status"] == "incomplete"


def test_a_block_of_zeros_is_noticed_and_what_stands_around_it_is_used(tmp_path: Path, played: Played, whole: bytes) -> None:
    at = len(whole) * 60 // 100
    data = whole[:at] + bytes(512) + whole[at + 512 :]
    starts = record_starts(whole)
    hit = max(start for start in starts if start <= at)
    for tail in (data, data[:-1]):  # with its index, and without
        with opened(tmp_path / "a.rtr", tail) as replay:
            warnings = replay.check()
            assert any(str(hit) in str(warning) for warning in warnings), [str(w) for w in warnings]
            read = list(replay)
            assert read != played.events
            assert [event for event in played.events if event in read] == read
            lost = {event.tick for event in played.events} - {event.tick for event in read}
            assert 1 <= len(lost) <= 4
            assert replay.events(0) == tuple(played.ticks[0][1])
            assert replay.events(29)[-1] == played.end
            assert_usable(replay)


def test_damage_stays_visible_after_a_new_index(tmp_path: Path, whole: bytes) -> None:
    at = record_starts(whole)[10] + 3
    path = tmp_path / "a.rtr"
    path.write_bytes(whole[:at] + bytes(8) + whole[at + 8 : -1])
    from replays.writer import ReplayWriter

    ReplayWriter.resume(path).close()
    with open_replay(path) as replay:
        assert replay.closed
        assert any("damaged" in str(warning) for warning in replay.warnings)


@pytest.mark.parametrize("name", ["array32", "map32", "bin32", "str32", "nested16"])
def test_a_size_bomb_is_refused_at_once(name: str) -> None:
    peak, began = Peak(), time.perf_counter()
    with pytest.raises(ReplayError, match="no rtdesk replay") as error:
        open_replay(DATA / f"bomb_{name}.msgpack")
    assert "\n" not in str(error.value)
    assert time.perf_counter() - began < 2
    assert peak.kib() < 200 * 1024


@pytest.mark.parametrize("name", ["array32", "map32", "bin32", "str32", "nested16"])
def test_a_size_bomb_inside_a_record_costs_that_record(tmp_path: Path, name: str) -> None:
    bomb = (DATA / f"bomb_{name}.msgpack").read_bytes()
    good = {"kind": "bookmark", "tick": 1, "note": "after"}
    data = msgpack.packb(header_map()) + pack_record(KIND_TICK, 0, bomb) + pack_record(KIND_KEYFRAME, 0, bomb) + tick_record(1, good)
    # The bomb as a bare object between records, too.
    data += bomb + tick_record(2, {**good, "tick": 2})
    began = time.perf_counter()
    with opened(tmp_path / "a.rtr", data) as replay:
        assert replay.events(0) == ()
        assert replay.keyframe(5) is None
        assert [event.tick for event in replay if isinstance(event, ev.Bookmark)] == [1, 2]
        assert len(replay.check()) >= 3
        assert_usable(replay)
    assert time.perf_counter() - began < 2


def test_a_zlib_bomb_stops_at_the_limit() -> None:
    script = """
import zlib
from memory_kit import Peak
from replays.format import BadRecord, inflate
machine = zlib.compressobj(1)
bomb = b"".join(machine.compress(bytes(1 << 20)) for _ in range(400)) + machine.flush()
peak = Peak()
try:
    inflate(1, bomb)
except BadRecord as error:
    print(error, peak.kib() // 1024)
"""
    path = os.pathsep.join((str(Path(__file__).parent), str(Path(__file__).parents[2])))
    out = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "inflates to more than" in out
    assert int(out.split()[-1]) < 200


def test_a_payload_of_millions_of_tiny_objects_is_refused_before_any_is_made() -> None:
    count = 5_000_000
    payload = b"\xdd" + count.to_bytes(4, "big") + b"\x80" * count
    peak = Peak()
    with pytest.raises(BadRecord, match="more than 4000000 objects"):
        vet(payload)
    assert peak.kib() < 100 * 1024


@pytest.mark.parametrize(
    "filler", [b"\x80", b"\x90", b"\xa1x", b"\xe0", b"\xcd\x7f\x7f", b"\xcb" + bytes(8), b"\xd9\x01x", b"\xc7\x01\x05x", b"\xd4\x05x", b"\xc4\x01x"]
)
def test_objects_of_every_form_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch, filler: bytes) -> None:
    monkeypatch.setattr("replays.format.MAX_OBJECTS", 1000)
    for count in (999, 1000):
        payload = b"\xdd" + count.to_bytes(4, "big") + filler * count
        if count == 999:
            vet(payload)
        else:
            with pytest.raises(BadRecord, match="more than 1000 objects"):
                vet(payload)


def test_text_in_another_script_is_not_mistaken_for_objects() -> None:
    vet(msgpack.packb(["思" * 2_000_000, b"\xff" * 5_000_000, 1.5, -3, None]))


@pytest.mark.parametrize("filler", [b"\x80", b"\xc0", b"\x01", b"\x90"])
def test_a_payload_of_events_without_end_is_refused_before_one_is_looked_at(filler: bytes) -> None:
    payload = b"\xdd" + (3_900_000).to_bytes(4, "big") + filler * 3_900_000
    with pytest.raises(BadRecord, match="lists 3900000 events; at most 500000"):
        unpack_events(payload, 0)
    with pytest.raises(ValueError, match="at most 500000"):
        pack_events([ev.Bookmark(tick=0)] * 500_001)


def test_a_payload_of_little_but_malformed_events_is_no_payload_of_events() -> None:
    good = ev.to_map(ev.Bookmark(tick=0))
    few = msgpack.packb([good] + [{"kind": "bookmark"}] * 1000)
    events, problems = unpack_events(few, 0)
    assert (len(events), len(problems)) == (1001, 1000)
    with pytest.raises(BadRecord, match="more than 1000 of its events"):
        unpack_events(msgpack.packb([good] + [{"kind": "bookmark"}] * 1002), 0)
    # Of a newer version's kinds there may be any number.
    newer, problems = unpack_events(msgpack.packb([{"kind": "martian", "tick": 0}] * 5000), 0)
    assert (len(newer), problems) == (5000, [])


def test_what_is_kept_of_ticks_is_bounded_by_the_memory_they_take_and_not_by_their_bytes(tmp_path: Path) -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile")
    with ReplayWriter.create(tmp_path / "a.rtr", header) as writer:
        for tick in range(2):
            # 600 kB that are 40 MB of dicts.
            writer.tick(tick, [ev.Tick(tick=tick, view={"a": [{}] * 600_000}, text="")])
    with open_replay(tmp_path / "a.rtr") as replay:
        first = replay.events(0)
        assert replay.events(0) is first
        assert replay.events(1)
        assert replay.events(0) is not first


def test_an_empty_path_is_seen_in_its_error() -> None:
    with pytest.raises(ReplayError, match=r"^'': cannot be opened"):
        open_replay("")


def test_text_in_another_script_is_kept_like_any_other(tmp_path: Path) -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile")
    text = "思考" * 100_000
    with ReplayWriter.create(tmp_path / "a.rtr", header) as writer:
        for tick in range(20):
            writer.tick(tick, [ev.Token(tick=tick, stream="planner", generation=0, channel="reasoning", text=text, lens=[3])])
    with open_replay(tmp_path / "a.rtr") as replay:
        first = replay.events(0)
        assert all(replay.events(tick) for tick in range(20))
        assert replay.events(0) is first


def test_other_broken_zlib_data_is_refused() -> None:
    good = zlib.compress(b"x" * 1000)
    for codec, stored in ((1, good[:-5]), (1, b"nonsense"), (1, b""), (7, b"")):
        with pytest.raises(BadRecord):
            inflate(codec, stored)
    assert inflate(1, good) == b"x" * 1000
    assert MAX_INFLATED >= 3 << 20


@pytest.mark.parametrize("version", [999, None, "1", -1, 0, 1.0, True, "missing"])
def test_a_version_this_reader_does_not_know_is_refused_in_one_sentence(tmp_path: Path, whole: bytes, version: Any) -> None:
    start = record_starts(whole)[0]
    header = msgpack.unpackb(whole[:start])
    if version == "missing":
        del header["version"]
    else:
        header["version"] = version
    with pytest.raises(ReplayError) as error:
        opened(tmp_path / "a.rtr", msgpack.packb(header) + whole[start:])
    text = str(error.value)
    assert "\n" not in text
    if version == 999:
        assert "newer" in text
    assert (repr(None) if version == "missing" else repr(version)) in text
    assert " 1" in text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04", "begins with byte 0x50"),
        (b"\x80", "has format None"),
        (msgpack.packb({"format": "other", "version": 1}), "has format 'other'"),
        (msgpack.packb({"format": "x" * 1000}), r"has format 'xxx.*\.\.\."),
        (msgpack.packb(header_map(seed="one")), "seed"),
        (msgpack.packb({name: value for name, value in header_map().items() if name != "game"}), "game"),
        (msgpack.packb({1: 2}), "has format None"),
        (b"\x81\xc1\x01", "cannot be read|cut short"),
        (b"\x81\x80\x01", "cannot be read"),
    ],
)
def test_what_is_no_replay_is_told_in_one_sentence(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(ReplayError, match=words) as error:
        opened(tmp_path / "a.rtr", data)
    assert "\n" not in str(error.value)


def test_a_path_that_cannot_be_a_replay_is_told_in_one_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none.rtr", tmp_path, tmp_path / "pipe", Path("/dev/zero"), "a\0b"):
        with pytest.raises(ReplayError):
            open_replay(path)


def test_foreign_maps_with_whole_numbers_as_keys_load(tmp_path: Path) -> None:
    foreign = msgpack.unpackb((DATA / "int_keys.msgpack").read_bytes(), strict_map_key=False)
    with pytest.raises(ReplayError, match="no rtdesk replay"):
        open_replay(DATA / "int_keys.msgpack")
    data = msgpack.packb(header_map(meas={"table": {3: "x"}})) + tick_record(
        0,
        {**foreign, "tick": 0},
        {"kind": "tick", "tick": 0, "view": {"cells": {3: "U", 4: {5: 6}}}, "text": ""},
        {"kind": "tick", "tick": 0, "view": {3: "U"}, "text": ""},
    )
    with opened(tmp_path / "a.rtr", data) as replay:
        plan, tick, odd = replay.events(0)
        assert isinstance(plan, UnknownEvent)
        assert plan.data["actions"] == {3: "U", 4: "L"}
        assert isinstance(tick, ev.Tick)
        assert tick.view == {"cells": {3: "U", 4: {5: 6}}}
        assert isinstance(odd, UnknownEvent)
        assert "view" in odd.why
        assert_usable(replay)


def test_unknown_kinds_and_fields_of_a_newer_version_are_kept(tmp_path: Path) -> None:
    tick = {"kind": "tick", "tick": 0, "view": {}, "text": "hello", "weather": "rain"}
    mood = {"kind": "mood", "tick": 0, "seq": 4, "at": 9, "feels": [1, 2]}
    data = msgpack.packb(header_map(colour="red")) + tick_record(0, tick, mood) + pack_record(9, 0, b"newer") + tick_record(1, {**tick, "tick": 1})
    with opened(tmp_path / "a.rtr", data) as replay:
        known, unknown = replay.events(0)
        assert known == ev.Tick(tick=0, view={}, text="hello")
        assert unknown == UnknownEvent(kind="mood", tick=0, seq=4, at=9, data=mood, why="unknown kind")
        assert replay.header_map["colour"] == "red"
        found = info(replay)
        assert found["unknown_events"] == {"mood": 1}
        assert found["unknown_records"] == {"9": 1}
        assert [str(w) for w in replay.warnings if "not closed" not in str(w)] == []
        assert '"feels":[1,2]' in "".join(jsonl_lines(replay))
    resave(tmp_path / "a.rtr", tmp_path / "b.rtr")
    copied = (tmp_path / "b.rtr").read_bytes()
    for part in (msgpack.packb(header_map(colour="red")), tick_record(0, tick, mood), pack_record(9, 0, b"newer")):
        assert part in copied


def test_an_event_whose_fields_are_wrong_does_not_take_its_neighbours_along(tmp_path: Path) -> None:
    good = {"kind": "bookmark", "tick": 0, "note": "x"}
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    wrong = [{"kind": "step", "tick": 0}, {"kind": 5}, {"tick": 0}, {"kind": "tick", "tick": 0, "view": {"a": deep}, "text": ""}, 7, "text"]
    data = msgpack.packb(header_map()) + tick_record(0, good, *wrong, good)
    with opened(tmp_path / "a.rtr", data) as replay:
        events = replay.events(0)
        assert [event for event in events if isinstance(event, ev.Bookmark)] == [ev.Bookmark(tick=0, note="x")] * 2
        assert [event.kind for event in events if isinstance(event, UnknownEvent)] == ["step", "5", "None"]
        (warning,) = [str(w) for w in replay.warnings if "event" in str(w)]
        assert "event 1 ('step')" in warning
        assert "missing required field" in warning
        assert_usable(replay)


@pytest.mark.parametrize("arrivals", [5, "x", 1.5, True, b"x", {}, {"a": 1}, [1], [[1]], [[1, 2, 3]], [[-1, 2]], [["a", 2]], [[1, None]]])
def test_arrivals_that_are_none_cost_that_event_alone(tmp_path: Path, arrivals: Any) -> None:
    token = {"kind": "token", "tick": 0, "stream": "planner", "generation": 0, "channel": "content", "text": "a", "lens": [1], "meas": {"arrivals": arrivals}}
    good = {"kind": "bookmark", "tick": 0, "note": "after"}
    with opened(tmp_path / "a.rtr", msgpack.packb(header_map()) + tick_record(0, token, good)) as replay:
        first, second = replay.events(0)
        assert isinstance(first, UnknownEvent)
        assert second == ev.Bookmark(tick=0, note="after")
        assert_usable(replay)


def test_fields_at_their_default_may_be_missing(tmp_path: Path) -> None:
    step = {"kind": "step", "tick": 0, "state": {}, "reward": 1, "score": 2}
    with opened(tmp_path / "a.rtr", msgpack.packb(header_map()) + tick_record(0, step)) as replay:
        assert replay.events(0) == (ev.Step(tick=0, state={}, reward=1.0, score=2.0),)


def test_floats_that_are_no_numbers_survive_and_are_exported_as_strict_json(tmp_path: Path) -> None:
    values = msgpack.unpackb((DATA / "floats.msgpack").read_bytes())
    step = {"kind": "step", "tick": 0, "state": values, "reward": values["score"], "score": values["best"]}
    with opened(tmp_path / "a.rtr", msgpack.packb(header_map()) + tick_record(0, step)) as replay:
        (read,) = replay.events(0)
        assert isinstance(read, ev.Step)
        assert read.reward != read.reward
        assert read.score == float("inf")
        assert str(read.state["z"]) == "-0.0"
        assert read.state["d"] == 5e-324

        def refuse(name: str) -> None:
            raise AssertionError(name)

        import json

        lines = [json.loads(line, parse_constant=refuse) for line in jsonl_lines(replay)]
        assert lines[1]["reward"] is None
        assert lines[1]["state"]["d"] == 5e-324
        assert json.loads(json.dumps(info(replay)), parse_constant=refuse)["raw_score"] is None
        assert ",nan,inf," in "".join(csv_lines(replay))


def test_very_long_texts_and_very_many_events_load(tmp_path: Path) -> None:
    from replays.writer import ReplayWriter

    long = ev.Token(tick=0, at=1, stream="planner", generation=0, channel="reasoning", text="x" * (3 << 20), lens=[4] * 786_432)
    many = [ev.Token(tick=1, at=i, seq=i, stream="planner", generation=0, channel="reasoning", text="ab", lens=[2]) for i in range(130_000)]
    with ReplayWriter.create(tmp_path / "a.rtr", ev.Episode(tick=0, game="snake", load="easy", seed=1, agent="random")) as writer:
        writer.tick(0, [long])
        writer.tick(1, many)
    with open_replay(tmp_path / "a.rtr") as replay:
        assert replay.events(0) == (long,)
        assert len(replay.events(1)) == 130_000
        assert [str(w) for w in replay.warnings] == []


def test_opening_reads_the_header_and_the_index_only(tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from replays.scan import Source

    read: list[tuple[int, int]] = []
    original = Source.read

    def spy(self: Source, offset: int, count: int) -> bytes:
        data = original(self, offset, count)
        read.append((offset, len(data)))
        return data

    monkeypatch.setattr(Source, "read", spy)
    # Ticks follow the header at once in so small a file, so count what is read beyond the header's first look.
    with opened(tmp_path / "a.rtr", whole) as replay:
        assert sum(length for offset, length in read if offset) < 1200
        read.clear()
        replay.events(17)
        assert len(read) == 1
        replay.events(17)
        assert len(read) == 1


def test_an_index_that_lies_never_shows_what_is_not_there(tmp_path: Path, played: Played, whole: bytes) -> None:
    starts = record_starts(whole)
    records = [(start, stop - start) for start, stop in zip(starts, [*starts[1:], len(whole)])]
    body = whole[: starts[-1]]
    header = (starts[0], zlib.crc32(whole[: starts[0]]))

    def with_index(rows: list[tuple[int, int, int, int]]) -> bytes:
        table = Table()
        for row in rows:
            table.add(*row)
        return body + pack_record(1, 0, pack_index(table, header, len(body)), compress=False)

    true_rows = [(0, tick, *records[i]) for tick, i in ((0, 1), (1, 2), (2, 3))]
    swapped = [(0, 5, *records[1]), (0, 6, *records[2])]
    beyond = [(0, 0, len(body) + 5, 1000)]
    backwards = true_rows[::-1]
    huge = [(0, 0, records[1][0], 2**32 - 1)]
    with opened(tmp_path / "a.rtr", with_index(true_rows)) as replay:
        assert list(replay.ticks) == [0, 1, 2]
        assert any("skipped" in str(warning) for warning in replay.warnings)
    with opened(tmp_path / "a.rtr", with_index(swapped)) as replay:
        assert [event for event in replay if event is not replay.header] == []
        assert any("another record" in str(warning) for warning in replay.warnings)
    for rows in (beyond, backwards, huge):
        with opened(tmp_path / "a.rtr", with_index(rows)) as replay:
            # Not orderly, so the file is walked instead.
            assert list(replay) == played.events


def test_records_out_of_order_are_read_by_tick(tmp_path: Path) -> None:
    marks = [{"kind": "bookmark", "tick": tick, "note": note} for tick, note in ((2, "c"), (0, "a"), (2, "d"), (2**63, "z"))]
    data = msgpack.packb(header_map()) + b"".join(tick_record(mark["tick"], mark) for mark in marks)
    with opened(tmp_path / "a.rtr", data) as replay:
        assert list(replay.ticks) == [0, 2, 2**63]
        assert [event.note for event in replay if isinstance(event, ev.Bookmark)] == ["a", "c", "d", "z"]
        assert_usable(replay)


def test_keyframes_are_found_at_or_before_a_tick(tmp_path: Path, whole: bytes) -> None:
    with opened(tmp_path / "a.rtr", whole) as replay:
        assert list(replay.keyframe_ticks) == [7, 15, 23]
        assert replay.keyframe(6) is None
        assert replay.keyframe(7) == (7, {"tick": 7, "note": "state after it"})
        assert replay.keyframe(14) == (7, {"tick": 7, "note": "state after it"})
        assert replay.keyframe(10**9) == (23, {"tick": 23, "note": "state after it"})


def test_a_damaged_keyframe_gives_the_one_before(tmp_path: Path, whole: bytes) -> None:
    at = whole.index(MARK_BYTES + bytes([KIND_KEYFRAME, 15])) + 22
    data = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    with opened(tmp_path / "a.rtr", data) as replay:
        assert replay.keyframe(16) == (7, {"tick": 7, "note": "state after it"})
        assert len(replay.warnings) == 1


def test_a_part_of_a_replay_is_walked_without_the_header(tmp_path: Path, played: Played, whole: bytes) -> None:
    with opened(tmp_path / "a.rtr", whole) as replay:
        assert list(replay.iter(3, 5)) == [*played.ticks[3][1], *played.ticks[4][1]]
        assert list(replay.iter(28)) == [*played.ticks[28][1], *played.ticks[29][1], played.end]
        assert list(replay.iter(50)) == []
        assert replay.events(99) == ()


@pytest.mark.parametrize("window", [47, 64, 101])
def test_a_record_is_found_again_wherever_the_window_ends(window: int, tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = record_starts(whole)
    damaged = bytearray(whole)
    for at in starts[2:20:3]:
        damaged[at + 2] ^= 0xFF
    damaged[-9:] = bytes(9)
    with opened(tmp_path / "a.rtr", bytes(damaged)) as replay:
        found = replay.ticks
    assert 0 < len(found) < len(starts)
    monkeypatch.setattr(scan, "_WINDOW", window)
    with opened(tmp_path / "b.rtr", bytes(damaged)) as replay:
        assert replay.ticks == found


def test_a_file_of_marks_does_not_take_for_ever(tmp_path: Path) -> None:
    # Each claims a megabyte that is there, and none has a right checksum.
    claim = MARK_BYTES + b"\x00\x00\xc4\x04abcd\x00\xc6\x00\x10\x00\x00"
    data = msgpack.packb(header_map()) + claim * 100_000
    began = time.perf_counter()
    with pytest.raises(ReplayError, match="too damaged"):
        opened(tmp_path / "a.rtr", data)
    assert time.perf_counter() - began < 5


def test_old_recordings_open_for_ever() -> None:
    with open_replay(DATA / "v1-snake.rtr") as replay:
        found = info(replay)
    assert found["complete"]
    assert found["warnings"] == []
    assert found["unknown_events"] == {}
    assert set(found["events"]) == {str(kind.__struct_config__.tag) for kind in ev.Event.__subclasses__()}
    assert found["canonical"] == (DATA / "v1-snake.sha256").read_text().strip()


def test_several_threads_read_one_replay(tmp_path: Path, played: Played, whole: bytes) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with opened(tmp_path / "a.rtr", whole) as replay, ThreadPoolExecutor(8) as pool:
        wanted = [tick % 29 for tick in range(2000)]
        for tick, events in zip(wanted, pool.map(replay.events, wanted)):
            assert events == tuple(played.ticks[tick][1])


def test_a_replay_that_is_a_link_can_be_read(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "a.rtr").write_bytes(whole)
    (tmp_path / "b.rtr").symlink_to(tmp_path / "a.rtr")
    with open_replay(tmp_path / "b.rtr") as replay:
        assert replay.tick_count == 30
    shutil.rmtree(tmp_path)


def test_a_record_taken_out_whole_is_noticed(tmp_path: Path, played: Played, whole: bytes) -> None:
    starts = record_starts(whole)
    with opened(tmp_path / "a.rtr", whole[: starts[8]] + whole[starts[9] :]) as replay:
        assert "does not fit the file" in str(replay.warnings[0])
        assert info(replay)["missing_ticks"] == 1
        assert len(list(replay)) == len(played.events) - len(played.ticks[7][1])
