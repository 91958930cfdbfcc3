"""Settings are checked together and before anything starts; every refusal is one sentence that says what to try."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workers import backends
from workers.config import Config, parse_budget, parse_duration, plan_episode
from workers.errors import ConfigError

BAD: list[tuple[dict[str, Any], str]] = [
    ({"game": "freway"}, "unknown game 'freway'; did you mean 'freeway'?"),
    ({"agent": "agil"}, "unknown agent 'agil'; did you mean 'agile'?"),
    ({"load": "hrad"}, "unknown load 'hrad'; did you mean 'hard'?"),
    ({"planner": "biultin"}, "unknown backend 'biultin'; did you mean 'builtin'?"),
    ({"guidance": "al"}, "unknown guidance 'al'"),
    ({"throughput": "shred"}, "unknown throughput 'shred'; did you mean 'shared'?"),
    ({"clock": "tokens"}, "unknown clock 'tokens'; did you mean 'token'?"),
    ({"reactive_budget": 9000}, "reactive budget 9000 tokens exceeds tick budget 8192 tokens; lower --reactive-budget or raise --tick-budget"),
    ({"reactive_budget": "3s", "tick_budget": "2s"}, "reactive budget 3s exceeds tick budget 2s"),
    ({"tick_budget": 0}, "tick budget 0 tokens is out of range"),
    ({"tick_budget": -5}, "tick budget '-5' is no budget"),
    ({"tick_budget": "0s"}, "is no duration"),
    ({"tick_budget": "1e9"}, "is no budget"),
    ({"tick_budget": "99999999999"}, "out of range"),
    ({"tick_budget": "99999999s"}, "is no duration"),
    ({"tick_budget": "0.01ms"}, "too short to think in"),
    ({"tick_budget": "many"}, "give tokens such as 8192, or seconds such as 6s"),
    ({"tick_budget": 8192.5}, "is no budget"),
    ({"tick_budget": True}, "is no budget"),
    ({"tick_budget": "nan"}, "is no budget"),
    ({"reactive_budget": 0}, "reactive budget 0 tokens is out of range"),
    ({"tick_budget": "6s", "reactive_budget": 2048}, "are in different units"),
    ({"tick_budget": "6s", "clock": "token"}, "tick budget 6 is in seconds, but the clock is 'token'"),
    ({"tick_budget": 8192, "clock": "wall"}, "tick budget 8192 is in tokens, but the clock is 'wall'"),
    ({"reactive_budget": "2s", "clock": "token"}, "reactive budget 2 is in seconds"),
    ({"agent": "reactive", "reactive_budget": 512}, "takes no reactive budget"),
    ({"agent": "planning", "reactive_budget": 512}, "takes no reactive budget"),
    ({"seed": -1}, "seed -1 is out of range for snake"),
    ({"seed": 2**40}, "out of range"),
    ({"seed": 1.5}, "give a whole number"),
    ({"ticks": 0}, "0 ticks cannot be played"),
    ({"ticks": -3}, "-3 ticks cannot be played"),
    ({"ticks": 2.5}, "2.5 ticks cannot be played"),
    ({"ticks": 10**12}, "ticks cannot be played"),
    ({"guidance_limit": 0}, "guidance limit 0 is out of range"),
    ({"default_action": "X"}, "default action 'X' is none of snake's"),
    ({"stall_timeout": "0s"}, "--stall-timeout '0s' is no duration"),
    ({"stall_timeout": "soon"}, "is no duration"),
    ({"tpot": "-1ms"}, "--tpot '-1ms' is no duration"),
    ({"tick_rate": 0.0}, "tick rate 0/s is out of range"),
    ({"tick_rate": float("nan")}, "tick rate nan/s is out of range"),
    ({"tick_rate": 1e9}, "out of range"),
    ({"agent": "reactive", "throughput": "shared"}, "needs a planner and a reactor"),
    ({"throughput": "shared", "tick_budget": "6s"}, "divides token time"),
    ({"dynamic_reactive_budget": True, "agent": "reactive"}, "planner/reactor pair"),
    ({"dynamic_reactive_budget": True, "tick_budget": "6s"}, "token budgets"),
    ({"planner": "scripted"}, "scripted needs a script"),
    ({"planner": "scripted:/nowhere.json"}, "cannot be read"),
    ({"planner": "builtin:fast"}, "builtin takes nothing behind it"),
    ({"planner": "./nowhere.py"}, "no backend at './nowhere.py': there is no such file; give the path of a .py file, or a name"),
    ({"game": "metronome"}, "no builtin planner for game 'metronome'"),
]


@pytest.mark.parametrize(("options", "expected"), BAD, ids=[str(options) for options, _ in BAD])
def test_bad_input_is_one_sentence(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_episode(**{"game": "snake", **options})
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unit_of_a_budget_decides_the_clock() -> None:
    token = plan_episode("snake", tick_budget="16k")
    assert (token.clock, token.tick_budget_tokens, token.reactive_budget_tokens, token.tick_budget_s) == ("token", 16_384, 2048, None)
    wall = plan_episode("snake", tick_budget="6s")
    assert (wall.clock, wall.tick_budget_s, wall.reactive_budget_s, wall.tick_budget_tokens) == ("wall", 6.0, 2.0, None)
    alone = plan_episode("snake", clock="wall")
    assert (alone.tick_budget_s, alone.reactive_budget_s) == (8.0, 2.0)
    share = plan_episode("snake", reactive_budget="500ms")
    assert (share.clock, share.tick_budget_s, share.reactive_budget_s) == ("wall", 8.0, 0.5)


def test_defaults() -> None:
    config = plan_episode("snake")
    assert (config.load, config.seed, config.agent, config.tick_budget_tokens, config.reactive_budget_tokens) == ("medium", 0, "agile", 8192, 2048)
    assert plan_episode("snake", tick_budget=1000).reactive_budget_tokens == 1000
    assert plan_episode("snake", agent="reactive").reactive_budget_tokens == 8192
    assert plan_episode("snake", agent="planning").reactive_budget_tokens is None
    assert plan_episode("snake", agent="random").planner is None


def test_whole_tick_for_the_reactor_is_allowed_and_warned_about() -> None:
    [warning] = plan_episode("snake", reactive_budget=8192).warnings
    assert "nothing of a generation in its first tick" in warning
    assert plan_episode("snake", agent="reactive").warnings == ()


def test_options_of_the_header_hold_what_changes_behaviour_and_no_pace() -> None:
    plain, paced = plan_episode("snake"), plan_episode("snake", tick_rate=2.0, tpot="5ms")
    assert plain.options == paced.options
    assert {"guidance", "throughput", "planner-memory", "guidance-limit", "default-action", "ticks", "stall-timeout"} <= set(plain.options)
    assert plan_episode("snake", clock="wall", tpot="5ms").options["tpot"] == 0.005


@pytest.mark.parametrize(("text", "expected"), [("8192", ("token", 8192)), ("8k", ("token", 8192)), ("8_192", ("token", 8192)), ("1.5s", ("wall", 1.5)), ("60ms", ("wall", 0.06)), (" 2 min ", ("wall", 120))])
def test_budgets_as_people_write_them(text: str, expected: tuple[str, float]) -> None:
    assert parse_budget(text, name="x") == expected


def test_durations_as_people_write_them() -> None:
    assert [parse_duration(text, name="x") for text in ("120", "5ms", "1.5s", "2min", 7)] == [120, 0.005, 1.5, 120, 7]


def test_settings_survive_the_way_to_a_child() -> None:
    import msgspec

    config = plan_episode("snake", agent="agile", seed=7, guidance_limit=5)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(config), type=Config) == config


# Doors for other people's code.


def module(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", "has no class Backend"),
        ("1/0", "does not load: ZeroDivisionError"),
        ("class Backend:\n    def __init__(self):\n        raise KeyError('no key')", "cannot be made: KeyError"),
        ("class Backend:\n    info = 1\n    def close(self): ...", "has no stream;"),
        ("syntax error", "does not load: SyntaxError"),
    ],
)
def test_backend_by_path_that_is_none_says_why(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=expected):
        plan_episode("snake", planner=module(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", "has no SHAPE"),
        ("from workers.agents import Shape\nSHAPE = Shape(planner=True)\ndef act(choice): ...", "has no planner_prompt;"),
        ("from workers.agents import Shape\nSHAPE = Shape()", "has no act;"),
    ],
)
def test_agent_by_path_that_is_none_says_why(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=expected):
        plan_episode("snake", agent=module(tmp_path, text))


def test_backend_by_path_is_found(tmp_path: Path) -> None:
    text = "from replays.events import Backend as Info\nclass Backend:\n    info = Info(spec='mine')\n    def stream(self, request): ...\n    def close(self): ...\n"
    path = module(tmp_path, text)
    assert backends.make(path).info.spec == "mine"
    assert plan_episode("snake", planner=path).planner == path


def test_script_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"tokens": 3}]))
    assert plan_episode("metronome", agent="reactive", reactor=f"scripted:{path}").reactor == f"scripted:{path}"
    path.write_text("{}")
    with pytest.raises(ConfigError, match="expected a JSON list"):
        plan_episode("metronome", agent="reactive", reactor=f"scripted:{path}")
