"""What the thinkers of one episode share: who they are, what they may do, and how their prompts are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from games.base import Game
from replays import events as ev
from workers import agents
from workers.agents import Asked
from workers.backends import Request
from workers.config import Config
from workers.prompts import render

__all__ = ["Cast"]

# Observations a prompt may still point at: the frozen one and the newest.
_KEPT = 4


class Cast:
    """Built from the header in each thinker, so nothing but the header has to travel."""

    def __init__(self, config: Config, game: Game, texts: dict[str, str]) -> None:
        self.config = config
        self.agent = agents.load(config.agent)
        self.shape: agents.Shape = self.agent.SHAPE
        self.letters = game.spec.letters
        self.texts = texts
        self._game_name = game.spec.name
        self._max_ticks = game.spec.max_ticks or 1 << 30
        self._observations: dict[int, str] = {}

    @property
    def marks_guidance(self) -> bool:
        """Whether the planner marks the instant the reactor wakes."""
        return self.shape.planner and self.shape.reactor

    def saw(self, tick: ev.Tick) -> None:
        """Remember an observation's text for prompts that point at it."""
        self._observations[tick.tick] = tick.text
        while len(self._observations) > _KEPT:
            del self._observations[min(self._observations)]

    def planner_prompt(self, tick: int, memory: tuple[str | ev.Part, ...]) -> list[str | ev.Part]:
        parts: list[str | ev.Part] = self.agent.planner_prompt(Asked(tick, memory=memory))
        return parts

    def reactor_prompt(self, tick: int, guidance: tuple[str | ev.Part, ...]) -> list[str | ev.Part]:
        parts: list[str | ev.Part] = self.agent.reactor_prompt(Asked(tick, guidance=guidance))
        return parts

    def render(self, parts: Iterable[str | ev.Part], trace: Callable[[int], bytes]) -> str:
        return render(parts, texts=self.texts, observation=lambda tick: self._observations[tick], trace=trace)

    def request(
        self,
        stream: str,
        mode: str,
        tick: ev.Tick,
        parts: list[str | ev.Part],
        *,
        trace: Callable[[int], bytes],
        guidance: str = "",
        memory: str = "",
        budget_tokens: int | None = None,
    ) -> Request:
        """Everything a backend is given for one generation."""
        return Request(
            stream=stream,
            mode=mode,
            game=self._game_name,
            load=self.config.load,
            tick=tick.tick,
            max_ticks=self._max_ticks,
            letters=self.letters,
            view=tick.view,
            prompt=LazyPrompt(self, parts, trace),
            guidance=guidance,
            memory=memory,
            budget_tokens=budget_tokens,
        )


class LazyPrompt:
    """A prompt whose text is put together when somebody reads it: the builtin thinkers never do, and it is the costly part."""

    def __init__(self, cast: Cast, parts: list[str | ev.Part], trace: Callable[[int], bytes]) -> None:
        self._cast, self._parts, self._trace = cast, parts, trace

    def __str__(self) -> str:
        return self._cast.render(self._parts, self._trace)
