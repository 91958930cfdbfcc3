"""One line of results: what an episode came to, made from its events, whether they have just happened or stand in a replay.

A row has a key: configuration hash, seed, sample. There is one result a key: a later good one takes the place of a failed one, and a
failed one never that of a good one. The one thing that surprises: an episode in which more than half of a role's streams failed is a
failed episode and has no score, for what it shows is the server's health and not the agent's.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from replays import events as ev

__all__ = ["Accepted", "Row", "Tally", "accept", "decode_rows", "encode_row", "failed", "key_of"]

ENDED = ("stop", "length", "budget", "cancelled")
"""How a stream may end without a fault."""
CUT = ("budget", "length")
MOST_POINTS = 1e15
"""Beyond it no mean of points can be trusted."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What one episode came to."""

    key: str
    config: str
    """Hash of everything that decides the episode but seed and sample."""
    game: str
    load: str
    agent: str
    """The agent as tables call it, its options behind it: `agile+guidance=none`."""
    tick_budget: int | None
    """N_TE, tokens."""
    reactive_budget: int | None = None
    """N_TR, tokens; None where no planner and reactor share a tick."""
    seed: int
    sample: int = 0
    status: str = "ok"
    """ok or error."""
    fault: str | None = None
    """Why it is an error."""
    score: float | None = None
    """Normalised to [0, 1]; None for an error."""
    raw_score: float | None = None
    points: float | None = None
    """What the normalised score is made of, in the game's own unit."""
    ticks: int = 0
    done_reason: str | None = None
    default_actions: int = 0
    late_actions: int = 0
    planner_tokens: int = 0
    reactor_tokens: int = 0
    faults: int = 0
    streams: dict[str, int] = {}
    """Streams by role."""
    failed_streams: dict[str, int] = {}
    """Those of them that ended in a fault."""
    read_tokens: dict[str, int] = {}
    """Prompt tokens by role, every attempt counted, where the server told."""
    billed_tokens: dict[str, int] = {}
    """Completion tokens by role, every attempt counted: what the server told, else the clock's count."""
    plan_lengths: list[int] = []
    """Tokens of each planner stream that ended by itself."""
    reactor_lengths: list[int] = []
    """Tokens of each reactor stream that ended by itself."""
    reactor_cut: list[int] = []
    """Tokens of each reactor stream that was cut."""
    moves: str = ""
    """Digest of all that was to be seen and of all actions: equal for identical episodes only."""
    canonical: str = ""
    """sha-256 of the canonical log."""
    replay: str | None = None
    """Path of its replay, relative to the folder of results."""
    meas: dict[str, Any] = {}
    """What differs between two runs of the same thing: wall_s, cpu_s, finished; `calls` of models by role."""
    design: str = ""
    """Hash of what makes the agent, whatever it plays, so that rows tell designs apart where the plan is lost."""
    thinkers: dict[str, str] = {}
    """What thought in each role, as tables call it."""

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def key_of(config: str, seed: int, sample: int) -> str:
    """Return the name of one episode."""
    return f"{config}-s{seed}" + (f"-k{sample}" if sample else "")


