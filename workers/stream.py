"""One generation's tokens, released up to an instant: the pure half of every thinker.

A chunk is fetched only when it is needed, and one beyond a border, because the end of a stream costs nothing and a mark
may be written only by one who knows whether the stream goes on. What a border cuts is cut by `backends.cut`.
The one thing that surprises: nothing a backend does gets out of here but tokens, a finish and a fault.
"""

from __future__ import annotations

import enum
import logging
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import msgspec

from replays import events as ev
from workers.backends import Backend, Chunk, Finish, Item, Request, cut
from workers.errors import BackendError
from workers.fetch import Fetched, lazily
from workers.force import Opened
from workers.wire import CHANNELS

__all__ = ["FINISHED", "OVERFLOW", "Progress", "TokenStream", "open_stream"]

log = logging.getLogger(__name__)

FINISHED = ("stop", "length")
"""How a generation that is worth a conclusion or a plan ends; every other finish is a failure or a cut."""
OVERFLOW = "context overflow"
"""How the sentence of a fault begins that says so."""
MOST_BYTES = 1 << 16
"""Bytes of one token at most: it travels whole, and no vocabulary has one of a thousandth of that."""
MOST_TOKENS = 1 << 48
_LONGEST_FAULT = 500
_encode = msgspec.msgpack.Encoder().encode


class Progress(enum.Enum):
    """How a thinker's `work` left off."""

    IDLE = enum.auto()
    """All is done that the orders and the limit allow."""
    MORE = enum.auto()
    """Enough for one go; there is more to do at once."""
    UNKNOWN = enum.auto()
    """The stream has nothing yet, and has not said that it is over."""


def open_stream(backend: Backend, request: Request, *, stall_s: float, wake: Callable[[], None], opened: bool = False) -> TokenStream:
    """Begin a generation. Never raises for what the backend does: that is a fault of the stream.

    A backend says `blocking = False` if its `next()` returns at once; any other is read by a thread, which calls `wake`. `opened` says that
    it goes on behind a box we opened.
    """

    def ask() -> Iterator[Item]:
        items = backend.stream(request)
        return Opened(items) if opened else items

    return TokenStream(Fetched(ask, wake) if getattr(backend, "blocking", True) else lazily(ask), stall_s=stall_s)


