"""Two players on one board: which of them is whose, what each did last, and how often each left it to the default. Pure.

One of the two may be thought for, and the streams are that one's; the other is a person or a baseline. A second player that is a script
of the game's is part of the board, and nothing here speaks of it.
"""

from __future__ import annotations

from replays.clean import one_line
from replays.events import Episode
from replays.view_state import ViewState
from rtdesk.tui.looks import Look
from rtdesk.tui.runs import Row, Run, finish
from rtdesk.tui.views import View
from rtdesk.tui.wrap import fit

__all__ = ["beside_chip", "defaults_words", "last_rows", "name_of", "of_whom", "paired", "playing", "sign_of", "sign_runs"]

_ROLES = ("player", "partner")
LABELS = (10, 12)
"""Columns of the label of a player's row of letters, where there is little room and where there is more."""
WIDE = 30


def paired(state: ViewState) -> bool:
    """Whether there is a second player that is no script."""
    return bool(_agents(state.header)[1])


def _agents(header: Episode | None) -> tuple[str, str]:
    """Names of the agents of both players; empty for a script, and before the header has come."""
    if header is None:
        return "", ""
    partner = header.options.get("partner")
    return one_line(header.agent, 30), "" if partner in (None, "scripted") else one_line(str(partner), 30)


def playing(header: Episode | None) -> str:
    """Who plays: the agent's name, and the partner's where that is no script; `the agent` before the header has come."""
    first, second = _agents(header)
    return f"{first} + {second}" if second else first or "the agent"


def sign_of(view: View, player: int) -> str:
    """The letter a player is on the board, such as A; empty where the board shows none."""
    found = next((one for one in view.board.entities if one.role == _ROLES[player]), None) if view.board is not None else None
    return found.glyph if found is not None and found.glyph.isalpha() else ""


def name_of(state: ViewState, player: int) -> str:
    """What one of two players is called: `you`, `first` and `second` where two people play, else the agent's name."""
    agents = _agents(state.header)
    if agents == ("human", "human"):
        return ("first", "second")[player]
    return "you" if agents[player] == "human" else agents[player] or _ROLES[player]


def of_whom(state: ViewState) -> str:
    """Whose the streams are, in front of their names; nothing where they are the agent's, as they mostly are."""
    return "partner's " if state.player else ""


def sign_runs(view: View, player: int, look: Look) -> list[Run]:
    """Return a player's letter in the colour it has on the board, a blank before it; nothing where there is none."""
    sign = sign_of(view, player)
    return [(" ", look.base), (sign, look.paint("ink", _ROLES[player], bold=True) if look.colour else look.bright)] if sign else []


def beside_chip(state: ViewState, view: View, look: Look, width: int) -> list[Run]:
    """Return what that player does who is not thought for: a person's key in force, else what was applied last; a short name where there is little room.

    Nothing where nobody sits beside the one who is thought for but a baseline or a script.
    """
    player = 0 if state.player else 1
    if not paired(state) or (not state.player and _agents(state.header)[1] != "human"):
        return []
    letter = (state.partner if player else state.last.letter if state.last is not None else "")
    key = state.partner_key if player else state.key
    style = look.chip["person"] if key else look.dim
    sign = sign_runs(view, player, look)
    human = _agents(state.header)[player] == "human"
    name = f" {name_of(state, player)}" if human or width >= WIDE or not sign else ""
    runs: list[Run] = [(" ", look.base), (f" {key or letter or look.signs.dot} ", style), (name, look.strong["person"] if human else look.bright)]
    return [*runs, *sign, (" ", look.base)]


def defaults_words(state: ViewState, view: View, room: int) -> tuple[str, str]:
    """Return (word, figures) of how often each left its tick to the default, `room` columns at most where that can be."""
    first, second = state.defaults, state.partner_defaults
    signs = [sign_of(view, player) for player in (0, 1)]
    long = ("defaults", f"{signs[0]} {first:>2}  {signs[1]} {second:>2}")
    tries = [long] if all(signs) else []
    tries += [("defaults", f"{first}+{second}"), ("def", f"{first}+{second}")]
    return next((one for one in tries if len(one[0]) + len(one[1]) + 2 <= room), tries[-1])


def last_rows(state: ViewState, view: View, look: Look, width: int) -> list[Row]:
    """Return what was applied last: a row, or one for each of two players."""
    history = state.history
    if not paired(state):
        return [_letters(" last   ", history.acted, history.letters, look, width)]
    rows = []
    label = LABELS[width >= WIDE]
    for player, acted, letters in ((0, history.acted, history.letters), (1, history.partner, history.partner_letters)):
        name = " ".join(part for part in (sign_of(view, player), name_of(state, player)) if part)
        rows.append(_letters(f" {fit(name, label - 2, look.signs.ellipsis)} ", acted, letters, look, width))
    return rows


def _letters(label: str, acted: str, letters: str, look: Look, width: int) -> Row:
    count = min(16, max(4, (width - len(label)) // 2))
    runs: list[Run] = [(label, look.dim)]
    for source, letter in list(zip(acted, letters))[-count:]:
        voice = {"d": "default", "h": "person"}.get(source, "")
        runs.append((f"{'!' if source == 'd' else letter} ", look.strong[voice] if voice else look.text))
    return finish(runs, width, look)
