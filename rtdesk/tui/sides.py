"""Runs side by side: two players of a match, or up to three recordings of one level, in step. Pure.

Each side is a column: its board, who decided, its agent's pinned lines and tail. The meter is one, the clock being one; below it
stand the score race and who acted, a row a side. The parts keep their names and widgets: `left`, `planner` and `reactor` are the
first, second and third column here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from replays.clean import one_line
from replays.view_state import ViewState
from rtdesk.tui.cards import BROKE_OFF, DONE
from rtdesk.tui.history import Past, acted_runs, event_rows, past_of, score_runs, track
from rtdesk.tui.layout import MINIMUM, Layout, Rect, arrange, largest_cell
from rtdesk.tui.looks import Look
from rtdesk.tui.meter import meter_rows
from rtdesk.tui.pair import name_of, playing
from rtdesk.tui.panes import answer_row, planner_head, planner_pins, tail_rows, waited
from rtdesk.tui.runs import Row, Run, blank, finish, rule
from rtdesk.tui.scene import decided_row, draw_game, fact_rows, foot, head
from rtdesk.tui.timeline import on_timeline, ruler_row
from rtdesk.tui.views import View
from rtdesk.tui.wrap import clip

__all__ = ["COLUMNS", "MOST", "Side", "arrange_sides", "side_name", "sides_scene", "tail_size", "tail_voice"]

COLUMNS = ("left", "planner", "reactor")
MOST = len(COLUMNS)
LABEL = 14
"""Columns of a row's name below the meter."""


class Side(NamedTuple):
    """One run, as the scene needs it."""

    state: ViewState
    view: View

    @property
    def broke_off(self) -> bool:
        """Whether it is over without an end: its process has died, or its recording stops there."""
        return self.state.end is None and self.view.status.mode == "live" and self.view.status.play == "ended"

    @property
    def over(self) -> bool:
        """Whether nothing more comes from it."""
        return self.state.end is not None or self.broke_off


