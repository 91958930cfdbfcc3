"""`rtdesk bench` as a user meets it: a grid is played, goes on where it stopped, and no failure of one episode stops the others."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench_kit import REPOSITORY, SMALL, bench, children_in, row, rows_of, same, stand_in, wait_for

from replays import events as ev
from replays.reader import open_replay
from replays.verify import verify
from rtdesk.bench.episode import play
from rtdesk.bench.folder import Writer, read_folder
from rtdesk.bench.grid import Asked as Grid
from rtdesk.bench.grid import job_of, make_cell, make_plan
from rtdesk.bench.pool import LocalEngine
from rtdesk.bench.rows import accept, decode_rows
from rtdesk.cli import run
from rtdesk.leave import of_the_machine
from workers.errors import ConfigError
from workers.simulator import simulate


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in(tmp_path, monkeypatch)


# What is played, and what is kept of it.


def test_a_grid_is_played_and_each_episode_has_a_row_and_a_replay_that_verifies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = bench(capsys, *SMALL, "--seeds", "0-1", "-o", "out")
    assert result["episodes"] == {"planned": 4, "ok": 4, "failed": 0, "missing": 0}
    assert [(cell["agent"], cell["reactive_budget"], cell["seeds"]) for cell in result["cells"]] == [("random+ticks=4", None, [0, 1]), ("reactive+ticks=4", None, [0, 1])]
    rows = rows_of(folder / "out")
    assert {(told["agent"], told["seed"]) for told in rows} == {(agent, seed) for agent in ("random+ticks=4", "reactive+ticks=4") for seed in (0, 1)}
    for told in rows:
        with open_replay(folder / "out" / told["replay"]) as recording:
            assert verify(recording).same
            assert recording.end is not None
            assert recording.end.totals.score == told["score"]
            assert recording.header.meas["bench"]["key"] == told["key"]


def test_a_row_says_what_simulate_says(folder: Path) -> None:
    options = {"agent": "agile", "load": "hard", "ticks": 6}
    cell, config = make_cell("freeway", "hard", "agile+ticks=6", seeds=[3])
    told = play(job_of(cell, config, 3, 0))
    episode = simulate("freeway", seed=3, **options)
    assert {name: getattr(told, name) for name in ("score", "points", "ticks", "planner_tokens", "reactor_tokens", "done_reason")} == {
        name: episode.summary[name] for name in ("score", "points", "ticks", "planner_tokens", "reactor_tokens", "done_reason")
    }
    assert told.canonical == ev.canonical_digest(episode.events)
    ends = [event for event in episode.events if isinstance(event, ev.Generation) and event.phase == "end"]
    assert told.reactor_lengths == [event.clock_tokens for event in ends if event.stream == "reactor" and event.finish == "stop"]
    assert told.streams == {role: sum(event.stream == role for event in ends) for role in ("planner", "reactor")}
    assert told.replay is None


def test_episodes_are_identical_if_all_that_happened_is_the_same() -> None:
    def moves(agent: str, seed: int) -> str:
        cell, config = make_cell("overcooked", "easy", f"{agent}+ticks=60", seeds=[seed])
        return play(job_of(cell, config, seed, 0)).moves

    # The reference's partner does not look at the first eight seeds.
    assert moves("default", 0) == moves("default", 7)
    # From then on it does other things, while an agent that does nothing does the same.
    assert len({moves("default", seed) for seed in (0, 8, 9)}) == 3
    assert moves("default", 8) != moves("random", 8)


def test_two_runs_give_the_same_object_and_the_same_logs_whatever_the_number_of_processes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = bench(capsys, *SMALL[:-1], "1", "--seeds", "0-2", "-o", "one")
    two = bench(capsys, *SMALL[:-1], "2", "--seeds", "0-2", "-o", "two")
    assert same(one) == same(two)
    digests = [{told["key"]: (told["canonical"], told["moves"]) for told in rows_of(folder / name)} for name in ("one", "two")]
    assert digests[0] == digests[1]


def test_a_newcomers_game_agent_and_backend_are_played_by_their_paths(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = bench(capsys, "--games", "./corridor.py", "--agents", "./careful.py,random", "--planner", "./echo.py", "--reactor", "./echo.py", "--seeds", "0", "--jobs", "1", "-o", "out")
    assert {cell["agent"]: cell["ok"] for cell in result["cells"]} == {"./careful.py": 1, "random": 1}
    assert result["tokens"]["planner"]["written"] > 0


def test_what_a_game_prints_is_not_in_the_object(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--games", "./unlucky.py", "--agents", "random", "--seeds", "0", "--json", "-o", "out"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["episodes"]["ok"] == 1
    assert "a game that talks" not in err


# Going on.


def test_the_same_words_again_play_nothing_and_more_seeds_play_those(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = bench(capsys, *SMALL, "--seeds", "0-1", "-o", "out")
    again = bench(capsys, *SMALL, "--seeds", "0-1", "-o", "out")
    assert again["meas"]["played"] == 0
    assert same(again) == same(first)
    more = bench(capsys, *SMALL, "--seeds", "0-2", "-o", "out")
    assert more["meas"]["played"] == 2
    assert more["episodes"]["ok"] == 6
    assert len(rows_of(folder / "out")) == 6


def test_another_configuration_is_played_anew(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--games", "./corridor.py", "--agents", "random", "--seeds", "0", "-o", "out"]
    first = bench(capsys, *arguments)
    game = folder / "corridor.py"
    game.write_text(game.read_text().replace("points_max=9", "points_max=18"), encoding="utf-8")
    # Another process reads the file; this one has the game loaded already.
    done = subprocess.run([sys.executable, "-m", "rtdesk", "bench", *arguments, "--json"], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
    second = json.loads(done.stdout)
    assert second["meas"]["played"] == 1
    assert second["cells"][0]["config"] != first["cells"][0]["config"]
    # The plan names the newer one alone; the older row stays in the file.
    assert [cell.config for cell in read_folder(folder / "out").cells] == [second["cells"][0]["config"]]
    assert len(rows_of(folder / "out")) == 2


def test_a_failed_episode_is_played_again_and_a_good_one_is_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--games", "./unlucky.py", "--agents", "random", "--seeds", "0-1", "--jobs", "1", "-o", "out"]
    assert bench(capsys, *arguments, code=1)["meas"]["played"] == 2
    assert bench(capsys, *arguments, code=1)["meas"]["played"] == 1


def test_pending_is_what_has_no_good_row() -> None:
    """Case E02: one result a key; a later good row replaces an error, an error never a good row."""
    told = [(0, 5.0), (1, None), (3, 3.0), (4, 4.0), (3, 3.0), (1, 6.0), (4, None)]
    taken, repeated = accept([row(seed, score) for seed, score in told])
    assert {held.seed: held.score for held in taken.values() if held.ok} == {0: 5.0, 1: 6.0, 3: 3.0, 4: 4.0}
    assert repeated == 3
    assert [seed for seed in range(6) if not any(held.seed == seed and held.ok for held in taken.values())] == [2, 5]


def test_a_torn_line_is_no_row_and_is_cut_off_before_the_next_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench(capsys, *SMALL, "--seeds", "0-1", "-o", "out")
    path = folder / "out" / "results.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    rows, bad, size = decode_rows(path.read_bytes())
    assert (len(rows), bad, size) == (3, 0, whole[:-1].rfind(b"\n") + 1)
    result = bench(capsys, *SMALL, "--seeds", "0-1", "-o", "out")
    assert result["meas"]["played"] == 1
    assert len(rows_of(folder / "out")) == 4


def start_gated(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a bench of `gated.py`; when this returns, seeds 0 and 1 have their rows and the others that are played stand at the gate."""
    os.mkfifo(folder / "gate")
    process = subprocess.Popen(
        [sys.executable, "-m", "rtdesk", "bench", *arguments],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out = folder / "out"
    jobs = int(arguments[arguments.index("--jobs") + 1])
    wait_for(lambda: (out / "results.jsonl").exists() and len(rows_of(out)) == 2 and len(list((out / "replays").glob("*.part"))) == jobs)
    return process


def open_gate(folder: Path) -> None:
    (folder / "gate").unlink()
    (folder / "gate").touch()


def test_a_killed_bench_leaves_whole_rows_and_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--games", "./gated.py", "--agents", "random", "--seeds", "0-5", "--jobs", "2", "-o", "out"]
    process = start_gated(folder, *arguments)
    process.kill()
    process.communicate()
    # Its processes are gone with it, so that nothing still writes a replay.
    wait_for(lambda: not children_in(folder))
    assert {told["seed"] for told in rows_of(folder / "out")} == {0, 1}
    open_gate(folder)
    result = bench(capsys, *arguments, "--jobs", "1")
    assert result["meas"]["played"] == 4
    assert result["episodes"] == {"planned": 6, "ok": 6, "failed": 0, "missing": 0}
    assert sorted(path.name for path in (folder / "out" / "replays").iterdir()) == sorted(Path(told["replay"]).name for told in rows_of(folder / "out"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_leaves_a_folder_to_go_on_with_and_exits_with_130(number: int, code: int, folder: Path) -> None:
    process = start_gated(folder, "--games", "./gated.py", "--agents", "random", "--seeds", "0-9", "--jobs", "1", "-o", "out", "--json")
    # As a terminal does it: to everybody at once.
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert json.loads(out)["episodes"] == {"planned": 10, "ok": 2, "failed": 0, "missing": 8}
    assert len(rows_of(folder / "out")) == 2
    assert "interrupted" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not list((folder / "out" / "replays").glob("*.part"))
    assert children_in(folder) == []


def test_two_benches_cannot_write_one_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Writer(folder / "out"):
        assert run(["bench", *SMALL, "--seeds", "0", "-o", "out"]) == 2
    assert "is being written by another bench" in capsys.readouterr().err


def test_a_row_that_cannot_be_written_whole_leaves_the_file_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(folder / "out") as writer:
        writer.row(row(0, 0.5))
        before = (folder / "out" / "results.jsonl").read_bytes()
        real = os.write

        def full(fd: int, data: bytes) -> int:
            if len(data) > 20:
                return real(fd, data[:20])
            raise OSError(28, "No space left on device")

        cut = {"left": 2}

        def write(fd: int, data: bytes) -> int:
            cut["left"] -= 1
            return full(fd, data if cut["left"] else data[:5])

        monkeypatch.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space") as raised:
            writer.row(row(1, 0.5))
        monkeypatch.undo()
        assert (folder / "out" / "results.jsonl").read_bytes() == before
        assert of_the_machine(raised.value).startswith(f"{folder / 'out' / 'results.jsonl'} could not be written: No space left on device; free space")


# What fails.


def test_a_failing_game_costs_its_own_episodes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["bench", "--games", "./unlucky.py", "--agents", "random", "--seeds", "0-2,4", "--jobs", "2", "-o", "out"])
    out, err = capsys.readouterr()
    assert code == 1
    assert "2 of 4 episodes in out, 2 failed" in out
    assert "rtdesk: 2 of 4 episodes failed, first ./unlucky.py medium seed 1 random" in err.splitlines()[-1]
    rows = {told["seed"]: told for told in rows_of(folder / "out")}
    assert {seed: told["status"] for seed, told in rows.items()} == {0: "ok", 1: "error", 2: "error", 4: "ok"}
    assert "bad luck" in rows[1]["fault"]
    assert "unlucky.py, line" in rows[1]["fault"]
    assert "exit code 7" in rows[2]["fault"]
    # What was recorded of it is kept, under a name that no finished one has, whoever ended it.
    for seed in (1, 2):
        assert rows[seed]["score"] is None
        assert rows[seed]["replay"].endswith(".failed.rtr")
        with open_replay(folder / "out" / rows[seed]["replay"]) as recording:
            assert recording.incomplete
            assert recording.header.seed == seed
    assert not list((folder / "out" / "replays").glob("*.part"))


def test_an_episode_that_hangs_is_ended_after_its_time_and_its_recording_is_kept(folder: Path) -> None:
    (job,) = make_plan(Grid(games=("./unlucky.py",), agents=("random",), seeds="3")).jobs()
    now = [0.0]
    engine = LocalEngine(1, folder=str(folder), limit_s=10.0, clock=lambda: now[0])
    try:
        engine.start(job)
        wait_for(lambda: bool(list(folder.glob("*.part"))) and not engine.wait(0.0))
        now[0] = 10.5
        over: list[Any] = []
        wait_for(lambda: bool(over.extend(engine.wait(0.1)) or over))
        ((_, told),) = over
        assert "longer than 10 s" in told.fault
        assert told.score is None
        with open_replay(folder / Path(told.replay).name) as recording:
            assert recording.header.seed == 3
        assert not list(folder.glob("*.part"))
    finally:
        engine.close()


def test_a_time_limit_is_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("rtdesk.bench.run.bench", lambda grid, settings: asked.append(settings) or 0)
    assert run(["bench", "--time-limit", "10min", "-o", "out"]) == 0
    assert asked[0].limit_s == 600


def test_a_folder_of_something_else_is_not_written_into(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *SMALL, "--seeds", "0", "-o", "."]) == 2
    assert "no folder of results" in capsys.readouterr().err
    assert run(["bench", *SMALL, "--seeds", "0", "-o", "echo.py/out"]) == 2
    assert "cannot be written to" in capsys.readouterr().err
    (folder / "bench.json").write_text("{}")
    assert run(["bench", *SMALL, "--seeds", "0", "-o", "."]) == 2
    assert "no plan of a bench" in capsys.readouterr().err


def test_a_plan_of_a_newer_rtdesk_is_not_read(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "bench.json").write_text('{"format": "rtdesk.bench", "version": 2, "cells": []}')
    with pytest.raises(ConfigError, match="newer rtdesk"):
        read_folder(folder / "out")


# The page about it.


def commands(mark: str) -> list[str]:
    page = (REPOSITORY / "docs" / "benchmarking.md").read_text(encoding="utf-8")
    found = [line for block in re.findall(rf"{mark}```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert found
    return found


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_commands_of_the_page_run(whole: bool, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is little time with one seed, and without the figures."""
    for line in commands("<!-- test -->\n"):
        words = shlex.split(line)
        assert words[0] == "rtdesk"
        if "--plots" in words and not (whole and importlib.util.find_spec("matplotlib")):
            continue
        if "--seeds" in words and not whole:
            words[words.index("--seeds") + 1] = "0"
            words += ["--jobs", "1"]
        assert run(words[1:]) == 0, (line, capsys.readouterr().err)
    out = capsys.readouterr().out
    assert f"{'12 of 12' if whole else '4 of 4'} episodes in runs/first, 0 failed" in out
    assert "agile+force-answer+guidance=conclusion" in out
    assert "corridor.py 9 cells" in out


def test_the_other_commands_of_the_page_are_understood(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("rtdesk.bench.run.bench", lambda grid, settings: asked.append(grid) or 0)
    for line in commands("(?<!-->\n)"):
        assert run(shlex.split(line, comments=True)[1:]) == 0, line
    assert [len(make_plan(grid).jobs()) for grid in asked] == [216, 288, 120, 528, 36]
