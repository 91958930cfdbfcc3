"""Budget forcing: a reactor that has no answer near the end of its time is cut and asked for one in the time kept back.

Where the server can go on from a given beginning, its own text so far is that beginning, its thoughts closed and the box opened; else one
more short request shows it what it had written. The one thing that surprises: where we opened the box, those letters stand in the log with
the first token that came, so that the answer can be read there; they are ours, and are not counted.
Why: docs/models.md, Answers in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from workers.answers import Reading, read_answer
from workers.backends import Chunk, Item, Request

if TYPE_CHECKING:
    from workers.stream import TokenStream

__all__ = ["KEPT_BACK", "SHARE", "Opened", "beginning", "forced", "kept_back", "read_forced", "together"]

KEPT_BACK = 64
"""Tokens kept back at most."""
SHARE = 8
"""One part in so many of N_TR, or of T_R in wall time, is kept back."""
BOX = "\\boxed{"
_SHOWN = 8000
"""Characters of its own thoughts a reactor is shown in one more request, its last ones."""


def kept_back(window: int) -> int:
    """Return F, tokens, for a reactive window of `window` tokens."""
    return min(KEPT_BACK, window // SHARE)


def beginning(reasoning: str, content: str, force: str) -> str:
    """Return the answer's beginning a server goes on from: what was said, the thoughts closed, `force` said, and the box opened."""
    thoughts = f"<think>\n{reasoning.strip()}\n</think>\n\n" if reasoning.strip() else ""
    said = content.rstrip()
    return f"{thoughts}{said}{chr(10) * 2 if said else ''}{force}\n{BOX}"


class Question:
    """The text of one more short request, put together when somebody reads it."""

    def __init__(self, prompt: object, said: str, force: str) -> None:
        self._prompt, self._said, self._force = prompt, said, force

    def __str__(self) -> str:
        tail = self._said.strip()
        kept = tail if len(tail) <= _SHOWN else "[...]" + tail[-_SHOWN:]
        shown = f"This is what you have thought and said so far:\n{kept}\n\n" if kept else ""
        return f"{str(self._prompt).rstrip()}\n\n{shown}{self._force}\n"


def forced(request: Request, said: Sequence[tuple[str, str]], *, force: str, budget_tokens: int, continues: bool) -> Request:
    """Return what asks for the answer of a generation that was begun with `request` and has `said` so far, as (channel, text)."""
    reasoning, content = ("".join(text for channel, text in said if channel == wanted) for wanted in ("reasoning", "content"))
    whole = "".join(text for _, text in said)
    return msgspec.structs.replace(
        request,
        prompt=request.prompt if continues else Question(request.prompt, whole, force),
        budget_tokens=budget_tokens,
        forced=True,
        said=whole,
        prefix=beginning(reasoning, content, force) if continues else "",
    )


def read_forced(content: str, *, letters: Sequence[tuple[str, str]], turn: int, cut: bool = True) -> Reading:
    """Return what a forced answer says; `cut` as in `read_answer`. One that opens a box of its own behind ours is read without ours."""
    reading = read_answer(content, letters=letters, mode="act", turn=turn, cut=cut)
    if reading.letters is None and content.startswith(BOX):
        own = read_answer(content[len(BOX) :], letters=letters, mode="act", turn=turn, cut=cut)
        return own if own.letters is not None else reading
    return reading


def together(first: TokenStream | None, last: TokenStream) -> tuple[int, int | None, dict[str, Any]]:
    """Return (clock tokens, usage tokens, meas) of a generation that ended with `last`, after `first` was cut if there was one.

    Both requests are billed, so usage is known only if both are. Source: case E08.
    """
    if first is None:
        return last.released, last.usage_tokens, last.meas
    known = [stream.usage_tokens for stream in (first, last) if stream.usage_tokens is not None]
    meas = {**first.meas, "forced": {**last.meas, "tokens": last.released}}
    return first.released + last.released, sum(known) if len(known) == 2 else None, meas


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

    def so_far(self) -> dict[str, Any]:
        """Pass it on."""
        tell = getattr(self._items, "so_far", None)
        return {} if tell is None else dict(tell())

    def close(self) -> None:
        """Pass it on."""
        close = getattr(self._items, "close", None)
        if close is not None:
            close()
