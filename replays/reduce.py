"""The one reducer: fold events into what a screen shows. Live screen, replay screen and exports are looks at its state.

    state = ViewState()
    for event in events:
        fold(state, event)

`ViewState` is not a value: `fold` alters it in place (and returns it), because it runs for every token frame of a live run.
Token events may come in pieces of any size: the state at a tick's end is the same. `to_map` and `from_map` carry the state
as plain values, which is what a replay's keyframes hold. Pure: no clock, no file, no screen.

The one thing that surprises: what was applied in tick k is shown during tick k + 1. `last` says who decided; `answer` is what the
reactor has said in the tick now running.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from typing import Any

import msgspec

from replays import notes
from replays.clean import one_line, trusted
from replays.events import (
    Action,
    Answer,
    AnyEvent,
    Bookmark,
    Budget,
    Control,
    End,
    Episode,
    Fault,
    Generation,
    Segment,
    Step,
    Tick,
    Token,
)
from replays.notes import Note
from replays.plans import Cell, Pins, PlanLine, position
from replays.streams import StreamState

__all__ = ["ActionNote", "AnswerNote", "History", "ViewState", "fold", "fold_all"]

NOTES = 400
"""Lines of the event list that are kept."""
MOST_TICKS = 10_000_000
"""A tick beyond is no tick of ours, and gets no character in the history."""
SCORES = 4096
"""Changes of the score that are kept; beyond it the curve is thinned, because every keyframe carries it."""
LONG = 3
"""Ticks after which it is worth a line that a planner came to an end."""


class AnswerNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the reactor answered in the tick now running."""

    letter: str | None
    why: str | None = None
    """Why there is none: none, truncated, invalid, fault."""
    at: int | None = None
    t_ns: int = 0
    reason: str = ""
    """Its own words for it, one line."""
    agrees: bool | None = None
    """With the plan's line for this turn; None where the plan has none, or is stale."""


class ActionNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was applied."""

    tick: int
    letter: str
    source: str
    reason: str | None = None
    agrees: bool | None = None
    plan: str = ""
    """What the plan said for this turn."""


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
    tick: int = -1
    """The tick now running; -1 before the first."""
    start_at: int | None = None
    """A, the tick's first instant, in virtual tokens."""
    guidance_at: int | None = None
    """G, when the reactor wakes."""
    end_at: int | None = None
    """E, when the game steps."""
    start_ns: int = 0
    reactor_ns: int | None = None
    deadline_ns: int | None = None
    now_at: int = 0
    """Instant of the newest token seen."""
    now_ns: int = 0
    """`t_ns` of the newest event seen."""
    tick_budget: int | None = None
    reactive_budget: int | None = None
    snapshot: dict[str, Any] = {}
    """The game as it stands in this tick."""
    text: str = ""
    """The observation in words, as thinkers read it (not cleaned)."""
    planner: StreamState = msgspec.field(default_factory=lambda: StreamState("planner"))
    reactor: StreamState = msgspec.field(default_factory=lambda: StreamState("reactor"))
    controller: StreamState = msgspec.field(default_factory=lambda: StreamState("controller"))
    pins: Pins = msgspec.field(default_factory=Pins)
    plan: PlanLine | None = None
    """The newest finished plan, for agents that act by it."""
    holds: bool | None = None
    """Whether the best line still fits where the player stands; None if it says nothing about this turn."""
    expected: Cell | None = None
    stands: Cell | None = None
    woke: int | None = None
    """Instant the reactor woke in this tick, once it has."""
    answer: AnswerNote | None = None
    last: ActionNote | None = None
    partner: str = ""
    """Letter of the second player's last action."""
    score: float = 0.0
    points: float = 0.0
    reward: float = 0.0
    steps: int = 0
    done_reason: str | None = None
    defaults: int = 0
    late: int = 0
    faults: int = 0
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
    rate: float | None = None
    """Ticks a second as last set by a person."""
    paused: bool = False
    keys: int = 0
    key: str = ""
    """The person's key in force in this tick."""
    unknown: int = 0
    end: End | None = None
    partner_key: str = ""
    """The second person's key in force in this tick, where two play in one game."""

    def note(self, tick: int, kind: str, text: str, voice: str = "") -> None:
        """Add a line to the event list and mark the tick. `text` is cleaned here."""
        self.notes.append(Note(tick, kind, one_line(text, 160), voice))
        self.noted += 1
        if len(self.notes) > NOTES:
            del self.notes[: len(self.notes) - NOTES]
        if kind in notes.MARK:
            self.history.mark(tick, kind)

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


def fold_all(events: Iterable[AnyEvent], state: ViewState | None = None) -> ViewState:
    """Fold events in order and return the state, a new one unless given."""
    state = ViewState() if state is None else state
    for event in events:
        fold(state, event)
    return state


