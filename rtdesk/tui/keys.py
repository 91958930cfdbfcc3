"""Every key of the desk, in one table: what it is called in the foot, what it does, and where it moves while a person plays.

While a person plays, arrows, WASD and hjkl move, Enter and `e` interact, space stays, and commands move to ctrl and F-keys.
There is no key release in a terminal: the key in force is the last one pressed in the tick.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ABANDON", "COMMANDS", "FIND", "LOOK_BACK", "UNTOLD", "Command", "bindings", "foot_keys", "hand_keys", "moves"]


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
    Command("step", "full_stop", "f3", ".", "F3", "tick", "one tick, then pause"),
    Command("slow('down')", "left_square_bracket", "f6", "[ ]", "F6 F7", "", "slow motion, and back"),
    Command("slow('up')", "right_square_bracket", "f7", "]", "F7", "", "out of slow motion"),
    Command("faster", "plus,equals_sign", "plus,equals_sign,f8", "+", "+", "", "twice as fast"),
    Command("slower", "minus", "minus,f9", "-", "-", "", "half as fast"),
    Command("bookmark", "m", "ctrl+b", "m", "^b", "mark", "bookmark this tick"),
    Command("find", "slash", "ctrl+f", "/", "^f", "find", "next event of a kind"),
    Command("scroll(-1)", "up", "ctrl+up", "up", "^up", "", "scroll back a row"),
    Command("scroll(1)", "down", "ctrl+down", "down", "^down", "", "scroll on a row"),
    Command("scroll_page(-1)", "pageup", "pageup", "PgUp", "PgUp", "", "scroll back a page"),
    Command("scroll_page(1)", "pagedown", "pagedown", "PgDn", "PgDn", "", "scroll on a page"),
    Command("follow", "end", "end", "End", "End", "", "follow again"),
    Command("home", "home", "home", "Home", "Home", "", "the beginning"),
    Command("other", "tab", "tab", "Tab", "Tab", "", "scroll other stream"),
    Command("prompts", "p", "ctrl+t", "p", "^t", "", "prompts, not text"),
    Command("log", "l", "ctrl+l", "l", "^l", "", "the log drawer"),
    Command("look", "t", "f10", "t", "F10", "", "look of the screen"),
    Command("shot", "S", "ctrl+s", "S", "^s", "", "screenshot as SVG"),
    Command("palette", "ctrl+p,colon", "ctrl+p", ":", "^p", "", "command palette"),
    Command("restart", "r", "ctrl+r", "r", "^r", "", "restart this seed"),
    Command("next_seed", "n", "ctrl+n", "n", "^n", "", "next seed"),
    Command("help", "question_mark,f1", "f1", "?", "F1", "help", "this card"),
    Command("leave", "q,ctrl+q,ctrl+c", "ctrl+q,ctrl+c", "q", "^q", "quit", "quit"),
)

UNTOLD = ("slow('up')", "scroll(1)", "scroll_page(1)")
"""Actions the help card leaves to the ones beside them: who scrolls back finds the way on."""

ABANDON = ("ctrl+c,ctrl+q", "abandon", "quit, also from a dialog")
"""(keys, action, in words): what a dialog does not keep from ending the desk."""

LOOK_BACK = 1000
"""What the app returns when the person wants to look at the recording; no exit code of a process."""

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
# The two halves of the keyboard, where two people play.
_HALVES = ({"U": "w", "D": "s", "L": "a", "R": "d", "I": "e", "S": "x"}, {"U": "up", "D": "down", "L": "left", "R": "right", "I": "enter", "S": "full_stop"})
# Where nobody walks sideways, those keys stay: that is what a hand does there.
_SIDEWAYS = ("L", "R")


def moves(letters: tuple[str, ...], half: int | None = None) -> dict[str, str]:
    """Return letter -> keys for the letters a person may play; `half` is 0 or 1 where two share the keyboard."""
    table = _MOVES if half is None else _HALVES[half]
    found = {letter: table.get(letter, letter.lower()) for letter in letters}
    if "S" in found and not any(letter in found for letter in _SIDEWAYS):
        found["S"] = ",".join((found["S"], *(table[letter] for letter in _SIDEWAYS)))
    return found


def hand_keys(human: tuple[str, ...], people: int = 1) -> list[tuple[str, str, int]]:
    """Return (keys, letter, hand) of every move, letters in both cases for those who play with caps lock on: hand 1 is the second
    person's half of the keyboard.
    """
    halves: tuple[int | None, ...] = (0, 1) if people > 1 else (None,)
    found = [(keys.split(","), letter, half or 0) for half in halves for letter, keys in moves(human, half).items()]
    return [(",".join((*keys, *(key.upper() for key in keys if len(key) == 1 and key.upper() not in keys))), letter, hand) for keys, letter, hand in found]


def bindings(human: tuple[str, ...], people: int = 1) -> list[tuple[str, str, str]]:
    """Return (keys, action, description) of everything that can be pressed; `people` is how many play, if anybody does."""
    found = [(command.playing if human else command.keys, command.action, command.help) for command in COMMANDS]
    for keys, letter, hand in hand_keys(human, people):
        found.append((keys, f"move('{letter}', {hand})" if hand else f"move('{letter}')", f"play {letter}"))
    if human:
        found += [("question_mark", "rules", "how this game is played"), ("enter,space", "begin", "start")]
        # When the game is over these letters are free, and the card that is shown then names them.
        found += [("r", "over('restart')", "again"), ("n", "over('next-seed')", "next seed"), ("q", "over('quit')", "quit")]
    if not human:
        found += [(str(digit), f"digit('{digit}')", "tick to go to") for digit in range(10)]
        found += [("enter,g", "jump", "go to the tick typed"), ("backspace", "digit('')", ""), ("left", "tick(-1)", "a tick back"), ("right", "tick(1)", "a tick on")]
    found += [("v", "over('look-back')", "look back at the recording"), ("escape", "close", "close the card")]
    found += [(key, f"pick('{key}')", words) for key, _, words in FIND]
    return found


def foot_keys(human: tuple[str, ...], *, replay: bool, paceable: bool, people: int = 1) -> tuple[tuple[str, str], ...]:
    """Return (key, word) for the foot; help and quit last."""
    if human:
        said = "".join(letter for letter in human if letter in "UDLR")
        first: list[tuple[str, str]] = []
        if said:
            first = [("wasd", "first"), ("arrows", "second")] if people > 1 else [("arrows", "move")]
        if "I" in human:
            first.append(("e, Enter" if people > 1 else "Enter", "interact"))
        speed = (("+ -", "speed"),) if paceable else ()
        return (*first, ("F2", "pause"), *speed, ("^r", "again"), ("^b", "mark"), ("?", "rules"), ("F1", "help"), ("^q", "quit"))
    pace = (("[ ]", "slow"), ("+ -", "speed")) if paceable else ()
    if replay:
        # The scrubber's own table knows this one.
        from rtdesk.tui.replay_keys import replay_foot

        return replay_foot()
    return (("space", "pause"), (".", "tick"), *pace, ("m", "mark"), ("/", "find"), ("?", "help"), ("q", "quit"))
