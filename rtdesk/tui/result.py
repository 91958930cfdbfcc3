"""The result card: how an episode went, beside earlier runs of its level, where the time went, and what to do next. Pure.

What must be there always fits 80x24; a strip of who acted, and the curve of the score, come where the screen is high enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from replays.view_state import ViewState
from rtdesk.tui.cards import DONE, framed
from rtdesk.tui.history import plot_rows
from rtdesk.tui.looks import Look
from rtdesk.tui.pair import name_of, paired, playing
from rtdesk.tui.runs import Row, Run
from rtdesk.tui.views import View
from rtdesk.tui.wrap import clip

__all__ = ["last_keys", "result_card"]

STRIP = 60
"""Columns at most of the gauge and of the strip of who acted."""
LABEL = 9
FRAME = 6
"""Rows of a card around its body."""
CURVE = (5, 9)
"""Rows of the curve of the score: at least, at most."""
_VOICES = (("reactor", "reactor", "rf"), ("planner", "plan", "pg"), ("", "policy", "o"), ("person", "you", "h"), ("default", "default", "d"))


def result_card(state: ViewState, view: View, look: Look, width: int, earlier: Sequence[float] = (), *, room: int = 0, look_back: bool = False) -> list[Row]:
    """Return the card for a screen with `room` rows for it. `earlier` are scores of this level's other runs; `look_back` says whether there is a recording to look at."""
    spec, header, inner = view.spec, state.header, width - FRAME
    totals = state.end.totals if state.end is not None else None
    points = totals.points if totals is not None else state.points
    score = totals.score if totals is not None else (spec.normalise(points) if spec is not None else 0.0)
    name = spec.points_name if spec is not None else "points"
    name = name.removesuffix("s") if points == 1 else name
    best = f" of {spec.points_max:g}" if spec is not None else ""
    body: list[list[Run]] = [[(f"{score:.2f}", look.bright), (f"  {points:g} {name}{best}", look.text), (f"   raw score {state.score:g}", look.dim)]]
    body.append(_gauge(score, look, inner))
    if earlier:
        body.append(_earlier(earlier, look, inner))
    body.append([])
    done = state.done_reason or "?"
    who = f"{name_of(state, 0)} and {name_of(state, 1)}" if paired(state) else "you" if header is not None and header.agent == "human" else playing(header)
    ticks = totals.ticks if totals is not None else state.steps
    body.append([(f"{who} ", look.bright), (f"{DONE.get(done, done)} after {ticks} ticks", look.text)])
    spent = _where_time_went(state, look, inner)
    # The keys and the blank row over them come last, but their place is theirs.
    free = room - FRAME - len(body) - len(spent) - 2
    strip = _strip(state, look, inner) if free > 0 and not paired(state) else []
    body += [spent[0], *([strip] if strip else []), *spent[1:]]
    free -= bool(strip)
    if free > CURVE[0] + 1 and len(state.history.scores) > 1:
        height = min(CURVE[1], free - 1)
        body += [[], *(list(row) for row in plot_rows(state, view, look, min(inner, STRIP + LABEL), height, ticks=ticks))]
    body += [[], last_keys(look, look_back=look_back)]
    if room and len(body) + FRAME > room:
        # The smallest screens have no rows to rest the eye on.
        body = [row for row in body if row]
    return framed("result", body, look, width, foot="Esc shows the board")


def last_keys(look: Look, *, look_back: bool) -> list[Run]:
    """Return what can be done next, each with its key."""
    named = [("r", "again"), ("n", "next seed"), *([("v", "look back")] if look_back else []), ("q", "quit")]
    runs = [run for key, word in named for run in ((f" {key} ", look.key), (f"{word}   ", look.dim))]
    return [*runs[:-1], (runs[-1][0].rstrip(), look.dim)]


def _gauge(share: float, look: Look, width: int) -> list[Run]:
    room = _strip_room(width)
    full = _column(share, room)
    return [(look.signs.block * full, look.bright), (look.signs.line * (room - full), look.rule)]


def _strip_room(width: int) -> int:
    return max(10, min(width, STRIP))


def _column(share: float, room: int) -> int:
    return max(0, min(room, round(share * room)))


