"""Who waits for whom, with deaths in between: the conductor and both thinkers over lists, one step at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from clock_kit import QUICK, Script, Shown, generations, of, shown, thinking

from replays import events as ev
from workers.backends.scripted import Backend as Scripted
from workers.conductor import Want
from workers.config import plan_episode
from workers.episode import cast_of, make_game
from workers.planner import PlannerCore
from workers.reactor import ReactorCore
from workers.rings import KIND_MARK, ListRing
from workers.seats import Seat
from workers.simulator import FAR, Stage
from workers.wire import Command, Death, Emitter, Mark, Ready, drain, read_control, split

LONG = [thinking(1_000_000)]


class Table(Stage):
    """A stage whose thinkers can die and come back, and whose wants are looked at one by one."""

    def __init__(self, agent: str = "agile", *, planner: Script = LONG, reactor: Script = QUICK, game: str = "metronome", **options: Any) -> None:
        thinkers = {"planner": Scripted(planner), "reactor": Scripted(reactor)}
        self.config = plan_episode(game, agent=agent, **{"reactive_budget": 4096, **options}, **thinkers)  # type: ignore[arg-type]
        super().__init__(self.config, meas={}, clock=itertools.count(0, 1000).__next__)
        self.wants: Iterator[Want] = self.conductor.run()
        self.log: list[ev.AnyEvent] = [self.header]
        self.desk = ListRing()
        self._desk_writer = Emitter(self.desk.writer())
        self._desk_reader = self.desk.reader()

    def next(self) -> Want:
        want = next(self.wants)
        self.record(lambda tick, events: self.log.extend(events))
        return want

    def fulfil(self, want: Want) -> None:
        """Let everybody think until the want has come."""
        for _ in range(1000):
            if self.conductor.met(want, 0):
                return
            self.think()
        raise AssertionError(f"{want} never came")

    def play_to(self, kind: str, tick: int) -> Want:
        """Go on to the want of that kind in that tick."""
        while True:
            want = self.next()
            if want.kind == kind and self.conductor.tick >= tick:
                return want
            self.fulfil(want)

    def finish(self) -> list[ev.AnyEvent]:
        for want in self.wants:
            self.record(lambda tick, events: self.log.extend(events))
            self.fulfil(want)
        self.record(lambda tick, events: self.log.extend(events))
        assert self.end is not None
        return [*self.log, self.end]

    def tell(self, message: Command | Death) -> None:
        """What the desk writes; the thinkers' rings are heard first, as the driver does."""
        self._desk_writer.control(message)
        for name, reader in self._heard.items():
            self.conductor.hear(name, drain(reader))
        self.conductor.hear("desk", drain(self._desk_reader))

    def planner_thinks(self, upto: int) -> None:
        """The planner alone, and only so far."""
        assert self._planner is not None
        for item in split(drain(self._orders["planner"])):
            self._planner.on(item)
        self._planner.work(upto)

    def kill(self, role: str, *, restarts: bool = True, incarnation: int = 0) -> None:
        """The process is gone, and the desk has seen it."""
        setattr(self, f"_{role}", None)
        self.tell(Death(role=role, incarnation=incarnation, what=f"{role} was ended by SIGKILL", restarts=restarts))

    def restart(self, role: str, *, incarnation: int = 1, script: Script = LONG) -> None:
        """The next incarnation, at the tail of what it reads."""
        cast = cast_of(self.config, make_game(self.config), self.header)
        emitter = Emitter(self._rings[role].writer())
        self._orders[role] = self._reader("game")
        self._orders[role].seek(self._rings["game"].tail)
        if role == "planner":
            self._planner = PlannerCore(cast, emitter, Scripted(script), incarnation=incarnation)
        else:
            self._reactor = ReactorCore(cast, emitter, Scripted(QUICK), incarnation=incarnation)
            self._partial = self._reader("planner")
        emitter.control(Ready(role=role, incarnation=incarnation))
        for name, reader in self._heard.items():
            self.conductor.hear(name, drain(reader))


def marks(table: Table, ring: str) -> list[Mark]:
    found = [read_control(frame) for frame in drain(table._rings[ring].reader(99)) if frame.kind == KIND_MARK]
    return [mark for mark in found if isinstance(mark, Mark)]