class TokenStream:
    """Wraps a backend's iterator. `finish` is None while it goes on; `fault` has the sentence when it broke."""

    def __init__(self, items: Iterator[Item], *, stall_s: float = 120.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._items = items
        self._stall_s = stall_s
        self._clock = clock
        self._silent_since: float | None = None
        self._text = ""
        self._lens: tuple[int, ...] = ()
        self._channel = CHANNELS[0]
        self.finish: str | None = None
        self.fault: str | None = None
        self.usage_tokens: int | None = None
        self.meas: dict[str, Any] = {}
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
        while not self._lens and self.finish is None:
            try:
                item = next(self._items)
            except StopIteration:
                self.finish = "stop"
            except BackendError as error:
                # What a failed request cost and took is told too, where the backend knows.
                self.usage_tokens, self.meas = getattr(error, "usage_tokens", None), dict(getattr(error, "meas", None) or {})
                self._break(error.kind, str(error))
            except (Exception, SystemExit) as error:
                log.error("a thinker's stream broke", exc_info=error)
                self._break("fault", f"{type(error).__name__}: {error}")
            else:
                if item is None:
                    return self._wait_for_it()
                self._silent_since = None
                self._accept(item)
        return True

    def _wait_for_it(self) -> bool:
        now = self._clock()
        if self._silent_since is None:
            self._silent_since = now
        if now - self._silent_since < self._stall_s:
            return False
        self._break("stalled", f"no byte for {self._stall_s:g} s")
        return True

    def _accept(self, item: Item) -> None:
        if isinstance(item, Finish):
            wrong = _wrong_end(item)
            if wrong:
                self._break("malformed", wrong)
                return
            self.finish, self.usage_tokens, self.meas = item.reason, item.usage_tokens, dict(item.meas or {})
            if item.reason not in FINISHED:
                self.fault = f"the stream ended with {item.reason!r}"
            self._close()
        elif not isinstance(item, Chunk):
            self._break("malformed", f"the backend gave {type(item).__name__}, expected Chunk, Finish or None")
        elif wrong := _wrong(item):
            self._break("malformed", wrong)
        else:
            self._text, self._lens, self._channel = item.text, tuple(item.lens), item.channel

    def _break(self, kind: str, why: str) -> None:
        self.finish, self.fault = kind, why[:_LONGEST_FAULT]
        self._close()

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
            if not ready or not self._lens or done >= most:
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

    @property
    def overflowed(self) -> bool:
        """Whether it broke because the prompt did not fit the model's context."""
        return self.fault is not None and self.fault.startswith(OVERFLOW)

    def cancel(self) -> None:
        """Close the request and drop what was not released."""
        tell = getattr(self._items, "so_far", None)
        if tell is not None and not self.meas:
            self.meas = tell()
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


def _wrong(chunk: Chunk) -> str:
    """Return what no ring could carry about a chunk, or ""."""
    if chunk.channel not in CHANNELS:
        return f"the backend named channel {chunk.channel!r}, expected {' or '.join(CHANNELS)}"
    lens = chunk.lens
    if type(chunk.text) is str and chunk.text.isascii() and _quick_sum(lens) == len(chunk.text):
        return ""
    if not isinstance(chunk.text, str) or not set(map(type, lens)) <= {int}:
        return f"a chunk from the backend has {type(chunk.text).__name__} and {sorted({type(size).__name__ for size in lens})}, expected str and whole numbers"
    if lens and not 0 <= min(lens) <= max(lens) <= MOST_BYTES:
        worst = min(lens) if min(lens) < 0 else max(lens)
        return f"a token of {worst} bytes came from the backend, expected 0 to {MOST_BYTES}"
    if chunk.text.isascii():
        size = len(chunk.text)
        return "" if sum(lens) == size else _short(sum(lens), size)
    try:
        raw = chunk.text.encode()
    except UnicodeEncodeError:
        return "half a surrogate pair came from the backend, expected whole code points"
    if sum(lens) != len(raw):
        return _short(sum(lens), len(raw))
    inside = any(offset < len(raw) and raw[offset] & 0xC0 == 0x80 for offset in accumulate(lens))
    return "a token from the backend ends inside a code point; count such a token to the one that completes it" if inside else ""


def _quick_sum(lens: tuple[int, ...]) -> int | None:
    """Return the sum of token lengths if all are whole numbers below 128, as they mostly are; None: they must be looked at one by one.

    MessagePack writes such a number, and nothing else, as one byte below 128; this takes a tenth of the look at each.
    """
    if type(lens) is not tuple:
        return None
    try:
        body = _encode(lens)[1 if len(lens) < 16 else 3 :]
    except (TypeError, ValueError, OverflowError):
        return None
    return sum(body) if len(body) == len(lens) and body.isascii() else None


def _wrong_end(item: Finish) -> str:
    """Return what no event could carry about a stream's end, or ""."""
    if not isinstance(item.reason, str):
        return f"the backend's stream ended with {item.reason!r:.60}, expected stop or length"
    usage = item.usage_tokens
    if usage is not None and (type(usage) is not int or not 0 <= usage < MOST_TOKENS):
        return f"the backend counts {usage!r:.60} tokens, expected a whole number from 0"
    try:
        ev.decode(ev.encode(ev.Generation(tick=0, stream="planner", id=0, phase="end", meas=dict(item.meas or {}))))
    except (TypeError, ValueError, OverflowError) as error:
        return f"what the backend measured cannot be recorded: {error}"
    return ""


def _short(given: int, size: int) -> str:
    return f"the backend's token lengths add up to {given} bytes, and the text has {size}"
