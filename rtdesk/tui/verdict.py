"""How a match went: who won, how each side got there, both curves on one scale, and what to do next. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rtdesk.tui.cards import BROKE_OFF, DONE, framed
from rtdesk.tui.history import past_of, plot_rows, total
from rtdesk.tui.looks import Look
from rtdesk.tui.result import last_keys
from rtdesk.tui.runs import Row, Run, finish, rule
from rtdesk.tui.sides import Side, side_name
from rtdesk.tui.wrap import fit

__all__ = ["match_card"]

FIXED = 12
"""Rows of the card that are no plot, with two sides."""


def match_card(sides: Sequence[Side], look: Look, width: int, room: int, *, look_back: bool = False) -> list[Row]:
    """Return the card for a screen that has `room` rows for it; `look_back` says whether there are recordings to look at."""
    inner = width - 6
    body: list[list[Run]] = [_winner(sides, look), []]
    body.append([(fit("", 18), look.dim), (f"{'score':>6}{'points':>8}{'ticks':>7}{'defaults':>10}{'late':>6}   ended by", look.dim)])
    body += [_line(side, number, look) for number, side in enumerate(sides)]
    body.append([])
    height = max(4, min(9, room - FIXED - len(sides)))
    body += _curves(sides, look, inner, height)
    body.append([])
    body.append(last_keys(look, look_back=look_back))
    return framed("match", body, look, width, foot="Esc shows the boards")


def _score(side: Side) -> float:
    end, spec = side.state.end, side.view.spec
    if end is not None:
        return end.totals.score
    return spec.normalise(side.state.points) if spec is not None else 0.0


def _winner(sides: Sequence[Side], look: Look) -> list[Run]:
    """The first by the score that is compared everywhere; where that is clipped or equal, by the game's own points."""
    ranked = sorted(range(len(sides)), key=lambda number: (_score(sides[number]), sides[number].state.points), reverse=True)
    first, second = sides[ranked[0]], sides[ranked[1]]
    ahead = first.state.points - second.state.points
    if (_score(first), first.state.points) == (_score(second), second.state.points):
        return [("a draw", look.bright), (f"   both have {first.state.points:g}", look.text)]
    name = side_name(first, ranked[0])
    spec = first.view.spec
    by = f"{ahead:g} {spec.points_name}" if spec is not None else f"{ahead:g}"
    return [(f"{name} {'win' if name.startswith('you') else 'wins'}", look.bright), (f"   by {by}", look.text)]


def _line(side: Side, number: int, look: Look) -> list[Run]:
    state = side.state
    totals = state.end.totals if state.end is not None else None
    ticks = totals.ticks if totals is not None else state.steps
    defaults = totals.default_actions if totals is not None else state.defaults
    # What a side without an end came to stands all the same.
    why = (state.end.done_reason if state.end is not None else state.done_reason) or BROKE_OFF
    name = side_name(side, number)
    row: list[Run] = [(fit(name, 18, look.signs.ellipsis), look.strong["person"] if side.view.status.human else look.bright)]
    row += [(f"{_score(side):>6.2f}{state.points:>8g}{ticks:>7}", look.text), (f"{defaults:>10}", look.strong["default"] if defaults else look.text)]
    return [*row, (f"{state.late:>6}   {DONE.get(why, why)}", look.text)]


def _curves(sides: Sequence[Side], look: Look, width: int, height: int) -> list[list[Run]]:
    """Both curves side by side on one scale."""
    each = width // len(sides)
    top = max((value for side in sides for _, value, _ in past_of(side.state, side.view).scores), default=1.0)
    # A plot reaches as far as its own side was to play, which one that broke off did not.
    ticks = max(total(side.state, side.view) for side in sides)
    blocks = []
    for number, side in enumerate(sides):
        head = rule(look, "", side_name(side, number), (), f"score {side.state.score:g}", each - 2)
        blocks.append([head, *plot_rows(side.state, side.view, look, each - 2, height, top=max(1.0, top), ticks=ticks)])
    return [[run for block in blocks for run in finish(block[row], each, look)] for row in range(height + 1)]
