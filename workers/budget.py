"""Dynamic N_TR: the reactive budget follows what the reactor needs, every five ticks.

If two or more of the last five reactor streams were cut, N_TR grows by half; else it becomes the nearest-rank 95th
percentile of the uncut lengths among the last twenty, once there are ten. A cut length is censored: a rule on cut lengths
alone would never rise. Source: docs/design.md, Moving budget.
"""

from __future__ import annotations

import math
from collections import deque

__all__ = ["DynamicBudget"]

EVERY = 5
WINDOW = 20
ENOUGH = 10


class DynamicBudget:
    """Keeps the last reactor streams; `tick_budget` is N_TE, tokens."""

    def __init__(self, tick_budget: int) -> None:
        self._least = max(1, tick_budget // 16)
        self._most = max(1, 7 * tick_budget // 8)
        self._streams: deque[tuple[int, bool]] = deque(maxlen=WINDOW)

    def add(self, tokens: int, *, cut: bool) -> None:
        """Note one reactor stream."""
        self._streams.append((tokens, cut))

    def suggest(self, tick: int, now: int) -> tuple[int, str] | None:
        """Return (N_TR, why) for the tick that begins, or None when nothing is due."""
        if tick == 0 or tick % EVERY:
            return None
        cuts = sum(cut for _, cut in list(self._streams)[-EVERY:])
        if cuts >= 2:
            return self._clip(math.floor(now * 1.5)), f"{cuts} of the last {EVERY} reactor streams were cut"
        uncut = sorted(tokens for tokens, cut in self._streams if not cut)
        if len(uncut) < ENOUGH:
            return None
        rank = math.ceil(0.95 * len(uncut))
        return self._clip(uncut[rank - 1]), f"95th percentile of {len(uncut)} uncut reactor streams"

    def _clip(self, tokens: int) -> int:
        return min(self._most, max(self._least, tokens))
