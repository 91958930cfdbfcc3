"""Budget forcing: a reactor without an answer near the end of its time is asked for it, in the time kept back for that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clock_kit import Heard, of, play, thinking
from live_kit import metronome, watched
from model_kit import Asked, ModelServer, Say, delta, sse, usage

import games
from replays import events as ev
from rtdesk.cli import run
from workers.backends import Chunk, Item, Request
from workers.backends.openai import Backend
from workers.backends.openai.settings import Places
from workers.backends.scripted import Backend as Scripted
from workers.config import plan_episode
from workers.errors import BackendError, ConfigError
from workers.force import Opened, beginning, kept_back, read_forced
from workers.simulator import simulate
from workers.thinkers import freeway_reactor, overcooked_reactor, snake_reactor

BOXED = [["\\boxed{B}", 9, "content"]]
NOBODY = Places(environ={}, folder=Path("/nowhere"))
LETTERS = games.spec("snake").letters


def forced(*, reactor: list[dict[str, Any]], ticks: int = 1, reactive_budget: int = 4096, **options: Any) -> list[ev.AnyEvent]:
    return play("agile", reactor=reactor, ticks=ticks, reactive_budget=reactive_budget, force_answer=True, **options)


def outcome(events: list[ev.AnyEvent]) -> tuple[str, str | None, str | None, int, int | None]:
    """(source, reason, finish, clock tokens, at of the end) of the first tick's reactor."""
    action, end = of(events, ev.Action)[0], of(events, ev.Generation, stream="reactor", phase="end")[0]
    return action.source, action.reason, end.finish, end.clock_tokens, end.at


# The clock.


def test_the_end_of_the_window_is_kept_back() -> None:
    assert [kept_back(window) for window in (7, 8, 511, 512, 4096)] == [0, 1, 63, 64, 64]


def test_a_stream_without_an_answer_is_cut_and_its_answer_ticks_in_the_part_kept_back() -> None:
    events = forced(reactor=[thinking(5000, forced=BOXED)])
    assert outcome(events) == ("forced", None, "budget", 4096 - 64 + 9, 8192 - 64 + 9)
    tokens = of(events, ev.Token, stream="reactor")
    assert sum(len(token.lens) for token in tokens) == 4032 + 9
    assert (tokens[-1].at, tokens[-1].text, tokens[-1].generation) == (8192 - 64 + 1, "\\boxed{B}", 0)
    [answer] = of(events, ev.Answer, stream="reactor")
    assert (answer.letters, answer.forced) == (["B"], True)


@pytest.mark.parametrize(("reactive_budget", "back"), [(64, 8), (256, 32), (8192, 64)])
def test_small_windows_keep_less_back(reactive_budget: int, back: int) -> None:
    events = forced(reactor=[{"tokens": 9000, "forced": [["\\boxed{B}", 4, "content"]]}], reactive_budget=reactive_budget)
    assert outcome(events)[3] == reactive_budget - back + 4


def test_without_the_switch_nothing_is_asked_for() -> None:
    events = play("agile", reactor=[thinking(5000, forced=BOXED)], ticks=1, reactive_budget=4096)
    assert outcome(events) == ("default", "truncated", "budget", 4096, 8192)
    header = events[0]
    assert isinstance(header, ev.Episode)
    assert "force-answer" not in header.options


def test_a_stream_that_ends_in_time_is_left_alone() -> None:
    assert outcome(forced(reactor=[thinking(4032, forced=BOXED)])) == ("reactor", None, "stop", 4032, 8192 - 64)


def test_a_stream_with_an_answer_may_use_the_whole_window() -> None:
    talker = {"chunks": [["\\boxed{B}", 9, "content"], [" and" * 6000, 6000, "content"]], "forced": BOXED}
    assert outcome(forced(reactor=[talker])) == ("reactor", None, "budget", 4096, 8192)


def test_a_stream_the_server_cut_is_asked_at_once() -> None:
    assert outcome(forced(reactor=[{"tokens": 100, "finish": "length", "forced": BOXED}])) == ("forced", None, "budget", 109, 4096 + 109)


def test_a_stream_the_server_cut_early_has_no_more_for_its_answer_than_another() -> None:
    cut = {"tokens": 100, "finish": "length", "forced": [[" so" * 500, 500, "content"], *BOXED]}
    assert outcome(forced(reactor=[cut])) == ("default", "truncated", "budget", 100 + 64, 4096 + 164)


def test_a_stream_that_stopped_without_an_answer_is_not_asked() -> None:
    assert outcome(forced(reactor=[{"tokens": 100, "forced": BOXED}]))[:3] == ("default", "none", "stop")


