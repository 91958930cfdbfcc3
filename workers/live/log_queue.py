"""Log records from many processes to one: a socket pair whose messages are whole records.

A `multiprocessing.Queue` would do the same with three named semaphores: files in /dev/shm for as long as the run lasts, which a read-only
or missing /dev/shm refuses, and a lock that a killed process keeps. Here nothing has a name and nobody waits for anybody: what the socket
cannot take at once is dropped, and the next record that gets through says how many were.

It has the part of a queue's interface that `QueueHandler` writes to and `MultiProcessingHandler` reads from.
"""

from __future__ import annotations

import logging
import pickle
import select
import socket
from queue import Empty
from typing import Any

__all__ = ["LogQueue"]

_MOST_BYTES = 1 << 18
_MOST_TEXT = 1 << 14
"""Characters of one record; a message that is longer is cut, so that it fits the socket."""


class LogQueue:
    """Made by the desk and handed to its children, which write; only the desk reads, and says when it wants no more."""

    def __init__(self) -> None:
        # A datagram socket holds ten messages where the system says nothing else; a packet socket as many as fit its buffer.
        kind = getattr(socket, "SOCK_SEQPACKET", socket.SOCK_DGRAM)
        try:
            self._read, self._write = socket.socketpair(socket.AF_UNIX, kind)
        except OSError:
            self._read, self._write = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.dropped = 0
        self._over = False

    def __getstate__(self) -> Any:
        from multiprocessing import reduction

        return reduction.DupFd(self._write.fileno()), self._write.family, self._write.type

    def __setstate__(self, state: Any) -> None:
        handle, family, kind = state
        # One end is enough for a child, and closing its own says nothing to the others.
        self._read = self._write = socket.socket(family, kind, fileno=handle.detach())
        self.dropped = 0
        self._over = False

    def put_nowait(self, record: logging.LogRecord) -> None:
        """Send a record whose message is formatted; never waits."""
        text = str(record.msg)
        if len(text) > _MOST_TEXT:
            text = f"{text[: _MOST_TEXT // 2]} ... {text[-_MOST_TEXT // 2 :]}"
        if self.dropped:
            text += f" ({self.dropped} records before this one were lost)"
        plain = {**record.__dict__, "msg": text, "message": text, "args": None, "exc_info": None, "exc_text": None, "stack_info": None}
        if record.exc_text:
            plain["exc_text"] = record.exc_text[-_MOST_TEXT:]
        if self._send(pickle.dumps(plain)):
            self.dropped = 0
        else:
            self.dropped += 1

    def _send(self, data: bytes) -> bool:
        try:
            return self._write.send(data, socket.MSG_DONTWAIT) == len(data)
        except OSError:
            # Full, or too long, or nobody reads any more.
            return False

    def finish(self) -> None:
        """Nobody waits for a record any more; what is there is still read. From any thread."""
        self._over = True
        # Ends the wait that is on.
        self._send(b"")

    def get(self, timeout: float | None = None) -> logging.LogRecord:
        """Return the next record. Raises queue.Empty after `timeout` seconds, and without a wait after `finish`."""
        if not select.select([self._read], [], [], 0.001 if self._over else timeout)[0]:
            raise Empty
        data = self._read.recv(_MOST_BYTES)
        if not data:
            raise Empty
        return logging.makeLogRecord(pickle.loads(data))

    def qsize(self) -> int:
        """Return 0 if nothing waits to be read."""
        return int(bool(select.select([self._read], [], [], 0)[0]))

    def close(self) -> None:
        self._read.close()
        self._write.close()

    def join_thread(self) -> None:
        """Nothing is sent by a thread."""
