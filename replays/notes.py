"""Words and signs for what happened: the event list, the marks on the timeline, who acted. Pure, shared by screens and exports."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from replays.events import Generation, Step
from replays.plans import Cell, position, where

__all__ = ["KIND", "MARK", "RANK", "SOURCE", "Note", "finished", "happened", "reason", "stale", "why"]


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the event list."""

    tick: int
    kind: str
    text: str
    voice: str = ""
    """planner, reactor, person or default; empty for the game itself."""


SOURCE = {"reactor": "r", "forced": "f", "plan": "p", "program": "g", "policy": "o", "human": "h", "default": "d"}
"""Who acted -> its character in `History.acted`."""

MARK = {"score": "*", "died": "x", "reset": "v", "default": "!", "late": "l", "fault": "#", "bookmark": "b", "stale": "~", "cap": ".", "plan": "p"}
"""Kind of event -> its character in `History.marks`."""

KIND = {mark: kind for kind, mark in MARK.items()}

RANK = {"died": 9, "fault": 8, "reset": 7, "bookmark": 6, "score": 5, "late": 4, "default": 3, "stale": 1, "cap": 2, "plan": 0}
"""Which of two events of one tick its mark shows: the higher."""

_WHY = {
    "none": "no answer",
    "uncovered": "plan has no line for this turn",
    "truncated": "answer cut off",
    "invalid": "answer is no legal action",
    "fault": "thinker failed",
    "late": "answer came too late",
}

_FINISH = {
    "stop": "planner done",
    "length": "planner stopped at its length limit",
    "budget": "planner cut at its budget",
    "cancelled": "planner starts over",
    "fault": "planner failed",
    "stalled": "planner stalled",
}

_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_BOX = re.compile(r"\\?\bboxed\s*\{|\\boxed")


def why(reason: str | None) -> str:
    """Return in words why the default action was applied."""
    return _WHY.get(reason or "none", reason or "no answer")


def stale(stands: Cell | None, expected: Cell | None) -> str:
    """Return the line for the moment the best line no longer fits where the player stands."""
    return f"plan went stale: at {where(stands)}, not {where(expected)}"


def finished(event: Generation) -> str:
    """Return the line for the end of a planner's generation: how, whose turn it was about, what it cost."""
    return f"{_FINISH.get(event.finish or 'stop', f'planner: {event.finish}')}, turn {event.id}, {event.clock_tokens:,} tok"


def happened(event: Step, before: float, was: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (kind, text) of what a step meant in the game; `before` are the points and `was` the snapshot before it."""
    out: list[tuple[str, str]] = []
    state = event.state
    gained = event.points - before
    if "snake" in state:
        if gained > 0:
            life = _life(was, position(state))
            out.append(("score", f"ate at {where(position(state))}" + (f", {life}" if life else "")))
        if event.done_reason == "dead":
            out.append(("died", f"died at {where(position(state))}"))
    elif "cars" in state:
        if event.reset:
            out.append(("reset", f"hit on {where(position(was))}, back to the start"))
        if event.done_reason == "goal":
            out.append(("score", f"crossed in {event.tick + 1} turns"))
    elif "players" in state:
        if gained > 0:
            out.append(("score", "soup delivered" if gained < 1.5 else f"{gained:g} soups delivered"))
    else:
        if gained > 0:
            out.append(("score", f"{gained:+g} points"))
        if event.reset:
            out.append(("reset", "back to the start"))
        if event.done_reason == "dead":
            out.append(("died", "died"))
    if event.done_reason in ("cap", "ticks"):
        out.append(("cap", f"time is up after {event.tick + 1} turns"))
    return out


def _life(was: dict[str, Any], cell: Cell | None) -> str:
    """Return how long the food in a cell had left; empty if that cannot be told."""
    try:
        return next((f"{food[2]} left" for food in was["foods"] if cell is not None and tuple(food[:2]) == cell), "")
    except (IndexError, KeyError, TypeError):
        # Snapshots come from files: one of another shape has no food, and that is all.
        return ""


def reason(text: str) -> str:
    """Return, in one line, why a reactor answered as it did: the last thing it says before its box, sums left out."""
    for line in reversed(text[: _last_box(text)][-1500:].split("\n")):
        for part in reversed(_SENTENCES.split(line)):
            told = part.strip(" .\\$*")
            if len(told) > 8 and not told.startswith(("Weighing", "Move ", "Turn ")):
                return told[:160]
    return ""


def _last_box(text: str) -> int:
    """Return where the last box begins; the text's end if there is none. From the end: a reactor's text is long and its box is last."""
    at = text.rfind("boxed")
    while at >= 0:
        for start in (at - 1, at):
            if start >= 0 and _BOX.match(text, start):
                return start
        at = text.rfind("boxed", 0, at)
    return len(text)
