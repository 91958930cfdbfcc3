"""A backend's stream read by a thread of its own, so that whoever asks for the next item never blocks.

A model server may be silent for minutes inside one `next()`. The thinker's loop must go on meanwhile: read its orders, show
a sign of life, end the generation when the stall timeout is over. The one thing that surprises: a thread that hangs in
foreign code cannot be ended, so it is left alone, and closes its stream by itself if it ever comes back.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from workers.backends import Item

__all__ = ["Fetched", "lazily"]

log = logging.getLogger(__name__)

AHEAD = 256
"""Items held at most: what a server delivers early waits here, and beyond that in its socket."""
NAP_S = 0.002
"""How long a stream that says "nothing yet" is left alone."""


def lazily(ask: Callable[[], Iterator[Item]]) -> Iterator[Item]:
    """The stream of a backend that never blocks; asked for at the first `next`, where what it raises is a fault like any other."""
    yield from ask()


class Fetched:
    """Iterates over what `ask()` gives; `None` where nothing has come yet. `wake` is called from the thread when something has."""

    def __init__(self, ask: Callable[[], Iterator[Item]], wake: Callable[[], None]) -> None:
        self._ask = ask
        self._wake = wake
        self._ready: deque[tuple[Item, BaseException | None]] = deque()
        self._room = threading.Semaphore(AHEAD)
        self._closed = threading.Event()
        self._over = False
        self._items: Iterator[Item] | None = None
        threading.Thread(target=self._run, name="fetch", daemon=True).start()

    def __iter__(self) -> Fetched:
        return self

    def __next__(self) -> Item:
        if self._over:
            raise StopIteration
        if not self._ready:
            return None
        item, error = self._ready.popleft()
        self._room.release()
        if error is not None:
            self._over = True
            raise error
        return item

    def so_far(self) -> dict[str, Any]:
        """What a stream that can tell (it has a `so_far()`) took until now; the meas of one that is cut."""
        tell = getattr(self._items, "so_far", None)
        return {} if tell is None else dict(tell())

    def close(self) -> None:
        """Cancel the request. A stream with a `cancel()` is told from this thread; any other is closed when its `next` returns."""
        self._over = True
        self._closed.set()
        self._room.release()
        cancel = getattr(self._items, "cancel", None)
        if cancel is not None:
            cancel()

    def _run(self) -> None:
        error: BaseException = StopIteration()
        try:
            self._items = iter(self._ask())
            while not self._closed.is_set():
                item = next(self._items)
                if item is None:
                    self._closed.wait(NAP_S)
                else:
                    self._put(item, None)
        except BaseException as raised:
            # Whatever it is, it is told where the item would have been: to the thinker, not to this thread.
            error = raised
        self._put(None, error)
        close = getattr(self._items, "close", None)
        if close is not None:
            try:
                close()
            except Exception:
                log.exception("a thinker's stream did not close")

    def _put(self, item: Item, error: BaseException | None) -> None:
        self._room.acquire()
        if not self._closed.is_set():
            self._ready.append((item, error))
            self._wake()
