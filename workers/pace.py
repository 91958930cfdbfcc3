"""When a token is due, and what a person may change about it: arithmetic between virtual instants and real ones.

Pacing is apart from the clock: it decides when a token is released to the screen, never what `at` it has.
"""

from __future__ import annotations

import math

from workers.wire import Pace

__all__ = ["Pacer", "Tempo"]

KEEP_NS = 50_000_000
"""Behind by less than this, the schedule is kept, so that paced ticks do not drift; behind by more, time has stood still."""


class Pacer:
    """A straight line through (at, t_ns) with `rate` tokens a second; 0 is a pause, infinity is unpaced."""

    def __init__(self, *, at: float = 0, t_ns: int = 0, rate: float = math.inf) -> None:
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

    def change(self, now_ns: int, rate: float, *, most: float) -> None:
        """Go on from where time stands now, at another rate; not beyond the instant `most`, where everything has been released."""
        self.set(min(self.position(now_ns), most), now_ns, rate)

    def begin(self, at: int, now_ns: int) -> None:
        """A window begins at `at`: keep the schedule if it is nearly kept, else let time have stood still."""
        due = self.due_ns(at)
        if 0 < self.rate < math.inf and at >= self.at and abs(now_ns - due) <= KEEP_NS:
            now_ns = round(due)
        self.set(at, now_ns, self.rate)


class Tempo:
    """Pause, single step and speed of one run. `rate` is in tokens a second, infinity for unpaced.

    In token time a change takes effect at once. Single step, and in wall time a pause, take effect at the tick's end.

    Wall time that stands still does so from a deadline to the instant of the wish to go on, never by when either was noticed: the sides of
    a match, which are told the same instants, move their deadlines by the same time. A wish may reach one side before a deadline and the
    other after it, so `notice_ns` has to lie between a wish and the deadline it takes effect at; `tick_ns` is the time between deadlines. A run by itself
    needs neither.
    """

    def __init__(self, rate: float, *, tick_tokens: int | None, tick_ns: int = 0, notice_ns: int = 0) -> None:
        self._rate = rate
        self._tick_ns, self._notice_ns = tick_ns, notice_ns
        # The earliest deadline a pause takes effect at; the one it did take effect at; the end of the last pause.
        self._pause_from = self._stands_from = self._goes_from = 0
        # None: wall time, which has no pace to change.
        self._tick_tokens = tick_tokens
        self._pacer = None if math.isinf(rate) else Pacer(rate=rate)
        self._pause_after = False
        self.paused = False

    @property
    def stood_ns(self) -> int:
        """For how long wall time stood still in the pause that has just ended."""
        return max(0, self._goes_from - self._stands_from)

    @property
    def paced(self) -> bool:
        """Whether the end of a tick is waited for. An unpaced run becomes one at its first pause."""
        return self._pacer is not None

    def due_ns(self, at: int) -> float:
        """The absolute instant `at` is due."""
        return 0.0 if self._pacer is None else self._pacer.due_ns(at)

    def begin(self, at: int, now_ns: int) -> None:
        """A tick begins at `at`."""
        if self._pacer is not None:
            self._pacer.begin(at, now_ns)

    def frame(self) -> Pace | None:
        """What thinkers are told; None where nothing is paced."""
        pacer = self._pacer
        return None if pacer is None else Pace(at=pacer.at, t_ns=pacer.t_ns, rate=pacer.rate)

    def take(self, what: str, value: str, now_ns: int, *, upto: int) -> bool:
        """Do what a person asked for at `now_ns`; returns whether it took effect now. `upto` is the end of the tick under way."""
        wall = self._tick_tokens is None
        if what == "pause" and wall:
            self._pause_after, self._pause_from = not self.paused, now_ns + self._notice_ns
            return False
        if what == "pause" and not self.paused:
            self.paused, self._pause_after = True, False
            self._change(now_ns, 0.0, upto)
            return True
        if what == "resume":
            was, self.paused, self._pause_after = self.paused, False, False
            if was:
                self._go_on(now_ns, upto)
            return was
        if what == "step":
            was, self.paused, self._pause_after = self.paused, False, True
            # From a pause it is the tick to come, whenever that ends.
            self._pause_from = 0 if was else now_ns + self._notice_ns
            if was:
                self._go_on(now_ns, upto)
            return True
        return what == "rate" and not wall and self._set_rate(value, now_ns, upto)

    def tick_over(self, now_ns: int, *, at: int) -> bool:
        """A tick ends at `at`, in wall time at the deadline `now_ns`; returns whether a pause begins with it."""
        wall = self._tick_tokens is None
        if not self._pause_after or (wall and now_ns < self._pause_from):
            return False
        self._pause_after, self.paused = False, True
        # Whoever learned of it ticks too late stands still since the deadline it was meant for all the same.
        missed = (now_ns - self._pause_from) // self._tick_ns if self._tick_ns and self._pause_from else 0
        self._stands_from = now_ns - missed * self._tick_ns
        self._change(now_ns, 0.0, at)
        return True

    def _go_on(self, now_ns: int, upto: int) -> None:
        self._goes_from = now_ns
        self._change(now_ns, self._rate, upto)

    def _set_rate(self, value: str, now_ns: int, upto: int) -> bool:
        """`max`, or ticks a second. What is no rate changes nothing."""
        try:
            ticks_per_s = math.inf if value == "max" else float(value)
        except ValueError:
            return False
        if not ticks_per_s > 0:
            return False
        self._rate = ticks_per_s * (self._tick_tokens or 1)
        if not self.paused:
            self._change(now_ns, self._rate, upto)
        return True

    def _change(self, now_ns: int, rate: float, upto: int) -> None:
        if self._tick_tokens is None:
            return
        if self._pacer is None:
            self._pacer = Pacer()
        self._pacer.change(now_ns, rate, most=upto)
