"""The process a policy program runs in. Started by `host.py` with `-s -S -P`; imports nothing of ours and nothing it was not given.

It takes frames on its standard input, a length of 4 bytes and JSON, and answers each with one line of JSON on its standard output:

    {"source", "builtins": [name], "modules": {name: [name]}}    -> ["ready"] once it stands, then ["loaded"] or ["error", what, line]
    view                                                         -> ["value", text] or ["other", type] or ["error", what, line]

Before it reads a program it gives up what it can: memory, file sizes, descriptors and processes beyond a limit, its life without its
parent. Before the program runs, an audit hook is set that refuses whatever Python reports of files, sockets, processes, imports and
foreign code. A hook cannot be taken out again, and it holds nothing that could be turned off.
"""

import __future__

import builtins
import collections
import contextlib
import ctypes
import heapq
import json
import math
import os
import resource
import signal
import sys
import types
from collections.abc import Callable
from typing import Any

MEMORY = 512 << 20
"""Bytes of address space; the interpreter itself takes about 20 MB of it."""
CPU_S = 3600
"""Seconds of processor time in a whole life: a call has its own deadline."""
PR_SET_PDEATHSIG = 1
FILE = "<program>"
LONGEST = 200
MODULES = {"math": math, "heapq": heapq, "collections": collections}
# The way from an error to its line.
LINE = frozenset(("tb_frame", "f_code"))


def main() -> None:
    parent, patience_s = int(sys.argv[1]), float(sys.argv[2])
    follow(parent)
    limit()
    # What it inherited may hold back the timer.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    sys.stdin = sys.stdout = sys.stderr = None
    answer(["ready"])
    order = json.loads(take())
    act = load(order, patience_s)
    if act is None:
        return
    answer(["loaded"])
    memory: dict[str, object] = {}
    while True:
        view = json.loads(take())
        # Somebody who is no longer there, or is held up, ends no call: then this does.
        signal.setitimer(signal.ITIMER_REAL, patience_s)
        try:
            reply = told(act(view, memory))
        except BaseException as error:
            reply = failure(error)
        signal.setitimer(signal.ITIMER_REAL, 0)
        answer(reply)


def follow(parent: int) -> None:
    """End with the parent, where the kernel sees to it; elsewhere the end of the input and the timer do."""
    if parent and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


def limit() -> None:
    """Give up what a program does not need. None of it is what keeps the desk safe; each makes an accident smaller."""
    wanted = {"RLIMIT_AS": MEMORY, "RLIMIT_CPU": CPU_S, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 3, "RLIMIT_NPROC": 0}
    for name, value in wanted.items():
        number = getattr(resource, name, None)
        if number is None:
            continue
        _, hard = resource.getrlimit(number)
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # Not every system limits everything; the parent's deadline is there in any case.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(number, (least, least))


def load(order: dict, patience_s: float) -> Callable[[object, dict[str, object]], object] | None:
    """Run the program's text and return its `act`; None if that failed, which has been said."""
    signal.setitimer(signal.ITIMER_REAL, patience_s)
    names = {name: getattr(builtins, name) for name in order["builtins"]}
    scope: dict[str, Any] = {"__name__": "program", "__builtins__": names}
    for module, inside in order["modules"].items():
        scope[module] = types.SimpleNamespace(**{name: getattr(MODULES[module], name) for name in inside})
    act: Callable[[object, dict[str, object]], object]
    try:
        code = compile(order["source"], FILE, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
        sys.addaudithook(refuse)
        exec(code, scope)
        act = scope["act"]
    except BaseException as error:
        answer(failure(error))
        return None
    signal.setitimer(signal.ITIMER_REAL, 0)
    return act


def refuse(event: str, arguments: tuple) -> None:
    # Its own text being run is reported, too.
    if event != "exec" and not (event == "object.__getattr__" and arguments[1] in LINE):
        raise PermissionError(f"{event} is not for programs")


def told(value: object) -> list:
    if isinstance(value, str):
        return ["value", str.__getitem__(value, slice(LONGEST))]
    return ["other", type(value).__name__[:LONGEST]]


def failure(error: BaseException) -> list:
    """Say what went wrong, and in which line of the program, as shortly as it can be said."""
    try:
        what = str(error)[:LONGEST]
    except BaseException:
        what = ""
    line = 0
    if isinstance(error, SyntaxError):
        what, line = str(error.msg), error.lineno or 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return ["error", f"{type(error).__name__}: {what}" if what else type(error).__name__, line]


def answer(reply: list) -> None:
    data = json.dumps(reply).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


def take() -> bytes:
    size = int.from_bytes(exactly(4), "little")
    return exactly(size)


def exactly(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            os._exit(0)
        data += more
    return data


if __name__ == "__main__":
    main()
