"""Deadlines for agents of your own: by the wall, or in tokens. The unit of a budget decides which."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from workers.config import parse_budget

__all__ = ["Timer", "TokenTimer", "WallTimer", "make_timer"]


class Timer(Protocol):
    """When ticks are over. Tick 0 begins at `start`."""

    unit: str
    """seconds or tokens."""

    def start(self) -> None: ...

    def left(self, tick: int) -> float:
        """What is left until the deadline of `tick`, in `unit`; negative behind it."""
        ...

    def over(self, tick: int) -> bool:
        """Whether the deadline of `tick` has gone by."""
        ...

    def wait(self, tick: int) -> None:
        """Let time pass up to the deadline of `tick`."""
        ...

    def now_ns(self) -> int:
        """Nanoseconds since `start`."""
        ...


class WallTimer:
    """Deadlines on the wall clock. `clock` gives monotonic nanoseconds, `sleep` takes seconds; a test gives its own two."""

    unit = "seconds"

    def __init__(self, tick_s: float, *, clock: Callable[[], int] = time.monotonic_ns, sleep: Callable[[float], None] = time.sleep) -> None:
        self.tick_ns = round(tick_s * 1e9)
        self._clock = clock
        self._sleep = sleep
        self._began = clock()

    def start(self) -> None:
        self._began = self._clock()

    def now_ns(self) -> int:
        return self._clock() - self._began

    def left(self, tick: int) -> float:
        return ((tick + 1) * self.tick_ns - self.now_ns()) / 1e9

    def over(self, tick: int) -> bool:
        return self.now_ns() >= (tick + 1) * self.tick_ns

    def wait(self, tick: int) -> None:
        while (left := self.left(tick)) > 0:
            self._sleep(left)


class TokenTimer:
    """Deadlines in tokens, moved by `spend` alone. The last token of a tick is still in time."""

    unit = "tokens"

    def __init__(self, tick_tokens: int, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.tick_tokens = tick_tokens
        self.spent = 0
        """Tokens since `start`; a tick that was acted in early leaves the rest of its budget behind."""
        self._clock = clock
        self._began = clock()

    def start(self) -> None:
        self.spent, self._began = 0, self._clock()

    def now_ns(self) -> int:
        return self._clock() - self._began

    def spend(self, tokens: int) -> None:
        """Let time pass by so many tokens. Raises ValueError for a negative number."""
        if tokens < 0:
            raise ValueError(f"{tokens} tokens cannot be spent; give what was written since the last call, 0 or more")
        self.spent += tokens

    def left(self, tick: int) -> float:
        return (tick + 1) * self.tick_tokens - self.spent

    def over(self, tick: int) -> bool:
        return self.left(tick) < 0

    def wait(self, tick: int) -> None:
        self.spent = max(self.spent, (tick + 1) * self.tick_tokens)


def make_timer(
    tick_budget: str | float, *, clock: Callable[[], int] = time.monotonic_ns, sleep: Callable[[float], None] = time.sleep
) -> WallTimer | TokenTimer:
    """Return the timer of a budget: `6s` or `200ms` by the wall, `8192` in tokens. Raises ConfigError for anything else."""
    unit, size = parse_budget(tick_budget, name="tick budget")
    return WallTimer(size, clock=clock, sleep=sleep) if unit == "wall" else TokenTimer(int(size), clock=clock)
