"""One answer, from the request to the last token: an iterator of chunks that another thread may cancel.

It blocks while the server is silent; who must not block has it read by a thread (`workers.fetch`). A refusal is asked again only
before any text came; what came is always kept. An empty chunk in between is a sign of life: the server said something that is no
text, or it told us to wait, and neither is a stall.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from workers.backends.base import Chunk, Finish, Item
from workers.backends.openai.deltas import Answer, Trouble, one_line
from workers.backends.openai.heard import StreamError
from workers.backends.openai.meter import Meter
from workers.backends.openai.refusal import hint, told
from workers.backends.openai.request import body, headers
from workers.backends.openai.retry import MAX_ATTEMPTS, Habits, delay_s, is_overflow, may_retry
from workers.backends.openai.settings import Endpoint
from workers.backends.openai.usage import Charge
from workers.backends.openai.wire import Broken, Hold, Line, Reply

__all__ = ["Limits", "Stream"]

log = logging.getLogger(__name__)

_SIGN_OF_LIFE_S = 0.1
_ERROR_BYTES = 1 << 16
_GUESS_TOKENS_PER_S = 50.0
_GRACE_S = 3.0
"""How long usage and [DONE] are waited for once the answer has its finish."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a request may take; seconds."""

    connect_s: float = 5.0
    idle_s: float = 120.0
    """Silence after which the stream counts as stalled; every byte counts, comments too."""
    total_s: float = 3600.0
    """One request from its sending to its end."""
    attempts: int = MAX_ATTEMPTS


