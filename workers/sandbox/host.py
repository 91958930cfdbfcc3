"""The parent's side of a policy program: one child process a program, asked over two pipes, and killed when it is late.

    host                                    child
      | -- source, names ------------------>  |   at once, when it is started
      | <------------- ready, loaded -------  |   before the first call
      | -- view --------------------------->  |   once a tick
      | <------------- what act returned ---  |   within `call_s`, or the child is killed, and started again for the next call

Whatever a program does, a call costs at most its deadline and gives an `Outcome`; nothing is raised. The child is in a session of its
own, so a kill takes along what it may have started, and no key pressed in the terminal reaches it. It goes with the parent: by the
kernel's word on Linux, and everywhere by the end of its input and its own timer. Where bubblewrap is installed and works, the child also
sees no network, no other process and no file but Python's own.

The one thing that surprises: not `python -I`. That would ignore PYTHONHASHSEED, too, and a program that walks through a set of strings
would then play differently in every run. `-s -S -P` and an environment of that one variable are the same isolation.
"""

from __future__ import annotations

import functools
import json
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from replays import events as ev
from replays.clean import one_line
from workers.sandbox.check import BUILTINS, MODULES, check_program

__all__ = ["CALL_S", "Outcome", "Program", "bubblewrap", "supported"]

CALL_S = 1.0
"""Real seconds a call may take; most take a thousandth."""
START_S = 10.0
"""Real seconds the child's interpreter may take to stand."""
PATIENCE_S = 1.0
"""Beyond its deadline, the child ends a call by itself."""
LONGEST_REPLY = 4096
_SLICE_S = 0.05
_CHILD = str(Path(__file__).with_name("child.py"))
_INSIDE = "/child.py"


class Outcome(NamedTuple):
    """What came of a call."""

    value: str | None = None
    """The text that `act` returned, at most 200 characters of it; None if it did not come to that."""
    fault: str = ""
    """What went wrong, in one sentence; the same in every run of the same program."""
    died: bool = False
    """Its process is gone, and with it the program's memory."""
    unfit: bool = False
    """It does not even load: nothing will come of another try."""


class _Dead(Exception):
    """The child is of no use any more; the message says why, and its process has been ended."""


def supported() -> bool:
    """Whether programs can be run here at all: it takes POSIX limits and signals."""
    return os.name == "posix"


class Program:
    """One program and its process. `beat` is called now and then while somebody waits in here."""

    def __init__(
        self, source: str, *, call_s: float = CALL_S, start_s: float = START_S, beat: Callable[[], object] = lambda: None, wrapped: bool | None = None
    ) -> None:
        """Raises ProgramError for what `check_program` refuses. `wrapped`: with bubblewrap or without; None for where it works."""
        check_program(source)
        self.source = source
        self._call_s = call_s
        self._start_s = start_s
        self._beat = beat
        self._wrapped = wrapped
        self._child: _Child | None = None
        self._loaded = False

    def start(self) -> None:
        """Start the process, without waiting for it, unless it is there already. A failure is told by the next call."""
        if self._child is not None:
            return
        try:
            self._child = _Child(wrap=bubblewrap() if self._wrapped is None else _wrap() if self._wrapped else (), patience_s=self._call_s + PATIENCE_S)
        except OSError:
            # No process or descriptor to be had just now: the call says so.
            self._child = None
        self._loaded = False

    def load(self) -> Outcome:
        """Wait until the program has been read and its outermost lines have run."""
        self.start()
        if self._child is None:
            return Outcome(fault="no process could be started for the program", died=True)
        if self._loaded:
            return Outcome()
        try:
            reply = self._child.ask(None, time.monotonic() + self._start_s, self._beat)
            if reply != ["ready"]:
                raise _Dead("its process did not start")
            order = {"source": self.source, "builtins": BUILTINS, "modules": MODULES}
            reply = self._ask(json.dumps(order).encode())
        except _Dead as dead:
            self.close()
            return Outcome(fault=f"the program did not load: {dead}", died=True)
        if reply != ["loaded"]:
            self.close()
            return Outcome(fault=f"the program did not load: {_told(reply)}", died=True, unfit=True)
        self._loaded = True
        return Outcome()

    def call(self, view: Any) -> Outcome:
        """Return what `act(view, memory)` returned. After its process died, another is started first, and the memory is empty."""
        loaded = self.load()
        if loaded.fault:
            return loaded
        try:
            reply = self._ask(msgspec.json.encode(view, enc_hook=ev.plain))
        except _Dead as dead:
            self.close()
            return Outcome(fault=f"the program {dead}", died=True)
        if reply[0] == "value":
            return Outcome(value=reply[1])
        if reply[0] == "other":
            return Outcome(fault=f"act() returned a {reply[1]}, expected the letter of an action" if reply[1] != "NoneType" else "act() returned nothing")
        return Outcome(fault=f"the program failed: {_told(reply)}")

    def _ask(self, data: bytes) -> list[Any]:
        assert self._child is not None
        return self._child.ask(data, time.monotonic() + self._call_s, self._beat, late=f"did not answer within {self._call_s:g} s")

    def close(self) -> None:
        """End the process. Safe to call twice; a later call starts another."""
        child, self._child, self._loaded = self._child, None, False
        if child is not None:
            child.end()


