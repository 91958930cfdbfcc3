"""A game that does not wait, for an agent of your own: `with rtdesk.realtime("snake", tick_budget="6s") as world`.

    while not world.done:
        seen = world.observe()
        world.act(decide(seen.text))

Every tick has a deadline, fixed when the world was entered: the k-th lies k budgets later, however late anybody was. What is not handed
in by then is the game's default action. The one thing that surprises: nothing runs beside your code. Deadlines that went by while you
were thinking are made up for in your next call, exactly as if the world had moved on at its own time.

A budget in tokens (`tick_budget=8192`) is the same world on a clock that only `spend` moves: say what your model wrote.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Protocol

import msgspec

from games.base import Game, GameError, Observation, StepResult
from replays import events as ev
from replays.format import keyframe_due
from replays.reduce import fold
from replays.view_state import ViewState
from replays.writer import ReplayWriter
from rtdesk.timers import Timer, TokenTimer, WallTimer, make_timer
from workers.config import Config, plan_episode
from workers.episode import make_game, make_header
from workers.errors import ConfigError
from workers.simulator import summary

__all__ = ["Agent", "World", "realtime"]


class Agent(Protocol):
    """What `World.play` plays with: the published loop, observe, think, act."""

    def observe(self, observation: Observation) -> None: ...

    def think(self, timeout: float) -> int | None:
        """Think for at most `timeout` seconds or tokens. In token time it returns what it used; None for nothing."""
        ...

    def act(self) -> str | None:
        """Return a letter, or None for the default action."""
        ...


class World:
    """A running episode. Made by `realtime`; time begins when its `with` block is entered."""

    def __init__(self, config: Config, game: Game, header: ev.Episode, timer: Timer, record: str | None) -> None:
        self.game = game
        self.timer = timer
        self.header = header
        self.tick = 0
        """The tick under way."""
        self.done = False
        self.result: StepResult | None = None
        """What the last tick that is over gave."""
        self.default_actions = 0
        """Ticks the default action was played in."""
        self.late_actions = 0
        """Letters that came after their tick and were dropped."""
        self._config = config
        self._record = record
        self._log: _Log | None = None
        self._seen = 0
        # The letter for the tick under way, and why there is none.
        self._handed_in: str | None = None
        self._missing = "late"
        self._end: ev.End | None = None
        self._begun = False

    def __enter__(self) -> World:
        if self._record is not None:
            self._log = _Log(self._record, self.header)
        self._begun = True
        self.timer.start()
        self._begin_tick()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.done:
            self._finish("quit" if kind is None or issubclass(kind, KeyboardInterrupt) else "fault")

    @property
    def left(self) -> float:
        """Seconds (or tokens) until the deadline of the tick under way; 0 if it has gone by, or the episode is over."""
        return 0.0 if self.done else max(0.0, self.timer.left(self.tick))

    @property
    def score(self) -> float:
        """The normalised score so far."""
        return self.game.spec.normalise(self.game.points)

    @property
    def summary(self) -> dict[str, Any]:
        """The object `rtdesk play --headless --json` prints. Raises GameError before the end of the episode or of the `with` block."""
        if self._end is None:
            raise GameError("the episode is not over; read its summary behind the `with` block, or once `done` is true")
        return summary(self.header, self._end, replay=self._record, wall_s=self._end.t_ns / 1e9)

    def observe(self) -> Observation:
        """Return what there is to see now. A letter handed in later is for this tick."""
        self._check_open()
        self._catch_up()
        self._seen = self.tick
        return self.game.observe()

    def act(self, letter: str | None, *, wait: bool = True) -> StepResult | None:
        """Hand in a letter for the tick last observed (None: the default action), wait for its deadline, and return what it gave.

        A letter whose tick is over is dropped and counted, and the result is the newest tick's. With `wait=False` it returns at once
        with the newest result there is; the letter counts when the tick is over, unless another is handed in before. After the end
        nothing happens any more. Raises GameError, with nothing changed, for a letter that is no action.
        """
        legal = self.game.legal_actions
        if letter is not None and letter not in (*legal, self.game.default_action):
            raise GameError(f"{letter!r} is no action of {self.game.spec.name}; give one of {', '.join(legal)}, or None for the default action")
        self._check_open()
        if self.done:
            return self.result
        if self._seen != self.tick or self.timer.over(self.tick):
            # Counted before the ticks are made up for: the last of them may write the totals.
            self.late_actions += letter is not None
            self._catch_up()
            return self.result
        self._handed_in, self._missing = letter, "none"
        if wait:
            self.timer.wait(self.tick)
            self._step()
        return self.result

    def think(self, timeout: float | None = None, *, margin: float = 0.0) -> Iterator[float]:
        """Give what is left of the tick last observed, over and over, while it is more than `margin`; then stop.

        The body of the loop thinks a little: `for left in world.think(): plan.improve()`. `timeout` ends it earlier, counted from now,
        in seconds or tokens.
        """
        tick = self._seen
        until = -float("inf") if timeout is None else self.timer.left(tick) - timeout
        while not self.done and self.tick == tick and (left := self.timer.left(tick)) > max(margin, until):
            yield left - max(0.0, until)

    def spend(self, tokens: int) -> None:
        """Token time: say that so many tokens were written since the last call. Raises ConfigError in wall time, which passes by itself."""
        if not isinstance(self.timer, TokenTimer):
            raise ConfigError("this world runs in seconds, which pass by themselves; give a tick budget in tokens to spend them")
        self.timer.spend(tokens)

    def play(self, agent: Agent) -> dict[str, Any]:
        """Play to the end with an agent of the published loop; return the summary."""
        while not self.done:
            agent.observe(self.observe())
            used = agent.think(timeout=self.left)
            if used is not None and isinstance(self.timer, TokenTimer):
                self.timer.spend(used)
            self.act(agent.act())
        return self.summary

    def _check_open(self) -> None:
        if not self._begun:
            raise GameError("the world has not begun; enter it: with rtdesk.realtime(...) as world")

    def _catch_up(self) -> None:
        """Play the ticks that are over: with what was handed in for them, else with the default action."""
        while not self.done and self.timer.over(self.tick):
            self._step()

    def _begin_tick(self) -> None:
        self._handed_in, self._missing = None, "late"
        if self._log is None:
            return
        observation = self.game.observe()
        at, upto = self._instants()
        wall = isinstance(self.timer, WallTimer)
        self._log.add(
            ev.Tick(
                tick=self.tick,
                t_ns=self._t_ns(self.tick - 1),
                at=at,
                view=observation.view,
                text=observation.text,
                end_at=upto,
                deadline_ns=self._t_ns(self.tick) if wall else None,
                snapshot=self.game.snapshot() if self.tick == 0 else None,
            )
        )

    def _step(self) -> None:
        default = self._handed_in is None
        letter = self._config.default_action if self._handed_in is None else self._handed_in
        self.default_actions += default
        result = self.result = self.game.step(letter)
        reason = result.done_reason
        if reason is None and self._config.ticks is not None and self.tick + 1 >= self._config.ticks:
            reason = "ticks"
        if self._log is not None:
            where: dict[str, Any] = {"tick": self.tick, "t_ns": self._t_ns(self.tick), "at": self._instants()[1]}
            source, why = ("default", self._missing) if default else ("policy", None)
            self._log.add(ev.Action(letter=letter, source=source, reason=why, **where))
            step = ev.Step(
                state=self.game.snapshot(),
                reward=result.reward,
                score=result.score,
                points=self.game.points,
                done=reason is not None,
                done_reason=reason,
                reset=result.reset,
                **where,
            )
            self._log.add(step)
            self._log.commit(self.tick)
        if reason is not None:
            self._finish(reason)
        else:
            self.tick += 1
            self._begin_tick()

    def _finish(self, reason: str) -> None:
        self.done = True
        points = self.game.points
        score = self.result.score if self.result is not None else 0.0
        stepped = self.tick + (reason not in ("quit", "fault"))
        totals = ev.Totals(
            ticks=stepped,
            score=self.game.spec.normalise(points),
            raw_score=score,
            points=points,
            default_actions=self.default_actions,
            late_actions=self.late_actions,
        )
        self._end = ev.End(tick=self.tick, t_ns=self.timer.now_ns(), at=self._instants()[1], totals=totals, done_reason=reason)
        if self._log is not None:
            self._log.close(self._end)

    def _instants(self) -> tuple[int, int] | tuple[None, None]:
        """The tick's first and last instant in tokens."""
        size = self._config.tick_budget_tokens
        return (None, None) if size is None else (self.tick * size, (self.tick + 1) * size)

    def _t_ns(self, tick: int) -> int:
        """When a tick is over: its deadline, whenever it was made up for. In token time: now."""
        return (tick + 1) * self.timer.tick_ns if isinstance(self.timer, WallTimer) else self.timer.now_ns()


