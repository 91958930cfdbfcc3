"""Play a recording as a source: pause, step, jump, speed; inside a tick tokens come at their instants, as they do live.

The one thing that surprises: a jump while paused goes to the *end* of the tick, with everything said and answered and nothing
applied yet, because that is what one wants to read; while playing it goes to the tick's beginning.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import msgspec

from replays.annotate import annotate
from replays.events import Action, AnyEvent, Bookmark, End, Segment, Step, Tick, Token
from replays.notes import KIND
from replays.reader import Replay, open_replay
from replays.reduce import ViewState, fold
from rtdesk.tui.source import SPEEDS, Item, Pace, Source
from rtdesk.tui.ticks import EventList, TickStore, cut, recorded_rate, tick_window
from rtdesk.tui.views import Overview, Status

__all__ = ["EventList", "ListSource", "ReplaySource", "TickStore", "cut"]

log = logging.getLogger(__name__)

PAGE = 10
"""Ticks of a page."""
MOST = 256
"""Ticks handed out by one poll at most; at 64 times a fast pace the rest waits for the next."""
SCAN_NS = 4_000_000
"""Time one poll may spend on the overview of the whole file."""


class ReplaySource:
    """A source over a recording. Use `ReplaySource.open(path)`, or give it a store."""

    def __init__(self, store: TickStore, *, title: str = "", mode: str = "replay", playing: bool = True, rate: float | None = None) -> None:
        self.store = store
        self.title = title
        self.mode = mode
        self.playing = playing
        self.normal = rate if rate is not None else recorded_rate(store.header)
        """Ticks a second at speed 1."""
        self.speed = 1.0
        self._pace = Pace(self.normal)
        self._place = -1
        # Index of the tick being played; -1 before the header is out.
        self._share = 0.0
        self._queue: list[Any] = []
        self._then = 0
        self._out: list[Item] = []
        self._stop = False
        self._window: tuple[float, float] | None = None
        self._in_ns = False
        self._scan: Iterator[None] | None = None
        self._whole = ViewState()
        self._known = 0
        self._overview: Overview | None = None
        self._bookmarks: list[tuple[int, str]] = []

    @classmethod
    def open(cls, path: str | PathLike[str], *, playing: bool = True) -> ReplaySource:
        """Return a source over the replay at `path`. Raises ReplayError, in one sentence, if it is none."""
        replay = open_replay(path)
        return cls(replay, title=str(path), playing=playing)

    # The protocol.

    @property
    def tick(self) -> int:
        return self.store.ticks[self._place] if 0 <= self._place < len(self.store.ticks) else -1

    @property
    def ended(self) -> bool:
        return not self.store.ticks or (self._place >= len(self.store.ticks) - 1 and not self._queue)

    @property
    def status(self) -> Status:
        ticks = self.store.ticks
        at = t_ns = None
        if self._window is not None:
            low, high = self._window
            now = low + (high - low) * min(1.0, self._share)
            at, t_ns = (None, int(now)) if self._in_ns else (now, None)
        play = "ended" if self.ended else "playing" if self.playing else "paused"
        known = (ticks[-1] + 1 if ticks else 0) if self.mode == "replay" else None
        return Status(
            mode=self.mode, play=play, rate=self._rate, speed=self._rate / self.normal, at=at, t_ns=t_ns, ticks=known, title=self.title
        )  # fmt: skip

    @property
    def overview(self) -> Overview | None:
        return self._overview if self.mode == "replay" else None

    def poll(self, now_ns: int) -> Sequence[Item]:
        passed = (now_ns - self._then) / 1e9 if self._then else 0.0
        self._then = now_ns
        if self._place < 0:
            self._begin()
        elif self.playing and passed > 0:
            # A screen that was away does not make up for it.
            self._advance(min(passed, 1.0) * self._rate)
        if self.mode == "replay":
            self._survey()
        out, self._out = self._out, []
        return out

    def command(self, what: str, value: str = "") -> str:
        if what == "pause":
            if self.ended and not self.playing:
                self._jump(0, 0.0)
            self.playing = not self.playing
            return ""
        if what == "step":
            self._stop, self.playing = True, True
            return ""
        if what in ("faster", "slower", "slow"):
            return self._change_speed(what, value)
        if what in ("jump", "tick", "home", "end"):
            return self._go(what, value)
        if what == "find":
            return self._find(value)
        if what == "bookmark":
            return self._mark(value)
        return ""

    def log_lines(self) -> Sequence[str]:
        warnings = getattr(self.store, "warnings", ())
        return [f"{self.title}", f"{len(self.store.ticks):,} ticks", *(str(warning) for warning in warnings)]

    def close(self) -> None:
        close = getattr(self.store, "close", None)
        if close is not None:
            close()

    # Playing.

    def _begin(self) -> None:
        self._out.append(self.store.header)
        self._enter(0)

    def _enter(self, place: int) -> None:
        """Stand at the beginning of a tick."""
        self._place = place
        self._share = 0.0
        ticks = self.store.ticks
        self._queue = list(self.store.events(ticks[place])) if place < len(ticks) else []
        self._window, self._in_ns = tick_window(self._queue, self.store.header)
        self._release(0.0)

    def _advance(self, ticks: float) -> None:
        for _ in range(MOST):
            if self.ended:
                self.playing = self._stop = False
                return
            left = 1.0 - self._share
            if ticks < left:
                self._share += ticks
                self._release(self._share)
                return
            ticks -= left
            self._share = 1.0
            # A single step ends with everything said and nothing applied, like a jump.
            if self._stop and left > 0:
                self._release_said()
                self.playing = self._stop = False
                return
            self._out.extend(self._queue)
            self._queue = []
            if self._place < len(self.store.ticks) - 1:
                self._enter(self._place + 1)

    def _release_said(self) -> None:
        count = next((i for i, event in enumerate(self._queue) if isinstance(event, Action | Step | End)), len(self._queue))
        self._out.extend(self._queue[:count])
        self._queue = self._queue[count:]

    def _release(self, share: float) -> None:
        """Hand out the events of this tick up to the instant at `share` of it, a run of tokens cut where need be.

        Planner and reactor speak at once but stand one after the other in the file, so each stream waits for itself only.
        """
        low, high = self._window or (0.0, 0.0)
        now = low + (high - low) * share
        held: list[Any] = []
        waiting: set[str] = set()
        for i, event in enumerate(self._queue):
            if isinstance(event, Action | Step | End):
                held += self._queue[i:]
                break
            stream = "planner" if isinstance(event, Segment) else getattr(event, "stream", "")
            if stream in waiting:
                held.append(event)
                continue
            due, rest = self._due(event, now)
            if due is not None:
                self._out.append(due)
            if rest is not None:
                held.append(rest)
                waiting.add(stream)
        self._queue = held

    def _due(self, event: Any, now: float) -> tuple[Any, Any]:
        """Return (what of an event is due, what is not), either None."""
        if self._window is None or isinstance(event, Tick):
            return event, None
        if isinstance(event, Token):
            if self._in_ns:
                arrivals = event.meas.get("arrivals") or [[len(event.lens), event.t_ns]]
                count = sum(tokens for tokens, t_ns in arrivals if t_ns <= now)
            else:
                count = int(now - event.at) + 1 if event.at is not None and now >= event.at else 0
            if count >= len(event.lens):
                return event, None
            return cut(event, count) if count > 0 else (None, event)
        instant = event.t_ns if self._in_ns else getattr(event, "at", None)
        return (event, None) if instant is None or instant <= now else (None, event)

    # Moving about.

    @property
    def _budget(self) -> int | None:
        return int(self._window[1] - self._window[0]) if self._window is not None and not self._in_ns else None

    @property
    def _rate(self) -> float:
        return self._pace.rate(self._budget)

    def _change_speed(self, what: str, value: str) -> str:
        if what == "slow":
            self._pace.slow(value, self._budget)
        elif what == "faster" and self._pace.slowed:
            self._pace.slowed = 0
        else:
            place = bisect_left(SPEEDS, self.speed) - 1 if what == "slower" else bisect_right(SPEEDS, self.speed)
            self.speed = SPEEDS[max(0, min(place, len(SPEEDS) - 1))]
            self._pace.base = self.normal * self.speed
        speed = self._rate / self.normal
        return f"speed {speed:g}x" if speed >= 0.1 else f"slow motion, {self._rate * (self._budget or 0):,.0f} tokens a second"

    def _go(self, what: str, value: str) -> str:
        ticks = self.store.ticks
        if not ticks:
            return "the recording holds no tick"
        if what == "home":
            place = 0
        elif what == "end":
            place = len(ticks) - 1
        elif what == "tick":
            place = self._place + int(value)
        else:
            place = max(0, bisect_right(ticks, int(value)) - 1)
        self._jump(max(0, min(place, len(ticks) - 1)), 0.0 if self.playing and what != "end" else 1.0)
        return ""

    def _jump(self, place: int, share: float) -> None:
        """Go to a tick: restate from the nearest keyframe before it and fold what lies between."""
        ticks = self.store.ticks
        if not ticks:
            return
        state, start = ViewState(), 0
        found = self.store.keyframe(ticks[place] - 1) if place > 0 else None
        if found is not None:
            try:
                state, start = ViewState.from_map(found[1], self.store.header), bisect_right(ticks, found[0])
            except (msgspec.ValidationError, TypeError, ValueError) as error:
                # A keyframe of another version, or a damaged one: the events say everything it says.
                log.info("keyframe of tick %s not usable, folding from the start: %s", found[0], error)
        if start == 0:
            fold(state, self.store.header)
        for i in range(start, place):
            for event in self.store.events(ticks[i]):
                fold(state, event)
        self._out = [state]
        self._enter(place)
        if share > 0:
            self._share = 1.0
            self._release_said()
            if place == len(ticks) - 1:
                self._out.extend(self._queue)
                self._queue = []

    def _find(self, value: str) -> str:
        back, kind = value.startswith("-"), value.removeprefix("-")
        whole = self._overview
        if whole is None:
            return "still reading the recording"
        ticks = self.store.ticks
        order = range(self._place - 1, -1, -1) if back else range(self._place + 1, len(ticks))
        for place in order:
            mark = whole.marks[ticks[place] : ticks[place] + 1]
            if KIND.get(mark, "") and (not kind or KIND[mark] == kind):
                self.playing = False
                self._jump(place, 1.0)
                return f"tick {ticks[place]}: {KIND[mark]}"
        return f"no {kind or 'event'} {'before' if back else 'after'} tick {self.tick}"

    def _mark(self, note: str) -> str:
        tick = max(0, self.tick)
        self._out.append(Bookmark(tick=tick, note=note))
        if isinstance(self.store, Replay):
            try:
                annotate(self.store.path, [Bookmark(tick=tick, note=note)])
            except (OSError, ValueError) as error:
                return f"bookmark at tick {tick} is not kept: {error}"
        return f"bookmark at tick {tick}"

    # The whole recording at a glance.

    def _survey(self) -> None:
        if self._scan is None:
            self._scan = self._scanning()
        until = time.monotonic_ns() + SCAN_NS
        for _ in self._scan:
            if time.monotonic_ns() > until:
                break

    def _scanning(self) -> Iterator[None]:
        ticks = self.store.ticks
        state, start = ViewState(), 0
        found = self.store.keyframe(ticks[-1]) if ticks else None
        if found is not None:
            try:
                state, start = ViewState.from_map(found[1], self.store.header), bisect_right(ticks, found[0])
            except (msgspec.ValidationError, TypeError, ValueError):
                state, start = ViewState(), 0
        if start == 0:
            fold(state, self.store.header)
        for i in range(start, len(ticks)):
            for event in self.store.events(ticks[i]):
                fold(state, event)
            if i % 64 == 63:
                self._publish(state)
            yield
        for event in getattr(self.store, "annotations", ()):
            state.history.mark(event.tick, "bookmark")
        self._publish(state)

    def _publish(self, state: ViewState) -> None:
        history, ticks = state.history, self.store.ticks
        self._overview = Overview(
            acted=history.acted, marks=history.marks, scores=tuple(history.scores), ticks=ticks[-1] + 1 if ticks else 0
        )  # fmt: skip


def ListSource(events: Sequence[AnyEvent], *, mode: str = "live", playing: bool = True, rate: float | None = None) -> ReplaySource:
    """Return a source over events in memory, for tests, pictures and headless exports."""
    return ReplaySource(EventList(events), mode=mode, playing=playing, rate=rate)


_: type[Source] = ReplaySource  # a type checker's proof that it fits
