"""What a person who plays is shown: the game's rules on a card, and the count before the start. Pure, like the rest of the scene."""

from __future__ import annotations

from games.base import GameSpec
from replays.clean import one_line
from replays.view_state import ViewState
from rtdesk.tui.cards import framed
from rtdesk.tui.keys import moves
from rtdesk.tui.looks import Look
from rtdesk.tui.pair import sign_of
from rtdesk.tui.runs import Row, Run, finish
from rtdesk.tui.views import View
from rtdesk.tui.wrap import wrap

__all__ = ["count_row", "key_rows", "rules_card", "rules_of"]

_NAMES = {"up": "↑", "down": "↓", "left": "←", "right": "→", "enter": "Enter", "space": "Space", "full_stop": "."}
_PLAIN = {"up": "up", "down": "down", "left": "left", "right": "right"}


def rules_card(state: ViewState, view: View, look: Look, width: int) -> list[Row]:
    """Return how the game is played: goal and rules, what no key does, which key is which."""
    spec = view.spec
    if spec is None:
        return framed("how to play", [[("the game's rules are not known here", look.dim)]], look, width)
    body: list[list[Run]] = [[(line.text, look.bright)] for line in wrap(spec.summary, 0, len(spec.summary), width - 6)]
    body += [[(line, look.text)] for line in rules_of(spec)]
    body += [[(line.text, look.text)] for words in _whose(state, view) for line in wrap(words, 0, len(words), width - 6)]
    body.append([("The last key in a tick counts.", look.text), *_no_key(state, spec, look)])
    body += key_rows(spec, look, width - 6, people=view.status.people)
    start = view.status.reading or view.status.count > 0
    return framed(f"how to play {spec.title}", body, look, width, foot="Enter or Space starts" if start else "Enter goes on", voice="person")


def _whose(state: ViewState, view: View) -> list[str]:
    """Say which of two players is the person's, and who the other one is."""
    header = state.header
    if header is None or "partner" not in header.options:
        return []
    mine, theirs = (f"{sign} on the board" if sign else word for sign, word in ((sign_of(view, 0), "the first player"), (sign_of(view, 1), "the second player")))
    partner = one_line(str(header.options["partner"]), 30)
    agent = one_line(header.agent, 30)
    if agent == partner == "human":
        return [f"The first one at the keyboard is {mine}, the second one is {theirs}."]
    if partner == "human":
        return [f"You are {theirs}, the partner of {agent}, who is {mine.removesuffix(' on the board')}."]
    if agent != "human":
        return []
    if partner == "scripted":
        return [f"You are {mine}."]
    thinks = ", whose thoughts stand at the right" if state.player else ""
    return [f"You are {mine}; {theirs.removesuffix(' on the board')} is {partner}{thinks}."]


def rules_of(spec: GameSpec) -> list[str]:
    """The game's own lines; those on keys are left out, for the card has its own."""
    lines: list[str] = []
    keys = False
    for line in spec.help:
        keys = keys or line.startswith("Keys:")
        if not keys:
            lines.append(line)
    return lines


def _no_key(state: ViewState, spec: GameSpec, look: Look) -> list[Run]:
    """What happens without a key; a default that is no action of the player's is told by the rules themselves."""
    given = state.header.options.get("default-action") if state.header is not None else None
    letter = str(given or spec.default_action)
    word = dict(spec.letters).get(letter)
    return [(" No key: ", look.text), (f"{word} ({letter})", look.strong["default"])] if word else []


def key_rows(spec: GameSpec, look: Look, width: int, *, people: int) -> list[list[Run]]:
    """Return which key is which, in rows of `width` columns at most; a row or more for each of two people."""
    rows: list[list[Run]] = []
    halves: tuple[int | None, ...] = (0, 1) if people > 1 else (None,)
    for half in halves:
        runs: list[Run] = [(("first   " if half == 0 else "second  ") if half is not None else "", look.strong["person"])]
        used = len(runs[0][0])
        for letter, keys in moves(spec.legal_actions, half).items():
            names = " ".join(_name(key, look) for key in keys.split(","))
            word = dict(spec.letters).get(letter, letter)
            if used + len(names) + len(word) + 4 > width and len(runs) > 1:
                rows.append(runs)
                runs, used = [("        " if half is not None else "", look.dim)], 8 if half is not None else 0
            runs += [(names, look.key), (f" {word}   ", look.dim)]
            used += len(names) + len(word) + 4
        rows.append(runs)
    return rows


def _name(key: str, look: Look) -> str:
    return (_PLAIN if look.signs.ascii else _NAMES).get(key, _NAMES.get(key, key))


def count_row(view: View, look: Look, width: int) -> Row:
    """Return the count before the start, for the row that says who decides."""
    left = view.status.count
    return finish(((" ", look.base), (f" {left} ", look.chip["person"]), (" get ready", look.strong["person"])), width, look)
