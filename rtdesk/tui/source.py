"""Where a screen's events come from: one protocol for the live desk and for recordings.

`poll` gives what is new since the last call and never blocks; a `ViewState` among the events means "start over from here" (a
jump in a recording). The screen folds what it is given and knows nothing of processes or files.

`command(what, value)`, with the line it answers shown in the foot:

    pause     on, off      pause, or go on; with neither, whichever it is not
    step                   run to the end of one tick, then pause
    faster, slower         change the pace by a factor of two
    slow      down, up     slow motion: four times slower, down to a token a frame; and back
    bookmark  note         mark this tick
    restart, next-seed     live: start again; the answer is empty where it cannot be done
    key       letter       a person's move; `letter/1` from the second person's half of the keyboard
    begin, read            a person has read the rules, so the start need not wait; or reads them once more before it
    jump      tick         recordings: go there; also `tick` with +n or -n, `home`, `end`
    place     tick share   recordings: the instant at that share, 0 to 1, of a tick
    scrub     +n, -n       recordings: n tokens on or back (parts of a tick where time is the wall's)
    event     +1, -1       recordings: to the next or previous instant at which something happens
    find      kind         recordings: next tick with an event of that kind ("" is any), a leading - searches back
    search    words        recordings: look for words in what was said, and go there; empty ends it
    hit       +1, -1       recordings: the next hit, or the one before
    quit
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from replays.events import AnyEvent
from replays.view_state import ViewState
from rtdesk.tui.views import Overview, Status

__all__ = ["SPEEDS", "Item", "Pace", "Source"]

Item = AnyEvent | ViewState

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, math.inf)
"""Speeds of a recording, times its own pace; the last is as fast as it goes."""


@runtime_checkable
class Source(Protocol):
    """What `DeskApp` reads from."""

    @property
    def status(self) -> Status:
        """How it runs right now; cheap, asked every frame."""
        ...

    @property
    def overview(self) -> Overview | None:
        """The whole recording at a glance; None for a live run."""
        ...

    def poll(self, now_ns: int) -> Sequence[Item]:
        """Return what happened since the last call, in order. Never blocks. `now_ns` is monotonic."""
        ...

    def command(self, what: str, value: str = "") -> str:
        """Ask for something; return a line for the person, or an empty one."""
        ...

    def log_lines(self) -> Sequence[str]:
        """Return the newest lines of the log, oldest first; cleaned by whoever shows them."""
        ...

    def close(self) -> None:
        """Let go of files and processes; called once, after the screen is gone."""
        ...


class Pace:
    """The pace ladder both kinds of source use: a base rate, doublings, and slow motion on top. Pure."""

    def __init__(self, rate: float, *, slowest: float = 1 / 64, fastest: float = 256.0) -> None:
        self.base = rate
        self.slowest = slowest
        self.fastest = fastest
        self.slowed = 0
        """Steps of slow motion, each four times slower."""

    def floor(self, budget: int | None, fps: float = 30.0) -> float:
        """Return the slowest rate slow motion goes to: about one token a frame."""
        return fps / budget if budget else self.slowest

    def rate(self, budget: int | None = None) -> float:
        """Return ticks a second."""
        if not self.slowed:
            return self.base
        return max(min(self.base, self.floor(budget)), self.base / 4**self.slowed)

    def faster(self) -> None:
        if self.slowed:
            self.slowed = 0
        else:
            # One that was begun beyond the limit stays there, rather than be slowed by this.
            self.base = max(self.base, min(self.fastest, self.base * 2))

    def slower(self) -> None:
        self.base = min(self.base, max(self.slowest, self.base / 2))

    def slow(self, direction: str, budget: int | None = None) -> None:
        """One step of slow motion `down` or `up`; at the bottom nothing happens."""
        if direction == "up":
            self.slowed = max(0, self.slowed - 1)
        elif self.rate(budget) > self.floor(budget) * 1.001:
            self.slowed += 1