class Stream:
    """Iterates over one answer. `cancel` may be called from any thread, at any time, more than once."""

    def __init__(
        self,
        line: Line,
        endpoint: Endpoint,
        habits: Habits,
        *,
        limits: Limits,
        prompt: str,
        max_tokens: int | None = None,
        prefix: str = "",
        stop: tuple[str, ...] = (),
        version: str = "0",
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._line = line
        self._endpoint = endpoint
        self._habits = habits
        self._limits = limits
        self._clock = clock
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._ready: deque[Item] = deque()
        self._error: StreamError | None = None
        self._over = False
        self._hold = Hold()
        self._reply: Reply | None = None
        self._meter = Meter(clock)
        self._headers = headers(endpoint.key.reveal() if endpoint.key is not None else None, version=version)
        self._url = endpoint.prefix_url if prefix else endpoint.url
        self._prompt = prompt
        self._prefix = prefix
        self._stops = stop
        self._max_tokens = max_tokens
        # What cannot be asked is said now, not in the thread that reads.
        self._body()
        self._resume = 0.0
        self._spoke = self._sent = clock()
        self.changed: list[str] = []
        """Parameters that were left out or renamed because the server turned them down."""
        self._new_answer()

    def _body(self) -> bytes:
        endpoint = self._endpoint
        asked = body(
            endpoint.profile,
            self._habits,
            model=endpoint.model,
            prompt=self._prompt,
            parameters=endpoint.parameters,
            max_tokens=self._max_tokens,
            prefix=self._prefix,
            stop=self._stops,
        )
        return json.dumps(asked).encode()

    def _new_answer(self) -> None:
        opaque = self._habits.hides if self._endpoint.hides is None else self._endpoint.hides
        self._answer = Answer(opened=bool(self._habits.opens_inside))
        self._charge = Charge(opaque=opaque, budget=self._max_tokens, guess=self._guess)

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self._over

    @property
    def answer(self) -> Answer:
        """What has been read of the answer."""
        return self._answer

    @property
    def stepwise(self) -> bool:
        """Whether the server reports its count with every delta."""
        return self._charge.stepwise

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Item:
        while not self._ready:
            if self._stopped.is_set():
                self._end_all()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._over:
                self._let_go()
                raise StopIteration
            try:
                self._step()
            except Broken as broken:
                self._on_broken(broken)
        return self._ready.popleft()

    def so_far(self) -> dict[str, Any]:
        """Return what a stream that is cut took until now, in the terms of a Finish's meas. Any thread."""
        return {**self._meter.meas(), "tokens_estimated": self._answer.usage is None}

    def cancel(self) -> None:
        """End the request now; the server sees its connection closed. Any thread."""
        self._stopped.set()
        if not self._over:
            self._hold.cancel()

    def close(self) -> None:
        """Cancel and let go. For the thread that iterates, or when nobody does."""
        self.cancel()
        self._end_all()

    def _end_all(self) -> None:
        self._ready.clear()
        self._error = None
        self._over = True
        self._let_go()

    def _let_go(self) -> None:
        if self._reply is not None:
            reply, self._reply = self._reply, None
            reply.finish()

    def _step(self) -> None:
        if self._clock() < self._resume:
            left = self._resume - self._clock()
            self._wait(min(left, _SIGN_OF_LIFE_S))
            self._sign_of_life()
        elif self._reply is None:
            self._send()
        else:
            self._receive(self._reply)

    def _sign_of_life(self) -> None:
        now = self._clock()
        if not self._ready and now - self._spoke >= _SIGN_OF_LIFE_S:
            self._spoke = now
            self._ready.append(Chunk("", ()))

    # Asking.

    def _send(self) -> None:
        self._hold = Hold()
        if self._stopped.is_set():
            return
        self._meter.request()
        self._sent = self._clock()
        idle = min(self._limits.idle_s, self._limits.total_s)
        # A silence is found out by itself; this is for a head that goes on and on.
        within = min(self._limits.total_s, idle + self._limits.connect_s + 1.0)
        reply = self._line.send("POST", self._url, headers=self._headers, body=self._body(), idle_s=idle, hold=self._hold, within_s=within)
        self._reply = reply
        if reply.status != 200:
            self._refused(reply)
        else:
            reply.unpack()

    def _refused(self, reply: Reply) -> None:
        """An HTTP status that is no answer: change a parameter, wait and ask again, or give up."""
        text = reply.text(limit=_ERROR_BYTES, timeout_s=min(self._limits.idle_s, 5.0))
        reply.finish()
        self._reply = None
        error, message = told(text)
        if (change := self._habits.change(reply.status, error, message)) is not None:
            log.warning("%s: %s", self._endpoint.shown, change)
            self.changed.append(change)
            return
        if not self._again(may_retry(reply.status, f"{error.get('code')} {error.get('type')} {message}"), reply.headers):
            said = f"{self._endpoint.shown} answered {reply.status} {one_line(reply.reason, 40)}".rstrip()
            said += (f": {message}" if message else "") + hint(reply.status, reply.headers, self._endpoint)
            self._fail(Trouble("http_status", f"context overflow: {said}" if is_overflow(message) else said, reply.status))

    def _again(self, sensible: bool, reply_headers: dict[str, str]) -> bool:
        """Plan another attempt if that makes sense and is left."""
        if not sensible or self._answer.any_text or self._meter.attempts - len(self.changed) >= self._limits.attempts:
            return False
        attempt = self._meter.attempts - len(self.changed)
        self._meter.refused()
        self._resume = self._clock() + delay_s(reply_headers, attempt, now=datetime.now(UTC))
        self._meter.usage(self._answer.usage)
        self._new_answer()
        return True

    def _on_broken(self, broken: Broken) -> None:
        """The connection failed: before the answer began, or in the middle of it."""
        if self._hold.cut or self._stopped.is_set():
            self._end_all()
            return
        in_answer = self._reply is not None
        self._let_go()
        if in_answer:
            self._answer.end(complete=False)
            if self._answer.trouble is None:
                # It had its finish: nothing of the answer is missing.
                self._finish()
                return
            if self._again(broken.kind == "connection", {}):
                return
            message = f"{self._endpoint.shown}: {broken}"
            self._fail(Trouble(broken.kind, message))
        elif not self._again(broken.again, {}):
            self._fail(Trouble(broken.kind, str(broken)))

    # Reading.

    def _receive(self, reply: Reply) -> None:
        answer = self._answer
        left = self._limits.total_s - (self._clock() - self._sent)
        patience = min(self._limits.idle_s, _GRACE_S if answer.finish is not None else self._limits.idle_s, max(left, 0.001))
        try:
            for data in reply.read(patience):
                answer.feed(data)
        except TimeoutError:
            self._on_silence(over_total=left <= patience)
            return
        self._put()
        if answer.over or reply.ended:
            self._end_of_answer()
        elif self._limits.total_s <= self._clock() - self._sent:
            self._on_silence(over_total=True)
        else:
            self._sign_of_life()

    def _put(self) -> None:
        answer = self._answer
        if not answer.pieces:
            return
        pieces, answer.pieces = answer.pieces, []
        if answer.hides and not self._charge.counted:
            self._charge.opaque = True
        before = self._charge.visible
        self._queue(self._charge.chunks(pieces))
        self._meter.text(self._charge.visible - before or len(pieces))

    def _queue(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            if chunk.lens:
                self._ready.append(chunk)
                self._spoke = self._clock()

    def _on_silence(self, *, over_total: bool) -> None:
        self._answer.end(complete=False)
        if self._answer.trouble is None:
            self._finish()
        else:
            why = f"no end after {self._limits.total_s:g} s" if over_total else f"no byte for {self._limits.idle_s:g} s"
            self._fail(Trouble("stalled", f"{self._endpoint.shown}: {why}; its text so far is kept"))

    def _end_of_answer(self) -> None:
        self._answer.end()
        trouble = self._answer.trouble
        if trouble is None:
            self._finish()
            return
        self._let_go()
        if not self._again(trouble.kind == "provider_error" and may_retry(trouble.code, trouble.message), {}):
            overflow = "context overflow: " if is_overflow(trouble.message) else ""
            self._fail(trouble._replace(message=f"{overflow}{self._endpoint.shown}: {trouble.message}"))

    # Ending.

    def _guess(self) -> int:
        """Tokens of hidden reasoning in front of the text that comes now, if nobody tells: as in the last generations, else by the time it took."""
        if known := sorted(self._habits.hidden):
            return known[len(known) // 2]
        return int(self._meter.waited_s * _GUESS_TOKENS_PER_S)

    def _settle(self) -> tuple[int | None, dict[str, Any]]:
        """The last text, and what it all came to: (completion tokens, meas)."""
        self._put()
        answer, charge = self._answer, self._charge
        completion = answer.usage.completion if answer.usage is not None else None
        self._queue(charge.end(completion))
        self._meter.usage(answer.usage)
        hidden = 0
        if completion is not None and answer.field is None and (answer.hides or charge.opaque or (answer.usage and answer.usage.reasoning)):
            hidden = max(0, completion - charge.visible)
            self._habits.saw_hidden(hidden)
        self._habits.saw_tags(returned=answer.returned, unclosed=answer.unclosed and answer.finish != "length")
        meas = self._meter.meas()
        meas["tokens_estimated"] = answer.usage is None
        extra = {
            "finish_reason": answer.finish,
            "reasoning_field": answer.field,
            "hidden_tokens": hidden or charge.hidden,
            "over_budget_tokens": charge.over_budget(completion),
        }
        meas |= {name: value for name, value in extra.items() if value}
        return self._meter.billed_tokens, meas

    def _finish(self) -> None:
        self._meter.done()
        completion, meas = self._settle()
        reason = "length" if (self._answer.finish or "").lower() in ("length", "max_tokens", "max_output_tokens") else "stop"
        self._ready.append(Finish(reason, completion, meas))
        self._over = True

    def _fail(self, trouble: Trouble) -> None:
        completion, meas = self._settle()
        key = self._endpoint.key
        message = one_line(trouble.message if key is None else key.hide(trouble.message), 500)
        self._error = StreamError(message, kind=trouble.kind, code=trouble.code, usage_tokens=completion, meas=meas)
        self._over = True
        self._let_go()
