"""The recorder's process: it drains the rings, orders each committed tick, writes it, and only then moves its cursors.

So its public cursors *are* the durable position, and a restarted recorder needs no other state. `step` commits its tick:
everything of tick k in any ring was written before the conductor wrote step k, so after reading step k in the game ring
one drain of the others is enough, and a dead thinker cannot hold it up.
"""

from __future__ import annotations

import logging
import os
import sys

from replays import events as ev
from replays.errors import ReplayError
from replays.reduce import ViewState, fold
from replays.writer import ReplayWriter
from workers.live.child import WRITE_FAILED, Child
from workers.merge import Merger
from workers.rings import RingReader

__all__ = ["main"]

log = logging.getLogger(__name__)

KEYFRAME_EVERY = 64
THINKERS = ("planner", "reactor")


class Recorder:
    """Reads the game ring one item at a time, because that ring gives the orders."""

    def __init__(self, child: Child) -> None:
        assert child.recording is not None
        self._path = child.recording
        self._game = child.reader("game")
        self._thinkers: dict[str, RingReader] = {name: child.reader(name) for name in THINKERS}
        self._merger = Merger()
        self._state = ViewState()
        self._writer: ReplayWriter | None = None
        self._lost = 0
        self.done = False
        # Where each ring stands at the end of the tick being gathered.
        self._ends: dict[str, int] = {}
        self._gathered: dict[str, list[tuple[int, int]]] = {name: [] for name in THINKERS}
        if os.path.exists(self._path) and child.incarnation:
            self._writer = ReplayWriter.resume(self._path)
            self._merger = Merger(seq=self._writer.next_seq)

    @property
    def readers(self) -> list[RingReader]:
        return [self._game]

    def pump(self) -> bool:
        """Take what has come; returns whether anything had."""
        frames = self._game.poll(publish=False)
        for frame in frames:
            item = self._merger.feed("game", frame)
            self._ends["game"] = frame.position
            if isinstance(item, ev.Episode):
                self._begin(item)
            elif isinstance(item, ev.Step):
                self._commit(item.tick)
            elif isinstance(item, ev.End):
                self._end(item)
        if not frames:
            # Keep up with the thinkers in between, so that no ring comes round while a long tick lasts.
            self._drain()
        return bool(frames)

    def _begin(self, header: ev.Episode) -> None:
        if self._writer is None:
            self._writer = ReplayWriter.create(self._path, header)
            self._merger = Merger(seq=self._writer.next_seq)
        fold(self._state, header)

    def _drain(self) -> None:
        for name, reader in self._thinkers.items():
            for frame in reader.poll(publish=False):
                self._merger.feed(name, frame)
                self._gathered[name].append((frame.tick, frame.position))

    def _commit(self, tick: int) -> None:
        self._drain()
        events = self._merger.commit(tick)
        lost = sum(reader.lost for reader in (self._game, *self._thinkers.values()))
        if lost > self._lost:
            events.insert(0, ev.Fault(tick=tick, component="recorder", what=f"gap: the rings no longer hold {lost - self._lost} bytes", cause="host"))
            self._lost = lost
        self._write(tick, events)
        for name, reader in self._thinkers.items():
            gathered = self._gathered[name]
            while gathered and gathered[0][0] <= tick:
                self._ends[name] = gathered.pop(0)[1]
            if name in self._ends:
                reader.publish(self._ends[name])
        self._game.publish(self._ends["game"])

    def _write(self, tick: int, events: list[ev.AnyEvent]) -> None:
        assert self._writer is not None
        for event in events:
            fold(self._state, event)
        if self._writer.last_tick is not None and tick <= self._writer.last_tick:
            return  # It was written before this process was killed, and its cursors were not.
        self._writer.tick(tick, events)
        if tick % KEYFRAME_EVERY == KEYFRAME_EVERY - 1:
            self._writer.keyframe(tick, self._state.to_map())

    def _end(self, end: ev.End) -> None:
        """Whatever the tick in progress held is kept, then `end` stands alone."""
        assert self._writer is not None
        self._drain()
        left = self._merger.commit(end.tick)
        if left and (self._writer.last_tick is None or end.tick > self._writer.last_tick):
            self._write(end.tick, left)
        self._writer.end(numbered(end, self._merger.next_seq()))
        self._writer.close()
        self._game.publish(self._ends["game"])
        self.done = True

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def numbered(event: ev.End, seq: int) -> ev.End:
    """The event with its place in the file."""
    import msgspec

    return msgspec.structs.replace(event, seq=seq)


def main(child: Child) -> int:
    try:
        recorder = Recorder(child)
        try:
            while not recorder.done:
                if not recorder.pump() and not child.wait(recorder.readers, 0.05, events_only=True):
                    # Told to go before the end: what is committed stays, the file is incomplete and says so.
                    recorder.pump()
                    break
        finally:
            recorder.close()
    except ReplayError as error:
        log.error("recording failed: %s", error)
        print(error, file=sys.stderr)
        return WRITE_FAILED
    return 0