def test_an_answer_longer_than_what_was_kept_back_is_cut() -> None:
    chatter = {"tokens": 9000, "forced": [[" so" * 500, 500, "content"], *BOXED]}
    assert outcome(forced(reactor=[chatter])) == ("default", "truncated", "budget", 4096, 8192)


def test_an_illegal_forced_answer_is_no_answer() -> None:
    assert outcome(forced(reactor=[{"tokens": 9000, "forced": [["\\boxed{Q}", 9, "content"]]}]))[:2] == ("default", "invalid")


def test_a_forced_answer_that_breaks_off_is_a_fault() -> None:
    broken = {"tokens": 9000, "forced": [[" so", 1, "content"]], "forced_end": {"finish": "connection"}}
    events = forced(reactor=[broken])
    assert outcome(events)[:4] == ("default", "fault", "connection", 4033)
    assert len(of(events, ev.Fault)) == 1


def test_forced_streams_count_as_cut_for_a_moving_budget() -> None:
    events = forced(reactor=[thinking(9000, forced=BOXED)], ticks=6, reactive_budget=1024, dynamic_reactive_budget=True)
    assert [budget.reactive_budget_tokens for budget in of(events, ev.Budget)] == [1536]
    assert {action.source for action in of(events, ev.Action)} == {"forced"}


def test_with_shared_throughput_the_planner_goes_on_behind_the_forced_answer() -> None:
    events = forced(reactor=[thinking(9000, forced=BOXED)], planner=[thinking(100_000)], throughput="shared")
    planned = sum(len(token.lens) for token in of(events, ev.Token, stream="planner"))
    assert planned == 4096 + (64 - 9)


def test_reactive_is_forced_as_well() -> None:
    events = play("reactive", reactor=[thinking(9000, forced=BOXED)], ticks=2, force_answer=True)
    assert [action.source for action in of(events, ev.Action)] == ["forced"] * 2


def test_what_was_said_is_in_the_question_and_the_turn() -> None:
    reactor = Heard([{"tokens": 50, "chunks": [["Hm, B.", 3, "content"]], "finish": "length", "forced": BOXED}])
    events = play("agile", reactor=reactor, ticks=1, force_answer=True)
    header = events[0]
    assert isinstance(header, ev.Episode)
    asked = reactor.prompts[0]
    assert asked.startswith("You play Metronome and answer at once")
    assert " so so so" in asked
    assert "Hm, B." in asked
    assert asked.endswith(header.texts["force"].replace("{turn}", "0") + "\n")
    assert header.options["force-answer"] is True


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"agent": "planning"}, "has none; use --agent agile or reactive"),
        ({"agent": "agile", "reactive_budget": 7}, "too small to keep some back"),
    ],
)
def test_what_cannot_be_forced_is_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        plan_episode("snake", force_answer=True, **options)


