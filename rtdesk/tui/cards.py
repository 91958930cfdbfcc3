"""Cards that lie over the streams: help, find, log. Pure: rows of styled text, like the rest of the scene."""

from __future__ import annotations

from collections.abc import Sequence

from replays.clean import clean
from replays.view_state import ViewState
from rtdesk.tui.keys import COMMANDS, FIND, UNTOLD
from rtdesk.tui.layout import Layout, Rect
from rtdesk.tui.looks import Look
from rtdesk.tui.runs import Row, Run, blank, finish, rule
from rtdesk.tui.views import View
from rtdesk.tui.wrap import fit, last_rows, rows_at

__all__ = ["ABREAST", "BROKE_OFF", "DONE", "card_rect", "find_card", "framed", "help_card", "log_card"]

ABREAST = 56
"""Columns of the help card's first half at most: what belongs together stays together on a wide screen."""
NARROW = 46
"""Columns of the streams below which a card lies over the board as well."""

DONE = {"goal": "reached the goal", "dead": "died", "cap": "time was up", "ticks": "time was up", "quit": "ended by hand", "fault": "ended by a fault"}
"""Why an episode is over, in words."""
BROKE_OFF = "broke off"
"""Why one is that left no end."""


def card_rect(layout: Layout, kind: str, rows: int) -> Rect:
    """Return where a card of `rows` rows lies: the log drawer at the foot of the streams, help over board and streams, others over the streams."""
    planner, reactor = layout.parts["planner"], layout.parts["reactor"]
    top, bottom = 1, 1 + layout.parts["left"].height
    if kind == "log":
        height = min(max(6, (bottom - top) * 2 // 3), bottom - top)
        return Rect(planner.x, bottom - height, planner.width or reactor.width, height)
    area = planner if planner.height else reactor
    left, room = (0, layout.width) if kind in ("help", "rules", "match") or area.width < NARROW or not area.height else (area.x, area.width)
    # As wide as what it covers: slivers of text at its sides would only disturb.
    height = min(rows, bottom - top)
    return Rect(left, top + (bottom - top - height) // 2, room, height)


def framed(title: str, body: Sequence[Sequence[Run]], look: Look, width: int, *, foot: str = "Esc closes", voice: str = "") -> list[Row]:
    """Return a card: a heading rule, and rows with a bar at their left."""
    bar: Run = (look.signs.bar, look.voice[voice] if voice else look.bright)
    rows = [blank(width, look), rule(look, voice, title, (), foot, width)]
    for line in ((), *body, ()):
        rows.append(finish((bar, ("  ", look.base), *line), width, look))
    return [*rows, blank(width, look)]


def help_card(state: ViewState, view: View, look: Look, width: int) -> list[Row]:
    """Return the keys in two columns, the signs, and what the board's game is about."""
    human = view.status.played
    half = min(ABREAST, (width - 4) // 2)
    cells_of = [(command.playing_label if human else command.label, command.help) for command in COMMANDS if command.action not in UNTOLD]
    middle = -(-len(cells_of) // 2)
    body: list[list[Run]] = []
    for i in range(middle):
        line: list[Run] = []
        for label, words in cells_of[i::middle]:
            line += [(f"{label:<6}", look.bright), (fit(words, half - 7, look.signs.ellipsis) + " ", look.text)]
        body.append(line)
    body.append([])
    body.append([(f"{voice}   ", look.strong[voice]) for voice in ("planner", "reactor", "person")] + [("default action", look.strong["default"]), ("   one colour a voice", look.dim)])
    signs = look.signs
    body.append([(f"{signs.diamond} plan holds   {signs.hollow} went stale   {signs.arrows['R']} the reactor's answer   {signs.shade} its share of a tick", look.dim)])
    if view.spec is not None:
        body.append([])
        body.append([(view.spec.title, look.bright)])
        for words, style in ((view.spec.summary, look.text), *((line, look.dim) for line in view.spec.help)):
            body += [[(row.text, style)] for row in rows_at(words, width - 5, 4, 0)]
    return framed("help", body, look, width)


def find_card(view: View, look: Look, width: int) -> list[Row]:
    """Return the kinds of event one can go to."""
    later = view.status.mode == "replay"
    head = "go to the next tick with ..." if later else "run on until the next ..., then pause"
    body: list[list[Run]] = [[(head, look.text)], []]
    for key, kind, words in FIND:
        voice = {"default": "default", "late": "default", "fault": "default", "bookmark": "person", "stale": "planner"}.get(kind, "")
        sign = look.signs.marks.get(kind, " ")
        body.append([(f"{key}  ", look.bright), (f"{sign} ", look.strong[voice] if voice else look.bright), (words, look.text)])
    return framed("find", body, look, width)


def log_card(lines: Sequence[str], look: Look, width: int, height: int) -> list[Row]:
    """Return the newest log lines."""
    text = clean("\n".join(line[:2000] for line in lines[-400:]))
    rows = [finish(((" ", look.base), (row.text, look.soft)), width, look) for row in last_rows(text, width - 2, max(1, height - 1))]
    rows += [blank(width, look)] * (height - 1 - len(rows))
    return [rule(look, "", "log", (), "Esc closes", width), *rows]
