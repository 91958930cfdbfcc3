"""The one vocabulary: everything that happens in an episode is one of these events.

Rings carry them, replays store them, screens fold them, exports read them. A leaf module: it imports nothing of ours.
The one thing that surprises: on the wire a field that has its default is left out, so a reader in another language
must know the defaults (docs/replay-format.md lists them), and a new field always comes with one.

Instants: `t_ns` is monotonic nanoseconds since the episode began; `at` is virtual tokens since the episode began
(None in wall time). Windows are half-open: tick k covers (k*N_TE, (k+1)*N_TE], and a token's `at` is the instant after it.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "Action",
    "Answer",
    "AnyEvent",
    "Backend",
    "Bookmark",
    "Budget",
    "Control",
    "End",
    "Episode",
    "Event",
    "Fault",
    "Generation",
    "Match",
    "Parent",
    "Part",
    "Segment",
    "Step",
    "Tick",
    "Token",
    "Totals",
    "canonical",
    "canonical_digest",
    "decode",
    "decode_map",
    "encode",
    "plain",
    "to_map",
]

Scalar = str | int | float | bool | None


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Fields every event has."""

    tick: int
    """Tick the event belongs to, from 0."""
    seq: int = -1
    """Position in the file, given by the recorder; -1 while under way."""
    t_ns: int = 0
    """Monotonic nanoseconds since the episode began."""
    at: int | None = None
    """Virtual tokens since the episode began; None in wall time."""


class Backend(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who thinks in one role, and with what request parameters."""

    spec: str
    """What the user asked for: `builtin`, `scripted`, `provider/model`, `URL#model`."""
    title: str = ""
    """How screens and tables call it, such as `builtin search`."""
    exact: bool = True
    """Whether its token counts are exact."""
    deterministic: bool = True
    """Whether the same request gives the same text."""
    params: dict[str, Scalar] = {}
    """Request parameters; never a key."""


class Match(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One side of a match of several files with one clock; the shared id is under the episode's `meas.match`."""

    side: int
    """Which of the sides this file is, from 0."""
    of: int
    """How many sides there are."""


class Parent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The replay this episode was forked from, and the tick it goes on at."""

    file: str
    """Its file id, from the header's `meas`."""
    tick: int
    """The first tick of the fork."""


class Episode(Event, frozen=True, tag="episode"):
    """The header: all that is needed to run the episode again."""

    game: str
    load: str
    seed: int
    agent: str
    clock: str = "token"
    """token or wall."""
    tick_budget_tokens: int | None = None
    """N_TE."""
    reactive_budget_tokens: int | None = None
    """N_TR; None for agents without a reactor."""
    tick_budget_s: float | None = None
    reactive_budget_s: float | None = None
    options: dict[str, Scalar] = {}
    """Effective value of every switch that changes behaviour, by its long option name without dashes."""
    backends: dict[str, Backend] = {}
    """By role: planner, reactor, controller."""
    prompt_hash: str = ""
    """sha-256 over `texts`; runs with different hashes are never pooled."""
    texts: dict[str, str] = {}
    """Fixed prompt texts by name; prompts refer to them."""
    versions: dict[str, str] = {}
    match: Match | None = None
    parent: Parent | None = None
    meas: dict[str, Any] = {}
    """File id, match id, start time, engine, machine: what differs between two runs of the same thing."""
    player: int = 0
    """For whom planner and reactor think, and whose observation the ticks hold: 0 the agent, 1 the partner, where that one alone has to think."""

    @property
    def thinker(self) -> str:
        """Name of the agent whose planner and reactor these are."""
        return str(self.options.get("partner", "")) if self.player else self.agent


class Tick(Event, frozen=True, tag="tick"):
    """A tick begins; `at` is its first instant A."""

    view: dict[str, Any]
    """The observation as plain data."""
    text: str
    """The observation as text for thinkers."""
    guidance_at: int | None = None
    """G, the instant the reactor wakes; None without a reactor or in wall time."""
    end_at: int | None = None
    """E, the instant the game steps; None in wall time."""
    reactor_ns: int | None = None
    """Wall time: when the reactor wakes, ns since episode start."""
    deadline_ns: int | None = None
    """Wall time: when the game steps, ns since episode start."""
    snapshot: dict[str, Any] | None = None
    """The game's snapshot, in the first tick of a file only."""


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"start": "from"}):
    """One part of a prompt that points at text already in the log; exactly one of text, obs, trace is set."""

    text: str | None = None
    """Name of a fixed text in the header; with `upto` only its bytes `from` to `upto`."""
    obs: int | None = None
    """Tick whose observation text stands here."""
    trace: int | None = None
    """Id of the planner generation whose text stands here, bytes `from` to `upto`, both channels in order."""
    start: int = 0
    upto: int = 0
    guidance: bool = False
    """Part of what the reactor is shown of the planner's thinking."""


