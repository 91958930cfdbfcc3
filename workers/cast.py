"""What the thinkers of one episode share: who they are, what they may do, and how their prompts are put together."""

from __future__ import annotations

from collections.abc import Iterable

from games.base import Game
from replays import events as ev
from workers import agents
from workers.agents import Asked
from workers.backends import Request
from workers.config import Config
from workers.prompts import Layout, render

__all__ = ["Cast"]

# Observations a prompt may still point at: the frozen one and the newest.
_KEPT = 4


class Cast:
    """Built from the header in each thinker, so nothing but the header has to travel."""

    def __init__(self, config: Config, game: Game, texts: dict[str, str]) -> None:
        self.config = config
        self.agent = agents.played(config.thinker)
        self.shape: agents.Shape = self.agent.SHAPE
        self.letters = game.spec.letters
        self.texts = texts
        self._layouts = {role: Layout(texts, role) for role in ("planner", "reactor") if role in texts}
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
        own = tuple(self._layouts["planner"].fill(tick, memory=memory))
        parts: list[str | ev.Part] = self.agent.planner_prompt(Asked(tick, own, memory=memory))
        return parts

    def reactor_prompt(self, tick: int, guidance: tuple[str | ev.Part, ...], *, budget_tokens: int | None) -> list[str | ev.Part]:
        # Only used where the budget moves; else the header has it.
        own = tuple(self._layouts["reactor"].fill(tick, guidance=guidance, reactive_budget=f"{budget_tokens} tokens"))
        parts: list[str | ev.Part] = self.agent.reactor_prompt(Asked(tick, own, guidance=guidance))
        return parts

    def request(
        self,
        stream: str,
        mode: str,
        tick: ev.Tick,
        parts: list[str | ev.Part],
        *,
        traces: dict[int, bytes],
        guidance: tuple[str | ev.Part, ...] = (),
        memory: tuple[str | ev.Part, ...] = (),
        budget_tokens: int | None = None,
    ) -> Request:
        """Everything a backend is given for one generation; `traces` holds the text that the parts point into."""
        prompt = LazyPrompt(parts, texts=self.texts, observations=dict(self._observations), traces=traces)
        return Request(
            stream=stream,
            mode=mode,
            game=self._game_name,
            load=self.config.load,
            tick=tick.tick,
            max_ticks=self._max_ticks,
            letters=self.letters,
            view=tick.view,
            prompt=prompt,
            guidance=prompt.of(guidance),
            memory=prompt.of(memory),
            budget_tokens=budget_tokens,
        )


class LazyPrompt:
    """A prompt whose text is put together when somebody reads it: the builtin thinkers never do, and it is the costly part.

    It holds all it needs, so it may be read at any time and from any thread.
    """

    def __init__(
        self, parts: list[str | ev.Part], *, texts: dict[str, str], observations: dict[int, str], traces: dict[int, bytes]
    ) -> None:
        self._parts, self._texts, self._observations, self._traces = parts, texts, observations, traces

    def of(self, parts: Iterable[str | ev.Part]) -> str:
        """The text of some parts."""
        return render(parts, texts=self._texts, observation=self._observations.__getitem__, trace=self._traces.__getitem__)

    def __str__(self) -> str:
        return self.of(self._parts)
