"""The conductor: it grants time, applies the action, steps the game, and reads marks and answers, never reasoning text.

`run()` is a generator of `Want`s: it says what it waits for, and whoever drives it (the game process, or the simulator)
sees to it that it comes. It writes one ring. Nothing here reads a clock to decide anything; the paced and wall instants
it names are the driver's to wait for. Rules: spec/token-clock sections 2, 3 and 5.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import NamedTuple

from games.base import Game
from replays import events as ev
from workers.agents import Choice, Decision
from workers.budget import DynamicBudget
from workers.cast import Cast
from workers.config import Config
from workers.pace import Pacer
from workers.wire import AnyControl, Close, Command, Control, Death, Emitter, Grant, Mark, Pace, Piece, Ready

__all__ = ["Conductor", "Want"]


class Want(NamedTuple):
    """What the conductor waits for."""

    kind: str
    """marks: `upto` marked by all `streams`; ready: `streams` have a live incarnation; due: the instant `due_ns` (absolute);
    pause: until somebody resumes."""
    streams: tuple[str, ...] = ()
    upto: int = 0
    due_ns: float = 0


class Conductor:
    """Runs one episode of `game`. `pacer` is None on unpaced runs and in the simulator."""

    def __init__(self, cast: Cast, game: Game, emitter: Emitter, *, header: ev.Episode, pacer: Pacer | None = None) -> None:
        self._cast = cast
        self._config: Config = cast.config
        self._game = game
        self._emit = emitter
        self._header = header
        self._pacer = pacer
        self._rate = pacer.rate if pacer is not None else math.inf
        self._rng = random.Random(f"{header.game}/{header.load}/{header.seed}")
        shape = cast.shape
        self._streams = tuple(name for name, there in (("planner", shape.planner), ("reactor", shape.reactor)) if there)
        self._budget = self._config.tick_budget_tokens or 0
        self._reactive = self._config.reactive_budget_tokens or 0
        self._dynamic = DynamicBudget(self._budget) if self._config.dynamic_reactive_budget else None
        # Per stream: the newest mark, what runs, and which incarnation speaks.
        self._marks: dict[str, Mark] = {}
        self._running: dict[str, int] = {}
        self._last_at: dict[str, int] = {}
        self._incarnation = dict.fromkeys(self._streams, 0)
        # Not waited for in this tick; of them, those whose next incarnation is ready; those that do not come back.
        self._struck: set[str] = set()
        self._returned: set[str] = set()
        self._gone: set[str] = set()
        self._answer: ev.Answer | None = None
        self._plan: ev.Answer | None = None
        self._fed_tick = -1
        self._first = 0
        self.tick = 0
        self.at = 0
        # When the wall tick under way began, ns since episode start; deadlines are absolute, so lateness does not add up.
        self._wall_begin = 0
        self.paused = False
        self._pause_after = False
        self.quit: str | None = None
        self._tokens = {"planner": 0, "reactor": 0}
        self._defaults = self._late = self._faults = 0
        self._score = self._points = 0.0
        self._ticks = 0
        self._points_max = game.spec.points_max

    # What comes in.

    def on(self, stream: str, item: ev.AnyEvent | AnyControl | Piece) -> None:
        """Take one item of a thinker's ring, or of the desk's."""
        if isinstance(item, Piece):
            self._tokens[stream] += len(item.lens)
            self._last_at[stream] = item.at + len(item.lens) - 1
        elif isinstance(item, Mark):
            if item.incarnation == self._incarnation.get(stream):
                self._marks[stream] = item
        elif isinstance(item, ev.Answer):
            self._on_answer(item)
        elif isinstance(item, ev.Generation):
            if item.phase == "start":
                self._running[stream] = item.id
                self._last_at[stream] = item.at or 0
            elif self._running.get(stream) == item.id:
                del self._running[stream]
        elif isinstance(item, ev.Fault):
            self._faults += 1
        elif isinstance(item, Ready):
            if item.role in self._incarnation and item.incarnation >= self._incarnation[item.role]:
                self._incarnation[item.role] = item.incarnation
                self._returned.add(item.role)
        elif isinstance(item, Death):
            self._on_death(item)
        elif isinstance(item, Command):
            self._on_command(item)

    def _on_answer(self, answer: ev.Answer) -> None:
        if answer.mode == "plan":
            if answer.letters and (self._plan is None or answer.generation >= self._plan.generation):
                self._plan = answer
        elif answer.generation == self._fed_tick:
            self._answer = answer
        else:
            self._late += 1

    def _on_death(self, death: Death) -> None:
        """A child is gone: say so, end its generation in its name, and wait for it no longer in this tick."""
        role = death.role
        done = "restarted; the game goes on" if death.restarts else "not restarted; the game goes on without it"
        cause = "thinker" if role in self._incarnation else "host"
        self.fault(role, death.what, done, cause=cause)
        if role not in self._incarnation:
            return
        self._incarnation[role] = death.incarnation + 1
        if role in self._running:
            generation = self._running.pop(role)
            at = self._last_at.get(role, self.at) if self._config.clock == "token" else None
            self._emit.event(ev.Generation(tick=self.tick, at=at, stream=role, id=generation, phase="end", finish="fault"))
        self._struck.add(role)
        self._returned.discard(role)
        if not death.restarts:
            self._gone.add(role)
        self._emit.control(death)

    def _on_command(self, command: Command) -> None:
        now = self._emit.now() + self._emit.epoch_ns
        wall = self._config.clock == "wall"
        what, value = command.what, command.value
        if what == "quit":
            self.quit = "quit"
        elif what == "pause" and not self.paused:
            if wall:
                self._pause_after = True
            else:
                self._set_rate(now, 0.0)
                self.paused = True
        elif what == "resume" and (self.paused or self._pause_after):
            self.paused = self._pause_after = False
            self._set_rate(now, self._rate)
        elif what == "step":
            self._pause_after = True
            if self.paused:
                self.paused = False
                self._set_rate(now, self._rate)
        elif what == "rate" and not wall:
            self._rate = math.inf if value == "max" else float(value) * max(1, self._budget)
            if not self.paused:
                self._set_rate(now, self._rate)
        elif what == "bookmark":
            self._emit.event(ev.Bookmark(tick=self.tick, note=value))
            return
        else:
            return
        self._emit.event(ev.Control(tick=self.tick, what=what, value=value))

    def _set_rate(self, now: int, rate: float) -> None:
        if self._config.clock == "wall":
            return
        if self._pacer is None:
            self._pacer = Pacer(at=self.at, t_ns=now)
        self._pacer.change(now, rate, most=self.at + self._budget)
        self._send_pace()

    def _send_pace(self) -> None:
        if self._pacer is not None:
            self._emit.control(Pace(at=int(self._pacer.at), t_ns=self._pacer.t_ns, rate=self._pacer.rate))

    def fault(self, component: str, what: str, done: str, *, cause: str) -> None:
        """Write a fault in the tick under way."""
        self._faults += 1
        at = self.at if self._config.clock == "token" else None
        self._emit.event(ev.Fault(tick=self.tick, at=at, component=component, what=what, done=done, cause=cause))

    def late(self, tick: int) -> None:
        """Wall time: an answer came after its tick was over."""
        self._late += 1

    # What it waits for.

    def met(self, want: Want, now_ns: int) -> bool:
        """Whether `want` has come, or will not: a dead thinker is not waited for, and nothing is after a quit."""
        if self.quit is not None:
            return True
        if want.kind == "marks":
            return all(name in self._struck or ((mark := self._marks.get(name)) is not None and mark.upto >= want.upto) for name in want.streams)
        if want.kind == "ready":
            return self._struck <= self._gone | self._returned
        if want.kind == "due":
            return now_ns >= self.due_ns(want)
        return not self.paused

    def due_ns(self, want: Want) -> float:
        """The absolute instant a `due` want comes; paced instants move when the pace does."""
        if want.kind == "due" and want.upto and self._pacer is not None:
            return self._pacer.due_ns(want.upto)
        return want.due_ns

    def run(self) -> Iterator[Want]:
        """Write the header, then tick until the episode is over, then `end` and `close`."""
        self._emit.event(self._header)
        self._score, self._points = 0.0, self._game.points
        reason = ""
        while not reason:
            wall = self._config.clock == "wall"
            yield from self._wall_tick() if wall else self._token_tick()
            if self.quit is not None:
                reason = self.quit
                break
            reason = self._step()
            self.at = (self.tick + 1) * self._budget
            if not reason:
                self.tick += 1
                yield from self._between()
                reason = self.quit or ""
        self._emit.event(
            ev.End(tick=self.tick, at=self.at if self._config.clock == "token" else None, totals=self.totals(), done_reason=reason)
        )
        self._emit.control(Close())

    def _between(self) -> Iterator[Want]:
        """Pauses that take effect at a tick's end, and children that are being restarted."""
        if self._pause_after:
            self._pause_after = False
            self.paused = True
            self._set_rate(self._emit.now() + self._emit.epoch_ns, 0.0)
            self._emit.event(ev.Control(tick=self.tick, what="pause"))
        if self._config.clock == "wall" and self.paused:
            yield Want("pause")
        if self._config.clock == "token" and self._struck - self._gone:
            yield Want("ready", tuple(sorted(self._struck - self._gone)))
        # Who is not back by then is not waited for in the ticks to come either; a late Ready brings it back.
        self._struck -= self._returned
        self._returned.clear()

    def _token_tick(self) -> Iterator[Want]:
        config, begin, end = self._config, self.at, self.at + self._budget
        self._change_budget()
        guidance = end - self._reactive if self._cast.shape.reactor else None
        if self._pacer is not None:
            self._pacer.begin(begin, self._emit.now() + self._emit.epoch_ns)
            self._send_pace()
        self._write_tick(guidance_at=guidance, end_at=end)
        waits = tuple(name for name in self._streams if name not in self._gone)
        if config.throughput == "shared":
            assert guidance is not None
            yield from self._shared(begin, guidance, end)
        elif waits:
            yield Want("marks", waits, end)
        if self._pacer is not None:
            yield Want("due", upto=end)

    def _shared(self, begin: int, guidance: int, end: int) -> Iterator[Want]:
        """One stream of N_TE tokens a tick: the planner up to G, the reactor, then the planner with what it left."""
        self._grant("planner", begin, guidance)
        yield Want("marks", ("planner",), guidance)
        if self.quit is not None:
            return
        self._grant("reactor", guidance, end)
        yield Want("marks", ("reactor",), end)
        mark = self._marks.get("reactor")
        used = mark.at if mark is not None and "reactor" not in self._struck else guidance
        if used < end and self.quit is None:
            self._grant("planner", used, end)
            yield Want("marks", ("planner",), end)

    def _grant(self, stream: str, begin: int, upto: int) -> None:
        self._emit.control(Grant(stream=stream, begin=begin, upto=upto))

    def _wall_tick(self) -> Iterator[Want]:
        config = self._config
        assert config.tick_budget_s is not None
        whole = round(config.tick_budget_s * 1e9)
        deadline = self._wall_begin + whole
        wake = deadline - round((config.reactive_budget_s or config.tick_budget_s) * 1e9)
        self._write_tick(reactor_ns=wake if self._cast.shape.reactor else None, deadline_ns=deadline)
        yield Want("due", due_ns=deadline + self._emit.epoch_ns)
        self._wall_begin = deadline

    def shift_wall(self, by_ns: int) -> None:
        """Move the deadlines to come: time that was paused does not count."""
        self._wall_begin += by_ns

    def _write_tick(
        self, *, guidance_at: int | None = None, end_at: int | None = None, reactor_ns: int | None = None, deadline_ns: int | None = None
    ) -> None:
        observation = self._game.observe()
        self._answer, self._fed_tick = None, self.tick
        self._emit.event(
            ev.Tick(
                tick=self.tick,
                at=self.at if self._config.clock == "token" else None,
                view=observation.view,
                text=observation.text,
                snapshot=self._game.snapshot() if self.tick == self._first else None,
                guidance_at=guidance_at,
                end_at=end_at,
                reactor_ns=reactor_ns,
                deadline_ns=deadline_ns,
            )
        )

    def _change_budget(self) -> None:
        if self._dynamic is None:
            return
        mark = self._marks.get("reactor")
        if self.tick > 0 and mark is not None and mark.tick == self.tick - 1:
            self._dynamic.add(mark.at - (mark.upto - self._reactive), cut=not mark.ended)
        changed = self._dynamic.suggest(self.tick, self._reactive)
        if changed is not None and changed[0] != self._reactive:
            self._reactive = changed[0]
            self._emit.event(ev.Budget(tick=self.tick, at=self.at, reactive_budget_tokens=self._reactive, why=changed[1]))

    # What it does.

    def _step(self) -> str:
        """Apply the action, step the game, and return why the episode is over, or an empty string."""
        decision = self._decide()
        end = self.at + self._budget if self._config.clock == "token" else None
        if decision.source == "default":
            self._defaults += 1
        self._emit.event(
            ev.Action(tick=self.tick, at=end, letter=decision.letter, source=decision.source, reason=decision.reason, generation=decision.generation)
        )
        result = self._game.step(decision.letter)
        self._score, self._points = result.score, self._game.points
        self._ticks += 1
        reason = result.done_reason or ""
        if not reason and self._config.ticks is not None and self._ticks >= self._config.ticks:
            reason = "ticks"
        if result.reset:
            self._plan = None
        self._emit.event(
            ev.Step(
                tick=self.tick,
                at=end,
                state=self._game.snapshot(),
                reward=result.reward,
                score=result.score,
                points=self._points,
                done=bool(reason),
                done_reason=reason or None,
                reset=result.reset,
            )
        )
        return reason

    def _decide(self) -> Decision:
        actor = "reactor" if self._cast.shape.reactor else "planner"
        missing = "fault" if actor in self._struck or actor in self._gone else "late" if self._config.clock == "wall" else "none"
        decision: Decision = self._cast.agent.act(
            Choice(
                tick=self.tick,
                letters=self._game.legal_actions,
                default_action=self._config.default_action,
                answer=self._answer,
                plan=self._plan,
                rng=self._rng,
                missing=missing,
            )
        )
        return decision

    def totals(self) -> ev.Totals:
        """What the episode has come to so far."""
        return ev.Totals(
            ticks=self._ticks,
            score=self._game.spec.normalise(self._points),
            raw_score=self._score,
            points=self._points,
            default_actions=self._defaults,
            late_actions=self._late,
            planner_tokens=self._tokens["planner"],
            reactor_tokens=self._tokens["reactor"],
            faults=self._faults,
        )

    def say(self, message: Control) -> None:
        """Write a control message into the game ring."""
        self._emit.control(message)
