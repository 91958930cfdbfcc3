"""The door every thinker goes through: a request in, an iterator of chunks out.

A backend is one class with `info`, `stream(request)` and `close()`. `stream` returns an iterator (a generator will do)
of `Chunk`s, with an optional `Finish` as its last item. `None` in between means "nothing yet, ask again". Closing the
iterator cancels the request. Raise `BackendError` with one of the kinds of a generation's `finish` for a fault; anything
else that is raised counts as kind `fault`. An empty chunk is a sign of life: it ends no silence on screen, only the stall timer's.

A backend may have more: `check(game, stream)`, asked before an episode, raises for what cannot work; `prepare()`, called in the
process that thinks, loads what takes long; `idle_timeout_s` is set to the stall timeout; `continues` says that it can go on from `Request.prefix`; `hides`
that its server charges for reasoning it does not show; `vary(sample)` makes its requests those of another sample;
`describe()["context_tokens"]` says how much it can read. A stream may have `so_far()`: the meas of one that is cut.

The one thing that surprises: the iterator runs in a thread of its own, read ahead, so it may block as it likes; a stream
may have a `cancel()` that ends a blocking read, called from another thread. A backend that never blocks and thinks only
when it is asked says `blocking = False`, and is read where its tokens are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import msgspec

from replays import events as ev

__all__ = ["Backend", "Chunk", "Finish", "Item", "Request", "cut", "spread"]


class Chunk(NamedTuple):
    """Text as it was produced, with the byte length of each of its tokens."""

    text: str
    lens: tuple[int, ...]
    """UTF-8 bytes of each token, on code-point borders; they add up to the text's bytes.

    A token of 0 bytes counts like any other: so a server's hidden reasoning is charged, as `Chunk("", (0,) * n)` in front of
    the first visible text."""
    channel: str = "reasoning"
    """reasoning or content."""
    strategy: str = ""
    """Which of the seven steering strategies the sentence belongs to, where the backend knows."""


class Finish(NamedTuple):
    """How a stream ended."""

    reason: str = "stop"
    """stop or length."""
    usage_tokens: int | None = None
    """Completion tokens the server reported."""
    meas: dict[str, Any] | None = None
    """ttft_s, tpot_s, throttled_s, attempts."""


Item = Chunk | Finish | None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """All a thinker is given for one generation."""

    stream: str
    """planner or reactor."""
    mode: str
    """act: one action; plan: a sequence by turn; think: free thinking that ends in a plan."""
    game: str
    """Name of the game."""
    load: str
    """Its cognitive load."""
    tick: int
    """The turn it is asked about."""
    max_ticks: int
    """Ticks after which the episode ends."""
    letters: tuple[tuple[str, str], ...]
    """(letter, word) of each action it may answer."""
    view: dict[str, Any]
    """The frozen observation as plain data; builtin thinkers read it."""
    prompt: object
    """`str(request.prompt)` is the whole prompt as text; read it when the stream starts, builtin thinkers never do."""
    guidance: str = ""
    """What the reactor is shown of the planner's thinking, as text; also part of `prompt`."""
    memory: str = ""
    """The planner's own last conclusion, when planner memory is on."""
    budget_tokens: int | None = None
    """Tokens after which the stream is cut; None for a planner, which is never cut."""
    forced: bool = False
    """A reactor that was cut without an answer is asked for it, and for nothing else: `prompt` says so, and holds what it had said."""
    said: str = ""
    """With `forced`: all it had said, both channels in order, up to the token it was cut at."""
    prefix: str = ""
    """The beginning of an answer to go on from, only for a backend that says `continues = True`: an opened box, its thoughts in front of it."""


class Backend(Protocol):
    """The door every thinker goes through, ours and yours; `rtdesk check backend` tests it."""

    info: ev.Backend
    """What it is, for headers, screens and tables."""

    def stream(self, request: Request) -> Iterator[Item]:
        """Return a generation's items as they come; closing the iterator cancels it. Raises BackendError for what goes wrong, then or later."""
        ...

    def close(self) -> None:
        """Let go of what is held open; again is no error."""
        ...


def spread(text: str, tokens: int) -> tuple[int, ...]:
    """Return byte lengths for `tokens` tokens of unknown borders: code points in proportion, rounded down, never inside one."""
    if tokens <= 0:
        return ()
    points = len(text)
    borders = [points * i // tokens for i in range(tokens + 1)]
    return tuple(len(text[a:b].encode()) for a, b in pairwise(borders))


def cut(text: str, lens: tuple[int, ...], take: int) -> tuple[tuple[str, tuple[int, ...]], tuple[str, tuple[int, ...]]]:
    """Cut a run after its first `take` tokens: ((text, lens), (text, lens)). The live run and the simulator share it."""
    head, tail = lens[:take], lens[take:]
    size = sum(head)
    if text.isascii():
        return (text[:size], head), (text[size:], tail)
    raw = text.encode()
    return (raw[:size].decode(), head), (raw[size:].decode(), tail)
