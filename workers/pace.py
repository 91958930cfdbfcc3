"""When a token is due: pure arithmetic between virtual instants and real ones.

Pacing is apart from the clock: it decides when a token is released to the screen, never what `at` it has.
"""

from __future__ import annotations

import math

__all__ = ["Pacer"]

# Behind by less than this, the schedule is kept, so that paced ticks do not drift; behind by more, time has stood still.
KEEP_NS = 50_000_000


class Pacer:
    """A straight line through (at, t_ns) with `rate` tokens a second; 0 is a pause, infinity is unpaced."""

    def __init__(self, *, at: int = 0, t_ns: int = 0, rate: float = math.inf) -> None:
        self.at, self.t_ns, self.rate = float(at), t_ns, rate

    def set(self, at: float, t_ns: int, rate: float) -> None:
        self.at, self.t_ns, self.rate = float(at), t_ns, rate

    def position(self, now_ns: int) -> float:
        """The virtual instant that is due now."""
        if math.isinf(self.rate):
            return math.inf
        return self.at + max(0, now_ns - self.t_ns) * self.rate / 1e9

    def due_ns(self, at: float) -> float:
        """The real instant at which virtual instant `at` is due; infinity while paused before it."""
        if at <= self.at or math.isinf(self.rate):
            return self.t_ns
        return math.inf if self.rate <= 0 else self.t_ns + (at - self.at) * 1e9 / self.rate

    def change(self, now_ns: int, rate: float, *, most: float = math.inf) -> None:
        """Go on from where time stands now, at another rate; not beyond the instant `most`."""
        here = min(self.position(now_ns), most)
        self.at, self.t_ns, self.rate = (here if math.isfinite(here) else self.at), now_ns, rate

    def begin(self, at: int, now_ns: int) -> None:
        """A window begins at `at`: keep the schedule if it is nearly kept, else let time have stood still."""
        if self.rate > 0 and math.isfinite(self.rate) and abs(now_ns - self.due_ns(at)) <= KEEP_NS and at >= self.at:
            self.at, self.t_ns = float(at), round(self.due_ns(at))
        else:
            self.at, self.t_ns = float(at), now_ns
