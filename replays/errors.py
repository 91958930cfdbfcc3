"""The root error of everything that concerns replay files."""

from __future__ import annotations

__all__ = ["ReplayError"]


class ReplayError(ValueError):
    """A replay that cannot be written, opened or used: the message says what was given, what was expected, what to try."""
