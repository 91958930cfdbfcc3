"""What the result card is told of earlier runs of a level."""

import itertools
from pathlib import Path

import msgspec
import pytest

import rtdesk
from replays.reader import open_replay
from replays.view_state import ViewState
from replays.writer import ReplayWriter
from rtdesk.earlier import Earlier


def play(folder: Path, name: str, *, agent: str = "default", seed: int = 5, ticks: int = 12) -> Path:
    """Play an episode and keep its recording under `name`, which is its id as well."""
    header, *events = rtdesk.simulate("snake", load="easy", agent=agent, seed=seed, ticks=ticks).events
    path = folder / f"{name}.rtr"
    with ReplayWriter.create(path, msgspec.structs.replace(header, meas={**header.meas, "file_id": name})) as writer:
        for tick, of_tick in itertools.groupby(events[:-1], key=lambda event: event.tick):
            writer.tick(tick, list(of_tick))
        writer.end(events[-1])
    return path


def state_of(path: Path) -> ViewState:
    with open_replay(path) as recording:
        return ViewState(header=recording.header)


def score_of(path: Path) -> float:
    with open_replay(path) as recording:
        return next(event.totals.score for event in recording.events(recording.ticks[-1]) if type(event).__name__ == "End")


def test_only_finished_runs_of_the_same_level_and_length_count_and_never_the_run_itself(tmp_path: Path) -> None:
    own = play(tmp_path, "snake-easy-s5-agile-3", agent="agile")
    one = play(tmp_path, "snake-easy-s5-default-1")
    two = play(tmp_path, "snake-easy-s5-reactive-2", agent="reactive")
    play(tmp_path, "snake-easy-s5-longer", ticks=14)
    play(tmp_path, "snake-easy-s6-other", seed=6)
    (tmp_path / "snake-easy-s5-broken.rtr").write_bytes(b"no recording")
    earlier = Earlier(tmp_path)
    assert sorted(earlier(state_of(own))) == pytest.approx(sorted((score_of(one), score_of(two))))
    assert earlier(ViewState()) == []


def test_the_folder_is_read_once_a_run(tmp_path: Path) -> None:
    own = state_of(play(tmp_path, "snake-easy-s5-a"))
    earlier = Earlier(tmp_path)
    assert earlier(own) == []
    other = play(tmp_path, "snake-easy-s5-b")
    assert earlier(own) == []
    assert own.header is not None
    again = ViewState(header=msgspec.structs.replace(own.header, meas={**own.header.meas, "file_id": "another"}))
    assert score_of(other) in earlier(again)


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    state = state_of(play(tmp_path, "snake-easy-s5-a"))
    assert Earlier(tmp_path / "nowhere")(state) == []
