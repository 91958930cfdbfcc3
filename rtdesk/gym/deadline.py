"""A wrapper that makes an environment stop waiting: a deadline by the wall or in tokens for every step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, SupportsFloat

import gymnasium

from rtdesk.timers import TokenTimer, make_timer
from workers.errors import ConfigError

__all__ = ["Deadline"]


class Deadline(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Time passes between two calls: an action that comes after its tick is dropped, and the world has moved on without it.

    `tick_budget` is `6s`, `200ms`, or tokens such as 8192, which `spend` counts. Deadlines are absolute from `reset`. In time, `step` lets
    the rest of the tick pass (by the wall: sleeps) and plays the action. Late, it plays `default` once for every tick that is over, and
    returns the newest observation with the rewards of those ticks summed. `info` then has `late` and `ticks`, how many were played; None
    for `default` is a game's own default action, in other environments give an action.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        tick_budget: str | int,
        *,
        default: Any = None,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(env)
        self.timer = make_timer(tick_budget, clock=clock, sleep=sleep)
        self.tick = 0
        """The tick under way."""
        self.late_actions = 0
        """Actions dropped since `reset`."""
        self._default = default

    @property
    def left(self) -> float:
        """Seconds (or tokens) left of the tick under way; negative once it is over."""
        return self.timer.left(self.tick)

    def spend(self, tokens: int) -> None:
        """Count tokens that were written since the last call. Raises ConfigError where time is the wall's."""
        if not isinstance(self.timer, TokenTimer):
            raise ConfigError("this deadline is in seconds, which pass by themselves; give a tick budget in tokens to spend them")
        self.timer.spend(tokens)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the time of tick 0 begins when this returns."""
        seen, info = super().reset(seed=seed, options=options)
        self.tick = self.late_actions = 0
        self.timer.start()
        return seen, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        late = self.timer.over(self.tick)
        if not late:
            self.timer.wait(self.tick)
            self.tick += 1
            seen, reward, terminated, truncated, info = super().step(action)
            return seen, reward, terminated, truncated, {**info, "late": False, "ticks": 1}
        self.late_actions += 1
        total, ticks = 0.0, 0
        while self.timer.over(self.tick):
            self.tick += 1
            ticks += 1
            seen, reward, terminated, truncated, info = super().step(self._default)
            total += float(reward)
            if terminated or truncated:
                break
        return seen, total, terminated, truncated, {**info, "late": True, "ticks": ticks}
