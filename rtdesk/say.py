"""What a command says: its result on stdout, all else on stderr behind its name; never control, and in any locale.

The one thing that surprises: within `one_object` an ordinary `print` goes to stderr, whoever calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from typing import Any, TextIO

__all__ = ["complain", "hush", "one_object", "print_json", "print_plain"]

_OUT: ContextVar[TextIO | None] = ContextVar("out")

LONGEST_LINE = 4000
"""Characters of a line on stderr; what goes on for longer has been put into an error by somebody else."""


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


def print_plain(text: str) -> None:
    """Print text that may hold what a file or a model said: no control character reaches the terminal, any locale copes."""
    from replays.clean import clean

    encoding = sys.stdout.encoding or "utf-8"
    print(clean(text).encode(encoding, "backslashreplace").decode(encoding))


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


def hush() -> None:
    """What a thinker or a board says of a wild recording is no matter of the terminal: the command's own line tells it."""
    import logging

    logging.getLogger().addHandler(logging.NullHandler())
