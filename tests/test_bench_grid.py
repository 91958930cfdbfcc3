"""What a grid is made of: cells, names, hashes, seeds and samples, what cannot be played, and what models cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from bench_kit import bench, row, rows_of, stand_in

sys.path.insert(0, str(Path(__file__).parent / "workers"))

from model_kit import Asked, ModelServer, Say, delta, sse, usage

from rtdesk.bench.grid import Asked as Grid
from rtdesk.bench.grid import make_cell, make_plan, parse_seeds
from rtdesk.bench.rows import decode_rows, encode_row
from rtdesk.bench.run import cost_of, drive, token_totals
from rtdesk.cli import run
from workers.errors import ConfigError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in(tmp_path, monkeypatch)


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
