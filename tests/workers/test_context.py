"""A reactor with a small context is shown less of the planner's running text, and that is said and recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from model_kit import Asked, ModelServer, Say, delta, sse, usage

import games
from workers.agents import Shape
from workers.config import Config, plan_episode
from workers.context import room_for_trace

BOTH = Shape(planner=True, reactor=True)


def planned(listing: Any, **options: Any) -> tuple[Config, list[Asked]]:
    """An agile episode planned with a server that lists its model so."""

    def answer(asked: Asked) -> Say:
        if asked.method == "GET":
            return Say(json.dumps(listing).encode(), headers={"content-type": "application/json"}, writes="one", framed="length")
        return Say(sse(delta("\\boxed{U}"), delta(finish="stop"), usage(5)))

    with ModelServer(answer) as server:
        config = plan_episode("snake", **{"planner": server.spec, "reactor": server.spec, **options})
        return config, list(server.asked)


def listing(context: int) -> dict[str, Any]:
    return {"data": [{"id": "m-test", "max_model_len": context}]}


def test_what_is_left_of_a_small_context_is_the_limit() -> None:
    config, asked = planned(listing(8192))
    assert config.guidance_limit is not None
    assert 500 < config.guidance_limit < 8192 - 2048 - 1024
    assert config.options["guidance-limit"] == config.guidance_limit
    assert config.warnings == (f"the reactor's context is 8192 tokens: of the planner's running text it is shown the last {config.guidance_limit}",)
    # The reactor's server alone is asked, once.
    assert [request.method for request in asked] == ["GET"]


def test_a_large_context_is_no_matter_for_words() -> None:
    config, _ = planned(listing(131_072))
    assert config.guidance_limit is not None
    assert config.guidance_limit > 90_000
    assert config.warnings == ()


@pytest.mark.parametrize(("told", "options"), [({"data": []}, {}), ({"nonsense": 1}, {}), (listing(8192), {"guidance": "conclusion"})])
def test_without_a_word_of_the_server_or_without_running_text_there_is_no_limit(told: Any, options: dict[str, Any]) -> None:
    assert planned(told, **options)[0].guidance_limit is None


def test_a_limit_that_was_given_counts_and_nobody_is_asked() -> None:
    config, asked = planned(listing(8192), guidance_limit=77)
    assert (config.guidance_limit, asked) == (77, [])


def test_a_context_too_small_for_anything_leaves_nothing() -> None:
    assert planned(listing(1000))[0].guidance_limit == 0


def test_a_builtin_reactor_is_not_limited() -> None:
    assert planned(listing(8192), reactor="builtin")[0].guidance_limit is None


@pytest.mark.parametrize("game", ["freeway", "snake", "overcooked"])
def test_the_room_is_what_prompt_conclusion_and_answer_leave(game: str) -> None:
    made = games.make(game)
    room = room_for_trace(16_384, made, shape=BOTH, templates={}, reactive_tokens=2048)
    assert 6000 < room < 16_384 - 2048 - 1024
    assert room_for_trace(16_384, made, shape=BOTH, templates={}, reactive_tokens=4096) < room
    assert room_for_trace(16_384, made, shape=BOTH, templates={"reactor": "{observation}"}, reactive_tokens=2048) > room


def test_hidden_reasoning_of_a_planner_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with ModelServer(Say(sse(delta("hi")))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        config = plan_episode("snake", planner="openai/o4-mini", reactor="builtin")
        assert plan_episode("snake", planner="openai/gpt-4.1", reactor="builtin").warnings == ()
    assert config.warnings == ("the planner's server hides its reasoning: the reactor is shown its conclusions, and answers as they are written",)
