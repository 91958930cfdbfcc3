"""The reactor alone, with the whole tick to itself; it keeps nothing from one tick to the next."""

from __future__ import annotations

from replays import events as ev
from workers.agents.base import Asked, Choice, Decision, Shape, answered

__all__ = ["SHAPE", "act", "reactor_prompt"]

SHAPE = Shape(reactor=True)


def reactor_prompt(asked: Asked) -> list[str | ev.Part]:
    return list(asked.parts)


def act(choice: Choice) -> Decision:
    return answered(choice)
