"""Token time: the worked numbers of the clock's rules, played by scripted thinkers in the simulator and read from the log."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from clock_kit import QUICK, Heard, Shown, generations, of, play, prompt, shown, text, thinking

import games
from replays import events as ev
from workers.backends import cut, spread
from workers.budget import DynamicBudget
from workers.simulator import simulate
from workers.trace import CONCLUSION_TOKENS

ROOT = Path(__file__).parents[2]
PLAN = "\\boxed{" + ", ".join(f"Turn {turn}: B" for turn in range(12)) + "}"


def sources(events: list[ev.AnyEvent]) -> list[tuple[str, str | None, int | None]]:
    return [(action.source, action.reason, action.generation) for action in of(events, ev.Action)]


# The worked numbers.


def test_planning_acts_from_the_tick_its_plan_ends_in() -> None:
    events = play("planning", planner=[thinking(20_000, PLAN)], ticks=6)
    assert sources(events) == [("default", "none", None)] * 2 + [("plan", None, 0)] * 3 + [("plan", None, 3)]
    assert generations(events, "planner")[:2] == [(0, 0, 2, 20_000, "stop"), (3, 3 * 8192, 5, 3 * 8192 + 20_000, "stop")]
    [answer, *_] = of(events, ev.Answer)
    assert (answer.tick, answer.at, answer.turns[:3]) == (2, 20_000, [0, 1, 2])


def test_plan_entry_of_the_turn_is_used_and_not_the_first() -> None:
    moves = "\\boxed{Turn 0: U, Turn 1: U, Turn 2: S, Turn 3: D}"
    events = play("planning", planner=[thinking(20_000, moves)], game="freeway", ticks=4, default_action="S", load="easy")
    assert [(action.letter, action.source) for action in of(events, ev.Action)] == [
        ("S", "default"),
        ("S", "default"),
        ("S", "plan"),
        ("D", "plan"),
    ]


def test_agile_sees_4096_then_12288_then_all_of_20000_tokens() -> None:
    events = play("agile", planner=[thinking(20_000)], reactive_budget=4096)
    assert shown(events) == [
        Shown(None, (0, 4096)),
        Shown(None, (0, 12_288)),
        Shown(None, (0, 20_000)),
        Shown((0, 9), (3, 4096)),
    ]


def test_agile_sees_the_conclusion_of_15000_tokens_that_ended_while_it_answered() -> None:
    events = play("agile", planner=[thinking(15_000)], reactive_budget=4096, ticks=3)
    assert shown(events) == [Shown(None, (0, 4096)), Shown(None, (0, 12_288)), Shown((0, 9), (2, 4096))]
    assert generations(events, "planner")[0] == (0, 0, 1, 15_000, "stop")


def test_16384_tokens_end_in_tick_1() -> None:
    events = play("agile", planner=[thinking(16_384)], reactive_budget=4096, ticks=3)
    assert generations(events, "planner") == [(0, 0, 1, 16_384, "stop"), (2, 16_384, None, None, None)]
    assert shown(events)[2] == Shown((0, 9), (2, 4096))


def test_16385_tokens_end_in_tick_2() -> None:
    events = play("agile", planner=[thinking(16_385)], reactive_budget=4096, ticks=3)
    assert generations(events, "planner")[0] == (0, 0, 2, 16_385, "stop")


def test_shared_throughput_gives_the_planner_what_the_reactor_left() -> None:
    events = play("agile", planner=[thinking(100_000)], reactor=[thinking(1500)], reactive_budget=4096, throughput="shared", ticks=3)
    assert [entry.trace for entry in shown(events)] == [(0, 4096), (0, 10_788), (0, 17_480)]
    after = [token.at for token in of(events, ev.Token, stream="planner", tick=0)]
    # Up to G, and then from the reactor's last token on.
    assert after == [1, 4096 + 1500 + 1]


def test_shared_throughput_leaves_nothing_when_the_reactor_takes_all() -> None:
    events = play("agile", planner=[thinking(100_000)], reactor=[thinking(9000)], reactive_budget=4096, throughput="shared", ticks=2)
    assert [entry.trace for entry in shown(events)] == [(0, 4096), (0, 8192)]


def test_a_budget_that_is_the_whole_tick_shows_nothing_of_a_new_generation() -> None:
    events = play("agile", planner=[thinking(20_000)], reactive_budget=8192, ticks=3)
    assert shown(events) == [Shown(None, None), Shown(None, (0, 8192)), Shown(None, (0, 16_384))]


def test_reactive_has_the_whole_tick_and_no_guidance() -> None:
    events = play("reactive", reactor=[thinking(8192), thinking(8300)], ticks=2)
    assert sources(events) == [("reactor", None, 0), ("default", "truncated", 1)]
    assert [entry[:2] for entry in generations(events, "reactor")] == [(0, 0), (1, 8192)]
    assert shown(events) == [Shown(None, None)] * 2


def test_baselines_step_without_thinkers() -> None:
    for agent in ("random", "default"):
        events = play(agent, ticks=3)
        assert [event.at for event in of(events, ev.Tick)] == [0, 8192, 16_384]
        assert not of(events, ev.Generation)


# Windows, marks, cuts.


def test_windows_are_half_open_and_no_event_straddles_a_border() -> None:
    events = play("agile", planner=[thinking(20_000)], reactor=[thinking(2048)], tick_budget=8192, reactive_budget=2048)
    tokens = of(events, ev.Token, stream="planner")
    assert tokens[0].at == 1
    for tick in of(events, ev.Tick):
        begin, guidance, end = tick.at, tick.guidance_at, tick.end_at
        runs = [(token.at, token.at + len(token.lens) - 1) for token in of(events, ev.Token, stream="planner", tick=tick.tick)]
        assert all(begin < first <= last <= guidance or guidance < first <= last <= end for first, last in runs)
        reactor = of(events, ev.Token, stream="reactor", tick=tick.tick)
        assert (reactor[0].at, reactor[-1].at + len(reactor[-1].lens) - 1) == (guidance + 1, end)
        [start] = of(events, ev.Generation, stream="reactor", phase="start", tick=tick.tick)
        assert start.at == guidance
    assert sum(len(token.lens) for token in of(events, ev.Token, stream="planner", generation=0)) == 20_000


def test_token_at_the_border_belongs_to_the_tick_that_ends_there() -> None:
    events = play("planning", planner=[thinking(8192, PLAN)], ticks=2)
    [answer, _] = of(events, ev.Answer)
    assert (answer.tick, answer.at) == (0, 8192)
    assert sources(events)[0] == ("plan", None, 0)


def test_idle_rest_of_a_tick_is_not_carried_over() -> None:
    events = play("agile", planner=[thinking(100)], reactive_budget=4096, ticks=3)
    assert generations(events, "planner") == [(k, k * 8192, k, k * 8192 + 100, "stop") for k in range(3)]
    assert shown(events)[2] == Shown((1, 9), (2, 100))


def test_every_tick_is_in_canonical_order() -> None:
    events = play("agile", planner=[thinking(20_000)], reactor=[thinking(1000)], reactive_budget=4096)
    for tick in range(4):
        mine = [event for event in events[1:-1] if event.tick == tick]
        assert isinstance(mine[0], ev.Tick)
        assert isinstance(mine[-2], ev.Action)
        assert isinstance(mine[-1], ev.Step)
        instants = [event.at for event in mine]
        assert instants == sorted(instants)
    assert [event.seq for event in events[1:]] == list(range(len(events) - 1))


@pytest.mark.parametrize("take", range(6))
def test_cut_is_at_token_borders(take: int) -> None:
    text_, lens = "añ€b", (1, 2, 0, 3, 1)
    (head, first), (tail, rest) = cut(text_, lens, take)
    assert (head + tail, first + rest) == (text_, lens)
    assert sum(first) == len(head.encode())
    assert len(first) == min(take, 5)


def test_unknown_borders_are_spread_over_code_points_rounded_down() -> None:
    assert spread("abcdefg", 3) == (2, 2, 3)
    assert spread("a€", 3) == (0, 1, 3)
    assert spread("", 4) == (0, 0, 0, 0)
    assert spread("abc", 0) == ()
    sizes = spread("€" * 10 + "x", 4)
    assert sum(sizes) == 31
    assert all(size % 3 in (0, 1) for size in sizes)


# Ends that are no ends.


@pytest.mark.parametrize("kind", ["truncated", "provider_error", "http_status", "connection", "malformed", "stalled", "fault"])
def test_failed_generation_ends_there_and_the_next_begins_at_the_next_tick(kind: str) -> None:
    planner = [thinking(3000), {"tokens": 5000, "chunks": [["\\boxed{B}", 10, "content"]], "finish": kind}, thinking(100_000)]
    events = play("agile", planner=planner, reactive_budget=4096, ticks=4)
    assert generations(events, "planner")[:3] == [
        (0, 0, 0, 3000, "stop"),
        (1, 8192, 1, 8192 + 5010, kind),
        (2, 2 * 8192, None, None, None),
    ]
    # Its text is guidance to the end of its tick, it gives no conclusion, and the older conclusion stays.
    assert shown(events) == [
        Shown(None, (0, 3000)),
        Shown((0, 9), (1, 4096)),
        Shown((0, 9), (2, 4096)),
        Shown((0, 9), (2, 12_288)),
    ]
    [fault] = of(events, ev.Fault)
    assert (fault.component, fault.tick, fault.at) == ("planner", 1, 8192 + 5010)
    assert events[-1].totals.faults == 1


def test_failed_generation_gives_no_plan_and_the_older_one_stays() -> None:
    planner = [thinking(3000, PLAN), {**thinking(3000, "\\boxed{Turn 1: B}"), "finish": "truncated"}, thinking(100_000)]
    events = play("planning", planner=planner, ticks=3)
    assert sources(events) == [("plan", None, 0)] * 3


def test_exception_in_a_thinker_is_a_fault_with_its_name(caplog: pytest.LogCaptureFixture) -> None:
    events = play("agile", planner=[{"tokens": 4, "raise": "boom"}], reactive_budget=4096, ticks=2)
    assert [fault.what for fault in of(events, ev.Fault)] == ["RuntimeError: boom"] * 2
    assert generations(events, "planner") == [(0, 0, 0, 4, "fault"), (1, 8192, 1, 8196, "fault")]
    assert sources(events) == [("reactor", None, 0), ("reactor", None, 1)]
    assert "Traceback" in caplog.text


def test_failed_reactor_costs_one_default_action_whatever_it_had_written() -> None:
    broken = {"tokens": 0, "chunks": [["\\boxed{B}", 10, "content"]], "finish": "connection"}
    events = play("agile", planner=[thinking(100)], reactor=[thinking(50), broken, thinking(50)], ticks=3)
    assert sources(events) == [("reactor", None, 0), ("default", "fault", 1), ("reactor", None, 2)]


@pytest.mark.parametrize(
    ("generation", "reason"),
    [
        ({"tokens": 5000}, "truncated"),
        ({"tokens": 100}, "none"),
        ({"tokens": 100, "chunks": [["\\boxed{Q}", 5, "content"]]}, "invalid"),
        ({"tokens": 100, "chunks": [["\\boxed{B}", 5, "content"]], "finish": "length"}, None),
    ],
)
def test_reason_of_a_default_says_why(generation: dict[str, Any], reason: str | None) -> None:
    events = play("agile", reactor=[generation], reactive_budget=2048, ticks=1)
    assert sources(events) == [("default", reason, 0) if reason else ("reactor", None, 0)]


@pytest.mark.parametrize(("finish", "why"), [("length", "truncated"), ("stop", "invalid")])
def test_a_plan_that_cannot_be_read_was_cut_only_if_its_server_cut_it(finish: str, why: str) -> None:
    events = play("planning", planner=[{"tokens": 100, "chunks": [["Turn 0: B, Tu", 5, "content"]], "finish": finish}], ticks=1)
    [answer] = of(events, ev.Answer)
    assert (answer.letters, answer.why) == (None, why)


def test_answer_that_stands_before_the_cut_counts() -> None:
    events = play("agile", reactor=[{"chunks": [["\\boxed{B}", 10, "content"], [" so" * 5000, 5000, "content"]]}], reactive_budget=2048, ticks=1)
    assert sources(events) == [("reactor", None, 0)]
    [end] = of(events, ev.Generation, stream="reactor", phase="end")
    assert (end.finish, end.clock_tokens) == ("budget", 2048)


def test_hidden_tokens_are_charged_in_front_of_the_first_visible_one() -> None:
    planner = [{"chunks": [["", 10_000], ["Best line so far: Turn 1: B.\n", 20], ["\\boxed{Turn 1: B, Turn 2: B}", 30, "content"]]}]
    events = play("planning", planner=planner, ticks=2)
    assert generations(events, "planner")[0] == (0, 0, 1, 10_050, "stop")
    hidden, *_ = of(events, ev.Token, tick=0)
    assert (hidden.text, len(hidden.lens), sum(hidden.lens)) == ("", 8192, 0)
    visible = next(token for token in of(events, ev.Token, tick=1) if token.text)
    # The block and the text behind it are one run of tokens, 1,808 of them without a byte.
    assert (visible.at, visible.lens[:1809]) == (8193, [*[0] * 1808, *visible.lens[1808:1809]])


def test_chunk_larger_than_a_frame_is_carried_whole() -> None:
    events = play("agile", planner=[{"chunks": [["", 150_000], ["x" * 300_000, 10, "reasoning"]]}], tick_budget=200_000, reactive_budget=40_000, ticks=1)
    assert sum(len(token.lens) for token in of(events, ev.Token, stream="planner")) == 150_010
    assert len(text(events, 0)) == 300_000


# Reset.


def freeway(agent: str, planner: list[dict[str, Any]] | Heard, **options: Any) -> tuple[list[ev.AnyEvent], int]:
    """Walk up into the traffic; returns the log and the tick of the first collision."""
    up = [{"tokens": 10, "chunks": [["\\boxed{U}", 5, "content"]]}]
    events = play(agent, planner=planner, reactor=up, game="freeway", load="hard", seed=7, ticks=30, reactive_budget=4096, **options)
    return events, next(step.tick for step in of(events, ev.Step) if step.reset)


def test_reset_cancels_the_generation_when_the_next_tick_is_read() -> None:
    events, hit = freeway("agile", [thinking(1_000_000)])
    begin = (hit + 1) * 8192
    first, second, *_ = generations(events, "planner")
    assert first == (0, 0, hit + 1, begin, "cancelled")
    assert second[:2] == (hit + 1, begin)
    assert shown(events)[hit].trace == (0, hit * 8192 + 4096)
    assert shown(events)[hit + 1] == Shown(None, (hit + 1, 4096))
    [end] = of(events, ev.Generation, phase="end", id=0, stream="planner")
    assert end.clock_tokens == begin


def test_reset_empties_conclusion_and_memory() -> None:
    planner = Heard([thinking(3000)])
    events, hit = freeway("agile", planner, planner_memory=True)
    assert hit > 0
    assert shown(events)[hit].conclusion == (hit - 1, 9)
    assert shown(events)[hit + 1].conclusion is None
    assert planner.memories[hit]
    assert planner.memories[hit + 1] == ""


def test_reset_empties_the_plan() -> None:
    up = "\\boxed{" + ", ".join(f"Turn {turn}: U" for turn in range(40)) + "}"
    script = [thinking(100, up), thinking(1_000_000)]
    events = play("planning", planner=script, game="freeway", load="hard", seed=7, ticks=30)
    hit = next(step.tick for step in of(events, ev.Step) if step.reset)
    assert sources(events)[hit][0] == "plan"
    assert {entry[:2] for entry in sources(events)[hit + 1 :]} == {("default", "none")}


# What guidance holds.


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("both", Shown((0, 9), (1, 4096))),
        ("trace", Shown(None, (1, 4096))),
        ("conclusion", Shown((0, 9), None)),
        ("none", Shown(None, None)),
    ],
)
def test_guidance_kinds(kind: str, expected: Shown) -> None:
    events = play("agile", planner=[thinking(8000), thinking(20_000)], reactive_budget=4096, guidance=kind, ticks=2)
    assert shown(events)[1] == expected


def test_guidance_limit_keeps_the_tail_of_the_running_text() -> None:
    reactor = Heard(QUICK)
    planner = [{"tokens": 3990, "chunks": [["0123456789" * 4, 40]]}, thinking(10)]
    events = play("agile", planner=planner, reactor=reactor, reactive_budget=4096, guidance_limit=100, ticks=1)
    assert shown(events) == [Shown(None, (0, 100))]
    assert reactor.guidance[0].endswith(" so" * 60 + "0123456789" * 4 + "\n")


def conclusion(chunks: list[list[Any]]) -> str:
    """The conclusion that the reactor is shown of a generation of these chunks."""
    reactor = Heard(QUICK)
    play("agile", planner=[{"chunks": chunks}, thinking(20_000)], reactor=reactor, reactive_budget=4096, guidance="conclusion", ticks=2)
    _, _, shown_text = reactor.guidance[1].partition(":\n")
    return shown_text.removesuffix("\n\n")


def test_conclusion_is_the_visible_answer_if_there_is_one() -> None:
    assert conclusion([["Best line so far: Turn 1: U.\n", 9], ["\\boxed{U}", 3, "content"]]) == "\\boxed{U}"


@pytest.mark.parametrize(
    ("thought", "expected"),
    [
        ("Hm.\nBest line so far: Turn 1: U.\nAnd then?\n", "Best line so far: Turn 1: U.\nAnd then?\n"),
        ("Turn 1: U\nTurn 2: R\nDone.", "Turn 2: R\nDone."),
        ("Best line: x\nso I say \\boxed{R}, surely.\nYes.", "so I say \\boxed{R}, surely.\nYes."),
        ("I turn it over and over. The Best line is not here, nor is a Turn.", ""),
    ],
)
def test_conclusion_without_an_answer_begins_at_the_last_line_that_concludes(thought: str, expected: str) -> None:
    assert conclusion([[thought, None]]) == expected


def test_conclusion_is_cut_at_the_front() -> None:
    assert conclusion([["a", 1, "content"], [" so" * 3000, 3000, "content"]]) == " so" * CONCLUSION_TOKENS
    # Also where nobody answered: 3,000 tokens over 9,009 characters are three each, and now and then four.
    tail = conclusion([["Turn 1: U" + " so" * 3000, 3000]])
    assert ("Turn 1: U" + " so" * 3000).endswith(tail)
    assert 3 * CONCLUSION_TOKENS <= len(tail) <= 3 * CONCLUSION_TOKENS + 9


def test_prompt_is_rebuilt_from_the_log_alone_as_the_thinker_was_given_it() -> None:
    planner, reactor = Heard([thinking(9000), thinking(3000)]), Heard([thinking(50, "\\boxed{U}")])
    events = play("agile", planner=planner, reactor=reactor, game="freeway", reactive_budget=4096, planner_memory=True, ticks=8)
    for stream, heard in (("planner", planner), ("reactor", reactor)):
        starts = of(events, ev.Generation, stream=stream, phase="start")
        assert {start.id: prompt(events, start) for start in starts} == heard.prompts
        assert len(heard.prompts) >= 3
    assert any(memory.startswith("Your own last conclusion") for memory in planner.memories.values())


def test_planner_memory_carries_its_own_last_conclusion() -> None:
    planner = Heard([thinking(100, "\\boxed{first}"), {**thinking(100), "finish": "connection"}, thinking(100)])
    play("agile", planner=planner, planner_memory=True, ticks=3)
    assert planner.memories[0] == ""
    assert "\\boxed{first}" in planner.memories[1]
    assert "\\boxed{first}" in planner.memories[2]
    assert "made for turn 0" in planner.memories[2]


def test_memory_is_off_for_a_thinker_that_repeats_itself_and_on_for_a_model() -> None:
    planner = Heard([thinking(100)])
    play("agile", planner=planner, ticks=2)
    assert planner.memories[1] == ""
    model = Heard([thinking(100)])
    model.info = ev.Backend(spec="model", deterministic=False)
    play("agile", planner=model, ticks=2)
    assert model.memories[1]


# Plans that come late: case E13.


@pytest.mark.parametrize(("arrives", "expected"), [(14, ["D", "R", "default"]), (17, ["default", "default"])])
def test_late_plan_keeps_its_turns(arrives: int, expected: list[str]) -> None:
    wait = {"tokens": 8192, "finish": "stop"}
    late = {"tokens": (arrives - 10) * 8192, "chunks": [["\\boxed{U, U, L, L, D, R}", 5, "content"]]}
    events = play("planning", planner=[wait] * 10 + [late, thinking(1_000_000)], game="overcooked", ticks=arrives + len(expected))
    actions = of(events, ev.Action)
    assert of(events, ev.Answer)[-1].turns == [10, 11, 12, 13, 14, 15]
    assert [action.letter if action.source == "plan" else action.source for action in actions[arrives:]] == expected
    assert all(action.source == "default" for action in actions[:arrives])


def test_plan_without_an_entry_for_the_turn_is_uncovered() -> None:
    events = play("planning", planner=[thinking(100, "\\boxed{Turn 0: B, Turn 1: B}"), thinking(1_000_000)], ticks=3)
    assert sources(events) == [("plan", None, 0), ("plan", None, 0), ("default", "uncovered", 0)]


def test_finished_plan_that_cannot_be_read_leaves_the_older_one() -> None:
    events = play("planning", planner=[thinking(100, PLAN), thinking(100, "no idea")], ticks=2)
    assert sources(events)[1] == ("plan", None, 0)
    assert of(events, ev.Answer)[1].why == "invalid"


# Dynamic N_TR.


def test_reactive_budget_grows_by_half_while_streams_are_cut() -> None:
    events = play("agile", reactor=[thinking(5000)], dynamic_reactive_budget=True, reactive_budget=1024, ticks=30)
    changes = [(budget.tick, budget.reactive_budget_tokens) for budget in of(events, ev.Budget)]
    assert changes == [(5, 1536), (10, 2304), (15, 3456), (20, 5184)]
    guidance = {tick.tick: tick.end_at - tick.guidance_at for tick in of(events, ev.Tick)}
    assert (guidance[4], guidance[5], guidance[20], guidance[29]) == (1024, 1536, 5184, 5184)


def test_reactive_budget_falls_to_the_95th_percentile_of_uncut_lengths() -> None:
    script = [thinking(1000 + 10 * k) for k in range(40)]
    events = play("agile", reactor=script, dynamic_reactive_budget=True, reactive_budget=4096, ticks=16)
    # At tick 10 ten lengths are known: 1000 to 1090, nearest rank 10; at tick 15 fifteen, rank 15.
    assert [(budget.tick, budget.reactive_budget_tokens) for budget in of(events, ev.Budget)] == [(10, 1090), (15, 1635)]


def test_reactor_is_told_a_budget_that_moves() -> None:
    reactor = Heard([thinking(5000)])
    play("agile", reactor=reactor, dynamic_reactive_budget=True, reactive_budget=1024, ticks=6)
    assert "you have 1024 tokens for this turn" in reactor.prompts[4]
    assert "you have 1536 tokens for this turn" in reactor.prompts[5]


def test_dynamic_budget_rule() -> None:
    rule = DynamicBudget(8192)
    assert rule.suggest(5, 2048) is None
    for _ in range(9):
        rule.add(100, cut=False)
    assert rule.suggest(5, 2048) is None
    rule.add(100, cut=False)
    assert rule.suggest(7, 2048) is None
    assert rule.suggest(10, 2048) == (512, "95th percentile of 10 uncut reactor streams")
    rule.add(2048, cut=True)
    assert rule.suggest(15, 2048) == (512, "95th percentile of 10 uncut reactor streams")
    rule.add(2048, cut=True)
    assert rule.suggest(15, 6000) == (7168, "2 of the last 5 reactor streams were cut")
    assert rule.suggest(0, 6000) is None


# Whole episodes.


@pytest.mark.parametrize("agent", ["agile", "reactive", "planning", "random", "default"])
def test_same_episode_twice_gives_the_same_log(agent: str) -> None:
    first, second = (simulate("snake", agent=agent, load="easy", seed=3, ticks=20).events for _ in range(2))
    assert ev.canonical(first) == ev.canonical(second)


def test_large_ticks_are_logged_in_the_tick_they_belong_to() -> None:
    # More text in a tick than one look at a ring brings.
    events = play("agile", planner=[{"tokens": 400_000}], tick_budget=200_000, reactive_budget=100_000, ticks=2)
    assert [sum(len(token.lens) for token in of(events, ev.Token, stream="planner", tick=tick)) for tick in range(2)] == [200_000, 200_000]
    assert [entry.trace for entry in shown(events)] == [(0, 100_000), (0, 300_000)]


SEEDED = "from workers.simulator import simulate; from replays.events import canonical_digest; print(canonical_digest(simulate({!r}, seed=3, ticks=6).events))"


@pytest.mark.parametrize("game", [name for name in games.names() if find_spec(f"workers.thinkers.{name}_planner")])
def test_same_log_in_every_process_and_whatever_the_hash_seed(game: str) -> None:
    # Together, so that they also run beside each other.
    runs = [
        subprocess.Popen([sys.executable, "-c", SEEDED.format(game)], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True)
        for seed in ("0", "1")
    ]
    digests = {run.communicate(timeout=60)[0].strip() for run in runs}
    assert digests == {ev.canonical_digest(simulate(game, seed=3, ticks=6).events)}
