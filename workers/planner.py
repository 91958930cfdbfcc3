"""The planner's pure half: it begins a generation on a tick's observation, releases it up to what was granted, and marks.

It is fed the game ring's frames and writes its own ring; whoever drives it (a process over shared memory, or the
simulator) decides how far it may go by the pace of the run. Rules: spec/token-clock sections 2 and 3.
"""

from __future__ import annotations

from collections import deque

from replays import events as ev
from workers.answers import read_answer
from workers.backends import Backend, Request
from workers.cast import Cast
from workers.stream import TokenStream
from workers.trace import FINISHED, Trace, memory_parts
from workers.wire import AnyControl, Close, Emitter, Grant, Mark, Piece

__all__ = ["PlannerCore"]


class PlannerCore:
    """One planner. `at` is its own virtual instant; in wall time it counts tokens and events carry none."""

    def __init__(self, cast: Cast, emitter: Emitter, backend: Backend, *, incarnation: int = 0) -> None:
        self._cast = cast
        self._emit = emitter
        self._backend = backend
        self._incarnation = incarnation
        self._token_time = cast.config.clock == "token"
        self._borders: deque[int] = deque()
        self._stream: TokenStream | None = None
        self._cancelled = False
        self._generation = -1
        self._begun_at = 0
        self._trace: Trace | None = None
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
        elif isinstance(item, Close):
            self.closed = True
            if self._stream is not None:
                self._stream.cancel()

    def _on_tick(self, tick: ev.Tick) -> None:
        self._tick = tick
        self._cast.saw(tick)
        self._skip_to(tick.at or 0)
        if self._cancelled:
            self._end("cancelled", self.at)
            self._cancelled = False
        if self._stream is None:
            self._begin(tick)
        if self._token_time and self._cast.config.throughput != "shared":
            assert tick.end_at is not None
            if self._cast.marks_guidance:
                assert tick.guidance_at is not None
                self._borders.append(tick.guidance_at)
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
        self._generation, self._begun_at, self._ended = tick.tick, self.at, False
        memory = memory_parts(self._memory) if self._cast.config.planner_memory else ()
        parts = self._cast.planner_prompt(tick.tick, memory)
        self._emit.event(
            ev.Generation(tick=tick.tick, at=self._stamp(self.at), stream="planner", id=tick.tick, phase="start", prompt=parts)
        )
        earlier = self._memory
        trace_of = (lambda generation: earlier.raw) if earlier is not None else (lambda generation: b"")
        request: Request = self._cast.request(
            "planner", "plan" if self._cast.shape.planner_answers else "think", tick, parts, memory=self._cast.render(memory, trace_of), trace=trace_of
        )
        self._stream = TokenStream(self._backend.stream(request))
        self._trace = Trace(tick.tick)

    def work(self, limit: int, *, run: int = 1024) -> bool:
        """Release up to the instant `limit`, in frames of at most about `run` tokens, writing marks as borders are reached.

        Returns False when there is nothing to do below `limit` until new orders, or time, come.
        """
        while True:
            border = self._borders[0] if self._borders else (limit if not self._token_time else self.at)
            goal = min(border, limit)
            stream = self._stream
            if stream is not None and not self._cancelled:
                if not self._release(stream, goal, run):
                    return True
                if stream.ended:
                    self._finish(stream)
            if not self._borders or border > limit:
                return False
            self._mark(border)

    def _release(self, stream: TokenStream, goal: int, run: int) -> bool:
        """Release tokens up to `goal`. False: the stream has nothing yet."""
        tick, trace, at = self._now_tick(), self._trace, self.at
        assert trace is not None

        def emit(channel: str, text: str, lens: list[int], offset: int) -> None:
            trace.add(channel, text, lens)
            self._emit.tokens(tick, trace.generation, channel, text, lens, at + offset + 1 if self._token_time else 0)

        done, ready = stream.release(max(0, goal - at), run, emit)
        self.at = at + done
        return ready

    def _finish(self, stream: TokenStream) -> None:
        assert self._trace is not None
        assert stream.finish is not None
        self._trace.finish = stream.finish
        tick = self._now_tick()
        if stream.fault is not None:
            self._emit.event(
                ev.Fault(tick=tick, at=self._stamp(self.at), component="planner", what=stream.fault, done="generation ended; the next begins at the next tick")
            )
        if stream.finish in FINISHED:
            self._memory = self._trace
            if self._cast.shape.planner_answers:
                reading = read_answer(self._trace.content(), letters=self._cast.letters, mode="plan", turn=self._generation, cut=stream.finish == "length")
                self._emit.event(
                    ev.Answer(
                        tick=tick,
                        at=self._stamp(self.at),
                        stream="planner",
                        generation=self._generation,
                        mode="plan",
                        letters=reading.letters,
                        turns=reading.turns,
                        why=reading.why,
                    )
                )
        self._end(stream.finish, self.at, stream)

    def _end(self, finish: str, at: int, stream: TokenStream | None = None) -> None:
        released = self._stream.released if self._stream is not None else 0
        self._emit.event(
            ev.Generation(
                tick=self._now_tick(),
                at=self._stamp(at),
                stream="planner",
                id=self._generation,
                phase="end",
                finish=finish,
                clock_tokens=released,
                usage_tokens=stream.usage_tokens if stream is not None else None,
                meas=dict(stream.meas) if stream is not None else {},
            )
        )
        self._stream = None
        self._ended = True

    def _mark(self, border: int) -> None:
        self._borders.popleft()
        self._emit.control(
            Mark(
                tick=self._now_tick(),
                stream="planner",
                upto=border,
                at=self.at,
                generation=self._generation,
                ended=self._ended,
                incarnation=self._incarnation,
            )
        )

    def _now_tick(self) -> int:
        assert self._tick is not None
        return self._tick.tick

    def _stamp(self, at: int) -> int | None:
        return at if self._token_time else None

    @property
    def thinking(self) -> bool:
        """Whether a generation is running."""
        return self._stream is not None and not self._cancelled

    @property
    def next_border(self) -> int | None:
        return self._borders[0] if self._borders else None

    def close(self) -> None:
        """Cancel what runs and let the backend go."""
        if self._stream is not None:
            self._stream.cancel()
        self._backend.close()
