"""The keys of the scrubber, in one table, and the kinds of event one can go to."""

from __future__ import annotations

from rtdesk.tui.keys import FIND, Command

__all__ = ["EVENTS", "REPLAY_COMMANDS", "entry_foot", "replay_bindings", "replay_foot", "search_foot"]


def _command(action: str, keys: str, label: str, help: str) -> Command:
    # Nobody plays in a recording, so there is one set of keys.
    return Command(action, keys, keys, label, label, "", help)


REPLAY_COMMANDS = (
    _command("pause", "space", "space", "play, or pause"),
    _command("tick(-1)", "left", "◀ ▶", "a tick back, a tick on"),
    _command("tick(1)", "right", "", ""),
    _command("scrub(-1)", "shift+left", "shift ◀ ▶", "a token back or on"),
    _command("scrub(1)", "shift+right", "", ""),
    _command("event(-1)", "comma", ", .", "the event before or after"),
    _command("event(1)", "full_stop", "", ""),
    _command("scroll_page(-1)", "pageup", "PgUp PgDn", "ten ticks back, ten on"),
    _command("scroll_page(1)", "pagedown", "", ""),
    _command("home", "home", "Home End", "first tick, last tick"),
    _command("follow", "end", "", ""),
    _command("jump", "enter,g", "0-9 g", "go to the tick typed"),
    _command("slower", "minus", "- +", "half or twice as fast"),
    _command("faster", "plus,equals_sign", "", ""),
    _command("slow('down')", "left_square_bracket", "[ ]", "slow motion, and back"),
    _command("slow('up')", "right_square_bracket", "", ""),
    _command("search", "slash", "/", "look for words said"),
    _command("hit(1)", "n", "n N", "next hit, hit before"),
    _command("hit(-1)", "N", "", ""),
    _command("find", "f", "f", "next event of a kind"),
    _command("bookmark", "m", "m M", "bookmark; with a note"),
    _command("note", "M", "", ""),
    _command("scroll(-1)", "up", "▲ ▼", "scroll a stream or a card"),
    _command("scroll(1)", "down", "", ""),
    _command("other", "tab", "Tab", "other stream; or next run"),
    _command("stream", "shift+tab", "shift Tab", "the other stream"),
    _command("prompts", "p", "p", "the prompt, rebuilt"),
    _command("copy", "y", "y", "copy prompt or text"),
    _command("guidance", "c", "c", "what did guidance change?"),
    _command("log", "l", "l", "the file and its warnings"),
    _command("look", "t", "t", "look of the screen"),
    _command("shot", "S", "S", "screenshot as SVG"),
    _command("palette", "ctrl+p,colon", ":", "command palette"),
    _command("help", "question_mark,f1", "?", "this card"),
    _command("leave", "q,ctrl+q,ctrl+c", "q", "quit"),
)

EVENTS = (*(one for one in FIND if one[1]), ("p", "plan", "a plan was finished"), ("a", "", "any but a finished plan"))
"""(key, kind, in words) of what one can go to."""


def replay_bindings() -> list[tuple[str, str, str]]:
    """Return (keys, action, description) of everything that can be pressed."""
    found = [(command.keys, command.action, command.help) for command in REPLAY_COMMANDS]
    found += [(str(digit), f"digit('{digit}')", "tick to go to") for digit in range(10)]
    found += [("backspace", "digit('')", ""), ("escape", "close", "close the card, or end the search")]
    found += [(key, f"pick('{key}')", words) for key, _, words in EVENTS]
    found += [(key.upper(), f"pick('{key.upper()}')", words) for key, _, words in EVENTS]
    return found


def replay_foot(*, thinks: bool = True, runs: int = 1, asks: bool = True) -> tuple[tuple[str, str], ...]:
    """Return (key, word) for the foot, the dearest first; help and quit last. `thinks`: there is text to look for; `asks`: a reactor to ask again. `runs` stand
    side by side."""
    first = (("space", "play"), ("◀ ▶", "tick"), *((("Tab", "next run"),) if runs > 1 else ()), ("- +", "speed"))
    text = (("/", "search"), ("f", "event"), ("shift ◀ ▶", "token"), ("p", "prompt"), *((("c", "guidance"),) if asks else ())) if thinks else (("f", "event"),)
    return (*first, *text, (", .", "step"), ("0-9 g", "go to"), ("m", "mark"), ("?", "help"), ("q", "quit"))


def search_foot(query: str, found: str) -> tuple[tuple[str, str], ...]:
    """Return the foot while a search is on."""
    return ((f"/{query}", f"{found:<26}"), ("n", "next"), ("N", "before"), ("/", "other words"), ("Esc", "ends it"), ("q", "quit"))


def entry_foot(sign: str, text: str, cursor: str) -> tuple[tuple[str, str], ...]:
    """Return the foot while words are typed."""
    word = {"/": "look for it", "mark": "bookmark"}.get(sign, "go")
    return ((f"{sign}{'' if sign == '/' else ' '}{text}{cursor}", ""), ("Enter", word), ("Esc", "leave it"))
