"""What a wide screen has room for beside the streams: how fast each thinker is, how many tokens thoughts need, what happened. Pure.

The plot of token use is a CDF: how large a share of a thinker's finished thoughts needed no more than so many tokens. Its axis is
logarithmic, because a plan takes many times what an answer takes and both are to be read off one picture. Thoughts that were cut
count as still running where they were cut (`replays.timing.natural_use`), so a curve that ends below the top says that some
thoughts need more than they were given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from replays.streams import StreamState
from replays.timing import natural_use
from replays.view_state import ViewState
from rtdesk.tui.canvas import Canvas
from rtdesk.tui.history import event_rows
from rtdesk.tui.layout import Layout
from rtdesk.tui.looks import Look
from rtdesk.tui.runs import Row, Run, blank, columns, finish, rule
from rtdesk.tui.views import View

__all__ = ["milliseconds", "pace_table", "rail", "use_rows"]

PLOT = 8
"""Rows of the curves."""
LABEL = 6
"""Columns of the share at their left."""
OCTAVES = (3, 20)
"""The axis reaches from 8 tokens at the least to a million at the most."""
_MARKS = (("reactor", "N_TR"), ("planner", "N_TE"))


def rail(state: ViewState, view: View, look: Look, layout: Layout) -> list[Row]:
    """Return the rows of the rail: empty where the screen has none."""
    rect = layout.parts["rail"]
    if rect.height == 0:
        return []
    width = rect.width - 2
    rows: list[Row] = []
    streams = thinkers(state)
    if streams:
        rows += [rule(look, "", "thinkers", (), "", width), *pace_table(state, look, width), blank(width, look)]
        ended = tuple(len(stream.ends) and stream.ends[-1] for stream in streams)
        key = (ended, state.header is None, state.tick_budget, state.reactive_budget, look, width)
        rows += view.kept("use", key, lambda: [*use_rows(state, look, width), blank(width, look)])
    room = rect.height - len(rows)
    if room >= 2:
        rows += [rule(look, "", "events", (), "", width), *event_rows(state, look, width, room - 1)]
    rows = rows[: rect.height] + [blank(width, look)] * (rect.height - len(rows))
    return [((" ", look.base), *row, (" ", look.base)) for row in rows]


def thinkers(state: ViewState) -> list[StreamState]:
    """Return the streams of a run's thinkers; both of them before it is known who thinks."""
    names = state.header.backends if state.header is not None else ("planner", "reactor")
    return [stream for stream in (state.planner, state.reactor) if stream.name in names]


def pace_table(state: ViewState, look: Look, width: int) -> list[Row]:
    """Return a line for each thinker: time per output token, time to the first, and where there is room its tokens. The heads are a line above."""
    wide = width >= 44
    heads = f" {'':<8}{'TPOT':>8} {'TTFT':>8}" + (f"{'this tick':>10}{'in all':>10}" if wide else "")
    rows = [finish(((heads, look.dim),), width, look)]
    for stream in thinkers(state):
        runs: list[Run] = [(f" {stream.name:<8}", look.voice[stream.name]), (f"{milliseconds(stream.tpot_s, look):>8} {milliseconds(stream.ttft_s, look):>8}", look.text)]
        if wide:
            runs.append((f"{stream.tick_tokens:>10,}{stream.total_tokens:>10,}", look.text))
        rows.append(finish(runs, width, look))
    return rows


def milliseconds(seconds: float | None, look: Look) -> str:
    """Return a time as people read it, seven columns wide; what is less than a hundredth of a millisecond in its own unit."""
    if seconds is None:
        return "-".rjust(7)
    value = seconds * 1000
    if 0 < value < 0.01:
        return (f"{value * 1000:.1f} " + ("us" if look.signs.ascii else "µs")).rjust(7)
    return (f"{value:.2f} ms" if value < 10 else f"{value:.0f} ms" if value < 10_000 else f"{seconds:.1f} s").rjust(7)


