"""Somebody else's agent at our door: what it raises or returns wrongly becomes one sentence that names it.

Its functions run in the planner's, the reactor's and the game's process; unwatched, a wrong prompt would be found out where it is read,
and be told of as that process's failure. Our own agents are held to their contract by tests and pay for none of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from replays import events as ev
from workers.agents.base import REASONS, SOURCES, Asked, Choice, Decision, Shape
from workers.errors import ConfigError

__all__ = ["Guarded"]

_decoder = msgspec.msgpack.Decoder(list[str | ev.Part])


class Guarded:
    """An agent module with its functions watched; `name` is what it was called by whoever asked for it."""

    def __init__(self, agent: Any, name: str) -> None:
        self._agent = agent
        self._name = name
        self.SHAPE: Shape = agent.SHAPE

    def planner_prompt(self, asked: Asked) -> list[str | ev.Part]:
        return self._prompt("planner_prompt", asked)

    def reactor_prompt(self, asked: Asked) -> list[str | ev.Part]:
        return self._prompt("reactor_prompt", asked)

    def act(self, choice: Choice) -> Decision:
        decision = self._ask("act", choice)
        legal = (*choice.letters, choice.default_action)
        if not isinstance(decision, Decision):
            raise self._refusal("act", f"gave {decision!r:.60}, expected a workers.agents.Decision")
        if decision.letter not in legal:
            raise self._refusal("act", f"decided {decision.letter!r:.60}, expected one of {', '.join(dict.fromkeys(legal))}")
        if decision.source not in SOURCES or decision.reason not in (None, *REASONS):
            raise self._refusal("act", f"gave source {decision.source!r:.60}, reason {decision.reason!r:.60}; a source is one of {', '.join(SOURCES)}")
        return decision

    def _prompt(self, function: str, asked: Asked) -> list[str | ev.Part]:
        parts = self._ask(function, asked)
        try:
            # What comes out at the other end of a ring, and of a replay, is what the thinker was asked.
            return _decoder.decode(msgspec.msgpack.encode(parts))
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise self._refusal(function, f"gave what is no prompt: {error}; expected a list of texts and replays.events.Part") from error

    def _ask(self, function: str, question: Asked | Choice) -> Any:
        call: Callable[[Any], Any] = getattr(self._agent, function)
        try:
            return call(question)
        except (Exception, SystemExit) as error:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise self._refusal(function, f"failed: {said}") from error

    def _refusal(self, function: str, what: str) -> ConfigError:
        return ConfigError(f"the agent {self._name!r} cannot play: {function}() {what}; `rtdesk check agent {self._name}` says more")
