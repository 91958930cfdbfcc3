"""The conductor in wall time, on a manual clock: which answer counts for which tick, which plan is in force, and deadlines that do not drift."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from clock_kit import QUICK, of

from replays import events as ev
from workers.backends.scripted import Backend as Scripted
from workers.conductor import Conductor, Want
from workers.config import plan_episode
from workers.episode import cast_of, make_game, make_header
from workers.pace import Tempo
from workers.rings import ListRing, Ring
from workers.wire import Emitter, drain, split

SECOND = 1_000_000_000
BEGIN = 7 * SECOND


class Wall:
    """An episode with ticks of a second, whose thinkers are what the test says in their name."""

    def __init__(self, agent: str, game: str = "snake", *, ticks: int = 4, load: str = "easy", **options: Any) -> None:
        self.now = BEGIN
        thinkers: dict[str, Any] = {"planner": Scripted(QUICK), "reactor": Scripted(QUICK)}
        config = plan_episode(game, agent=agent, load=load, tick_budget="1s", ticks=ticks, **thinkers, **options)
        played = make_game(config)
        header = make_header(config, played, meas={})
        self._rings = {name: ListRing() for name in ("game", "planner", "reactor")}
        self._said = self._rings["game"].reader()
        self._heard = {name: self._rings[name].reader() for name in ("planner", "reactor")}
        self._voices = {name: Emitter(ring.writer(), clock=lambda: self.now, epoch_ns=BEGIN) for name, ring in self._rings.items()}
        self.conductor = Conductor(cast_of(config, played, header), played, self._voices["game"], header=header, tempo=Tempo(math.inf, tick_tokens=None))
        for seat in self.conductor.seats.values():
            seat.ready = 0

    def say(self, stream: str, generation: int, letters: str, *, mode: str = "act") -> None:
        """An answer of a thinker arrives now."""
        turns = [generation + i for i in range(len(letters))] if mode == "plan" else None
        answer = ev.Answer(tick=self.conductor.tick, stream=stream, generation=generation, mode=mode, letters=list(letters), turns=turns)
        self._voices[stream].event(answer)
        self.conductor.hear(stream, drain(self._heard[stream]))

    def play(self, during: Mapping[int, Callable[[], object]], *, late_s: Mapping[int, float] | None = None) -> list[Any]:
        """Play to the end; `during` says what happens within a tick, `late_s` how late the game's process wakes at its deadline."""
        for want in self.conductor.run():
            if want.kind == "due":
                during.get(self.conductor.tick, lambda: None)()
                self.wait(want, (late_s or {}).get(self.conductor.tick, 0.0))
        return list(split(drain(self._said)))

    def wait(self, want: Want, late_s: float = 0.0) -> None:
        assert not self.conductor.met(want, want.due_ns - 1)
        self.now = want.due_ns + round(late_s * SECOND)
        assert self.conductor.met(want, self.now)


def applied(events: list[Any]) -> list[tuple[str, str, str | None]]:
    return [(action.letter, action.source, action.reason) for action in of(events, ev.Action)]


def test_answer_to_an_earlier_tick_is_dropped_and_its_own_tick_was_late() -> None:
    wall = Wall("reactive", ticks=3)
    events = wall.play({0: lambda: wall.say("reactor", 0, "U"), 2: lambda: wall.say("reactor", 1, "U")})
    default = wall.conductor._config.default_action
    assert applied(events) == [("U", "reactor", None), (default, "default", "late"), (default, "default", "late")]
    totals = of(events, ev.End)[0].totals
    assert (totals.default_actions, totals.late_actions) == (2, 2)


def test_plan_of_an_older_generation_does_not_take_the_place_of_a_newer_one() -> None:
    wall = Wall("planning", ticks=4)
    events = wall.play({1: lambda: (wall.say("planner", 1, "UUU", mode="plan"), wall.say("planner", 0, "LLLL", mode="plan"))})
    assert [letter for letter, source, _ in applied(events) if source == "plan"] == ["U", "U", "U"]


def test_plan_made_before_a_reset_is_void_however_late_it_arrives() -> None:
    """A chicken that walks into the traffic is put back to the start; a plan begun on the turn it was hit is about a life that is over."""
    wall = Wall("planning", "freeway", ticks=40, load="hard")
    reset: list[int] = []

    def up() -> None:
        tick = wall.conductor.tick
        if wall.conductor._since and not reset:
            reset.append(tick)
            wall.say("planner", tick - 1, "UUU", mode="plan")
        elif not reset:
            wall.say("planner", tick, "U", mode="plan")

    events = wall.play(dict.fromkeys(range(40), up))
    assert of(events, ev.Step, reset=True)
    assert {action.source for action in of(events, ev.Action) if action.tick >= reset[0]} == {"default"}


def test_a_late_tick_does_not_move_the_deadlines_behind_it() -> None:
    wall = Wall("default", "metronome", ticks=5)
    events = wall.play({}, late_s={0: 0.3, 1: 0.2, 3: 0.9})
    assert [tick.deadline_ns for tick in of(events, ev.Tick)] == [k * SECOND for k in range(1, 6)]


def test_time_that_stood_still_moves_every_deadline_to_come_and_is_the_hosts_fault() -> None:
    wall = Wall("default", "metronome", ticks=4)
    events = wall.play({1: lambda: wall.conductor.stood_still("paused", 10 * SECOND)})
    assert [tick.deadline_ns for tick in of(events, ev.Tick)] == [SECOND, 2 * SECOND, 13 * SECOND, 14 * SECOND]
    assert [(fault.cause, fault.what) for fault in of(events, ev.Fault)] == [("host", "paused for 10.0 s")]
    assert of(events, ev.End)[0].totals.faults == 0


def test_from_the_action_to_the_next_tick_readers_are_woken_once() -> None:
    config = plan_episode("metronome", agent="default", tick_budget="1s", ticks=3)
    game = make_game(config)
    header = make_header(config, game, meas={})
    with Ring.create(1 << 14) as ring, ring.writer() as writer, ring.reader(0) as reader:
        conductor = Conductor(cast_of(config, game, header), game, Emitter(writer), header=header, tempo=Tempo(math.inf, tick_tokens=None))
        seen = []
        for want in conductor.run():
            kinds = [type(item).__name__ for item in split(drain(reader))]
            if want.kind == "tick":
                assert kinds == [], "a step alone wakes everybody before the next tick is written"
            else:
                seen.append(kinds)
        seen.append([type(item).__name__ for item in split(drain(reader))])
    assert seen == [["Episode", "Go", "Tick"], ["Action", "Step", "Tick"], ["Action", "Step", "Tick"], ["Action", "Step", "End", "Close"]]