def use_rows(state: ViewState, look: Look, width: int) -> list[Row]:
    """Return the curves of token use with their heading: of each thinker's last thoughts, as many as the state keeps."""
    found = [(stream.name, natural_use([(tokens, finish != "stop") for _, tokens, finish in stream.ends])) for stream in thinkers(state)]
    known = [(name, use) for name, use in found if use is not None and use["most"] > 0]
    rows = [rule(look, "", "token use", ("share of thoughts done within",), "", width)]
    if not known:
        return [*rows, finish((("   no thought has ended yet", look.dim),), width, look), *[blank(width, look)] * (PLOT + 3)]
    marks = {voice: budget for (voice, _), budget in zip(_MARKS, (state.reactive_budget, state.tick_budget)) if budget and budget > 0}
    low, high = _reach(known, marks)
    inner = width - LABEL - 1
    scale = inner / (high - low)

    def column(tokens: float) -> int:
        return max(0, min(inner - 1, int((math.log2(max(1.0, tokens)) - low) * scale)))

    rows += [_said(name, use, look, width) for name, use in known] + [blank(width, look)] * (2 - len(known))
    canvas = Canvas(inner, PLOT)
    for budget in marks.values():
        for line in range(PLOT):
            canvas.write(column(budget), line, ":" if look.signs.ascii else "┊", "rule" if look.colour else None)
    for name, use in known:
        _curve(canvas, [(column(tokens), share) for tokens, share in use["cdf"]], name, look)
    for line, drawn in enumerate(canvas.rows(look)):
        label = "100% " if line == 0 else " 50% " if line == (PLOT - 1) // 2 else "  0% " if line == PLOT - 1 else "     "
        rows.append(finish(((f" {label}", look.dim), *drawn), width, look))
    rows.append(finish(((" " * LABEL, look.base), (_axis(low, high, inner, scale), look.faint)), width, look))
    rows.append(_budgets(marks, column, look, width))
    return rows


def _reach(known: Sequence[tuple[str, dict[str, Any]]], marks: dict[str, int]) -> tuple[int, int]:
    """Return the powers of two the axis begins and ends with: all thoughts and both budgets lie within."""
    least = min([use["cdf"][0][0] if use["cdf"] else use["most"] for _, use in known] + list(marks.values()))
    most = max([use["most"] for _, use in known] + list(marks.values()))
    low = min(max(OCTAVES[0], math.floor(math.log2(max(1, least)))), OCTAVES[1] - 2)
    return low, max(low + 2, min(OCTAVES[1], math.ceil(math.log2(max(1, most) + 1))))


def _curve(canvas: Canvas, points: Sequence[tuple[int, float]], voice: str, look: Look) -> None:
    """Draw a staircase through (column, share); it goes on to the right edge only where all thoughts are told."""
    if not points:
        return
    top = 2 * canvas.height - 1
    shares = dict(points)
    share, before = 0.0, 0
    last = canvas.width if points[-1][1] >= 1 - 1e-6 else points[-1][0] + 1
    for column in range(points[0][0], last):
        share = shares.get(column, share)
        level = round(share * top)
        for step in range(min(before, level), max(before, level) + 1):
            if look.colour and not look.signs.ascii:
                canvas.dot(column, top - step, voice)
            else:
                canvas.write(column, (top - step) // 2, voice[0], voice if look.colour else None)
        before = level


def _said(name: str, use: dict[str, Any], look: Look, width: int) -> Row:
    """Return in words what a curve says."""
    half, most = use["p50"], use["p90"]
    words = f"half in {half:,}" if half is not None else "half need more"
    words += f", 90% in {most:,}" if most is not None else f", {use['cut']} of {use['streams']} cut"
    return finish(((look.signs.bar, look.voice[name]), (f" {name:<8}", look.strong[name]), (words, look.text)), width, look)


def _axis(low: int, high: int, inner: int, scale: float) -> str:
    text = ""
    for power in range(low, high + 1):
        size = 1 << power
        label = f"{size >> 20}M" if power >= 20 else f"{size >> 10}k" if power >= 10 else f"{size}"
        start = int((power - low) * scale)
        start = min(start, inner - len(label))
        if start > len(text) or not text:
            text += " " * (start - len(text)) + label
    return text


def _budgets(marks: dict[str, int], column: Any, look: Look, width: int) -> Row:
    """Return the row that names the budgets, each under its own line."""
    runs: list[Run] = [(" " * LABEL, look.base)]
    names = dict(_MARKS)
    for voice, budget in sorted(marks.items(), key=lambda item: item[1]):
        label = f"{look.signs.up} {names[voice]}"
        start = LABEL + column(budget)
        at = columns(runs)
        if start + len(label) > width:
            start, label = start - len(label) + 1, f"{names[voice]} {look.signs.up}"
        if start > at - (at == LABEL):
            runs += [(" " * (start - at), look.base), (label, look.voice[voice])]
    return finish(runs, width, look)
