"""The one reducer: fold events into what a screen shows. Live screen, replay screen and exports are looks at its state.

    state = ViewState()
    for event in events:
        fold(state, event)

`fold` alters the state in place, and returns it. Token events may come in pieces of any size: the state at a tick's end is the same.
Pure: no clock, no file, no screen.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec

from replays import notes
from replays.clean import one_line
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
from replays.plans import Pins, PlanLine, PlanStep, position
from replays.streams import StreamState
from replays.view_state import SCORES, ActionNote, AnswerNote, ProgramNote, ViewState

__all__ = ["fold", "fold_all"]

FEW = 8
"""Last lines of the event list that may be of this very tick."""
PLAN = 1000
"""Moves of a plan that are kept: each is looked at whenever a screen is drawn, and every keyframe carries them."""
LONG = 3
"""Ticks after which it is worth a line that a planner came to an end."""


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
    state.stands = position(state.snapshot, state.player)
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
    if any(note.kind == "fault" and note.tick == event.tick and note.text.startswith(event.stream) for note in state.notes[-FEW:]):
        # Its fault has just been told, in more words.
        return
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
    letters = [one_line(letter, 8) for letter in (event.letters or ())[:PLAN]]
    if event.mode == "plan":
        if letters and event.turns:
            steps = tuple(PlanStep(turn, letter) for turn, letter in zip(event.turns, letters))
            state.plan = PlanLine(event.generation, steps)
            moves = min(len(event.turns), len(event.letters or ()))
            state.note(event.tick, "plan", f"plan for turn {event.generation}: {moves} moves", "planner")
        else:
            state.note(event.tick, "unread", f"no plan in that text: {event.why or 'none'}", "planner")
        return
    if event.mode == "program":
        _program(state, event)
        return
    letter = letters[0] if letters else None
    reason = notes.reason(state.reactor.text[-4000:]) if letter else ""
    at = event.at if event.at is not None else state.reactor.at
    why = one_line(event.why, 40) if event.why is not None else None
    state.answer = AnswerNote(letter, why, at, event.t_ns, reason, _agrees(state, letter)[0])


def _program(state: ViewState, event: Answer) -> None:
    """A planner has ended with a program, or without one, which leaves the one before it in force."""
    was = state.program
    if event.program is None:
        why = one_line(event.why or "none", 40)
        state.program = ProgramNote(event.tick, event.generation, 0, 0, why) if was is None else msgspec.structs.replace(was, refused=why)
        if why != "invalid":
            # What is wrong with one that was written is told by its fault.
            state.note(event.tick, "unread", f"no program in that text: {'cut off' if why == 'truncated' else why}", "planner")
        return
    crc = zlib.crc32(event.program.encode("utf-8", "surrogatepass"))
    if was is not None and was.lines and was.crc == crc:
        state.program = msgspec.structs.replace(was, generation=event.generation, refused="")
        return
    lines = len(event.program.strip("\n").split("\n"))
    state.program = ProgramNote(event.tick, event.generation, lines, crc)
    state.note(event.tick, "plan", f"program of turn {event.generation}: {lines} lines", "planner")


def _agrees(state: ViewState, letter: str | None) -> tuple[bool | None, str]:
    best = state.pins.best
    step = best.step(state.tick) if best is not None else None
    if step is None or letter is None or state.holds is False:
        return None, ""
    return step.letter == letter, step.letter


def _action(state: ViewState, event: Action) -> None:
    letter = one_line(event.letter, 8)
    second, thought = bool(event.player), event.player == state.player
    agrees, planned = _agrees(state, letter) if thought else (None, "")
    source, reason = one_line(event.source, 20), one_line(event.reason, 40) if event.reason is not None else None
    applied = ActionNote(event.tick, letter, source, reason, agrees, planned)
    state.history.took(event.tick, event.player, notes.SOURCE.get(event.source, "?"), letter[:1] or "?")
    late = event.source == "default" and event.reason == "late"
    if second:
        state.partner, state.partner_last = letter, applied
        state.partner_defaults += event.source == "default"
        state.partner_late += late
    else:
        state.last = applied
        state.defaults += event.source == "default"
        state.late += late
    # Of a partner nobody thinks for it is only counted: a person who cooks along leaves many a tick out.
    if event.source == "default" and (thought or not second):
        # Of a person one does not say that an answer is missing.
        human = not second and state.header is not None and state.header.agent == "human"
        why = "no key" if human else notes.why(event.reason)
        state.note(event.tick, "late" if late else "default", f"{'partner: ' if second else ''}default {letter}: {why}", "default")
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