def _told(reply: list[Any]) -> str:
    """Return an ["error", what, line] in words."""
    return f"{reply[1]} (line {reply[2]})" if reply[2] else str(reply[1])


class _Child:
    """One process and its two pipes."""

    def __init__(self, *, wrap: tuple[str, ...], patience_s: float) -> None:
        # Behind bubblewrap the parent is another process namespace's business, and bubblewrap's own.
        command = [*wrap, _python(), "-s", "-S", "-P", _INSIDE if wrap else _CHILD, "0" if wrap else str(os.getpid()), f"{patience_s:.3f}"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={"PYTHONHASHSEED": "0"},
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._to, self._from = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self._heard = b""
        # Also for whoever forgets to end it, and at the interpreter's own end.
        self.end = weakref.finalize(self, _end, process)

    def ask(self, data: bytes | None, deadline: float, beat: Callable[[], object], *, late: str = "did not start in time") -> list[Any]:
        """Send a frame (None: nothing) and return the reply. Raises _Dead when there is none by the deadline, or it is none."""
        if self._heard and data is not None:
            raise _Dead("spoke when it was not asked")
        left = b"" if data is None else len(data).to_bytes(4, "little") + data
        while b"\n" not in self._heard:
            if len(self._heard) > LONGEST_REPLY:
                raise _Dead(f"answered with more than {LONGEST_REPLY} bytes")
            now = time.monotonic()
            if now >= deadline:
                raise _Dead(late)
            ready = self._wait(min(_SLICE_S, deadline - now), sending=bool(left))
            beat()
            if left and self._to in ready:
                left = left[self._send(left) :]
            if self._from in ready:
                self._read()
        line, _, self._heard = self._heard.partition(b"\n")
        return _checked(line)

    def _wait(self, seconds: float, *, sending: bool) -> set[int]:
        """Return the pipes that are ready."""
        # Not select(): a desk of many parts has descriptors beyond its 1024.
        poll = select.poll()
        poll.register(self._from, select.POLLIN)
        if sending:
            poll.register(self._to, select.POLLOUT)
        return {number for number, _ in poll.poll(math.ceil(seconds * 1000))}

    def _send(self, data: bytes) -> int:
        try:
            return os.write(self._to, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise _Dead(self._last_words()) from None

    def _read(self) -> None:
        try:
            data = os.read(self._from, LONGEST_REPLY + 1)
        except BlockingIOError:
            return
        if not data:
            raise _Dead(self._last_words())
        self._heard += data

    def _last_words(self) -> str:
        """Say how the process ended, of whom nothing is to be heard any more."""
        self.end()
        code = self._process.returncode
        if code is not None and code < 0 and -code != signal.SIGKILL:
            try:
                return f"ended its process by {signal.Signals(-code).name}"
            except ValueError:
                return f"ended its process by signal {-code}"
        return "ended its process"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a child and whatever it started, and take leave of it."""
    if process.returncode is None:
        try:
            # Not reaped yet, so its number is still its own.
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _checked(line: bytes) -> list[Any]:
    """Return a reply of one of the shapes there are. Raises _Dead for anything else: the program speaks through a pipe that it might reach."""
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError):
        reply = None
    if isinstance(reply, list) and reply:
        shape = [type(item) for item in reply]
        if reply in (["ready"], ["loaded"]):
            return reply
        if (reply[0] in ("value", "other") and shape == [str, str]) or (reply[0] == "error" and shape == [str, str, int]):
            return [one_line(item) if isinstance(item, str) else item for item in reply]
    raise _Dead("answered with what is no answer")


def _python() -> str:
    # A virtual environment's own would look for its packages, and bubblewrap would have to be told of it.
    return str(getattr(sys, "_base_executable", None) or sys.executable)


@functools.cache
def bubblewrap() -> tuple[str, ...]:
    """Return the command that wraps the child, empty where bubblewrap is not installed or may not do its work (in many containers)."""
    wrap = _wrap()
    if not wrap:
        return ()
    try:
        tried = subprocess.run([*wrap, _python(), "-s", "-S", "-P", "-c", ""], stdin=subprocess.DEVNULL, capture_output=True, timeout=START_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return wrap if tried.returncode == 0 else ()


def _wrap() -> tuple[str, ...]:
    found = shutil.which("bwrap") if sys.platform == "linux" else None
    if found is None:
        return ()
    homes = dict.fromkeys(os.path.realpath(path) for path in (sys.base_prefix, sys.base_exec_prefix, Path(_python()).resolve().parent))
    system = ("/usr", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache")
    binds = [word for path in (*system, *homes, sys.base_prefix) for word in ("--ro-bind-try", path, path)]
    return (found, "--unshare-all", "--die-with-parent", "--clearenv", "--setenv", "PYTHONHASHSEED", "0", *binds, "--ro-bind", _CHILD, _INSIDE)