def fold(state: ViewState, event: AnyEvent) -> ViewState:
    """Fold one event into `state` and return it. An event of a kind of the future changes nothing but a count."""
    handler = _HANDLERS.get(type(event))
    if handler is None:
        state.unknown += 1
        return state
    if event.t_ns > state.now_ns:
        state.now_ns = event.t_ns
    handler(state, event)
    return state


def _episode(state: ViewState, event: Episode) -> None:
    state.header = event
    state.tick_budget = event.tick_budget_tokens
    state.reactive_budget = event.reactive_budget_tokens


def _tick(state: ViewState, event: Tick) -> None:
    if state.tick >= 0 and state.header is not None and "planner" in state.header.backends and state.tick_budget:
        state.idle += max(0, state.tick_budget - state.planner.tick_tokens)
    state.tick = event.tick
    state.start_at, state.guidance_at, state.end_at = event.at, event.guidance_at, event.end_at
    state.start_ns, state.reactor_ns, state.deadline_ns = event.t_ns, event.reactor_ns, event.deadline_ns
    if event.at is not None:
        state.now_at = event.at
    if event.end_at is not None and event.at is not None:
        state.tick_budget = event.end_at - event.at
        if event.guidance_at is not None:
            state.reactive_budget = event.end_at - event.guidance_at
    if event.snapshot is not None:
        state.snapshot = event.snapshot
    state.text = event.text
    state.answer, state.woke, state.key, state.partner_key = None, None, "", ""
    for stream in (state.planner, state.reactor, state.controller):
        stream.tick()
    _compare(state)


def _compare(state: ViewState) -> None:
    """Hold the best line against where the player stands, and note the moment it goes stale."""
    state.stands = position(state.snapshot)
    was = state.holds
    _compare_quietly(state)
    if was and state.holds is False:
        state.note(state.tick, "stale", notes.stale(state.stands, state.expected), "planner")


def _generation(state: ViewState, event: Generation) -> None:
    stream = _stream(state, event.stream)
    if stream is None:
        state.unknown += 1
        return
    if event.phase == "start":
        stream.start(event)
        if event.at is not None and event.at > state.now_at:
            state.now_at = event.at
        if event.stream == "planner":
            state.pins.begin()
        elif event.stream == "reactor":
            state.woke = event.at if event.at is not None else event.t_ns
        return
    if event.stream == "planner":
        state.pins.close(event.id)
        _compare_quietly(state)
    stream.end(event)
    if event.stream == "planner":
        # Thinking that ends within a few ticks is the ordinary case and no news.
        if event.tick - event.id >= LONG or event.finish not in ("stop", None):
            state.note(event.tick, "finish", notes.finished(event), "planner")
    elif event.finish not in ("stop", "length", "budget", "cancelled", None):
        state.note(event.tick, "finish", f"{event.stream}: {event.finish}", event.stream)


def _token(state: ViewState, event: Token) -> None:
    stream = _stream(state, event.stream)
    if stream is None:
        state.unknown += 1
        return
    back, text = stream.token(event)
    if stream.at is not None and stream.at > state.now_at:
        state.now_at = stream.at
    if event.stream == "planner":
        best = state.pins.best
        state.pins.feed(back, text, event.generation)
        if state.pins.best is not best:
            _compare_quietly(state)


def _compare_quietly(state: ViewState) -> None:
    # A new best line that does not fit is no news: its thinker stands on an older turn and may be about to find out.
    best = state.pins.best
    state.expected = best.expects(state.tick) if best is not None else None
    if best is not None and state.expected is None and best.generation == state.tick and best.covers(state.tick):
        # Made on this very observation: it begins where the player stands.
        state.expected = state.stands
    state.holds = None if state.expected is None or state.stands is None else state.expected == state.stands


def _segment(state: ViewState, event: Segment) -> None:
    state.planner.segment(event)


def _answer(state: ViewState, event: Answer) -> None:
    letters = [one_line(letter, 8) for letter in event.letters or ()]
    if event.mode == "plan":
        if letters and event.turns:
            steps = tuple(notes.plan_step(turn, letter) for turn, letter in zip(event.turns, letters))
            state.plan = PlanLine(event.generation, steps)
            state.note(event.tick, "plan", f"plan of {len(steps)} moves in force, made for turn {event.generation}", "planner")
        else:
            state.note(event.tick, "unread", f"no plan in that text: {event.why or 'none'}", "planner")
        return
    letter = letters[0] if letters else None
    reason = notes.reason(state.reactor.text[-4000:]) if letter else ""
    at = event.at if event.at is not None else state.reactor.at
    why = one_line(event.why, 40) if event.why is not None else None
    state.answer = AnswerNote(letter, why, at, event.t_ns, reason, _agrees(state, letter)[0])


