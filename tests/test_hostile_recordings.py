"""Files whose checksums are right and whose contents are wild: every command answers, none with a traceback."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from replays import events as ev
from replays.errors import ReplayError
from replays.payload import UnknownEvent
from replays.reader import open_replay
from replays.writer import ReplayWriter
from rtdesk.cli import run
from workers.config import plan_episode
from workers.simulator import run_simulation

WILD: list[Any] = [0, -1, 1 << 62, -(1 << 62), 0.0, float("nan"), float("inf"), "", "x" * 999, "\x1b[2J", "</script>", None, True, [], {}, [[]], [1, 2], {"a": {"b": [1]}}, "planner", "stop"]


class Log:
    """A short episode, to be spoiled again and again."""

    def __init__(self) -> None:
        self.ticks: list[tuple[int, list[ev.AnyEvent]]] = []
        config = plan_episode("snake", load="hard", seed=1, ticks=4, tick_budget=512, reactive_budget=256)
        self.header, self.end = run_simulation(config, commit=lambda tick, events: self.ticks.append((tick, events)))

    def write(self, path: Path, rng: random.Random) -> bool:
        """Record it with some fields exchanged and some events lost, doubled or moved; False if it cannot even be written."""
        header = spoiled(self.header, rng) if rng.random() < 0.3 else self.header
        assert isinstance(header, ev.Episode)
        try:
            with ReplayWriter.create(path, header) as writer:
                for tick, events in self.ticks:
                    changed = list(events)
                    for _ in range(rng.choice((0, 1, 1, 3))):
                        place, how = rng.randrange(len(changed)), rng.random()
                        if how < 0.7:
                            changed[place] = spoiled(changed[place], rng)
                        elif how < 0.85:
                            changed.insert(place, rng.choice(changed))
                        elif len(changed) > 1:
                            del changed[place]
                    writer.tick(tick, changed)
                writer.end(self.end)
        except ReplayError:
            return False
        return True


def spoiled(event: ev.AnyEvent, rng: random.Random) -> ev.AnyEvent:
    """Exchange something in an event for something wild that still has the right type."""
    told = ev.to_map(event)
    names = [name for name in told if name != "kind"] + ["at", "t_ns", "meas"]
    for _ in range(20):
        name = rng.choice(names)
        try:
            return ev.decode_map({**told, name: poke(told.get(name), rng)})
        except (ValueError, TypeError, OverflowError):
            continue
    return event


def poke(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict | list) and value and rng.random() < 0.7:
        changed: Any = dict(value) if isinstance(value, dict) else list(value)
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        if rng.random() < 0.2:
            del changed[key]
        else:
            changed[key] = poke(value[key], rng)
        return changed
    return rng.choice(WILD)


COMMANDS = (
    ["info"],
    ["info", "--guidance"],
    ["verify"],
    ["diff", "good.rtr"],
    ["export", "--to", "svg", "--tick", "2"],
    ["export", "--to", "html"],
    ["export", "--to", "cast", "--fps", "2"],
    ["export", "--to", "csv", "-o", "out.csv"],
    ["export", "--to", "jsonl", "-o", "out.jsonl"],
    ["fork", "--tick", "99", "--headless"],
)


@pytest.fixture(scope="module")
def log() -> Log:
    return Log()


def ask_all(log: Log, seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    if not log.write(folder / "bad.rtr", rng):
        return
    for name, *more in COMMANDS:
        assert run([name, "bad.rtr", *more]) in (0, 1, 2), (seed, name, more)


@pytest.mark.parametrize("seed", range(16))
def test_no_command_fails_on_a_wild_recording(seed: int, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert Log.write(log, tmp_path / "good.rtr", random.Random(-1))
    ask_all(log, seed, tmp_path)
    capsys.readouterr()


@pytest.mark.slow
def test_no_command_fails_on_many_wild_recordings(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(100, 500):
        folder = tmp_path / str(seed)
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert log.write(folder / "good.rtr", random.Random(-1))
        ask_all(log, seed, folder)
        capsys.readouterr()


def test_an_event_in_another_ticks_record_and_arrivals_that_are_none_are_not_typed(tmp_path: Path) -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile")
    token = ev.Token(tick=0, stream="planner", generation=0, channel="reasoning", text="ab", lens=[1, 1])
    wild = [
        ev.Bookmark(tick=7, note="elsewhere"),
        *(ev.Token(tick=0, stream="planner", generation=0, channel="reasoning", text="ab", lens=[1, 1], meas={"arrivals": told}) for told in ("soon", [[1]], [["a", 2]], [[-3, 5]], [[True, 5]])),
        ev.Token(tick=0, stream="planner", generation=0, channel="reasoning", text="ab", lens=[3, -1]),
    ]
    with ReplayWriter.create(tmp_path / "a.rtr", header) as writer:
        writer.tick(0, [token, *wild])
    with open_replay(tmp_path / "a.rtr") as recording:
        first, *others = recording.events(0)
        assert first == token
        assert len(others) == len(wild)
        assert all(isinstance(event, UnknownEvent) for event in others)
        assert "tick 7, in a record of tick 0" in others[0].why
        assert any("bookmark" in str(warning) for warning in recording.warnings)
