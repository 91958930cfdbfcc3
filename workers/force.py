"""Budget forcing: a reactor that has no answer near the end of its time is cut and asked for one in the time kept back.

Where the server can go on from a given beginning, its own text so far is that beginning, its thoughts closed and the box opened; else one
more short request shows it what it had written. The one thing that surprises: where we opened the box, those letters stand in the log with
the first token that came, so that the answer can be read there; they are ours, and are not counted.
Source: spec/token-clock section 2, step 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from workers.backends import Chunk, Item

__all__ = ["KEPT_BACK", "WALL_SHARE", "Opened", "beginning", "kept_back", "question"]

KEPT_BACK = 64
"""Tokens kept back at most."""
WALL_SHARE = 8
"""One part in so many of N_TR, or of T_R in wall time, is kept back."""
BOX = "\\boxed{"
_SHOWN = 8000
"""Characters of its own thoughts a reactor is shown in one more request, its last ones."""


def kept_back(window: int) -> int:
    """Return F, tokens, for a reactive window of `window` tokens."""
    return min(KEPT_BACK, window // WALL_SHARE)


def beginning(reasoning: str, content: str, force: str) -> str:
    """Return the answer's beginning a server goes on from: what was said, the thoughts closed, `force` said, and the box opened."""
    thoughts = f"<think>\n{reasoning.strip()}\n</think>\n\n" if reasoning.strip() else ""
    said = content.rstrip()
    return f"{thoughts}{said}{chr(10) * 2 if said else ''}{force}\n{BOX}"


def question(prompt: str, said: str, force: str) -> str:
    """Return the text of one more short request."""
    tail = said.strip()
    kept = tail if len(tail) <= _SHOWN else "[...]" + tail[-_SHOWN:]
    return f"{prompt.rstrip()}\n\nThis is what you have thought and said so far:\n{kept}\n\n{force}\n"


class Opened:
    """A stream that went on behind an opened box: all it says is the answer, and the box is put back in front of it."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._open = True

    def __iter__(self) -> Opened:
        return self

    def __next__(self) -> Item:
        item = next(self._items)
        if not isinstance(item, Chunk):
            return item
        text, lens = item.text, item.lens
        if self._open and text:
            first = next(number for number, size in enumerate(lens) if size)
            text, lens = BOX + text, (*lens[:first], lens[first] + len(BOX), *lens[first + 1 :])
            self._open = False
        return Chunk(text, lens, "content", item.strategy)

    def cancel(self) -> None:
        """Pass it on; any thread."""
        cancel = getattr(self._items, "cancel", None)
        if cancel is not None:
            cancel()

    def so_far(self) -> object:
        """Pass it on."""
        ask = getattr(self._items, "so_far", None)
        return None if ask is None else ask()

    def close(self) -> None:
        """Pass it on."""
        close = getattr(self._items, "close", None)
        if close is not None:
            close()
