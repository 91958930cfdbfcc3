"""Playing a recording: the same state as folding it, at any speed; jumps, steps, the overview."""

import math
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from material import BUDGET, episode, pieces

from replays import events as ev
from replays.reader import open_replay
from replays.reduce import fold, fold_all
from replays.view_state import ViewState
from replays.writer import ReplayWriter
from rtdesk.tui.player import EventList, ListSource, ReplaySource, cut
from rtdesk.tui.source import Pace

EVENTS = episode()
LAST = EVENTS[-1].tick
SECOND = 1_000_000_000


class Clock:
    """Monotonic ns moved by hand."""

    def __init__(self) -> None:
        self.now = 7 * SECOND

    def on(self, seconds: float) -> int:
        self.now += round(seconds * SECOND)
        return self.now


def take(source: ReplaySource, state: ViewState, clock: Clock, seconds: float) -> ViewState:
    for item in source.poll(clock.on(seconds)):
        state = item if isinstance(item, ViewState) else fold(state, item)
    return state


def settled(state: ViewState) -> dict[str, object]:
    data = state.to_map()
    return msgspec.to_builtins(data)  # type: ignore[no-any-return]


@pytest.mark.parametrize("frame_s", [0.003, 0.033, 0.4, 0.99])
def test_playing_to_the_end_gives_the_state_of_folding_everything(frame_s: float) -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", rate=40.0), Clock(), ViewState()
    for _ in range(5000):
        state = take(source, state, clock, frame_s)
        if source.ended:
            break
    assert source.status.play == "ended"
    assert settled(state) == settled(fold_all(EVENTS))


def test_both_streams_move_inside_a_tick() -> None:
    source, clock, state = ListSource(EVENTS, mode="live", rate=1.0), Clock(), ViewState()
    seen = []
    for _ in range(40):
        state = take(source, state, clock, 0.025)
        seen.append((state.tick, state.planner.tick_tokens, state.reactor.tick_tokens))
    first = [one for one in seen if one[0] == 0]
    assert len({planner for _, planner, _ in first}) > 15
    assert len({reactor for _, _, reactor in first}) > 2
    assert all(reactor == 0 for _, _, reactor in seen[:30])


def test_nothing_is_shown_before_its_instant() -> None:
    source, clock, state = ListSource(EVENTS, rate=1.0), Clock(), ViewState()
    take(source, state, clock, 0)
    state = take(source, state, clock, 0.5)
    assert state.now_at <= BUDGET // 2 + 1
    assert state.woke is None
    assert source.status.at == pytest.approx(BUDGET / 2)


def test_pause_holds_and_a_step_ends_with_everything_said_and_nothing_applied() -> None:
    source, clock, state = ListSource(EVENTS, rate=1.0), Clock(), ViewState()
    state = take(source, state, clock, 0)
    source.command("pause")
    before = source.status
    state = take(source, state, clock, 5)
    assert (state.tick, source.status) == (0, before)
    source.command("step")
    for _ in range(60):
        state = take(source, state, clock, 0.1)
    assert (state.tick, state.steps, source.status.play) == (0, 0, "paused")
    assert state.answer is not None
    source.command("step")
    for _ in range(60):
        state = take(source, state, clock, 0.1)
    assert (state.tick, state.steps) == (1, 1)


def test_a_jump_gives_the_state_of_folding_up_to_there() -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", playing=False), Clock(), ViewState()
    state = take(source, state, clock, 0)
    source.command("jump", "12")
    state = take(source, state, clock, 0.1)
    expected = fold_all(event for event in EVENTS if event.tick < 12 or (event.tick == 12 and not isinstance(event, ev.Action | ev.Step)))
    assert settled(state) == settled(expected)
    for what, value, tick in (("tick", "1", 13), ("tick", "-3", 10), ("home", "", 0), ("end", "", LAST), ("jump", "99999", LAST), ("tick", "-99", 0)):
        source.command(what, value)
        state = take(source, state, clock, 0.1)
        assert state.tick == tick, what


def test_a_jump_while_playing_goes_on_from_the_ticks_beginning() -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", rate=1.0), Clock(), ViewState()
    take(source, state, clock, 0)
    source.command("jump", "12")
    state = take(source, state, clock, 0.01)
    assert (state.tick, state.planner.tick_tokens < 200) == (12, True)


@pytest.mark.parametrize("rate", [0.001, 500.0])
def test_a_pace_beyond_the_ladder_never_goes_the_other_way(rate: float) -> None:
    pace = Pace(rate, slowest=1 / 64, fastest=30.0)
    pace.slower()
    assert pace.base <= rate
    pace.base = rate
    pace.faster()
    assert pace.base >= rate


