"""One tick of a recording, released bit by bit: what had been said at an instant, and nothing else. Pure.

Planner and reactor speak at once but stand one after the other in the file, so each stream waits for itself only. `share` is the part
of the tick that has passed, 0 to 1; what is applied (action, step, end) comes when the tick is over, by `rest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from replays.events import Action, Answer, Bookmark, Budget, Control, End, Episode, Fault, Generation, Segment, Step, Tick, Token
from rtdesk.tui.ticks import cut, tick_window

__all__ = ["Stop", "TickPlay"]

_SLACK = 1e-6
"""A share of a tick, times its length, may miss a whole instant by the last bit."""


class Stop(NamedTuple):
    """A place inside a tick where something happens."""

    share: float
    what: str
    """In words, for the foot."""


class TickPlay:
    """The events of one tick and how far they are out."""

    def __init__(self, events: Sequence[Any], header: Episode) -> None:
        self._events = events
        self._queue = list(events)
        self.share = 0.0
        self.over = False
        """Whether everything is out, what was applied included."""
        self.window, self.in_ns = tick_window(events, header)

    @property
    def budget(self) -> int | None:
        """Tokens of the tick; None in wall time or where it has no length."""
        return int(self.window[1] - self.window[0]) if self.window is not None and not self.in_ns else None

    @property
    def instant(self) -> tuple[int | None, int | None]:
        """Return (virtual tokens, ns) of the place reached; one of them, or neither."""
        if self.window is None:
            return None, None
        low, high = self.window
        now = int(low + (high - low) * min(1.0, self.share) + _SLACK)
        return (None, now) if self.in_ns else (now, None)

    def upto(self, share: float) -> list[Any]:
        """Release what is due at `share` of the tick, a run of tokens cut where need be; everything that was said at 1."""
        self.share = max(self.share, min(1.0, share))
        if share >= 1.0:
            return self._said()
        low, high = self.window or (0.0, 0.0)
        now = low + (high - low) * self.share + _SLACK
        out: list[Any] = []
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
                out.append(due)
            if rest is not None:
                held.append(rest)
                waiting.add(stream)
        self._queue = held
        return out

    def _said(self) -> list[Any]:
        count = next((i for i, event in enumerate(self._queue) if isinstance(event, Action | Step | End)), len(self._queue))
        out, self._queue = self._queue[:count], self._queue[count:]
        return out

    def rest(self) -> list[Any]:
        """Release everything that is left: the tick is over."""
        self.share, self.over = 1.0, True
        out, self._queue = self._queue, []
        return out

    def _due(self, event: Any, now: float) -> tuple[Any, Any]:
        """Return (what of an event is due, what is not), either None."""
        if self.window is None or isinstance(event, Tick):
            return event, None
        if isinstance(event, Token):
            if self.in_ns:
                arrivals = event.meas.get("arrivals") or [[len(event.lens), event.t_ns]]
                count = sum(tokens for tokens, t_ns in arrivals if t_ns <= now)
            else:
                count = int(now - event.at) + 1 if event.at is not None and now >= event.at else 0
            if count >= len(event.lens):
                return event, None
            return cut(event, count) if count > 0 else (None, event)
        instant = self._at(event)
        return (event, None) if instant is None or instant <= now else (None, event)

    def _at(self, event: Any) -> int | None:
        found = event.t_ns if self.in_ns else getattr(event, "at", None)
        return found if isinstance(found, int) else None

    def share_of(self, instant: float) -> float:
        """Return where in the tick an instant (virtual tokens, or ns) lies, 0 to 1."""
        if self.window is None or self.window[1] <= self.window[0]:
            return 1.0
        low, high = self.window
        return min(1.0, max(0.0, (instant - low) / (high - low)))

    def stops(self) -> list[Stop]:
        """Return the places where something happens, in order: the beginning, each event that is no text, and the end with everything said."""
        found: dict[float, list[str]] = {0.0: [], 1.0: []}
        for event in self._events:
            words = _words(event)
            instant = self._at(event)
            if words and self.window is not None and instant is not None:
                found.setdefault(self.share_of(instant), []).append(words)
            elif words:
                found[1.0].append(words)
        found[0.0] = found[0.0] or ["the tick begins"]
        found[1.0] = found[1.0] or ["all said, nothing applied"]
        return [Stop(share, ", ".join(dict.fromkeys(words))) for share, words in sorted(found.items())]


def _words(event: Any) -> str:
    """Return an event that is worth a stop in words; empty for any other."""
    if isinstance(event, Generation):
        if event.phase == "start":
            return "reactor wakes" if event.stream == "reactor" else f"{event.stream} begins on turn {event.id}"
        return f"{event.stream} ends ({event.finish or 'stop'})"
    if isinstance(event, Answer):
        letters = event.letters or []
        if event.mode == "plan":
            return f"plan of {len(letters)} moves" if letters else f"no plan: {event.why or 'none'}"
        return f"{event.stream} answers {letters[0]}" if letters else f"{event.stream} gives no answer: {event.why or 'none'}"
    if isinstance(event, Segment):
        return f"step {event.strategy or 'unnamed'} {'opens' if event.phase == 'open' else 'closes'}"
    if isinstance(event, Fault):
        return f"fault: {event.component}: {event.what}"
    if isinstance(event, Bookmark):
        return f"bookmark {event.note}".rstrip()
    if isinstance(event, Budget):
        return "budget changes"
    if isinstance(event, Control):
        return f"{event.what} {event.value}".rstrip()
    return ""
