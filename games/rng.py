"""numpy's legacy generator `RandomState(int)` without numpy: the same numbers from the standard library's Mersenne Twister.

Levels are drawn from this stream, so a seed gives the reference's level (spec: MT19937 seeded with the plain single-integer
initialiser). The surprise: the outputs of a seed are kept on a `Tape` and a generator is only a position on it. Starting a
generator anew is then free, and a saved position is all a snapshot needs.
"""

from __future__ import annotations

import random
from typing import Any

__all__ = ["SEED_MAX", "Legacy", "Tape"]

SEED_MAX = 2**32 - 1
"""Largest seed the single-integer initialiser takes."""

_WORDS = 624
# Outputs fetched at a time: one Overcooked phase rarely needs more, and a level needs two or three of these.
_CHUNK = 64


class Tape:
    """The 32-bit outputs of `RandomState(seed)`, made as far as somebody has read. Only ever appended to."""

    __slots__ = ("_source", "outputs", "seed")

    def __init__(self, seed: int) -> None:
        if not 0 <= seed <= SEED_MAX:
            raise ValueError(f"generator seed {seed} is out of range; expected 0 to {SEED_MAX}")
        self.seed = seed
        self.outputs: list[int] = []
        word = seed
        table = [word]
        for i in range(1, _WORDS):
            word = (1812433253 * (word ^ (word >> 30)) + i) & 0xFFFFFFFF
            table.append(word)
        table.append(_WORDS)
        self._source = random.Random()
        self._source.setstate((3, tuple(table), None))

    def extend(self) -> None:
        """Make the next few outputs."""
        draw = self._source.getrandbits
        self.outputs += [draw(32) for _ in range(_CHUNK)]


class Legacy:
    """One reader of a tape: the draws of numpy's `RandomState`, in its order and with its rejections."""

    __slots__ = ("_tape", "draws")

    def __init__(self, tape: Tape | int, draws: int = 0) -> None:
        """`tape` may be a bare seed; `draws` 32-bit outputs are taken as already used."""
        self._tape = Tape(tape) if isinstance(tape, int) else tape
        self.draws = draws
        """32-bit outputs taken so far."""

    def output(self) -> int:
        """Return the next 32-bit output."""
        position = self.draws
        outputs = self._tape.outputs
        while position >= len(outputs):
            self._tape.extend()
        self.draws = position + 1
        return outputs[position]

    def double(self) -> float:
        """Return a float in [0, 1) of 53 random bits; takes two outputs. numpy: `rand()`, `choice(..., p=...)`."""
        high = self.output() >> 5
        low = self.output() >> 6
        return (high * 67108864.0 + low) / 9007199254740992.0

    def upto(self, most: int) -> int:
        """Return a whole number from 0 to `most`, both included; takes one output a try and none if `most` is 0."""
        if most == 0:
            return 0
        mask = (1 << most.bit_length()) - 1
        while (number := self.output() & mask) > most:
            pass
        return number

    def randint(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high` - 1. numpy: `randint(low, high)`, `choice(range(n))` = `randint(0, n)`."""
        return low + self.upto(high - 1 - low)

    def shuffle(self, items: list[Any]) -> None:
        """Shuffle `items` in place. numpy: `shuffle`, and `choice(n, n, replace=False)` of a list 0..n-1."""
        for i in range(len(items) - 1, 0, -1):
            j = self.upto(i)
            items[i], items[j] = items[j], items[i]

    def permutation(self, count: int) -> list[int]:
        """Return 0..count-1 shuffled."""
        items = list(range(count))
        self.shuffle(items)
        return items
