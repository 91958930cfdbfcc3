"""What a screen shows of one episode: the state that `replays.reduce` folds events into.

`ViewState` is not a value: folding alters it in place, because it runs for every token frame of a live run. `to_map` and `from_map`
carry it as plain values, which is what a replay's keyframes hold.

The one thing that surprises: what was applied in tick k is shown during tick k + 1. `last` says who decided; `answer` is what the
reactor has said in the tick now running.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import msgspec

from replays import notes
from replays.clean import one_line, trusted
from replays.events import End, Episode
from replays.notes import Note
from replays.plans import Cell, Pins, PlanLine
from replays.streams import StreamState

__all__ = ["MOST_TICKS", "NOTES", "SCORES", "ActionNote", "AnswerNote", "History", "ProgramNote", "ViewState"]

NOTES = 400
"""Lines of the event list that are kept."""
MOST_TICKS = 10_000_000
"""A tick beyond is no tick of ours, and gets no character in the history."""
SCORES = 4096
"""Changes of the score that are kept; beyond it the curve is thinned, because every keyframe carries it."""


class AnswerNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the reactor answered in the tick now running."""

    letter: str | None
    """None where the text held no legal action."""
    why: str | None = None
    """Why there is none: none, truncated, invalid, fault, late."""
    at: int | None = None
    """When, in virtual tokens; None in wall time."""
    t_ns: int = 0
    """When, in ns since the episode began."""
    reason: str = ""
    """Its own words for it, one line."""
    agrees: bool | None = None
    """With the plan's line for this turn; None where the plan has none, or is stale."""


class ActionNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was applied."""

    tick: int
    letter: str
    source: str
    """Who decided, as in `Action.source`."""
    reason: str | None = None
    """Why it was the default action, where it was."""
    agrees: bool | None = None
    """With the plan's line for that turn; None where the plan had none, or was stale."""
    plan: str = ""
    """What the plan said for this turn."""


class ProgramNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """The policy program in force, of an agent that acts by one."""

    since: int
    """Tick in which this very text came into force."""
    generation: int
    """The planner's newest generation that ended in it."""
    lines: int
    crc: int
    """CRC-32 of its text: whether a newer one says anything new."""
    refused: str = ""
    """Why the newest text of the planner held no program, while this one stays in force."""


class History(msgspec.Struct, omit_defaults=True):
    """One character a tick: compact, because every keyframe carries it whole."""

    acted: str = ""
    """Source of each tick's action, see `notes.SOURCE`."""
    letters: str = ""
    """The letter applied."""
    marks: str = ""
    """The most telling event of each tick, see `notes.MARK`."""
    scores: list[tuple[int, float, float]] = []
    """(tick, raw score, points), one entry where one of them changed; thinned beyond `SCORES` of them."""
    partner: str = ""
    """As `acted` and `letters`, of a second player that is no script."""
    partner_letters: str = ""

    def took(self, tick: int, player: int, sign: str, letter: str) -> None:
        """Put down what was applied for a player."""
        if not 0 <= tick < MOST_TICKS:
            return
        if player:
            self.partner = self.partner.ljust(tick)[:tick] + sign
            self.partner_letters = self.partner_letters.ljust(tick)[:tick] + letter
        else:
            self.acted = self.acted.ljust(tick)[:tick] + sign
            self.letters = self.letters.ljust(tick)[:tick] + letter

    def mark(self, tick: int, kind: str) -> None:
        if not 0 <= tick < MOST_TICKS:
            return
        marks = self.marks.ljust(tick + 1)
        if notes.RANK.get(kind, 0) > notes.RANK.get(notes.KIND.get(marks[tick], ""), -1):
            self.marks = marks[:tick] + notes.MARK[kind] + marks[tick + 1 :]
        else:
            self.marks = marks


