"""When to ask again, how long to wait, and which parameter a server would rather not see. Pure.

A request is repeated only before output began, a few times, and never in silence: the attempts and the wait are in the
generation's end. A parameter the server rejects is left out or renamed once, and that is remembered for the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["MAX_DELAY_S", "Habits", "backoff_s", "delay_s", "is_overflow", "may_retry", "retry_after_s"]

MAX_ATTEMPTS = 3
MAX_DELAY_S = 60.0
FIRST_DELAY_S = 0.5
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_FOR_GOOD = ("insufficient_quota", "billing", "quota_exceeded", "credit")
_REJECTS = re.compile(r"unsupported|not supported|not permitted|not allowed|unrecogni[sz]ed|unknown|unexpected|extra|cannot be used|invalid|instead", re.I)
_OVERFLOW = re.compile(
    r"context[ _]?(length|size|window)|exceed_context|maximum context|longer than the context|prompt is too long|too many (input )?tokens|input is too long", re.I
)


def retry_after_s(value: str | None, *, now: datetime) -> float | None:
    """Return the seconds a Retry-After header asks for: a number, a fraction, or an HTTP date (0 if it is past). None if it says nothing."""
    if value is None:
        return None
    text = value.strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{0,12})?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


def backoff_s(attempt: int) -> float:
    """Return the wait after failed attempt number `attempt` (from 1) when the server names none: it doubles."""
    return min(MAX_DELAY_S, FIRST_DELAY_S * 2.0 ** min(attempt - 1, 10))


def delay_s(headers: Mapping[str, str], attempt: int, *, now: datetime, max_delay_s: float = MAX_DELAY_S) -> float:
    """Return how long to wait after `attempt`: what the server asks for, else the backoff; never more than `max_delay_s`."""
    asked = retry_after_s(headers.get("retry-after"), now=now)
    millis = retry_after_s(headers.get("retry-after-ms"), now=now)
    if millis is not None:
        asked = millis / 1000
    if asked is None or not math.isfinite(asked):
        asked = backoff_s(attempt)
    return min(asked, max_delay_s)


def may_retry(code: int | str | None, message: str) -> bool:
    """Whether a status (or the code of an error in the stream) may be over if asked again; a used-up quota is not."""
    if isinstance(code, str):
        return code in ("rate_limit_exceeded", "overloaded_error", "server_error", "timeout", "overloaded")
    return code in _AGAIN and not (code == 429 and any(word in message.lower() for word in _FOR_GOOD))


def is_overflow(message: str) -> bool:
    """Whether an error says that the prompt does not fit the model's context."""
    return _OVERFLOW.search(message) is not None


class Habits:
    """What has been learned of a server in this run; shared by all its streams."""

    def __init__(self, *, length_field: str, stream_usage: bool, stepwise_usage: bool) -> None:
        self.length_field = length_field
        self.stream_usage = stream_usage
        self.stepwise_usage = stepwise_usage
        self._tried: set[str] = set()
        self.opens_inside: bool | None = None
        """Whether its template opens the think block in the prompt; False once that was wrong."""
        self.hides = False
        """Whether it was seen to charge for reasoning it does not show."""
        self.hidden: list[int] = []
        """Hidden tokens of the last generations."""

    def change(self, status: int, error: Mapping[str, Any], message: str) -> str | None:
        """Return what will be different in the next request if this refusal is about a parameter we can do without, else None.

        Each change is made once; any other refusal stands. Source: cases X01 and X02.
        """
        if status not in (400, 422):
            return None
        param = str(error.get("param") or "")
        text = f"{param} {message}"
        if not (_REJECTS.search(text) or "unsupported" in str(error.get("code") or "")):
            return None
        if self.stepwise_usage and "continuous_usage_stats" in text and self._once("continuous_usage_stats"):
            self.stepwise_usage = False
            return "stream_options.continuous_usage_stats left out"
        if self.stream_usage and ("stream_options" in text or "include_usage" in text) and self._once("stream_options"):
            self.stream_usage = False
            return "stream_options left out"
        other = "max_completion_tokens" if self.length_field == "max_tokens" else "max_tokens"
        unfit = re.search(r"too large|too high|at most|less than|exceed|maximum|greater than", message, re.I)
        if re.search(rf"\b{self.length_field}\b", text) and not unfit and self._once(other):
            self.length_field = other
            return f"{other} in place of the other length limit"
        return None

    def _once(self, what: str) -> bool:
        fresh = what not in self._tried
        self._tried.add(what)
        return fresh

    def saw_hidden(self, tokens: int) -> None:
        """A generation ended that charged for `tokens` of reasoning nobody saw."""
        self.hides = True
        self.hidden = [*self.hidden[-7:], tokens]

    def saw_tags(self, *, returned: bool, unclosed: bool) -> None:
        """A generation ended: with a closing tag nobody had opened, or with none although we thought one would come."""
        if unclosed and self.opens_inside:
            self.opens_inside = False
        elif returned and self.opens_inside is None:
            self.opens_inside = True
