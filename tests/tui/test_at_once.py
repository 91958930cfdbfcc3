"""A person's moves on the short way: which keys take it, in what order, and that a busy screen holds none up."""

from pathlib import Path

from pty_desk import Desk

from rtdesk.tui.at_once import AtOnce


class Keyboard:
    """Keys as the terminal's thread reads them; what the event loop is to deal with stays in `.posted`."""

    def __init__(self) -> None:
        self.free = True
        self.moved: list[str] = []
        self.posted: list[str] = []
        self.at_once = AtOnce({"w": "U", "up": "U/1"}, playing=lambda: self.free, press=self.moved.append)

    def type(self, *keys: str) -> None:
        self.posted += [key for key in keys if not self.at_once.take(key)]

    def deal(self) -> None:
        self.posted.pop(0)
        self.at_once.done()


def test_moves_are_handed_over_at_once_and_everything_else_is_not() -> None:
    keyboard = Keyboard()
    keyboard.type("w", "up", "w")
    assert keyboard.moved == ["U", "U/1", "U"]
    keyboard.type("x")
    assert keyboard.posted == ["x"]


def test_no_move_overtakes_a_key_that_may_open_a_dialog() -> None:
    keyboard = Keyboard()
    keyboard.type("ctrl+p", "w", "f1", "w")
    assert keyboard.posted == ["ctrl+p", "w", "f1", "w"]
    for _ in range(3):
        keyboard.deal()
    keyboard.type("w")
    assert keyboard.moved == []
    keyboard.deal()
    keyboard.deal()
    keyboard.type("w")
    assert keyboard.moved == ["U"]


def test_behind_a_card_no_key_is_a_move() -> None:
    keyboard = Keyboard()
    keyboard.free = False
    keyboard.type("w")
    assert keyboard.moved == []
    keyboard.free = True
    keyboard.type("w")
    assert keyboard.moved == [], "the key before it has not been dealt with yet"


def test_keys_that_came_another_way_are_not_owed() -> None:
    keyboard = Keyboard()
    keyboard.at_once.done()
    keyboard.type("x")
    keyboard.type("w")
    assert keyboard.moved == []


STUCK = """
import gc, sys, time
from rtdesk.tui.views import Status

class Stuck:
    # The event loop polls this, and gets back no sooner than the move has come; or in ten seconds.
    status, overview = Status(human=("U", "D", "L", "R"), people=1, rate=4.0), None
    events, moves, polls = episode()[:5], "", 0

    def poll(self, now_ns):
        self.polls += 1
        if self.polls == 5:
            print("\\x1b]2;stuck\\x07", end="", file=sys.__stderr__, flush=True)
            until = time.monotonic() + 10
            while not self.moves and time.monotonic() < until:
                time.sleep(0.001)
            open({log!r}, "w").write(f"{{self.moves}} {{gc.get_freeze_count() > 1000}}")
        out, self.events = self.events, []
        return out

    def command(self, what, value=""):
        if what == "key":
            self.moves += value
        return ""

    def log_lines(self): return []
    def close(self): pass

source = Stuck()
"""


def test_a_move_waits_neither_for_the_event_loop_nor_for_a_collection_of_all_there_is(tmp_path: Path) -> None:
    log = tmp_path / "moves"
    with Desk(STUCK.format(log=str(log))) as desk:
        desk.read_until(b"stuck")
        desk.send(b"w")
        while not log.exists():
            desk.read(0.01)
        desk.send(b"\x11")
        assert desk.finish() == 0
    # What was there at the start is left out of full collections, which would stop the thread that reads keys for a tenth of a second.
    assert log.read_text() == "U True"
