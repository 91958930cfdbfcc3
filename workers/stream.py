"""One generation's tokens, released up to an instant: the pure half of every thinker.

A chunk is fetched only when it is needed, and one beyond a border, because the end of a stream costs nothing and a mark
may be written only by one who knows whether the stream goes on. What a border cuts is cut by `backends.cut`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from workers.backends import Finish, Item, cut
from workers.errors import BackendError

__all__ = ["TokenStream"]

log = logging.getLogger(__name__)


class TokenStream:
    """Wraps a backend's iterator. `finish` is None while it goes on; `fault` has the sentence when it broke."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._text = ""
        self._lens: tuple[int, ...] = ()
        self._channel = "reasoning"
        self.finish: str | None = None
        self.fault: str | None = None
        self.usage_tokens: int | None = None
        self.meas: dict[str, object] = {}
        self.released = 0

    @property
    def pending(self) -> bool:
        """Whether a token stands ready."""
        return bool(self._lens)

    @property
    def ended(self) -> bool:
        """Whether everything has been released and no more comes."""
        return self.finish is not None and not self.pending

    def look(self) -> bool:
        """Fetch until a token stands ready or the stream has ended. False means: nothing yet, ask again."""
        while not self._lens:
            if self.finish is not None:
                return True
            try:
                item = next(self._items)
            except StopIteration:
                self.finish = "stop"
                return True
            except BackendError as error:
                self.finish, self.fault = error.kind, str(error)
                return True
            except Exception as error:
                log.exception("a thinker's stream broke")
                self.finish, self.fault = "fault", f"{type(error).__name__}: {error}"
                return True
            if item is None:
                return False
            if isinstance(item, Finish):
                self.finish = item.reason
                self.usage_tokens = item.usage_tokens
                self.meas = dict(item.meas or {})
                self._close()
                return True
            self._text, self._lens, self._channel, _ = item
        return True

    def take(self, most: int) -> tuple[str, str, tuple[int, ...]]:
        """Return (channel, text, lens) of at most `most` tokens of the chunk at hand; `look` must have been True."""
        text, lens = self._text, self._lens
        if len(lens) > most:
            (text, lens), (self._text, self._lens) = cut(text, lens, most)
        else:
            self._text, self._lens = "", ()
        self.released += len(lens)
        return self._channel, text, lens

    def release(self, most: int, run: int, emit: Callable[[str, str, list[int], int], None]) -> tuple[int, bool]:
        """Release up to `most` tokens, gathering what comes together: `emit(channel, text, lens, offset)` for each run of about `run`.

        Looks one chunk beyond what it releases. Returns (tokens released, whether the stream knows how it goes on).
        """
        texts: list[str] = []
        lens: list[int] = []
        channel, begin, done = "", 0, 0
        while True:
            ready = self.look()
            if not ready or not self.pending or done >= most:
                break
            got, text, sizes = self.take(most - done)
            if lens and (got != channel or len(lens) >= run):
                emit(channel, "".join(texts), lens, begin)
                texts, lens, begin = [], [], done
            channel = got
            texts.append(text)
            lens.extend(sizes)
            done += len(sizes)
        if lens:
            emit(channel, "".join(texts), lens, begin)
        return done, ready

    def cancel(self) -> None:
        """Close the request and drop what was not released."""
        self._text, self._lens = "", ()
        self._close()

    def _close(self) -> None:
        close = getattr(self._items, "close", None)
        if close is None:
            return
        try:
            close()
        except Exception:
            log.exception("a thinker's stream did not close")
