"""A cursor moves through a replay by ticks, by events and to the next event of a kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from replay_episodes import Played, play, record_starts, write

from replays import events as ev
from replays.cursor import Cursor
from replays.reader import Replay, open_replay
from replays.writer import ReplayWriter


@pytest.fixture(scope="module")
def played() -> Played:
    return play(ticks=20)


@pytest.fixture
def replay(tmp_path: Path, played: Played) -> Iterator[Replay]:
    with open_replay(write(tmp_path / "a.rtr", played)) as replay:
        yield replay


def test_a_cursor_walks_every_event_and_back(replay: Replay, played: Played) -> None:
    cursor = Cursor(replay)
    walked = [cursor.event]
    while (event := cursor.step()) is not None:
        walked.append(event)
    assert walked == played.events[1:]
    assert cursor.at_end
    back = [cursor.event]
    while (event := cursor.step(-1)) is not None:
        back.append(event)
    assert back == walked[::-1]


def test_steps_of_several_events_stop_at_the_end(replay: Replay, played: Played) -> None:
    cursor = Cursor(replay)
    assert cursor.step(5) == played.events[6]
    assert cursor.step(-3) == played.events[3]
    assert cursor.step(0) == played.events[3]
    assert cursor.step(10_000) is None
    assert cursor.event == played.end
    assert cursor.step(-10_000) is None
    assert cursor.event == played.events[1]


def test_seek_goes_to_a_tick_or_the_nearest_before(replay: Replay, played: Played) -> None:
    cursor = Cursor(replay)
    assert cursor.seek(7) == played.ticks[7][1][0]
    assert cursor.tick == 7
    assert cursor.seek(10**9) == played.ticks[19][1][0]
    assert cursor.seek(-5) == played.ticks[0][1][0]


def test_next_of_a_kind_is_found_in_both_directions(replay: Replay) -> None:
    cursor = Cursor(replay)
    seen = []
    while (event := cursor.next("fault", "budget")) is not None:
        seen.append((event.tick, type(event)))
    assert seen == [(5, ev.Budget), (6, ev.Fault), (13, ev.Fault), (15, ev.Budget)]
    assert cursor.tick == 15
    found = cursor.previous("action", where=lambda event: isinstance(event, ev.Action) and event.source == "default")
    assert found is not None
    assert (found.tick, cursor.event) == (13, found)
    assert cursor.previous("segment", where=lambda event: False) is None
    assert cursor.event == found
    assert cursor.next("no such kind") is None
    assert cursor.event == found


def test_a_tick_lost_to_damage_is_stepped_over(tmp_path: Path, played: Played) -> None:
    data = bytearray(write(tmp_path / "a.rtr", played).read_bytes())
    # The index of nothing, then the ticks: spoil ticks 0 and 3.
    for place in (1, 4):
        data[record_starts(bytes(data))[place] + 30] ^= 0xFF
    (tmp_path / "a.rtr").write_bytes(data)
    with open_replay(tmp_path / "a.rtr") as replay:
        cursor = Cursor(replay)
        assert cursor.tick == 1
        assert cursor.seek(3) == played.ticks[2][1][0]
        assert cursor.next("tick") == played.ticks[4][1][0]
        assert cursor.seek(0) == played.ticks[1][1][0]
        assert [warning.offset for warning in replay.warnings] == [record_starts(bytes(data))[place] for place in (1, 4)]


def test_a_replay_without_events_has_a_cursor_on_nothing(tmp_path: Path, played: Played) -> None:
    ReplayWriter.create(tmp_path / "a.rtr", played.header).close()
    with open_replay(tmp_path / "a.rtr") as replay:
        cursor = Cursor(replay)
        assert (cursor.event, cursor.tick, cursor.at_end) == (None, None, True)
        assert (cursor.seek(3), cursor.step(), cursor.next("tick")) == (None, None, None)


def test_an_event_of_an_unknown_kind_can_be_looked_for(tmp_path: Path, played: Played) -> None:
    import msgpack

    from replays.format import KIND_TICK, pack_record
    from replays.writer import pack_header

    record = pack_record(KIND_TICK, 0, msgpack.packb([{"kind": "bookmark", "tick": 0}, {"kind": "mood", "tick": 0}]))
    (tmp_path / "a.rtr").write_bytes(pack_header(played.header) + record)
    with open_replay(tmp_path / "a.rtr") as replay:
        found = Cursor(replay).next("mood")
        assert found is not None
        assert found.tick == 0
