"""`rtdesk.realtime`: a world that does not wait. Time is a number here, and nobody sleeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rtdesk
from games.base import GameError, Observation
from replays import events as ev
from replays.errors import ReplayError
from replays.reader import open_replay
from replays.verify import verify
from rtdesk.world import World
from workers.errors import ConfigError

SECOND = 1_000_000_000


class ManualClock:
    """Monotonic nanoseconds that only move when told, or slept through."""

    def __init__(self) -> None:
        self.now = 5 * SECOND
        self.slept = 0.0

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)
        self.slept += seconds

    def think(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def world(clock: ManualClock, game: str = "freeway", **options: Any) -> World:
    return rtdesk.realtime(game, **{"tick_budget": "6s", "clock": clock, "sleep": clock.sleep, **options})


def actions(path: Path) -> list[tuple[int, str, str, str | None]]:
    with open_replay(path) as recording:
        events = [event for tick in recording.ticks for event in recording.events(tick)]
    return [(event.tick, event.letter, event.source, event.reason) for event in events if isinstance(event, ev.Action)]


def test_the_name_stays_a_function_however_often_it_is_asked_for() -> None:
    assert callable(rtdesk.realtime)
    assert rtdesk.realtime is rtdesk.realtime


def test_an_action_in_time_is_played_at_its_deadline(clock: ManualClock) -> None:
    with world(clock) as here:
        assert here.observe().tick == 0
        clock.think(2)
        assert here.left == 4
        result = here.act("S")
        assert clock.now == 11 * SECOND
        assert result is not None
        assert result.observation.tick == 1
        assert here.observe().view["lane"] == 0
        assert (here.default_actions, here.late_actions) == (0, 0)


def test_a_late_action_becomes_the_default_action_and_is_counted(clock: ManualClock) -> None:
    with world(clock) as here:
        here.observe()
        clock.think(6)
        slept = clock.slept
        result = here.act("S")
        assert clock.slept == slept
        assert result is not None
        # Freeway's default action walks up.
        assert result.observation.view["lane"] == 1
        assert (here.tick, here.default_actions, here.late_actions) == (1, 1, 1)


def test_every_tick_that_went_by_is_made_up_for(clock: ManualClock) -> None:
    with world(clock, "snake") as here:
        here.observe()
        clock.think(13)
        assert here.observe().tick == 2
        assert (here.default_actions, here.late_actions) == (2, 0)
        # The third tick's deadline is where it always was.
        assert here.left == 5


def test_deadlines_are_absolute(clock: ManualClock) -> None:
    with world(clock, "metronome", tick_budget="1s", ticks=50) as here:
        while not here.done:
            here.observe()
            clock.think(0.3)
            here.act("B")
            # Woken up late, as it happens.
            clock.think(0.07)
    assert clock.now - 5 * SECOND == pytest.approx(50.07 * SECOND, abs=1000)
    assert here.summary["ticks"] == 50
    assert here.summary["done_reason"] == "ticks"


def test_an_action_is_for_the_tick_it_was_decided_on(clock: ManualClock) -> None:
    with world(clock) as here:
        here.observe()
        clock.think(7)
        # In time for tick 1, but decided on tick 0.
        here.act("S")
        assert here.late_actions == 1
        assert here.tick == 1


def test_handing_in_without_waiting_leaves_time_to_think_and_to_think_better(clock: ManualClock) -> None:
    with world(clock) as here:
        here.observe()
        assert here.act("S", wait=False) is None
        clock.think(1)
        here.act("U", wait=False)
        assert here.observe().tick == 0
        clock.think(5)
        assert here.observe().view["lane"] == 1
        assert (here.default_actions, here.late_actions) == (0, 0)
        here.act(None, wait=False)
        clock.think(6)
        here.observe()
        assert here.default_actions == 1


def test_an_illegal_letter_raises_and_changes_nothing(clock: ManualClock) -> None:
    with world(clock) as here:
        before = here.observe()
        with pytest.raises(GameError, match=r"'X' is no action of freeway; give one of U, D, S"):
            here.act("X")
        assert here.observe() == before
        assert clock.slept == 0


def test_after_the_end_nothing_happens_any_more(clock: ManualClock) -> None:
    with world(clock, ticks=1) as here:
        here.observe()
        last = here.act("U")
        assert here.done
        assert here.act("U") is last
        assert here.observe().tick == 1
        assert here.left == 0
        assert here.late_actions == 0
    assert here.summary["ticks"] == 1


def test_the_episode_may_end_while_the_agent_thinks(clock: ManualClock) -> None:
    with world(clock, ticks=3) as here:
        here.observe()
        clock.think(3600)
        result = here.act("U")
        assert here.done
        assert result is not None
        assert result.observation.tick == 3
    assert (here.summary["default_actions"], here.summary["late_actions"]) == (3, 1)


def test_thinking_in_slices_ends_at_the_deadline_or_earlier(clock: ManualClock) -> None:
    with world(clock) as here:
        here.observe()
        lefts = []
        for left in here.think():
            lefts.append(left)
            clock.think(2)
        assert lefts == [6, 4, 2]
        here.observe()
        lefts = []
        for left in here.think(timeout=3):
            lefts.append(left)
            clock.think(1)
        assert lefts == [3, 2, 1]
        for left in here.think(margin=1):
            lefts.append(left)
            clock.think(1)
        assert lefts == [3, 2, 1, 3, 2]
        assert here.late_actions == here.tick - 1 == 0


class Walker:
    """The published loop: observe, think(timeout), act."""

    def __init__(self, clock: ManualClock, letter: str | None, seconds: float) -> None:
        self.clock, self.letter, self.seconds = clock, letter, seconds
        self.timeouts: list[float] = []

    def observe(self, observation: Observation) -> None:
        self.seen = observation.tick

    def think(self, timeout: float) -> int | None:
        self.timeouts.append(timeout)
        self.clock.think(self.seconds)
        return None

    def act(self) -> str | None:
        return self.letter


def test_the_published_loop_plays_to_the_end(clock: ManualClock) -> None:
    agent = Walker(clock, "U", 1)
    with world(clock) as here:
        result = here.play(agent)
    assert set(agent.timeouts) == {6}
    assert result["agent"] == "own"
    assert (result["done_reason"], result["ticks"]) == ("cap", 100)
    assert result["default_actions"] == 0
    slow = Walker(clock, "S", 7)
    with world(clock, ticks=10) as here:
        # Every answer comes a second after its tick.
        result = here.play(slow)
    assert result["ticks"] == 10
    assert result["default_actions"] == 10


def test_an_agent_that_says_nothing_gets_the_default_action(clock: ManualClock, tmp_path: Path) -> None:
    path = tmp_path / "quiet.rtr"
    with world(clock, ticks=2, record=path) as here:
        here.play(Walker(clock, None, 1))
    assert here.default_actions == 2
    assert here.late_actions == 0
    assert actions(path) == [(0, "U", "default", "none"), (1, "U", "default", "none")]


class Writer:
    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.seen: list[tuple[int, float]] = []

    def observe(self, observation: Observation) -> None:
        self.tick = observation.tick

    def think(self, timeout: float) -> int | None:
        self.seen.append((self.tick, timeout))
        return self.tokens

    def act(self) -> str | None:
        return "S"


@pytest.mark.parametrize(("tokens", "late", "ticks_seen"), [(100, 0, [0, 1, 2, 3]), (101, 4, [0, 1, 2, 3]), (250, 2, [0, 2])])
def test_in_token_time_what_is_written_is_what_passes(tokens: int, late: int, ticks_seen: list[int]) -> None:
    writer = Writer(tokens)
    with rtdesk.realtime("freeway", tick_budget=100, ticks=4) as here:
        result = here.play(writer)
    assert [tick for tick, _ in writer.seen] == ticks_seen
    assert result["late_actions"] == late


def test_the_last_token_of_a_tick_is_in_time_and_the_next_one_is_not() -> None:
    with rtdesk.realtime("freeway", tick_budget=100) as here:
        here.observe()
        here.spend(60)
        assert here.left == 40
        here.spend(40)
        here.act("S")
        assert (here.tick, here.late_actions) == (1, 0)
        here.observe()
        here.spend(101)
        here.act("S")
        assert (here.tick, here.late_actions, here.default_actions) == (2, 1, 1)


def test_tokens_are_spent_only_where_they_are_the_clock(clock: ManualClock) -> None:
    with world(clock) as here, pytest.raises(ConfigError, match="seconds, which pass by themselves"):
        here.spend(5)
    with rtdesk.realtime("freeway", tick_budget=100) as here, pytest.raises(ValueError, match="-5 tokens cannot be spent"):
        here.spend(-5)


@pytest.mark.parametrize("budget", ["6s", 8192])
def test_a_recording_verifies_and_says_where_each_action_came_from(budget: str | int, clock: ManualClock, tmp_path: Path) -> None:
    path = tmp_path / "own.rtr"
    with world(clock, record=path, tick_budget=budget, agent="mine") as here:
        while not here.done:
            tick = here.observe().tick
            if tick == 1:
                if budget == "6s":
                    clock.think(8)
                else:
                    here.spend(9000)
            here.act("S" if tick < 3 else "U")
    assert actions(path)[:4] == [(0, "S", "policy", None), (1, "U", "default", "late"), (2, "S", "policy", None), (3, "U", "policy", None)]
    with open_replay(path) as recording:
        assert verify(recording).same
        header = recording.header
        assert (header.agent, header.clock) == ("mine", "wall" if budget == "6s" else "token")
        last = [event for event in recording.events(recording.last_tick or 0) if isinstance(event, ev.End)]
        steps = [event.t_ns for tick in recording.ticks for event in recording.events(tick) if isinstance(event, ev.Step)]
    assert last[0].totals.late_actions == here.summary["late_actions"] == 1
    assert here.summary["replay"] == str(path)
    if budget == "6s":
        # Each tick is over at its deadline, also the one that was made up for two seconds later.
        assert steps == [(tick + 1) * 6 * SECOND for tick in range(len(steps))]


def test_two_recordings_of_the_same_acts_are_canonically_the_same(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        clock = ManualClock()
        path = tmp_path / f"{name}.rtr"
        with world(clock, "overcooked", ticks=70, record=path) as here:
            while not here.done:
                here.observe()
                here.act("URDLI"[here.tick % 5])
        with open_replay(path) as recording:
            digests.append(ev.canonical_digest([recording.header, *(event for tick in recording.ticks for event in recording.events(tick))]))  # type: ignore[list-item]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(("error", "reason"), [(None, "quit"), (KeyboardInterrupt, "quit"), (ZeroDivisionError, "fault")])
def test_leaving_early_ends_the_recording_with_the_reason(error: type[BaseException] | None, reason: str, clock: ManualClock, tmp_path: Path) -> None:
    path = tmp_path / "left.rtr"

    def leave() -> None:
        with world(clock, record=path) as here:
            here.observe()
            here.act("S")
            if error is not None:
                raise error

    if error is None:
        leave()
    else:
        with pytest.raises(error):
            leave()
    with open_replay(path) as recording:
        ends = [event for event in recording.events(recording.last_tick or 0) if isinstance(event, ev.End)]
        assert [end.done_reason for end in ends] == [reason]
        assert ends[0].totals.ticks == 1
        assert verify(recording).same


def test_a_world_is_used_inside_its_block(clock: ManualClock) -> None:
    here = world(clock)
    with pytest.raises(GameError, match=r"enter it: with rtdesk\.realtime"):
        here.observe()
    with here, pytest.raises(GameError, match="the episode is not over"):
        _ = here.summary
    assert here.summary["done_reason"] == "quit"


def test_what_cannot_be_played_is_one_sentence(clock: ManualClock, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'snake'"):
        rtdesk.realtime("snek")
    with pytest.raises(ConfigError, match="is no budget"):
        rtdesk.realtime("snake", tick_budget="soon")
    with pytest.raises(ConfigError, match="unknown load 'huge'"):
        rtdesk.realtime("snake", load="huge")
    taken = tmp_path / "taken.rtr"
    taken.write_text("mine")
    with pytest.raises(ReplayError, match="already exists"):
        world(clock, record=taken).__enter__()
    assert taken.read_text() == "mine"
