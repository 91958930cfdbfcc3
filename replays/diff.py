"""Where two episodes part: in what was seen, thought, done, when, and what came of it.

The one thing that surprises: text parts long before actions do. So the first parting of each kind is reported, not only the first of all,
and how much differs from there on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from replays import events as ev
from replays.compare import Missing, Parting, brief, first_parting, text_parting
from replays.payload import AnyRecorded
from replays.reader import Replay

__all__ = ["KINDS", "After", "Comparison", "Difference", "Outcome", "diff"]

KINDS = ("observation", "timing", "text", "action", "state")
"""In the order they happen within a tick. Timing is virtual: when windows and generations begin and end, and how; not how long it took."""


class Difference(msgspec.Struct, frozen=True):
    """A place where two replays part."""

    tick: int
    what: str
    """observation, timing, text, action or state; or length, where one has no such tick."""
    field: str
    """Such as `state.snake[0][1]`; empty where the whole thing is missing."""
    a: Any
    """What the first has there."""
    b: Any
    """And the second."""

    def __str__(self) -> str:
        what = f"{self.what} {self.field}".rstrip()
        return f"tick {self.tick}: {what} is {brief(self.a)} in the first, {brief(self.b)} in the second"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording came to."""

    ticks: int
    """Ticks stepped."""
    raw_score: float
    points: float
    done_reason: str | None
    """None for a recording without an end."""
    default_actions: int
    planner_tokens: int
    reactor_tokens: int
    faults: int


class After(msgspec.Struct, frozen=True, kw_only=True):
    """What differs from the first parting on."""

    tick: int
    """Where they part."""
    score: float
    """Raw score both had until then."""
    ticks: int
    """Ticks from there on that both hold."""
    differ: dict[str, int]
    """In how many of them each kind differs."""
    a: Outcome
    b: Outcome


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
    after: After | None = None
    """None if they are the same."""

    @property
    def same(self) -> bool:
        """Whether the episodes are the same, whatever their headers say."""
        return self.first is None


def diff(a: Replay, b: Replay) -> Comparison:
    """Compare two replays tick by tick, to their ends."""
    ours, theirs = ev.to_map(a.header), ev.to_map(b.header)
    header = tuple(
        parting
        for name in dict.fromkeys((*ours, *theirs))
        if name not in ("meas", "seq", "t_ns")
        and (parting := first_parting(ours.get(name, Missing), theirs.get(name, Missing), name)) is not None
    )
    firsts: dict[str, Difference] = {}
    differ: dict[str, int] = {}
    counts = _Count(), _Count()
    shared, after = 0.0, 0
    held_a, held_b = set(a.ticks), set(b.ticks)
    # A fork has no ticks before the one it was forked at, which is no difference.
    begin = max((side.first_tick or 0 for side in (a, b) if side.header.parent is not None), default=0)
    for tick in sorted(held_a | held_b):
        both = tick in held_a and tick in held_b
        one, other = a.events(tick), b.events(tick)
        if not both and tick >= begin and "length" not in firsts:
            words = ["has it" if tick in held else "ends before" for held in (held_a, held_b)]
            firsts["length"] = Difference(tick, "length", "ticks", *words)
        for kind in KINDS if both else ():
            parting = _PART[kind](one, other)
            if parting is not None:
                firsts.setdefault(kind, Difference(tick, kind, *parting))
                differ[kind] = differ.get(kind, 0) + 1
        counts[0].add(one)
        counts[1].add(other)
        if firsts:
            after += both
        else:
            shared = counts[0 if tick in held_a else 1].score
    order = (*KINDS, "length")
    first = min(firsts.values(), key=lambda found: (found.tick, order.index(found.what)), default=None)
    follows = None
    if first is not None:
        follows = After(tick=first.tick, score=shared, ticks=after, differ=differ, a=counts[0].outcome(), b=counts[1].outcome())
    return Comparison(header=header, first=first, firsts=firsts, ticks=(a.tick_count, b.tick_count), after=follows)


class _Count:
    """What a recording comes to, tick by tick."""

    def __init__(self) -> None:
        self.score = self._points = 0.0
        self._ticks = self._defaults = self._faults = 0
        self._tokens = {"planner": 0, "reactor": 0}
        self._done: str | None = None

    def add(self, events: tuple[AnyRecorded, ...]) -> None:
        for event in events:
            if isinstance(event, ev.Step):
                self._ticks += 1
                self.score, self._points = event.score, event.points
            elif isinstance(event, ev.Token):
                self._tokens[event.stream] = self._tokens.get(event.stream, 0) + len(event.lens)
            elif isinstance(event, ev.Action):
                self._defaults += event.source == "default" and event.player == 0
            elif isinstance(event, ev.Fault):
                self._faults += event.cause != "host"
            elif isinstance(event, ev.End):
                self._done = event.done_reason

    def outcome(self) -> Outcome:
        return Outcome(
            ticks=self._ticks,
            raw_score=self.score,
            points=self._points,
            done_reason=self._done,
            default_actions=self._defaults,
            planner_tokens=self._tokens["planner"],
            reactor_tokens=self._tokens["reactor"],
            faults=self._faults,
        )


def _observation(a: tuple[AnyRecorded, ...], b: tuple[AnyRecorded, ...]) -> Parting | None:
    one, other = _only(a, ev.Tick), _only(b, ev.Tick)
    if one is None or other is None:
        return None if one is other else Parting("", _there(one), _there(other))
    return first_parting(one.view, other.view, "view") or text_parting(one.text, other.text, "text")


def _timing(a: tuple[AnyRecorded, ...], b: tuple[AnyRecorded, ...]) -> Parting | None:
    one, other = _only(a, ev.Tick), _only(b, ev.Tick)
    for name in ("at", "guidance_at", "end_at") if one is not None and other is not None else ():
        if getattr(one, name) != getattr(other, name):
            return Parting(name, getattr(one, name), getattr(other, name))
    return first_parting(_borders(a), _borders(b), "")


def _borders(events: tuple[AnyRecorded, ...]) -> dict[str, Any]:
    """Return when each generation began and ended in this tick; in wall time only that it did."""
    found: dict[str, Any] = {}
    for event in events:
        if isinstance(event, ev.Generation):
            name = f"{event.stream} generation {event.id} {event.phase}"
            found[name] = {"at": event.at, "finish": event.finish, "tokens": event.clock_tokens} if event.at is not None else {"finish": event.finish}
    return found


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


_PART = {"observation": _observation, "timing": _timing, "text": _text, "action": _action, "state": _state}


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
