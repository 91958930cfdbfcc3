"""A person: the last key pressed in the tick is the action, and without one the game's default action is.

A key held down is nothing but many presses, so nothing of it is left over for the next tick.
"""

from __future__ import annotations

from workers.agents.base import Choice, Decision, Shape

__all__ = ["SHAPE", "act"]

SHAPE = Shape()


def act(choice: Choice) -> Decision:
    if choice.key:
        return Decision(choice.key, "human")
    return Decision(choice.default_action, "default", "none")
