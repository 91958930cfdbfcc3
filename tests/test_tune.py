"""`rtdesk tune`: what calls that nobody cuts say of the budgets to play with."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "workers"))

from model_kit import Asked as Request
from model_kit import ModelServer, Say, delta, sse, usage

from rtdesk.cli import cli, run
from rtdesk.tune import Asked, Call, lines, measure, suggest
from workers.config import plan_episode


def call(tokens: int, *, cut: bool = False, letter: str | None = "U", ttft_s: float = 0.5, tpot_s: float = 0.01) -> Call:
    return Call(tokens=tokens, cut=cut, letter=letter, prompt_tokens=2000, ttft_s=ttft_s, tpot_s=tpot_s)


def suggested(calls: list[Call], *, agent: str = "agile", **more: Any) -> dict[str, Any]:
    asked = Asked(spec="builtin", game="snake", agent=agent, **more)
    return suggest(calls, plan_episode("snake", agent=agent), asked)


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["tune", *arguments, "--json"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    told: dict[str, Any] = json.loads(out)
    return told


# What follows from the calls.


def test_the_reactive_budget_is_what_nineteen_of_twenty_calls_need_and_a_quarter() -> None:
    got = suggested([call(100 * number) for number in range(1, 21)])
    assert (got["tokens"]["p50"], got["tokens"]["p95"], got["tokens"]["most"]) == (1000, 1900, 2000)
    assert got["suggested"]["reactive_budget_tokens"] == 2432
    assert got["suggested"]["tick_budget_tokens"] == 8192
    assert got["cdf"][0] == [100, 0.05]


def test_seconds_follow_from_the_speed() -> None:
    got = suggested([call(1000, ttft_s=0.5, tpot_s=0.01) for _ in range(20)])
    # 0.5 s and 1,280 tokens of 10 ms; 4,096 of them a tick.
    assert (got["suggested"]["reactive_budget_s"], got["suggested"]["tick_budget_s"]) == (13.3, 41.0)


def test_one_slow_call_in_ten_counts_for_the_reactors_seconds() -> None:
    got = suggested([call(1000, ttft_s=5.0 if number < 3 else 0.5) for number in range(20)])
    assert got["suggested"]["reactive_budget_s"] == 17.8


def test_a_reactor_without_a_planner_has_the_whole_tick() -> None:
    got = suggested([call(1000) for _ in range(20)], agent="reactive")
    assert got["suggested"]["reactive_budget_tokens"] is None
    assert got["suggested"]["tick_budget_tokens"] == 1024
    assert "--reactive-budget" not in got["play"]


def test_calls_that_were_given_up_are_said_to_need_more() -> None:
    got = suggested([call(1000) for _ in range(10)] + [call(9000, cut=True, letter=None) for _ in range(10)])
    assert got["tokens"]["p95"] is None
    assert got["suggested"]["reactive_budget_tokens"] >= 9000
    assert "10 of 20 calls were given up" in got["notes"][0]
    assert "gave no legal answer" in got["notes"][1]
    assert any("?" in line for line in lines({"calls": 20, "failed": 0, **got}))


def test_the_cost_is_of_one_episode() -> None:
    cost = suggested([call(1000, tpot_s=0.001) for _ in range(20)], prices=(1.0, 10.0))["cost"]
    assert cost["ticks"] == 100
    # Every tick: a reactor of 1,000 tokens, and a planner that never rests.
    assert cost["tokens_written"] == 100 * (1000 + 4096)
    assert cost["tokens_read"] == 100 * (2000 + 2000)
    assert cost["price"] == pytest.approx((400_000 * 1 + 509_600 * 10) / 1e6)


# The command.


@pytest.mark.parametrize("game", ["freeway", "snake", "overcooked"])
def test_builtin_is_tuned_in_an_instant_and_its_line_plays(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    got = found(capsys, "builtin", game, "--seed", "9", "--calls", "20")
    assert (got["answered"], got["failed"], got["tokens"]["cut"]) == (20, 0, 0)
    assert 512 < got["suggested"]["reactive_budget_tokens"] <= 2048
    program, command, *rest = shlex.split(got["play"])
    assert (program, command) == ("rtdesk", "play")
    assert run(["play", *rest, "--headless", "--no-record", "--ticks", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["default_actions"] == 0
    wall = cli.commands["play"].make_context("play", shlex.split(got["play_wall"])[2:]).params  # type: ignore[attr-defined]
    assert plan_episode(game, tick_budget=wall["tick_budget"], reactive_budget=wall["reactive_budget"]).clock == "wall"


def test_the_same_is_said_to_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", "builtin", "snake", "--calls", "5"]) == 0
    captured = capsys.readouterr()
    assert "N_TR" in captured.out
    assert captured.out.splitlines()[-2].startswith("rtdesk play snake --agent agile")
    assert captured.err.count("rtdesk: call") == 5


def test_a_model_is_measured_by_its_own_counts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTDESK_API_KEY", "none")
    plans = Say(sse(*(delta(reasoning=" so") for _ in range(500)), done=False), end="hang")
    acts = Say(sse(*(delta(reasoning=" hm") for _ in range(94)), delta("\\boxed{L}"), delta(finish="stop"), usage(99, prompt=1234)), gap_s=0.0)

    def answer(asked: Request) -> Say:
        return Say(b"{}", headers={}, writes="one") if asked.method == "GET" else plans if "You are the planner" in asked.body["messages"][0]["content"] else acts

    with ModelServer(answer) as server:
        got = found(capsys, server.spec, "snake", "--calls", "4", "--notes", "50")
        asked = [request.body for request in server.asked if request.method == "POST"]
        planned = [request for request in server.asked if request.method == "POST" and "You are the planner" in request.body["messages"][0]["content"]]
        # Given up where the reactor has enough to read.
        assert all(request.closed.wait(5) for request in planned)
    assert got["answered"] == 4
    # A delta is a token.
    assert got["tokens"]["most"] == 95
    assert got["ttft_s"]["median"] > 0
    assert not any("max_tokens" in body for body in asked)
    shown = [body["messages"][0]["content"] for body in asked if "answer at once" in body["messages"][0]["content"]]
    assert len(shown) == 4
    assert all("The planner's thinking so far, unfinished" in text for text in shown[:1])
    assert server.spec in shlex.split(got["play"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["http://127.0.0.1:9/v1#m", "snake"], 1, "http://127.0.0.1:9/v1/chat/completions: cannot be reached"),
        (["builtin", "snaek"], 2, "did you mean 'snake'"),
        (["builtin", "snake", "--agent", "planning"], 2, "has no reactor to measure"),
        (["http://127.0.0.1:9/v1", "snake"], 2, "does not say which model"),
    ],
)
def test_what_cannot_be_measured_is_one_line(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", *arguments]) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_a_server_that_refuses_ends_it_at_the_first_call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTDESK_API_KEY", "none")
    with ModelServer(Say(b'{"error":{"message":"no such model"}}', status=404, headers={}, writes="one")) as server:
        assert run(["tune", server.spec, "snake", "--agent", "reactive"]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "answered 404" in captured.err


def test_an_endless_answer_is_given_up(tmp_path: Path) -> None:
    script = tmp_path / "endless.json"
    script.write_text('[{"tokens": 1000000}]')
    asked = Asked(spec=f"scripted:{script}", game="snake", agent="reactive", calls=2, most=5000)
    calls, failed = measure(plan_episode("snake", agent="reactive", reactor=asked.spec), asked)
    assert [(one.cut, one.letter, 5000 <= one.tokens <= 5050) for one in calls] == [(True, None, True)] * 2
    assert failed == 0


def test_a_game_that_ends_begins_anew(tmp_path: Path) -> None:
    script = tmp_path / "left.json"
    script.write_text('[{"chunks": [["\\\\boxed{L}", 5, "content"]]}]')
    asked = Asked(spec=f"scripted:{script}", game="snake", agent="reactive", calls=30)
    calls, _ = measure(plan_episode("snake", agent="reactive", reactor=asked.spec, seed=3), asked)
    assert [one.letter for one in calls] == ["L"] * 30
