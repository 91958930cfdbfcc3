"""The desk on a real pseudo-terminal: what reaches the terminal, and how it is left. Cases T03, T08 and T10."""

import re
import signal
import termios
import time
from pathlib import Path

import pytest
from pty_desk import Desk

from rtdesk.tui.terminal import PASTE_S

DATA = Path(__file__).parent / "data"
HOSTILE = """
import random
from material import episode
from replays import events as ev
page = open({path!r}, "rb").read().decode()
chance, events, place = random.Random(1), episode()[:3], 0
while place < len(page):
    size = chance.randrange(1, 9)
    piece = page[place:place + size]
    events.append(ev.Token(tick=0, at=10 + place, stream="planner", generation=0, channel="content", text=piece, lens=[len(piece.encode())]))
    place += size
source = ListSource(events, rate=1.0)
"""

SGR_COLOUR = re.compile(rb"\x1b\[([0-9;]*)m")
ALLOWED = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9;]*[Hu]|\?[0-9;]+(?:[hl]|\$p)|[<>][0-9]*u)|\x1b\]22;[a-z]*(?:\x07|\x1b\\)|[\r\n]")


def test_no_sequence_from_a_model_reaches_the_terminal() -> None:
    """Case T03: the bytes hold Textual's own modes, cursor moves and colours, and nothing else."""
    with Desk(HOSTILE.format(path=str(DATA / "hostile.bin")), size=(120, 50)) as desk:
        desk.read_until(b"safe6")
        desk.read_until(b"end")
        desk.send(b"q")
        assert desk.finish() == 0
        output = bytes(desk.output)
    for forbidden in (b"\x1b]52", b"\x1b]0;owned", b"\x1b]8;;http://evil", b"\x1bPq", b"\x1b_app", b"\x1bc", b"\x1b[6n", b"\x1b[2J", b"\x1b[10A"):
        assert forbidden not in output
    text = output.decode()
    assert not any(0x80 <= ord(char) < 0xA0 for char in text)
    left = ALLOWED.sub("", text)
    assert [char for char in left if ord(char) < 32 or ord(char) == 127] == []
    for word in ("safe1", "safe2", "safe3", "safe4", "safe5", "safe6", "end"):
        assert word in text


def colours(output: bytes) -> set[int]:
    found: set[int] = set()
    for parameters in SGR_COLOUR.findall(output):
        for number in parameters.split(b";"):
            if number and (30 <= int(number) <= 38 or 40 <= int(number) <= 48 or 90 <= int(number) <= 107):
                found.add(int(number))
    return found


def test_no_color_means_no_colour() -> None:
    """Case T08, the rows about the screen itself."""
    with Desk(look=None, environ={"NO_COLOR": "1"}) as desk:
        desk.read_until("░░".encode())
        desk.read_until(b"answer")
        desk.send(b"?")
        desk.read_until(b"slow motion")
        desk.send(b"?")
        desk.send(b"t")
        desk.read_until(b"NO_COLOR is set")
        desk.send(b"q")
        assert desk.finish() == 0
        assert colours(bytes(desk.output)) == set()


def test_with_colour_there_is_colour() -> None:
    with Desk() as desk:
        desk.read_until(b"planner")
        desk.send(b"q")
        desk.finish()
        assert 38 in colours(bytes(desk.output))


@pytest.mark.parametrize(
    ("how", "code"), [("q", 0), ("ctrl-c", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), ("exception", 1)]
)  # fmt: skip
def test_the_terminal_is_left_as_it_was(how: object, code: int) -> None:
    """Case T10: every mode set is reset and the line discipline is what it was, whichever way the desk ends."""
    after = "app.action_bookmark = lambda: 1 / 0" if how == "exception" else ""
    with Desk(after=after) as desk:
        desk.read_until(b"planner")
        desk.read_until(b"quit")
        if isinstance(how, signal.Signals):
            desk.kill(how)
        else:
            desk.send({"q": b"q", "ctrl-c": b"\x03", "exception": b"m"}[str(how)])
        assert desk.finish() == code
        assert desk.modes_left_set() == set()
        assert b"\x1b[?25h" in desk.output[-400:]
        assert termios.tcgetattr(desk.slave)[:4] == desk.before[:4]
        if how == "exception":
            assert b"rtdesk: the screen failed (ZeroDivisionError" in desk.output
            assert desk.output.count(b"Traceback") <= 1


