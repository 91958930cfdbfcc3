"""One answer read to its end, for whoever wants it whole; and the error a stream ends with when there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from workers.backends.base import Chunk, Finish, Item
from workers.backends.openai.tags import RETURN
from workers.errors import BackendError

__all__ = ["Heard", "StreamError", "hear"]


class StreamError(BackendError):
    """A stream that failed, with what it took until then."""

    def __init__(self, message: str, *, kind: str, code: int | str | None, usage_tokens: int | None, meas: dict[str, Any]) -> None:
        super().__init__(message, kind=kind)
        self.code = code
        """HTTP status, or the code of the server's error object."""
        self.usage_tokens = usage_tokens
        self.meas = meas


class Heard(NamedTuple):
    """One answer, read to its end."""

    reasoning: str
    content: str
    completion_tokens: int | None
    """By the server's count; None if it never said."""
    counted: int
    """Tokens the clock was charged."""
    meas: dict[str, Any]
    error: StreamError | None


def hear(items: Iterable[Item]) -> Heard:
    """Read a stream to its end. What it raises as a StreamError is in the result, with the text so far."""
    reasoning: list[str] = []
    content: list[str] = []
    counted = 0
    try:
        for item in items:
            if isinstance(item, Finish):
                return Heard("".join(reasoning), "".join(content), item.usage_tokens, counted, item.meas or {}, None)
            if not isinstance(item, Chunk):
                continue
            counted += len(item.lens)
            if item.strategy == RETURN:
                reasoning, content = [*reasoning, *content], []
            else:
                (reasoning if item.channel == "reasoning" else content).append(item.text)
    except StreamError as error:
        return Heard("".join(reasoning), "".join(content), error.usage_tokens, counted, error.meas, error)
    return Heard("".join(reasoning), "".join(content), None, counted, {}, None)
