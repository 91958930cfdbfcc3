"""The recorder's process: it drains the rings, orders each committed tick, writes it, and only then moves its cursors.

So its public cursors *are* the durable position, and a restarted recorder needs no other state. `step` commits its tick:
everything of tick k in any ring was written before the conductor wrote step k, so after reading step k in the game ring
one drain of the others is enough, and a dead thinker cannot hold it up.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import deque
from contextlib import suppress

from replays import events as ev
from replays.errors import ReplayError
from replays.format import keyframe_due
from replays.reader import open_replay
from replays.reduce import fold
from replays.view_state import ViewState
from replays.writer import ReplayWriter
from workers.live.child import DONE, NAP_S, TOLD, WRITE_FAILED, Child
from workers.merge import Merger
from workers.rings import Frame, RingReader
from workers.wire import Close, drain, read_control

__all__ = ["main"]

log = logging.getLogger(__name__)

THINKERS = ("planner", "reactor")
LINGER_S = 0.5
"""Real seconds a recorder that was told to go waits for the end of the episode: whoever stops a whole run tells all of its processes at once."""


class Recorder:
    """Reads the game ring frame by frame, because that ring gives the orders."""

    def __init__(self, child: Child) -> None:
        assert child.recording is not None
        self._path = child.recording
        self.game = child.reader("game")
        self._thinkers: dict[str, RingReader] = {name: child.reader(name) for name in THINKERS}
        self._merger = Merger()
        self._state = ViewState()
        self._writer: ReplayWriter | None = None
        self._lost = 0
        self.done = False
        # Ends of the thinkers' frames that no committed tick has taken yet, as (tick, position).
        self._pending: dict[str, deque[tuple[int, int]]] = {name: deque() for name in THINKERS}
        if child.incarnation and os.path.exists(self._path):
            self._take_up()

    def _take_up(self) -> None:
        """Go on with the file of an incarnation that died."""
        try:
            self._writer = ReplayWriter.resume(self._path)
        except ReplayError:
            if self.game.cursor:
                raise
            # Killed while it wrote the header: nothing is in the file, and every ring still holds its beginning.
            os.unlink(self._path)
            return
        self._merger = Merger(seq=self._writer.next_seq)
        last = self._writer.last_tick
        with open_replay(self._path) as replay:
            # Keyframes hold the state of everything before them.
            held = None if last is None else replay.keyframe(last)
            if held is not None:
                self._state = ViewState.from_map(held[1], replay.header)
            else:
                fold(self._state, replay.header)
            for event in replay.iter(held[0] + 1 if held is not None else 0):
                if isinstance(event, ev.Event):
                    fold(self._state, event)

    def pump(self) -> bool:
        """Take what has come; returns whether anything had."""
        frames = self.game.poll(publish=False)
        for frame in frames:
            item = self._merger.feed("game", frame)
            if isinstance(item, ev.Episode):
                self._begin(item)
            elif isinstance(item, ev.Step):
                self._commit(item.tick, frame)
            elif isinstance(item, ev.End):
                self._end(item)
                self.game.publish(frame)
            elif item is None and self._writer is None and isinstance(read_control(frame), Close):
                # Over before it began: there is nothing to record.
                self.done = True
        if not frames:
            # Keep up with the thinkers in between, so that no ring comes round while a long tick lasts.
            self._drain()
        return bool(frames)

    def _begin(self, header: ev.Episode) -> None:
        if self._writer is None:
            self._writer = ReplayWriter.create(self._path, header)
            self._merger.restart(self._writer.next_seq)
            fold(self._state, header)

    def _drain(self) -> None:
        for name, reader in self._thinkers.items():
            pending = self._pending[name]
            for frame in drain(reader, publish=False):
                self._merger.feed(name, frame)
                pending.append((frame.tick, frame.position))

    def _commit(self, tick: int, step: Frame) -> None:
        self._drain()
        lost = sum(reader.lost for reader in (self.game, *self._thinkers.values()))
        if lost > self._lost:
            # Ticks whose step went with the gap are records of their own, not part of this one.
            for earlier in self._merger.uncommitted(tick):
                self._write(earlier)
        self._write(tick, lost=lost - self._lost)
        self._lost = lost
        for name, reader in self._thinkers.items():
            pending = self._pending[name]
            end = None
            while pending and pending[0][0] <= tick:
                end = pending.popleft()[1]
            if end is not None:
                reader.publish(end)
        # Last of all: where this ring's cursor stands, the others' do as well.
        self.game.publish(step)

    def _write(self, tick: int, *, lost: int = 0) -> None:
        writer = self._writer
        if writer is None:
            raise ReplayError(f"{self._path}: the rings no longer hold the beginning of the episode; nothing can be recorded")
        if writer.last_tick is not None and tick <= writer.last_tick:
            # Written before the last incarnation was killed, which had not told it yet.
            self._merger.drop(tick)
            return
        events: list[ev.AnyEvent] = []
        if lost:
            gap = ev.Fault(tick=tick, component="recorder", what=f"gap: {lost} frames are missing before this", done="goes on", cause="host")
            self._merger.number(gap)
            events.append(gap)
        events += self._merger.commit(tick)
        for event in events:
            fold(self._state, event)
        writer.tick(tick, events)
        if keyframe_due(tick):
            writer.keyframe(tick, self._state.to_map())

    def _end(self, end: ev.End) -> None:
        """Whatever the tick in progress held is kept, then `end` stands alone."""
        self.rest()
        assert self._writer is not None
        if not self._writer.ended:
            self._merger.number(end)
            self._writer.end(end)
        self._writer.close()
        self.done = True

    def rest(self) -> None:
        """Write what is held of ticks that were never committed: the episode was quit, or the game died."""
        self._drain()
        if self._writer is not None:
            for tick in self._merger.uncommitted():
                self._write(tick)

    def close(self) -> None:
        """Write the index and let go. Raises ReplayError if that does not fit on the disk."""
        if self._writer is not None:
            self._writer.close()


def main(child: Child) -> int:
    """Entry point."""
    try:
        recorder = Recorder(child)
        try:
            code = _record(child, recorder)
        except BaseException:
            # The first failure is the one to tell; a full disk fails twice.
            with suppress(ReplayError):
                recorder.close()
            raise
        recorder.close()
    except ReplayError as error:
        log.error("recording failed: %s", error)
        print(error, file=sys.stderr)
        return WRITE_FAILED
    return code


def _record(child: Child, recorder: Recorder) -> int:
    patience: float | None = None
    while not recorder.done:
        if recorder.pump() or child.wait([recorder.game], NAP_S, events_only=True):
            continue
        if child.orphaned:
            # Nobody gives orders any more: what there is stays, and the file is incomplete and says so.
            while recorder.pump() and not recorder.done:
                pass
            if not recorder.done:
                recorder.rest()
            break
        now = time.monotonic()
        patience = now + LINGER_S if patience is None else patience
        if now > patience:
            # The tick in progress is left to the next incarnation, which finds it in the rings.
            return TOLD
        time.sleep(0.01)
    return DONE
