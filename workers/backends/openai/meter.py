"""What one generation took: attempts, throttling, time to first token, time per token. Pure; the clock is handed in.

Waiting that a server imposed is not thinking: the time from a refusal to the next request is throttled, the time from the last
request to its first text is TTFT, and only from there on tokens are generated. Every attempt's tokens are billed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workers.backends.openai.usage import Usage

__all__ = ["Meter"]

_GAPS = 4096
_SHORTEST_S = 0.001
"""An answer that came in one piece says nothing of a rate."""


class Meter:
    """Told what happens as it happens; `meas` says what it came to. Instants are seconds of `clock`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._refused: float | None = None
        self._sent: float | None = None
        self._first: float | None = None
        self._last: float | None = None
        self._done: float | None = None
        self._gaps: list[float] = []
        self.tokens = 0
        """Tokens of text that have arrived, by our own count."""
        self.attempts = 0
        self.throttled_s = 0.0
        self.prompt_tokens = 0
        self.billed_tokens: int | None = None

    def request(self) -> None:
        """A request goes out."""
        now = self._clock()
        if self._refused is not None:
            self.throttled_s += now - self._refused
            self._refused = None
        self.attempts += 1
        self._sent = now

    def refused(self) -> None:
        """The server turned it down, and it will be asked again."""
        self._refused = self._clock()

    @property
    def waited_s(self) -> float:
        """Seconds since the last request."""
        return 0.0 if self._sent is None else self._clock() - self._sent

    def text(self, tokens: int) -> None:
        """Text of `tokens` tokens has arrived."""
        now = self._clock()
        if self._first is None:
            self._first = now
        elif self._last is not None and tokens and len(self._gaps) < _GAPS:
            # What comes in one read was made one after the other.
            self._gaps.append((now - self._last) / tokens)
        self._last = now
        self.tokens += tokens

    def done(self) -> None:
        """The answer is whole."""
        self._done = self._clock()

    def usage(self, usage: Usage | None) -> None:
        """An attempt is over, and this is what its server says it cost."""
        if usage is not None:
            self.prompt_tokens += usage.prompt
            self.billed_tokens = (self.billed_tokens or 0) + usage.completion

    def meas(self) -> dict[str, Any]:
        """Return ttft_s, generation_s, throttled_s, attempts and what else is known; seconds, tokens a second."""
        out: dict[str, Any] = {"attempts": self.attempts, "throttled_s": _round(self.throttled_s)}
        if self._refused is not None:
            out["throttled_s"] = _round(self.throttled_s + self._clock() - self._refused)
        if self.prompt_tokens:
            out["prompt_tokens"] = self.prompt_tokens
        if self._first is None or self._last is None or self._sent is None:
            return out
        # An answer that broke off was generated up to its last text; what came then was waiting.
        generation_s = (self._last if self._done is None else self._done) - self._first
        out["ttft_s"] = _round(self._first - self._sent)
        out["generation_s"] = _round(generation_s)
        if self._gaps:
            ordered = sorted(self._gaps)
            out["tpot_s"] = _round(ordered[len(ordered) // 2])
            out["tpot_p90_s"] = _round(ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)])
        tokens = self.billed_tokens if self.billed_tokens is not None else self.tokens
        if generation_s >= _SHORTEST_S and tokens:
            out["tokens_per_s"] = _round(tokens / generation_s)
        return out


def _round(value: float) -> float:
    return round(value, 6)
