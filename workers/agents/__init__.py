"""Agents by name. An agent says who thinks, what they are asked, and whose word is the action; it never waits.

An agent module has `SHAPE` (who thinks), and pure functions: `planner_prompt(asked)`, `reactor_prompt(asked)`, and
`act(choice)`. Our own are found by their file's name; yours by an entry point in the group `rtdesk.agents`, or by path.
"""

from __future__ import annotations

from typing import Any

from workers.agents.base import Agent, Asked, Choice, Decision, Ran, Shape
from workers.errors import ConfigError
from workers.plugins import find, names

__all__ = ["Agent", "Asked", "Choice", "Decision", "Ran", "Shape", "available", "load", "played", "shape", "who_thinks"]

OURS = ("agile", "code", "default", "human", "planning", "random", "reactive")


def available() -> list[str]:
    """Names of the agents this installation knows."""
    return sorted({*OURS, *names("rtdesk.agents")})


def load(name: str) -> Any:
    """Return the agent's module. Raises ConfigError for a name nobody knows."""
    return find(name, package="workers.agents", ours=OURS, group="rtdesk.agents", what="agent")


def played(name: str) -> Agent:
    """Return the agent that is asked in an episode: one of ours as it is, anybody else's with what it says checked. Raises ConfigError as `shape`."""
    agent = load(name)
    if name in OURS:
        found: Agent = agent
        return found
    # Imported here because few agents are somebody else's.
    from workers.agents._guard import Guarded

    shape(name)
    return Guarded(agent, name)


def shape(name: str) -> Shape:
    """Return who thinks in this agent. Raises ConfigError if it does not say so."""
    agent = load(name)
    found = getattr(agent, "SHAPE", None)
    if not isinstance(found, Shape):
        raise ConfigError(f"agent {name!r} has no SHAPE; an agent module says who thinks (see docs/add-your-own.md)")
    wanted = {"act": True, "planner_prompt": found.planner, "reactor_prompt": found.reactor}
    missing = [part for part, there in wanted.items() if there and not hasattr(agent, part)]
    if missing:
        raise ConfigError(f"agent {name!r} has no {' and no '.join(missing)}; its shape needs it")
    return found


def who_thinks(agent: str, partner: str | None) -> tuple[int, str]:
    """Return for which player the planner and the reactor of an episode think, and the name of the agent they are of.

    They are the partner's where the partner has to think and the agent does without. Raises ConfigError for a name nobody knows, and where
    both would have to: an episode has one planner's stream and one reactor's, which is what its log, its rings and its screen are made for.
    """
    mine = shape(agent)
    if partner is None or partner == "scripted":
        return 0, agent
    other = shape(partner)
    if not (other.planner or other.reactor):
        return 0, agent
    if mine.planner or mine.reactor:
        raise ConfigError(
            f"agent {agent!r} and partner {partner!r} both have to think, and an episode has one planner and one reactor; "
            f"give --partner scripted, or one of the two as human, random or default"
        )
    return 1, partner
