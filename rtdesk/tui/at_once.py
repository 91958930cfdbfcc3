"""A person's moves on the short way: from the thread that reads the terminal straight to the game, past the screen's event loop.

Drawing a frame keeps the loop busy for ten milliseconds and more, a third of a tick at 30 ticks a second: a move that waited for that
would act in the next tick. Everything else a key can mean (commands, cards, dialogs) goes the long way, and so does a move behind such
a key that has not been dealt with yet: whoever opens the palette and types does not move.

    terminal's thread:  take(key) -> True: it was a move, and has been handed over
    event loop:         done()    -> a key of the long way has been dealt with
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["AtOnce"]


class AtOnce:
    """Decides which keys take the short way. `moves` has the value each key is handed over with; `playing` says whether hands are free now."""

    def __init__(self, moves: Mapping[str, str], *, playing: Callable[[], bool], press: Callable[[str], None]) -> None:
        self._moves = dict(moves)
        self._playing = playing
        self._press = press
        # Each is written by one thread only, so neither needs a lock.
        self._sent = 0
        self._dealt = 0

    def take(self, key: str) -> bool:
        """Hand a move over now; False: the key is to go the long way."""
        value = self._moves.get(key)
        if value is None or self._dealt < self._sent or not self._playing():
            self._sent += 1
            return False
        self._press(value)
        return True

    def done(self) -> None:
        """A key of the long way has been dealt with."""
        if self._dealt < self._sent:
            self._dealt += 1
