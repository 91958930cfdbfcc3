"""Looking for words in everything the thinkers of a recording have said, a few milliseconds a frame. Pure but for reading the store.

    search = Search(replay, "dead end", tick=40)
    while search.work(enough): ...               # 40 to the end, then the ticks before
    search.after(40, 0.0)                        # the first hit behind that place

A hit stands where its last token was released, so standing there the words have just been written. A text is cut at the ends of ticks;
words that go across are found. Blanks match a line's end too; capitals count only if the query has some.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

from replays.events import Token
from rtdesk.tui.ticks import TickStore, tick_window

__all__ = ["MOST_HITS", "Hit", "Search", "pattern_of"]

MOST_HITS = 10_000
"""Hits that are kept; who finds so many looks for something else."""


class Hit(NamedTuple):
    """A place where the words stand."""

    tick: int
    share: float
    """The instant of their last token, as a part of the tick, 0 to 1."""
    stream: str


def pattern_of(query: str) -> re.Pattern[str]:
    """Return what a query matches."""
    text = "".join(r"\s" if char.isspace() else re.escape(char) for char in query)
    return re.compile(text, 0 if any(char.isupper() for char in query) else re.IGNORECASE)


class Search:
    """A search under way."""

    def __init__(self, store: TickStore, query: str, *, tick: int = 0) -> None:
        """Looks from `tick` to the end first. Raises ValueError for an empty query."""
        if not query:
            raise ValueError("nothing to look for; type a word")
        self.query = query
        self.pattern = pattern_of(query)
        self.hits: list[Hit] = []
        """In the order of their places."""
        self.ticks: set[int] = set()
        """The ticks that have a hit."""
        self.done = False
        self._store = store
        self._first = min(bisect_left(store.ticks, tick), max(0, len(store.ticks) - 1))
        self._read = 0
        self._carry: dict[str, tuple[int, str]] = {}
        self._work = self._walk()

    @property
    def progress(self) -> float:
        """The part of the recording that has been read, 0 to 1."""
        return 1.0 if self.done else self._read / max(1, len(self._store.ticks))

    @property
    def full(self) -> bool:
        """Whether it stopped at so many hits."""
        return len(self.hits) >= MOST_HITS

    def work(self, enough: Callable[[], bool]) -> bool:
        """Go on until `enough` says so; return whether anything was done."""
        if self.done:
            return False
        for _ in self._work:
            if enough():
                return True
        self.done = True
        return True

    def after(self, tick: int, share: float) -> Hit | None:
        """Return the first hit behind a place; None if none is known there."""
        place = bisect_right(self.hits, Hit(tick, share, "~"))
        return self.hits[place] if place < len(self.hits) else None

    def before(self, tick: int, share: float) -> Hit | None:
        """Return the last hit before a place."""
        place = bisect_left(self.hits, Hit(tick, share, ""))
        return self.hits[place - 1] if place > 0 else None

    def at(self, tick: int, share: float) -> Hit | None:
        """Return the hit at a place; None if there is none."""
        place = bisect_left(self.hits, Hit(tick, share - 1e-9, ""))
        found = self.hits[place] if place < len(self.hits) else None
        return found if found is not None and found.tick == tick and found.share <= share + 1e-9 else None

    def surely_after(self, tick: int, share: float) -> Hit | None:
        """Return the first hit behind a place if nothing between the two is still to be read; None if that cannot be said yet."""
        hit = self.after(tick, share)
        if hit is None:
            return None
        ticks = self._store.ticks
        forward = min(self._read, len(ticks) - self._first)
        here, there = bisect_left(ticks, tick), bisect_left(ticks, hit.tick)
        read = self._first + forward if here >= self._first else self._read - forward
        return hit if self.done or there < read or (here >= self._first and read == len(ticks)) else None

    def number(self, hit: Hit) -> int:
        """Return which one of the known hits it is, from 1."""
        return bisect_left(self.hits, hit) + 1

    def _walk(self) -> Iterator[None]:
        ticks = self._store.ticks
        # The tick it began with once more at the end: words that go across its beginning are only found from before.
        order = [*range(self._first, len(ticks)), *range(min(self._first + 1, len(ticks)))]
        for place in order:
            if place == 0:
                self._carry = {}
            self._look(ticks[place])
            self._read = min(self._read + 1, len(ticks))
            yield
            if self.full:
                return

    def _look(self, tick: int) -> None:
        events = self._store.events(tick)
        for event in events:
            if not isinstance(event, Token) or self.full:
                continue
            generation, before = self._carry.get(event.stream, (-1, ""))
            if generation != event.generation:
                before = ""
            text = before + event.text
            clock: _Clock | None = None
            for match in self.pattern.finditer(text):
                end = match.end() - len(before)
                if end > 0:
                    clock = clock or _Clock(event, *tick_window(events, self._store.header))
                    self._add(Hit(tick, clock.share(end), event.stream))
                if self.full:
                    break
            self._carry[event.stream] = (event.generation, text[len(text) - len(self.query) + 1 :] if len(self.query) > 1 else "")

    def _add(self, hit: Hit) -> None:
        place = bisect_left(self.hits, hit)
        if place == len(self.hits) or self.hits[place] != hit:
            insort(self.hits, hit)
            self.ticks.add(hit.tick)


class _Clock:
    """When each character of a run of tokens was released."""

    def __init__(self, event: Token, window: tuple[float, float] | None, in_ns: bool) -> None:
        self._event = event
        self._window = window
        self._in_ns = in_ns
        self._ends = list(accumulate(event.lens))
        self._plain = event.text.isascii()
        self._frames = list(_upto(event)) if in_ns else []

    def share(self, end: int) -> float:
        """Return when character `end - 1` was out, as a part of the tick."""
        event, window = self._event, self._window
        if window is None or window[1] <= window[0]:
            return 1.0
        size = end if self._plain else len(event.text[:end].encode())
        number = min(bisect_left(self._ends, size), max(0, len(self._ends) - 1))
        instant = next((t_ns for count, t_ns in self._frames if count > number), event.t_ns) if self._in_ns else (event.at or 0) + number
        return min(1.0, max(0.0, (instant - window[0]) / (window[1] - window[0])))


def _upto(event: Token) -> Iterator[tuple[int, int]]:
    """Yield (tokens released by then, ns) of each frame."""
    total = 0
    for tokens, t_ns in event.meas.get("arrivals") or [[len(event.lens), event.t_ns]]:
        total += tokens
        yield total, t_ns
