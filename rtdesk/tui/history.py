"""What has been: score, events and who acted, tick by tick; the same rows are a replay's timeline. Pure.

Every tick has its column (or a share of one, in a long run), so the three rows are aligned and their length is the episode's.
`acted` tells who acted by colour and by height, so that it can be read without colour.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.style import Style

from replays.notes import KIND, RANK
from replays.view_state import ViewState
from rtdesk.tui.looks import Look
from rtdesk.tui.runs import Row, Run, finish
from rtdesk.tui.views import Overview as Past
from rtdesk.tui.views import View
from rtdesk.tui.wrap import wrap

__all__ = ["LABEL", "Past", "Track", "acted_runs", "event_rows", "event_runs", "history_rows", "past_of", "plot_rows", "score_runs", "tick_at", "total", "track"]

LABEL = 8
"""Columns of the rows' labels."""

ROOMY, WRAPPED = 10, 3
"""Rows from which the event list takes more than one for a note, and how many."""

_MARK_VOICE = {"default": "default", "late": "default", "fault": "default", "died": "default", "reset": "default", "bookmark": "person", "stale": "planner"}
_ACTED = {"r": ("reactor", "upper"), "f": ("reactor", "upper"), "p": ("planner", "lower"), "g": ("planner", "lower"), "o": ("", "lower"), "h": ("person", "block"), "d": ("default", "bang")}


