"""AgileThinker: a planner that thinks across ticks, and a reactor that reads its unfinished thoughts and acts every tick.

Source: Wen et al., arXiv 2511.04898.
"""

from __future__ import annotations

from replays import events as ev
from workers.agents.base import Asked, Choice, Decision, Shape, answered

__all__ = ["SHAPE", "act", "planner_prompt", "reactor_prompt"]

SHAPE = Shape(planner=True, reactor=True)


def planner_prompt(asked: Asked) -> list[str | ev.Part]:
    """Rules, the planner's own last conclusion where memory is on, and the frozen observation."""
    return list(asked.parts)


def reactor_prompt(asked: Asked) -> list[str | ev.Part]:
    """Rules, the fresh observation, then the guidance as a reference."""
    return list(asked.parts)


def act(choice: Choice) -> Decision:
    return answered(choice)
