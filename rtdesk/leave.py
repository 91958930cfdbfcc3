"""How a command gives up: a code and, perhaps, one line; and what becomes of words nobody takes."""

from __future__ import annotations

__all__ = ["Exit", "drop_output"]


class Exit(Exception):
    """Leave with a code and, perhaps, one line on stderr."""

    def __init__(self, code: int, line: str = "") -> None:
        super().__init__(line)
        self.code = code
        self.line = line


def drop_output() -> None:
    """What is still buffered for a stdout that takes nothing goes nowhere, so that Python's own last flush does not fail."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
