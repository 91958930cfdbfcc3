"""How a command gives up: which code and which line an error is; and what becomes of words nobody takes."""

from __future__ import annotations

__all__ = ["Exit", "code_of", "drop_output", "of_the_machine"]


class Exit(Exception):
    """Leave with a code and, perhaps, one line on stderr."""

    def __init__(self, code: int, line: str = "") -> None:
        super().__init__(line)
        self.code = code
        self.line = line


def code_of(error: Exception) -> int | None:
    """The exit code of an error of ours; None for a bug, which keeps its traceback."""
    from games.base import GameError
    from replays.errors import ReplayError
    from workers.errors import ConfigError, WorkerError

    if isinstance(error, WorkerError) or of_the_machine(error):
        return 1
    if isinstance(error, ConfigError | GameError | ReplayError):
        return 2
    return None


def of_the_machine(error: Exception) -> str:
    """What the machine has run out of, in a sentence, where that is what an error means; "" where it is something else."""
    import errno

    if isinstance(error, MemoryError):
        return "the machine has no memory left; close something, or lower --tick-budget"
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
        return f"{getattr(error, 'filename', None) or 'the output'} could not be written: {getattr(error, 'strerror', error)}; free space, or write elsewhere"
    if number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN):
        return f"the machine has no more to give: {getattr(error, 'strerror', error)}; close something, or raise the limit (ulimit -a shows it)"
    return ""


def drop_output() -> None:
    """What is still buffered for a stdout that takes nothing goes nowhere, so that Python's own last flush does not fail."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
