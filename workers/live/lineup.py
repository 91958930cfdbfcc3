"""What a screen reads from three rings, put into the order in which it happened.

A poll reads one ring after the other, and all of them go on meanwhile. Taken as they come, the answer of tick k would be folded after tick
k + 1 had begun, and the first words of a tick before the tick itself. So the game's events lead: what a thinker wrote in a tick comes after
that tick's beginning and before its action, and what belongs to a tick that has not been read yet waits for the next poll.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from replays import events as ev

__all__ = ["Lineup"]


class Lineup:
    """`feed(game, thinkers)` once a poll, the game's ring read before the others."""

    def __init__(self) -> None:
        self._tick = -1
        self._waiting: list[deque[ev.AnyEvent]] = []

    def feed(self, game: Iterable[ev.AnyEvent], thinkers: Iterable[Iterable[ev.AnyEvent]]) -> list[ev.AnyEvent]:
        """Return what may be shown now, in order. `thinkers` are the other rings' events, always in the same order of rings."""
        for number, events in enumerate(thinkers):
            if number == len(self._waiting):
                self._waiting.append(deque())
            self._waiting[number].extend(events)
        out: list[ev.AnyEvent] = []
        for event in game:
            if isinstance(event, ev.Action | ev.Step | ev.End):
                self._take(out, event.tick)
            elif isinstance(event, ev.Tick):
                self._take(out, event.tick - 1)
                self._tick = event.tick
            else:
                self._take(out, self._tick, event.t_ns)
            out.append(event)
        self._take(out, self._tick)
        return out

    def _take(self, out: list[ev.AnyEvent], tick: int, t_ns: int | None = None) -> None:
        """Move what was written up to this tick, and up to this instant if one is given, by the time it was written."""
        while True:
            ready = [
                events for events in self._waiting if events and events[0].tick <= tick and (t_ns is None or events[0].t_ns <= t_ns)
            ]
            if not ready:
                return
            out.append(min(ready, key=lambda events: events[0].t_ns).popleft())