class Generation(Event, frozen=True, tag="generation"):
    """A stream starts or ends."""

    stream: str
    """planner, reactor or controller."""
    id: int
    """The tick it began on, which is the tick its observation is frozen at."""
    phase: str
    """start or end."""
    prompt: list[str | Part] = []
    """At the start: literal text and references, in order."""
    finish: str | None = None
    """At the end: stop, length, budget, cancelled, fault, stalled, or another error kind."""
    clock_tokens: int = 0
    """At the end: tokens the clock charged."""
    usage_tokens: int | None = None
    """At the end: completion tokens the server reported; None if it never said."""
    meas: dict[str, Any] = {}
    """ttft_s, throttled_s, attempts, tpot_s."""


class Token(Event, frozen=True, tag="token"):
    """A run of tokens of one generation and channel with consecutive `at`; `at` is the first token's."""

    stream: str
    generation: int
    channel: str
    """reasoning or content."""
    text: str
    lens: list[int]
    """UTF-8 bytes of each token; 0 for a token whose bytes complete no code point."""
    meas: dict[str, Any] = {}
    """arrivals: [[tokens, t_ns], ...] of each live frame."""


class Segment(Event, frozen=True, tag="segment"):
    """A steered step opens or closes."""

    id: int
    generation: int
    phase: str
    """open or close."""
    strategy: str
    phrase: str = ""
    finish: str | None = None
    flags: list[str] = []
    tokens: int = 0
    used_before: int = 0
    used_after: int = 0
    budget: int = 0
    """B, tokens; what is left is 1 - used/B."""


class Answer(Event, frozen=True, tag="answer"):
    """What its own process read from a finished (or cut) text."""

    stream: str
    generation: int
    mode: str
    """act, plan or program."""
    letters: list[str] | None = None
    turns: list[int] | None = None
    """For a plan: the turn of each letter."""
    why: str | None = None
    """Why there is none: none, truncated, invalid, fault."""
    program: str | None = None
    """For a program: its text."""
    forced: bool = False
    """It was asked for in the time kept back, the thinking cut (`--force-answer`)."""


class Action(Event, frozen=True, tag="action"):
    """What was applied."""

    letter: str
    source: str
    """reactor, forced, plan, program, policy, human, default."""
    player: int = 0
    reason: str | None = None
    """For a default: none, uncovered, truncated, invalid, fault, late."""
    generation: int | None = None
    """The generation whose answer it is."""


class Step(Event, frozen=True, tag="step"):
    """After the tick. Everything of tick k in any ring was written before step k."""

    state: dict[str, Any]
    """The game's snapshot."""
    reward: float
    score: float
    """Cumulative raw reward."""
    points: float = 0.0
    """Raw points behind the normalised score."""
    done: bool = False
    done_reason: str | None = None
    """goal, dead, cap or ticks."""
    reset: bool = False


class Budget(Event, frozen=True, tag="budget"):
    """N_TE or N_TR changed, from the next tick on."""

    tick_budget_tokens: int | None = None
    reactive_budget_tokens: int | None = None
    why: str = ""


