"""Whole episodes with a model server: what it does wrong costs its tick and is in the log, and the token clock does not see the network."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_kit import Asked, ModelServer, Say, delta, sse, usage

from replays import events as ev
from workers.backends import Chunk, Finish, Request
from workers.backends.openai import Backend
from workers.backends.openai import stream as reading
from workers.backends.openai.settings import Places
from workers.simulator import simulate
from workers.stream import open_stream

NOBODY = Places(environ={}, folder=Path("/nowhere"))
TICKS = 3
KEY = "sk-run-Zq7vX2mKp9wTr4Lc"


ASKS = Request(stream="planner", mode="think", game="snake", load="easy", tick=0, max_ticks=9, letters=(("U", "up"),), view={}, prompt="?")


def thinks_body() -> bytes:
    return sse(delta("go "), delta("\\boxed{U}"), delta(finish="stop"))


def is_planner(asked: Asked) -> bool:
    return "max_tokens" not in asked.body and "max_completion_tokens" not in asked.body


def thinks(asked: Asked) -> Say:
    """A planner that thinks for 50 tokens, a reactor that answers in six."""
    if is_planner(asked):
        return Say(sse(*(delta(reasoning=" so") for _ in range(45)), *(delta(word) for word in ("Turn", " 1:", " U")), delta(finish="stop"), usage(49)))
    return Say(sse(delta(reasoning="hm"), delta("\\boxed{U}"), delta(finish="stop"), usage(6)))


def play(answer: Callable[[Asked], Say], *, agent: str = "agile", stall: str = "5s", places: Places = NOBODY) -> tuple[list[ev.AnyEvent], dict[str, Any], list[Asked]]:
    with ModelServer(answer) as server:
        made = [Backend(server.spec, places=places, attempts=1) for _ in range(2)]
        # The simulator takes thinkers as they are; the port a server happens to have is no part of an episode.
        for backend in made:
            backend.prepare()
            backend.info = ev.Backend(spec="test", exact=False, deterministic=False)
            backend.idle_timeout_s = 5.0
        budgets = {"tick_budget": 100, **({"reactive_budget": 40} if agent == "agile" else {})}
        thinkers = {"planner": made[0], "reactor": made[1]} if agent == "agile" else {"reactor": made[0]}
        played = simulate("freeway", agent=agent, load="easy", ticks=TICKS, stall_timeout=stall, **budgets, **thinkers)
        asked = list(server.asked)
        for backend in made:
            backend.close()
    return played.events, played.summary, asked


def ends(events: list[ev.AnyEvent], stream: str) -> list[ev.Generation]:
    return [event for event in events if isinstance(event, ev.Generation) and event.stream == stream and event.phase == "end"]


def test_model_plays() -> None:
    events, summary, asked = play(thinks)
    assert (summary["ticks"], summary["default_actions"], summary["faults"]) == (TICKS, 0, 0)
    assert [event.letter for event in events if isinstance(event, ev.Action)] == ["U"] * TICKS
    assert {end.finish for end in ends(events, "reactor")} == {"stop"}
    assert [end.usage_tokens for end in ends(events, "reactor")] == [6] * TICKS
    assert ends(events, "reactor")[0].meas["attempts"] == 1
    assert [request.body["max_tokens"] for request in asked if not is_planner(request)] == [40] * TICKS


def test_token_clock_does_not_depend_on_arrival() -> None:
    logs = []
    for writes in ("per_event", "one", "per_byte", {"cuts": [100, 101, 350]}):

        def cut(asked: Asked, writes: Any = writes) -> Say:
            say = thinks(asked)
            say.writes = writes
            say.delay_s = 0.02 if writes == "one" else 0.0
            return say

        logs.append(ev.canonical(play(cut)[0]))
    assert logs[0] == logs[1] == logs[2] == logs[3]


@pytest.mark.parametrize(
    ("say", "finish"),
    [
        (Say(b'{"error":{"message":"no"}}', status=401, headers={}, writes="one"), "http_status"),
        (Say(b"<title>Not Found</title>", status=404, headers={}, writes="one"), "http_status"),
        (Say(b"", status=429, headers={"retry-after": "0"}, writes="one"), "http_status"),
        (Say(b"oops", status=500, headers={}, writes="one"), "http_status"),
        (Say(sse(delta("\\boxed{U}"), done=False), end="hang"), "stalled"),
        (Say(sse(delta("\\boxed{U}"), done=False), end="reset"), "connection"),
        (Say(sse(delta("\\boxed{U}"), done=False)), "truncated"),
        (Say(sse(delta("\\boxed{U}"), {"error": {"message": "gone", "code": 502}})), "provider_error"),
        (Say(b"data: \x00\xff\xfe garbage\n\n" * 50), "malformed"),
        (Say(b""), "empty_stream"),
    ],
)
def test_what_a_server_does_wrong_costs_its_tick_and_is_told(say: Say, finish: str) -> None:
    events, summary, _ = play(lambda asked: thinks(asked) if is_planner(asked) else say, stall="0.3s" if finish == "stalled" else "20s")
    assert (summary["ticks"], summary["done_reason"]) == (TICKS, "ticks")
    assert [event.reason for event in events if isinstance(event, ev.Action)] == ["fault"] * TICKS
    assert [end.finish for end in ends(events, "reactor")] == [finish] * TICKS
    faults = [event for event in events if isinstance(event, ev.Fault)]
    assert len(faults) == TICKS
    assert {fault.component for fault in faults} == {"reactor"}
    if finish != "stalled":
        assert all("http://127.0.0.1" in fault.what for fault in faults)
        assert ends(events, "reactor")[0].meas["attempts"] == 1


def test_comments_and_a_wait_the_server_asked_for_are_no_stall() -> None:
    busy = Say(status=429, headers={"retry-after": "0.6"}, writes="one")
    alive = Say(b": keep-alive\n\n" * 8 + thinks_body(), gap_s=0.08)
    with ModelServer([busy, alive]) as server:
        backend = Backend(server.spec, places=NOBODY)
        woken = threading.Event()
        stream = open_stream(backend, ASKS, stall_s=0.4, wake=woken.set)
        while not stream.ended:
            stream.release(1000, 1000, lambda channel, text, lens, offset: None)
            woken.wait(0.01)
        backend.close()
    assert (stream.finish, stream.fault, stream.released) == ("stop", None, 2)
    assert stream.meas["throttled_s"] > 0.5
    assert stream.meas["attempts"] == 2


def test_flood_is_cut_at_the_budget_and_the_server_sees_it() -> None:
    flood = Say(sse(*(delta(" so") for _ in range(3000)), done=False), end="hang")
    events, summary, asked = play(lambda request: thinks(request) if is_planner(request) else flood)
    assert summary["ticks"] == TICKS
    assert [(end.finish, end.clock_tokens) for end in ends(events, "reactor")] == [("budget", 40)] * TICKS
    assert [event.reason for event in events if isinstance(event, ev.Action)] == ["truncated"] * TICKS
    # What it took is told of one that was cut, too.
    assert all(end.meas["ttft_s"] > 0 for end in ends(events, "reactor"))
    for request in asked:
        if not is_planner(request):
            assert request.closed.wait(5)


def test_only_the_last_usage_is_told_when_it_came_before_the_fault() -> None:
    broken = Say(sse(delta("go"), usage(33), done=False), end="reset")
    events, _, _ = play(lambda request: thinks(request) if is_planner(request) else broken)
    assert [end.usage_tokens for end in ends(events, "reactor")] == [33] * TICKS


def test_hidden_reasoning_is_charged_in_front_of_the_answer(tmp_path: Path) -> None:
    def hides(asked: Asked) -> Say:
        details = {"completion_tokens_details": {"reasoning_tokens": 30}}
        return Say(sse(delta("\\boxed{U}"), delta(finish="stop"), usage(31, **details)))

    with ModelServer(hides) as server:
        (tmp_path / "config.toml").write_text(f'[providers.mine]\nurl = "{server.url}"\nreasoning_hidden = true\n')
        backend = Backend("mine/m", places=Places(environ={}, folder=tmp_path, config=tmp_path / "config.toml"))
        events = simulate("freeway", agent="reactive", load="easy", ticks=TICKS, tick_budget=100, reactor=backend).events
        backend.close()
    assert [(end.finish, end.clock_tokens, end.usage_tokens) for end in ends(events, "reactor")] == [("stop", 31, 31)] * TICKS
    assert [event.letter for event in events if isinstance(event, ev.Action)] == ["U"] * TICKS
    first = next(event for event in events if isinstance(event, ev.Token))
    assert (first.lens[:30], first.text) == ([0] * 30, "")


def test_what_was_hidden_once_is_charged_in_front_of_the_next_answer_before_its_count_is_known() -> None:
    said = Say(sse(delta("\\boxed{U}"), delta(finish="stop"), usage(31, completion_tokens_details={"reasoning_tokens": 30})))
    with ModelServer(said) as server:
        backend = Backend(server.spec, places=NOBODY)
        first, second = ([len(item.lens) for item in backend.ask("?") if isinstance(item, Chunk)] for _ in range(2))
        backend.close()
    assert first[0] < 30
    assert second[0] == 30


@pytest.mark.parametrize(("finish", "reason"), [("length", "length"), ("MAX_TOKENS", "length"), ("max_output_tokens", "length"), ("stop", "stop"), ("eos", "stop")])
def test_a_length_limit_is_known_by_each_of_its_names(finish: str, reason: str) -> None:
    with ModelServer(Say(sse(delta("U"), delta(finish=finish)))) as server:
        backend = Backend(server.spec, places=NOBODY)
        *_, end = backend.ask("?")
        backend.close()
    assert isinstance(end, Finish)
    assert end.reason == reason


@pytest.mark.timeout(20)
def test_a_server_that_says_it_is_done_and_does_not_hang_up_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_GRACE_S", 0.05)
    with ModelServer(Say(sse(delta("U"), delta(finish="stop"), done=False), end="hang")) as server:
        backend = Backend(server.spec, places=NOBODY)
        backend.idle_timeout_s = 3600.0
        *_, end = backend.ask("?")
        backend.close()
    assert isinstance(end, Finish)
    assert end.reason == "stop"


def test_model_that_writes_its_thoughts_without_opening_them_is_still_read() -> None:
    said = Say(sse(delta("Not \\boxed{D}"), delta("</think>"), delta("\\boxed{U}"), delta(finish="stop"), usage(9)))
    events, summary, _ = play(lambda asked: said, agent="reactive")
    assert [event.letter for event in events if isinstance(event, ev.Action)] == ["U"] * TICKS
    assert summary["default_actions"] == 0


def test_no_key_gets_into_the_log_of_an_episode(tmp_path: Path) -> None:
    def refuses(asked: Asked) -> Say:
        return Say(json.dumps({"error": {"message": f"bad key {asked.headers['authorization']}"}}).encode(), status=401, headers={}, writes="one")

    events, _, asked = play(refuses, places=Places(environ={"RTDESK_API_KEY": KEY}, folder=tmp_path))
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"
    log = b"".join(ev.encode(event) for event in events).decode("utf-8", "replace")
    assert "***" in log
    assert not any(KEY[at : at + 6] in log for at in range(len(KEY) - 5))
