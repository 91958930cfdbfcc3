"""Where two episodes part: in what was seen, thought, done, and what came of it.

The one thing that surprises: text parts long before actions do. So the first parting of each kind is reported, not only the first of all.
"""

from __future__ import annotations

from typing import Any

import msgspec

from replays import events as ev
from replays.compare import Missing, Parting, brief, first_parting, text_parting
from replays.payload import AnyRecorded
from replays.reader import Replay

__all__ = ["KINDS", "Comparison", "Difference", "diff"]

KINDS = ("observation", "text", "action", "state")
"""In the order they happen within a tick."""


class Difference(msgspec.Struct, frozen=True):
    """A place where two replays part."""

    tick: int
    what: str
    """observation, text, action or state; or length, where one has no such tick."""
    field: str
    a: Any
    b: Any

    def __str__(self) -> str:
        what = f"{self.what} {self.field}".rstrip()
        return f"tick {self.tick}: {what} is {brief(self.a)} in the first, {brief(self.b)} in the second"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What `diff` found."""

    header: tuple[Parting, ...]
    """Header fields that differ, `meas` apart."""
    first: Difference | None
    """The first of all."""
    firsts: dict[str, Difference]
    """The first of each kind there is."""
    ticks: tuple[int, int]
    """Ticks each file holds."""

    @property
    def same(self) -> bool:
        """Whether the episodes are the same, whatever their headers say."""
        return self.first is None


def diff(a: Replay, b: Replay) -> Comparison:
    """Compare two replays tick by tick until every kind has parted or one ends."""
    ours, theirs = ev.to_map(a.header), ev.to_map(b.header)
    header = tuple(
        parting
        for name in dict.fromkeys((*ours, *theirs))
        if name not in ("meas", "seq", "t_ns")
        and (parting := first_parting(ours.get(name, Missing), theirs.get(name, Missing), name)) is not None
    )
    firsts: dict[str, Difference] = {}
    held_a, held_b = set(a.ticks), set(b.ticks)
    for tick in sorted(held_a | held_b):
        if tick not in held_a or tick not in held_b:
            firsts["length"] = Difference(tick, "length", "ticks", *("has it" if tick in held else "ends before" for held in (held_a, held_b)))
            break
        one, other = a.events(tick), b.events(tick)
        for kind in KINDS:
            if kind in firsts:
                continue
            parting = _PART[kind](one, other)
            if parting is not None:
                firsts[kind] = Difference(tick, kind, *parting)
        if all(kind in firsts for kind in KINDS):
            break
    order = (*KINDS, "length")
    first = min(firsts.values(), key=lambda found: (found.tick, order.index(found.what)), default=None)
    return Comparison(header=header, first=first, firsts=firsts, ticks=(a.tick_count, b.tick_count))


def _observation(a: tuple[AnyRecorded, ...], b: tuple[AnyRecorded, ...]) -> Parting | None:
    one, other = _only(a, ev.Tick), _only(b, ev.Tick)
    if one is None or other is None:
        return None if one is other else Parting("", _there(one), _there(other))
    return first_parting(one.view, other.view, "view") or text_parting(one.text, other.text, "text")


def _text(a: tuple[AnyRecorded, ...], b: tuple[AnyRecorded, ...]) -> Parting | None:
    one, other = _said(a), _said(b)
    for stream in dict.fromkeys((*one, *other)):
        parting = text_parting(one.get(stream, ""), other.get(stream, ""), stream)
        if parting is not None:
            return parting
    return None


def _action(a: tuple[AnyRecorded, ...], b: tuple[AnyRecorded, ...]) -> Parting | None:
    # Not the source: the same letter from another mouth is the same action.
    one, other = ({event.player: event.letter for event in side if isinstance(event, ev.Action)} for side in (a, b))
    for player in sorted({*one, *other}):
        if one.get(player) != other.get(player):
            return Parting("letter" if player == 0 else f"letter of player {player}", one.get(player), other.get(player))
    return None


def _state(a: tuple[AnyRecorded, ...], b: tuple[AnyRecorded, ...]) -> Parting | None:
    one, other = _only(a, ev.Step), _only(b, ev.Step)
    if one is None or other is None:
        return None if one is other else Parting("", _there(one), _there(other))
    for name in ("state", "reward", "score", "points", "done", "done_reason", "reset"):
        parting = first_parting(getattr(one, name), getattr(other, name), name)
        if parting is not None:
            return parting
    return None


_PART = {"observation": _observation, "text": _text, "action": _action, "state": _state}


def _only(events: tuple[AnyRecorded, ...], kind: type[Any]) -> Any:
    return next((event for event in events if isinstance(event, kind)), None)


def _there(event: Any) -> str:
    return "missing" if event is None else "there"


def _said(events: tuple[AnyRecorded, ...]) -> dict[str, str]:
    """Return the text of each stream in this tick."""
    said: dict[str, list[str]] = {}
    for event in events:
        if isinstance(event, ev.Token):
            said.setdefault(event.stream, []).append(event.text)
    return {stream: "".join(parts) for stream, parts in said.items()}
