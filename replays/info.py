"""What is in a replay, as one plain dict that is strict JSON as it stands.

The one thing that surprises: it reads the whole file, since the digest, the counts and the search for damage need every event. Numbers
that are not finite become None, as in every export.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

import games
from games.base import GameError
from replays import events as ev
from replays.payload import AnyRecorded, UnknownEvent
from replays.reader import Replay
from replays.timing import StreamTimes, natural_use, spread

__all__ = ["canonical_digest", "info"]

FAULTS_SHOWN = 50


def canonical_digest(events: Iterable[AnyRecorded]) -> str:
    """Return the sha-256 of the canonical log, in hex, one event at a time.

    Equal to `events.canonical_digest` of the same events; those of unknown kinds count with all they hold but `seq`, `t_ns` and `meas`.
    """
    digest = hashlib.sha256()
    for event in events:
        _digest(digest, event)
    return digest.hexdigest()


def _digest(digest: Any, event: AnyRecorded) -> None:
    if isinstance(event, UnknownEvent):
        kept = {name: value for name, value in event.data.items() if name not in ("seq", "t_ns", "meas")}
        digest.update(msgspec.msgpack.encode(kept))
        return
    for data in ev.canonical([event]):
        digest.update(data)


def info(replay: Replay) -> dict[str, Any]:
    """Return the summary `rtdesk info` shows: header, totals, timings, faults, digest, and what is damaged."""
    tally = _Tally()
    digest = hashlib.sha256()
    for event in replay:
        _digest(digest, event)
        tally.add(event)
    annotations = replay.annotations
    warnings = replay.check(events=False)
    header = replay.header
    end = replay.end
    totals = ev.to_map(end)["totals"] if end is not None else tally.totals(header)
    return strict(
        {
            "path": replay.path,
            "bytes": replay.size,
            "version": replay.version,
            "complete": not replay.incomplete,
            # An episode a person or a signal ended is not a whole one, though its file is.
            "status": "incomplete" if replay.incomplete or (end is not None and end.done_reason in ("quit", "fault")) else "complete",
            "game": header.game,
            "load": header.load,
            "seed": header.seed,
            "agent": header.agent,
            "clock": header.clock,
            "tick_budget_tokens": header.tick_budget_tokens,
            "reactive_budget_tokens": header.reactive_budget_tokens,
            "tick_budget_s": header.tick_budget_s,
            "reactive_budget_s": header.reactive_budget_s,
            "options": header.options,
            "backends": {role: msgspec.to_builtins(backend) for role, backend in header.backends.items()},
            "prompt_hash": header.prompt_hash,
            "versions": header.versions,
            "match": msgspec.to_builtins(header.match),
            "parent": msgspec.to_builtins(header.parent),
            "meas": header.meas,
            "ticks": replay.tick_count,
            "first_tick": replay.first_tick,
            "last_tick": replay.last_tick,
            "missing_ticks": _missing(replay),
            "steps": tally.steps,
            "score": totals["score"],
            "raw_score": totals["raw_score"],
            "points": totals.get("points", 0.0),
            "done_reason": end.done_reason if end is not None else None,
            "default_actions": tally.sources["default"],
            "default_reasons": dict(sorted(tally.reasons.items())),
            # An answer that comes after its tick leaves no event of its own, so only the totals know of all of them.
            "late_actions": max(totals.get("late_actions", 0), tally.reasons["late"]),
            "actions": dict(sorted(tally.sources.items())),
            "thinks_for": "partner" if header.player else "agent",
            "partner": tally.partner(header),
            "planner_tokens": tally.tokens["planner"],
            "reactor_tokens": tally.tokens["reactor"],
            "controller_tokens": tally.tokens["controller"],
            "streams": tally.streams(),
            "reactor_use": tally.reactor_use(),
            "segments": tally.segments,
            "resets": tally.resets,
            "faults": tally.faults,
            "fault_list": tally.fault_list,
            "bookmarks": tally.bookmarks + [_bookmark(event) for event in annotations if isinstance(event, ev.Bookmark)],
            "controls": dict(sorted(tally.controls.items())),
            "duration_s": round(tally.last_ns / 1e9, 6),
            "tick_s": spread(tally.tick_lengths()),
            "events": dict(sorted(tally.kinds.items())),
            "unknown_events": dict(sorted(tally.unknown.items())),
            "unknown_records": {str(kind): count for kind, count in sorted(replay.unknown_records.items())},
            "keyframes": len(replay.keyframe_ticks),
            "canonical": digest.hexdigest(),
            "warnings": [str(warning) for warning in warnings],
        }
    )


class _Tally:
    """Counts over the events of a file."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.sources: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.partner_sources: Counter[str] = Counter()
        self.partner_reasons: Counter[str] = Counter()
        self.controls: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.usage: Counter[str] = Counter()
        self.finishes: dict[str, Counter[str]] = {}
        self.began: Counter[str] = Counter()
        self.times: dict[str, StreamTimes] = {}
        self.fault_list: list[dict[str, Any]] = []
        self.bookmarks: list[dict[str, Any]] = []
        self.steps = self.resets = self.segments = self.faults = self.last_ns = 0
        self._tick_ns: list[int] = []
        self._last: ev.Step | None = None

    def add(self, event: AnyRecorded) -> None:
        """Count one event."""
        self.last_ns = max(self.last_ns, event.t_ns)
        if isinstance(event, UnknownEvent):
            self.unknown[event.kind] += 1
            return
        self.kinds[str(event.__struct_config__.tag)] += 1
        if isinstance(event, ev.Token):
            self.tokens[event.stream] += len(event.lens)
            self._times(event.stream).tokens(event)
        elif isinstance(event, ev.Tick):
            self._tick_ns.append(event.t_ns)
        elif isinstance(event, ev.Action):
            sources, reasons = (self.partner_sources, self.partner_reasons) if event.player else (self.sources, self.reasons)
            sources[event.source] += 1
            if event.source == "default":
                reasons[event.reason or "unknown"] += 1
        elif isinstance(event, ev.Step):
            self.steps += 1
            self.resets += event.reset
            self._last = event
        elif isinstance(event, ev.Generation):
            self._generation(event)
        elif isinstance(event, ev.Segment):
            self.segments += event.phase == "open"
        elif isinstance(event, ev.Fault):
            self.faults += 1
            if len(self.fault_list) < FAULTS_SHOWN:
                self.fault_list.append(
                    {"tick": event.tick, "component": event.component, "what": event.what, "done": event.done, "cause": event.cause}
                )
        elif isinstance(event, ev.Control):
            self.controls[event.what] += 1
        elif isinstance(event, ev.Bookmark):
            self.bookmarks.append(_bookmark(event))

    def _generation(self, event: ev.Generation) -> None:
        if event.phase == "start":
            self.began[event.stream] += 1
            self._times(event.stream).start(event)
            return
        self.finishes.setdefault(event.stream, Counter())[event.finish or "unknown"] += 1
        self.usage[event.stream] += event.usage_tokens or 0
        self._times(event.stream).end(event)

    def _times(self, stream: str) -> StreamTimes:
        return self.times.setdefault(stream, StreamTimes())

    def reactor_use(self) -> dict[str, Any] | None:
        """Return how many tokens the reactor needs where nobody cuts it."""
        return natural_use(self.times["reactor"].used) if "reactor" in self.times else None

    def totals(self, header: ev.Episode) -> dict[str, Any]:
        """Return what a file without `end` has come to so far."""
        last = self._last
        points = last.points if last is not None else 0.0
        return {"score": _normalised(header.game, points) if last is not None else None, "raw_score": last.score if last is not None else None, "points": points}

    def partner(self, header: ev.Episode) -> dict[str, Any] | None:
        """Return what a second player did that is no script of the game's; None without one. All else that is counted of actions is the agent's."""
        if not self.partner_sources:
            return None
        return {
            "name": header.options.get("partner"),
            "default_actions": self.partner_sources["default"],
            "default_reasons": dict(sorted(self.partner_reasons.items())),
            "actions": dict(sorted(self.partner_sources.items())),
        }

    def streams(self) -> dict[str, dict[str, Any]]:
        """Return what each stream did: generations, tokens, how they ended, how fast they came."""
        names = dict.fromkeys((*self.began, *self.tokens, *self.finishes))
        return {
            name: {
                "generations": self.began[name],
                "finished": dict(sorted(self.finishes.get(name, Counter()).items())),
                "tokens": self.tokens[name],
                "usage_tokens": self.usage[name],
                **self._times(name).summary(),
            }
            for name in sorted(names)
        }

    def tick_lengths(self) -> list[float]:
        """Return seconds from each tick's beginning to the next."""
        return [(later - earlier) / 1e9 for earlier, later in zip(self._tick_ns, self._tick_ns[1:])]


def _normalised(game: str, points: float) -> float | None:
    # A path is not loaded on a replay's word.
    if not game.isidentifier():
        return None
    try:
        return games.spec(game).normalise(points)
    except GameError:
        return None


def _missing(replay: Replay) -> int:
    """Return how many ticks between the first and the last are not in the file."""
    if replay.first_tick is None or replay.last_tick is None:
        return 0
    return replay.last_tick - replay.first_tick + 1 - replay.tick_count


def _bookmark(event: ev.Bookmark) -> dict[str, Any]:
    return {"tick": event.tick, "note": event.note}


def strict(value: Any) -> Any:
    """Return `value` as strict JSON has it: string keys, no NaN or infinity (None instead), bytes as hex, nothing else but plain types."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): strict(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [strict(inner) for inner in value]
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, msgspec.msgpack.Ext):
        return {"ext": value.code, "data": bytes(value.data).hex()}
    return str(value)
