"""Cards that lie over the streams: help, find, log, result. Pure: rows of styled text, like the rest of the scene."""

from __future__ import annotations

from collections.abc import Sequence

from replays.clean import clean
from replays.view_state import ViewState
from rtdesk.tui.keys import COMMANDS, FIND
from rtdesk.tui.layout import Layout, Rect
from rtdesk.tui.looks import Look
from rtdesk.tui.pair import name_of, paired, playing
from rtdesk.tui.runs import Row, Run, blank, columns, finish, rule
from rtdesk.tui.views import View
from rtdesk.tui.wrap import clip, fit, last_rows, rows_at

__all__ = ["DONE", "card_rect", "find_card", "framed", "help_card", "log_card", "result_card"]

DONE = {"goal": "reached the goal", "dead": "died", "cap": "time was up", "ticks": "time was up", "quit": "ended by hand", "fault": "ended by a fault"}
"""Why an episode is over, in words."""


def card_rect(layout: Layout, kind: str, rows: int) -> Rect:
    """Return where a card of `rows` rows lies: the log drawer at the foot of the streams, help over board and streams, others over the streams."""
    planner, reactor = layout.parts["planner"], layout.parts["reactor"]
    top, bottom = 1, 1 + layout.parts["left"].height
    if kind == "log":
        height = min(max(6, (bottom - top) * 2 // 3), bottom - top)
        return Rect(planner.x, bottom - height, planner.width or reactor.width, height)
    area = planner if planner.height else reactor
    left, room = (0, layout.width) if kind in ("help", "rules", "match") or not area.height else (area.x, area.width)
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
    half = (width - 4) // 2
    cells_of = [(command.playing_label if human else command.label, command.help) for command in COMMANDS if command.help not in ("and back", "and forward")]
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
    return [rule(look, "", "log", (), "l closes", width), *rows]


def result_card(state: ViewState, view: View, look: Look, width: int, earlier: Sequence[float] = ()) -> list[Row]:
    """Return how the episode went: score, where the time went, what the guidance changed, what to do next."""
    end, header = state.end, state.header
    spec = view.spec
    body: list[list[Run]] = []
    totals = end.totals if end is not None else None
    points = totals.points if totals is not None else state.points
    score = totals.score if totals is not None else (spec.normalise(points) if spec is not None else 0.0)
    name = spec.points_name if spec is not None else "points"
    name = name.removesuffix("s") if points == 1 else name
    best = f" of {spec.points_max:g}" if spec is not None else ""
    body.append([(f"{score:.2f}", look.bright), (f"  {points:g} {name}{best}", look.text), (f"   raw score {state.score:g}", look.dim)])
    body.append(_gauge(score, look, width - 6))
    if earlier:
        runs = f"{len(earlier)} earlier run{'s' if len(earlier) > 1 else ''} of this level: best {max(earlier):.2f}, mean {sum(earlier) / len(earlier):.2f}"
        body.append([(runs, look.dim)])
    body.append([])
    done = state.done_reason or "?"
    who = f"{name_of(state, 0)} and {name_of(state, 1)}" if paired(state) else "you" if header is not None and header.agent == "human" else playing(state.header)
    ticks = totals.ticks if totals is not None else state.steps
    body.append([(f"{who} ", look.bright), (f"{DONE.get(done, done)} after {ticks} ticks", look.text)])
    body += _where_time_went(state, look, width - 4)
    body.append([])
    keys: list[Run] = [(" r ", look.key), ("again   ", look.dim), ("n ", look.key), ("next seed   ", look.dim), ("q ", look.key), ("quit   ", look.dim)]
    body.append([*keys, (_fitting(("   Esc looks at the board", "Esc the board"), width - 4 - columns(keys)), look.faint)])
    return framed("result", body, look, width, foot="")


def _gauge(share: float, look: Look, width: int) -> list[Run]:
    room = max(10, min(width, 60))
    full = max(0, min(room, round(share * room)))
    return [(look.signs.block * full, look.bright), (look.signs.line * (room - full), look.rule)]


def _fitting(variants: Sequence[str], room: int) -> str:
    """Return the first, longest, of the variants that fits; the last, whatever it takes, if none does."""
    return next((one for one in variants if len(one) <= room), variants[-1])


def _acted(label: str, acted: str, late: int, look: Look, keys: str = "you") -> list[Run]:
    """Say where one player's actions came from; `keys` is what a person's are called."""
    runs: list[Run] = [(label, look.dim)]
    for voice, word, signs in (("reactor", "reactor", "rf"), ("planner", "plan", "pgo"), ("person", keys, "h"), ("default", "default", "d")):
        count = sum(acted.count(sign) for sign in signs)
        if count:
            runs += [(f"{word} {count}", look.strong[voice]), ("   ", look.base)]
    return [*runs, (f"late {late}", look.strong["default"])] if late else runs


def _where_time_went(state: ViewState, look: Look, width: int) -> list[list[Run]]:
    rows: list[list[Run]] = []
    history = state.history
    if paired(state):
        rows += [_acted(f"{clip(name_of(state, player), 8, look.signs.ellipsis):<9}", acted, late, look, "keys") for player, acted, late in ((0, history.acted, state.late), (1, history.partner, state.partner_late))]
    else:
        rows.append(_acted("acted    ", history.acted, state.late, look))
    budget = (state.tick_budget or 0) * max(1, state.steps)
    if state.planner.total_tokens and not budget:
        rows.append([("planner  ", look.dim), (f"{state.planner.total_tokens:,} tokens", look.voice["planner"])])
    elif state.planner.total_tokens:
        thinking = min(1.0, state.planner.total_tokens / budget)
        said = f"{state.planner.total_tokens:,} tokens"
        words = _fitting((f"   thought {thinking:.0%} of the time, idle {1 - thinking:.0%}", f"   thought {thinking:.0%}, idle {1 - thinking:.0%}"), width - 9 - len(said))
        rows.append([("planner  ", look.dim), (said, look.voice["planner"]), (words, look.text)])
    if state.reactor.total_tokens:
        mean = state.reactor.total_tokens / max(1, state.steps)
        rows.append([("reactor  ", look.dim), (f"{state.reactor.total_tokens:,} tokens", look.voice["reactor"]), (f"   {mean:,.0f} a tick" + (f" of {state.reactive_budget:,}" if state.reactive_budget else ""), look.text)])
    both = state.changed + state.followed
    if both:
        followed = f"followed {state.followed} of {both} fitting plan lines"
        words = _fitting((f"{followed}, went another way {state.changed} time{'' if state.changed == 1 else 's'}", followed), width - 9)
        rows.append([("guidance ", look.dim), (words, look.text)])
    if state.faults:
        rows.append([("faults   ", look.dim), (f"{state.faults}", look.strong["default"])])
    return rows
