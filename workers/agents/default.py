"""A baseline: nobody answers, ever, so the game's default action is applied at every tick."""

from __future__ import annotations

from workers.agents.base import Choice, Decision, Shape

__all__ = ["SHAPE", "act"]

SHAPE = Shape()


def act(choice: Choice) -> Decision:
    return Decision(choice.default_action, "default", "none")
