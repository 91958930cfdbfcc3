"""Whatever is done to a file's bytes: an error in one sentence or a usable replay, nothing invented, no loss untold."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from replay_episodes import play, record_starts, write

from replays import events as ev
from replays.errors import ReplayError
from replays.export import csv_lines, jsonl_lines
from replays.info import info
from replays.reader import open_replay
from replays.writer import ReplayWriter

PLAYED = play(ticks=6)
KNOWN = {ev.encode(event) for event in PLAYED.events}
QUICK = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])

place = st.floats(0, 1, exclude_max=True)
operation = st.one_of(
    st.tuples(st.just("cut"), place),
    st.tuples(st.just("flip"), place, st.integers(0, 7)),
    st.tuples(st.just("insert"), place, st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("zero"), place, st.integers(1, 600)),
    st.tuples(st.just("delete"), place, st.integers(1, 600)),
    st.tuples(st.just("swap"), place, place, st.integers(1, 300)),
    st.tuples(st.just("double"), place, st.integers(1, 2000)),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(tmp_path_factory.mktemp("fuzz") / "a.rtr", PLAYED, keyframe_every=3).read_bytes()


def mutated(data: bytes, op: tuple) -> bytes:
    at = int(op[1] * len(data))
    if op[0] == "cut":
        return data[:at]
    if op[0] == "flip":
        return data[:at] + bytes([data[at] ^ (1 << op[2])]) + data[at + 1 :] if data else data
    if op[0] == "insert":
        return data[:at] + op[2] + data[at:]
    if op[0] == "zero":
        return data[:at] + bytes(min(op[2], len(data) - at)) + data[at + op[2] :]
    if op[0] == "delete":
        return data[:at] + data[at + op[2] :]
    if op[0] == "double":
        return data[: at + op[2]] + data[at:]
    other, size = int(op[2] * len(data)), op[3]
    low, high = sorted((at, other))
    size = min(size, high - low, len(data) - high)
    return data[:low] + data[high : high + size] + data[low + size : high] + data[low : low + size] + data[high + size :]


def look(path: Path) -> list[bytes] | None:
    """Use a file in every way; return its events but the header, None if it is refused."""
    try:
        replay = open_replay(path)
    except ReplayError as error:
        refusal = str(error)
        replay = None
    if replay is None:
        assert "\n" not in refusal
        return None
    with replay:
        read = list(replay)
        replay.check()
        replay.keyframe(5)
        msgspec.json.encode(info(replay))
        assert sum(len(line) for line in csv_lines(replay))
        for line in jsonl_lines(replay):
            msgspec.json.decode(line)
        if read[0] != PLAYED.header:
            assert replay.warnings
        if len(read) < len(PLAYED.events):
            assert replay.warnings or replay.incomplete or info(replay)["missing_ticks"]
        return [ev.encode(event) for event in read[1:]]


@QUICK
@given(ops=st.lists(operation, min_size=1, max_size=3))
def test_damage_never_invents_an_event_and_never_goes_untold(tmp_path: Path, whole: bytes, ops: list[tuple]) -> None:
    data = whole
    for op in ops:
        data = mutated(data, op)
    path = tmp_path / "a.rtr"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    found = look(path)
    assert found is None or set(found) <= KNOWN


@QUICK
@given(ops=st.lists(operation, min_size=1, max_size=2))
def test_a_damaged_file_is_resumed_or_refused_and_keeps_what_was_whole(tmp_path: Path, whole: bytes, ops: list[tuple]) -> None:
    data = whole
    for op in ops:
        data = mutated(data, op)
    path = tmp_path / "a.rtr"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    before = look(path)
    try:
        ReplayWriter.resume(path).close()
    except ReplayError:
        return
    after = look(path)
    assert before is not None
    assert after is not None
    # A walk may find what a damaged index hid, never less.
    assert set(before) <= set(after)


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(st.binary(max_size=300), st.binary(max_size=60).map(lambda tail: b"\x82\xa6format\xadrtdesk.replay\xa7version\x01" + tail)))
def test_bytes_that_are_no_replay_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.rtr"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    assert look(path) is None


@QUICK
@given(tail=st.binary(max_size=400), keep=st.integers(0, 9))
def test_any_bytes_behind_whole_records_leave_those_records(tmp_path: Path, whole: bytes, tail: bytes, keep: int) -> None:
    starts = record_starts(whole)
    path = tmp_path / "a.rtr"
    path.unlink(missing_ok=True)
    path.write_bytes(whole[: starts[keep]] + tail)
    found = look(path)
    assert found is not None
    expected = [ev.encode(event) for event in PLAYED.events[1:]]
    assert found == expected[: len(found)]
    held = sum(len(events) for _, events in PLAYED.ticks[: max(0, keep - 1 - (keep > 4) - (keep > 8))])
    assert len(found) >= held
