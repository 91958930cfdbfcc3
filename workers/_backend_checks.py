"""What the checker asks of a backend, one question a function: each yields (what is wrong, its likely cause)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from games.base import Game
from replays import events as ev
from workers.agents import Shape
from workers.answers import read_answer
from workers.backends import Chunk, Finish, Request, shut
from workers.errors import BackendError, ConfigError
from workers.prompts import Layout, fixed_texts, render

__all__ = ["BACKEND_CHECKS", "BACKEND_GATES", "Thinker"]

Found = Iterator[tuple[str, str]]

# One thinker of a tick budget of 8192 says less than this in one generation; who says more does not end.
_MOST_TOKENS = 1 << 20
_POLL_S = 0.005
_LENS = "lens holds the UTF-8 bytes of each token, not characters; workers.tokens.lengths(text) or workers.backends.spread(text, n) makes them"


class Thinker:
    """A backend under the checker: a function that makes a new one, and a position to ask about."""

    def __init__(
        self, make: Callable[[], Any], *, game: Game, timeout_s: float, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self.make = make
        self.game = game
        self.timeout_s = timeout_s
        self.clock = clock
        self.sleep = sleep

    def roles(self, backend: Any) -> list[str]:
        """The roles it takes in this game: both, unless its own `check` refuses one."""
        check = getattr(backend, "check", None)
        taken = []
        for role in ("planner", "reactor"):
            try:
                if check is not None:
                    check(self.game.spec.name, role)
            except ConfigError:
                continue
            taken.append(role)
        return taken

    def request(self, role: str) -> Request:
        """What a thinker of this role is asked at turn 0."""
        game = self.game
        observation = game.observe()
        shape = Shape(planner=True, reactor=True)
        texts = fixed_texts(
            game, shape=shape, default_action=game.default_action, tick_budget="8192 tokens", reactive_budget="2048 tokens"
        )
        parts = Layout(texts, role).fill(0)
        return Request(
            stream=role,
            mode="act" if role == "reactor" else "plan",
            game=game.spec.name,
            load=game.load,
            tick=0,
            max_ticks=game.spec.max_ticks or 1 << 30,
            letters=game.spec.letters,
            view=observation.view,
            prompt=render(parts, texts=texts, observation=lambda tick: observation.text, trace=lambda generation: b""),
            budget_tokens=2048 if role == "reactor" else None,
        )

    def listen(self, items: Any, *, most: int | None = None) -> tuple[list[Any], str]:
        """Take items until the stream ends, or `most` of them; return them, and why it broke off or an empty string."""
        taken: list[Any] = []
        tokens = 0
        until = self.clock() + self.timeout_s
        try:
            for item in items:
                if item is None:
                    if self.clock() > until:
                        return taken, f"said nothing for {self.timeout_s:g} s"
                    self.sleep(_POLL_S)
                    continue
                taken.append(item)
                tokens += len(item.lens) if isinstance(item, Chunk) else 0
                if len(taken) == most:
                    return taken, ""
                if tokens > _MOST_TOKENS or len(taken) > _MOST_TOKENS:
                    return taken, f"does not end: {tokens} tokens, {len(taken)} items"
                if self.clock() > until:
                    return taken, f"does not end within {self.timeout_s:g} s"
        except BackendError as error:
            return taken, f"failed ({error.kind}): {error}"
        return taken, ""


def surface(thinker: Thinker) -> Found:
    """It has info, stream and close, and takes a role."""
    backend = thinker.make()
    if not isinstance(getattr(backend, "info", None), ev.Backend):
        yield f"info is {getattr(backend, 'info', None)!r:.60}, expected a replays.events.Backend", 'info = Backend(spec="./mine.py", title="mine")'
    for name in ("stream", "close"):
        if not callable(getattr(backend, name, None)):
            yield f"there is no {name}()", "a backend is a class with info, stream(request) and close()"
            return
    if not thinker.roles(backend):
        yield f"check() refuses both roles of {thinker.game.spec.name}", "check(game, stream) raises ConfigError only for what it cannot play; try --game"
    shut(backend)


def streams(thinker: Thinker) -> Found:
    """Each role's stream is made of chunks whose lengths add up, ends, and holds an answer."""
    backend = thinker.make()
    for role in thinker.roles(backend):
        request = thinker.request(role)
        items = backend.stream(request)
        if not hasattr(items, "__next__"):
            yield f"stream() gives a {type(items).__name__}, expected an iterator", "write stream() as a generator with `yield`, or return iter(...)"
            return
        taken, broke = thinker.listen(items)
        if broke:
            yield f"{role}: the stream {broke}", "is the server there, the key set, the model's name right?" if "failed" in broke else "end the iterator, or yield Finish('stop')"
        clean = True
        for found in _items(taken, role):
            clean = False
            yield found
        if clean and not broke:
            yield from _answer(taken, request, role)
    shut(backend)


