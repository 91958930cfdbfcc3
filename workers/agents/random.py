"""A baseline: a legal action drawn evenly with the episode's generator."""

from __future__ import annotations

from workers.agents.base import Choice, Decision, Shape

__all__ = ["SHAPE", "act"]

SHAPE = Shape()


def act(choice: Choice) -> Decision:
    return Decision(choice.rng.choice(choice.letters), "policy")
