"""How a command gives up: a code and, perhaps, one line."""

from __future__ import annotations

__all__ = ["Exit"]


class Exit(Exception):
    """Leave with a code and, perhaps, one line on stderr."""

    def __init__(self, code: int, line: str = "") -> None:
        super().__init__(line)
        self.code = code
        self.line = line
