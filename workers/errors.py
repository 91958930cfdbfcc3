"""What can go wrong in the worker layer; the command line turns each into one line and an exit code."""

from __future__ import annotations

__all__ = ["BackendError", "ConfigError", "RingError", "WorkerError"]


class WorkerError(RuntimeError):
    """A part of the run failed: a process that does not start, no memory, a ring gone bad (exit code 1)."""


class RingError(WorkerError):
    """A shared-memory ring cannot be made, or holds what no writer of ours writes."""


class BackendError(WorkerError):
    """A thinker's stream failed. `kind` is one of the error kinds of a generation's `finish`."""

    def __init__(self, message: str, *, kind: str = "fault") -> None:
        super().__init__(message)
        self.kind = kind


class ConfigError(ValueError):
    """What the user asked for cannot be run; the message says what was given, expected, and to try (exit code 2)."""