# Marks.


def test_every_border_is_marked_exactly_once_also_by_an_idle_planner() -> None:
    table = Table(planner=[thinking(100), thinking(20_000)], ticks=5)
    table.finish()
    borders = [border for tick in range(5) for border in (tick * 8192 + 4096, (tick + 1) * 8192)]
    planner = marks(table, "planner")
    assert [mark.upto for mark in planner] == borders
    assert [mark.upto for mark in marks(table, "reactor")] == borders[1::2]
    assert [(mark.at, mark.ended, mark.tokens) for mark in planner][:4] == [
        (100, True, 100),
        (100, True, 100),
        (12_288, False, 4096),
        (16_384, False, 8192),
    ]


def test_planner_alone_marks_the_ends_of_ticks() -> None:
    table = Table("planning", reactive_budget=None, ticks=3)
    table.finish()
    assert [mark.upto for mark in marks(table, "planner")] == [8192, 16_384, 24_576]


def test_shared_throughput_is_marked_once_a_grant() -> None:
    table = Table(reactor=[thinking(1500)], throughput="shared", ticks=2)
    table.finish()
    assert [(mark.upto, mark.at) for mark in marks(table, "planner")] == [(4096, 4096), (8192, 8192), (12_288, 12_288), (16_384, 16_384)]
    assert [(mark.upto, mark.at) for mark in marks(table, "reactor")] == [(8192, 5596), (16_384, 13_788)]


def test_mark_of_another_incarnation_is_not_heard() -> None:
    table = Table(ticks=2)
    want = table.play_to("marks", 0)
    ghost = Emitter(table._rings["planner"].writer())
    ghost.control(Mark(tick=0, stream="planner", upto=8192, at=8192, generation=0, ended=True, incarnation=7))
    ghost.control(Mark(tick=0, stream="reactor", upto=8192, at=8192, generation=0, ended=True, incarnation=7))
    for name, reader in table._heard.items():
        table.conductor.hear(name, drain(reader))
    assert not table.conductor.met(want, 0)


# Deaths.


def test_dead_planner_costs_no_tick_of_the_reactor_and_begins_anew_when_it_is_back() -> None:
    table = Table(ticks=4)
    want = table.play_to("marks", 1)
    table.planner_thinks(8192 + 1000)
    table.kill("planner")
    assert not table.conductor.met(want, 0)
    table.fulfil(want)
    assert table.next().kind == "tick"
    back = table.next()
    assert back.kind == "ready"
    table.think()
    assert not table.conductor.met(back, 0)
    table.restart("planner")
    assert table.conductor.met(back, 0)
    events = table.finish()
    assert generations(events, "planner") == [(0, 0, 1, 9192, "fault"), (2, 16_384, None, None, None)]
    assert shown(events) == [Shown(None, (0, 4096)), Shown(None, (0, 9192)), Shown(None, (2, 4096)), Shown(None, (2, 12_288))]
    assert {action.source for action in of(events, ev.Action)} == {"reactor"}
    [fault] = of(events, ev.Fault)
    assert (fault.component, fault.tick, fault.cause, fault.done) == ("planner", 1, "thinker", "restarted; the game goes on")
    assert events[-1].totals.faults == 1


def test_planner_that_dies_before_it_read_the_tick_leaves_nothing_running() -> None:
    table = Table(planner=[thinking(100)], ticks=3)
    want = table.play_to("marks", 1)
    table.kill("planner")
    table.fulfil(want)
    table.next()
    table.restart("planner")
    events = table.finish()
    assert [entry[0] for entry in generations(events, "planner")] == [0, 2]
    assert shown(events)[1] == Shown((0, 9), None)


def test_dead_reactor_costs_one_default_action() -> None:
    table = Table(reactor=[thinking(100), thinking(100)], ticks=4)
    want = table.play_to("marks", 1)
    table.kill("reactor")
    table.fulfil(want)
    table.play_to("ready", 2)
    table.restart("reactor")
    events = table.finish()
    assert [(action.source, action.reason) for action in of(events, ev.Action)] == [
        ("reactor", None),
        ("default", "fault"),
        ("reactor", None),
        ("reactor", None),
    ]
    # It has read the running generation from its first frame.
    assert shown(events)[-2:] == [Shown(None, (0, 20_480)), Shown(None, (0, 28_672))]


