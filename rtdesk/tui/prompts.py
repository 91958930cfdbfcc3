"""The prompt of a generation, rebuilt from its parts: texts of the header, observations and the planner's own words from the log.

Only what one prompt points at is read, and never more than `MOST_BYTES` of it: a file may claim anything.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from replays.events import Part, Tick, Token
from replays.prompt import MOST_BYTES, MOST_PARTS, render
from rtdesk.tui.ticks import TickStore

__all__ = ["MOST_BYTES", "Piece", "rebuild"]


class Piece(NamedTuple):
    """A stretch of a prompt."""

    text: str
    source: str
    """`text rules`, `observation of turn 7`, `planner's words of turn 3`, or empty for what was written for this prompt alone."""
    guidance: bool = False
    """Part of what the reactor is shown of the planner's thinking."""


def rebuild(store: TickStore, parts: Sequence[str | Part], *, tick: int) -> list[Piece]:
    """Return the prompt `parts` stands for, as it was known in `tick`; a part that points at nothing says so in brackets."""
    out: list[Piece] = []
    left = MOST_BYTES
    # However often a prompt points at a thing, it is read once.
    observation, trace = cache(lambda turn: _observation(store, turn)), cache(lambda generation: _trace(store, generation, tick))
    for number, part in enumerate(parts):
        if left <= 0 or number >= MOST_PARTS:
            out.append(Piece("[the rest is left out: the prompt is too long to show]", ""))
            break
        try:
            text = render((part,), texts=store.header.texts, observation=observation, trace=trace)
        except (KeyError, AssertionError, ValueError, TypeError):
            text = f"[{_named(part) or 'a part'} is not in this file]"
        text = text[:left]
        left -= len(text)
        if text:
            out.append(Piece(text, _named(part), isinstance(part, Part) and part.guidance))
    return out


def _named(part: str | Part) -> str:
    if isinstance(part, str):
        return ""
    if part.text is not None:
        return f"text {part.text}"
    if part.obs is not None:
        return f"observation of turn {part.obs}"
    return f"planner's words of turn {part.trace}"


def _observation(store: TickStore, turn: int) -> str:
    found = next((event.text for event in store.events(turn) if isinstance(event, Tick)), None)
    return f"[the observation of turn {turn} is not in this file]" if found is None else found


def _trace(store: TickStore, generation: int, tick: int) -> bytes:
    """Return what a planner generation had said by the end of `tick`."""
    out: list[bytes] = []
    size = 0
    ticks = store.ticks
    for number in ticks[bisect_left(ticks, generation) : bisect_right(ticks, tick)]:
        mine = False
        for event in store.events(number):
            if isinstance(event, Token) and event.stream == "planner":
                if event.generation == generation:
                    mine = True
                    data = event.text.encode()
                    out.append(data)
                    size += len(data)
                elif event.generation > generation and not mine:
                    # It has begun anew: nothing more comes of the old one.
                    return b"".join(out)
        if size > MOST_BYTES:
            break
    return b"".join(out)
