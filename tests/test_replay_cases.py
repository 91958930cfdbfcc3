"""The replay cases as an owner meets them: through the command line, with the exit code, one line of words and no traceback.

What the reader and the writer do with such files stands in `tests/replays`; here it is asserted that the commands pass it on.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest

import games
from replays import events as ev
from replays.format import keyframe_due
from replays.reader import open_replay
from replays.reduce import fold
from replays.view_state import ViewState
from replays.writer import ReplayWriter
from rtdesk.cli import run
from workers.config import plan_episode
from workers.simulator import run_simulation

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "replays" / "data"
GAMES = ["snake", "freeway", "overcooked"]
READERS = (["info", "--json"], ["verify"], ["export", "--to", "csv"], ["export", "--to", "jsonl"], ["export", "--to", "html", "-o", "out.html"])


def record(path: Path, game: str = "snake", *, change: Any = None, **options: Any) -> Path:
    """Record 30 ticks; `change` gives other events for some."""
    batches: list[tuple[int, list[ev.AnyEvent]]] = []
    settings = {"load": "easy", "seed": 3, "ticks": 30, "agent": "reactive", "tick_budget": 512, **options}
    header, end = run_simulation(plan_episode(game, **settings), commit=lambda tick, events: batches.append((tick, events)))
    with ReplayWriter.create(path, header) as writer:
        for tick, events in batches:
            writer.tick(tick, [change(event) if change is not None else event for event in events])
        writer.end(end)
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command that refuses its input."""
    assert run(list(arguments)) == 2, arguments
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert "Traceback" not in line
    return line


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return record(tmp_path_factory.mktemp("whole") / "a.rtr").read_bytes()


@pytest.mark.parametrize("cut", [1, 2, 9, 17, 60, 133, 200])
def test_r01_a_file_cut_by_a_crash_is_told_of_with_its_place_and_info_exits_0(cut: int, whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.rtr"
    path.write_bytes(whole[:-cut])
    assert run(["info", str(path), "--json"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["status"] == "incomplete"
    assert "byte" in err
    assert any(char.isdigit() for char in err)
    with open_replay(path) as replay:
        assert all(replay.events(tick) for tick in replay.ticks)
        assert told["ticks"] == len(replay.ticks)


@pytest.mark.parametrize("name", ["array32", "map32", "bin32", "str32", "nested16"])
def test_r04_a_size_bomb_is_refused_by_every_command(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for command, *more in READERS:
        assert "no rtdesk replay" in refused(capsys, command, str(DATA / f"bomb_{name}.msgpack"), *more)
    assert list(tmp_path.iterdir()) == []


def test_r08_whole_numbers_as_keys_of_a_foreign_map_are_a_clear_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no rtdesk replay" in refused(capsys, "info", str(DATA / "int_keys.msgpack"))


@pytest.mark.parametrize("game", GAMES)
def test_r08_own_files_load_back(game: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = record(tmp_path / "a.rtr", game, agent="agile", tick_budget=1024, reactive_budget=256, ticks=6)
    assert run(["export", str(path), "--to", "jsonl"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len([line for line in lines if json.loads(line)["kind"] == "step"]) == json.loads(lines[-1])["totals"]["ticks"]


@pytest.mark.parametrize("version", [999, None, "1", -1])
def test_r12_another_version_is_refused_and_both_are_named(version: Any, whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(whole)
    header = {**unpacker.unpack(), "version": version}
    path = tmp_path / "a.rtr"
    path.write_bytes(msgpack.packb(header) + whole[unpacker.tell() :])
    for command, *more in READERS:
        line = refused(capsys, command, str(path), *more)
        assert repr(version) in line
        assert " 1" in line
        assert ("newer" in line) == (version == 999)


@pytest.mark.parametrize("game", GAMES)
def test_r14_a_changed_action_is_named_and_verify_exits_1(game: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = {"freeway": 0}.get(game, 3)
    path = record(tmp_path / "a.rtr", game, seed=seed)
    for _ in range(2):
        assert run(["verify", str(path)]) == 0
    capsys.readouterr()
    with open_replay(path) as replay:
        assert len(replay.ticks) > 11
        played = next(event.letter for event in replay.events(11) if isinstance(event, ev.Action))
    codes = []
    for letter in games.spec(game).legal_actions:
        if letter == played:
            continue

        def other(event: ev.AnyEvent, letter: str = letter) -> ev.AnyEvent:
            return msgspec.structs.replace(event, letter=letter) if isinstance(event, ev.Action) and event.tick == 11 else event

        changed = record(tmp_path / f"{letter}.rtr", game, change=other, seed=seed)
        codes.append(run(["verify", str(changed), "--json"]))
        told = json.loads(capsys.readouterr().out)
        assert codes[-1] == 1
        assert told["divergence"]["tick"] >= 11
        assert told["divergence"]["field"]
        assert told["divergence"]["recorded"] != told["divergence"]["played"]
        assert told["thinkers"]["divergence"]["tick"] == 11
    assert codes


def test_r18_what_cannot_be_written_is_refused_before_the_game_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "a.rtr").symlink_to(victim)
    (tmp_path / "dangling.rtr").symlink_to(tmp_path / "nowhere")
    for target in (tmp_path / "a.rtr", tmp_path / "dangling.rtr", victim / "b.rtr", tmp_path):
        line = refused(capsys, "play", "snake", "--headless", "--ticks", "3", "--record", str(target))
        assert str(target) in line
    assert victim.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


LONG = """
import re, sys, time
from replays.reader import open_replay
from replays.reduce import fold
from replays.view_state import ViewState
from rtdesk.tui.player import ReplaySource
began = time.perf_counter()
with open_replay(sys.argv[1]) as replay:
    source = ReplaySource(replay, playing=False)
    source.poll(1)
    source.command("jump", "49999")
    for item in source.poll(2):
        state = item if isinstance(item, ViewState) else fold(state, item)
    # Not ru_maxrss: across exec it keeps the peak of the process that started this one.
    peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
    print(time.perf_counter() - began, peak / 1024, source.tick, state.tick)
"""


@pytest.mark.slow
def test_r16_the_last_of_50000_ticks_is_there_at_once_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.rtr"
    spent: list[float] = []
    header = ev.Episode(tick=0, game="metronome", load="easy", seed=1, agent="planning", tick_budget_tokens=2, backends={"planner": ev.Backend(spec="builtin")})
    state = fold(ViewState(), header)
    with ReplayWriter.create(path, header) as writer:
        for tick in range(50_000):
            at = tick * 2
            events: list[ev.AnyEvent] = [
                ev.Tick(tick=tick, at=at, end_at=at + 2, view={}, text=""),
                ev.Token(tick=tick, at=at + 1, stream="planner", generation=0, channel="reasoning", text="ab", lens=[1, 1]),
                ev.Step(tick=tick, at=at + 2, state={}, reward=0.0, score=0.0),
            ]
            for event in events:
                fold(state, event)
            began = time.perf_counter()
            writer.tick(tick, events)
            spent.append(time.perf_counter() - began)
            if keyframe_due(tick):
                writer.keyframe(tick, state.to_map())
    assert statistics.median(spent[-1000:]) <= 2 * statistics.median(spent[:1000])
    done = subprocess.run([sys.executable, "-c", LONG, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, megabytes, tick, shown = map(float, done.stdout.split())
    assert (tick, shown) == (49_999, 49_999)
    assert seconds <= 3
    assert megabytes <= 500
