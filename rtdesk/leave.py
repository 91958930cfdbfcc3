"""How a command gives up: a code and, perhaps, one line; how it says something beside its result; and what becomes of words nobody takes."""

from __future__ import annotations

import sys
from contextlib import suppress

__all__ = ["Exit", "complain", "drop_output"]

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


def drop_output() -> None:
    """What is still buffered for a stdout that takes nothing goes nowhere, so that Python's own last flush does not fail."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