def test_answer_given_before_the_death_counts() -> None:
    table = Table(ticks=2)
    want = table.play_to("marks", 0)
    table.fulfil(want)
    table.kill("reactor")
    table.play_to("ready", 1)
    table.restart("reactor")
    events = table.finish()
    assert [action.source for action in of(events, ev.Action)] == ["reactor", "reactor"]
    assert not of(events, ev.Generation, finish="fault")


def test_restarted_reactor_does_not_know_what_a_reset_has_voided() -> None:
    up = [{"tokens": 10, "chunks": [["\\boxed{U}", 5, "content"]]}]
    table = Table(planner=[thinking(100)], reactor=up, game="freeway", load="hard", seed=7, ticks=6)
    # The walker is hit at tick 3; the reactor dies before tick 4 ends.
    want = table.play_to("marks", 4)
    table.planner_thinks(FAR)
    table.kill("reactor")
    table.fulfil(want)
    table.play_to("ready", 5)
    table.restart("reactor")
    events = table.finish()
    assert next(step.tick for step in of(events, ev.Step) if step.reset) == 3
    assert shown(events)[-1] == Shown((4, 9), (5, 100))
    ghost = Table(planner=[thinking(100), thinking(100), thinking(100), thinking(100), {"tokens": 5, "finish": "connection"}], reactor=up, game="freeway", load="hard", seed=7, ticks=6)
    want = ghost.play_to("marks", 4)
    ghost.planner_thinks(FAR)
    ghost.kill("reactor")
    ghost.fulfil(want)
    ghost.play_to("ready", 5)
    ghost.restart("reactor")
    assert shown(ghost.finish())[-1] == Shown(None, (5, 5))


def test_planner_that_does_not_come_back_is_waited_for_once() -> None:
    table = Table(ticks=5)
    want = table.play_to("marks", 1)
    table.kill("planner")
    table.fulfil(want)
    late = table.play_to("ready", 2)
    # The driver's patience is over.
    assert not table.conductor.met(late, 0)
    kinds = []
    while table.conductor.tick < 4:
        want = table.next()
        kinds.append(want.kind)
        table.fulfil(want)
    assert "ready" not in kinds
    table.restart("planner")
    events = table.finish()
    assert [entry[:2] for entry in generations(events, "planner")] == [(0, 0), (4, 4 * 8192)]
    assert {action.source for action in of(events, ev.Action)} == {"reactor"}
    assert [entry.trace for entry in shown(events)] == [(0, 4096), (0, 8192), None, None, (4, 4096)]


def test_game_goes_on_without_a_planner_that_is_gone_for_good() -> None:
    table = Table(ticks=6)
    want = table.play_to("marks", 1)
    table.kill("planner", restarts=False)
    table.fulfil(want)
    events = table.finish()
    assert of(events, ev.Fault)[0].done == "not restarted; the game goes on without it"
    assert len(of(events, ev.Step)) == 6
    assert {action.source for action in of(events, ev.Action)} == {"reactor"}


def test_game_goes_on_without_a_reactor_that_is_gone_for_good() -> None:
    table = Table(ticks=4)
    want = table.play_to("marks", 1)
    table.kill("reactor", restarts=False)
    table.fulfil(want)
    events = table.finish()
    assert [(action.source, action.reason) for action in of(events, ev.Action)][1:] == [("default", "fault")] * 3
    assert generations(events, "planner") == [(0, 0, None, None, None)]


@pytest.mark.parametrize("dead", ["planner", "reactor"])
def test_shared_throughput_survives_a_death(dead: str) -> None:
    table = Table(reactor=[thinking(1500)], throughput="shared", ticks=3)
    want = table.play_to("marks", 1)
    table.kill(dead)
    table.fulfil(want)
    table.play_to("ready", 2)
    table.restart(dead)
    events = table.finish()
    assert len(of(events, ev.Step)) == 3
    assert [action.source for action in of(events, ev.Action)].count("default") == (dead == "reactor")