class Control(Event, frozen=True, tag="control"):
    """What a person did, in the tick where it took effect."""

    what: str
    """key, pause, resume, step, rate, quit."""
    value: str = ""
    """For a key its letter, for a rate ticks a second or max."""
    player: int = 0
    """For a key: whose it is; 1 where a second person plays in the same game."""


class Fault(Event, frozen=True, tag="fault"):
    """Something failed, and what was done about it."""

    component: str
    what: str
    done: str = ""
    cause: str = "thinker"
    """`host` for what comes from the machine's pace or the recorder; such faults are outside the canonical log."""


class Bookmark(Event, frozen=True, tag="bookmark"):
    """A person's note on a tick."""

    note: str = ""


class Totals(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an episode came to."""

    ticks: int
    """Ticks stepped."""
    score: float
    """Normalised to [0, 1]."""
    raw_score: float
    """Cumulative reward, as the game counts it."""
    points: float = 0.0
    """What `score` is reckoned from; see `GameSpec.normalise`."""
    default_actions: int = 0
    """Ticks in which the default action was applied."""
    late_actions: int = 0
    """Those of them whose answer came after the deadline."""
    planner_tokens: int = 0
    """Tokens the clock was charged for the planner."""
    reactor_tokens: int = 0
    """Likewise."""
    faults: int = 0
    """Faults, those of cause `host` apart."""
    partner_default_actions: int = 0
    """Of a partner that is no script; `default_actions` and `late_actions` are the agent's."""
    partner_late_actions: int = 0


class End(Event, frozen=True, tag="end"):
    """The episode is over; a file without it is incomplete."""

    totals: Totals
    done_reason: str
    """goal, dead, cap, ticks, quit or fault."""


AnyEvent = Episode | Tick | Generation | Token | Segment | Answer | Action | Step | Budget | Control | Fault | Bookmark | End


def plain(value: Any) -> Any:
    """Return a number or array of another library (numpy's, say) as plain Python; for msgspec's `enc_hook`.

    A game may well reward with a `numpy.float32`. Asked for by its methods, so that nothing is imported for it. Raises TypeError.
    """
    for name in ("tolist", "item"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    raise TypeError(f"{type(value).__name__} cannot be recorded; views and snapshots hold dicts, lists, ints, floats, strings, bools and None")


_encoder = msgspec.msgpack.Encoder(enc_hook=plain)
_decoder: msgspec.msgpack.Decoder[AnyEvent] = msgspec.msgpack.Decoder(AnyEvent)


def encode(event: Event) -> bytes:
    """Return the event as one MessagePack map with its `kind`."""
    return _encoder.encode(event)


def decode(data: bytes | memoryview) -> AnyEvent:
    """Return the typed event. Raises msgspec.ValidationError, which carries the path of what is wrong."""
    return _decoder.decode(data)


def decode_map(data: dict[str, Any]) -> AnyEvent:
    """Return the typed event of a plain map, as `to_map` or another MessagePack library gives it."""
    return msgspec.convert(data, AnyEvent)


def to_map(event: Event) -> dict[str, Any]:
    """Return the event as a plain map, default fields left out."""
    return msgspec.to_builtins(event, enc_hook=plain)


def canonical(events: list[AnyEvent]) -> list[bytes]:
    """Return the events two runs of the same thing must share, each as MessagePack bytes, in order.

    Dropped: `seq`, `t_ns`, everything under `meas`, `control` other than keys, `bookmark`, faults of cause `host`.
    Why: docs/design.md, Events.
    """
    out = []
    for event in events:
        if isinstance(event, Bookmark) or (isinstance(event, Control) and event.what != "key"):
            continue
        if isinstance(event, Fault) and event.cause == "host":
            continue
        data = to_map(event)
        for name in ("seq", "t_ns", "meas"):
            data.pop(name, None)
        out.append(_encoder.encode(data))
    return out


def canonical_digest(events: list[AnyEvent]) -> str:
    """Return the sha-256 of the canonical log, in hex."""
    import hashlib

    digest = hashlib.sha256()
    for data in canonical(events):
        digest.update(data)
    return digest.hexdigest()
