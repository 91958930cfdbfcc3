"""Reading a whole recording in the background, a few milliseconds a frame: what the timeline shows, and where things happen.

Two passes. The first begins at the last keyframe, whose history holds one character for every tick, so the timeline is there at once
however long the file is. The second folds everything from the start: it finds every event of every tick (the history knows only the
most telling one) and leaves states behind for later jumps. Time is given, never asked for but to stop.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator

from replays.events import Bookmark, Generation
from replays.notes import KIND, MARK, Note
from replays.reduce import fold
from replays.view_state import MOST_TICKS, NOTES, ViewState
from rtdesk.tui.states import States, from_keyframe
from rtdesk.tui.ticks import TickStore
from rtdesk.tui.views import Overview

__all__ = ["Survey"]

PUBLISH = 64
"""Ticks of the first pass after which the timeline grows."""
_BIT = {kind: 1 << number for number, kind in enumerate(MARK)}
ORDINARY = frozenset({"plan"})
"""Kinds that are no event to stop at unless asked for by name."""


class Survey:
    """What is known of a recording so far."""

    def __init__(self, store: TickStore, states: States, *, ticks: int | None = None) -> None:
        """`ticks` is the length of the timeline, where it is longer than the recording."""
        self._store = store
        self._states = states
        self._length = ticks if ticks is not None else (store.ticks[-1] + 1 if store.ticks else 0)
        self._bits = array("H", bytes(2 * len(store.ticks)))
        self._known = 0
        self._marks = ""
        self._work = self._walk()
        self.overview: Overview | None = None
        self.done = False
        self.bookmarks: dict[int, list[str]] = {}
        """Tick -> notes appended after the recording."""
        for event in getattr(store, "annotations", ()):
            if isinstance(event, Bookmark):
                self.bookmarks.setdefault(event.tick, []).append(event.note)

    def work(self, enough: Callable[[], bool]) -> bool:
        """Go on until `enough` says so; return whether anything was done. One tick at least is read, unless all have been."""
        if self.done:
            return False
        for _ in self._work:
            if enough():
                return True
        self.done = True
        return True

    def add(self, bookmark: Bookmark) -> None:
        """A bookmark set just now."""
        self.bookmarks.setdefault(bookmark.tick, []).append(bookmark.note)
        if self.overview is not None:
            self.overview = self._overview(self.overview.acted, self._marks, self.overview.scores)

    def noted(self, state: ViewState, tick: int) -> ViewState:
        """Add to a state the bookmarks that were appended to the file for ticks before `tick`."""
        found = [(number, note) for number in sorted(self.bookmarks) if number < tick for note in self.bookmarks[number]]
        state.bookmarks = [*state.bookmarks, *found]
        state.noted += len(found)
        for number, note in found[-NOTES:]:
            insort(state.notes, Note(number, "bookmark", note or "bookmark", "person"), key=lambda one: one.tick)
        del state.notes[: max(0, len(state.notes) - NOTES)]
        return state

    def kinds(self, tick: int) -> set[str]:
        """Return the kinds of event of a tick: all of them once the second pass has been there, else the most telling one."""
        found = {"bookmark"} if tick in self.bookmarks else set()
        place = bisect_left(self._store.ticks, tick)
        if place < self._known and self._store.ticks[place] == tick:
            bits = self._bits[place]
            return found | {kind for kind, bit in _BIT.items() if bits & bit}
        mark = KIND.get(self._marks[tick : tick + 1], "")
        return found | ({mark} if mark else set())

    def find(self, kind: str, tick: int, *, back: bool = False) -> int | None:
        """Return the nearest tick after (or before) `tick` with an event of `kind`; an empty kind is any but the ordinary ones."""
        ticks = self._store.ticks
        order = range(bisect_left(ticks, tick) - 1, -1, -1) if back else range(bisect_right(ticks, tick), len(ticks))
        for place in order:
            kinds = self.kinds(ticks[place])
            if kind in kinds or (not kind and kinds - ORDINARY):
                return ticks[place]
        return None

    def _walk(self) -> Iterator[None]:
        ticks = self._store.ticks
        frame = from_keyframe(self._store, ticks[-1]) if ticks else None
        if frame is not None:
            count, state = frame
            while count < len(ticks):
                self._states.step(count, state)
                count += 1
                yield
            self._publish(state)
            yield
        state = fold(ViewState(), self._store.header)
        work = 0.0
        for place, tick in enumerate(ticks):
            noted = state.noted
            work += self._states.step(place, state)
            self._bits[place] = self._of(state, noted, tick)
            if any(map(_ends_a_plan, self._store.events(tick))):
                self._bits[place] |= _BIT["plan"]
            self._known = place + 1
            if work >= self._states.apart:
                self._states.keep(place + 1, state)
                work = 0.0
            if frame is None and place % PUBLISH == PUBLISH - 1:
                self._publish(state)
            yield
        self._publish(state, plans=True)

    def _of(self, state: ViewState, noted: int, tick: int) -> int:
        new = state.noted - noted
        kinds = {note.kind for note in state.notes[-new:]} if new > 0 else set()
        kinds.add(KIND.get(state.history.marks[tick : tick + 1], ""))
        bits = 0
        for kind in kinds:
            bits |= _BIT.get(kind, 0)
        return bits

    def _publish(self, state: ViewState, *, plans: bool = False) -> None:
        history = state.history
        self._marks = history.marks
        if plans:
            # What the history has no room for: ticks in which nothing happened but that a plan was finished.
            ticks = self._store.ticks
            known = bisect_left(ticks, MOST_TICKS)
            marks = bytearray(self._marks.ljust(ticks[known - 1] + 1 if known else 0), "ascii", "replace")
            for tick, bits in zip(ticks[:known], self._bits):
                if bits & _BIT["plan"] and marks[tick] == ord(" "):
                    marks[tick] = ord(MARK["plan"])
            self._marks = marks.decode("ascii")
        self.overview = self._overview(history.acted, self._marks, tuple(history.scores))

    def _overview(self, acted: str, marks: str, scores: tuple[tuple[int, float, float], ...]) -> Overview:
        state = ViewState()
        state.history.marks = marks
        for tick in self.bookmarks:
            state.history.mark(tick, "bookmark")
        return Overview(acted=acted, marks=state.history.marks, scores=scores, ticks=self._length)


def _ends_a_plan(event: object) -> bool:
    return isinstance(event, Generation) and event.stream == "planner" and event.phase == "end" and event.finish in ("stop", None)
