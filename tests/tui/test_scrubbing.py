"""Moving about in a recording: any place gives exactly what had been released by then, however one came there."""

import random
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from material import BUDGET, episode, upto
from test_player import EVENTS, LAST, Clock, settled, take, write

from replays import events as ev
from replays.reader import open_replay
from replays.reduce import fold, fold_all
from replays.view_state import ViewState
from rtdesk.tui.player import EventList, ListSource, ReplaySource
from rtdesk.tui.released import TickPlay
from rtdesk.tui.states import States, from_keyframe
from rtdesk.tui.survey import Survey


def paused(events: list[ev.AnyEvent] = EVENTS) -> ReplaySource:
    return ListSource(events, mode="replay", playing=False, rate=1.0)


def at(tick: int, share: float) -> ViewState:
    """The state of folding from the start up to an instant."""
    return fold_all(upto(EVENTS, tick, share))


def folded_before(tick: int) -> ViewState:
    return fold_all([EVENTS[0], *(event for event in EVENTS[1:] if event.tick < tick)])


def test_every_place_shows_what_had_been_released_by_then_however_one_came_there() -> None:
    source, clock, state, chance = paused(), Clock(), ViewState(), random.Random(4)
    state = take(source, state, clock, 0)
    moves = [("scrub", "1"), ("scrub", "700"), ("scrub", "-700"), ("scrub", "-1"), ("event", "1"), ("event", "-1"), ("tick", "1"), ("tick", "-2"), ("place", "x")]
    for _ in range(160):
        what, value = chance.choice(moves)
        source.command(what, f"{chance.randrange(LAST)} {chance.random()}" if what == "place" else value)
        state = take(source, state, clock, 0.01)
        if source.tick == LAST and source.share >= 1.0:
            # The end of the last tick is the end of everything, or everything but that.
            continue
        assert settled(state) == settled(at(source.tick, source.share)), (what, value, source.tick, source.share)


def test_a_token_at_a_time_the_thought_grows_by_a_token() -> None:
    source, clock, state = paused(), Clock(), ViewState()
    state = take(source, state, clock, 0)
    source.command("place", "3 0.5")
    state = take(source, state, clock, 0)
    seen = []
    for way in ("1",) * 12 + ("-1",) * 12:
        source.command("scrub", way)
        state = take(source, state, clock, 0)
        seen.append((state.planner.tokens, len(state.planner.text), state.tick))
    assert [b[0] - a[0] for a, b in pairwise(seen)] == [1] * 11 + [-1] * 12
    assert len({one[2] for one in seen}) == 1
    assert seen[12:] == [*reversed(seen[:11]), (seen[0][0] - 1, seen[0][1] - 4, 3)]


def test_scrubbing_goes_on_across_the_borders_of_ticks() -> None:
    source, clock, state = paused(), Clock(), ViewState()
    take(source, state, clock, 0)
    source.command("place", "3 0.0")
    places = []
    for way in ("-5", "5", "5"):
        source.command("scrub", way)
        places.append((source.tick, source.share))
    # From the beginning of 3 to the end of 2, over the border again, and on.
    assert places == [(2, 1.0), (3, 0.0), (3, 5 / BUDGET)]
    source.command("home")
    source.command("place", "0 0")
    source.command("scrub", "-9")
    assert (source.tick, source.share) == (0, 0.0)


def test_stepping_by_event_stops_where_something_happens_and_says_what() -> None:
    source, clock, state = paused(), Clock(), ViewState()
    take(source, state, clock, 0)
    source.command("place", "9 0")
    said = [source.command("event", "1") for _ in range(4)]
    assert said[0] == "tick 9: reactor wakes"
    assert said[1].startswith("tick 9: reactor ends (budget), reactor gives no answer: truncated")
    assert said[2] == "tick 9: all said, nothing applied"
    assert said[3].startswith("tick 10: ")
    back = [source.command("event", "-1") for _ in range(4)]
    assert back[0] == said[2]
    assert back[2] == said[0]
    assert back[3] == "tick 9: planner begins on turn 9"


