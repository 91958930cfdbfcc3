"""Run a desk in a child on a pseudo-terminal, and read what it writes there; also a small terminal that draws it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

HERE = Path(__file__).parent

CHILD = """
import sys
sys.path[:0] = [{here!r}]
from material import episode
from rtdesk.tui.app import DeskApp
from rtdesk.tui.player import ListSource
{setup}
app = DeskApp(source, look={look!r}, ascii=False)
{after}
raise SystemExit(app.run_desk())
"""

MODES = re.compile(r"\x1b\[\?([0-9;]+)([hl])")


class Desk:
    """A desk under test. Use as a context manager; what it wrote is in `.output`."""

    def __init__(self, setup: str = "source = ListSource(episode(), rate=4.0)", after: str = "", *, look: str | None = "dark", size: tuple[int, int] = (120, 36), environ: dict[str, str] | None = None) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "SSH_CONNECTION", "COLUMNS", "LINES")}
        environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"} | (environ or {})
        code = CHILD.format(here=str(HERE), setup=setup, after=after, look=look)
        self.child = subprocess.Popen([sys.executable, "-c", code], stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True, cwd=HERE.parents[1])
        self.output = bytearray()
        self.forgotten = 0

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait(10)
        os.close(self.slave)
        os.close(self.master)

    def read(self, timeout: float) -> bytes:
        """Read what is there, waiting at most `timeout` s for the first byte."""
        if not select.select([self.master], [], [], timeout)[0]:
            return b""
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return b""
        self.output += data
        return data

    def read_until(self, word: bytes, timeout: float = 20.0) -> bytes:
        """Read until `word` has been written. Raises TimeoutError with the end of what was."""
        until = time.monotonic() + timeout
        start = self.forgotten
        while word not in self.output[start:]:
            if time.monotonic() > until:
                raise TimeoutError(f"{word!r} did not appear in {timeout} s; the last bytes were {bytes(self.output[-300:])!r}")
            if not self.read(0.2) and self.child.poll() is not None and not self.read(0):
                if word in self.output[start:]:
                    break
                raise TimeoutError(f"the desk ended with {self.child.returncode} before {word!r}; the last bytes were {bytes(self.output[-300:])!r}")
        return bytes(self.output)

    def forget(self) -> None:
        """From now on look only at what comes."""
        self.forgotten = len(self.output)

    def send(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def finish(self, timeout: float = 20.0) -> int:
        """Read to the end; return the exit code."""
        until = time.monotonic() + timeout
        while self.child.poll() is None:
            if time.monotonic() > until:
                raise TimeoutError(f"the desk did not end in {timeout} s")
            self.read(0.1)
        while self.read(0.05):
            pass
        return self.child.returncode

    def kill(self, number: int = signal.SIGTERM) -> None:
        os.kill(self.child.pid, number)

    def modes_left_set(self) -> set[str]:
        """Return the private modes that were set and not reset."""
        on: set[str] = set()
        for numbers, what in MODES.findall(self.output.decode("utf-8", "replace")):
            for number in numbers.split(";"):
                # Line wrap and the visible cursor are the other way round: off while the desk runs.
                on.add(number) if (what == "h") != (number in ("7", "25")) else on.discard(number)
        return on - {"7", "25"} | {number for number in ("7", "25") if number in on}
