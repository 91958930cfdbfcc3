"""How a command gives up: a code and, perhaps, one line; how it says something beside its result; and what becomes of words nobody takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from typing import Any, TextIO

__all__ = ["Exit", "complain", "drop_output", "one_object", "print_json"]

_OUT: ContextVar[TextIO | None] = ContextVar("out")

LONGEST_LINE = 4000
"""Characters of a line on stderr; what goes on for longer has been put into an error by somebody else."""


class Exit(Exception):
    """Leave with a code and, perhaps, one line on stderr."""

    def __init__(self, code: int, line: str = "") -> None:
        super().__init__(line)
        self.code = code
        self.line = line


def complain(line: str) -> None:
    """Write one line on stderr, whatever is in it: what a file, a model or a command line holds is text and never control."""
    if sys.stderr is None:
        return
    encoding = sys.stderr.encoding or "utf-8"
    text = " ".join(line.split())
    if not (text.isascii() and text.isprintable()):
        from replays.clean import one_line

        text = one_line(text, LONGEST_LINE)
    # Where nobody is left to tell, the exit code does.
    with suppress(OSError):
        print(f"rtdesk: {text}".encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)


@contextmanager
def one_object() -> Iterator[None]:
    """Within it stdout is for `print_json` alone: what else is printed, by a file of the user's say, goes to stderr."""
    token = _OUT.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _OUT.reset(token)


def print_json(value: Any) -> None:
    """Print the one JSON object of a command's --json. Raises ValueError for a number JSON does not have."""
    import json

    out = _OUT.get(sys.stdout)
    # One that was closed before we began is None, and print() takes that for any.
    if out is not None:
        print(json.dumps(value, allow_nan=False), file=out)


def drop_output() -> None:
    """What is still buffered for a stdout that takes nothing goes nowhere, so that Python's own last flush does not fail."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
