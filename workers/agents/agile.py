"""AgileThinker: a planner that thinks across ticks, and a reactor that reads its unfinished thoughts and acts every tick.

Source: Wen et al., arXiv 2511.04898.
"""

from __future__ import annotations

from replays import events as ev
from workers.agents.base import Asked, Choice, Decision, Shape, answered

__all__ = ["SHAPE", "act", "planner_prompt", "reactor_prompt"]

SHAPE = Shape(planner=True, reactor=True)


def planner_prompt(asked: Asked) -> list[str | ev.Part]:
    """Rules, the frozen observation, and the planner's own last conclusion where memory is on."""
    return [ev.Part(text="planner"), ev.Part(text="rules"), *asked.memory, ev.Part(obs=asked.tick)]


def reactor_prompt(asked: Asked) -> list[str | ev.Part]:
    """Rules, the fresh observation, then the guidance as a reference."""
    return [ev.Part(text="reactor"), ev.Part(text="rules"), ev.Part(obs=asked.tick), *asked.guidance]


def act(choice: Choice) -> Decision:
    return answered(choice)
