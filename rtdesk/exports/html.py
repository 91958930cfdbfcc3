"""One page to click through: board, both streams, meter, timeline and a slider, in a single file that asks the network for nothing.

The data stands in the page as JSON, page.js draws it and page.css dresses it. The one thing that surprises: a page forbids itself
everything (Content-Security-Policy) but the one script and the one style whose hashes it names, and text only ever becomes text nodes;
so what a model said cannot do anything in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from games.base import Board, Entity
from replays import events as ev
from replays.clean import clean, one_line
from replays.info import strict
from replays.notes import KIND, why
from replays.plans import where
from replays.reader import Replay
from replays.reduce import fold
from replays.view_state import ViewState
from rtdesk.exports import Span
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.looks import make_look
from rtdesk.tui.meter import window
from rtdesk.tui.pair import name_of, of_whom, paired, playing
from rtdesk.tui.scene import overlay
from rtdesk.tui.views import View

__all__ = ["html_page", "page_data"]

MOST_CHARS = 32_000
"""Characters of a stream that are kept of one tick: its last ones, which is what one reads."""
LEAST_CHARS = 300
TEXT_BYTES = 12_000_000
"""About how much text a page holds; in a long recording less is kept of each tick."""
VOICE = {"reactor": "reactor", "forced": "reactor", "plan": "planner", "program": "planner", "policy": "planner", "human": "person", "default": "default"}


def html_page(recording: Replay, span: Span, *, game: str | None = None) -> str:
    """Return the page of the ticks of `span`; `game` is one the person trusts to draw the board."""
    data = page_data(recording, span, game=game)
    script, style = (files("rtdesk.exports").joinpath(name).read_text("utf-8") for name in ("page.js", "page.css"))
    style = _themes() + style
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    title = escape(data["title"])
    # As JSON allows: no `<` in the text, so nothing in it can end the element it stands in.
    told = json.dumps(strict(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        told = told.replace(sign, f"\\u{ord(sign):04x}")
    return _PAGE.format(title=title, policy=policy, style=style, script=script, data=told)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _themes() -> str:
    """Return the screen's own palettes as CSS variables."""

    def rules(name: str) -> str:
        return "".join(f"--{word.replace('_', '-')}:{colour};" for word, colour in make_look(name).palette.items())

    light = rules("light") + "color-scheme:light;"
    dark = rules("dark") + "color-scheme:dark;"
    return f":root{{{dark}}}@media (prefers-color-scheme:light){{:root{{{light}}}}}:root[data-theme=dark]{{{dark}}}:root[data-theme=light]{{{light}}}\n"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="rtdesk">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<noscript><p>This page draws a recording of rtdesk and needs its script to run; it loads nothing from anywhere.</p></noscript>
