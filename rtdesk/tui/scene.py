"""The whole screen as rows of styled text, from the reducer's state, a look and a size. Pure: no Textual, no clock, no file.

    parts = scene(state, view, look, arrange(120, 36))      # {"head": [row], "left": [...], ...}

Each part is a list of rows of the part's exact width and height. Most tests assert on these rows and need no app.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from games.base import Board
from replays.clean import one_line
from replays.notes import why
from replays.view_state import ViewState
from rtdesk.tui.board import STEP, Overlay, draw_board
from rtdesk.tui.history import event_rows, history_rows, plot_rows
from rtdesk.tui.layout import MINIMUM, Layout, Rect
from rtdesk.tui.looks import Look
from rtdesk.tui.meter import alarm, meter_rows, window
from rtdesk.tui.pair import beside_chip, defaults_words, last_rows, name_of, paired, playing, sign_runs
from rtdesk.tui.panes import person_pane, planner_pane, programmed, reactor_pane
from rtdesk.tui.person import count_row
from rtdesk.tui.rail import milliseconds, pace_table, rail
from rtdesk.tui.runs import Row, Run, blank, columns, finish, rule, spread
from rtdesk.tui.timeline import on_timeline, timeline_rows
from rtdesk.tui.views import View

__all__ = ["PART", "decided_row", "draw_game", "fact_rows", "foot", "head", "overlay", "scene"]

_VOICE = {"reactor": "reactor", "forced": "reactor", "plan": "planner", "program": "planner", "human": "person", "default": "default"}
_SHORT = {"none": "no answer", "uncovered": "no line", "truncated": "cut off", "invalid": "not legal", "fault": "failed", "late": "too late"}
"""Why the default action, where there is no room for a clause."""
_SOURCE = {"forced": "reactor, forced", "human": "you", "plan": "plan", "program": "program"}


def scene(state: ViewState, view: View, look: Look, layout: Layout) -> dict[str, list[Row]]:
    """Return every part's rows."""
    return {part: PART[part](state, view, look, layout) for part in layout.parts}


def _exact(rows: Sequence[Row], rect: Rect, look: Look) -> list[Row]:
    rows = list(rows[: rect.height])
    return rows + [blank(rect.width, look)] * (rect.height - len(rows))


def head(state: ViewState, view: View, look: Look, layout: Layout, *, who: str = "") -> list[Row]:
    """Return the head: brand, what runs, which tick, how it runs; below the minimum size a polite line alone. `who` plays, if it is no one agent."""
    rect = layout.parts["head"]
    if layout.small:
        return _exact(_too_small(view, look, layout), rect, look)
    if rect.height == 0:
        return []
    right = _running(state, view, look, rect.width)
    # What gives way first: the thinkers' names, the brand, the load, the seed; nothing is cut in the middle while it can go whole.
    names = rect.width >= 100 and not who
    # Names that touch would read as one.
    room = rect.width - columns(right) - 2
    levels = ((True, True, True), (False, True, True), (False, False, True), (False, False, False))
    tries = [_what_runs(state, look, who, names=names, brand=brand, load=load, seed=seed) for brand, load, seed in levels]
    left = next((runs for runs in tries if columns(runs) <= room), tries[0] if names else tries[-1])
    return [spread(left, right, rect.width, look)]


def _what_runs(state: ViewState, look: Look, who: str, *, names: bool, brand: bool, load: bool, seed: bool) -> list[Run]:
    runs: list[Run] = [(" rtdesk ", look.brand), ("  ", look.base)] if brand else [(" ", look.base)]
    header = state.header
    if header is not None:
        level = (f"{one_line(header.load, 12)} {look.signs.dot} " if load else "") + (f"seed {header.seed}   " if seed else "  ")
        runs += [(one_line(header.game, 30), look.bright), (f" {level}", look.dim), (who or playing(state.header), look.bright)]
        if names:
            titles = dict.fromkeys(one_line(backend.title or backend.spec, 40) for role, backend in header.backends.items() if role != "controller")
            runs.append((" " + " + ".join(titles), look.dim))
    return runs


