"""The simulator: the same conductor, planner and reactor with lists in place of rings, one process, no sleeping.

With a deterministic backend and the token clock its canonical event log equals the live run's, byte for byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from replays import events as ev
from workers.conductor import Conductor
from workers.config import Config, plan_episode
from workers.episode import cast_of, make_backend, make_game, make_header
from workers.errors import ConfigError
from workers.merge import Merger
from workers.planner import PlannerCore
from workers.reactor import ReactorCore
from workers.rings import ListRing
from workers.wire import Emitter, split

__all__ = ["SimulatedEpisode", "run_simulation", "simulate", "summary"]

FAR = 1 << 62


class SimulatedEpisode(NamedTuple):
    """What a simulated episode left."""

    events: list[ev.AnyEvent]
    """The log, header first, `end` last."""
    summary: dict[str, Any]
    """What `play --headless --json` prints."""


def summary(header: ev.Episode, end: ev.End, *, replay: str | None, wall_s: float) -> dict[str, Any]:
    """Return the object of `play --headless --json` (DESIGN section 8)."""
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
        "replay": replay,
        "wall_s": round(wall_s, 3),
    }


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
    game = make_game(config)
    header = make_header(config, game, meas=meas or {"engine": "simulator"})
    cast = cast_of(config, game, header)
    rings = {name: ListRing() for name in ("game", "planner", "reactor")}
    epoch = clock()
    emitters = {name: Emitter(ring.writer(), clock=clock, epoch_ns=epoch) for name, ring in rings.items()}
    conductor = Conductor(cast, game, emitters["game"], header=header)
    planner = PlannerCore(cast, emitters["planner"], make_backend(config, "planner")) if cast.shape.planner else None
    reactor = ReactorCore(cast, emitters["reactor"], make_backend(config, "reactor")) if cast.shape.reactor else None
    orders = {name: rings["game"].reader() for name, core in (("planner", planner), ("reactor", reactor)) if core is not None}
    partial = rings["planner"].reader() if planner is not None and reactor is not None else None
    heard = {name: rings[name].reader() for name in orders}
    logged = {name: rings[name].reader() for name in ("game", *orders)}
    merger = Merger()
    end: ev.End | None = None

    def think() -> None:
        """Let both thinkers do all that the orders given so far allow."""
        if planner is not None:
            for item in split(orders["planner"].poll()):
                planner.on(item)
            while planner.work(FAR):
                pass
        if reactor is not None:
            for item in split(orders["reactor"].poll()):
                reactor.on_game(item)
            if partial is not None:
                for item in split(partial.poll()):
                    reactor.on_planner(item)
            while reactor.work(FAR):
                pass
        for name, reader in heard.items():
            for item in split(reader.poll()):
                conductor.on(name, item)

    def record() -> None:
        nonlocal end
        steps: list[int] = []
        for name, reader in logged.items():
            for frame in reader.poll():
                item = merger.feed(name, frame)
                if isinstance(item, ev.Step):
                    steps.append(item.tick)
                elif isinstance(item, ev.End):
                    end = item
        for tick in steps:
            commit(tick, merger.commit(tick))

    try:
        for want in conductor.run():
            record()
            if stop():
                conductor.quit = "quit"
            while not conductor.met(want, 0):
                think()
        record()
    finally:
        for core in (planner, reactor):
            if core is not None:
                core.close()
    assert end is not None
    return header, end


def simulate(game: str, **options: Any) -> SimulatedEpisode:
    """Play one episode in this process and return its events and summary; takes the options of `play` by name.

    >>> simulate("snake", agent="default", load="easy", seed=0).summary["done_reason"]
    'dead'
    """
    events: list[ev.AnyEvent] = []
    began = time.perf_counter()
    header, end = run_simulation(plan_episode(game, **options), commit=lambda tick, batch: events.extend(batch))
    return SimulatedEpisode([header, *events, end], summary(header, end, replay=None, wall_s=time.perf_counter() - began))
