"""Agents by name. An agent says who thinks, what they are asked, and whose word is the action; it never waits.

An agent module has `SHAPE` (who thinks), and pure functions: `planner_prompt(asked)`, `reactor_prompt(asked)`, and
`act(choice)`. Our own are found by their file's name; yours by an entry point in the group `rtdesk.agents`, or by path.
"""

from __future__ import annotations

from typing import Any

from workers.agents.base import Agent, Asked, Choice, Decision, Shape
from workers.plugins import find, names

__all__ = ["Agent", "Asked", "Choice", "Decision", "Shape", "available", "load", "shape"]

OURS = ("agile", "default", "planning", "random", "reactive")


def available() -> list[str]:
    """Names of the agents this installation knows."""
    return sorted({*OURS, *names("rtdesk.agents")})


def load(name: str) -> Any:
    """Return the agent's module. Raises ConfigError for a name nobody knows."""
    return find(name, package="workers.agents", ours=OURS, group="rtdesk.agents", what="agent")


def shape(name: str) -> Shape:
    """Return who thinks in this agent."""
    found: Shape = load(name).SHAPE
    return found