def _agrees(state: ViewState, letter: str | None) -> tuple[bool | None, str]:
    best = state.pins.best
    step = best.step(state.tick) if best is not None else None
    if step is None or letter is None or state.holds is False:
        return None, ""
    return step.letter == letter, step.letter


def _action(state: ViewState, event: Action) -> None:
    letter = one_line(event.letter, 8)
    if event.player:
        state.partner = letter
        return
    agrees, planned = _agrees(state, letter)
    source, reason = one_line(event.source, 20), one_line(event.reason, 40) if event.reason is not None else None
    state.last = ActionNote(event.tick, letter, source, reason, agrees, planned)
    history = state.history
    if 0 <= event.tick < MOST_TICKS:
        history.acted = history.acted.ljust(event.tick)[: event.tick] + notes.SOURCE.get(event.source, "?")
        history.letters = history.letters.ljust(event.tick)[: event.tick] + (letter[:1] or "?")
    if event.source == "default":
        state.defaults += 1
        late = event.reason == "late"
        state.late += late
        # Of a person one does not say that an answer is missing.
        why = "no key" if state.header is not None and state.header.agent == "human" else notes.why(event.reason)
        state.note(event.tick, "late" if late else "default", f"default {letter}: {why}", "default")
    elif event.source in ("reactor", "forced") and agrees is not None:
        if agrees:
            state.followed += 1
        else:
            state.changed += 1
            state.note(event.tick, "against", f"{letter} from reactor, not the plan's {planned}", "reactor")


def _step(state: ViewState, event: Step) -> None:
    before, was = state.points, state.snapshot
    state.snapshot = event.state
    # A game may reckon with what is no number; that cannot be drawn, and leaves the figure before it standing.
    state.score, state.points, state.reward = (
        now if math.isfinite(now) else then for now, then in ((event.score, state.score), (event.points, state.points), (event.reward, state.reward))
    )
    state.steps = event.tick + 1
    scores = state.history.scores
    if not scores or scores[-1][1:] != (state.score, state.points):
        scores.append((event.tick, state.score, state.points))
        if len(scores) > SCORES:
            # A curve of thousands of points is drawn in hundreds of columns; the first and the last stay.
            del scores[1:-1:2]
    for kind, text in notes.happened(event, before, was):
        state.note(event.tick, kind, text)
    if event.done:
        state.done_reason = one_line(event.done_reason or "", 40)
    if event.reset:
        # A reset empties plan and memory: what was pinned is about a life that is over.
        state.pins, state.plan, state.holds, state.expected = Pins(), None, None, None


def _budget(state: ViewState, event: Budget) -> None:
    parts = []
    if event.tick_budget_tokens is not None:
        parts.append(f"tick {event.tick_budget_tokens:,}")
    if event.reactive_budget_tokens is not None:
        parts.append(f"reactor {event.reactive_budget_tokens:,}")
    state.note(event.tick, "budget", f"budget now {', '.join(parts) or 'unchanged'} {event.why}".rstrip())


def _control(state: ViewState, event: Control) -> None:
    if event.what == "key":
        state.keys += 1
        if event.player:
            state.partner_key = one_line(event.value, 8)
        else:
            state.key = one_line(event.value, 8)
    elif event.what in ("pause", "resume"):
        state.paused = event.what == "pause"
    elif event.what == "rate":
        try:
            state.rate = float(event.value)
        except ValueError:
            # A value from a file of another maker: shown nowhere, so nothing is lost.
            state.rate = None


def _fault(state: ViewState, event: Fault) -> None:
    state.faults += event.cause != "host"
    # What tells of a process names it already.
    who = "" if event.what.startswith(event.component) else f"{event.component} failed: " if event.cause == "thinker" else f"{event.component}: "
    text = who + event.what + (f"; {event.done}" if event.done else "")
    state.note(event.tick, "fault", text, "default")


def _bookmark(state: ViewState, event: Bookmark) -> None:
    note = one_line(event.note, 120)
    state.bookmarks = [*state.bookmarks, (event.tick, note)][-1000:]
    state.note(event.tick, "bookmark", note or "bookmark", "person")


def _end(state: ViewState, event: End) -> None:
    state.end = event
    state.done_reason = one_line(event.done_reason, 40)
    state.planner.running = state.reactor.running = False


def _stream(state: ViewState, name: str) -> StreamState | None:
    return {"planner": state.planner, "reactor": state.reactor, "controller": state.controller}.get(name)


_HANDLERS: dict[type, Any] = {
    Episode: _episode,
    Tick: _tick,
    Generation: _generation,
    Token: _token,
    Segment: _segment,
    Answer: _answer,
    Action: _action,
    Step: _step,
    Budget: _budget,
    Control: _control,
    Fault: _fault,
    Bookmark: _bookmark,
    End: _end,
}
