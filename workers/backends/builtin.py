"""The builtin thinkers: search algorithms that write their reasoning down as they search. Not language models.

No key, no network, deterministic. Each sentence costs its tokens by the builtin tokenizer and is searched for only when
it is asked for, so a cancelled stream stops searching.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator

from replays import events as ev
from workers.backends.base import Chunk, Finish, Item, Request
from workers.errors import ConfigError
from workers.tokens import lengths

__all__ = ["Backend"]


class Backend:
    """Finds `workers.thinkers.<game>_planner`, `<game>_reactor` and, for planners that write programs, `<game>_code` by the game's name."""

    blocking = False
    info = ev.Backend(spec="builtin", title="builtin search", exact=True, deterministic=True)

    def __init__(self, rest: str = "") -> None:
        if rest:
            raise ConfigError(f"builtin:{rest} is unknown; builtin takes nothing behind it")

    def check(self, game: str, stream: str) -> None:
        """Raise ConfigError if there is no builtin thinker for this game. `stream` may also be `code`: a planner that writes programs."""
        if stream == "code" and importlib.util.find_spec(f"workers.thinkers.{game}_code") is None:
            raise ConfigError(f"there is no builtin writer of programs for game {game!r}; give one with --planner SPEC")
        if importlib.util.find_spec(f"workers.thinkers.{game}_{stream}") is None:
            raise ConfigError(f"there is no builtin {stream} for game {game!r}; give one with --{stream} SPEC")

    def stream(self, request: Request) -> Iterator[Item]:
        part = "code" if request.mode == "code" else request.stream
        module = importlib.import_module(f"workers.thinkers.{request.game}_{part}")
        if part == "code":
            steps = module.write(request.view, load=request.load, max_ticks=request.max_ticks, memory=request.memory)
        elif part == "planner":
            steps = module.plan(request.view, load=request.load, max_ticks=request.max_ticks, memory=request.memory)
        elif request.forced:
            steps = _fitting(module.commit(request.view, request.guidance, request.said, load=request.load, max_ticks=request.max_ticks), request.budget_tokens)
        else:
            steps = module.react(request.view, request.guidance, load=request.load, max_ticks=request.max_ticks)
        for strategy, text in steps:
            yield Chunk(text, lengths(text), "content" if strategy == "conclude" else "reasoning", strategy)
        yield Finish("stop")

    def close(self) -> None:
        """Nothing is held open."""


def _fitting(steps: Iterator[tuple[str, str]], budget_tokens: int | None) -> Iterator[tuple[str, str]]:
    """Yield an answer; where there is no room for its reason, the box alone."""
    for strategy, text in steps:
        short = budget_tokens is not None and len(lengths(text)) > budget_tokens
        yield strategy, text[text.rindex("\\boxed") :] if short else text
