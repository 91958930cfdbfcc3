"""One log file for all processes of a run, through multiprocessing-logging.

The library's own installer works only with fork. So the handler is made by hand in the desk, after the start method is
set to spawn, and its queue is handed to each child, which puts a stdlib QueueHandler in front of it.
"""

from __future__ import annotations

import logging
import logging.handlers
from typing import Any

from rtdesk.paths import log_file

__all__ = ["Log"]

_FORMAT = "%(asctime)s %(processName)s %(levelname)s %(name)s: %(message)s"
_BYTES = 2_000_000


class Log:
    """The desk's log; `queue` goes to the children. A log that cannot be written is a note, not a failure."""

    def __init__(self) -> None:
        import multiprocessing

        from multiprocessing_logging import MultiProcessingHandler

        self.queue: Any = None
        self.note: str | None = None
        self._handler: logging.Handler | None = None
        if multiprocessing.get_start_method(allow_none=True) != "spawn":
            multiprocessing.set_start_method("spawn", force=True)
        path = log_file()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = logging.handlers.RotatingFileHandler(path, maxBytes=_BYTES, backupCount=1, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            self.note = f"no log is written: {path}: {error.strerror}"
            return
        file.setFormatter(logging.Formatter(_FORMAT))
        handler = MultiProcessingHandler("rtdesk-log", sub_handler=file)
        self._handler = handler
        self.queue = handler.queue
        root = logging.getLogger()
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        # What the desk itself logs must not reach the terminal, whatever else happens.
        logging.lastResort = None
        logging.raiseExceptions = False

    def close(self) -> None:
        """Write out what is queued and let go."""
        if self._handler is not None:
            logging.getLogger().removeHandler(self._handler)
            self._handler.close()
            self._handler = None
