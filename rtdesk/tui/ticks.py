"""Recordings by ticks, and what a player needs to know of a tick: its length, its pace, and how to cut a run of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from replays.events import AnyEvent, Episode, Tick, Token

__all__ = ["EventList", "TickStore", "cut", "recorded_rate", "tick_window"]


class TickStore(Protocol):
    """A recording by ticks; an open `replays.reader.Replay` is one."""

    header: Episode
    ticks: Sequence[int]

    def events(self, tick: int) -> Sequence[Any]: ...

    def keyframe(self, tick: int) -> tuple[int, dict[str, Any]] | None: ...


class EventList:
    """A list of events as a TickStore. Raises ValueError if it does not begin with the header."""

    def __init__(self, events: Sequence[AnyEvent]) -> None:
        if not events or not isinstance(events[0], Episode):
            raise ValueError("a list of events must begin with an episode event; give the events of one episode in order")
        self.header: Episode = events[0]
        self._by_tick: dict[int, list[AnyEvent]] = {}
        for event in events[1:]:
            self._by_tick.setdefault(event.tick, []).append(event)
        self.ticks: Sequence[int] = sorted(self._by_tick)

    def events(self, tick: int) -> Sequence[AnyEvent]:
        return self._by_tick.get(tick, ())

    def keyframe(self, tick: int) -> tuple[int, dict[str, Any]] | None:
        return None


def cut(event: Token, count: int) -> tuple[Token, Token]:
    """Return the first `count` tokens of a run and the rest, as two events; 0 < count < tokens."""
    data = event.text.encode()
    size = sum(event.lens[:count])
    before, after = _share(event.meas.get("arrivals") or [[len(event.lens), event.t_ns]], count)
    at = event.at
    make = msgspec.structs.replace
    first = make(event, text=data[:size].decode("utf-8", "replace"), lens=event.lens[:count], meas={"arrivals": before})
    rest = make(event, text=data[size:].decode("utf-8", "replace"), lens=event.lens[count:], meas={"arrivals": after})
    return first, rest if at is None else make(rest, at=at + count)


def _share(arrivals: Sequence[Sequence[int]], count: int) -> tuple[list[list[int]], list[list[int]]]:
    """Divide frames (tokens, ns) at a token; the frame it falls into is in both."""
    before: list[list[int]] = []
    after: list[list[int]] = []
    for tokens, t_ns in arrivals:
        taken = min(tokens, count)
        count -= taken
        if taken:
            before.append([taken, t_ns])
        if tokens > taken:
            after.append([tokens - taken, t_ns])
    return before, after


def recorded_rate(header: Episode) -> float:
    """Return the ticks a second the recording was paced at, 1 if it was not."""
    if header.tick_budget_s:
        return 1.0 / header.tick_budget_s
    value = header.options.get("tick-rate")
    try:
        rate = float(str(value).removesuffix("/s"))
    except ValueError:
        return 1.0
    return rate if 0.01 <= rate <= 60 else 1.0


def tick_window(events: Sequence[Any], header: Episode) -> tuple[tuple[float, float] | None, bool]:
    """Return (first and last instant of a tick, whether they are ns) from its events; (None, False) where it has no length."""
    tick = next((event for event in events if isinstance(event, Tick)), None)
    if tick is None:
        return None, False
    if tick.at is not None and tick.end_at is not None:
        return (float(tick.at), float(tick.end_at)), False
    if tick.deadline_ns is not None:
        budget = header.tick_budget_s
        start = tick.deadline_ns - int(budget * 1e9) if budget else tick.t_ns
        return (float(start), float(tick.deadline_ns)), True
    return None, False
