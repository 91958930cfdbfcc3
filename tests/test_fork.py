"""Forks: the same game goes on from a recorded state, live and simulated alike, and verifies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replays import events as ev
from replays.reader import open_replay
from replays.verify import verify
from replays.writer import ReplayWriter
from rtdesk.cli import run
from rtdesk.fork import child_options, fork_options
from workers.config import plan_episode
from workers.errors import ConfigError
from workers.rerun import rerun
from workers.simulator import run_simulation

PARENT: dict[str, Any] = {"load": "hard", "seed": 1, "ticks": 10, "tick_budget": 1024, "reactive_budget": 512}


# A kitchen, where nobody dies.
def record(path: Path, game: str = "overcooked", **options: Any) -> Path:
    batches: list[tuple[int, list[ev.AnyEvent]]] = []
    config = plan_episode(game, **options)
    header, end = run_simulation(config, commit=lambda tick, events: batches.append((tick, events)), meas={"file_id": f"id-{path.stem}"})
    with ReplayWriter.create(path, header) as writer:
        for tick, events in batches:
            writer.tick(tick, events)
        writer.end(end)
    return path


def forked(path: Path, parent: Path, tick: int, **given: Any) -> Path:
    name, options = fork_options(str(parent), tick, given)
    return record(path, name, **options)


def events_of(path: Path) -> list[Any]:
    with open_replay(path) as recording:
        return list(recording)


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("fork") / "parent.rtr", **PARENT)


@pytest.mark.parametrize("agent", ["agile", "reactive", "planning", "random"])
def test_a_fork_goes_on_where_its_parent_stood(agent: str, parent: Path, tmp_path: Path) -> None:
    path = forked(tmp_path / "f.rtr", parent, 6, agent=agent)
    with open_replay(parent) as before, open_replay(path) as child:
        step = next(event for event in before.events(5) if isinstance(event, ev.Step))
        first = child.events(6)[0]
        assert isinstance(first, ev.Tick)
        assert first.snapshot == step.state
        assert (child.first_tick, first.tick, first.at) == (6, 6, 6 * 1024)
        assert child.header.parent == ev.Parent(file="id-parent", tick=6)
        assert child.header.agent == agent
        assert child.last_tick == 9
        verdict = verify(child)
        assert verdict.same
        again = rerun(child)
        assert (again.ticks, again.divergence) == (verdict.steps, None)


def test_thinkers_start_fresh(parent: Path, tmp_path: Path) -> None:
    events = events_of(forked(tmp_path / "f.rtr", parent, 6))
    starts = [event for event in events if isinstance(event, ev.Generation) and event.phase == "start"]
    assert starts[0].stream == "planner"
    assert (starts[0].id, starts[0].at) == (6, 6 * 1024)
    generations = {part.trace for event in starts for part in event.prompt if isinstance(part, ev.Part) and part.trace is not None}
    assert min(generations) >= 6


def test_a_fork_at_the_first_tick_with_nothing_changed_is_the_episode_again(parent: Path, tmp_path: Path) -> None:
    child = events_of(forked(tmp_path / "f.rtr", parent, 0))
    assert ev.canonical(child[1:]) == ev.canonical(events_of(parent)[1:])


@pytest.mark.parametrize("game", ["freeway", "snake"])
def test_every_game_can_be_forked(game: str, tmp_path: Path) -> None:
    path = record(tmp_path / "p.rtr", game, **{**PARENT, "load": "easy"})
    child = forked(tmp_path / "c.rtr", path, 1, agent="reactive")
    with open_replay(child) as recording:
        assert verify(recording).same
        assert rerun(recording).divergence is None


def test_a_fork_of_a_fork_names_its_own_parent(parent: Path, tmp_path: Path) -> None:
    child = forked(tmp_path / "child.rtr", parent, 3)
    grandchild = forked(tmp_path / "grandchild.rtr", child, 7)
    with open_replay(grandchild) as recording:
        assert recording.header.parent == ev.Parent(file="id-child", tick=7)
        assert verify(recording).same


def test_a_fork_behind_the_persons_own_limit_goes_on(parent: Path, tmp_path: Path) -> None:
    path = forked(tmp_path / "f.rtr", parent, 10, ticks=13)
    with open_replay(path) as recording:
        assert list(recording.ticks) == [10, 11, 12]


def test_what_is_not_given_is_as_it_was(parent: Path) -> None:
    with open_replay(parent) as recording:
        same = child_options(recording, {})
        assert (same["tick_budget"], same["reactive_budget"], same["ticks"]) == (1024, 512, 10)
        assert "reactive_budget" not in child_options(recording, {"agent": "reactive"})
        tight = child_options(recording, {"tick_budget": "256"})
        assert (tight["tick_budget"], tight["reactive_budget"]) == ("256", "256")
        wall = child_options(recording, {"tick_budget": "2s"})
        assert wall["clock"] == "wall"
        assert "reactive_budget" not in wall
        assert child_options(recording, {"clock": "wall"}).get("tick_budget") is None


@pytest.mark.parametrize(("tick", "says"), [(11, "from 0 to 10"), (-1, "from 0 to 10"), (10**9, "from 0 to 10")])
def test_a_tick_that_is_not_there_is_one_sentence(tick: int, says: str, parent: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        fork_options(str(parent), tick, {})


def test_nobody_goes_on_after_the_end(tmp_path: Path) -> None:
    path = record(tmp_path / "dead.rtr", "snake", agent="default", load="easy")
    with open_replay(path) as recording:
        last = recording.last_tick
        assert last is not None
    with pytest.raises(ConfigError, match=f"ended with tick {last} .dead."):
        fork_options(str(path), last + 1, {})


def test_a_limit_that_is_over_already_is_refused(parent: Path) -> None:
    name, options = fork_options(str(parent), 6, {"ticks": 6})
    with pytest.raises(ConfigError, match="counted from tick 0"):
        plan_episode(name, **options)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tick", "99"], "tick 99 is not in the recording"),
        (["--tick", "x"], "--tick"),
        ([], "--tick"),
        (["--tick", "4", "--agent", "agil"], "did you mean 'agile'"),
        (["--tick", "4", "--tick-budget", "0"], "out of range"),
        (["--tick", "4", "--json"], "--headless"),
        (["--tick", "4", "--ticks", "4"], "counted from tick 0"),
    ],
)
def test_bad_forks_are_one_line_and_exit_2(arguments: list[str], says: str, parent: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = run(["fork", str(parent), *arguments, *([] if "--json" in arguments else ["--headless"]), "--record", str(tmp_path / "x.rtr")])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert not list(tmp_path.iterdir())


def test_live_and_simulated_forks_leave_the_same_log(parent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "live.rtr"
    code = run(["fork", str(parent), "--tick", "6", "--reactive-budget", "256", "--headless", "--json", "--record", str(path)])
    told = json.loads(capsys.readouterr().out)
    assert (code, told["ticks"], told["replay"]) == (0, 4, str(path))
    simulated = events_of(forked(tmp_path / "simulated.rtr", parent, 6, reactive_budget="256"))
    assert ev.canonical(events_of(path)) == ev.canonical(simulated)
    assert run(["verify", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["thinkers"]["ticks"] == 4