def _items(taken: list[Any], role: str) -> Found:
    for place, item in enumerate(taken):
        where = f"{role}: item {place}"
        if isinstance(item, Finish):
            if item.reason not in ("stop", "length"):
                yield f"{where} finishes with {item.reason!r}", "stop or length; a failure is raised as BackendError(message, kind=...)"
            if item.usage_tokens is not None and item.usage_tokens < 0:
                yield f"{where} reports {item.usage_tokens} tokens", "usage_tokens is what the server counted, or None"
            if place != len(taken) - 1:
                yield f"{where} is a Finish, and more follows", "Finish is the last item"
        elif not isinstance(item, Chunk):
            yield f"{where} is {item!r:.60}", "a stream holds Chunk, Finish, or None for `nothing yet`"
            return
        elif item.channel not in ("reasoning", "content"):
            yield f"{where} has channel {item.channel!r}", "reasoning, or content for the visible answer"
        else:
            yield from _lengths(item, where)


def _lengths(chunk: Chunk, where: str) -> Found:
    if not isinstance(chunk.text, str):
        yield f"{where} has text {chunk.text!r:.60}", "text is a str; decode bytes first, and hold back half a code point"
        return
    try:
        raw = chunk.text.encode()
    except UnicodeEncodeError:
        yield f"{where} has text {chunk.text!r:.60}, which is no UTF-8", "half of a surrogate pair; decode with errors='replace'"
        return
    if any(type(length) is not int or length < 0 for length in chunk.lens):
        yield f"{where} has lens {chunk.lens!r:.60}", _LENS
        return
    if sum(chunk.lens) != len(raw):
        yield f"{where}: its lens add up to {sum(chunk.lens)} bytes, its text {chunk.text[:40]!r} has {len(raw)}", _LENS
        return
    end = 0
    for length in chunk.lens:
        end += length
        # A continuation byte is 10xxxxxx.
        if end < len(raw) and raw[end] & 0xC0 == 0x80:
            yield f"{where}: a token of {chunk.text[:40]!r} ends inside a character", "give such a token length 0, and its bytes to the token that completes the character"
            return


def _answer(taken: list[Any], request: Request, role: str) -> Found:
    content = "".join(item.text for item in taken if isinstance(item, Chunk) and item.channel == "content")
    reading = read_answer(content, letters=request.letters, mode=request.mode, turn=request.tick)
    if reading.letters:
        return
    thought = "".join(item.text for item in taken if isinstance(item, Chunk) and item.channel == "reasoning")
    if read_answer(thought, letters=request.letters, mode=request.mode, turn=request.tick).letters:
        yield f"{role}: there is an answer, but in the reasoning", "give the answer's Chunk the channel 'content': nothing else is read"
        return
    example = "\\boxed{%s}" % (request.letters[0][0] if request.mode == "act" else f"Turn 0: {request.letters[0][0]}")
    yield f"{role}: the answer {content[-60:]!r} cannot be read ({reading.why})", f"end with {example}; `rtdesk answer` shows how a text is read"


def cancelling(thinker: Thinker) -> Found:
    """Closing the iterator cancels the request; the next one is answered all the same."""
    backend = thinker.make()
    for role in thinker.roles(backend):
        items = backend.stream(thinker.request(role))
        if not callable(getattr(items, "close", None)):
            yield f"{role}: the iterator of stream() has no close()", "closing it cancels the request: write stream() as a generator, or give the iterator a close()"
            continue
        thinker.listen(items, most=1)
        items.close()
        left = next(items, "ended")
        if left != "ended":
            yield f"{role}: after close() the stream goes on with {left!r:.60}", "a closed iterator is at its end; drop what is left"
        after, broke = thinker.listen(backend.stream(thinker.request(role)), most=1)
        if broke or not after:
            yield f"{role}: after a cancelled request the next one {broke or 'says nothing'}", "close() of the iterator must leave the backend fit for the next request"
    shut(backend)


def closing(thinker: Thinker) -> Found:
    """close() may be called again, and before anything was asked."""
    backend = thinker.make()
    for again in ("", " again"):
        try:
            backend.close()
        except Exception as error:
            yield f"close(){again} raises {type(error).__name__}: {error}", "close() is called on every way out; the second time it does nothing"


def sameness(thinker: Thinker) -> Found:
    """A backend that calls itself deterministic says the same thing twice."""
    first = thinker.make()
    if not first.info.deterministic:
        shut(first)
        return
    second = thinker.make()
    for role in thinker.roles(first):
        said = [[item for item in thinker.listen(backend.stream(thinker.request(role)))[0] if isinstance(item, Chunk)] for backend in (first, second)]
        if said[0] != said[1]:
            yield f"{role}: asked the same thing, it says something else", "info says deterministic=True, which is the default; give info deterministic=False"
    shut(first)
    shut(second)


BACKEND_GATES: tuple[tuple[str, Callable[[Thinker], Found]], ...] = (("surface", surface),)
BACKEND_CHECKS: tuple[tuple[str, Callable[[Thinker], Found]], ...] = (
    ("streams", streams),
    ("cancelling", cancelling),
    ("closing", closing),
    ("determinism", sameness),
)