<main id="desk" hidden></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page_data(recording: Replay, span: Span, *, game: str | None = None) -> dict[str, Any]:
    """Return all the page shows, as strict JSON has it."""
    header = recording.header
    maker = BoardMaker.named(game)
    state = fold(ViewState(), header)
    kept = [tick for tick in recording.ticks if span.first <= tick <= span.last]
    limit = max(LEAST_CHARS, min(MOST_CHARS, TEXT_BYTES // (2 * max(1, len(kept)))))
    ticks: list[dict[str, Any]] = []
    boards: list[Board | None] = []
    for tick in recording.ticks:
        if tick > span.last:
            break
        events = recording.events(tick)
        shown = tick >= span.first
        said: dict[str, Any] = {}
        for event in events:
            if not said and isinstance(event, ev.Action | ev.End) and shown:
                said = _said(state, maker, boards)
            if isinstance(event, ev.Event):
                fold(state, event)
        if shown:
            said = said or _said(state, maker, boards)
            ticks.append({"t": tick, **said, **_streams(events, state, limit), **_done(events, state, tick)})
    marks = {event.tick for event in recording.annotations if isinstance(event, ev.Bookmark)}
    for row in ticks:
        row["mark"] = row["mark"] or ("bookmark" if row["t"] in marks else "")
    ground = _ground(boards)
    for row, board in zip(ticks, boards):
        row["e"] = [_entity(one) for one in (board.entities if board is not None else ()) if one not in ground]
    spec = maker.spec
    board = next((one for one in boards if one is not None), None)
    wall = header.clock == "wall"
    names = dict.fromkeys(one_line(backend.title or backend.spec, 40) for role, backend in header.backends.items() if role != "controller")
    return {
        "title": one_line(f"{header.game} {header.load}, seed {header.seed}, {playing(state.header)} - rtdesk", 160),
        "game": one_line(header.game, 40),
        "load": one_line(header.load, 20),
        "seed": header.seed,
        "agent": playing(state.header),
        "whose": of_whom(state),
        "thinkers": " + ".join(names),
        "unit": "s" if wall else "tokens",
        "budget": header.tick_budget_s if wall else header.tick_budget_tokens,
        "planner": "planner" in header.backends,
        "reactor": "reactor" in header.backends,
        "points": spec.points_name if spec is not None else "points",
        "most": spec.points_max if spec is not None else None,
        "columns": board.columns if board is not None else 0,
        "rows": board.rows if board is not None else 0,
        "ground": [_entity(one) for one in board.entities if one in ground] if board is not None else [],
        "parent": None if header.parent is None else header.parent.tick,
        "ended": one_line(state.done_reason or "", 20),
        "ticks": ticks,
    }


def _said(state: ViewState, maker: BoardMaker, boards: list[Board | None]) -> dict[str, Any]:
    """Return the screen's facts at the end of a tick: everything said, nothing applied."""
    board = maker.board(state.header, state.snapshot)
    boards.append(board)
    view = View(board=board, spec=maker.spec)
    over, span, best, answer = overlay(state, view), window(state, view), state.pins.best, state.answer
    out: dict[str, Any] = {
        "path": [list(cell) for cell in over.path],
        "holds": state.holds,
        "arrow": [*over.arrow, over.letter, over.voice] if over.arrow is not None else None,
        "wake": None if span is None or span.wakes is None or not span.total else round(span.wakes / span.total, 4),
        "said": None if span is None or span.answered is None or not span.total else round(span.answered / span.total, 4),
        "status": [[word, value] for word, value in (board.status if board is not None else ())],
        "before": state.score if state.steps else _score_in(state.snapshot),
        "goal": state.pins.goal,
        "warn": list(state.pins.warnings),
        "best": [],
        "note": "",
        "age": None,
    }
    if best is not None:
        out["best"] = [[step.turn, step.letter, where(step.to) if step.to else ""] for step in best.steps if step.turn >= state.tick][:8]
        out["note"], out["age"] = best.note, state.tick - best.generation
    if answer is not None:
        out["answer"] = [answer.letter or "", why(answer.why) if not answer.letter else answer.reason, answer.agrees]
    return out


def _score_in(snapshot: dict[str, Any]) -> float:
    """Return what a game has come to before its first recorded step; a fork's has come to something."""
    rest = snapshot.get("rest")
    score = rest.get("score") if isinstance(rest, dict) else None
    return float(score) if isinstance(score, int | float) else 0.0


def _streams(events: Sequence[Any], state: ViewState, limit: int) -> dict[str, Any]:
    """Return what each stream said in a tick: runs of [share of the tick it begins at, it ends at, text, channel, generation]."""
    begun = next((event for event in events if isinstance(event, ev.Tick)), None)
    out: dict[str, Any] = {}
    for name, stream in (("planner", state.planner), ("reactor", state.reactor)):
        runs = []
        left, dropped = limit, 0
        for event in reversed(events):
            if not isinstance(event, ev.Token) or event.stream != name:
                continue
            text = clean(event.text)
            first, last = _shares(event, begun, state)
            if len(text) > left:
                cut = len(text) - left
                dropped += cut
                first += (last - first) * cut / len(text)
                text = text[cut:]
            left -= len(text)
            if text:
                runs.append([round(first, 4), round(last, 4), text, "c" if event.channel == "content" else "r", event.generation])
        ends = [event.finish for event in events if isinstance(event, ev.Generation) and event.stream == name and event.phase == "end"]
        out[name] = {
            "runs": runs[::-1],
            "dropped": dropped,
            "generation": stream.generation,
            "tokens": stream.tokens,
            "tick": stream.tick_tokens,
            "end": one_line(ends[-1] or "stop", 20) if ends else "",
        }
    return out


def _shares(event: ev.Token, begun: ev.Tick | None, state: ViewState) -> tuple[float, float]:
    """Return where in its tick a run of tokens begins and ends, 0 to 1."""
    if begun is None:
        return 0.0, 1.0
    if begun.at is not None and begun.end_at is not None and event.at is not None:
        whole = max(1, begun.end_at - begun.at)
        first = (event.at - 1 - begun.at) / whole
        return _inside(first), _inside(first + len(event.lens) / whole)
    budget = state.header.tick_budget_s if state.header is not None else None
    if begun.deadline_ns is None or not budget:
        return 0.0, 1.0
    start = begun.deadline_ns - budget * 1e9
    times = [t_ns for _, t_ns in event.meas.get("arrivals") or ()] or [event.t_ns]
    return _inside((times[0] - start) / (budget * 1e9)), _inside((times[-1] - start) / (budget * 1e9))


def _inside(share: float) -> float:
    return min(1.0, max(0.0, share))


def _done(events: Sequence[Any], state: ViewState, tick: int) -> dict[str, Any]:
    """Return what a tick came to."""
    last = state.thought if state.thought is not None and state.thought.tick == tick else None
    marks = state.history.marks
    mark = KIND.get(marks[tick : tick + 1], "") if tick >= 0 else ""
    return {
        "act": None if last is None else [last.letter, last.source, VOICE.get(last.source, ""), why(last.reason) if last.source == "default" else "", last.agrees],
        "beside": _beside(state, tick),
        "score": state.score,
        "mark": mark,
        "notes": [[note.kind, note.text, note.voice] for note in state.notes[-16:] if note.tick == tick],
    }


def _beside(state: ViewState, tick: int) -> list[str] | None:
    """Return what the other one of two players did, for whom nobody thinks: name, letter, voice."""
    other = state.last if state.player else state.partner_last
    if not paired(state) or other is None or other.tick != tick:
        return None
    name = name_of(state, 1 - state.player)
    return ["person" if name == "you" else name, other.letter, VOICE.get(other.source, "")]


def _ground(boards: Sequence[Board | None]) -> list[Entity]:
    """Return what stands on every board, and is drawn once."""
    known = [board for board in boards if board is not None]
    if not known:
        return []
    common = list(known[0].entities)
    for board in known[1:]:
        there = set(board.entities)
        common = [one for one in common if one in there]
    return [one for one in common if one.role in ("wall", "floor", "tool", "hazard") and not one.facing]


def _entity(one: Entity) -> list[Any]:
    return [one.kind, one.x, one.y, one.glyph, one.role, one.text, one.facing, one.links, one.length]
