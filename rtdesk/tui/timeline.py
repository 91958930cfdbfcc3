"""A recording's timeline: a ruler with the cursor, and below it, column by column, score, events and who acted. Pure.

With three rows the ruler is a fourth above them; in a small terminal one row says it all. While words are looked for, the ruler shows
where they were said.
"""

from __future__ import annotations

from replays.clean import width as cells
from replays.view_state import ViewState
from rtdesk.tui.history import LABEL, Past, Track, event_runs, history_rows, past_of, track
from rtdesk.tui.looks import Look
from rtdesk.tui.runs import Row, Run, finish
from rtdesk.tui.views import View

__all__ = ["on_timeline", "ruler_row", "timeline_rows"]

STEPS = tuple(digit * 10**zeros for zeros in range(20) for digit in (1, 2, 5))
APART = 8
"""Columns between two figures of the ruler, at least."""
MARGIN = 10
"""Columns at the right end for the figures of the rows."""


def on_timeline(view: View) -> bool:
    """Whether the screen shows a recording whose whole length is known."""
    return view.status.mode == "replay" and view.overview is not None


def timeline_rows(state: ViewState, view: View, look: Look, width: int, rows: int) -> list[Row]:
    """Return the rows below the tick's own: ruler, score, events and acted, or one row where there is no room for more."""
    past = past_of(state, view)
    found = track(past.ticks, width - LABEL - MARGIN)
    if rows >= 3:
        return [ruler_row(state, past, found, look, width), *history_rows(state, view, look, width, rows)]
    label = f" {'found' if past.hits else 'events':<{LABEL}}"
    runs: list[Run] = [(label, look.dim), *(_hits(state, past, found, look) if past.hits else event_runs(past, found, look, state, ahead=True))]
    return [finish((*runs, (f"  {state.score:g}", look.bright)), width, look)]


def ruler_row(state: ViewState, past: Past, found: Track, look: Look, width: int, *, label: int = LABEL) -> Row:
    """Return the row above the others: where the cursor is, and figures; or where the words looked for were said."""
    word = f" {'found' if past.hits else 'tick':<{label}}"
    cursor = found.column(max(0, state.tick))
    here = f"{look.signs.down}{max(0, state.tick)}"
    # The cursor's figure stands left of it where it would leave the row.
    at = cursor if cursor + len(here) <= found.columns + MARGIN else cursor - len(here) + 1
    here = here if at == cursor else here[1:] + here[:1]
    runs: list[Run] = [(word, look.dim)]
    if past.hits:
        return finish((*runs, *_hits(state, past, found, look)), width, look)
    room = width - cells(word)
    row = [" "] * room
    for column, figure in _figures(found, room):
        # A figure beside the cursor's own would run into it.
        if column > at + len(here) or column + len(figure) < at:
            row[column : column + len(figure)] = figure
    text = "".join(row)
    return finish((*runs, (text[:at], look.faint), (here, look.bright), (text[at + len(here) :], look.faint)), width, look)


def _figures(found: Track, room: int) -> list[tuple[int, str]]:
    """Return (column, figure) of what stands on the ruler."""
    step = next((one for one in STEPS if found.column(min(one, found.ticks)) >= APART), STEPS[-1])
    shown = ((found.column(tick), str(tick)) for tick in range(0, found.ticks, step))
    return [(column, figure) for column, figure in shown if column + len(figure) <= min(room, found.columns + MARGIN - 1)]


def _hits(state: ViewState, past: Past, found: Track, look: Look) -> list[Run]:
    cursor = found.column(max(0, state.tick))
    columns = {found.column(tick) for tick in past.hits}
    runs: list[Run] = []
    for column in range(found.columns):
        sign = look.signs.bar if column in columns else look.signs.dot if found.wide <= 1 or column % found.wide == 0 else " "
        runs.append((sign, look.notice if column == cursor else look.strong["person"] if column in columns else look.faint))
    return runs
