"""What the builtin planners share: how a wish turns a thinking that is under way.

The one thing that surprises: nothing is thought when a mind is made. Its generators begin at the first step that is asked of them, and
stand where the last was taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator

from workers.thinkers import Step

__all__ = ["Mind", "think"]


class Mind(ABC):
    """One plan in the making: its own way to think, and what it does when it is wished for."""

    def __init__(self) -> None:
        self._way = self._freely()
        # Steps that were wished for; the way waits for them.
        self._side: Iterator[Step] = iter(())
        self._end: Iterator[Step] | None = None

    def next(self, wish: str | None) -> Step | None:
        """Return the next step, or None when all is said."""
        if self._end is None and wish == "conclude":
            self._end = self._conclude()
        if self._end is not None:
            return next(self._end, None)
        step = next(self._side, None)
        if step is None:
            self._side = self._wished(wish)
            step = next(self._side, None) or next(self._way, None)
        if step is not None:
            return step
        self._end = self._conclude()
        return next(self._end, None)

    @abstractmethod
    def _freely(self) -> Iterator[Step]:
        """What the thinking is when nobody steers it."""

    @abstractmethod
    def _wished(self, wish: str | None) -> Iterator[Step]:
        """Return the steps of a kind that was wished for, none if there is nothing to do them on."""

    @abstractmethod
    def _conclude(self) -> Iterator[Step]:
        """The end: what the visible answer is, and what is said before it."""


def think(mind: Mind) -> Generator[Step, str | None, None]:
    """Yield a mind's steps; `send` takes the wish for the next."""
    wish: str | None = None
    while (step := mind.next(wish)) is not None:
        wish = yield step
