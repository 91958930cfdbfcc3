"""The reactor's pure half: it keeps its own copy of the planner's stream, cuts it at the guidance instant, and answers.

It is fed the game ring before the planner ring ("read the ring that gives orders before the rings the order is about");
a planner frame of a tick it has not read yet is held until it has. Rules: spec/token-clock sections 2 and 3.
"""

from __future__ import annotations

from collections import deque

from replays import events as ev
from workers.answers import read_answer
from workers.backends import Backend
from workers.cast import Cast
from workers.stream import TokenStream
from workers.trace import Trace, guidance_parts
from workers.wire import AnyControl, Close, Death, Emitter, Grant, Mark, Piece

__all__ = ["ReactorCore"]


class ReactorCore:
    """One reactor. `at` is its own virtual instant; in wall time it counts tokens and events carry none."""

    def __init__(self, cast: Cast, emitter: Emitter, backend: Backend, *, incarnation: int = 0) -> None:
        self._cast = cast
        self._emit = emitter
        self._backend = backend
        self._incarnation = incarnation
        self._token_time = cast.config.clock == "token"
        self._reads_planner = cast.shape.planner
        self._planner_gone = False
        self._held: deque[ev.AnyEvent | AnyControl | Piece] = deque()
        self._current: Trace | None = None
        self._finished: Trace | None = None
        self._tick: ev.Tick | None = None
        self._granted = False
        self._guidance_ready = False
        self._frozen = False
        self._parts: tuple[str | ev.Part, ...] = ()
        self._text = ""
        self._traces: dict[int, bytes] = {}
        self._stream: TokenStream | None = None
        self._content: list[str] = []
        self._done = True
        self.at = 0
        self.closed = False

    # What arrives.

    def on_game(self, item: ev.AnyEvent | AnyControl | Piece) -> None:
        """Take one item of the game ring."""
        if isinstance(item, ev.Tick):
            self._tick = item
            self._cast.saw(item)
            self._done = False
            self._guidance_ready = not self._reads_planner or self._planner_gone
            self._frozen = False
            self._granted = self._cast.config.throughput != "shared"
            while self._held:
                if self._tick_of(self._held[0]) > item.tick:
                    break
                self._take(self._held.popleft())
        elif isinstance(item, ev.Step):
            if item.reset:
                self._current = self._finished = None
        elif isinstance(item, Death):
            if item.role == "planner":
                self._on_dead_planner(item)
        elif isinstance(item, Grant):
            if item.stream == "reactor":
                self._granted = True
        elif isinstance(item, Close):
            self.closed = True
            if self._stream is not None:
                self._stream.cancel()

    def _on_dead_planner(self, death: Death) -> None:
        """A dead planner marks nothing: what it wrote in this tick is the guidance, and its generation is over."""
        self._guidance_ready = True
        self._planner_gone = not death.restarts
        if self._current is not None and self._current.finish is None and self._tick is not None:
            self._current.finish = "fault"
            self._current.ended_at_tick = self._tick.tick

    def on_planner(self, item: ev.AnyEvent | AnyControl | Piece) -> None:
        """Take one item of the planner ring."""
        now = self._tick.tick if self._tick is not None else -1
        if self._held or self._tick_of(item) > now:
            self._held.append(item)
        else:
            self._take(item)

    @staticmethod
    def _tick_of(item: ev.AnyEvent | AnyControl | Piece) -> int:
        return getattr(item, "tick", 0)

    def _take(self, item: ev.AnyEvent | AnyControl | Piece) -> None:
        if isinstance(item, Piece):
            # The copy is cut at mark G: what the planner releases after it is the next tick's guidance.
            if self._current is not None and item.generation == self._current.generation:
                self._current.add(item.channel, item.text, item.lens)
        elif isinstance(item, Mark):
            if self._tick is not None and item.upto == self._tick.guidance_at and not self._guidance_ready:
                self._guidance_ready = True
                self._freeze()
        elif isinstance(item, ev.Generation) and item.stream == "planner":
            if item.phase == "start":
                self._retire()
                self._current = Trace(item.id)
            elif self._current is not None and item.id == self._current.generation:
                self._current.finish = item.finish
                self._current.ended_at_tick = item.tick

    def _retire(self) -> None:
        if self._current is not None and self._current.finished:
            self._finished = self._current
        self._current = None

    def lapped(self, lost: int) -> None:
        """The planner's ring came round: the copy has a hole. A bug in token time, where the ring holds two ticks."""
        tick = self._tick.tick if self._tick is not None else 0
        self._emit.event(
            ev.Fault(tick=tick, at=self._stamp(), component="reactor", what=f"lost {lost} bytes of the planner's stream", done="goes on with what came after")
        )

    # What it is shown.

    def _freeze(self) -> None:
        """Fix the guidance of this tick from the copy as it stands now."""
        assert self._tick is not None
        tick = self._tick.tick
        self._frozen = True
        current = self._current
        if current is not None and current.ended_at_tick is not None and current.ended_at_tick < tick:
            self._retire()
            current = None
        config = self._cast.config
        self._parts = guidance_parts(self._finished, current, kind=config.guidance, tick=tick, limit=config.guidance_limit)
        # Rendered now: the copy grows while the reactor thinks.
        self._traces = traces = {trace.generation: trace.raw for trace in (self._finished, current) if trace is not None}
        self._text = self._cast.render(self._parts, lambda generation: traces[generation])

    # What it does.

    def wake(self) -> None:
        """Wall time: start with what has arrived."""
        self._guidance_ready = True

    def cut(self) -> None:
        """Wall time: the deadline has come; close the request and answer with what stands there."""
        if self._stream is not None:
            self._finish(self._stream, "budget")

    def work(self, limit: int, *, run: int = 1024) -> bool:
        """Go on up to the instant `limit`. False: nothing to do before new orders, or time, come."""
        tick = self._tick
        if tick is None or self._done or not self._guidance_ready or not self._granted:
            return False
        begin = tick.guidance_at if self._token_time else 0
        assert begin is not None
        if self._stream is None:
            if limit < begin:
                return False
            self._begin(tick, begin)
        stream = self._stream
        assert stream is not None
        end = tick.end_at if self._token_time else limit
        assert end is not None
        if not self._release(stream, min(end, limit), run):
            return True
        if stream.ended:
            assert stream.finish is not None
            self._finish(stream, stream.finish)
        elif self._token_time and self.at >= end:
            self._finish(stream, "budget")
        return False

    def _begin(self, tick: ev.Tick, begin: int) -> None:
        if not self._frozen:
            self._freeze()
        self.at = begin
        self._content = []
        parts = self._cast.reactor_prompt(tick.tick, self._parts)
        self._emit.event(ev.Generation(tick=tick.tick, at=self._stamp(), stream="reactor", id=tick.tick, phase="start", prompt=parts))
        budget = tick.end_at - begin if tick.end_at is not None else None
        traces = self._traces
        self._stream = TokenStream(
            self._backend.stream(
                self._cast.request("reactor", "act", tick, parts, trace=lambda g: traces[g], guidance=self._text, budget_tokens=budget)
            )
        )

    def _release(self, stream: TokenStream, goal: int, run: int) -> bool:
        assert self._tick is not None
        tick, at = self._tick.tick, self.at

        def emit(channel: str, text: str, lens: list[int], offset: int) -> None:
            self._emit.tokens(tick, tick, channel, text, lens, at + offset + 1 if self._token_time else 0)
            if channel == "content":
                self._content.append(text)

        done, ready = stream.release(max(0, goal - at), run, emit)
        self.at = at + done
        return ready

    def _finish(self, stream: TokenStream, finish: str) -> None:
        assert self._tick is not None
        tick = self._tick.tick
        if finish == "budget":
            stream.cancel()
        if stream.fault is not None:
            self._emit.event(ev.Fault(tick=tick, at=self._stamp(), component="reactor", what=stream.fault, done="default action"))
            letters: list[str] | None = None
            why: str | None = "fault"
        else:
            reading = read_answer("".join(self._content), letters=self._cast.letters, mode="act", turn=tick, cut=finish != "stop")
            letters, why = reading.letters, reading.why
            if why == "none" and finish != "stop":
                why = "truncated"
        self._emit.event(ev.Answer(tick=tick, at=self._stamp(), stream="reactor", generation=tick, mode="act", letters=letters, why=why))
        self._emit.event(
            ev.Generation(
                tick=tick,
                at=self._stamp(),
                stream="reactor",
                id=tick,
                phase="end",
                finish=finish,
                clock_tokens=stream.released,
                usage_tokens=stream.usage_tokens,
                meas=dict(stream.meas),
            )
        )
        self._stream = None
        self._done = True
        if self._token_time:
            assert self._tick.end_at is not None
            self._emit.control(
                Mark(
                    tick=tick,
                    stream="reactor",
                    upto=self._tick.end_at,
                    at=self.at,
                    generation=tick,
                    ended=finish != "budget",
                    incarnation=self._incarnation,
                )
            )

    def _stamp(self) -> int | None:
        return self.at if self._token_time else None

    @property
    def thinking(self) -> bool:
        return self._stream is not None

    @property
    def waiting_for(self) -> ev.Tick | None:
        """The tick it has yet to answer, if any."""
        return None if self._done else self._tick

    def close(self) -> None:
        """Cancel what runs and let the backend go."""
        if self._stream is not None:
            self._stream.cancel()
        self._backend.close()