class _Log:
    """Writes the replay, a tick at a time."""

    def __init__(self, path: str, header: ev.Episode) -> None:
        self._writer = ReplayWriter.create(path, header)
        self._state = ViewState()
        self._events: list[ev.AnyEvent] = []
        fold(self._state, header)
        self._seq = self._writer.next_seq

    def add(self, event: Any) -> None:
        self._events.append(self._numbered(event))

    def _numbered(self, event: Any) -> Any:
        # Through the wire's own form, as every recorded event: numbers and tuples come out as a reader will see them.
        event = ev.decode(ev.encode(msgspec.structs.replace(event, seq=self._seq)))
        self._seq += 1
        return event

    def commit(self, tick: int) -> None:
        for event in self._events:
            fold(self._state, event)
        self._writer.tick(tick, self._events)
        self._events = []
        if keyframe_due(tick):
            self._writer.keyframe(tick, self._state.to_map())

    def close(self, end: ev.End) -> None:
        with self._writer:
            if self._events:
                self.commit(end.tick)
            self._writer.end(self._numbered(end))


def realtime(
    game: str,
    *,
    tick_budget: str | int = "8s",
    load: str = "medium",
    seed: int = 0,
    ticks: int | None = None,
    default_action: str | None = None,
    agent: str = "own",
    record: str | os.PathLike[str] | None = None,
    clock: Callable[[], int] = time.monotonic_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> World:
    """Return a world to enter: `game` by name or path, its tick lasting `tick_budget` (`6s`, `200ms`, or tokens such as 8192).

    `ticks` ends the episode early; `agent` is the name the replay gives you; `record` is the path of a new replay. `clock` (monotonic
    nanoseconds) and `sleep` (seconds) are for tests. Raises ConfigError, a sentence, for what cannot be played; ReplayError if the
    replay cannot be made, when the world is entered.
    """
    timer = make_timer(tick_budget, clock=clock, sleep=sleep)
    config = plan_episode(game, agent="default", load=load, seed=seed, ticks=ticks, tick_budget=tick_budget, default_action=default_action)
    begun = make_game(config)
    header = msgspec.structs.replace(make_header(config, begun, meas={"engine": "realtime"}), agent=agent)
    return World(config, begun, header, timer, None if record is None else os.fspath(record))
