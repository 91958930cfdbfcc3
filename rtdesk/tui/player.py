"""Play a recording as a source: pause, step, jump, scrub, speed; inside a tick tokens come at their instants, as they do live.

The one thing that surprises: a jump while paused goes to the *end* of the tick, with everything said and answered and nothing
applied yet, because that is what one wants to read; while playing it goes to the tick's beginning.

A place is a tick and a share of it, 0 to 1. Several recordings of one level move together: one leads, the others stand where it stands.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from replays.annotate import annotate
from replays.events import Action, AnyEvent, Bookmark, End, Step
from replays.reader import Replay, open_replay
from replays.view_state import ViewState
from rtdesk.tui.finding import Finding
from rtdesk.tui.prompts import Piece, rebuild
from rtdesk.tui.released import TickPlay
from rtdesk.tui.search import Search
from rtdesk.tui.source import SPEEDS, Item, Pace, Source
from rtdesk.tui.states import States
from rtdesk.tui.survey import Survey
from rtdesk.tui.ticks import EventList, TickStore, cut, recorded_rate
from rtdesk.tui.views import Overview, Status

__all__ = ["EventList", "ListSource", "ReplaySource", "TickStore", "cut"]

MOST = 256
"""Ticks handed out by one poll at most; at 64 times a fast pace the rest waits for the next."""
PLAY_NS = 8_000_000
"""Time one poll may spend on playing, and as fast as it goes does spend."""
SCAN_NS = 4_000_000
"""Time one poll may spend on reading the whole file for the timeline, or for a search."""
NEAR = 4
"""Ticks a follower plays through to where its leader stands, rather than jump."""
FINE = 4096
"""Parts of a tick in wall time that are scrubbed as if they were tokens."""


class ReplaySource(Finding):
    """A source over a recording. Use `ReplaySource.open(path)`, or give it a store."""

    def __init__(
        self,
        store: TickStore,
        *,
        title: str = "",
        mode: str = "replay",
        playing: bool = True,
        rate: float | None = None,
        ticks: Sequence[int] | None = None,
        lead: ReplaySource | None = None,
    ) -> None:
        """`ticks` are those to move over, where they are more than the recording's own; with a `lead` it goes where that one is, over its ticks."""
        self.store = store
        self.title = title
        self.mode = mode
        self.playing = playing
        self.ticks: Sequence[int] = lead.ticks if lead is not None else store.ticks if ticks is None else ticks
        self.normal = rate if rate is not None else recorded_rate(store.header)
        """Ticks a second at speed 1."""
        self.speed = 1.0
        self.states = States(store)
        self.survey = Survey(store, self.states, ticks=self.ticks[-1] + 1 if self.ticks else None)
        self.search: Search | None = None
        self.lead = lead
        self._pace = Pace(self.normal)
        self._place = -1
        # Index of the tick being played; -1 before the header is out.
        self._play = TickPlay((), store.header)
        self._base: tuple[int, ViewState] | None = None
        # The state the tick in play began with, for going back inside it.
        self._then = 0
        self._out: list[Item] = []
        self._stop = False
        self._wanted = 0
        # Which way the next hit of a search is wanted; 0 while none is.

    @classmethod
    def open(cls, path: str | PathLike[str], *, playing: bool = True) -> ReplaySource:
        """Return a source over the replay at `path`. Raises ReplayError, in one sentence, if it is none."""
        replay = open_replay(path)
        return cls(replay, title=str(path), playing=playing)

    def take_the_lead(self, old: ReplaySource, others: Sequence[ReplaySource]) -> None:
        """Lead from here on, from where `old` led to, at its pace, looking for what it looked for; `others` follow."""
        self._follow(old)
        self.lead, self.playing, self._stop = None, old.playing, old._stop
        self.normal, self.speed, self._pace = old.normal, old.speed, old._pace
        self.search = Search(self.store, old.search.query, tick=self.tick) if old.search is not None else None
        self._wanted, old.search = 0, None
        for one in others:
            one.lead = self

    # The protocol.

    @property
    def tick(self) -> int:
        return self.ticks[self._place] if 0 <= self._place < len(self.ticks) else -1

    @property
    def share(self) -> float:
        """How much of the tick has passed, 0 to 1."""
        return self._play.share

    _share = share

    @property
    def ended(self) -> bool:
        return not self.ticks or (self._place >= len(self.ticks) - 1 and self._play.over)

    @property
    def status(self) -> Status:
        at, t_ns = self._play.instant
        pacer = self.lead or self
        play = "ended" if pacer.ended else "playing" if pacer.playing else "paused"
        known = (self.ticks[-1] + 1 if self.ticks else 0) if self.mode == "replay" else None
        rate = pacer._rate
        return Status(
            mode=self.mode, play=play, rate=rate, speed=rate / pacer.normal, at=at, t_ns=t_ns, ticks=known, title=self.title
        )  # fmt: skip

    @property
    def overview(self) -> Overview | None:
        found = self.survey.overview if self.mode == "replay" else None
        if found is not None and self.search is not None and self.search.ticks:
            return self._with_hits(found)
        return found

    def poll(self, now_ns: int) -> Sequence[Item]:
        passed = (now_ns - self._then) / 1e9 if self._then else 0.0
        self._then = now_ns
        if self._place < 0:
            self._begin()
        if self.lead is not None:
            self._follow(self.lead)
        elif self.playing and passed > 0:
            # A screen that was away does not make up for it.
            self._advance(min(passed, 1.0) * self._rate)
        if self.mode == "replay":
            self._look_ahead()
        out, self._out = self._out, []
        return out

    def command(self, what: str, value: str = "") -> str:
        if self.lead is not None:
            return ""
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
        if what in ("jump", "tick", "home", "end", "place"):
            return self._go(what, value)
        if what in ("scrub", "event"):
            return self._creep(what, int(value))
        if what == "find":
            return self._find(value)
        if what in ("search", "hit"):
            return self._search(what, value)
        if what == "bookmark":
            return self._mark(value)
        return ""

    def troubles(self) -> list[str]:
        """What is wrong with the file, as far as it has been read, each in a sentence."""
        found = [str(warning) for warning in getattr(self.store, "warnings", ())]
        if isinstance(self.store, Replay) and self.store.incomplete:
            found.append("the episode has no end: it was cut short, or is still being recorded" if self.store.end is None else "the file was not closed")
        return found

    def log_lines(self) -> Sequence[str]:
        return [f"{self.title}", f"{len(self.store.ticks):,} ticks", *self.troubles()]

    def close(self) -> None:
        close = getattr(self.store, "close", None)
        if close is not None:
            close()

    def prompt(self, state: ViewState, voice: str) -> list[Piece]:
        """Return the prompt of the generation a stream stands in, rebuilt from its parts."""
        stream = getattr(state, voice)
        return rebuild(self.store, stream.prompt, tick=state.tick)

    @property
    def reading(self) -> bool:
        """Whether the background reading, or a search, is still under way."""
        return self.mode == "replay" and (not self.survey.done or (self.search is not None and not self.search.done))

    # Playing.

    def _begin(self) -> None:
        self._out.append(self.store.header)
        self._enter(0)

    def _enter(self, place: int) -> None:
        """Stand at the beginning of a tick."""
        self._place = place
        self._play = TickPlay(self._events(place), self.store.header)
        self._base = None
        self._out.extend(self._play.upto(0.0))

    def _events(self, place: int) -> Sequence[Any]:
        """Return the events of a tick, bookmarks appended later among them."""
        if place >= len(self.ticks):
            return ()
        tick = self.ticks[place]
        events = self.store.events(tick)
        notes = self.survey.bookmarks.get(tick)
        if not notes:
            return events
        end = next((i for i, event in enumerate(events) if isinstance(event, Action | Step | End)), len(events))
        return [*events[:end], *(Bookmark(tick=tick, note=note) for note in notes), *events[end:]]

    def _advance(self, ticks: float) -> None:
        until = time.monotonic_ns() + PLAY_NS
        for _ in range(MOST):
            if self.ended:
                self.playing = self._stop = False
                return
            left = 1.0 - self._play.share
            if ticks < left:
                self._out.extend(self._play.upto(self._play.share + ticks))
                return
            ticks -= left
            # A single step ends with everything said and nothing applied, like a jump.
            if self._stop and left > 0:
                self._out.extend(self._play.upto(1.0))
                self.playing = self._stop = False
                return
            self._out.extend(self._play.rest())
            if self._place < len(self.ticks) - 1:
                self._enter(self._place + 1)
            if math.isinf(ticks) and time.monotonic_ns() > until:
                return

    def _follow(self, lead: ReplaySource) -> None:
        """Stand where the leader stands."""
        place, share = lead._place, lead._play.share
        if place < 0:
            return
        if self._place < place <= self._place + NEAR:
            while self._place < place:
                self._out.extend(self._play.rest())
                self._enter(self._place + 1)
        if self._place != place or share < self._play.share or (self._play.over and not lead._play.over):
            self._jump(place, share, last=False)
        elif share > self._play.share:
            self._out.extend(self._play.upto(share))
        if lead._play.over and not self._play.over:
            self._out.extend(self._play.rest())

    # Moving about.

    @property
    def _budget(self) -> int | None:
        return self._play.budget

    @property
    def _rate(self) -> float:
        return self._pace.rate(self._budget)

    def _change_speed(self, what: str, value: str) -> str:
        if what == "slow":
            if math.isinf(self._pace.base):
                self.speed = SPEEDS[-2]
                self._pace.base = self.normal * self.speed
            self._pace.slow(value, self._budget)
        elif what == "faster" and self._pace.slowed:
            self._pace.slowed = 0
        else:
            place = bisect_left(SPEEDS, self.speed) - 1 if what == "slower" else bisect_right(SPEEDS, self.speed)
            self.speed = SPEEDS[max(0, min(place, len(SPEEDS) - 1))]
            self._pace.base = self.normal * self.speed
        speed = self._rate / self.normal
        if math.isinf(speed):
            return "as fast as it goes"
        return f"speed {speed:g}x" if speed >= 0.1 else f"slow motion, {self._rate * (self._budget or 0):,.0f} tokens a second"

    def _go(self, what: str, value: str) -> str:
        ticks = self.ticks
        if not ticks:
            return "the recording holds no tick"
        share = 0.0 if self.playing and what != "end" else 1.0
        if what == "home":
            place = 0
        elif what == "end":
            place = len(ticks) - 1
        elif what == "tick":
            place = self._place + int(value)
        else:
            number, _, part = value.partition(" ")
            place = max(0, bisect_right(ticks, int(number)) - 1)
            if part:
                self.playing, share = False, min(1.0, max(0.0, float(part)))
        place = max(0, min(place, len(ticks) - 1))
        self._jump(place, share, last=what != "place")
        notes = self.survey.bookmarks.get(ticks[place])
        return f"bookmark: {notes[-1]}" if notes and notes[-1] else ""

    def _jump(self, place: int, share: float, *, last: bool = True) -> None:
        """Go to a place: restate from what is known before it. `last`: the end of the last tick is the end of everything."""
        ticks = self.ticks
        if not ticks:
            return
        inside = place == self._place and self._play.share <= share and not self._play.over
        if not inside:
            if self._base is None or self._base[0] != place:
                self._base = (place, self.states.before(ticks[place]))
            base = self._base
            self._out = [self.survey.noted(base[1].copy(), ticks[place])]
            self._enter(place)
            self._base = base
        if share > 0:
            self._out.extend(self._play.upto(share))
            if share >= 1.0 and last and place == len(ticks) - 1:
                self._out.extend(self._play.rest())

    def _creep(self, what: str, count: int) -> str:
        """Go on or back by tokens, or by events, across the borders of ticks."""
        self.playing = False
        if not self.ticks:
            return "the recording holds no tick"
        return self._by_event(count) if what == "event" else self._by_tokens(count)

    def _by_tokens(self, count: int) -> str:
        size = self._budget or FINE
        # From the token that is out, wherever between two of them one stands.
        at = int(self._play.share * size + 1e-6) + count
        place, last = self._place, len(self.ticks) - 1
        if at < 0 and place > 0:
            self._jump(place - 1, 1.0)
        elif at > size and place < last:
            self._jump(place + 1, 0.0)
        else:
            self._jump(place, min(1.0, max(0.0, at / size)), last=False)
        return ""

    def _by_event(self, count: int) -> str:
        place, share = self._place, self._play.share
        stops = self._play.stops()
        if count > 0:
            found = next((stop for stop in stops if stop.share > share + 1e-9), None)
            if found is None and place < len(self.ticks) - 1:
                place, found = place + 1, TickPlay(self._events(place + 1), self.store.header).stops()[0]
        else:
            found = next((stop for stop in reversed(stops) if stop.share < share - 1e-9), None)
            if found is None and place > 0:
                place, found = place - 1, TickPlay(self._events(place - 1), self.store.header).stops()[-1]
        if found is None:
            return f"no event {'after' if count > 0 else 'before'} this one"
        self._jump(place, found.share, last=False)
        return f"tick {self.ticks[place]}: {found.what}"

    def _mark(self, note: str) -> str:
        tick = max(0, self.tick)
        bookmark = Bookmark(tick=tick, note=note)
        self._out.append(bookmark)
        self.survey.add(bookmark)
        if isinstance(self.store, Replay):
            try:
                annotate(self.store.path, [bookmark])
            except (OSError, ValueError) as error:
                return f"bookmark at tick {tick} is not kept: {error}"
        return f"bookmark at tick {tick}"

    # Reading ahead: the whole recording at a glance, and looking for words in it.

    def _look_ahead(self) -> None:
        enough = _timer(SCAN_NS)
        if self.search is not None:
            # What a person waits for comes first.
            busy = self.search.work(enough)
            self._arrive()
            if busy:
                return
        if self.lead is None or self.lead.survey.done:
            self.survey.work(enough)


def _timer(budget_ns: int) -> Callable[[], bool]:
    until = time.monotonic_ns() + budget_ns
    return lambda: time.monotonic_ns() > until


class ListSource(ReplaySource):
    """A source over events in memory, for tests and pictures."""

    def __init__(self, events: Sequence[AnyEvent], *, mode: str = "live", playing: bool = True, rate: float | None = None) -> None:
        super().__init__(EventList(events), mode=mode, playing=playing, rate=rate)


_: type[Source] = ReplaySource  # a type checker's proof that it fits
