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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_kit import newcomers, row, rows_of, wait_for

sys.path.insert(0, str(Path(__file__).parent / "workers"))

from model_kit import Asked, ModelServer, Say, delta, sse, usage

from replays import events as ev
from replays.reader import open_replay
from replays.verify import verify
from rtdesk.bench.episode import play
from rtdesk.bench.folder import Writer, read_folder
from rtdesk.bench.grid import Asked as Grid
from rtdesk.bench.grid import job_of, make_cell, make_plan, parse_seeds
from rtdesk.bench.pool import LocalEngine
from rtdesk.bench.rows import accept, decode_rows, encode_row
from rtdesk.bench.run import cost_of, drive, token_totals
from rtdesk.cli import run
from rtdesk.leave import of_the_machine
from workers.errors import ConfigError
from workers.simulator import simulate

REPOSITORY = Path(__file__).parent.parent
SMALL = ["--games", "freeway", "--agents", "random,reactive", "--ticks", "4", "--jobs", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with the newcomer's files; no setting of whoever runs the tests plays a part."""
    newcomers(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("RTDESK_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def bench(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a bench with --json; returns its one object."""
    assert run(["bench", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def same(result: dict[str, Any]) -> dict[str, Any]:
    """What two runs of one thing share."""
    return {name: value for name, value in result.items() if name not in ("meas", "folder")}


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


def children_in(folder: Path) -> list[str]:
    """Processes of ours that stand in a folder."""
    out = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.name != str(os.getpid()) and (process / "cwd").resolve() == folder.resolve() and b"spawn" in (process / "cmdline").read_bytes():
                out.append(process.name)
        except OSError:
            continue
    return out


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--games", "snek"], "did you mean 'snake'"),
        (["--games", "./nowhere.py"], "no such file"),
        (["--loads", "hrd"], "did you mean 'hard'"),
        (["--agents", "agil"], "did you mean 'agile'"),
        (["--agents", "agile+gidance=none"], "did you mean 'guidance'"),
        (["--agents", "agile+guidance=nil"], "available: both, conclusion, none, trace"),
        (["--agents", "agile+guidance-limit=x"], "no whole number"),
        (["--agents", "human"], "leave human out"),
        (["--games", "metronome", "--agents", "random"], "give --ticks"),
        (["--agents", "planning+force-answer"], "--force-answer"),
        (["--agents", "code"], "--allow-code"),
        (["--agents", ","], "empty list"),
        (["--tick-budgets", "6s"], "token time"),
        (["--tick-budgets", "0"], "out of range"),
        (["--tick-budgets", "4096", "--reactive-budgets", "8192"], "fits into any tick budget"),
        (["--seeds", "7-0"], "0-7"),
        (["--seeds", "a"], "0-7 or 0-3,8"),
        (["--seeds", "0-4294967296"], "more than"),
        (["--samples", "0"], "--samples from 1"),
        (["--preset", "lod"], "did you mean 'load'"),
        (["--jobs", "0"], "--jobs from 1"),
        (["--engine", "cloud"], "dask=ADDRESS"),
        (["--time-limit", "soon"], "no duration"),
        (["--planner", "http://127.0.0.1:1/v1"], "which model"),
        (["--prompts", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_played_is_one_line_before_anything_runs(arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *arguments, "-o", "out"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rtdesk: ")
    assert err.count("\n") == 1
    assert words in err
    assert not (folder / "out").exists()


def test_a_game_whose_score_has_no_scale_is_told_before_anything_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case E12: equal bounds are no crash."""
    (folder / "flat.py").write_text((folder / "corridor.py").read_text().replace("points_max=9", "points_max=0"), encoding="utf-8")
    assert run(["bench", "--games", "./flat.py", "--agents", "random", "-o", "out"]) == 2
    assert "no score can be normalised" in capsys.readouterr().err


def test_a_folder_of_something_else_is_not_written_into(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *SMALL, "--seeds", "0", "-o", "."]) == 2
    assert "no folder of results" in capsys.readouterr().err
    assert run(["bench", *SMALL, "--seeds", "0", "-o", "echo.py/out"]) == 2
    assert "cannot be written to" in capsys.readouterr().err
    (folder / "bench.json").write_text("{}")
    assert run(["bench", *SMALL, "--seeds", "0", "-o", "."]) == 2
    assert "no plan of a bench" in capsys.readouterr().err


# What a grid is.


def test_the_published_tables_are_presets() -> None:
    plan = make_plan(Grid(preset=("load", "pressure", "ntr")))
    assert {cell.game for cell in plan.cells} == {"freeway", "overcooked", "snake"}
    per_game = [cell for cell in plan.cells if cell.game == "snake"]
    # Nine cells over loads, nine more over pressure (medium at 8192 is in both), four more over N_TR (2048 is in both).
    assert len(per_game) == 9 + 9 + 4
    assert {cell.reactive_budget for cell in per_game if cell.agent == "agile" and cell.tick_budget == 8192} == {512, 1024, 2048, 4096, 8192}
    # Overcooked's first eight seeds are one game.
    assert {cell.game: cell.seeds for cell in plan.cells} == {"freeway": list(range(8)), "snake": list(range(8)), "overcooked": list(range(8, 16))}
    assert len(make_plan(Grid(preset=("quick",), games=("snake",))).jobs()) == 12


def test_a_reactive_budget_belongs_to_a_pair_and_is_left_out_where_it_does_not_fit() -> None:
    plan = make_plan(Grid(games=("snake",), tick_budgets=("8k", "1024"), reactive_budgets=("512", "2048")))
    assert [(cell.agent, cell.tick_budget, cell.reactive_budget) for cell in plan.cells] == [
        ("reactive", 8192, None),
        ("reactive", 1024, None),
        ("planning", 8192, None),
        ("planning", 1024, None),
        ("agile", 8192, 512),
        ("agile", 8192, 2048),
        ("agile", 1024, 512),
    ]
    assert plan.notes == ["a reactive budget of 2048 tokens does not fit into a tick of 1024, and is left out there"]


def test_a_reactive_budget_is_the_partners_where_that_one_thinks() -> None:
    plan = make_plan(Grid(games=("overcooked",), agents=("default+partner=agile", "random+partner=reactive"), reactive_budgets=("512",), options={"throughput": "shared"}))
    assert [(cell.agent, cell.reactive_budget) for cell in plan.cells] == [("default+partner=agile+throughput=shared", 512), ("random+partner=reactive", None)]
    with pytest.raises(ConfigError, match="both have to think"):
        make_plan(Grid(games=("overcooked",), agents=("reactive",), options={"partner": "agile"}))


def test_an_agents_name_holds_its_options_wherever_they_were_given() -> None:
    own = make_plan(Grid(games=("snake",), agents=("agile+guidance=none", "agile")))
    whole = make_plan(Grid(games=("snake",), agents=("agile", "reactive"), options={"guidance": "none", "planner": "builtin"}))
    assert [cell.agent for cell in own.cells] == ["agile+guidance=none", "agile"]
    assert [cell.agent for cell in whole.cells] == ["agile+guidance=none", "reactive"]
    assert whole.cells[0].config == own.cells[0].config != own.cells[1].config
    assert any("means nothing to agent reactive" in note for note in whole.notes)


def test_one_agent_under_two_names_is_played_once() -> None:
    plan = make_plan(Grid(games=("snake",), agents=("agile", "agile+guidance=both", "agile+planner-memory=off"), seeds="0"))
    assert [cell.agent for cell in plan.cells] == ["agile"]
    assert plan.notes == ["agent agile+planner-memory=off is another name of one that is there already, and is left out"]
    # A whole grid's option can be taken back by one agent.
    plan = make_plan(Grid(games=("snake",), agents=("agile", "agile+guidance=both"), options={"guidance": "none"}))
    assert [cell.agent for cell in plan.cells] == ["agile+guidance=none", "agile"]


def test_the_hash_of_a_configuration_knows_prompts_and_files_but_no_seed(folder: Path) -> None:
    def config(agent: str, seeds: list[int], game: str = "snake") -> str:
        return make_cell(game, "easy", agent, seeds=seeds)[0].config

    assert config("reactive", [1]) == config("reactive", [2, 3])
    (folder / "mine").mkdir()
    prompt = folder / "mine" / "reactor.txt"
    prompt.write_text("{rules} {observation} {guidance} Say it in \\boxed{X}.", encoding="utf-8")
    mine = config("reactive+prompts=mine", [1])
    prompt.write_text("{rules} {observation} {guidance} Say it soon in \\boxed{X}.", encoding="utf-8")
    assert len({config("reactive", [1]), mine, config("reactive+prompts=mine", [1])}) == 3
    spec = "reactive+reactor=./echo.py"
    before = config(spec, [1])
    (folder / "echo.py").write_text((folder / "echo.py").read_text() + "\n# another\n", encoding="utf-8")
    assert config(spec, [1]) != before


@pytest.mark.parametrize(("text", "seeds"), [("3", [3]), ("0-3", [0, 1, 2, 3]), ("0-2,8", [0, 1, 2, 8]), ("5,5,4-5", [5, 4])])
def test_seeds_are_numbers_and_ranges(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


def test_seeds_that_are_one_game_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_plan(Grid(games=("overcooked",), agents=("random",), seeds="0-1")).notes == ["seeds below 8 of overcooked are all the same game and count once; its own begin at 8"]


# Models.


def thinks(asked: Asked) -> Say:
    return Say(sse(delta(reasoning="hm"), delta("\\boxed{U}"), delta(finish="stop"), usage(6, prompt=100)))


def test_samples_of_a_model_have_request_seeds_of_their_own_and_are_billed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(thinks) as server:
        arguments = ["--games", "freeway", "--agents", "reactive,random", "--reactor", server.spec, "--seeds", "0", "--samples", "3", "--ticks", "2", "--price", "1", "10"]
        result = bench(capsys, *arguments, "--jobs", "1", "-o", "out")
        seeds = [asked.body.get("seed") for asked in server.asked if asked.method == "POST"]
    assert sorted(seeds, key=str) == [1, 1, 2, 2, None, None]
    # Sample 0 asks as `play` does, and who says the same again is played once.
    assert {cell["agent"].partition("+")[0]: cell["samples"] for cell in result["cells"]} == {"reactive": 3, "random": 1}
    assert result["tokens"] == {"reactor": {"read": 600, "written": 36}}
    assert result["cost"] == pytest.approx((600 * 1 + 36 * 10) / 1e6)
    rows = [told for told in rows_of(folder / "out") if told["agent"].startswith("reactive")]
    assert {told["sample"] for told in rows} == {0, 1, 2}
    assert len({told["config"] for told in rows}) == 1
    assert all(len(told["meas"]["calls"]["reactor"]) == 2 for told in rows)


def test_a_seed_of_the_configuration_is_where_samples_count_from() -> None:
    import msgspec

    from workers.backends.openai import Backend
    from workers.backends.openai.settings import Places

    backend = Backend("http://127.0.0.1:1/v1#m", places=Places(environ={}, folder=Path("/nowhere")))
    backend.endpoint = msgspec.structs.replace(backend.endpoint, parameters={"seed": 40, "top_p": 0.9})
    backend.vary(2)
    assert backend.endpoint.parameters == {"seed": 42, "top_p": 0.9}
    assert backend.info.params["seed"] == 42


def test_an_episode_most_of_whose_streams_failed_has_no_score(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(Say(b"{}", status=401, headers={"content-type": "application/json"})) as server:
        arguments = ["--games", "freeway", "--agents", "reactive", "--reactor", server.spec, "--seeds", "0", "--ticks", "3", "-o", "out"]
        result = bench(capsys, *arguments, code=1)
    assert "3 of 3 streams of the reactor failed (http_status 3)" in result["failures"][0]["fault"]
    assert rows_of(folder / "out")[0]["score"] is None


def test_every_attempt_is_billed(folder: Path) -> None:
    """Case E08: a retry costs what both calls cost."""
    rows = [row(0, 0.5, read_tokens={"reactor": 200}, billed_tokens={"reactor": 871})]
    tokens = token_totals(rows)
    assert tokens == {"reactor": {"read": 200, "written": 871}}
    assert cost_of(tokens, {}) is None
    assert cost_of(tokens, {"reactor": (2.0, 10.0), "planner": (1.0, 1.0)}) == pytest.approx((200 * 2 + 871 * 10) / 1e6)


class Slow:
    """An engine that ends one episode each time it is waited for, and remembers how many asked a model at once."""

    slots = 5

    def __init__(self) -> None:
        self.running: list[Any] = []
        self.most = {True: 0, False: 0}

    def start(self, job: Any) -> None:
        self.running.append(job)
        for model in self.most:
            self.most[model] = max(self.most[model], sum(one.model == model for one in self.running))
        assert len(self.running) <= self.slots

    def wait(self, timeout: float) -> list[Any]:
        job = self.running.pop(0)
        return [(job, job.row)]

    def close(self) -> None:
        pass


def test_no_more_episodes_ask_a_model_at_once_than_allowed() -> None:
    import msgspec

    jobs = make_plan(Grid(games=("snake",), agents=("random", "default"), seeds="0-9")).jobs()
    jobs = [msgspec.structs.replace(job, model=job.row.agent == "random") for job in jobs]
    engine = Slow()
    done: list[Any] = []
    drive(jobs, engine, done=lambda job, told: done.append(told.key), models=2)
    assert sorted(done) == sorted(job.key for job in jobs)
    assert engine.most[True] == 2
    assert engine.most[False] >= 3


def test_rows_survive_writing_and_reading() -> None:
    rows = [row(0, 0.25, fault=None, meas={"wall_s": 1.5}), row(1, None, fault="it\nbroke \u2028 off")]
    data = b"".join(map(encode_row, rows))
    assert decode_rows(data) == (rows, 0, len(data))
    assert decode_rows(b"not json\n" + data + b'{"key": 3}\n')[:2] == (rows, 2)


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


# Processes.


def test_children_load_neither_screen_nor_numpy_nor_requests(folder: Path) -> None:
    (folder / "spy.py").write_text(
        (folder / "corridor.py").read_text()
        + "\nimport json, multiprocessing, sys\n_over = Game.step\n\n\ndef step(self, *given):\n"
        "    names = sorted({name.split('.')[0] for name in sys.modules})\n"
        "    open('modules-' + multiprocessing.current_process().name, 'w').write(json.dumps(names))\n"
        "    return _over(self, *given)\n\n\nGame.step = step\n",
        encoding="utf-8",
    )
    assert run(["bench", "--games", "./spy.py", "--agents", "random", "--seeds", "0", "-o", "out"]) == 0
    modules = set(json.loads((folder / "modules-rtdesk-bench-1").read_text()))
    assert modules & {"textual", "rich", "numpy", "requests", "click"} == set()
    assert "workers" in modules


def test_the_first_child_is_kept_from_ctrl_c_like_the_others() -> None:
    """In a process of its own, for Python's resource tracker is started once in each, and with the first child."""
    script = (
        "import signal\nfrom multiprocessing import resource_tracker\nfrom workers.live.parts import held_back\n"
        "with held_back():\n    resource_tracker.ensure_running()\n    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))\n"
        "print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str([signal.SIGHUP, signal.SIGINT]), "[]"]


def test_a_process_that_died_idle_is_started_again(folder: Path) -> None:
    first, second = make_plan(Grid(games=("./corridor.py",), agents=("random",), seeds="0-1")).jobs()
    engine = LocalEngine(1)
    try:
        done: list[Any] = []
        drive([first], engine, done=lambda job, told: done.append(told))
        (pid,) = children_in(folder)
        os.kill(int(pid), signal.SIGKILL)
        drive([second], engine, done=lambda job, told: done.append(told))
        assert [(told.key, told.ok) for told in done] == [(first.key, True), (second.key, True)]
    finally:
        engine.close()


def test_an_engine_closed_in_the_middle_leaves_nobody(folder: Path) -> None:
    jobs = make_plan(Grid(games=("./unlucky.py",), agents=("random",), seeds="3")).jobs()
    engine = LocalEngine(1, folder=str(folder))
    engine.start(jobs[0])
    assert engine.wait(0.0) == []
    engine.close()
    assert children_in(folder) == []


# dask.

cluster = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs the extra cluster")


def test_dask_that_is_not_installed_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "distributed" else find(name, *more))
    assert run(["bench", *SMALL, "--engine", "dask", "-o", "out"]) == 2
    assert "pip install 'rtdesk[cluster]'" in capsys.readouterr().err
    assert not (folder / "out").exists()


@cluster
@pytest.mark.slow
def test_dask_plays_the_same_on_loopback_alone_and_leaves_nothing(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    local = bench(capsys, *SMALL, "--seeds", "0-1", "-o", "local")
    process = subprocess.Popen(
        [sys.executable, "-m", "rtdesk", "bench", *SMALL, "--seeds", "0-1", "--engine", "dask", "-o", "far", "--json"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    heard: set[str] = set()

    def over() -> bool:
        heard.update(listening(process.pid))
        return process.poll() is not None

    wait_for(over, seconds=110)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert same(json.loads(out)) == same(local)
    assert heard
    assert {address for address in heard if address != "127.0.0.1"} == set()
    digests = [{told["key"]: told["canonical"] for told in rows_of(folder / name)} for name in ("local", "far")]
    assert digests[0] == digests[1]
    for told in rows_of(folder / "far"):
        with open_replay(folder / "far" / told["replay"]) as recording:
            assert not recording.incomplete
    assert members(process.pid) == []


@cluster
@pytest.mark.slow
def test_dask_interrupted_leaves_nothing(folder: Path) -> None:
    (folder / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "rtdesk", "bench", "--games", "snake", "--agents", "agile", "--engine", "dask", "--jobs", "2", "-o", "out", "--json"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: any((folder / "tmp").rglob("*.part")))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["episodes"]["failed"] == 0
    assert "Traceback" not in err
    wait_for(lambda: members(process.pid) == [])
    assert list((folder / "tmp").iterdir()) == []


@cluster
@pytest.mark.slow
def test_dask_survives_a_game_that_kills_its_worker(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--games", "./unlucky.py", "--agents", "random", "--seeds", "0-2,4", "--engine", "dask", "--jobs", "2", "-o", "out", "--json"]) == 1
    out, err = capfd.readouterr()
    counts = json.loads(out)["episodes"]
    assert counts == {"planned": 4, "ok": 2, "failed": 2, "missing": 0}
    assert "a game that talks" not in err
    faults = {told["seed"]: told["fault"] for told in rows_of(folder / "out")}
    assert "bad luck" in faults[1]
    assert "worker died" in faults[2]


@cluster
def test_a_scheduler_that_is_not_there_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtdesk.bench.cluster.REACHED_S", 0.5)
    assert run(["bench", *SMALL, "--seeds", "0", "--engine", "dask=tcp://127.0.0.1:9", "-o", "out"]) == 1
    err = capsys.readouterr().err
    assert "no dask scheduler at tcp://127.0.0.1:9" in err.splitlines()[-1]
    assert "Traceback" not in err


@cluster
def test_paths_from_here_are_not_sent_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--games", "./corridor.py", "--agents", "random", "--engine", "dask=tcp://127.0.0.1:9", "-o", "out"]) == 2
    assert "give it whole" in capsys.readouterr().err


def members(group: int) -> list[int]:
    """Processes of a process group."""
    out = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            out.append(int(process.name))
    return out


def listening(group: int) -> set[str]:
    """Addresses that processes of a group listen at."""
    inodes = set()
    for pid in members(group):
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    out = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address = fields[1].partition(":")[0]
                out.add(".".join(str(int(address[at : at + 2], 16)) for at in (6, 4, 2, 0)) if len(address) == 8 else address)
    return out


def test_a_plan_of_a_newer_rtdesk_is_not_read(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "bench.json").write_text('{"format": "rtdesk.bench", "version": 2, "cells": []}')
    with pytest.raises(ConfigError, match="newer rtdesk"):
        read_folder(folder / "out")