def test_the_command_line_forces(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["play", "freeway", "--headless", "--no-record", "--json", "--reactive-budget", "1024", "--force-answer", "--ticks", "15"]
    assert run(asked) == 0
    assert json.loads(capsys.readouterr().out)["default_actions"] == 0


def test_wall_time_keeps_an_eighth_back(tmp_path: Path) -> None:
    reactor = [{"tokens": 1_000_000, "forced": [["\\boxed{B}", 2, "content"]]}]
    config = metronome(tmp_path, reactor=reactor, tick_budget="1.2s", reactive_budget="0.8s", ticks=2, force_answer=True)
    with watched(config, record=tmp_path / "run.rtr") as live:
        log = live.play()
    assert [action.source for action in of(log, ev.Action)] == ["forced"] * 2


# The builtin reactors.

REACTORS = {"freeway": freeway_reactor, "snake": snake_reactor, "overcooked": overcooked_reactor}


def situations(game: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Boards of an episode, with the guidance the reactor was shown there."""
    class Ears(Scripted):
        def stream(self, request: Request) -> Iterator[Item]:
            seen.append((request.view, request.guidance))
            return super().stream(request)

    seen: list[tuple[dict[str, Any], str]] = []
    letter = games.spec(game).letters[0][0]
    simulate(game, load="medium", seed=8, ticks=6, reactor=Ears([{"chunks": [[f"\\boxed{{{letter}}}", 5, "content"]]}]))
    yield from seen


@pytest.mark.parametrize("game", REACTORS)
def test_a_builtin_reactor_commits_to_what_it_had_said_and_to_nothing_else(game: str) -> None:
    module, spec = REACTORS[game], games.spec(game)
    answers: set[str] = set()
    for view, guidance in situations(game):
        thoughts = [text for strategy, text in module.react(view, guidance, load="medium") if strategy != "conclude"]
        for number in range(0, len(thoughts), 3):
            said = "".join(thoughts[:number])
            [(strategy, text)] = module.commit(view, guidance, said, load="medium")
            half = thoughts[number][: len(thoughts[number]) // 2] if number < len(thoughts) else ""
            # Half a sentence is no thought.
            assert list(module.commit(view, guidance, said + half, load="medium")) == [(strategy, text)]
            reading = read_forced(text, letters=spec.letters, turn=view["turn"])
            assert strategy == "conclude"
            assert reading.letters is not None
            answers.add(reading.letters[0])
        whole = list(module.commit(view, guidance, "".join(thoughts), load="medium"))[-1][1]
        last = list(module.react(view, guidance, load="medium"))[-1][1]
        assert whole.endswith(last)
    assert len(answers) > 1


def test_a_builtin_reactor_that_is_forced_costs_what_it_writes() -> None:
    events = simulate("overcooked", load="medium", seed=8, ticks=3, reactive_budget=512, force_answer=True).events
    ends = of(events, ev.Generation, stream="reactor", phase="end")
    assert all(448 < end.clock_tokens <= 512 for end in ends)
    assert {action.source for action in of(events, ev.Action, player=0)} == {"forced"}


def test_a_builtin_reactor_with_little_room_says_the_box_alone() -> None:
    events = simulate("snake", load="medium", seed=8, ticks=1, reactive_budget=64, force_answer=True).events
    content = "".join(token.text for token in of(events, ev.Token, stream="reactor", channel="content"))
    assert content.startswith("\\boxed{")
    assert [action.source for action in of(events, ev.Action)] == ["forced"]


# Model servers.


def serve(answer: Callable[[Asked], Say], *, ticks: int = 2, **options: Any) -> tuple[list[ev.AnyEvent], list[Asked]]:
    """A reactive episode of Freeway with a window of 64 tokens, of which 8 are kept back."""
    with ModelServer(answer) as server:
        backend = Backend(options.pop("spec", server.spec), places=options.pop("places", NOBODY), attempts=1)
        backend.info = ev.Backend(spec="test", exact=False, deterministic=False)
        backend.idle_timeout_s = 5.0
        events = simulate("freeway", agent="reactive", load="easy", ticks=ticks, tick_budget=64, reactor=backend, force_answer=True, stall_timeout="5s").events
        asked = list(server.asked)
        backend.close()
    return events, asked


def begun(asked: Asked) -> str:
    """What an answer was begun with; empty for a new one."""
    last = asked.body["messages"][-1]
    return str(last["content"]) if last["role"] == "assistant" else ""


PONDERS = Say(sse(*(delta(reasoning=" so") for _ in range(300)), done=False), end="hang")


def test_a_server_goes_on_from_what_it_had_thought() -> None:
    said = Say(sse(delta("U"), delta("}"), delta(finish="stop"), usage(2)))
    events, asked = serve(lambda request: said if begun(request) else PONDERS)
    assert [action.source for action in of(events, ev.Action)] == ["forced"] * 2
    assert begun(asked[1]).startswith("<think>\nso so so")
    assert "\n</think>\n\nYour time for turn 0 is up." in begun(asked[1])
    assert begun(asked[1]).endswith("\\boxed{")
    assert asked[1].body["max_tokens"] == 8
    # The client hung up on the thinking.
    assert asked[0].closed.wait(5)
    end = of(events, ev.Generation, stream="reactor", phase="end")[0]
    assert (end.finish, end.clock_tokens, end.meas["forced"]["tokens"]) == ("budget", 58, 2)
    # What the request that was cut cost nobody has said.
    assert end.usage_tokens is None
    content = "".join(token.text for token in of(events, ev.Token, channel="content", tick=0))
    assert content == "\\boxed{U}"


def test_a_server_that_will_not_go_on_is_asked_in_one_more_request() -> None:
    no = Say(b'{"error":{"message":"Assistant response prefill is incompatible with enable_thinking"}}', status=400, headers={}, writes="one")
    said = Say(sse(delta("\\boxed{D}"), delta(finish="stop"), usage(5)))

    def answer(request: Asked) -> Say:
        if begun(request):
            return no
        return said if "is up." in request.body["messages"][0]["content"] else PONDERS

    events, asked = serve(answer)
    assert [action.source for action in of(events, ev.Action)] == ["forced"] * 2
    [fault] = of(events, ev.Fault)
    assert "prefill" in fault.what
    assert fault.done == "asked in one more request"
    # It is not tried again.
    assert [bool(begun(request)) for request in asked] == [False, True, False, False, False]
    assert " so so" in asked[2].body["messages"][0]["content"]
    assert asked[2].body["max_tokens"] == 8


def test_both_requests_are_billed() -> None:
    """Case E08, in a server's own words: cut at its length, then asked again."""
    cut = Say(sse(*(delta(reasoning=" so") for _ in range(20)), delta(finish="length"), usage(850)))
    said = Say(sse(delta("U}"), delta(finish="stop"), usage(21)))
    events, _ = serve(lambda request: said if begun(request) else cut)
    assert [end.usage_tokens for end in of(events, ev.Generation, stream="reactor", phase="end")] == [871] * 2


def test_hidden_thoughts_are_cut_by_the_server_where_the_time_to_answer_begins(tmp_path: Path) -> None:
    def hides(request: Asked) -> Say:
        if begun(request):
            return Say(sse(delta("U}"), delta(finish="stop"), usage(2)))
        limit = request.body["max_tokens"]
        return Say(sse(delta(finish="length"), usage(limit, completion_tokens_details={"reasoning_tokens": limit})))

    (tmp_path / "config.toml").write_text('[providers.mine]\nurl = "http://127.0.0.1:1"\nreasoning_hidden = true\n')
    with ModelServer(hides) as server:
        (tmp_path / "config.toml").write_text(f'[providers.mine]\nurl = "{server.url}"\nreasoning_hidden = true\n')
        backend = Backend("mine/m", places=Places(environ={}, folder=tmp_path, config=tmp_path / "config.toml"), attempts=1)
        events = simulate("freeway", agent="reactive", load="easy", ticks=1, tick_budget=64, reactor=backend, force_answer=True).events
        assert [request.body["max_tokens"] for request in server.asked] == [56, 8]
        backend.close()
    assert [action.source for action in of(events, ev.Action)] == ["forced"]
    [end] = of(events, ev.Generation, stream="reactor", phase="end")
    assert (end.clock_tokens, end.usage_tokens) == (58, 58)


# The words.


def test_an_answer_is_begun_with_its_thoughts_closed_and_its_box_open() -> None:
    assert beginning(" hm ", "", "Up!") == "<think>\nhm\n</think>\n\nUp!\n\\boxed{"
    assert beginning("", "Well,\n", "Up!") == "Well,\n\nUp!\n\\boxed{"
    assert beginning("", "", "Up!") == "Up!\n\\boxed{"


def test_the_opened_box_stands_with_the_first_token_that_has_letters() -> None:
    items: list[Item] = [None, Chunk("", (0, 0)), Chunk("U}", (0, 1, 1)), Chunk("!", (1,), "content")]
    assert list(Opened(iter(items))) == [
        None,
        Chunk("", (0, 0), "content"),
        Chunk("\\boxed{U}", (0, 8, 1), "content"),
        Chunk("!", (1,), "content"),
    ]


@pytest.mark.parametrize(
    ("content", "letters"),
    [("\\boxed{U}", ["U"]), ("\\boxed{U", ["U"]), ("\\boxed{\\boxed{L}", ["L"]), ("\\boxed{I choose \\boxed{up}.", ["U"]), ("\\boxed{", None), ("\\boxed{Q}", None)],
)
def test_a_forced_answer_is_read_with_our_box_or_its_own(content: str, letters: list[str] | None) -> None:
    assert read_forced(content, letters=LETTERS, turn=3).letters == letters


# What a small context does to guidance.


def overflowing(*, ticks: int, **options: Any) -> list[ev.AnyEvent]:
    class Small(Scripted):
        """Its context holds 2,000 tokens of guidance."""

        def stream(self, request: Request) -> Iterator[Item]:
            if len(request.guidance) > 3 * 2000:
                raise BackendError("context overflow: http://127.0.0.1/v1 answered 400: too many tokens", kind="http_status")
            return super().stream(request)

    return play("agile", planner=[thinking(100_000)], reactor=Small([thinking(50)]), ticks=ticks, **options)


def test_an_overflow_is_one_fault_and_halves_what_is_shown() -> None:
    events = overflowing(ticks=5)
    faults = of(events, ev.Fault)
    # 6,144 tokens at tick 0; then half of what was shown.
    assert [(fault.tick, fault.done) for fault in faults] == [
        (0, "default action; guidance limit 3072 tokens from now on"),
        (1, "default action; guidance limit 1536 tokens from now on"),
    ]
    assert [action.reason for action in of(events, ev.Action)] == ["fault", "fault", None, None, None]


def test_an_overflow_with_nothing_shown_changes_nothing() -> None:
    broken = [{"finish": "http_status", "says": "context overflow: no"}]
    events = play("agile", planner=[thinking(100_000)], reactor=broken, ticks=2, guidance="none")
    assert [fault.done for fault in of(events, ev.Fault)] == ["default action"] * 2