def test_second_death_while_coming_back_is_waited_for_as_well() -> None:
    table = Table(ticks=3)
    want = table.play_to("marks", 0)
    table.kill("planner")
    table.fulfil(want)
    back = table.play_to("ready", 1)
    table.kill("planner", incarnation=1)
    assert not table.conductor.met(back, 0)
    table.restart("planner", incarnation=2)
    assert table.conductor.met(back, 0)
    events = table.finish()
    assert [entry[0] for entry in generations(events, "planner")] == [1]
    assert len(of(events, ev.Fault)) == 2


def test_ready_mark_of_an_earlier_incarnation_is_no_news() -> None:
    seat = Seat()
    seat.on_ready(Ready(role="planner", incarnation=1))
    seat.on_ready(Ready(role="planner", incarnation=0))
    assert seat.ready == 1


def test_ready_mark_that_comes_before_the_death_is_told_is_not_lost() -> None:
    table = Table(ticks=3)
    want = table.play_to("marks", 0)
    table.fulfil(want)
    table._planner = None
    table.restart("planner")
    table.tell(Death(role="planner", incarnation=0, what="x", restarts=True))
    back = table.play_to("ready", 1)
    assert table.conductor.met(back, 0)
    assert len(of(table.finish(), ev.Step)) == 3


def test_death_of_the_recorder_is_the_hosts_and_costs_nothing() -> None:
    table = Table(ticks=2)
    want = table.play_to("marks", 0)
    table.tell(Death(role="recorder", incarnation=0, what="disk full", restarts=False))
    table.fulfil(want)
    assert table.conductor.recorder_gone
    events = table.finish()
    assert [fault.cause for fault in of(events, ev.Fault)] == ["host"]
    assert events[-1].totals.faults == 0
    assert ev.canonical(events) == ev.canonical(Table(ticks=2).finish())


# Wishes.


def test_quit_in_a_tick_gives_it_no_step() -> None:
    table = Table(ticks=9)
    want = table.play_to("marks", 2)
    table.tell(Command(what="quit"))
    assert table.conductor.met(want, 0)
    events = table.finish()
    assert (events[-1].tick, events[-1].done_reason, events[-1].totals.ticks) == (2, "quit", 2)
    assert [step.tick for step in of(events, ev.Step)] == [0, 1]
    assert [control.what for control in of(events, ev.Control)] == ["quit"]
    assert generations(events, "planner") == [(0, 0, None, None, None)]


def test_quit_between_ticks_ends_with_what_was_written_last() -> None:
    table = Table(ticks=9)
    table.play_to("tick", 1)
    table.conductor.quit = "quit"
    events = table.finish()
    assert (events[-1].tick, events[-1].totals.ticks) == (0, 1)
    assert isinstance(events[-2], ev.Step)


def test_bookmark_is_written_where_it_was_asked_for() -> None:
    table = Table(ticks=3)
    want = table.play_to("marks", 1)
    table.tell(Command(what="bookmark", value="look here"))
    table.fulfil(want)
    [mark] = of(table.finish(), ev.Bookmark)
    assert (mark.tick, mark.note) == (1, "look here")


def test_paused_run_has_the_same_canonical_log() -> None:
    table = Table(ticks=4)
    want = table.play_to("marks", 1)
    table.tell(Command(what="pause"))
    table.fulfil(want)
    # Unpaced, everything of this tick counts as released; the next one stands still.
    assert table.conductor.met(table.next(), 1 << 62)
    due = table.play_to("due", 2)
    assert not table.conductor.met(due, 1 << 62)
    table.tell(Command(what="step"))
    assert table.conductor.met(due, 1 << 62)
    due = table.play_to("due", 3)
    assert not table.conductor.met(due, 1 << 62)
    table.tell(Command(what="resume"))
    events = table.finish()
    assert [(control.what, control.tick) for control in of(events, ev.Control)] == [("pause", 1), ("step", 2), ("pause", 3), ("resume", 3)]
    assert ev.canonical(events) == ev.canonical(Table(ticks=4).finish())


def test_long_episode_keeps_no_frames() -> None:
    table = Table("default", ticks=20_000, reactive_budget=None)
    for want in table.wants:
        table.record(lambda tick, events: None)
        table.fulfil(want)
    assert max(len(ring.frames) for ring in table._rings.values()) < 10_000
