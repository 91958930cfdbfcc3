"""The keys of the people who play: at most one key a player is in force, the last pressed wins, and nothing queues.

A terminal tells of no key's release, and a key held down is many presses: so a key counts for the tick it was pressed in and
for no other. A tick that ends a little later than it is due takes keys until it ends: nobody can see that it was due. Once it is `HELD_NS`
late, because somebody is waited for, the screen says that the board holds, and keys count no longer, neither for this tick nor for the
next. What is pressed in the moment between two ticks counts for the second.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from workers.wire import Command

__all__ = ["HELD_NS", "Hands"]

HELD_NS = 250_000_000
"""So long after it was due a tick that has not ended is one whose board holds."""


class Hands:
    """Which key is in force, for each of `players`; `letters` are those they may play."""

    def __init__(self, players: Iterable[int], letters: Iterable[str]) -> None:
        self._letters = frozenset(letters)
        self._keys = dict.fromkeys(players, "")
        self._early: dict[int, Command] = {}
        self._open = False
        self._ended_ns = 0.0

    def key(self, player: int) -> str:
        """The letter in force; empty without one."""
        return self._keys.get(player, "")

    def press(self, key: Command, *, until_ns: float) -> bool:
        """Take a key; `until_ns` is the last instant at which the tick under way takes one. Returns whether another key is in force now."""
        if key.player not in self._keys or key.value not in self._letters:
            return False
        if not self._open or key.t_ns > until_ns:
            self._early[key.player] = key
            return False
        changed = self._keys[key.player] != key.value
        self._keys[key.player] = key.value
        return changed

    def begin(self, now_ns: int) -> list[Command]:
        """A tick begins; returns the keys that were pressed for it already, which are in force now."""
        self._open = True
        # Later than a tick is ever late by itself: the board held, and at the very first tick it had not begun.
        early = [] if now_ns - self._ended_ns > HELD_NS else list(self._early.values())
        self._early.clear()
        return [key for key in early if self.press(key, until_ns=math.inf)]

    def end(self, until_ns: float) -> None:
        """The tick is over, which was due to end at `until_ns`: no key is in force any more."""
        self._open, self._ended_ns = False, until_ns
        self._keys = dict.fromkeys(self._keys, "")