class ViewState(msgspec.Struct, omit_defaults=True):
    """Everything a screen shows of one episode."""

    header: Episode | None = None
    """The first event of the episode; None before it has come."""
    tick: int = -1
    """The tick now running; -1 before the first."""
    start_at: int | None = None
    """A, the tick's first instant, in virtual tokens."""
    guidance_at: int | None = None
    """G, when the reactor wakes."""
    end_at: int | None = None
    """E, when the game steps."""
    start_ns: int = 0
    """When the tick began, in ns since the episode began, like the next two."""
    reactor_ns: int | None = None
    """When the reactor wakes; None in token time."""
    deadline_ns: int | None = None
    """When the game steps; None in token time."""
    now_at: int = 0
    """Instant of the newest token seen."""
    now_ns: int = 0
    """`t_ns` of the newest event seen."""
    tick_budget: int | None = None
    """N_TE of this tick, in tokens; None in wall time."""
    reactive_budget: int | None = None
    """N_TR of this tick, in tokens; None in wall time and without a reactor."""
    snapshot: dict[str, Any] = {}
    """The game as it stands in this tick."""
    text: str = ""
    """The observation in words, as thinkers read it (not cleaned)."""
    planner: StreamState = msgspec.field(default_factory=lambda: StreamState("planner"))
    reactor: StreamState = msgspec.field(default_factory=lambda: StreamState("reactor"))
    controller: StreamState = msgspec.field(default_factory=lambda: StreamState("controller"))
    pins: Pins = msgspec.field(default_factory=Pins)
    """What stands over the planner's running text: best line, goal, warning."""
    plan: PlanLine | None = None
    """The newest finished plan, for agents that act by it."""
    holds: bool | None = None
    """Whether the best line still fits where the player stands; None if it says nothing about this turn."""
    expected: Cell | None = None
    """Where the best line has the player at this tick; None if it does not say."""
    stands: Cell | None = None
    """Where the player is; None in a game without such a place."""
    woke: int | None = None
    """Instant the reactor woke in this tick, once it has."""
    answer: AnswerNote | None = None
    """The reactor's answer in this tick, once there is one."""
    last: ActionNote | None = None
    """What was applied for the agent at the end of the tick before."""
    partner: str = ""
    """Letter of the second player's last action."""
    score: float = 0.0
    """Raw score so far, as the game counts it."""
    points: float = 0.0
    """What the normalised score is reckoned from; see `Step.points`."""
    reward: float = 0.0
    """Of the last step."""
    steps: int = 0
    """Ticks that are over."""
    done_reason: str | None = None
    """Why the episode is over; None while it is not."""
    defaults: int = 0
    """Ticks in which the default action was applied for the agent."""
    late: int = 0
    """Those of them in which an answer came after the deadline."""
    faults: int = 0
    """Faults of thinkers and programs; the machine's own are not counted."""
    changed: int = 0
    """Actions in which the reactor, shown a fitting plan line, did otherwise."""
    followed: int = 0
    """Actions in which it did what the fitting line said."""
    idle: int = 0
    """Planner tokens of finished ticks that nobody used."""
    history: History = msgspec.field(default_factory=History)
    notes: list[Note] = []
    """Newest last, at most `NOTES`."""
    noted: int = 0
    """How many there ever were."""
    bookmarks: list[tuple[int, str]] = []
    """(tick, note), in the order in which they were made."""
    rate: float | None = None
    """Ticks a second as last set by a person."""
    paused: bool = False
    """Whether a person holds the episode."""
    keys: int = 0
    """Keys a person has pressed that the game took."""
    key: str = ""
    """The person's key in force in this tick."""
    unknown: int = 0
    """Events of a kind, or a stream, that this version does not know."""
    end: End | None = None
    """The last event of the episode, once it has come."""
    partner_key: str = ""
    """The second person's key in force in this tick, where two play in one game."""
    partner_last: ActionNote | None = None
    """What was applied for a second player that is no script."""
    partner_defaults: int = 0
    """The same two counts as `defaults` and `late`, of that one."""
    partner_late: int = 0
    program: ProgramNote | None = None
    """The program in force, of an agent that acts by one; without lines where none could be read yet."""

    def note(self, tick: int, kind: str, text: str, voice: str = "") -> None:
        """Add a line to the event list and mark the tick. `text` is cleaned here."""
        self.notes.append(Note(tick, kind, one_line(text, 240), voice))
        self.noted += 1
        if len(self.notes) > NOTES:
            del self.notes[: len(self.notes) - NOTES]
        if kind in notes.MARK:
            self.history.mark(tick, kind)

    @property
    def player(self) -> int:
        """For which player planner and reactor think; it is that one's plan and answer which are shown."""
        # A header comes from a file, and may name anybody.
        return int(self.header is not None and self.header.player == 1)

    @property
    def thought(self) -> ActionNote | None:
        """What was last applied for the player who is thought for."""
        return self.partner_last if self.player else self.last

    @property
    def total_ticks(self) -> int | None:
        """How many ticks the episode can have, if the header says."""
        value = self.header.options.get("ticks") if self.header else None
        return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None

    def copy(self) -> ViewState:
        """Return a state of its own that folds on apart from this one; texts, notes and what else never changes are shared.

        Costs some 30 us where `to_map` and `from_map` cost a millisecond: what lets a scrubber keep states and go back to them.
        """
        new = copy(self)
        for name in ("planner", "reactor", "controller"):
            setattr(new, name, getattr(self, name).copy())
        new.pins, new.history = copy(self.pins), copy(self.history)
        new.history.scores = list(self.history.scores)
        new.notes = list(self.notes)
        return new

    def to_map(self) -> dict[str, Any]:
        """Return the state as plain values, header left out: a file has it already."""
        streams = {name: getattr(self, name).to_map() for name in ("planner", "reactor", "controller")}
        header, self.header = self.header, None
        try:
            return {**msgspec.to_builtins(self), **streams}
        finally:
            self.header = header

    @classmethod
    def from_map(cls, data: dict[str, Any], header: Episode | None = None) -> ViewState:
        """Return the state `to_map` gave. Raises msgspec.ValidationError, with the path of what is wrong, or ValueError for a number that is none.

        The map comes from a file, and anybody may have written that: text that `fold` would have cleaned is clean afterwards.
        """
        state = msgspec.convert({name: value if name in _AS_RECORDED else _vetted(value) for name, value in data.items()}, cls)
        state.header = header
        return state


# What a state holds as it was recorded, because whoever shows it cleans it.
_AS_RECORDED = frozenset(("snapshot", "text"))


def _vetted(value: Any) -> Any:
    """Return a keyframe's value with clean text; a keyframe nests at most MAX_DEPTH levels, its reader has seen to that."""
    if isinstance(value, str):
        return trusted(value)
    if isinstance(value, dict):
        # A prompt is shown by its parts, each cleaned then.
        return {key: one if key == "prompt" else _vetted(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_vetted(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no figure")
    return value