def _running(state: ViewState, view: View, look: Look, width: int) -> list[Run]:
    status, signs = view.status, look.signs
    total = status.ticks or state.total_ticks or (view.spec.max_ticks if view.spec is not None else None)
    runs: list[Run] = []
    if view.jump:
        runs += [("go to tick ", look.dim), (view.jump + signs.cursor, look.bright), ("   ", look.base)]
    if state.tick >= 0:
        last = total - 1 if status.mode == "replay" and total else total
        runs += [("tick ", look.dim), (f"{state.tick:>3}", look.bright), (f" of {last}" if last is not None else "", look.dim), ("   ", look.base)]
    play = status.play
    if state.end is not None and status.mode == "live":
        play = "ended"
    sign = {"paused": signs.pause, "waiting": signs.wait, "ended": "x" if signs.ascii else "■"}.get(play, signs.bullet if status.mode == "live" else signs.play)
    word = {"playing": status.mode, "paused": "paused", "waiting": "waiting", "ended": "ended"}.get(play, play)
    if status.mode == "replay":
        word = "replay" if play == "playing" else play
    if status.count:
        word = f"starts in {status.count}"
    runs += [(sign + " ", look.dim), (f"{word:<6}", look.bright)]
    speed = ""
    if status.mode == "replay":
        speed = f"{status.speed:g}x" if status.speed != math.inf else "max"
    elif status.rate is not None:
        speed = _rate(status.rate, state.tick_budget)
    if speed:
        runs.append((f" {speed:>6}", look.dim))
    runs.append((" ", look.base))
    return runs


def _rate(rate: float, budget: int | None) -> str:
    if rate <= 0:
        return "held"
    if rate >= 0.1 or not budget:
        return f"{rate:.1f}/s" if rate < 100 else f"{rate:.0f}/s"
    return f"{rate * budget:,.0f} tok/s"