def test_stepping_by_event_ends_at_both_ends() -> None:
    source, clock, state = paused(), Clock(), ViewState()
    take(source, state, clock, 0)
    source.command("place", "0 0")
    assert source.command("event", "-1") == "no event before this one"
    source.command("place", f"{LAST} 1")
    assert source.command("event", "1") == "no event after this one"
    assert source.status.play == "paused"


def test_in_wall_time_a_tick_is_scrubbed_by_the_instants_its_frames_came() -> None:
    header = ev.Episode(tick=0, game="snake", load="easy", seed=0, agent="agile", clock="wall", tick_budget_s=1.0, reactive_budget_s=0.25)
    second = 1_000_000_000
    run = ev.Token(tick=0, t_ns=100_000_000, stream="planner", generation=0, channel="reasoning", text="abcdef", lens=[1] * 6, meas={"arrivals": [[2, 100_000_000], [4, 600_000_000]]})  # fmt: skip
    events = [
        ev.Tick(tick=0, t_ns=0, view={}, text="", reactor_ns=3 * second // 4, deadline_ns=second),
        ev.Generation(tick=0, t_ns=1, stream="planner", id=0, phase="start"),
        run,
        ev.Action(tick=0, t_ns=second, letter="S", source="default", reason="late"),
    ]
    shown = []
    for share in (0.0, 0.05, 0.2, 0.59, 0.61, 1.0):
        play = TickPlay(events, header)
        state = fold_all([header, *play.upto(share)])
        shown.append(state.planner.text)
        assert state.last is None
    assert shown == ["", "", "ab", "ab", "abcdef", "abcdef"]
    assert [stop.what for stop in TickPlay(events, header).stops()] == ["the tick begins", "planner begins on turn 0", "all said, nothing applied"]


def test_as_fast_as_it_goes_plays_everything_and_gives_the_state_of_folding_everything() -> None:
    source, clock, state = ListSource(EVENTS, mode="replay", rate=1.0), Clock(), ViewState()
    state = take(source, state, clock, 0)
    for _ in range(20):
        source.command("faster")
    assert source.command("faster") == "as fast as it goes"
    for _ in range(400):
        state = take(source, state, clock, 0.02)
    assert source.status.play == "ended"
    assert settled(state) == settled(fold_all(EVENTS))
    source.command("slow", "down")
    assert source.status.speed == 16


def test_one_that_follows_stands_where_its_leader_stands() -> None:
    other = episode(load="medium", seed=3)
    lead = paused()
    follower = ReplaySource(EventList(other), lead=lead)
    clock, states, chance = Clock(), [ViewState(), ViewState()], random.Random(9)
    last = other[-1].tick
    for what, value in [("tick", "1"), ("scrub", "300"), ("scrub", "-40"), ("jump", "7"), ("event", "1"), ("pause", ""), ("faster", ""), ("pause", ""), ("home", ""), ("place", "5 0.25")] * 3:
        lead.command(what, value)
        assert follower.command("jump", "2") == ""
        for _ in range(chance.randrange(1, 4)):
            now = clock.on(0.3)
            for i, source in enumerate((lead, follower)):
                for item in source.poll(now):
                    states[i] = item if isinstance(item, ViewState) else fold(states[i], item)
        assert (follower.tick, follower.share) == (lead.tick, lead.share)
        assert follower.status.play == lead.status.play
        if lead.tick < last:
            assert settled(states[1]) == settled(fold_all(upto(other, lead.tick, lead.share)))


def test_a_fork_has_not_begun_before_its_first_tick_and_a_shorter_run_stays_as_it_ended() -> None:
    late = [EVENTS[0], *(event for event in EVENTS[1:] if 10 <= event.tick < 14)]
    lead = ReplaySource(EventList(EVENTS), playing=False)
    follower = ReplaySource(EventList(late), lead=lead)
    clock, state = Clock(), ViewState()
    for tick, expected in ((4, -1), (12, 12), (3, -1), (20, 13), (25, 13)):
        lead.command("jump", str(tick))
        lead.poll(clock.on(0.1))
        state = take(follower, state, clock, 0)
        assert (state.tick, follower.tick) == (expected, tick)
    assert state.header is not None


def test_states_are_those_of_folding_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "a.rtr"
    write(path, EVENTS)
    with open_replay(path) as replay:
        states = States(replay)
        order = list(range(LAST + 2))
        random.Random(2).shuffle(order)
        for tick in order:
            expected = folded_before(tick)
            assert settled(states.before(tick)) == settled(expected), tick


def test_what_a_caller_folds_into_a_state_is_not_in_the_next_one() -> None:
    states = States(EventList(EVENTS))
    state = states.before(9)
    for event in EVENTS:
        if event.tick == 9:
            fold(state, event)
    assert settled(states.before(9)) == settled(folded_before(9))


def test_kept_states_take_no_more_than_their_room() -> None:
    store = EventList(EVENTS)
    states = States(store, room=300_000)
    survey = Survey(store, states)
    survey.work(lambda: False)
    for tick in range(LAST):
        states.before(tick)
    assert 0 < states.kept_bytes <= 300_000
    for tick in (1, 7, LAST):
        assert settled(states.before(tick)) == settled(folded_before(tick))


def test_kept_states_share_a_text_that_grew_and_no_other() -> None:
    states = States(EventList(EVENTS))
    tails = {3: "The head is at ", 1: "The head", 5: "The head is at (3,4)", 7: "The tail ", 2: "", 9: "The tail is at (1,1)"}
    for count, tail in tails.items():
        state = ViewState()
        state.planner.tail = tail
        states.keep(count, state)
        assert state.planner.text == tail, "the caller's own state is left alone"
    assert {count: states._kept[count].copy().planner.text for count in tails} == tails
    held = {id(text): text.text for kept in states._kept.values() for text, _ in kept.tails[:1]}
    assert sorted(held.values()) == ["The head is at (3,4)", "The tail is at (1,1)"]


@pytest.mark.parametrize("data", [{"tick": "x"}, {"tick": 7, "note": "state after it"}, {}, {"tick": 7, "planner": {"name": 5}}, {"tick": 3, "planner": {"name": "planner"}}])
def test_a_keyframe_that_is_no_state_is_passed_over(data: dict[str, object]) -> None:
    class Store(EventList):
        def keyframe(self, tick: int) -> tuple[int, dict[str, object]]:
            return 7, data

    assert from_keyframe(Store(EVENTS), 9) is None
    assert settled(States(Store(EVENTS)).before(9)) == settled(folded_before(9))


def test_the_survey_finds_every_kind_of_event_of_a_tick_and_not_only_the_most_telling() -> None:
    events = [msgspec.structs.replace(event, reason="late") if isinstance(event, ev.Action) and event.source == "default" else event for event in EVENTS]
    events.insert(next(i for i, event in enumerate(events) if event.tick == 9 and isinstance(event, ev.Action)), ev.Bookmark(tick=9, note="here"))
    store = EventList(events)
    survey = Survey(store, States(store))
    survey.work(lambda: False)
    assert {"late", "bookmark"} <= survey.kinds(9)
    assert survey.find("late", 0) == 9
    assert survey.find("late", 9) is None
    assert survey.find("late", 20, back=True) == 9
    assert survey.find("", 16) == 17
    plans = {event.tick for event in EVENTS if isinstance(event, ev.Generation) and event.stream == "planner" and event.phase == "end"}
    assert {tick for tick in range(LAST + 1) if "plan" in survey.kinds(tick)} == plans


def test_bookmarks_appended_later_are_shown_found_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "a.rtr"
    write(path, EVENTS)
    source, clock, state = ReplaySource.open(path, playing=False), Clock(), ViewState()
    state = take(source, state, clock, 0)
    source.command("jump", "5")
    assert source.command("bookmark", "a turn to remember") == "bookmark at tick 5"
    source.close()
    source, state = ReplaySource.open(path, playing=False), ViewState()
    for _ in range(100):
        state = take(source, state, clock, 0.01)
    assert source.overview is not None
    assert source.overview.marks[5] == "b"
    assert source.command("find", "bookmark") == "tick 5: bookmark, a turn to remember"
    state = take(source, state, clock, 0)
    assert [note.text for note in state.notes if note.kind == "bookmark" and note.tick == 5] == ["a turn to remember"]
    source.command("jump", "12")
    state = take(source, state, clock, 0)
    assert [note.tick for note in state.notes] == sorted(note.tick for note in state.notes)
    assert "a turn to remember" in [note.text for note in state.notes]
    source.close()
