"""One log file for all processes of a run, through multiprocessing-logging.

The library's own installer works only with fork. So the handler is made by hand in the desk, after the start method is
set to spawn, and its queue is handed to each child, which puts a stdlib QueueHandler in front of it. The queue is one of
ours: the library's own is three semaphores with names in /dev/shm.
"""

from __future__ import annotations

import logging
import logging.handlers
import threading
from typing import Any

from rtdesk.paths import log_file

__all__ = ["Log"]

_FORMAT = "%(asctime)s %(processName)s %(levelname)s %(name)s: %(message)s"
_BYTES = 2_000_000


class Log:
    """The desk's log; `queue` goes to the children. A log that cannot be written is a note, not a failure."""

    def __init__(self) -> None:
        import multiprocessing

        from workers.live.log_queue import LogQueue

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
        self.queue = LogQueue()
        handler = self._handler = _handler(file, self.queue)
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
            # Or its thread would sit out its wait for a record.
            self.queue.finish()
            self._handler.close()
            self._handler = None


def _handler(file: logging.Handler, queue: Any) -> logging.Handler:
    """Return the library's handler, reading from `queue`."""
    from multiprocessing_logging import MultiProcessingHandler

    class Handler(MultiProcessingHandler):
        def __init__(self) -> None:
            # What the library's own does, but for its queue, which its thread reads from the start.
            logging.Handler.__init__(self)
            self.sub_handler = file
            self.setLevel(file.level)
            self.setFormatter(file.formatter)
            self.filters = file.filters
            self.queue = queue
            self._is_closed = False
            self._receive_thread = threading.Thread(target=self._receive, name="rtdesk-log", daemon=True)
            self._receive_thread.start()

    return Handler()
