"""Token counts: what a server reports, with its quirks, and what stands in until it does.

A count the server never gave is an estimate and is called one. Usage that arrives after the text never moves the clock
(docs/models.md, Tokens); usage that comes with every delta gives each delta its exact share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from workers.backends.base import Chunk, spread
from workers.backends.openai.tags import RETURN
from workers.tokens import lengths

__all__ = ["MAX_HIDDEN", "Charge", "Piece", "Usage", "estimate", "read_usage"]

ONE_WORD = 16
"""A delta of one word up to so many letters is one token: most servers send one token a delta."""
MAX_HIDDEN = 1 << 17
"""Tokens of one answer that are charged without any text to show for them."""
MAX_COUNT = 1 << 32
"""A count of more tokens than this for one answer says nothing."""


class Usage(NamedTuple):
    """What one response cost, by its server."""

    prompt: int
    completion: int
    reasoning: int = 0
    """The part of `completion` that was reasoning, where it is told."""


class Piece(NamedTuple):
    """A stretch of text of one delta."""

    kind: str
    """reasoning, content or RETURN."""
    text: str
    reported: int | None = None
    """The server's count of completion tokens up to here, if the delta carried one."""


def _count(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_COUNT:
        return None
    return int(value)


def read_usage(usage: Any) -> Usage | None:
    """Return what a `usage` object says, or None if it says nothing.

    Reasoning is inside `completion_tokens` with most servers and outside with some; then total - prompt is the larger one, and
    counts. A count of 0 says nothing: servers that do not count send it.
    """
    if not isinstance(usage, dict):
        return None
    prompt = _count(usage.get("prompt_tokens", usage.get("input_tokens")))
    total = _count(usage.get("total_tokens"))
    completion = _count(usage.get("completion_tokens", usage.get("output_tokens"))) or 0
    if total is not None and prompt is not None:
        completion = max(completion, total - prompt)
    if completion <= 0:
        return None
    details = usage.get("completion_tokens_details", usage.get("output_tokens_details"))
    reasoning = _count(details.get("reasoning_tokens") if isinstance(details, dict) else usage.get("reasoning_tokens"))
    return Usage(prompt or 0, completion, min(reasoning or 0, completion))


def estimate(text: str) -> tuple[int, ...]:
    """Return the byte length of each token of a delta's text, by the builtin tokenizer's rule, as near as that gets."""
    if text.isascii():
        size = len(text)
        if size <= ONE_WORD and text.find(" ", 1, size - 1) < 0:
            return (size,) if size else ()
        return lengths(text)
    if len(text) <= 2:
        return (len(text.encode()),)
    return lengths(text)


def _chunk(kind: str, texts: list[str], lens: list[int]) -> Chunk:
    if kind == RETURN:
        return Chunk("".join(texts), tuple(lens), "content", RETURN)
    return Chunk("".join(texts), tuple(lens), kind)


class Charge:
    """Turns pieces into chunks: who is charged how many tokens, and when.

    Reasoning a server hides is charged as one block of empty tokens in front of the first visible text: `opaque` says that it
    hides some, `guess` how many if nobody has said. With a `budget` (tokens) the text of an opaque stream is held until the end,
    when the count is known, and the block is what fits: such budgets are the request's own to keep, and `over_budget` says by
    how much it did not. Why: docs/models.md, Tokens.
    """

    def __init__(self, *, opaque: bool, budget: int | None, guess: Callable[[], int]) -> None:
        self.opaque = opaque
        self._budget = budget
        self._guess = guess
        self._held: list[Piece] | None = [] if opaque and budget is not None else None
        self._stepwise: bool | None = None
        self._between = 0
        """Tokens that counts named beyond what their texts can hold."""
        self.visible = 0
        """Tokens of the text there was."""
        self.hidden = 0
        """Tokens charged for what was not shown."""

    @property
    def stepwise(self) -> bool:
        """Whether usage came with the first text, so with every text."""
        return self._stepwise is True

    @property
    def counted(self) -> int:
        return self.visible + self.hidden

    def chunks(self, pieces: Iterable[Piece]) -> list[Chunk]:
        """Return the chunks of these pieces, neighbours of one channel joined."""
        if self._held is not None:
            self._held.extend(pieces)
            return []
        out: list[Chunk] = []
        texts: list[str] = []
        lens: list[int] = []
        kind = ""
        for piece in pieces:
            if piece.kind != kind and texts:
                out.append(_chunk(kind, texts, lens))
                texts, lens = [], []
            kind = piece.kind
            if self._stepwise is None:
                # Usage that comes with the first text comes with every text; the only usage of a stream comes later than that.
                self._stepwise = piece.reported is not None
                out.extend(self._hide(piece))
            sizes = self._sizes(piece)
            self.visible += len(sizes)
            texts.append(piece.text)
            lens.extend(sizes)
        if texts:
            out.append(_chunk(kind, texts, lens))
        return out

    def _sizes(self, piece: Piece) -> tuple[int, ...]:
        if self._stepwise and piece.reported is not None:
            tokens = max(1, piece.reported - self.counted)
            # A token of a visible text has a byte of it; what a count says beyond that was hidden in between.
            self._between += max(0, tokens - len(piece.text.encode()))
            if self.hidden + self._between <= MAX_HIDDEN:
                return spread(piece.text, tokens)
            # It is a lie, and a list of its tokens would be as long as it likes.
            self._stepwise = False
        return estimate(piece.text)

    def _hide(self, first: Piece) -> list[Chunk]:
        if first.kind == "reasoning":
            # It shows what it thinks after all.
            self.opaque = False
        if not self.opaque:
            return []
        known = None if first.reported is None else first.reported - len(estimate(first.text))
        return self._block(self._guess() if known is None else known)

    def _block(self, tokens: int) -> list[Chunk]:
        self.hidden = max(0, min(tokens, MAX_HIDDEN))
        return [Chunk("", (0,) * self.hidden)] if self.hidden else []

    def end(self, completion: int | None) -> list[Chunk]:
        """Return what was held, its hidden block in front; `completion` is what the server says it came to."""
        if self._held is None:
            return []
        pieces, self._held, self._stepwise = self._held, None, False
        self.opaque = all(piece.kind != "reasoning" for piece in pieces)
        shown = self.chunks(pieces)
        assert self._budget is not None
        guess = self._guess() if self.opaque else 0
        hidden = guess if completion is None else completion - self.visible
        return [*self._block(min(hidden, max(0, self._budget - self.visible))), *shown]

    def over_budget(self, completion: int | None) -> int:
        """Tokens beyond the budget, by the server's count or else by ours."""
        if self._budget is None:
            return 0
        return max(0, (completion if completion is not None else self.counted) - self._budget)