class Track(NamedTuple):
    """How ticks lie on columns."""

    ticks: int
    columns: int
    """Columns the whole episode takes."""
    wide: int
    """Columns of one tick; 0 where several ticks share a column."""

    def column(self, tick: int) -> int:
        return tick * self.wide if self.wide else min(self.columns - 1, tick * self.columns // max(1, self.ticks))

    def span(self, column: int) -> tuple[int, int]:
        """Return the ticks (first, one behind the last) of a column."""
        if self.wide:
            return column // self.wide, column // self.wide + 1
        first = -(-column * self.ticks // self.columns)
        return first, max(first + 1, -(-(column + 1) * self.ticks // self.columns))


def track(ticks: int, room: int) -> Track:
    """Return the track of an episode of `ticks` on `room` columns."""
    ticks = max(1, ticks)
    if ticks <= room:
        wide = min(4, room // ticks)
        return Track(ticks, ticks * wide, wide)
    return Track(ticks, max(1, room), 0)


def tick_at(found: Track, column: int) -> int:
    """Return the tick under a column, for the mouse."""
    return max(0, min(found.ticks - 1, found.span(max(0, min(column, found.columns - 1)))[0]))


def total(state: ViewState, view: View) -> int:
    known = view.overview.ticks if view.overview is not None else view.status.ticks or state.total_ticks
    if known is None and view.spec is not None:
        known = view.spec.max_ticks
    return max(known or 0, state.tick + 1, 20)


def past_of(state: ViewState, view: View) -> Past:
    """Return what the rows are made of: the whole recording where it is known, else what has been so far."""
    history = state.history
    return view.overview or Past(acted=history.acted, marks=history.marks, scores=tuple(history.scores), ticks=total(state, view))


def history_rows(state: ViewState, view: View, look: Look, width: int, rows: int) -> list[Row]:
    """Return three aligned rows (score, events, acted), or one with score and events side by side."""
    past = past_of(state, view)
    figure = f"{state.score:g}"
    if rows < 3:
        return [_single(state, past, look, width, figure)]
    found = track(past.ticks, width - LABEL - 10)
    ahead = past is view.overview
    score: list[Run] = [("score   ", look.dim), *score_runs(past, found, look, state, ahead=ahead, high=_ceiling(view)), ("  " + figure, look.bright)]
    events = [("events  ", look.dim), *event_runs(past, found, look, state, ahead=ahead)]
    acted = [("acted   ", look.dim), *acted_runs(past, found, look, state, ahead=ahead)]
    return [finish(((" ", look.base), *row), width, look) for row in (score, events, acted)]


def _single(state: ViewState, past: Past, look: Look, width: int, figure: str) -> Row:
    half = width // 2 - 12
    plot, line = track(past.ticks, max(8, half)), track(past.ticks, max(8, half))
    runs: list[Run] = [(" score ", look.dim), *score_runs(past, plot, look, state), (f" {figure:<5}", look.bright), ("events ", look.dim)]
    return finish((*runs, *event_runs(past, line, look, state)), width, look)


def _values(past: Past, found: Track) -> list[float]:
    """Return the score at the end of each column's last tick."""
    out: list[float] = []
    i, value = 0, 0.0
    scores = past.scores
    for column in range(found.columns):
        last = found.span(column)[1] - 1
        while i < len(scores) and scores[i][0] <= last:
            value = scores[i][1]
            i += 1
        out.append(value)
    return out


def _ceiling(view: View) -> float:
    """Return the score a full bar stands for at least, so that early points do not fill the row."""
    return view.spec.points_max / 2 if view.spec is not None and view.spec.points_max < 60 else 1.0


def score_runs(past: Past, found: Track, look: Look, state: ViewState, *, ahead: bool = False, high: float = 1.0, since: int = 0) -> list[Run]:
    """Return the score as a row of bars; `high` is what a full bar stands for at least, `ahead` shows what is still to come, `since` is where it begins."""
    done = max(state.tick, state.steps, 0)
    upto = found.columns if ahead or done >= found.ticks else found.column(done)
    values = _values(past, found)[:upto]
    low, high = min((*values, 0.0)), max((*values, high, 1.0))
    bars = look.signs.bars
    text = "".join(bars[1 + round((value - low) / (high - low) * (len(bars) - 2))] for value in values)
    begins = found.column(since) if since else 0
    return _past_and_future(" " * min(begins, len(text)) + text[begins:], look.plot, found, state, look, ahead)


def _past_and_future(text: str, style: Style, found: Track, state: ViewState, look: Look, ahead: bool) -> list[Run]:
    """Split a row at the cursor: what is still to come is dim in a replay."""
    if not ahead:
        return [(text, style)]
    cursor = found.column(max(0, state.tick))
    return [(text[:cursor], style), (text[cursor : cursor + 1], look.notice), (text[cursor + 1 :], look.faint)]


def event_runs(past: Past, found: Track, look: Look, state: ViewState, *, ahead: bool = False) -> list[Run]:
    """Return the most telling event of each column; `ahead` shows what is still to come, and the cursor."""
    upto = found.columns if ahead else found.column(max(0, state.tick)) + max(1, found.wide)
    cursor = found.column(max(0, state.tick)) if ahead else -1
    runs: list[Run] = []
    for column in range(found.columns):
        first, behind = found.span(column)
        kind = _telling(past, first, behind)
        if found.wide and column % found.wide:
            kind = ""
        if column == cursor:
            runs.append((look.signs.marks.get(kind, look.signs.dot), look.notice))
        elif kind:
            voice = _MARK_VOICE.get(kind, "")
            style = look.voice["planner"] if kind == "plan" else look.strong[voice] if voice else look.bright
            runs.append((look.signs.marks[kind], style))
        else:
            runs.append((look.signs.dot if found.wide <= 1 or column % found.wide == 0 else " ", look.faint if column < upto else look.rule))
    return runs


def _telling(past: Past, first: int, behind: int) -> str:
    """Return the kind of the most telling event of some ticks; empty if nothing happened."""
    return max((KIND[mark] for mark in past.marks[first:behind] if mark in KIND), key=lambda one: RANK.get(one, 0), default="")


_SEEN = frozenset({"", "default", "plan", "stale"})
"""Kinds of event that are no mark among those who acted: who acted says it, or it happens all the time."""


def acted_runs(past: Past, found: Track, look: Look, state: ViewState, *, ahead: bool = False, marked: bool = False) -> list[Run]:
    """Return who acted, by colour and by height; `marked`: with the signs of what happened, where one row says both."""
    signs = {"upper": look.signs.upper, "lower": look.signs.lower, "block": look.signs.block, "bang": "!"}
    cursor = found.column(max(0, state.tick)) if ahead else -1
    runs: list[Run] = []
    for column in range(found.columns):
        first, behind = found.span(column)
        sources = past.acted[first:behind].strip()
        source = "d" if "d" in sources else sources[:1]
        voice, sign = _ACTED.get(source, ("", "lower"))
        kind = _telling(past, first, behind) if marked and not (found.wide > 1 and column % found.wide) else ""
        if kind not in _SEEN:
            voice = _MARK_VOICE.get(kind, "") or voice
            runs.append((look.signs.marks[kind], look.notice if column == cursor else look.strong[voice] if voice else look.bright))
            continue
        if not sources:
            runs.append((look.signs.line if column == cursor else " ", look.notice if column == cursor else look.rule))
            continue
        if found.wide > 1 and sign == "bang" and column % found.wide:
            runs.append((" ", look.strong[voice]))
        else:
            runs.append((signs[sign], _under_cursor(voice, look) if column == cursor else look.strong[voice]))
    return runs


def _under_cursor(voice: str, look: Look) -> Style:
    """Return the style of a sign the cursor stands on: in its voice still, so that half a cell of it is no hole."""
    return look.paint(voice, "text", True) if look.rgb and voice else look.notice


def plot_rows(state: ViewState, view: View, look: Look, width: int, height: int, *, top: float = 1.0, ticks: int = 0) -> list[Row]:
    """Return a plot of the score over the ticks: `height` rows, the last one the axis. It reaches to `top` and `ticks` at least."""
    found = track(max(ticks, total(state, view)), width - 8)
    past = Past(scores=tuple(state.history.scores), ticks=found.ticks)
    values = _values(past, found)[: found.column(max(0, state.tick)) + 1 if state.tick >= 0 else 0]
    top = max((*values, top))
    step = next((one for one in (1, 2, 4, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 5000) if top / one <= max(1, height - 1)), 10_000)
    top = -(-top // step) * step
    bars = look.signs.bars
    rows: list[Row] = []
    lines = max(1, height - 1)
    # Round figures, each at the row that a bar of that height ends in; a plot of nothing has one.
    every = next((one for one in (1, 2, 5, 10, 20, 25, 50, 100, 250, 1000, 2500) if top / one <= min(4, lines)), top)
    labels = {lines - max(1, round(value * every / top * lines)): value * every for value in range(1, int(top / every) + 1)}
    for line in range(lines):
        low, high = top * (lines - 1 - line) / lines, top * (lines - line) / lines
        text = "".join(bars[0 if value <= low else min(len(bars) - 1, max(1, round((min(value, high) - low) / (high - low) * (len(bars) - 1))))] for value in values)
        label = f"{labels[line]:>5g} " if line in labels else "      "
        rows.append(finish(((label, look.dim), (text, look.plot)), width, look))
    axis = "".join(f"{tick:<{max(1, found.column(tick + found.ticks // 4) - found.column(tick)) if tick + found.ticks // 4 < found.ticks else 1}}" for tick in range(0, found.ticks, max(1, found.ticks // 4)))
    rows.append(finish((("    0 ", look.dim), (axis[: width - 7], look.faint)), width, look))
    return rows


def event_rows(state: ViewState, look: Look, width: int, height: int) -> list[Row]:
    """Return the newest notes, oldest first, each in its voice's colour; where there is none, that."""
    lines = WRAPPED if height >= ROOMY else 1
    rows: list[Row] = []
    # From the newest back, because how many fit depends on how long they are.
    for note in reversed(state.notes[-height:] if height > 0 else []):
        style = look.voice[note.voice] if note.voice else look.text
        told = [line.text for line in wrap(note.text, 0, len(note.text), width - 7)]
        if len(told) > lines:
            # What is left of the last line there is room for is cut at the edge, with a sign that it was.
            told[lines - 1 :] = [" ".join(told[lines - 1 :])]
        block = [finish(((" " * 7 if number else f"{note.tick:>5}  ", look.dim), (text, style)), width, look) for number, text in enumerate(told)]
        if len(rows) + len(block) > height:
            break
        rows[:0] = block
    if not rows and height > 0:
        rows.append(finish((("       nothing yet", look.dim),), width, look))
    return rows
