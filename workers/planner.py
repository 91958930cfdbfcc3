"""The planner's pure half: it begins a generation on a tick's observation, releases it up to what was granted, and marks.

It is fed the game ring's frames and writes its own ring; whoever drives it (a process over shared memory, or the
simulator) decides how far it may go by the pace of the run. Rules: docs/design.md, Time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from replays import events as ev
from workers.answers import read_answer
from workers.backends import Backend, Request, shut
from workers.cast import Cast
from workers.stream import FINISHED, Progress, TokenStream, open_stream
from workers.trace import Trace, memory_parts
from workers.wire import AnyControl, Close, Emitter, Go, Grant, Mark, Piece

__all__ = ["BURST", "RUN", "PlannerCore"]

RUN = 1024
"""Tokens that are written together at most, about."""
BURST = 8192
"""Tokens after which `work` comes back, so that its caller can look at its orders."""


class PlannerCore:
    """One planner. `at` is its own virtual instant; in wall time it counts the generation's tokens and events carry none.

    `wake` is called, from any thread, when a stream that had nothing has something.
    """

    def __init__(self, cast: Cast, emitter: Emitter, backend: Backend, *, incarnation: int = 0, wake: Callable[[], None] = lambda: None) -> None:
        self._cast = cast
        self._emit = emitter
        self._backend = backend
        self._incarnation = incarnation
        self._wake = wake
        self._token_time = cast.config.clock == "token"
        self._borders: deque[int] = deque()
        self._stream: TokenStream | None = None
        # The stream was closed by a reset, and its end is written when the next tick begins.
        self._cancelled = False
        self._trace = Trace(-1)
        self._memory: Trace | None = None
        self._tick: ev.Tick | None = None
        self._ended = False
        self.at = 0
        self.closed = False

    def on(self, item: ev.AnyEvent | AnyControl | Piece) -> None:
        """Take one item of the game ring."""
        if isinstance(item, ev.Tick):
            self._on_tick(item)
        elif isinstance(item, ev.Step):
            if item.reset:
                self._on_reset()
        elif isinstance(item, Grant):
            if item.stream == "planner":
                self._skip_to(item.begin)
                self._borders.append(item.upto)
        elif isinstance(item, Go):
            self._emit.epoch_ns = item.epoch_ns
        elif isinstance(item, Close):
            self.closed = True
            if self._stream is not None:
                self._stream.cancel()

    def _on_tick(self, tick: ev.Tick) -> None:
        self._tick = tick
        self._cast.saw(tick)
        self._skip_to(tick.at or 0)
        if self._cancelled:
            self._cancelled = False
            self._end("cancelled")
        if self._stream is None:
            self._begin(tick)
        if self._token_time and self._cast.config.throughput != "shared":
            if self._cast.marks_guidance and tick.guidance_at is not None:
                self._borders.append(tick.guidance_at)
            assert tick.end_at is not None
            self._borders.append(tick.end_at)

    def _on_reset(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
            self._cancelled = True
        self._memory = None

    def _skip_to(self, at: int) -> None:
        """Idle time is not made up for: a stream that ended early leaves the rest of its tick unused."""
        if self._token_time:
            self.at = max(self.at, at)

    def _begin(self, tick: ev.Tick) -> None:
        if not self._token_time:
            self.at = 0
        self._ended = False
        self._trace = Trace(tick.tick)
        earlier = self._memory
        shape = self._cast.shape
        memory = memory_parts(earlier, whole=shape.planner_programs) if self._cast.config.planner_memory else ()
        parts = self._cast.planner_prompt(tick.tick, memory)
        self._emit.event(ev.Generation(tick=tick.tick, at=self._stamp(), stream="planner", id=tick.tick, phase="start", prompt=parts))
        traces = {} if earlier is None else {earlier.generation: earlier.raw}
        mode = "code" if shape.planner_programs else "plan" if shape.planner_answers else "think"
        request: Request = self._cast.request("planner", mode, tick, parts, traces=traces, memory=memory)
        self._stream = open_stream(self._backend, request, stall_s=self._cast.config.stall_timeout_s, wake=self._wake)

    def work(self, limit: int, *, run: int = RUN) -> Progress:
        """Release up to the instant `limit`, in frames of at most about `run` tokens, writing marks as borders are reached."""
        while True:
            border = self._borders[0] if self._borders else (limit if not self._token_time else self.at)
            goal = min(border, limit)
            stream = self._stream
            if stream is not None and not self._cancelled:
                if not self._release(stream, goal, run):
                    return Progress.UNKNOWN
                if stream.ended:
                    self._finish(stream)
                elif self.at < goal:
                    return Progress.MORE
            if not self._borders or border > limit:
                return Progress.IDLE
            self._mark(self._borders.popleft())

    def _release(self, stream: TokenStream, goal: int, run: int) -> bool:
        """Release tokens up to `goal`, or a burst. False: the stream has nothing yet."""
        tick, trace, at = self._now_tick(), self._trace, self.at

        def emit(channel: str, text: str, lens: list[int], offset: int) -> None:
            trace.add(channel, text, lens)
            self._emit.tokens(tick, trace.generation, channel, text, lens, at + offset + 1 if self._token_time else 0)

        done, ready = stream.release(min(BURST, max(0, goal - at)), run, emit)
        self.at = at + done
        return ready

    def _finish(self, stream: TokenStream) -> None:
        assert stream.finish is not None
        self._trace.finish = stream.finish
        if stream.fault is not None:
            done = "generation ended; the next begins at the next tick"
            self._emit.event(ev.Fault(tick=self._now_tick(), at=self._stamp(), component="planner", what=stream.fault, done=done))
        if stream.finish in FINISHED:
            self._memory = self._trace
            if self._cast.shape.planner_answers:
                self._answer(stream.finish)
            if self._cast.shape.planner_programs:
                self._program(stream.finish)
        self._end(stream.finish)

    def _answer(self, finish: str) -> None:
        generation = self._trace.generation
        reading = read_answer(self._trace.content(), letters=self._cast.letters, mode="plan", turn=generation, cut=finish == "length")
        self._emit.event(
            ev.Answer(
                tick=self._now_tick(),
                at=self._stamp(),
                stream="planner",
                generation=generation,
                mode="plan",
                letters=reading.letters,
                turns=reading.turns,
                why=reading.why,
            )
        )

    def _program(self, finish: str) -> None:
        # Imported here because one agent in five writes programs.
        from workers.sandbox.check import read_program

        reading = read_program(self._trace.content(), cut=finish == "length")
        generation, tick = self._trace.generation, self._now_tick()
        if reading.what:
            what, done = f"program of turn {generation}: {reading.what}", "it is not used; an older one stays in force"
            self._emit.event(ev.Fault(tick=tick, at=self._stamp(), component="planner", what=what, done=done))
        self._emit.event(
            ev.Answer(
                tick=tick,
                at=self._stamp(),
                stream="planner",
                generation=generation,
                mode="program",
                why=reading.why,
                program=reading.source,
            )
        )

    def _end(self, finish: str) -> None:
        stream = self._stream
        assert stream is not None
        self._emit.event(
            ev.Generation(
                tick=self._now_tick(),
                at=self._stamp(),
                stream="planner",
                id=self._trace.generation,
                phase="end",
                finish=finish,
                clock_tokens=stream.released,
                usage_tokens=stream.usage_tokens,
                meas=stream.meas,
            )
        )
        self._stream = None
        self._ended = True

    def _mark(self, border: int) -> None:
        self._emit.control(
            Mark(
                tick=self._now_tick(),
                stream="planner",
                upto=border,
                at=self.at,
                generation=self._trace.generation,
                ended=self._ended,
                tokens=self._trace.tokens,
                incarnation=self._incarnation,
            )
        )

    def _now_tick(self) -> int:
        assert self._tick is not None
        return self._tick.tick

    def _stamp(self) -> int | None:
        return self.at if self._token_time else None

    @property
    def generation(self) -> int | None:
        """The generation that runs, if one does."""
        return self._trace.generation if self._stream is not None and not self._cancelled else None

    @property
    def next_border(self) -> int | None:
        """The instant up to which it has been asked to release."""
        return self._borders[0] if self._borders else None

    def close(self) -> None:
        """Cancel what runs and let the backend go."""
        if self._stream is not None:
            self._stream.cancel()
        shut(self._backend)
