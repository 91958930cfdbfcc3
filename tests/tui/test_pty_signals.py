"""The desk on a real pseudo-terminal: stopped and let go on, left from a dialog, and told a size that is not the terminal's."""

import fcntl
import os
import re
import signal
import struct
import termios
from pathlib import Path

import pytest
from pty_desk import Desk


def stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="sees in /proc whether a process stands")
def test_a_desk_that_was_stopped_takes_its_terminal_back_and_leaves_it_as_it_was() -> None:
    with Desk() as desk:
        desk.read_until(b"quit")
        desk.kill(signal.SIGSTOP)
        while not stopped(desk.child.pid):
            desk.read(0.05)
        # What a shell does with a stopped job: its own line discipline, its own screen.
        termios.tcsetattr(desk.slave, termios.TCSANOW, desk.before)
        desk.forget()
        desk.kill(signal.SIGCONT)
        desk.read_until(b"\x1b[?1049h")
        desk.read_until(b"planner")
        assert not termios.tcgetattr(desk.slave)[3] & termios.ICANON
        desk.send(b"?")
        desk.read_until(b"slow motion")
        desk.send(b"q")
        assert desk.finish() == 0
        assert desk.modes_left_set() == set()
        assert termios.tcgetattr(desk.slave)[:4] == desk.before[:4]


def test_going_on_without_having_been_stopped_changes_nothing() -> None:
    with Desk() as desk:
        desk.read_until(b"quit")
        for _ in range(3):
            desk.forget()
            desk.kill(signal.SIGCONT)
            desk.read_until(b"\x1b[?1049h")
        desk.send(b"q")
        assert desk.finish() == 0
        assert termios.tcgetattr(desk.slave)[:4] == desk.before[:4]


@pytest.mark.parametrize("key", [b"\x03", b"\x11"], ids=["ctrl-c", "ctrl-q"])
def test_the_keys_that_end_a_program_end_it_from_a_dialog_too(key: bytes) -> None:
    with Desk() as desk:
        desk.read_until(b"quit")
        desk.send(b"\x10")
        desk.read_until(b"Search for commands")
        # A letter is the dialog's. It marks what it finds, here the Q.
        desk.forget()
        desk.send(b"q")
        desk.read_until(b"uit")
        assert desk.child.poll() is None
        desk.send(key)
        assert desk.finish() == 0
        assert desk.modes_left_set() == set()


def test_the_size_is_the_terminals_own() -> None:
    with Desk(size=(80, 24), environ={"COLUMNS": "300", "LINES": "100"}) as desk:
        desk.read_until(b"quit")
        assert max(int(row) for row in re.findall(rb"\x1b\[(\d+);\d+H", desk.output)) == 24
        fcntl.ioctl(desk.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        os.kill(desk.child.pid, signal.SIGWINCH)
        desk.read_until(b"\x1b[30;1H")
        desk.send(b"q")
        assert desk.finish() == 0
