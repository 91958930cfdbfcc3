"""Two sides of a match in wall time: one clock, also through pauses, steps and a machine that stood still. On a manual clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from replays import events as ev
from workers.conductor import Conductor, Want
from workers.config import plan_episode
from workers.episode import cast_of, make_game, make_header
from workers.live.game import moved_ns
from workers.pace import Tempo
from workers.rings import ListRing
from workers.wire import Command, Emitter, drain, split

S = 1_000_000_000
BEGIN = 7 * S
TICK_S = 0.5
NOTICE_NS = S // 10


class Wish(NamedTuple):
    """Asked for at `at_s`, told to the side so much later."""

    at_s: float
    what: str
    late_s: float = 0.0


class Side:
    """One side's conductor, which wakes `late_s` after every instant it waits for."""

    def __init__(self, wishes: Sequence[Wish], *, late_s: float = 0.0, ticks: int = 12) -> None:
        config = plan_episode("freeway", agent="default", tick_budget=f"{TICK_S}s", load="easy", ticks=ticks)
        game = make_game(config)
        header = make_header(config, game, meas={})
        self.now = BEGIN
        ring, desk = ListRing(), ListRing()
        tempo = Tempo(math.inf, tick_tokens=None, tick_ns=round(TICK_S * S), notice_ns=NOTICE_NS)
        emitter = Emitter(ring.writer(), clock=lambda: self.now, epoch_ns=BEGIN)
        self._conductor = Conductor(cast_of(config, game, header), game, emitter, header=header, tempo=tempo, together=True)
        self._said, self._orders, self._heard = ring.reader(), Emitter(desk.writer()), desk.reader()
        self._late_ns = round(late_s * S)
        self._wishes = sorted((BEGIN + round((wish.at_s + wish.late_s) * S), BEGIN + round(wish.at_s * S), wish.what) for wish in wishes)

    def play(self) -> list[ev.AnyEvent]:
        for want in self._conductor.run():
            while not self._conductor.met(want, self.now):
                self._wait(want)
        return [event for event in split(drain(self._said)) if isinstance(event, ev.Event)]

    def _wait(self, want: Want) -> None:
        due = self._conductor.due_ns(want) + self._late_ns if want.kind == "due" else math.inf
        told = self._wishes[0][0] if self._wishes else math.inf
        assert min(due, told) < math.inf, f"nothing would ever come for {want}"
        self.now = max(self.now, int(min(due, told)))
        while self._wishes and self._wishes[0][0] <= self.now:
            _, asked_ns, what = self._wishes.pop(0)
            self._orders.control(Command(what=what, t_ns=asked_ns))
            self._conductor.hear("desk", drain(self._heard))


def deadlines(events: list[ev.AnyEvent]) -> list[float]:
    """The tick deadlines in seconds since the beginning, tick for tick."""
    return [(event.deadline_ns or 0) / S for event in events if isinstance(event, ev.Tick)]


def test_a_pause_lasts_from_a_deadline_to_the_wish_to_go_on() -> None:
    events = Side([Wish(1.2, "pause"), Wish(3.3, "resume")], ticks=6).play()
    assert deadlines(events) == pytest.approx([0.5, 1.0, 1.5, 3.8, 4.3, 4.8])
    assert [(event.what, event.tick) for event in events if isinstance(event, ev.Control)] == [("pause", 3), ("resume", 3)]
    assert [event.what for event in events if isinstance(event, ev.Fault)] == ["paused for 1.8 s"]


@pytest.mark.parametrize("late_s", [0.0, 0.02, 0.09, 0.2, 0.7])
@pytest.mark.parametrize("asked_s", [1.0, 1.2, 1.39, 1.41, 1.499, 1.5])
def test_sides_that_hear_of_a_pause_one_after_the_other_tick_on_at_the_same_instants(asked_s: float, late_s: float) -> None:
    resumed = asked_s + 2.37
    prompt = Side([Wish(asked_s, "pause"), Wish(resumed, "resume")], late_s=0.0001).play()
    tardy = Side([Wish(asked_s, "pause", late_s), Wish(resumed, "resume", late_s / 2)], late_s=0.03).play()
    first, second = deadlines(prompt), deadlines(tardy)
    assert len(first) == len(second) == 12
    # Whatever one side had played on before it heard of the pause, it waits for the other to catch up.
    both = [pair for pair in zip(first, second) if min(pair) > resumed]
    assert len(both) >= 6
    assert [one for one, _ in both] == pytest.approx([other for _, other in both], abs=1e-6)
    if late_s <= NOTICE_NS / S:
        assert first == pytest.approx(second, abs=1e-6)


def test_a_pause_taken_back_before_it_began_moves_nothing() -> None:
    wishes = [Wish(0.62, "pause"), Wish(0.7, "resume")]
    assert deadlines(Side(wishes, ticks=4).play()) == pytest.approx([0.5, 1.0, 1.5, 2.0])


def test_single_steps_keep_the_sides_in_step() -> None:
    def played(late_s: float) -> list[float]:
        wishes = [Wish(0.7, "pause", late_s), Wish(2.0, "step", late_s), Wish(3.25, "step", late_s), Wish(5.0, "resume", late_s)]
        return deadlines(Side(wishes, late_s=late_s, ticks=7).play())

    assert played(0.0) == pytest.approx([0.5, 1.0, 2.5, 3.75, 5.5, 6.0, 6.5])
    assert played(0.05) == pytest.approx(played(0.0))


def test_sides_that_stood_still_and_wake_one_after_the_other_keep_the_same_deadlines() -> None:
    tick, deadline = S // 2, 20 * S
    # A lid was shut for a minute; one process runs again 40 ms before the other.
    first, second = (deadline + moved_ns(late, tick, together=True) + tick for late in (60 * S + 210_000_000, 60 * S + 250_000_000))
    assert first == second
    assert first - deadline - 60 * S >= 210_000_000 + tick, "the tick after it is a whole one"
    assert moved_ns(2 * S, tick, together=True) == 0, "lateness like any other"
    assert moved_ns(3 * S + 1, tick, together=False) == 3 * S + 1
