"""The planner's and the reactor's processes: the loops around the pure cores, which read orders, keep the pace, and wait."""

from __future__ import annotations

import math
import time

from replays import events as ev
from workers.backends import Backend
from workers.cast import Cast
from workers.config import Config
from workers.episode import cast_of, make_backend, make_game
from workers.force import SHARE
from workers.live.child import DONE, NAP_S, TOLD, Child
from workers.pace import Pacer
from workers.planner import PlannerCore
from workers.reactor import ReactorCore
from workers.stream import Progress
from workers.wire import Emitter, Pace, drain, split

__all__ = ["Pen", "main"]

FAR = 1 << 62
RUN = 512
"""Tokens that go into one frame at most when nothing is paced."""
FRAME_S = 1 / 60
"""Paced text comes in frames of about this length: the screen draws no faster."""
LEAST_S = 0.0005
BUILTIN_TPOT_S = 0.001
"""What a token of a builtin thinker takes in wall time unless told otherwise."""
ASK_AGAIN_S = 0.002
"""How long a stream that has nothing yet, and will not ring, is left alone."""
CUT_NS = 2_000_000
"""Wall time: so long before the deadline the reactor's request is closed, that what stands there is told in time. Reading it takes
about a millisecond on a busy machine."""


class Pen:
    """How far a thinker may write now: by the pace of a token run, or by its own speed in wall time."""

    def __init__(self, config: Config, *, deterministic: bool) -> None:
        self._wall = config.clock == "wall"
        self._pacer = Pacer()
        tpot = config.tpot_s if config.tpot_s is not None else (BUILTIN_TPOT_S if deterministic else 0.0)
        self._speed = 1 / tpot if tpot else math.inf
        self._generation: int | None = None

    def pace(self, pace: Pace) -> None:
        """Take over a new pace."""
        self._pacer.set(pace.at, pace.t_ns, pace.rate)

    def limit(self, generation: int | None) -> int:
        """The instant that may be released by now; in wall time, how many tokens of `generation`, which begins when it is first named."""
        now = time.monotonic_ns()
        if self._wall and generation != self._generation:
            self._generation = generation
            self._pacer.set(0, now, self._speed)
        position = self._pacer.position(now)
        return FAR if math.isinf(position) else int(position)

    def until(self, at: int) -> float:
        """Seconds until the instant `at` is due, `NAP_S` at most."""
        left = (self._pacer.due_ns(at) - time.monotonic_ns()) / 1e9
        return min(NAP_S, max(LEAST_S, left))

    def next_frame(self, at: int, border: int | None) -> float:
        """Seconds until the next frame after `at` is due; it is cut short by a border that comes before."""
        frame = max(FRAME_S, self.until(at + 1))
        return frame if border is None else min(frame, self.until(border))


def main(child: Child) -> int:
    """Entry point of both thinkers."""
    cast = cast_of(child.config, make_game(child.config), child.header)
    backend = make_backend(child.config, child.role)
    if (prepare := getattr(backend, "prepare", None)) is not None:
        # Before the ready mark: what takes long the first time must not take it out of the first tick.
        prepare()
    return (_plan if child.role == "planner" else _react)(child, cast, backend)


def _plan(child: Child, cast: Cast, backend: Backend) -> int:
    orders = child.reader("game")
    emitter = Emitter(child.writer())
    core = PlannerCore(cast, emitter, backend, incarnation=child.incarnation, wake=child.wake)
    pen = Pen(child.config, deterministic=backend.info.deterministic)
    ask_again = NAP_S if getattr(backend, "blocking", True) else ASK_AGAIN_S
    if child.incarnation:
        orders.seek(orders.cursor + orders.lag)
    child.ready(emitter)
    timeout = 0.0
    while child.wait([orders], timeout):
        for item in split(drain(orders)):
            if isinstance(item, Pace):
                pen.pace(item)
            else:
                core.on(item)
        if core.closed:
            break
        limit = pen.limit(core.generation)
        progress = core.work(limit, run=RUN)
        timeout = NAP_S
        if progress is Progress.MORE:
            timeout = 0.0
        elif progress is Progress.UNKNOWN:
            timeout = ask_again
        elif limit < FAR and core.generation is not None:
            timeout = pen.next_frame(core.at, core.next_border)
        elif limit < FAR and core.next_border is not None:
            timeout = pen.until(core.next_border)
    core.close()
    return DONE if core.closed or child.orphaned else TOLD


def _react(child: Child, cast: Cast, backend: Backend) -> int:
    orders = child.reader("game")
    partial = child.reader("planner") if cast.shape.planner else None
    emitter = Emitter(child.writer())
    core = ReactorCore(cast, emitter, backend, incarnation=child.incarnation, wake=child.wake)
    pen = Pen(child.config, deterministic=backend.info.deterministic)
    ask_again = NAP_S if getattr(backend, "blocking", True) else ASK_AGAIN_S
    readers = [orders] if partial is None else [orders, partial]
    if child.incarnation:
        orders.seek(orders.cursor + orders.lag)
        if partial is not None:
            # Everything the ring still holds: the frame that began the running generation is in it, and the last conclusion.
            partial.seek(0)
    # What a new incarnation finds gone was never its to lose.
    lost, forgiven = 0, child.incarnation > 0
    child.ready(emitter)
    timeout = 0.0
    while child.wait(readers, timeout, events_only=True):
        for item in split(drain(orders)):
            if isinstance(item, Pace):
                pen.pace(item)
            else:
                core.on_game(item)
        if core.closed:
            break
        if partial is not None:
            for frame in drain(partial):
                if partial.lost > lost and not forgiven:
                    core.lapped(partial.lost - lost)
                lost, forgiven = partial.lost, False
                for item in split((frame,)):
                    core.on_planner(item)
        timeout = NAP_S if cast.config.clock == "token" else _keep_wall_time(core, emitter)
        core.start(pen.limit(core.generation))
        limit = pen.limit(core.generation)
        progress = core.work(limit, run=RUN)
        if progress is Progress.MORE:
            timeout = 0.0
        elif progress is Progress.UNKNOWN:
            timeout = min(timeout, ask_again)
        elif limit < FAR:
            timeout = min(timeout, _paced(core, pen))
    core.close()
    return DONE if core.closed or child.orphaned else TOLD


def _paced(core: ReactorCore, pen: Pen) -> float:
    """Seconds until a paced reactor has something to do by itself."""
    tick = core.waiting_for
    if tick is None:
        return NAP_S
    if core.generation is not None:
        return pen.next_frame(core.at, tick.end_at)
    return NAP_S if tick.guidance_at is None else pen.until(tick.guidance_at)


def _keep_wall_time(core: ReactorCore, emitter: Emitter) -> float:
    """Wake the reactor at deadline - T_R, cut it at the deadline; return how long it may sleep."""
    tick: ev.Tick | None = core.waiting_for
    if tick is None or tick.reactor_ns is None or tick.deadline_ns is None:
        return NAP_S
    now = emitter.now()
    cut = tick.deadline_ns - min(CUT_NS, (tick.deadline_ns - tick.reactor_ns) // 8)
    if now >= cut:
        core.cut()
        return NAP_S
    if now >= tick.reactor_ns:
        core.wake()
        pressed = tick.deadline_ns - (tick.deadline_ns - tick.reactor_ns) // SHARE
        if not core.forces or now >= pressed:
            core.press()
            return (cut - now) / 1e9
        return (pressed - now) / 1e9
    return (tick.reactor_ns - now) / 1e9