def test_speed_goes_from_a_tenth_to_sixty_four_and_slow_motion_to_a_token_a_frame() -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", rate=1.0), Clock(), ViewState()
    take(source, state, clock, 0)
    for _ in range(20):
        source.command("faster")
    assert source.status.speed == math.inf
    source.command("slower")
    assert source.status.speed == 64
    for _ in range(20):
        source.command("slower")
    assert source.status.speed == 0.1
    for _ in range(9):
        source.command("slow", "down")
    assert source.status.rate == pytest.approx(30 / BUDGET)
    tokens = []
    for _ in range(30):
        state = take(source, state, clock, 1 / 30)
        tokens.append(state.planner.tokens)
    assert max(b - a for a, b in pairwise(tokens)) <= 2
    source.command("faster")
    assert source.status.speed == 0.1


def test_find_goes_to_the_next_tick_of_a_kind() -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", playing=False), Clock(), ViewState()
    for _ in range(200):
        state = take(source, state, clock, 0.01)
    for kind, tick in (("default", 9), ("fault", 17), ("bookmark", 20), ("-default", 9)):
        source.command("find", kind)
        state = take(source, state, clock, 0.01)
        assert state.tick == tick, kind
    assert source.command("find", "late").startswith("no late after")


def test_the_overview_is_the_whole_recordings_history() -> None:
    source, clock = ListSource(EVENTS, mode="replay", playing=False), Clock()
    for _ in range(200):
        source.poll(clock.on(0.01))
    whole = fold_all(EVENTS)
    assert source.overview is not None
    assert source.overview.acted == whole.history.acted
    # Finished plans are marked where nothing else happened; the history has no room for them.
    assert source.overview.marks.replace("p", " ").rstrip() == whole.history.marks.rstrip()
    ends = {event.tick for event in EVENTS if isinstance(event, ev.Generation) and event.stream == "planner" and event.phase == "end"}
    assert {tick for tick, mark in enumerate(source.overview.marks) if mark == "p"} == {tick for tick in ends if whole.history.marks[tick : tick + 1].strip() == ""}
    assert source.overview.ticks == LAST + 1


def test_a_file_plays_from_its_keyframes(tmp_path: Path) -> None:
    path = tmp_path / "a.rtr"
    write(path, EVENTS)
    source, clock, state = ReplaySource.open(path, playing=False), Clock(), ViewState()
    state = take(source, state, clock, 0)
    source.command("jump", "15")
    state = take(source, state, clock, 0.1)
    assert state.tick == 15
    assert settled(state) == settled(fold_all(event for event in EVENTS if event.tick < 15 or (event.tick == 15 and not isinstance(event, ev.Action | ev.Step))))
    assert source.command("bookmark", "mine") == "bookmark at tick 15"
    source.close()
    with open_replay(path) as replay:
        assert [(event.tick, event.note) for event in replay.annotations if isinstance(event, ev.Bookmark)] == [(15, "mine")]


def write(path: Path, events: list[ev.AnyEvent]) -> None:
    """Record `events` with a keyframe every 8 ticks."""
    state = ViewState()
    by_tick: dict[int, list[ev.AnyEvent]] = {}
    for event in events[1:]:
        by_tick.setdefault(event.tick, []).append(event)
    fold(state, events[0])
    with ReplayWriter.create(path, events[0]) as writer:
        for tick, batch in by_tick.items():
            writer.tick(tick, batch)
            for event in batch:
                fold(state, event)
            if tick % 8 == 7:
                writer.keyframe(tick, state.to_map())


def test_a_keyframe_of_another_shape_is_passed_over() -> None:
    class Store(EventList):
        def keyframe(self, tick: int) -> tuple[int, dict[str, object]]:
            return max(0, tick - 2), {"tick": "x"}

    source, clock, state = ReplaySource(Store(EVENTS), playing=False), Clock(), ViewState()
    take(source, state, clock, 0)
    source.command("jump", "5")
    state = take(source, state, clock, 0.1)
    assert (state.tick, state.steps) == (5, 5)


def test_an_empty_recording_is_shown_as_ended() -> None:
    source = ListSource(EVENTS[:1], mode="replay")
    assert list(source.poll(1)) == EVENTS[:1]
    assert source.status.play == "ended"
    assert "no tick" in source.command("jump", "3")


def test_a_list_must_begin_with_the_header() -> None:
    with pytest.raises(ValueError, match="must begin with an episode event"):
        EventList(EVENTS[1:])


def test_a_cut_run_folds_to_the_same_state() -> None:
    assert settled(fold_all(pieces(EVENTS, seed=3))) == settled(fold_all(EVENTS))
    run = next(event for event in EVENTS if isinstance(event, ev.Token))
    first, rest = cut(run, 100)
    assert first.text + rest.text == run.text
    assert (len(first.lens), rest.at) == (100, run.at + 100)
