"""A match: several episodes of one level, each with processes of its own, that begin together and end every tick together.

Each side has its own conductor. When everything of a tick is there (the thinkers' marks, and the paced instant), it writes `stand` and
waits; when all sides stand, the referee here writes `goahead` into all their desk rings. So boards move at one instant, and a side whose
server is slow holds all of them. In wall time deadlines are absolute, nobody waits for anybody, and only the beginning is shared.

The referee is a thread of the desk, apart from the screen's event loop: a stalled terminal holds no tick up.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Sequence

from workers.live.desk import LiveRun
from workers.rings import KIND_MARK, RingReader, wait_any
from workers.wire import START, Close, Stand, drain, read_control

__all__ = ["Referee"]

log = logging.getLogger(__name__)

LOOK_S = 0.05
"""How often it is looked whether a side has gone without a word."""
NOBODY = START - 1


class _Side:
    def __init__(self, run: LiveRun, reader: RingReader) -> None:
        self.run = run
        self.reader = reader
        self.stands = NOBODY
        self.over = False

    def hear(self) -> None:
        for frame in drain(self.reader):
            if frame.kind != KIND_MARK:
                continue
            message = read_control(frame)
            if isinstance(message, Stand):
                self.stands = message.tick
            elif isinstance(message, Close):
                self.over = True
        if self.run.failure is not None:
            self.over = True


class Referee:
    """Keeps the sides of a match in step. The runs are started already; `begin()` when play may start, `close()` before the runs are closed."""

    def __init__(self, runs: Sequence[LiveRun]) -> None:
        self._sides = [_Side(run, run.listen()) for run in runs]
        self._given = NOBODY
        self._begin = False
        self._closing = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._ready = False
        self._thread = threading.Thread(target=self._watch, name="referee", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether all sides stand at their beginning."""
        return self._ready

    def begin(self) -> None:
        """Let the episodes begin as soon as all sides stand."""
        self._begin = True
        os.write(self._wake_write, b"x")

    def close(self) -> None:
        """Stop giving the word. Safe to call twice."""
        if self._closing:
            return
        self._closing = True
        os.write(self._wake_write, b"x")
        self._thread.join()
        for side in self._sides:
            side.reader.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _watch(self) -> None:
        try:
            self._keep_step()
        except Exception as error:
            # Without it every side would wait for its word for ever, and nobody would say why.
            log.exception("the referee failed")
            for side in self._sides:
                side.run.failure = side.run.failure or f"the referee failed: {type(error).__name__}: {error}"

    def _keep_step(self) -> None:
        while not self._closing:
            playing = [side for side in self._sides if not side.over]
            if not playing:
                return
            woken = wait_any([side.reader for side in playing], LOOK_S, events_only=True, extra_fds=[self._wake_read])
            if self._wake_read in woken:
                os.read(self._wake_read, 64)
            for side in playing:
                side.hear()
            self._give()

    def _give(self) -> None:
        """Give the word for the next border if all who still play stand there."""
        playing = [side for side in self._sides if not side.over]
        if not playing or any(side.stands <= self._given for side in playing):
            return
        tick = min(side.stands for side in playing)
        self._ready = True
        if tick == START and not self._begin:
            return
        self._given = tick
        now = time.monotonic_ns()
        for side in playing:
            side.run.go(tick, now)
