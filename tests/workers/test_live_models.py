"""Real processes and a model server on loopback: late answers, closed requests, speeds in the log, and the token clock."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from clock_kit import of
from live_kit import same_as_simulated, watched, whole
from model_kit import Asked, ModelServer, Say, delta, sse, usage

from replays import events as ev
from rtdesk.cli import run
from workers.config import plan_episode

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts processes and descriptors in /proc")

TICKS = 4


def plans(asked: Asked) -> bool:
    return bool(asked.body) and "You are the planner" in asked.body["messages"][0]["content"]


def turn(asked: Asked) -> int:
    return int(re.findall(r"It is turn (\d+)", asked.body["messages"][0]["content"])[-1])


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTDESK_API_KEY", "none")


def test_a_late_answer_is_dropped_counted_and_its_request_closed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thinks = Say(sse(*(delta(reasoning=" so") for _ in range(2000)), done=False), gap_s=0.005, end="hang")
    quick = Say(sse(delta(reasoning=" hm"), delta("\\boxed{"), delta("U"), delta("}"), delta(finish="stop"), usage(4)), gap_s=0.002)
    # Begun in time, and not done when the time is over.
    tardy = Say(sse(*(delta(reasoning=" well") for _ in range(2000)), done=False), gap_s=0.005, end="hang")

    def answer(asked: Asked) -> Say:
        if asked.method == "GET":
            return Say(b"{}", headers={}, writes="one")
        return thinks if plans(asked) else tardy if turn(asked) % 2 else quick

    file = tmp_path / "run.rtr"
    with ModelServer(answer) as server:
        config = plan_episode(
            "freeway", load="easy", planner=server.spec, reactor=server.spec, tick_budget="0.9s", reactive_budget="0.7s", ticks=TICKS
        )
        with watched(config, record=file) as live:
            log = live.play()
        acted = {turn(asked): asked for asked in server.asked if asked.body and not plans(asked)}
        assert all(acted[late].closed.wait(5) for late in (1, 3))
    whole(log, TICKS)
    assert [(action.source, action.reason) for action in of(log, ev.Action)] == [("reactor", None), ("default", "late")] * 2
    assert log[-1].totals.late_actions == 2  # type: ignore[union-attr]
    ends = {end.id: end for end in of(log, ev.Generation, stream="reactor", phase="end")}
    assert [ends[tick].finish for tick in range(TICKS)] == ["stop", "budget"] * 2
    assert [ends[tick].usage_tokens for tick in (0, 2)] == [4, 4]
    # How fast it was is told of those that were cut, too.
    assert all(end.meas["ttft_s"] > 0 and end.meas["tpot_s"] > 0 for end in ends.values())
    assert run(["info", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert '"ttft_s"' in json.dumps(told)


def test_live_log_with_a_model_equals_the_simulated_one(tmp_path: Path) -> None:
    """The same server, words and counts: neither processes nor the network are seen by the token clock."""

    def answer(asked: Asked) -> Say:
        if asked.method == "GET":
            return Say(b"{}", headers={}, writes="one")
        if plans(asked):
            return Say(sse(*(delta(reasoning=" so") for _ in range(150)), delta("\\boxed{Turn 1: U}"), delta(finish="stop"), usage(160)), writes={"cuts": [999, 5000]})
        return Say(sse(*(delta(reasoning=" hm") for _ in range(30)), delta("\\boxed{U}"), delta(finish="stop"), usage(31)), writes="one")

    with ModelServer(answer) as server:
        asked = {
            "load": "easy",
            "planner": server.spec,
            "reactor": server.spec,
            "tick_budget": 100,
            "reactive_budget": 64,
            "ticks": TICKS,
            "guidance_limit": 500,
            "force_answer": True,
        }
        config = plan_episode("freeway", **asked)
        with watched(config, record=tmp_path / "run.rtr", jitter=0.002) as live:
            log = live.play()
        assert [action.source for action in of(log, ev.Action)] == ["reactor"] * TICKS
        same_as_simulated(log, config, **asked)


def test_a_server_that_goes_away_costs_ticks_and_never_the_episode(tmp_path: Path) -> None:
    gone = Say(sse(delta(reasoning=" so"), done=False), end="reset")

    def answer(asked: Asked) -> Say:
        if asked.method == "GET":
            return Say(b"{}", headers={}, writes="one")
        return gone if turn(asked) or plans(asked) else Say(sse(delta("\\boxed{U}"), delta(finish="stop"), usage(5)))

    with ModelServer(answer) as server:
        config = plan_episode("freeway", agent="reactive", load="easy", reactor=server.spec, tick_budget=100, ticks=3)
        with watched(config, record=tmp_path / "run.rtr") as live:
            log = live.play()
    assert [(action.source, action.reason) for action in of(log, ev.Action)] == [("reactor", None), ("default", "fault"), ("default", "fault")]
    assert len(of(log, ev.Fault)) == 2