def _earlier(scores: Sequence[float], look: Look, width: int) -> list[Run]:
    """Return where the best earlier run of this level stands below the gauge, and in words how they went."""
    room, best = _strip_room(width), max(scores)
    runs = f"{len(scores)} earlier run{'s' if len(scores) > 1 else ''}"
    words = f"best {best:.2f} of {runs}, mean {sum(scores) / len(scores):.2f}" if len(scores) > 1 else f"{runs} {best:.2f}"
    at = min(_column(best, room), room - 1)
    if at + 2 + len(words) <= width:
        return [(" " * at, look.base), (f"{look.signs.up} {words}", look.dim)]
    if len(words) + 1 <= at:
        return [(" " * (at - len(words) - 1), look.base), (f"{words} {look.signs.up}", look.dim)]
    return [(words, look.dim)]


def _fitting(variants: Sequence[str], room: int) -> str:
    """Return the first, longest, of the variants that fits; the last, whatever it takes, if none does."""
    return next((one for one in variants if len(one) <= room), variants[-1])


def _strip(state: ViewState, look: Look, width: int) -> list[Run]:
    """Return one strip for all ticks, divided by who acted in them; nothing where nobody has."""
    acted = state.history.acted
    counts = [(voice, sum(acted.count(sign) for sign in signs)) for voice, _, signs in _VOICES]
    total = sum(count for _, count in counts)
    if not total:
        return []
    room = max(10, min(width - LABEL, STRIP - LABEL))
    sign = {"default": "!", "": look.signs.lower, "planner": look.signs.lower, "person": look.signs.block, "reactor": look.signs.upper}
    runs: list[Run] = [(" " * LABEL, look.base)]
    seen = at = 0
    for voice, count in counts:
        seen += count
        # Who acted once is seen, however long the run was.
        upto = max(round(seen / total * room), at + (count > 0))
        runs.append((sign[voice] * (upto - at), look.strong[voice]))
        at = upto
    return runs


def _acted(label: str, acted: str, late: int, look: Look, keys: str = "you") -> list[Run]:
    """Say where one player's actions came from; `keys` is what a person's are called."""
    runs: list[Run] = [(label, look.dim)]
    for voice, word, signs in _VOICES:
        count = sum(acted.count(sign) for sign in signs)
        if count:
            runs += [(f"{keys if voice == 'person' else word} {count}", look.strong[voice]), ("   ", look.base)]
    return [*runs, (f"late {late}", look.strong["default"])] if late else runs


def _where_time_went(state: ViewState, look: Look, width: int) -> list[list[Run]]:
    rows: list[list[Run]] = []
    history = state.history
    if paired(state):
        players = ((0, history.acted, state.late), (1, history.partner, state.partner_late))
        rows += [_acted(f"{clip(name_of(state, player), 8, look.signs.ellipsis):<9}", acted, late, look, "keys") for player, acted, late in players]
    else:
        rows.append(_acted("acted    ", history.acted, state.late, look))
    budget = (state.tick_budget or 0) * max(1, state.steps)
    if state.planner.total_tokens and not budget:
        rows.append([("planner  ", look.dim), (f"{state.planner.total_tokens:,} tokens", look.voice["planner"])])
    elif state.planner.total_tokens:
        thinking = min(1.0, state.planner.total_tokens / budget)
        said = f"{state.planner.total_tokens:,} tokens"
        words = _fitting((f"   thought {thinking:.0%} of the time, idle {1 - thinking:.0%}", f"   thought {thinking:.0%}, idle {1 - thinking:.0%}"), width - LABEL - len(said))
        rows.append([("planner  ", look.dim), (said, look.voice["planner"]), (words, look.text)])
    if state.reactor.total_tokens:
        mean = state.reactor.total_tokens / max(1, state.steps)
        rows.append([("reactor  ", look.dim), (f"{state.reactor.total_tokens:,} tokens", look.voice["reactor"]), (f"   {mean:,.0f} a tick" + (f" of {state.reactive_budget:,}" if state.reactive_budget else ""), look.text)])
    both = state.changed + state.followed
    if both:
        times = f"{state.changed} time{'' if state.changed == 1 else 's'}"
        lines = f"fitting plan line{'' if both == 1 else 's'}"
        followed = f"followed {state.followed} of {both} {lines}" if state.changed else f"followed {'the one' if both == 1 else f'all {both}'} {lines}"
        rows.append([("guidance ", look.dim), (_fitting((f"{followed}, went another way {times}", followed) if state.changed else (followed,), width - LABEL), look.text)])
    if state.faults:
        rows.append([("faults   ", look.dim), (f"{state.faults}", look.strong["default"])])
    return rows
