"""The code agent: from which tick a program acts, what its failures cost, and that live and simulated logs are one."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from clock_kit import Heard, of, play
from live_kit import CHOPPER, children, gone, kill, same_as_simulated, script, watched

from games.freeway import best_score, build, level_seed
from games.rng import Legacy
from replays import events as ev
from workers import programs, rerun
from workers.check import check_agent
from workers.config import plan_episode
from workers.errors import ConfigError
from workers.recorded import options_of
from workers.sandbox.check import BUILTINS, MAX_BYTES, MAX_DEPTH, MAX_NODES, MODULES, read_program
from workers.simulator import simulate
from workers.thinkers import freeway_code, overcooked_code, snake_code
from workers.tokens import count_tokens

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs run where there are POSIX limits")
linux = pytest.mark.skipif(sys.platform != "linux", reason="counts processes and descriptors in /proc")

LATE_S = 0.2


def block(*lines: str, before: str = "") -> str:
    """A program whose act has these lines, as a thinker gives it."""
    return f"```python\n{before}def act(view, memory):\n" + "".join(f"    {line}\n" for line in lines) + "```\n"


def writing(text: str, tokens: int | None = None, **more: Any) -> dict[str, Any]:
    """A generation that gives a text as its visible answer; `tokens` is its length in all."""
    size = count_tokens(text)
    return {"tokens": 0 if tokens is None else tokens - size, "chunks": [[text, size, "content"]], **more}


def coded(*generations: dict[str, Any], **options: Any) -> list[ev.AnyEvent]:
    """The log of an episode of a scripted writer of programs."""
    return play("code", planner=list(generations), allow_code=True, **options)


def sources(events: list[ev.AnyEvent]) -> list[tuple[str, str, str | None, int | None]]:
    return [(action.letter, action.source, action.reason, action.generation) for action in of(events, ev.Action)]


def faults(events: list[ev.AnyEvent]) -> list[tuple[int, str, str, str]]:
    return [(fault.tick, fault.component, fault.what, fault.done) for fault in of(events, ev.Fault)]


PONDER = {"tokens": 1_000_000}
UP = block("return 'U'")


# Who may.


def test_programs_are_run_only_where_that_was_allowed() -> None:
    with pytest.raises(ConfigError, match="add --allow-code"):
        plan_episode("freeway", agent="code")
    assert plan_episode("freeway", agent="code", allow_code=True).options["allow-code"] is True
    assert "allow-code" not in plan_episode("freeway", agent="agile", allow_code=True).options


def test_game_without_a_builtin_writer_says_so_beforehand() -> None:
    with pytest.raises(ConfigError, match="no builtin writer of programs for game 'metronome'; give one with --planner SPEC"):
        plan_episode("metronome", agent="code", allow_code=True)


def test_agent_passes_the_public_checker() -> None:
    check_agent("code").raise_on_error()


def test_the_program_in_the_docs_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "code-agent.md").read_text(encoding="utf-8")
    assert read_program(page).source is not None
    assert f"{MAX_BYTES:,} bytes, {MAX_NODES:,} parts, nested {MAX_DEPTH} deep" in page


# When it acts.


def test_program_acts_from_the_tick_its_last_token_was_released() -> None:
    events = coded(writing(UP, 20_000), PONDER, game="freeway", load="easy", default_action="S", ticks=5)
    assert sources(events) == [("S", "default", "none", None)] * 2 + [("U", "program", None, 0)] * 3
    [answer] = of(events, ev.Answer)
    assert (answer.tick, answer.at, answer.mode, answer.letters, answer.program) == (2, 20_000, "program", None, "def act(view, memory):\n    return 'U'\n")


@pytest.mark.parametrize(("tokens", "first"), [(8192, 0), (8193, 1)])
def test_program_that_ends_at_the_ticks_last_token_still_acts_in_it(tokens: int, first: int) -> None:
    events = coded(writing(UP, tokens), PONDER, game="freeway", load="easy", default_action="S", ticks=2)
    assert [action.source for action in of(events, ev.Action)].index("program") == first


def test_word_of_an_action_is_as_good_as_its_letter() -> None:
    events = coded(writing(block("return [' up', 'DOWN', 's'][view['turn']]")), PONDER, game="freeway", load="easy", ticks=3)
    assert [action.letter for action in of(events, ev.Action)] == ["U", "D", "S"]


def test_newer_program_takes_over_with_an_empty_memory_and_the_same_text_keeps_it() -> None:
    count = "memory['n'] = memory.get('n', 0) + 1"
    lines = (count, "return 'U' if memory['n'] == 1 else 'S'")
    first, second = block(*lines), block(*lines, before="# again\n")
    events = coded(writing(first), writing(first), writing(second), PONDER, game="freeway", load="easy", ticks=5)
    assert sources(events) == [("U", "program", None, 0), ("S", "program", None, 1), ("U", "program", None, 2), ("S", "program", None, 2), ("S", "program", None, 2)]


def test_program_and_its_memory_outlive_a_reset() -> None:
    events = coded(writing(block("memory['n'] = memory.get('n', 0) + 1", "return 'U' if memory['n'] < 90 else 'S'")), PONDER, game="freeway", load="hard", ticks=30)
    resets = [step.tick for step in of(events, ev.Step) if step.reset]
    assert resets
    assert {action.source for action in of(events, ev.Action)} == {"program"}
    assert {action.generation for action in of(events, ev.Action)} == {0}
    # What was being thought at the reset is void, as with any planner.
    assert of(events, ev.Generation, phase="end", finish="cancelled")


# What failures cost.


def test_failing_program_costs_the_default_action_and_a_fault_in_each_tick() -> None:
    text = block("if view['turn'] == 1: return view['no']", "if view['turn'] == 2: return 'RIGHT'", "return 'U'")
    events = coded(writing(text), PONDER, game="freeway", load="easy", default_action="S", ticks=4)
    assert sources(events) == [("U", "program", None, 0), ("S", "default", "fault", 0), ("S", "default", "invalid", 0), ("U", "program", None, 0)]
    assert faults(events) == [
        (1, "program", "program of turn 0: the program failed: KeyError: 'no' (line 2)", "default action"),
        (2, "program", "program of turn 0: act() returned 'RIGHT', expected one of U, D, S", "default action"),
    ]
    end = events[-1]
    assert isinstance(end, ev.End)
    assert (end.totals.faults, end.totals.default_actions) == (2, 2)
    kinds = [type(event).__name__ for event in events if event.tick == 1]
    assert kinds[-3:] == ["Action", "Fault", "Step"]
    assert {fault.at for fault in of(events, ev.Fault)} == {2 * 8192, 3 * 8192}


def test_refused_program_is_a_fault_with_its_line_and_the_older_one_goes_on() -> None:
    events = coded(writing(UP), writing(block("return 'D'", before="import os\n")), writing("Up, up!"), PONDER, game="freeway", load="easy", ticks=4)
    assert sources(events)[1:] == [("U", "program", None, 0)] * 3
    assert [(answer.why, answer.program is None) for answer in of(events, ev.Answer)] == [(None, False), ("invalid", True), ("invalid", True)]
    assert [(tick, component) for tick, component, _, _ in faults(events)] == [(1, "planner"), (2, "planner")]
    assert "program of turn 1: line 1: import" in faults(events)[0][2]


def test_program_that_does_not_load_changes_nothing() -> None:
    events = coded(writing(UP), writing(block("return 'D'", before="x = 1 / 0\n")), PONDER, game="freeway", load="easy", ticks=3)
    assert sources(events) == [("U", "program", None, 0)] * 3
    assert faults(events) == [
        (1, "program", "program of turn 1: the program did not load: ZeroDivisionError: division by zero (line 1)", "it is not used; the one before stays in force")
    ]


@pytest.mark.parametrize("finish", ["budget", "malformed"])
def test_broken_stream_gives_no_program(finish: str) -> None:
    events = coded(writing(UP, finish=finish), PONDER, game="freeway", load="easy", ticks=2)
    assert of(events, ev.Answer) == []
    assert {action.source for action in of(events, ev.Action)} == {"default"}


def test_program_cut_at_its_length_is_truncated() -> None:
    [answer] = of(coded(writing(UP.removesuffix("```\n"), finish="length"), PONDER, ticks=2), ev.Answer)
    assert (answer.why, answer.program) == ("truncated", None)


def test_endless_loop_is_put_out_of_force_after_three_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "CALL_S", LATE_S)
    events = coded(writing(block("while True: pass")), PONDER, ticks=5)
    assert [(action.source, action.reason) for action in of(events, ev.Action)] == [("default", "fault")] * 3 + [("default", "none")] * 2
    assert [done for _, _, _, done in faults(events)] == [
        "default action; started again, with an empty memory",
        "default action; started again, with an empty memory",
        "default action; put out of force after 3 in a row",
    ]
    assert {what for _, _, what, _ in faults(events)} == {"program of turn 0: the program did not answer within 0.2 s"}


def test_one_slow_call_in_between_is_no_reason_to_give_a_program_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "CALL_S", LATE_S)
    events = coded(writing(block("while view['turn'] % 2: pass", "return 'U'")), PONDER, game="freeway", load="easy", default_action="S", ticks=5)
    assert [action.letter for action in of(events, ev.Action)] == ["U", "S", "U", "S", "U"]


def test_call_in_wall_time_has_at_most_half_a_tick() -> None:
    config = plan_episode("freeway", agent="code", allow_code=True)
    wall = plan_episode("freeway", agent="code", allow_code=True, tick_budget="0.5s")
    short = plan_episode("freeway", agent="code", allow_code=True, tick_budget="10ms")
    assert [programs.call_seconds(one) for one in (config, wall, short)] == [1.0, 0.25, 0.05]


def test_planner_is_asked_for_a_program_and_shown_its_last_one_whole() -> None:
    long = block("x = 0", *["x += 1"] * 900, "return 'U'")
    assert count_tokens(long) > 2048
    planner = Heard([writing(long)])
    play("code", planner=planner, allow_code=True, planner_memory=True, game="freeway", load="easy", ticks=2)
    assert "act(view, memory)" in planner.prompts[0]
    assert long in planner.prompts[1]
    assert planner.memories[0] == ""


@pytest.mark.parametrize("game", ["freeway", "snake", "overcooked", "metronome"])
def test_prompt_tells_a_writer_all_that_a_program_may_use(game: str) -> None:
    planner = Heard([writing(UP)])
    play("code", planner=planner, allow_code=True, game=game, ticks=1)
    words = set(re.findall(r"\w+", planner.prompts[0]))
    exceptions = {name for name in BUILTINS if name[0].isupper()}
    assert set(BUILTINS) - exceptions <= words
    assert set(MODULES["heapq"] + MODULES["collections"]) <= words
    assert str(MAX_BYTES) in words
    keys = simulate(game, agent="default", ticks=1).events[1].view  # type: ignore[union-attr]
    if game != "metronome":
        # What a view holds but for figures that the rules give.
        assert {key for key in keys if f'view["{key}"]' not in planner.prompts[0]} <= {"cook_time", "onions_per_soup", "soup_value"}


# The builtin writers.


@pytest.mark.parametrize("module", [freeway_code, snake_code, overcooked_code])
def test_builtin_writers_give_their_program_as_text_that_costs_its_tokens(module: Any) -> None:
    steps = list(module.write({}, load="medium"))
    assert read_program("".join(text for strategy, text in steps if strategy == "conclude")).source == module.PROGRAM
    assert sum(count_tokens(text) for strategy, text in steps) > 800


@pytest.mark.parametrize("seed", [0, 3])
def test_builtin_freeway_program_crosses_as_early_as_can_be(seed: int) -> None:
    # The budget is large, so that the program is there at turn 0.
    done = simulate("freeway", agent="code", allow_code=True, load="hard", seed=seed, tick_budget=16_384)
    assert done.summary["raw_score"] == best_score(build(Legacy(level_seed("hard", seed))))
    assert done.summary["faults"] == 0


@pytest.mark.parametrize(("game", "seed", "least"), [("snake", 1, 15), ("overcooked", 8, 1)])
def test_builtin_programs_of_the_other_games_play_without_a_fault(game: str, seed: int, least: int) -> None:
    done = simulate(game, agent="code", allow_code=True, seed=seed)
    assert (done.summary["faults"], done.summary["default_actions"]) == (0, 0)
    assert done.summary["points"] >= least


# The same live, and in a recording.


@linux
def test_live_log_equals_the_simulated_one_whatever_the_timing(tmp_path: Path) -> None:
    chopper = tmp_path / "chopper.py"
    chopper.write_text(CHOPPER.format(blocking=True))
    asked = {"agent": "code", "allow_code": True, "load": "hard", "seed": 2, "ticks": 8, "tick_budget": 700, "planner": str(chopper)}
    config = plan_episode("snake", **asked)
    with watched(config, record=tmp_path / "run.rtr", jitter=0.003) as live:
        log = live.play()
    assert live.run.failure is None
    same_as_simulated(log, config, **asked)
    assert {action.source for action in live.of(ev.Action)} == {"default", "program"}


@linux
def test_live_log_of_failing_programs_equals_the_simulated_one(tmp_path: Path) -> None:
    failing = block("if view['turn'] == 1: return view['no']", "if view['turn'] == 2: return [0] * 10 ** 10", "return 'U'")
    planner = script(tmp_path, [writing(failing), writing(block("return 'D'", before="import os\n")), PONDER], "planner")
    asked = {"agent": "code", "allow_code": True, "load": "easy", "ticks": 5, "planner": planner}
    config = plan_episode("freeway", **asked)
    with watched(config, record=tmp_path / "run.rtr") as live:
        log = live.play()
    same_as_simulated(log, config, **asked)
    assert len(of(log, ev.Fault)) == 3


@linux
def test_program_goes_with_the_games_process_that_is_killed(tmp_path: Path) -> None:
    planner = script(tmp_path, [writing(block("while view['turn'] > 2: pass", "return 'S'")), PONDER], "planner")
    config = plan_episode("freeway", agent="code", allow_code=True, load="easy", planner=planner)
    with watched(config) as live:
        live.until("first action of the program", lambda: live.of(ev.Action, source="program"))
        # One, or with bubblewrap what it puts around it as well.
        below = children(live.run.pids()["game"])
        assert below
        kill(live, "game")
        gone(below, seconds=1.0)
        live.until("word of the death", lambda: live.run.failure)


class Kept(msgspec.Struct):
    """A simulated episode as a recording."""

    header: ev.Episode
    ticks: list[int]
    log: list[ev.AnyEvent]

    def events(self, tick: int) -> list[ev.AnyEvent]:
        return [event for event in self.log if event.tick == tick]


def kept(**options: Any) -> Kept:
    header, *log = simulate("freeway", agent="code", allow_code=True, load="easy", ticks=4, **options).events
    assert isinstance(header, ev.Episode)
    return Kept(header, list(range(4)), log)


def test_recording_by_the_builtin_writer_is_run_again_and_is_the_same() -> None:
    verdict = rerun.rerun(kept())
    assert (verdict.ticks, verdict.same, verdict.why) == (4, True, "")


def test_recording_does_not_allow_its_own_programs() -> None:
    assert "allow_code" not in options_of(kept().header)