class Tally:
    """Counts what a row needs, fed with an episode's events in order, the header first and `end` last."""

    def __init__(self) -> None:
        self.header: ev.Episode | None = None
        self.end: ev.End | None = None
        self._moves = hashlib.sha256()
        self._canonical = hashlib.sha256()
        self._streams: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._why: Counter[str] = Counter()
        self._lengths: dict[str, list[int]] = {"planner": [], "reactor": []}
        self._cut: list[int] = []
        self._read: Counter[str] = Counter()
        self._billed: Counter[str] = Counter()
        self._began: dict[str, int] = {}
        self._calls: dict[str, list[list[float | None]]] = {}

    def add(self, events: Iterable[Any]) -> None:
        """Take events; kinds of the future count for nothing."""
        for event in events:
            if isinstance(event, ev.Event):
                for data in ev.canonical([event]):  # type: ignore[list-item]
                    self._canonical.update(data)
            if isinstance(event, ev.Generation):
                self._generation(event)
            elif isinstance(event, ev.Action):
                self._moves.update(f"{event.player}{event.letter}".encode())
            elif isinstance(event, ev.Tick):
                # What is to be seen at every tick, not actions alone: a scripted partner may do something else while the agent does the same.
                self._moves.update(msgspec.msgpack.encode(event.view, enc_hook=ev.plain))
            elif isinstance(event, ev.Episode):
                self.header = event
            elif isinstance(event, ev.End):
                self.end = event

    def _generation(self, event: ev.Generation) -> None:
        if event.phase == "start":
            self._began[event.stream] = event.t_ns
            return
        stream, tokens = event.stream, event.clock_tokens
        self._streams[stream] += 1
        if event.finish not in ENDED:
            self._failed[stream] += 1
            self._why[str(event.finish)] += 1
        if event.finish == "stop" and stream in self._lengths:
            self._lengths[stream].append(tokens)
        elif event.finish in CUT and stream == "reactor":
            self._cut.append(tokens)
        meas = event.meas
        self._read[stream] += meas.get("prompt_tokens") or 0
        self._billed[stream] += tokens if event.usage_tokens is None else event.usage_tokens
        backend = self.header.backends.get(stream) if self.header is not None else None
        if backend is not None and not backend.deterministic and stream in self._began:
            seconds = (event.t_ns - self._began[stream]) / 1e9
            told = [meas.get(name) for name in ("ttft_s", "tpot_s", "throttled_s", "attempts")]
            self._calls.setdefault(stream, []).append([tokens, round(seconds, 6), *told])

    def fields(self) -> dict[str, Any]:
        """Return the fields of a row that events tell, status and fault among them."""
        end = self.end
        told: dict[str, Any] = {
            "streams": dict(sorted(self._streams.items())),
            "failed_streams": dict(sorted(self._failed.items())),
            "read_tokens": {role: count for role, count in sorted(self._read.items()) if count},
            "billed_tokens": dict(sorted(self._billed.items())),
            "plan_lengths": self._lengths["planner"],
            "reactor_lengths": self._lengths["reactor"],
            "reactor_cut": self._cut,
            "moves": self._moves.hexdigest(),
            "canonical": self._canonical.hexdigest(),
            "meas": {"calls": self._calls} if self._calls else {},
        }
        if end is None:
            return {**told, "status": "error", "fault": "the replay has no end: the episode was cut short"}
        totals = end.totals
        told |= {name: getattr(totals, name) for name in ("ticks", "default_actions", "late_actions", "planner_tokens", "reactor_tokens", "faults")}
        told["done_reason"] = end.done_reason
        why = self._fault(end)
        if why is not None:
            return {**told, "status": "error", "fault": why}
        return {**told, "score": totals.score, "raw_score": totals.raw_score, "points": totals.points}

    def _fault(self, end: ev.End) -> str | None:
        if end.done_reason in ("quit", "fault"):
            return f"the episode ended by {end.done_reason}"
        for role, count in self._failed.items():
            if 2 * count > self._streams[role]:
                kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(self._why.items()))
                return f"{count} of {self._streams[role]} streams of the {role} failed ({kinds})"
        return None


def failed(row: Row, fault: str, **more: Any) -> Row:
    """Return the row of an episode that has no result; `row` says which."""
    return msgspec.structs.replace(row, status="error", fault=fault, score=None, raw_score=None, points=None, **more)


_encoder = msgspec.json.Encoder(enc_hook=ev.plain)
_decoder = msgspec.json.Decoder(Row)


def encode_row(row: Row) -> bytes:
    """Return the row as one line of JSON, with its line end."""
    return _encoder.encode(row) + b"\n"


def decode_rows(data: bytes) -> tuple[list[Row], int, int]:
    """Return (rows, lines that are none, bytes of whole lines). What stands behind the last line end was torn off by a kill and is no line."""
    rows: list[Row] = []
    bad = 0
    whole = data.rfind(b"\n") + 1
    for line in data[:whole].split(b"\n"):
        if not line.strip():
            continue
        try:
            row = _decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            bad += 1
            continue
        if _sound(row):
            rows.append(row)
        else:
            bad += 1
    return rows, bad, whole


def _sound(row: Row) -> bool:
    """Whether a row can be what a bench has written: one that somebody edited is not to move a mean, or to stand for another episode."""
    if row.key != key_of(row.config, row.seed, row.sample) or row.status not in ("ok", "error"):
        return False
    if not all(value is None or abs(value) <= MOST_POINTS for value in (row.raw_score, row.points)):
        return False
    return row.score is None if not row.ok else row.score is not None and 0.0 <= row.score <= 1.0


class Accepted(NamedTuple):
    """One result a key."""

    rows: dict[str, Row]
    repeated: int
    """Rows whose key had come before."""


def accept(rows: Sequence[Row]) -> Accepted:
    """Return one row a key: the first good one, else the last failed one."""
    taken: dict[str, Row] = {}
    for row in rows:
        held = taken.get(row.key)
        if held is None or not held.ok:
            taken[row.key] = row
    return Accepted(taken, len(rows) - len(taken))
