"""A recording as one more side of a live match: it is where the live side is, tick for tick, however that one is paced.

What an expensive model once thought is raced again for nothing. Inside a tick its text comes at the recorded instants.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replays.reader import Replay
from rtdesk.live_source import LiveSource
from rtdesk.tui.player import ReplaySource
from rtdesk.tui.source import Item
from rtdesk.tui.views import Status

__all__ = ["GhostSource"]


class GhostSource(ReplaySource):
    """Side of a match played from `recording`, in step with `live`. Commands mean the live side, and are not for it."""

    def __init__(self, recording: Replay, live: LiveSource) -> None:
        super().__init__(recording, title=recording.path, mode="live", playing=False)
        self._live = live
        self._last_ns = 0

    @property
    def status(self) -> Status:
        live = self._live.status
        # It runs on to its own end when the one who raced it is out.
        play = "ended" if self.ended else "playing" if self._live.run.over else live.play
        return msgspec.structs.replace(super().status, mode="live", play=play, rate=live.rate, people=live.people, count=live.count, at=None, t_ns=None)

    def poll(self, now_ns: int) -> Sequence[Item]:
        passed, self._last_ns = (now_ns - self._last_ns if self._last_ns else 0), now_ns
        position, own = self._live.position, self._place + self._share
        if self._place < 0:
            self._begin()
        elif self._live.run.over and not self.ended:
            # The one who raced it is out; the ghost runs to its own end.
            self._advance(min(passed / 1e9, 1.0) * (self._live.status.rate or 1.0))
        elif position is None and own > 0:
            # Again from the start.
            self._jump(0, 0.0)
        elif position is not None and position > own:
            self._advance(position - own)
        out, self._out = self._out, []
        return out

    def command(self, what: str, value: str = "") -> str:
        return ""

    def close(self) -> None:
        """The recording is closed by whoever opened it."""
