"""The conductor: it grants time, applies the action, steps the game, and reads marks and answers, never reasoning text.

`run()` is a generator of `Want`s: it says what it waits for, and whoever drives it (the game process, or the simulator)
sees to it that it comes. It writes one ring. Nothing here reads a clock to decide anything; the paced and wall instants
it names are the driver's to wait for. Rules: docs/design.md, Time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from games.base import Game, observed
from replays import events as ev
from workers import agents
from workers.agents import Choice, Decision, Ran
from workers.budget import DynamicBudget
from workers.cast import Cast
from workers.config import Config
from workers.hands import HELD_NS, Hands
from workers.pace import Tempo
from workers.rings import KIND_CHUNK, KIND_EVENT, Frame
from workers.seats import Seats
from workers.wire import START, Close, Command, Control, Death, Emitter, Go, GoAhead, Grant, Mark, Ready, Stand, read_control, read_event

if TYPE_CHECKING:
    from workers.programs import Programs

__all__ = ["Conductor", "Want"]


class Want(NamedTuple):
    """What the conductor waits for."""

    kind: str
    """marks: `upto` marked by all `streams`; ready: whoever died is back; due: an instant, by the pace (`upto`) or by the wall
    (`due_ns`, absolute); resume: the end of a pause; go: the desk's word that every side of the match stands at the end of this tick;
    tick: nothing, a tick is committed and its driver may do what it has to."""
    streams: tuple[str, ...] = ()
    upto: int = 0
    due_ns: int = 0


class Conductor:
    """Runs one episode of `game`. `tempo` is for runs on screen; without one nothing is paced until somebody pauses.

    `together` is for one side of a match: in token time each tick waits for the desk's word before it ends. `beat` is called now and then
    while a policy program is waited for.
    """

    def __init__(
        self,
        cast: Cast,
        game: Game,
        emitter: Emitter,
        *,
        header: ev.Episode,
        tempo: Tempo,
        together: bool = False,
        beat: Callable[[], object] = lambda: None,
    ) -> None:
        self._cast = cast
        self._config: Config = cast.config
        self._game = game
        self._emit = emitter
        self._header = header
        self._tempo = tempo
        self._wall = self._config.clock == "wall"
        first = self._config.first_tick
        self._rng = random.Random(f"{header.game}/{header.load}/{header.seed}" + (f"/{first}" if first else ""))
        shape = cast.shape
        self.seats = Seats(name for name, there in (("planner", shape.planner), ("reactor", shape.reactor)) if there)
        self._budget = self._config.tick_budget_tokens or 0
        self._reactive = self._config.reactive_budget_tokens or 0
        self._dynamic = DynamicBudget(self._budget) if self._config.dynamic_reactive_budget else None
        self._together = together and not self._wall
        # The last tick the desk has given its word for.
        self._word = START
        self._agents = {player: agents.played(name) for player, name in self._config.players.items()}
        self._hands = Hands((player for player, name in self._config.players.items() if name == "human"), game.legal_actions)
        self._partner_rng = random.Random(f"{header.game}/{header.load}/{header.seed}/partner")
        self._answer: ev.Answer | None = None
        self._plan: ev.Answer | None = None
        self._programs = _programs(self._config, game, beat) if shape.planner_programs else None
        self._asked_at = -1
        # The tick after the last reset: what was thought before it is void.
        self._since = 0
        self.tick = first
        self.at = first * self._budget
        # The last tick anything was written in, and where the window under way ends.
        self._written = first
        self._until = self.at
        # When the wall tick to come begins, ns since episode start; deadlines are absolute, so lateness does not add up.
        self._wall_begin = 0
        self.quit: str | None = None
        self.recorder_gone = False
        self._faults = 0
        # Of each player that is not the game's own affair.
        self._defaults = dict.fromkeys(self._agents, 0)
        self._late = dict.fromkeys(self._agents, 0)
        self._score = self._points = 0.0
        self._ticks = 0

    # What comes in.

    def hear(self, ring: str, frames: Iterable[Frame]) -> None:
        """Take frames of a thinker's ring, or of the desk's. Text is counted, and not looked at.

        A death is told on the desk's ring, after the dead one's last frame: whoever drives this reads the desk's ring first and hands
        it over last.
        """
        for frame in frames:
            if frame.kind == KIND_CHUNK:
                self.seats[ring].wrote(frame.at, frame.ntok)
            elif frame.kind == KIND_EVENT:
                self._on_event(ring, read_event(frame))
            else:
                self._on_control(read_control(frame))

    def _on_event(self, ring: str, event: ev.AnyEvent) -> None:
        if isinstance(event, ev.Answer):
            self._on_answer(event)
        elif isinstance(event, ev.Generation):
            if event.stream == ring:
                self.seats[ring].on_generation(event)
        elif isinstance(event, ev.Fault) and event.cause != "host":
            self._faults += 1

    def _on_control(self, message: Control) -> None:
        if isinstance(message, Mark):
            seat = self.seats[message.stream]
            if message.incarnation == seat.incarnation:
                seat.mark = message
        elif isinstance(message, Ready):
            if message.role in self.seats:
                self.seats[message.role].on_ready(message)
        elif isinstance(message, Death):
            self._on_death(message)
        elif isinstance(message, GoAhead):
            self._word = max(self._word, message.tick)
        elif isinstance(message, Command):
            self._on_command(message)

    def _on_answer(self, answer: ev.Answer) -> None:
        if answer.mode == "plan":
            newer = self._plan is None or answer.generation >= self._plan.generation
            if answer.letters and newer and answer.generation >= self._since:
                self._plan = answer
        elif answer.mode == "program":
            if self._programs is not None:
                self._programs.take(answer)
        elif answer.generation == self._asked_at:
            # One for an earlier tick is dropped: that tick has been counted as late.
            self._answer = answer

    def _on_death(self, death: Death) -> None:
        """A child is gone: say so, end its generation in its name, and wait for it no longer in this tick."""
        role = death.role
        seat = self.seats.get(role)
        done = "restarted; the game goes on" if death.restarts else "not restarted; the game goes on without it"
        self.fault(role, death.what, done, cause="host" if seat is None else "thinker")
        if seat is None:
            self.recorder_gone = self.recorder_gone or not death.restarts
            return
        if seat.running is not None:
            at = None if self._wall else seat.last_at
            self._event(ev.Generation(tick=self.tick, at=at, stream=role, id=seat.running, phase="end", finish="fault"))
        seat.on_death(death)
        if death.restarts:
            self.seats.missing.add(role)
        self._emit.control(death)

    def _on_command(self, command: Command) -> None:
        what, value = command.what, command.value
        if what == "key":
            if self._hands.press(command, until_ns=self._until_ns + HELD_NS):
                self._on_key(command)
            return
        if what == "quit":
            self.quit = "quit"
        elif what == "bookmark":
            self._event(ev.Bookmark(tick=self.tick, note=value))
            return
        elif not self._tempo.take(what, value, max(command.t_ns, self._emit.epoch_ns) if command.t_ns else self._now(), upto=self._until):
            return
        else:
            self._send_pace()
        self._event(ev.Control(tick=self.tick, what=what, value=value))

    def _on_key(self, key: Command) -> None:
        self._event(ev.Control(tick=self.tick, what="key", value=key.value, player=key.player))

    @property
    def _until_ns(self) -> float:
        """The instant the tick under way is due to end, absolute; infinity where nothing is paced."""
        if self._wall:
            return self._wall_begin + self._emit.epoch_ns
        return self._tempo.due_ns(self._until) if self._tempo.paced else math.inf

    def _send_pace(self) -> None:
        pace = self._tempo.frame()
        if pace is not None and not self._wall:
            self._emit.control(pace)

    def _now(self) -> int:
        return self._emit.now() + self._emit.epoch_ns

    def fault(self, component: str, what: str, done: str, *, cause: str) -> None:
        """Write a fault in the tick under way. Those of the host are not counted: the totals are part of the canonical log."""
        self._faults += cause != "host"
        self._event(ev.Fault(tick=self.tick, at=self._stamp(self.at), component=component, what=what, done=done, cause=cause))

    def _event(self, event: ev.Event) -> None:
        self._written = event.tick
        self._emit.event(event)

    def _stamp(self, at: int) -> int | None:
        return None if self._wall else at

    # What it waits for.

    def met(self, want: Want, now_ns: int) -> bool:
        """Whether `want` has come, or will not: a dead thinker is not waited for, and nothing is after a quit."""
        if self.quit is not None or want.kind == "tick":
            return True
        if want.kind == "marks":
            return all(self.seats[name].marked(want.upto) for name in want.streams)
        if want.kind == "ready":
            return self.seats.settled
        if want.kind == "due":
            return now_ns >= self.due_ns(want)
        if want.kind == "go":
            return self._word >= want.upto
        return not self._tempo.paused

    def due_ns(self, want: Want) -> float:
        """The absolute instant a `due` want comes, infinity while paused; paced instants move when the pace does."""
        return self._tempo.due_ns(want.upto) if want.upto else want.due_ns

    def run(self) -> Iterator[Want]:
        """Write the header, then tick until the episode is over, then `end` and `close`."""
        self._event(self._header)
        self._points = self._game.points
        if self._config.start is not None:
            self._score = _score_in(self._config.start.snapshot)
        reason = ""
        while not reason:
            if self.seats.admit() or self.tick == self._config.first_tick:
                self._emit.control(Go(epoch_ns=self._emit.epoch_ns, streams=self.seats.playing, since=self._since))
            yield from self._wall_tick() if self._wall else self._token_tick()
            # From the action to the next tick all is one: a reader woken by each of them would take the processor from what comes after.
            # Who has to wait in between shows what there is.
            self._emit.hold()
            reason = self.quit or self._step()
            if not reason:
                self.tick += 1
                self.at = self._until = self.tick * self._budget
                yield from self._between()
                reason = self.quit or ""
        at = self._stamp(self.at if self.quit else (self.tick + 1) * self._budget)
        self._emit.event(ev.End(tick=self._written, at=at, totals=self.totals(), done_reason=reason))
        self._emit.control(Close())
        self._emit.show()

    def _between(self) -> Iterator[Want]:
        """Between two ticks: pauses that take effect here, and children that are being restarted."""
        yield Want("tick")
        if self._tempo.tick_over(round(self._until_ns) if self._wall else self._now(), at=self.at):
            self._event(ev.Control(tick=self.tick, what="pause"))
        if self._wall:
            if self._tempo.paused:
                yield Want("resume")
                if self.quit is None:
                    self.stood_still("paused", self._tempo.stood_ns)
        elif self.seats.missing:
            yield Want("ready")

    def _token_tick(self) -> Iterator[Want]:
        begin, end = self.at, self.at + self._budget
        self._until = end
        self._change_budget()
        guidance = end - self._reactive if self._cast.shape.reactor else None
        self._tempo.begin(begin, self._now())
        self._send_pace()
        self._write_tick(guidance_at=guidance, end_at=end)
        if self._config.throughput == "shared":
            assert guidance is not None
            yield from self._shared(begin, guidance, end)
        elif self.seats:
            yield Want("marks", tuple(self.seats), end)
        if self._tempo.paced:
            yield Want("due", upto=end)
        if self._together and self.quit is None:
            self._emit.control(Stand(tick=self.tick))
            yield Want("go", upto=self.tick)

    def _shared(self, begin: int, guidance: int, end: int) -> Iterator[Want]:
        """One stream of N_TE tokens a tick: the planner up to G, the reactor, then the planner with what it left."""
        self._grant("planner", begin, guidance)
        yield Want("marks", ("planner",), guidance)
        if self.quit is not None:
            return
        self._grant("reactor", guidance, end)
        yield Want("marks", ("reactor",), end)
        reactor = self.seats["reactor"]
        used = reactor.mark.at if reactor.mark is not None and reactor.mark.upto == end else guidance
        if used < end and self.quit is None:
            self._grant("planner", used, end)
            yield Want("marks", ("planner",), end)

    def _grant(self, stream: str, begin: int, upto: int) -> None:
        self._emit.control(Grant(stream=stream, begin=begin, upto=upto))

    def _wall_tick(self) -> Iterator[Want]:
        config = self._config
        assert config.tick_budget_s is not None
        deadline = self._wall_begin + round(config.tick_budget_s * 1e9)
        wake = deadline - round((config.reactive_budget_s or config.tick_budget_s) * 1e9)
        # Before the wait, in which time that was paused or slept through may be added.
        self._wall_begin = deadline
        self._write_tick(reactor_ns=wake if self._cast.shape.reactor else None, deadline_ns=deadline)
        yield Want("due", due_ns=deadline + self._emit.epoch_ns)

    def stood_still(self, what: str, by_ns: int) -> None:
        """Wall time: the deadlines to come move by time that does not count, and the log says so."""
        self.fault("game", f"{what} for {by_ns / 1e9:.1f} s", "deadlines moved; the run is not comparable", cause="host")
        self._wall_begin += by_ns

    def _write_tick(
        self, *, guidance_at: int | None = None, end_at: int | None = None, reactor_ns: int | None = None, deadline_ns: int | None = None
    ) -> None:
        observation = observed(self._game, self._config.player)
        self._answer, self._asked_at = None, self.tick
        self._event(
            ev.Tick(
                tick=self.tick,
                at=self._stamp(self.at),
                view=observation.view,
                text=observation.text,
                snapshot=self._game.snapshot() if self.tick == self._config.first_tick else None,
                guidance_at=guidance_at,
                end_at=end_at,
                reactor_ns=reactor_ns,
                deadline_ns=deadline_ns,
            )
        )
        for key in self._hands.begin(self._now()):
            self._on_key(key)
        self._emit.show()

    def _change_budget(self) -> None:
        if self._dynamic is None:
            return
        mark = self.seats["reactor"].mark
        if mark is not None and mark.tick == self.tick - 1:
            self._dynamic.add(mark.tokens, cut=not mark.ended)
        changed = self._dynamic.suggest(self.tick, self._reactive)
        if changed is not None and changed[0] != self._reactive:
            self._reactive = changed[0]
            self._event(ev.Budget(tick=self.tick, at=self.at, reactive_budget_tokens=self._reactive, why=changed[1]))

    # What it does.

    def _step(self) -> str:
        """Apply the action, step the game, and return why the episode is over, or an empty string."""
        end = self._stamp(self.at + self._budget)
        ran, failures = (None, []) if self._programs is None else self._programs.run(observed(self._game, self._config.player).view)
        letters = []
        for player, agent in self._agents.items():
            decision = self._decide(player, agent, ran)
            letters.append(decision.letter)
            self._defaults[player] += decision.source == "default"
            self._late[player] += decision.reason == "late"
            self._event(
                ev.Action(
                    tick=self.tick,
                    at=end,
                    letter=decision.letter,
                    source=decision.source,
                    player=player,
                    reason=decision.reason,
                    generation=decision.generation,
                )
            )
        for failure in failures:
            self._faults += 1
            self._event(ev.Fault(tick=self.tick, at=end, component="program", what=failure.what, done=failure.done))
        self._hands.end(self._until_ns)
        # A second player's letter is for games that take one; `plan_episode` has seen to that.
        result = self._game.step(*letters)
        self._score, self._points = result.score, self._game.points
        self._ticks += 1
        reason = result.done_reason or ""
        if not reason and self._config.ticks is not None and self.tick + 1 >= self._config.ticks:
            reason = "ticks"
        if result.reset:
            self._plan, self._since = None, self.tick + 1
        self._event(
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

    def _decide(self, player: int, agent: Any, ran: Ran | None) -> Decision:
        actor = "reactor" if self._cast.shape.reactor else "planner"
        thinks = player == self._config.player
        seat = self.seats.get(actor) if thinks else None
        missing = "fault" if seat is not None and not seat.playing else "late" if self._wall and seat is not None else "none"
        decision: Decision = agent.act(
            Choice(
                tick=self.tick,
                letters=self._game.legal_actions,
                default_action=self._config.default_action,
                answer=self._answer if thinks else None,
                plan=self._plan if thinks else None,
                rng=self._partner_rng if player else self._rng,
                missing=missing,
                key=self._hands.key(player),
                program=ran if thinks else None,
            )
        )
        return decision

    def close(self) -> None:
        """Let go of what outlives an episode that was left in the middle: a policy program's process."""
        if self._programs is not None:
            self._programs.close()

    def totals(self) -> ev.Totals:
        """What the episode has come to so far."""
        tokens = {name: seat.tokens for name, seat in self.seats.items()}
        return ev.Totals(
            ticks=self._ticks,
            score=self._game.spec.normalise(self._points),
            raw_score=self._score,
            points=self._points,
            default_actions=self._defaults[0],
            late_actions=self._late[0],
            planner_tokens=tokens.get("planner", 0),
            reactor_tokens=tokens.get("reactor", 0),
            faults=self._faults,
            partner_default_actions=self._defaults.get(1, 0),
            partner_late_actions=self._late.get(1, 0),
        )


def _programs(config: Config, game: Game, beat: Callable[[], object]) -> Programs:
    # Imported here because one agent in five needs processes of its own.
    from workers.programs import Programs, call_seconds

    return Programs(game.spec, call_s=call_seconds(config), beat=beat)


def _score_in(snapshot: dict[str, Any]) -> float:
    """What a fork's game has come to already; a game of another make may not keep it there."""
    rest = snapshot.get("rest")
    score = rest.get("score") if isinstance(rest, dict) else None
    return float(score) if isinstance(score, int | float) else 0.0