def arrange_sides(width: int, height: int, boards: Sequence[tuple[int, int]]) -> Layout:
    """Return the layout of a screen of `width` x `height` for boards of (columns, rows) cells, side by side."""
    if width < MINIMUM[0] or height < MINIMUM[1]:
        return arrange(width, height)
    count = len(boards)
    tall = height >= 32
    meter = 4 + 2 * count if tall else 3 + count
    body = height - 2 - meter
    columns = max(one for one, _ in boards)
    rows = max(one for _, one in boards)
    cell, axes = largest_cell((width // count - 4, body - 7 if tall else body - 4), columns, rows)
    nothing = Rect(0, 0, 0, 0)
    parts = {"head": Rect(0, 0, width, 1), "left": nothing, "planner": nothing, "reactor": nothing}
    for i in range(count):
        start, end = width * i // count, width * (i + 1) // count
        parts[COLUMNS[i]] = Rect(start, 1, end - start, body)
    parts["meter"] = Rect(0, 1 + body, width, meter)
    parts["foot"] = Rect(0, height - 1, width, 1)
    return Layout(width, height, cell, axes, parts, 3 if tall else 1)


def sides_scene(sides: Sequence[Side], look: Look, layout: Layout) -> dict[str, list[Row]]:
    """Return every part's rows."""
    # Who is still playing says how it runs.
    first = next((side for side in sides if not side.over), max(sides, key=lambda side: side.state.tick))
    if layout.small:
        return {part: head(first.state, first.view, look, layout) if part == "head" else [] for part in layout.parts}
    who = one_line(" vs ".join(side_name(side, number) for number, side in enumerate(sides)), 40)
    parts = {"head": head(first.state, first.view, look, layout, who=who), "foot": foot(first.state, first.view, look, layout)}
    for name, side in zip(COLUMNS, sides):
        parts[name] = _column(side, look, layout, layout.parts[name], number=COLUMNS.index(name))
    parts["meter"] = _meter(sides, look, layout)
    return {part: parts.get(part, []) for part in layout.parts}


def side_name(side: Side, number: int, most: int = 60) -> str:
    """Return what a side is called, in `most` columns: its agent's name, or who of the people at this keyboard plays it."""
    header = side.state.header
    if header is None:
        return f"side {number + 1}"
    if header.agent == "human" and side.view.status.human:
        you = "you" if side.view.status.people < 2 else ("first", "second")[min(number, 1)]
        return clip(f"{you} + {name_of(side.state, 1)}", most) if side.state.player else you
    fork = f" from {header.parent.tick}" if header.parent is not None else ""
    return one_line(playing(header), max(4, min(24, most - len(fork)))) + fork


def _column(side: Side, look: Look, layout: Layout, rect: Rect, *, number: int) -> list[Row]:
    state, view = side
    width = rect.width - 1
    rows = _above(side, look, layout, rect, number=number)
    room = rect.height - len(rows)
    if room > 2 and not _thinks(state):
        rows += [rule(look, "", "events", (), "", width), *event_rows(state, look, width, room - 1)]
    elif room > 0:
        voice = tail_voice(side)
        # What has been scrolled to is a place in the chosen column's text, and in no other.
        anchor = view.anchors.get(voice) if view.chosen else None
        rows += tail_rows(getattr(state, voice), anchor, look, width, room, voice, False, view.find)
    rows = rows[: rect.height] + [blank(width, look)] * (rect.height - len(rows))
    return [(*row, (" ", look.base)) for row in rows]


def _thinks(state: ViewState) -> bool:
    return state.header is not None and bool(state.header.backends)


def tail_voice(side: Side) -> str:
    """Return the stream whose tail a side's column shows: the person's choice where the run has it, else the planner, else the reactor."""
    backends = side.state.header.backends if side.state.header is not None else {}
    return side.view.voice if side.view.voice in backends else "planner" if "planner" in backends else "reactor"


def tail_size(side: Side, look: Look, layout: Layout, number: int) -> tuple[int, int]:
    """Return columns and rows of a side's tail, for scrolling it."""
    rect = layout.parts[COLUMNS[number]]
    return rect.width - 1, max(0, rect.height - len(_above(side, look, layout, rect, number=number)))


def _above(side: Side, look: Look, layout: Layout, rect: Rect, *, number: int) -> list[Row]:
    """Return a column's rows above its tail."""
    state, view = side
    width = rect.width - 1
    header = state.header
    backends = dict.fromkeys(one_line(one.title or one.spec, 30) for one in header.backends.values()) if header is not None else {}
    # A side that is out stays as it was, and says why.
    note = DONE.get(state.end.done_reason, state.end.done_reason) if state.end is not None else BROKE_OFF if side.broke_off else " + ".join(backends)
    rows = [rule(look, "person" if view.status.human else "", side_name(side, number), (note,), f"score {state.score:g}", width, chip=view.chosen)]
    rows += draw_game(state, view, look, layout, width)
    rows.append(decided_row(state, view, look, width))
    facts = fact_rows(state, view, look, width)
    room = rect.height - len(rows)
    rows += facts[: 2 if room < 9 else 3]
    room = rect.height - len(rows)
    if header is not None and "planner" in header.backends and room >= 2:
        rows.append(planner_head(state, look, width, waits="planner" in waited(state, view)))
        rows += planner_pins(state, look, width)[: 1 if room < 5 else 2]
    if header is not None and "reactor" in header.backends and rect.height - len(rows) >= 1:
        rows.append(answer_row(state, look, width))
    return rows


def _meter(sides: Sequence[Side], look: Look, layout: Layout) -> list[Row]:
    rect = layout.parts["meter"]
    # The side that is chosen tells the time, or one that thinks: a person's own has no marks to show, nor has one that is over. The time of one that
    # broke off stands still for good.
    now = max(side.state.tick for side in sides)
    shown = max(sides, key=lambda side: (not side.broke_off, _thinks(side.state), side.state.end is None or side.state.tick == now, side.view.chosen))
    rows = meter_rows(shown.state, shown.view, look, rect.width)
    ticks = max(past_of(side.state, side.view).ticks for side in sides)
    found = track(ticks, rect.width - LABEL - 10)
    top = max((value for side in sides for _, value, _ in past_of(side.state, side.view).scores), default=1.0)
    recorded = on_timeline(sides[0].view)
    # Recordings stand at one tick; one that is over already has the cursor where the others are.
    newest = max((side.state for side in sides), key=lambda state: state.tick)
    if layout.history >= 3:
        about = next((side for side in sides if side.view.chosen), sides[0])
        rows.append(ruler_row(newest, past_of(newest, about.view), found, look, rect.width, label=LABEL) if recorded else blank(rect.width, look))
    lines: list[Row] = []
    for number, side in enumerate(sides):
        past: Past = past_of(side.state, side.view)
        at = newest if recorded else side.state
        label = f"{look.signs.play if side.view.chosen else ' '}{side_name(side, number, LABEL - 1):<{LABEL}}"
        figure: Run = (f"  {side.state.score:g}", look.bright)
        parent = side.state.header.parent if side.state.header is not None else None
        since = parent.tick if parent is not None else 0
        scores, acted = score_runs(past, found, look, at, ahead=recorded, high=top, since=since), acted_runs(past, found, look, at, ahead=recorded, marked=recorded)
        # With one row a side: a race while it is run, what there is to go to in a recording.
        first = acted if recorded and layout.history < 3 else scores
        lines.append(finish(((label, look.bright if side.view.chosen else look.dim), *first, figure), rect.width, look))
        if layout.history >= 3:
            lines.append(finish(((" " * (LABEL + 1), look.dim), *acted), rect.width, look))
    rows += lines
    return rows[: rect.height] + [blank(rect.width, look)] * (rect.height - len(rows))
