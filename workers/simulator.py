"""The simulator: the same conductor, planner and reactor with lists in place of rings, one process, no sleeping.

With a deterministic backend and the token clock its canonical event log equals the live run's, byte for byte.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from replays import events as ev
from workers import backends
from workers.conductor import Conductor
from workers.config import Config, plan_episode
from workers.episode import cast_of, make_backend, make_game, make_header
from workers.errors import ConfigError
from workers.merge import Merger
from workers.pace import Tempo
from workers.planner import PlannerCore
from workers.reactor import ReactorCore
from workers.rings import ListReader, ListRing
from workers.stream import Progress
from workers.wire import Emitter, drain, split

__all__ = ["SimulatedEpisode", "run_simulation", "simulate", "summary"]

FAR = 1 << 62
NAP_S = 0.001
"""How long a backend that has nothing yet is left alone, unless it says itself that it has something."""


class SimulatedEpisode(NamedTuple):
    """What a simulated episode left."""

    events: list[ev.AnyEvent]
    """The log, header first, `end` last."""
    summary: dict[str, Any]
    """What `play --headless --json` prints."""


def summary(header: ev.Episode, end: ev.End, *, replay: str | None, wall_s: float) -> dict[str, Any]:
    """Return the object of `play --headless --json`; docs/json.md has what the keys mean."""
    totals = end.totals
    return {
        "game": header.game,
        "load": header.load,
        "seed": header.seed,
        "agent": header.agent,
        "score": totals.score,
        "raw_score": totals.raw_score,
        "points": totals.points,
        "ticks": totals.ticks,
        "done_reason": end.done_reason,
        "default_actions": totals.default_actions,
        "late_actions": totals.late_actions,
        "planner_tokens": totals.planner_tokens,
        "reactor_tokens": totals.reactor_tokens,
        "faults": totals.faults,
        **_partner(header, totals),
        "replay": replay,
        "wall_s": round(wall_s, 3),
    }


def _partner(header: ev.Episode, totals: ev.Totals) -> dict[str, Any]:
    """What is told of a second player, where it is no script of the game's: all else that is counted of actions is the agent's."""
    partner = header.options.get("partner")
    if partner in (None, "scripted"):
        return {}
    return {"partner": partner, "partner_default_actions": totals.partner_default_actions, "partner_late_actions": totals.partner_late_actions}


def run_simulation(
    config: Config,
    *,
    commit: Callable[[int, list[ev.AnyEvent]], None],
    meas: dict[str, Any] | None = None,
    clock: Callable[[], int] = time.monotonic_ns,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[ev.Episode, ev.End]:
    """Run one episode; `commit(tick, events)` is called as each tick commits. Returns header and end.

    `stop()` is asked once a tick; True ends the episode as a quit would. Raises ConfigError for the wall clock.
    """
    if config.clock != "token":
        raise ConfigError("the simulator has no wall clock; use token budgets, or play live")
    stage = Stage(config, meas=meas or {"engine": "simulator"}, clock=clock)
    try:
        for want in stage.conductor.run():
            stage.record(commit)
            if stop():
                stage.conductor.quit = "quit"
            while not stage.conductor.met(want, 0):
                stage.think()
        stage.record(commit)
    finally:
        stage.close()
    assert stage.end is not None
    return stage.header, stage.end


class Stage:
    """Conductor, thinkers and log around three lists; what four processes do in turn, in the order that their rings give."""

    def __init__(self, config: Config, *, meas: dict[str, Any], clock: Callable[[], int]) -> None:
        game = make_game(config)
        self.header = make_header(config, game, meas=meas)
        self.end: ev.End | None = None
        cast = cast_of(config, game, self.header)
        self._rings = {name: ListRing(name=name) for name in ("game", "planner", "reactor")}
        # A reader that has not attached is not waited for, and each needs a slot of its own.
        self._slots = dict.fromkeys(self._rings, 0)
        epoch = clock()
        emitters = {name: Emitter(ring.writer(), clock=clock, epoch_ns=epoch) for name, ring in self._rings.items()}
        tempo = Tempo(math.inf, tick_tokens=config.tick_budget_tokens)
        self.conductor = Conductor(cast, game, emitters["game"], header=self.header, tempo=tempo)
        self._merger = Merger()
        self._log = {name: self._reader(name) for name in ("game", *self.conductor.seats)}
        self._heard = {name: self._reader(name) for name in self.conductor.seats}
        self._bell = threading.Event()
        self._hosts = backends.hosts((config.planner, config.reactor))
        self._planner: PlannerCore | None = None
        self._reactor: ReactorCore | None = None
        if cast.shape.planner:
            self._planner = PlannerCore(cast, emitters["planner"], make_backend(config, "planner"), wake=self._bell.set)
        if cast.shape.reactor:
            self._reactor = ReactorCore(cast, emitters["reactor"], make_backend(config, "reactor"), wake=self._bell.set)
        self._orders = {name: self._reader("game") for name in self.conductor.seats}
        self._partial = self._reader("planner") if self._planner is not None and self._reactor is not None else None
        for seat in self.conductor.seats.values():
            seat.ready = 0

    def _reader(self, ring: str) -> ListReader:
        self._slots[ring] += 1
        return self._rings[ring].reader(self._slots[ring])

    def think(self) -> None:
        """Let both thinkers do all that the orders given so far allow; waits a moment if a stream has nothing yet."""
        self._bell.clear()
        progress = [Progress.IDLE]
        if self._planner is not None:
            for item in split(drain(self._orders["planner"])):
                self._planner.on(item)
            while (left := self._planner.work(FAR)) is Progress.MORE:
                pass
            progress.append(left)
        if self._reactor is not None:
            for item in split(drain(self._orders["reactor"])):
                self._reactor.on_game(item)
            if self._partial is not None:
                for item in split(drain(self._partial)):
                    self._reactor.on_planner(item)
            while (left := self._reactor.work(FAR)) is Progress.MORE:
                pass
            progress.append(left)
        for name, reader in self._heard.items():
            self.conductor.hear(name, drain(reader))
        if Progress.UNKNOWN in progress:
            self._bell.wait(NAP_S)

    def record(self, commit: Callable[[int, list[ev.AnyEvent]], None]) -> None:
        """Hand over the ticks that were committed since the last call."""
        steps: list[int] = []
        for name, reader in self._log.items():
            for frame in drain(reader):
                item = self._merger.feed(name, frame)
                if isinstance(item, ev.Step):
                    steps.append(item.tick)
                elif isinstance(item, ev.End):
                    self.end = item
        for tick in steps:
            commit(tick, self._merger.commit(tick))
        if self.end is not None:
            left = self._merger.commit(self.end.tick)
            if left:
                commit(self.end.tick, left)
            self._merger.number(self.end)

    def close(self) -> None:
        self.conductor.close()
        for core in (self._planner, self._reactor):
            if core is not None:
                core.close()
        for host in self._hosts:
            host.close()


def simulate(game: str, **options: Any) -> SimulatedEpisode:
    """Play one episode in this process and return its events and summary; takes the options of `play` by name.

    >>> simulate("snake", agent="default", load="easy", seed=0).summary["done_reason"]
    'dead'
    """
    events: list[ev.AnyEvent] = []
    began = time.perf_counter()
    header, end = run_simulation(plan_episode(game, **options), commit=lambda tick, batch: events.extend(batch))
    return SimulatedEpisode([header, *events, end], summary(header, end, replay=None, wall_s=time.perf_counter() - began))