def _too_small(view: View, look: Look, layout: Layout) -> list[Row]:
    width = layout.width
    goes = "waits" if view.status.people else "goes on"
    need, have = f"{MINIMUM[0]}x{MINIMUM[1]}", f"{layout.width}x{layout.height}"
    tries = (f"rtdesk needs {need} cells, this terminal has {have}; the game {goes}", f"needs {need}, has {have}; the game {goes}", f"needs {need}, has {have}", need)
    text = next((one for one in tries if len(one) <= width), need)
    return [blank(width, look)] * ((layout.height - 1) // 2) + [finish((((" " * ((width - len(text)) // 2)) + text, look.text),), width, look)]


def left(state: ViewState, view: View, look: Look, layout: Layout) -> list[Row]:
    """Return board, who decided, facts, and where there is room the score plot and the event list."""
    rect = layout.parts["left"]
    if rect.height == 0:
        return []
    width = rect.width - 1
    title = view.spec.title.lower() if view.spec is not None else "board"
    rows = [rule(look, "", "board" if view.spec is None else title, (), "", width)]
    rows += draw_game(state, view, look, layout, width)
    railed = layout.parts["rail"].height > 0
    facts = fact_rows(state, view, look, width, pace=0 if railed else rect.height - len(rows) - 4)
    decided = decided_row(state, view, look, width)
    room = rect.height - len(rows)
    if room > 1 + len(facts):
        rows.append(blank(width, look))
    rows.append(decided)
    rows += facts[: max(0, rect.height - len(rows))]
    room = rect.height - len(rows)
    if room >= 9:
        plot = min(12, room - 2) if railed else min(9, max(5, room // 3))
        most = f"{view.spec.points_max:g} {view.spec.points_name} = 1.0" if view.spec is not None else ""
        rows += [blank(width, look), rule(look, "", "score", (), most, width), *plot_rows(state, view, look, width, plot)]
        room = rect.height - len(rows)
    if room >= 4 and not railed:
        rows += [blank(width, look), rule(look, "", "events", (), "", width), *event_rows(state, look, width, room - 2)]
    return [(*row, (" ", look.base)) for row in _exact(rows, Rect(0, 0, width, rect.height), look)]


def draw_game(state: ViewState, view: View, look: Look, layout: Layout, width: int) -> list[Row]:
    board = view.board
    if board is None:
        rows = 8 * layout.cell[1] + layout.axes
        parent = state.header.parent if state.header is not None else None
        begins = f"begins at tick {parent.tick}" if parent is not None and view.status.mode == "replay" else "waiting for tick 0"
        return [blank(width, look)] * (rows // 2) + [finish(((f"  {begins}", look.dim),), width, look)] + [blank(width, look)] * (rows - rows // 2 - 1)
    over = overlay(state, view)
    # The board itself is in the key, so it lives as long as its rows do and its identity stays its own.
    return list(view.kept("board", (_Same(board), look, layout.cell, layout.axes, width, over), lambda: _drawn(board, look, layout, width, over)))


class _Same:
    """Equal only for the very same object: a board is large to compare and made once a tick."""

    __slots__ = ("what",)

    def __init__(self, what: object) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.what is other.what

    __hash__ = None  # type: ignore[assignment]


def _drawn(board: Board, look: Look, layout: Layout, width: int, over: Overlay) -> list[Row]:
    drawn = draw_board(board, look, layout.cell, over, axes=layout.axes)
    wide = columns(drawn[0]) if drawn else 0
    margin = max(0, (width - wide) // 2) if not layout.axes else max(0, (width - wide - 2) // 2)
    pad: Run = (" " * margin, look.base)
    return [finish((pad, *row), width, look) for row in drawn]


def overlay(state: ViewState, view: View) -> Overlay:
    """Return what thinkers mean to do, in cells of the board."""
    board = view.board
    if board is None:
        return Overlay()
    here = _stands(board, state.player)
    path: list[tuple[int, int]] = []
    best = state.pins.best
    holds = state.holds is not False
    if best is not None and here is not None:
        for step in best.steps:
            cell = step.to or (step.start if step.turn > state.tick else None)
            if step.turn < state.tick or cell is None:
                continue
            there = (here[0], cell[0]) if len(cell) == 1 else (cell[0], cell[1])
            if there != here and there not in path:
                path.append(there)
    if state.steps > state.tick:
        # It has been applied: what was meant is now where things stand.
        return Overlay(tuple(path[:10]), holds)
    answer = state.answer
    keys = (state.key, state.partner_key)
    letter, voice = (answer.letter, "reactor") if answer is not None and answer.letter else (keys[state.player], "person")
    arrow = _aim(board, state.player, letter)
    beside = 1 - state.player
    spot = _aim(board, beside, keys[beside])
    return Overlay(tuple(path[:10]), holds, arrow, letter, voice, None if spot is None else (spot, keys[beside], "person"))


def _stands(board: Board, player: int) -> tuple[int, int] | None:
    role = ("player", "partner")[player]
    found = next((entity for entity in reversed(board.entities) if entity.role == role and entity.kind != "body"), None)
    return (found.x, found.y) if found is not None else None


def _aim(board: Board, player: int, letter: str) -> tuple[int, int] | None:
    """Return the cell a letter leads a player to, if it leads anywhere."""
    here = _stands(board, player)
    if here is None or letter not in STEP:
        return None
    dx, dy = STEP[letter]
    return here[0] + dx, here[1] + dy


def decided_row(state: ViewState, view: View, look: Look, width: int) -> Row:
    """Return the answer to "who decided": of this tick once there is an answer, else of the tick before."""
    if view.status.count:
        return count_row(view, look, width)
    beside = beside_chip(state, view, look, width)
    return finish((*beside, *_decided(state, view, look, width - columns(beside), beside=bool(beside))), width, look)


def _decided(state: ViewState, view: View, look: Look, width: int, *, beside: bool = False) -> Row:
    """Return who decided for the player who is thought for, or for the only one there is; `beside` says that the other one's stands there, too."""
    answer, last = state.answer, state.thought
    sign = sign_runs(view, state.player, look) if beside else []

    def row(letter: str, source: str, voice: str, notes: Sequence[str], *, loud: bool = False) -> Row:
        # A note that does not fit is left out whole, where there is a shorter one or none at all.
        used = len(f"  {letter}  {source}  ") + columns(sign)
        note = next((one for one in notes if used + len(one) <= width), "" if len(notes) > 1 or beside else notes[0])
        runs: list[Run] = [(" ", look.base), (f" {letter} ", look.chip[voice]), (f" {source}", look.strong[voice] if voice else look.bright)]
        return finish((*runs, *sign, ("  " + note, look.voice["default"] if loud else look.dim)), width, look)

    key = state.partner_key if state.player else state.key
    if key and state.steps <= state.tick and (last is None or last.tick < state.tick):
        return row(key, name_of(state, state.player) if paired(state) else "you", "person", ("in force",))
    span = window(state, view)
    if answer is not None and answer.letter and (last is None or last.tick < state.tick):
        notes = {True: ("plan agrees", "as planned"), False: ("not the plan's", "off plan"), None: ("no plan line", "no plan") if _plans(state) else ("", "")}
        return row(answer.letter, "reactor", "reactor", notes[answer.agrees])
    if last is None:
        words = " nobody has acted yet"
        return finish(((" ", look.base), (f" {look.signs.wait[0]} ", look.dim), (words if len(words) + 4 <= width else " nobody yet", look.dim)), width, look)
    source = name_of(state, state.player) if last.source == "human" and paired(state) else _SOURCE.get(last.source, last.source)
    if last.source == "default":
        loud = alarm(state, span.share if span is not None else 0.0)
        person = state.header is not None and state.header.thinker == "human"
        return row(last.letter, source, "default", ("no key" if person else why(last.reason), _SHORT.get(last.reason or "none", "")), loud=loud)
    said = {True: ("plan agreed", "as planned"), False: (f"plan said {last.plan}", f"plan {last.plan}"), None: ("", "")}
    return row(last.letter, source, _VOICE.get(last.source, ""), said[last.agrees])


def fact_rows(state: ViewState, view: View, look: Look, width: int, *, pace: int = 1) -> list[Row]:
    """Return what is known in figures. `pace` is how many rows the thinkers' pace may take: with less than it needs for all of them, one tells the slow one's."""

    def pair(word: str, value: str, voice: str = "") -> list[Run]:
        return [(f" {word} ", look.dim), (value, look.strong[voice] if voice else look.bright), (" ", look.base)]

    # What must be seen first; the game's own facts where they still fit.
    known = [("score", f"{state.score:>4g}", "")]
    word, figures = defaults_words(state, view, width - 12) if paired(state) else ("defaults", f"{state.defaults:>2}")
    known += [(word, figures, "default" if state.defaults or state.partner_defaults else "")]
    late = state.late + state.partner_late
    known += [("late", f"{late:>2}", "default")] if late else []
    known += [("faults", f"{state.faults:>2}", "default")] if state.faults else []
    known += [(word, f"{value:>2}", "") for word, value in (view.board.status if view.board is not None else ()) if word != "turns left"]
    facts: list[Run] = []
    for word, value, voice in known:
        more = pair(word, value, voice)
        if columns(facts) + columns(more) - 1 <= width:
            facts += more
    rows = [finish(facts, width, look), *last_rows(state, view, look, width)]
    if state.header is None or state.header.backends:
        rows += [_plan_age(state, look, width)] if _plans(state) else []
        table = pace_table(state, look, width) if width >= 26 else []
        if len(table) == 3 and pace >= 3:
            rows += table
        elif pace > 0:
            rows.append(finish(_pace(state, look, width), width, look))
    if view.dropped:
        rows.append(finish(((f" slow terminal: {view.dropped} frames not drawn", look.dim),), width, look))
    return rows


def _plans(state: ViewState) -> bool:
    """Whether somebody plans in this run."""
    return state.header is None or "planner" in state.header.backends


def _plan_age(state: ViewState, look: Look, width: int) -> Row:
    if programmed(state):
        program = state.program
        since = f"since tick {program.since}" if program is not None and program.lines else "none yet"
        return finish(((" program ", look.dim), (since, look.text if program is not None else look.dim)), width, look)
    best = state.pins.best
    if best is None:
        words: list[Run] = [("none yet", look.dim)]
    else:
        age = max(0, state.tick - best.generation)
        made = "this turn's" if age == 0 else f"{age} turn{'s' if age > 1 else ''} old"
        holds = {True: ("holds", look.voice["planner"]), False: ("stale", look.bright), None: ("no line", look.dim)}[state.holds]
        if width < len(f" plan   {made}, {holds[0]}"):
            made = "new" if age == 0 else f"{age} old"
        words = [(f"{made}, ", look.text), holds]
    return finish(((" plan   ", look.dim), *words), width, look)


def _pace(state: ViewState, look: Look, width: int) -> list[Run]:
    tpot, ttft = state.planner.tpot_s, state.planner.ttft_s
    if state.header is not None and "planner" not in state.header.backends:
        tpot, ttft = state.reactor.tpot_s, state.reactor.ttft_s
    wide = width >= 30
    if width < 26:
        return [(" TPOT ", look.dim), (milliseconds(tpot, look), look.text)]
    return [(" TPOT  " if wide else " TPOT ", look.dim), (milliseconds(tpot, look), look.text), ("  TTFT " if wide else " TTFT ", look.dim), (milliseconds(ttft, look), look.text)]


def planner(state: ViewState, view: View, look: Look, layout: Layout) -> list[Row]:
    rect = layout.parts["planner"]
    if rect.height == 0:
        return []
    if state.header is not None and not state.header.backends:
        return _exact(person_pane(state, view, look, rect.width, rect.height), rect, look)
    return _exact(planner_pane(state, view, look, rect.width, rect.height), rect, look)


def reactor(state: ViewState, view: View, look: Look, layout: Layout) -> list[Row]:
    rect = layout.parts["reactor"]
    if rect.height == 0:
        return []
    return _exact(reactor_pane(state, view, look, rect.width, rect.height), rect, look)


def meter(state: ViewState, view: View, look: Look, layout: Layout) -> list[Row]:
    rect = layout.parts["meter"]
    if rect.height == 0:
        return []
    rows = meter_rows(state, view, look, rect.width)
    recorded = on_timeline(view)
    if layout.history >= 3 and not recorded:
        rows.append(blank(rect.width, look))
    past = (state.tick, state.steps, state.noted, state.score, state.header is None, _Same(view.overview), _Same(view.spec), view.status.ticks)
    key = (*past, look, rect.width, layout.history)
    make = timeline_rows if recorded else history_rows
    rows += view.kept("history", key, lambda: make(state, view, look, rect.width, layout.history))
    return _exact(rows, rect, look)


def foot(state: ViewState, view: View, look: Look, layout: Layout) -> list[Row]:
    rect = layout.parts["foot"]
    if rect.height == 0:
        return []
    if view.notice:
        return [finish(((" " + view.notice + " ", look.notice),), rect.width, look)]
    shown = list(view.keys)
    while len(shown) > 2 and sum(len(key) + len(what) + 4 for key, what in shown) > rect.width:
        # Help and quit stand last and stay.
        del shown[-3]
    runs = [run for key, what in shown for run in ((" " + key, look.key), (f" {what}  ", look.dim))]
    return [finish(runs, rect.width, look)]


PART: dict[str, Callable[[ViewState, View, Look, Layout], list[Row]]] = {
    "head": head,
    "left": left,
    "planner": planner,
    "reactor": reactor,
    "rail": rail,
    "meter": meter,
    "foot": foot,
}
