"""Every key of the desk, in one table: what it is called in the foot, what it does, and where it moves while a person plays.

While a person plays, arrows, WASD and hjkl move, Enter and `e` interact, space stays, and commands move to ctrl and F-keys.
There is no key release in a terminal: the key in force is the last one pressed in the tick.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMMANDS", "FIND", "Command", "bindings", "foot_keys", "moves"]


class Command(NamedTuple):
    """One command of the desk."""

    action: str
    """Textual action, such as `desk('pause')`."""
    keys: str
    """Keys, comma separated."""
    playing: str
    """Keys while a person plays."""
    label: str
    """Key as the foot and the help card write it."""
    playing_label: str
    word: str
    """For the foot; empty where it is not shown there."""
    help: str


COMMANDS = (
    Command("pause", "space", "f2", "space", "F2", "pause", "pause, or go on"),
    Command("step", "full_stop", "f3", ".", "F3", "tick", "run one tick, then pause"),
    Command("slow('down')", "left_square_bracket", "f6", "[", "F6", "", "slow motion, down to a token a frame (] back)"),
    Command("slow('up')", "right_square_bracket", "f7", "]", "F7", "", "and back"),
    Command("faster", "plus,equals_sign", "f8", "+", "F8", "", "twice as fast"),
    Command("slower", "minus", "f9", "-", "F9", "", "half as fast"),
    Command("bookmark", "m", "ctrl+b", "m", "^b", "mark", "bookmark this tick"),
    Command("find", "slash", "ctrl+f", "/", "^f", "find", "next event of a kind"),
    Command("scroll(-1)", "up", "ctrl+up", "up", "^up", "", "scroll the stream back a row"),
    Command("scroll(1)", "down", "ctrl+down", "down", "^down", "", "and forward"),
    Command("scroll_page(-1)", "pageup", "pageup", "PgUp", "PgUp", "", "scroll back a page (in a recording: ten ticks)"),
    Command("scroll_page(1)", "pagedown", "pagedown", "PgDn", "PgDn", "", "and forward"),
    Command("follow", "end", "end", "End", "End", "", "follow again (in a recording: last tick)"),
    Command("home", "home", "home", "Home", "Home", "", "the beginning"),
    Command("other", "tab", "tab", "Tab", "Tab", "", "scroll the other stream"),
    Command("prompts", "p", "ctrl+t", "p", "^t", "", "prompts instead of text"),
    Command("log", "l", "ctrl+l", "l", "^l", "", "the log drawer"),
    Command("look", "t", "f10", "t", "F10", "", "next look: dark, light, ansi, mono"),
    Command("shot", "S", "ctrl+s", "S", "^s", "", "screenshot as SVG"),
    Command("palette", "ctrl+p,colon", "ctrl+p", ":", "^p", "", "command palette"),
    Command("restart", "r", "ctrl+r", "r", "^r", "", "restart this seed"),
    Command("next_seed", "n", "ctrl+n", "n", "^n", "", "next seed"),
    Command("help", "question_mark,f1", "f1", "?", "F1", "help", "this card"),
    Command("leave", "q,ctrl+q,ctrl+c", "ctrl+q,ctrl+c", "q", "^q", "quit", "quit"),
)

FIND = (
    ("s", "score", "food, delivery, crossing"),
    ("d", "default", "default action"),
    ("l", "late", "late answer"),
    ("x", "died", "death"),
    ("v", "reset", "collision, back to the start"),
    ("f", "fault", "fault"),
    ("b", "bookmark", "bookmark"),
    ("t", "stale", "plan went stale"),
    ("a", "", "any of them"),
)
"""(key, kind of event, in words) of the find card."""

_MOVES = {"U": "up,w,k", "D": "down,s,j", "L": "left,a,h", "R": "right,d,l", "I": "enter,e", "S": "space"}


def moves(letters: tuple[str, ...]) -> dict[str, str]:
    """Return letter -> keys for the letters a person may play."""
    return {letter: _MOVES.get(letter, letter.lower()) for letter in letters}


def bindings(human: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Return (keys, action, description) of everything that can be pressed."""
    found = [(command.playing if human else command.keys, command.action, command.help) for command in COMMANDS]
    for letter, keys in moves(human).items():
        found.append((keys, f"move('{letter}')", f"play {letter}"))
    if not human:
        found += [(str(digit), f"digit('{digit}')", "tick to go to") for digit in range(10)]
        found += [("enter,g", "jump", "go to the tick typed"), ("backspace", "digit('')", ""), ("left", "tick(-1)", "a tick back"), ("right", "tick(1)", "a tick on")]
    found += [("escape", "close", "close the card")]
    found += [(key, f"pick('{key}')", words) for key, _, words in FIND]
    return found


def foot_keys(human: tuple[str, ...], *, replay: bool, paceable: bool) -> tuple[tuple[str, str], ...]:
    """Return (key, word) for the foot; help and quit last."""
    if human:
        said = "".join(letter for letter in human if letter in "UDLR")
        first = [("arrows", "move")] if said else []
        if "I" in human:
            first.append(("Enter", "interact"))
        return (*first, ("F2", "pause"), ("^b", "mark"), ("F1", "help"), ("^q", "quit"))
    pace = (("[ ]", "slow"), ("+ -", "speed")) if paceable else ()
    if replay:
        return (("space", "play"), ("◀ ▶", "tick"), *pace, ("0-9 g", "go to"), ("m", "mark"), ("/", "find"), ("?", "help"), ("q", "quit"))
    return (("space", "pause"), (".", "tick"), *pace, ("m", "mark"), ("/", "find"), ("?", "help"), ("q", "quit"))
