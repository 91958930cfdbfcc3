"""The reactor's pure half: it keeps its own copy of the planner's stream, cuts it at the guidance instant, and answers.

It is fed the game ring before the planner ring ("read the ring that gives orders before the rings the order is about");
a planner frame of a tick it has not read yet is held until it has. Rules: docs/design.md, Time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from replays import events as ev
from workers.answers import Reading, read_answer
from workers.backends import Backend, Request, shut
from workers.cast import Cast
from workers.force import KEPT_BACK, forced, kept_back, read_forced, together
from workers.planner import BURST, RUN
from workers.stream import Progress, TokenStream, open_stream
from workers.trace import PlannerCopy, guidance_parts
from workers.wire import AnyControl, Close, Death, Emitter, Go, Grant, Mark, Piece

__all__ = ["ReactorCore"]

FAR = 1 << 62


class ReactorCore:
    """One reactor. `at` is its own virtual instant; in wall time it counts tokens and events carry none.

    `wake` is called, from any thread, when a stream that had nothing has something.
    """

    def __init__(self, cast: Cast, emitter: Emitter, backend: Backend, *, incarnation: int = 0, wake: Callable[[], None] = lambda: None) -> None:
        self._cast = cast
        self._emit = emitter
        self._backend = backend
        self._incarnation = incarnation
        self._wake = wake
        self._token_time = cast.config.clock == "token"
        self._copy = PlannerCopy()
        self._held: deque[ev.AnyEvent | AnyControl | Piece] = deque()
        # Whether the planner marks the instant the reactor wakes; a dead one does not, and then what there is is the guidance.
        self._planner_marks = cast.shape.planner
        self._tick: ev.Tick | None = None
        self._granted = False
        self._guidance: tuple[str | ev.Part, ...] | None = None
        self._traces: dict[int, bytes] = {}
        self._awake = False
        self._stream: TokenStream | None = None
        self._said: list[tuple[str, str]] = []
        self._before: list[tuple[str, str]] = []
        self._request: Request | None = None
        # The stream that was cut, while the one asked for its answer runs.
        self._cut: TokenStream | None = None
        self._thinks_until = FAR
        self._continues = bool(getattr(backend, "continues", False))
        self._limit = cast.config.guidance_limit
        self._shown = 0
        self._done = True
        self.at = 0
        self.closed = False

    # What arrives.

    def on_game(self, item: ev.AnyEvent | AnyControl | Piece) -> None:
        """Take one item of the game ring."""
        if isinstance(item, ev.Tick):
            self._on_tick(item)
        elif isinstance(item, ev.Step):
            if item.reset:
                self._copy.void(item.tick + 1)
        elif isinstance(item, Death):
            if item.role == "planner":
                self._planner_marks = False
                self._copy.died(self._now_tick())
        elif isinstance(item, Go):
            self._emit.epoch_ns = item.epoch_ns
            self._planner_marks = "planner" in item.streams
            self._copy.void(item.since)
        elif isinstance(item, Grant):
            if item.stream == "reactor":
                self._granted = True
        elif isinstance(item, Close):
            self.closed = True
            if self._stream is not None:
                self._stream.cancel()

    def _on_tick(self, tick: ev.Tick) -> None:
        if self._stream is not None:
            # Wall time: the next tick has begun before this one's answer was closed at its deadline.
            self._finish(self._stream, "budget")
        self._tick = tick
        self._cast.saw(tick)
        self._done = self._awake = False
        self._guidance = None
        self._granted = self._cast.config.throughput != "shared"
        while self._held and self._tick_of(self._held[0]) <= tick.tick:
            self._take(self._held.popleft())

    def on_planner(self, item: ev.AnyEvent | AnyControl | Piece) -> None:
        """Take one item of the planner ring."""
        if self._held or self._tick_of(item) > self._now_tick():
            self._held.append(item)
        else:
            self._take(item)

    @staticmethod
    def _tick_of(item: ev.AnyEvent | AnyControl | Piece) -> int:
        return getattr(item, "tick", 0)

    def _take(self, item: ev.AnyEvent | AnyControl | Piece) -> None:
        if not isinstance(item, Mark):
            self._copy.take(item)
        elif self._tick is not None and item.upto == self._tick.guidance_at and self._guidance is None:
            # The copy is cut here: what the planner releases after its mark is the next tick's guidance.
            self._freeze(self._tick)

    def lapped(self, lost: int) -> None:
        """The planner's ring came round: the copy has a hole. A bug in token time, where the ring holds two ticks."""
        self._copy.torn()
        done = "goes on with the next generation"
        self._emit.event(
            ev.Fault(tick=max(0, self._now_tick()), at=self._stamp(), component="reactor", what=f"lost {lost} frames of the planner's stream", done=done)
        )

    # What it is shown.

    def _freeze(self, tick: ev.Tick) -> None:
        """Fix the guidance of this tick from the copy as it stands now; the copy grows while the reactor thinks."""
        finished, current = self._copy.at_tick(tick.tick)
        config = self._cast.config
        self._guidance = guidance_parts(finished, current, kind=config.guidance, tick=tick.tick, limit=self._limit)
        traced = current is not None and config.guidance in ("both", "trace")
        self._shown = min(current.tokens, current.tokens if self._limit is None else self._limit) if traced and current is not None else 0
        self._traces = {trace.generation: trace.raw for trace in (finished, current) if trace is not None}

    # What it does.

    def wake(self) -> None:
        """Wall time: its instant has come; start with what has arrived."""
        self._awake = True

    def cut(self) -> None:
        """Wall time: the deadline has come; close the request and answer with what stands there."""
        if self._stream is not None:
            self._finish(self._stream, "budget")
        self._done = True

    @property
    def forces(self) -> bool:
        """Whether the end of its time is kept back."""
        return self._cast.config.force_answer

    def press(self) -> None:
        """Wall time: the part kept back begins; without an answer by now it is asked for, where there is to be one."""
        if self.forces and self._stream is not None and self._cut is None and not self._answered:
            self._ask_for_it(self._stream, KEPT_BACK)

    def start(self, limit: int) -> None:
        """Begin this tick's generation if everything it needs is there and its instant is not beyond `limit`."""
        tick = self._tick
        if tick is None or self._done or not self._granted or self._stream is not None:
            return
        begin = tick.guidance_at if self._token_time else 0
        assert begin is not None
        waits = self._planner_marks and self._guidance is None if self._token_time else not self._awake
        if waits or begin > limit:
            return
        if self._guidance is None:
            self._freeze(tick)
        self._begin(tick, begin)

    def work(self, limit: int, *, run: int = RUN) -> Progress:
        """Go on up to the instant `limit`."""
        self.start(limit)
        stream = self._stream
        if stream is None:
            return Progress.IDLE
        assert self._tick is not None
        end = FAR if self._tick.end_at is None else self._tick.end_at
        goal = min(self._thinks_until, end, limit)
        if not self._release(stream, goal, run):
            return Progress.UNKNOWN
        if stream.ended:
            return self._on_end(stream, end)
        if self.at >= min(self._thinks_until, end):
            if self._thinks_until >= end or self._cut is not None:
                self._finish(stream, "budget")
            elif self._answered:
                self._thinks_until = end
                return Progress.MORE
            else:
                self._ask_for_it(stream, end - self.at)
                return Progress.MORE
        return Progress.MORE if self.at < goal else Progress.IDLE

    def _on_end(self, stream: TokenStream, end: int) -> Progress:
        """The stream has ended by itself. One that the server cut short is asked for its answer, where there is to be one."""
        assert stream.finish is not None
        request = self._request
        if self._cut is not None and stream.fault is not None and not stream.released and request is not None and request.prefix:
            self._continues = False
            done = "asked in one more request"
            self._emit.event(ev.Fault(tick=self._now_tick(), at=self._stamp(), component="reactor", what=stream.fault, done=done))
            self._ask_for_it(self._cut, self._thinks_until - self.at)
            return Progress.MORE
        left = min(end - self.at, KEPT_BACK)
        if self._cast.config.force_answer and self._cut is None and stream.finish == "length" and left > 0 and not self._answered:
            self._ask_for_it(stream, left)
            return Progress.MORE
        self._finish(stream, stream.finish)
        return Progress.IDLE

    def _ask_for_it(self, stream: TokenStream, most: int) -> None:
        """Cut what it says and ask for its answer, of at most `most` tokens, in the same generation."""
        stream.cancel()
        if self._cut is None:
            self._cut, self._before, self._said = stream, self._said, []
        assert self._request is not None
        words = self._cast.texts["force"].replace("{turn}", str(self._now_tick()))
        self._request = forced(self._request, self._before, force=words, budget_tokens=most, continues=self._continues)
        self._thinks_until = self.at + most
        config = self._cast.config
        self._stream = open_stream(self._backend, self._request, stall_s=config.stall_timeout_s, wake=self._wake, opened=bool(self._request.prefix))

    @property
    def _answered(self) -> bool:
        """Whether a legal answer stands in what it has said so far."""
        return self._reading(cut=True).letters is not None

    def _reading(self, *, cut: bool) -> Reading:
        content = "".join(text for channel, text in self._said if channel == "content")
        if self._cut is not None:
            return read_forced(content, letters=self._cast.letters, turn=self._now_tick(), cut=cut)
        return read_answer(content, letters=self._cast.letters, mode="act", turn=self._now_tick(), cut=cut)

    def _begin(self, tick: ev.Tick, begin: int) -> None:
        self.at = begin
        self._said, self._cut = [], None
        budget = tick.end_at - begin if tick.end_at is not None else None
        back = kept_back(budget) if budget is not None and self._cast.config.force_answer else 0
        self._thinks_until = FAR if tick.end_at is None else tick.end_at - back
        guidance = self._guidance or ()
        parts = self._cast.reactor_prompt(tick.tick, guidance, budget_tokens=budget)
        self._emit.event(ev.Generation(tick=tick.tick, at=self._stamp(), stream="reactor", id=tick.tick, phase="start", prompt=parts))
        # Nobody but the server can cut thoughts that are not shown.
        most = budget - back if budget is not None and getattr(self._backend, "hides", False) else budget
        self._request = self._cast.request("reactor", "act", tick, parts, traces=self._traces, guidance=guidance, budget_tokens=most)
        self._stream = open_stream(self._backend, self._request, stall_s=self._cast.config.stall_timeout_s, wake=self._wake)

    def _release(self, stream: TokenStream, goal: int, run: int) -> bool:
        """Release tokens up to `goal`, or a burst. False: the stream has nothing yet."""
        tick, at = self._now_tick(), self.at

        def emit(channel: str, text: str, lens: list[int], offset: int) -> None:
            self._emit.tokens(tick, tick, channel, text, lens, at + offset + 1 if self._token_time else 0)
            self._said.append((channel, text))

        done, ready = stream.release(min(BURST, max(0, goal - at)), run, emit)
        self.at = at + done
        return ready

    def _finish(self, stream: TokenStream, finish: str) -> None:
        tick = self._now_tick()
        if finish == "budget":
            stream.cancel()
        letters, why = self._read(stream, finish)
        first = self._cut
        if first is not None and stream.fault is None:
            # Its own thinking was cut, however the answer ended.
            finish = "budget"
        self._emit.event(
            ev.Answer(
                tick=tick,
                at=self._stamp(),
                stream="reactor",
                generation=tick,
                mode="act",
                letters=letters,
                why=why,
                forced=first is not None,
            )
        )
        total, usage, meas = together(first, stream)
        self._emit.event(
            ev.Generation(
                tick=tick,
                at=self._stamp(),
                stream="reactor",
                id=tick,
                phase="end",
                finish=finish,
                clock_tokens=total,
                usage_tokens=usage,
                meas=meas,
            )
        )
        self._stream = None
        self._done = True
        if self._token_time:
            self._mark(total, finish)

    def _read(self, stream: TokenStream, finish: str) -> tuple[list[str] | None, str | None]:
        """What the text so far says; a stream that broke says nothing, whatever it had written."""
        tick = self._now_tick()
        if stream.fault is not None and finish != "budget":
            done = "default action" + (self._halve() if stream.overflowed else "")
            self._emit.event(ev.Fault(tick=tick, at=self._stamp(), component="reactor", what=stream.fault, done=done))
            return None, "fault"
        reading = self._reading(cut=finish != "stop")
        if reading.why in ("none", "truncated") and (finish != "stop" or self._cut is not None):
            # It was still thinking when its budget, or its time, was over.
            return None, "truncated" if self._token_time or finish != "budget" else "late"
        return reading.letters, reading.why

    def _halve(self) -> str:
        """The prompt did not fit: show half of the planner's running text from now on. Returns what to say of it."""
        if not self._shown:
            return ""
        self._limit = self._shown // 2
        return f"; guidance limit {self._limit} tokens from now on"

    def _mark(self, tokens: int, finish: str) -> None:
        assert self._tick is not None
        assert self._tick.end_at is not None
        self._emit.control(
            Mark(
                tick=self._tick.tick,
                stream="reactor",
                upto=self._tick.end_at,
                at=self.at,
                generation=self._tick.tick,
                ended=finish not in ("budget", "length"),
                tokens=tokens,
                incarnation=self._incarnation,
            )
        )

    def _now_tick(self) -> int:
        return self._tick.tick if self._tick is not None else -1

    def _stamp(self) -> int | None:
        return self.at if self._token_time else None

    @property
    def generation(self) -> int | None:
        """The generation that runs, if one does."""
        return self._now_tick() if self._stream is not None else None

    @property
    def waiting_for(self) -> ev.Tick | None:
        """The tick it has yet to answer, if any."""
        return None if self._done else self._tick

    def close(self) -> None:
        """Cancel what runs and let the backend go."""
        if self._stream is not None:
            self._stream.cancel()
        shut(self._backend)
