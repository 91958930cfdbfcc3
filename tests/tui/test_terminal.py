"""What a terminal may send: nothing of it ends the thread that reads it, or leaves that thread deaf."""

from __future__ import annotations

from textual import events
from textual.message import Message

from rtdesk.tui import terminal
from rtdesk.tui.terminal import PASTE_S, DeskParser


class Typing:
    """A parser with a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self._parser = DeskParser(clock=lambda: self.now)

    def __call__(self, text: str) -> list[str]:
        return [_word(event) for event in self._parser.feed(text)]

    def wait(self, seconds: float) -> list[str]:
        self.now += seconds
        return [_word(event) for event in self._parser.tick()]


def _word(event: Message) -> str:
    return event.key if isinstance(event, events.Key) else event.text if isinstance(event, events.Paste) else type(event).__name__


def test_a_paste_that_never_ends_is_over_when_nothing_more_of_it_comes() -> None:
    feed = Typing()
    # Its mark may come in two reads.
    assert feed("w\x1b[20") == ["w"]
    assert feed("0~go") == []
    assert feed.wait(PASTE_S / 2) == []
    assert feed("es on") == []
    assert feed.wait(PASTE_S * 0.9) == []
    assert feed.wait(PASTE_S * 0.2) == ["goes on"]
    assert feed("w") == ["w"]
    assert feed.wait(10 * PASTE_S) == []


def test_a_paste_with_both_its_ends_is_one() -> None:
    feed = Typing()
    assert feed("\x1b[200~some\x1b[20") == []
    assert feed("1~w") == ["some", "w"]
    assert feed.wait(10 * PASTE_S) == []


def test_what_the_parser_dies_of_costs_only_what_came_with_it() -> None:
    feed = Typing()
    # A window without a size, and a mouse in it: a division by nothing.
    assert feed("\x1b[48;0;0;0;0t") == ["Resize"]
    assert feed("\x1b[<0;5;5M") == []
    assert feed("w") == ["w"]


def test_bytes_that_are_no_utf8_are_read_all_the_same() -> None:
    assert terminal.desk_driver() is not None
    from textual.drivers import linux_driver

    decode = linux_driver.getincrementaldecoder("utf-8")().decode
    assert decode(b"\xffw\xc3") == "\ufffdw"
    assert decode(b"\xa9") == "\u00e9"
