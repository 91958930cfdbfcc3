"""A place in a replay that moves: to a tick, by single events, to the next event of a kind.

The one thing that surprises: a cursor stands *on* an event, not between two. On a replay without events it stands on nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from replays.payload import AnyRecorded
from replays.reader import Replay

__all__ = ["Cursor"]


class Cursor:
    """A position of its own in a shared replay; it begins on the first event of the first tick."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._place = 0
        self._number = 0
        self._settle(1)

    @property
    def tick(self) -> int | None:
        """The tick the cursor is in; None if the replay has no events."""
        return self._replay.ticks[self._place] if self._events() else None

    @property
    def event(self) -> AnyRecorded | None:
        """The event the cursor stands on; None if the replay has none."""
        events = self._events()
        return events[self._number] if events else None

    @property
    def at_end(self) -> bool:
        """Whether no event follows."""
        return self._neighbour(1) is None

    def seek(self, tick: int) -> AnyRecorded | None:
        """Go to the first event of `tick`, or of the last readable tick before it, or of the first tick there is; return that event."""
        if self._replay.ticks:
            self._place = max(0, bisect_right(self._replay.ticks, tick) - 1)
            self._number = 0
            if not self._events():
                self._settle(-1)
                self._number = 0
        return self.event

    def step(self, count: int = 1) -> AnyRecorded | None:
        """Go `count` events on, back if negative; return the event, or None (staying on the last one reached) if there are not so many."""
        direction = 1 if count > 0 else -1
        for _ in range(abs(count)):
            if not self._move(direction):
                return None
        return self.event

    def next(self, *kinds: str, where: Callable[[AnyRecorded], bool] | None = None) -> AnyRecorded | None:
        """Go to the next event of one of `kinds` (of any, without) for which `where` holds; return it, or None and do not move."""
        return self._search(1, kinds, where)

    def previous(self, *kinds: str, where: Callable[[AnyRecorded], bool] | None = None) -> AnyRecorded | None:
        """Go back to such an event; return it, or None and do not move."""
        return self._search(-1, kinds, where)

    def _search(self, direction: int, kinds: tuple[str, ...], where: Callable[[AnyRecorded], bool] | None) -> AnyRecorded | None:
        start = self._place, self._number
        while self._move(direction):
            event = self.event
            if event is not None and (not kinds or kind_of(event) in kinds) and (where is None or where(event)):
                return event
        self._place, self._number = start
        return None

    def _move(self, direction: int) -> bool:
        to = self._neighbour(direction)
        if to is None:
            return False
        self._place, self._number = to
        return True

    def _neighbour(self, direction: int) -> tuple[int, int] | None:
        """Return the place of the event before or after; ticks that were lost to damage are stepped over."""
        number = self._number + direction
        if 0 <= number < len(self._events()):
            return self._place, number
        place = self._place + direction
        while 0 <= place < len(self._replay.ticks):
            held = len(self._replay.events(self._replay.ticks[place]))
            if held:
                return place, (0 if direction > 0 else held - 1)
            place += direction
        return None

    def _settle(self, direction: int) -> None:
        """Leave a tick without events for the nearest one with some, in `direction` first."""
        if not self._events():
            self._number = 0
            to = self._neighbour(direction) or self._neighbour(-direction)
            if to is not None:
                self._place, self._number = to

    def _events(self) -> tuple[AnyRecorded, ...]:
        return self._replay.events(self._replay.ticks[self._place]) if self._replay.ticks else ()


def kind_of(event: AnyRecorded) -> str:
    """Return the event's `kind` as it stands in the file."""
    tag = event.__struct_config__.tag
    return str(tag) if tag is not None else str(getattr(event, "kind", ""))
