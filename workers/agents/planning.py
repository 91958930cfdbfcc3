"""The planner alone: its finished plan is indexed by turn; until one arrives, and where none covers the turn, the default."""

from __future__ import annotations

from replays import events as ev
from workers.agents.base import Asked, Choice, Decision, Shape, planned

__all__ = ["SHAPE", "act", "planner_prompt"]

SHAPE = Shape(planner=True, planner_answers=True)


def planner_prompt(asked: Asked) -> list[str | ev.Part]:
    return list(asked.parts)


def act(choice: Choice) -> Decision:
    return planned(choice)