def test_odd_keys_do_not_end_the_desk() -> None:
    """Kitty key reports with an event type, unasked, kill Textual 8's parser as it comes."""
    with Desk() as desk:
        desk.read_until(b"quit")
        for sequence in (b"\xff", b"\x1b[M\x20\xe9\xff", b"\x1b[48;0;0;0;0t", b"\x1b[<0;5;5M", b"\x1b[200~the end was lost", b"\x1b[109;1:3u", b"\x1b[109;1:1u", b"\x1b[999999999999u", b"\x1b[1;1:3A", b"\x1b[97;99999999999999999999u"):
            desk.send(sequence)
        # The paste without an end is over when nothing comes any more.
        desk.read_until(b"quit")
        while b"bookmark at tick" not in desk.output:
            # A key that comes sooner would be part of the paste, and keep it open.
            until = time.monotonic() + PASTE_S * 1.5
            while time.monotonic() < until and b"bookmark at tick" not in desk.output:
                desk.read(0.1)
            desk.send(b"m")
            assert desk.child.poll() is None
        desk.send(b"q")
        assert desk.finish() == 0


def test_children_of_the_locale_c_get_ascii() -> None:
    setup = "source = ListSource(episode(title='\\u65e5\\u672c \\u00e9'), rate=4.0)"
    with Desk(setup, after="app = DeskApp(source, look='mono')", environ={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}) as desk:
        desk.read_until(b"planner")
        desk.read_until(b"quit")
        desk.send(b"q")
        assert desk.finish() == 0
        assert bytes(desk.output).isascii()


FLOOD = """
import itertools
from material import episode
from replays import events as ev
from replays.view_state import ViewState
from rtdesk.tui.views import Status

class Flood:
    status, overview = Status(rate=1.0), None
    def __init__(self):
        self.events, self.count, self.said = episode()[:3], itertools.count(), []
    def poll(self, now_ns):
        out, self.events = self.events, []
        for stream in ("planner", "reactor"):
            n = next(self.count)
            text = f"token {n} abcdefghijklmnopqrstuvwxyzabcdefghijklmn\\n" * 80
            out.append(ev.Token(tick=0, at=n, stream=stream, generation=0, channel="reasoning", text=text, lens=[len(text)]))
        return out
    def command(self, what, value=""):
        import time
        with open(LOG, "a") as file:
            file.write(f"{what} {time.monotonic_ns()}\\n")
        return ""
    def log_lines(self): return []
    def close(self): pass
"""


@pytest.mark.slow
def test_a_terminal_that_does_not_read_for_three_seconds_delays_no_key(tmp_path: Path) -> None:
    log = tmp_path / "keys"
    log.touch()
    with Desk(FLOOD + f"\nLOG = {str(log)!r}\nsource = Flood()") as desk:
        desk.read_until(b"token")
        # The terminal stops: nobody reads its bytes. Keys go on.
        sent = []
        until = time.monotonic() + 3.0
        while time.monotonic() < until:
            sent.append(time.monotonic_ns())
            desk.send(b"+")
            time.sleep(0.1)
        handled = [int(line.split()[1]) for line in log.read_text().splitlines()]
        assert len(handled) >= len(sent) - 1
        delays = [(took - asked) / 1e6 for asked, took in zip(sent, handled)]
        assert max(delays) < 50, sorted(delays)[-3:]
        # Then it reads again and the picture goes on.
        desk.forget()
        desk.read_until(b"token", 5)
        desk.send(b"q")
        assert desk.finish() == 0


@pytest.mark.slow
def test_a_flood_of_text_keeps_memory_bounded(tmp_path: Path) -> None:
    """Case T15: 200,000 lines into both panes; the panes keep a bounded number, and memory does not grow with what was said."""
    log = tmp_path / "keys"
    log.touch()
    with Desk(FLOOD + f"\nLOG = {str(log)!r}\nsource = Flood()") as desk:
        desk.read_until(b"token")
        start = resident(desk.child.pid)
        until = time.monotonic() + 60
        number = 0
        while number < 500 and time.monotonic() < until:
            desk.read(0.2)
            found = re.findall(rb"token (\d+) abc", bytes(desk.output[-6000:]))
            number = int(found[-1]) if found else number
            del desk.output[:-8000]
        assert number >= 500, "the flood did not get through in a minute"
        assert resident(desk.child.pid) - start < 150 * 1024
        desk.send(b"q")
        assert desk.finish() == 0


def resident(pid: int) -> int:
    """Return the resident size of a process in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0
