"""The planner's and the reactor's processes: the loops around the pure cores, which read orders, keep the pace, and wait."""

from __future__ import annotations

import math
import time

from replays import events as ev
from workers.cast import Cast
from workers.episode import cast_of, make_backend, make_game
from workers.live.child import Child, seconds_until
from workers.pace import Pacer
from workers.planner import PlannerCore
from workers.reactor import ReactorCore
from workers.wire import Emitter, Pace, split

__all__ = ["main"]

FAR = 1 << 62
RUN = 512
"""Tokens that go into one frame at most when nothing is paced."""
FRAME_S = 1 / 60
"""Paced text comes in frames of about this length: the screen draws no faster."""
BUILTIN_TPOT_S = 0.001
"""What a token of a builtin thinker takes in wall time unless told otherwise (DESIGN section 8)."""


class Pen:
    """How far a thinker may write now: by the pace of a token run, or by its own speed in wall time."""

    def __init__(self, child: Child, deterministic: bool) -> None:
        self._token_time = child.config.clock == "token"
        self._pacer = Pacer()
        tpot = child.config.tpot_s if child.config.tpot_s is not None else (BUILTIN_TPOT_S if deterministic else 0.0)
        self._wall_rate = 1 / tpot if tpot else math.inf
        self._thinking = False

    def pace(self, pace: Pace) -> None:
        self._pacer.set(pace.at, pace.t_ns, pace.rate)

    def limit(self, at: int, thinking: bool) -> int:
        """The instant (or token count) that may be released by now."""
        now = time.monotonic_ns()
        if not self._token_time and thinking != self._thinking:
            self._thinking = thinking
            if thinking:
                self._pacer.set(at, now, self._wall_rate)
        position = self._pacer.position(now)
        return FAR if math.isinf(position) else int(position)

    def next_frame_s(self, at: int) -> float:
        """Seconds to sleep before more is due."""
        due = self._pacer.due_ns(at + 1)
        if math.isinf(due):
            return 0.05
        return max(FRAME_S, seconds_until(due))


def main(child: Child) -> int:
    """Entry point of both thinkers."""
    game = make_game(child.config)
    cast = cast_of(child.config, game, child.header)
    backend = make_backend(child.config, child.role)
    try:
        return _plan(child, cast, backend) if child.role == "planner" else _react(child, cast, backend)
    finally:
        backend.close()


def _plan(child: Child, cast: Cast, backend: object) -> int:
    orders = child.reader("game")
    emitter = Emitter(child.writer(), epoch_ns=child.header.meas.get("epoch_ns", 0))
    core = PlannerCore(cast, emitter, backend, incarnation=child.incarnation)  # type: ignore[arg-type]
    pen = Pen(child, backend.info.deterministic)  # type: ignore[attr-defined]
    if child.incarnation:
        orders.seek(orders.segment.tail)
    child.ready(emitter)
    while not core.closed:
        for item in split(orders.poll()):
            if isinstance(item, Pace):
                pen.pace(item)
            elif isinstance(item, ev.Episode):
                emitter.epoch_ns = item.meas["epoch_ns"]
            else:
                core.on(item)
        limit = pen.limit(core.at, core.thinking)
        unknown = core.work(limit, run=RUN)
        if core.closed:
            break
        if unknown:
            timeout = 0.002
        elif core.thinking and (core.next_border is not None or cast.config.clock == "wall") and limit < FAR:
            timeout = pen.next_frame_s(core.at)
        else:
            timeout = 0.05
        if not child.wait([orders], timeout):
            break
    core.close()
    return 0


def _react(child: Child, cast: Cast, backend: object) -> int:
    orders = child.reader("game")
    partial = child.reader("planner") if cast.shape.planner else None
    emitter = Emitter(child.writer(), epoch_ns=child.header.meas.get("epoch_ns", 0))
    core = ReactorCore(cast, emitter, backend, incarnation=child.incarnation)  # type: ignore[arg-type]
    pen = Pen(child, backend.info.deterministic)  # type: ignore[attr-defined]
    wall = cast.config.clock == "wall"
    readers = [orders] if partial is None else [orders, partial]
    if child.incarnation:
        orders.seek(orders.segment.tail)
        if partial is not None:
            # Everything the ring still holds: the frame that began the running generation is in it, and the last conclusion.
            partial.seek(0)
            for item in split(partial.poll()):
                core.on_planner(item)
    child.ready(emitter)
    while not core.closed:
        for item in split(orders.poll()):
            if isinstance(item, Pace):
                pen.pace(item)
            elif isinstance(item, ev.Episode):
                emitter.epoch_ns = item.meas["epoch_ns"]
            else:
                core.on_game(item)
        if partial is not None:
            lost = partial.lost
            for item in split(partial.poll()):
                core.on_planner(item)
            if partial.lost > lost:
                core.lapped(partial.lost - lost)
        timeout = 0.05
        if wall:
            timeout = _keep_wall_time(core, emitter)
        limit = pen.limit(core.at, core.thinking)
        if core.work(limit, run=RUN):
            timeout = min(timeout, 0.002)
        elif core.thinking:
            if wall:
                limit = pen.limit(core.at, True)
            timeout = min(timeout, pen.next_frame_s(core.at)) if limit < FAR else timeout
        elif not wall and core.waiting_for is not None and limit < FAR:
            begin = core.waiting_for.guidance_at or 0
            timeout = min(timeout, max(0.0005, pen.next_frame_s(begin)) if limit < begin else timeout)
        if core.closed or not child.wait(readers, timeout, events_only=True):
            break
    core.close()
    return 0


def _keep_wall_time(core: ReactorCore, emitter: Emitter) -> float:
    """Wake the reactor at deadline - T_R, cut it at the deadline; return how long it may sleep."""
    tick = core.waiting_for
    if tick is None or tick.reactor_ns is None or tick.deadline_ns is None:
        return 0.05
    now = emitter.now()
    if now >= tick.deadline_ns:
        core.cut()
        return 0.05
    if now >= tick.reactor_ns:
        core.wake()
        return max(0.0, (tick.deadline_ns - now) / 1e9)
    return min(0.05, (tick.reactor_ns - now) / 1e9)


