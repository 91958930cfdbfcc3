"""What every agent module is made of: its shape, what a prompt is built from, and what an action is chosen from."""

from __future__ import annotations

import random
from typing import NamedTuple, Protocol

import msgspec

from replays import events as ev

__all__ = ["REASONS", "SOURCES", "Agent", "Asked", "Choice", "Decision", "Ran", "Shape"]

SOURCES = ("reactor", "forced", "plan", "program", "policy", "human", "default")
"""Where an action may come from."""
REASONS = ("none", "uncovered", "truncated", "invalid", "fault", "late")
"""Why it may be the default action."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Who thinks, and how what they say is used."""

    planner: bool = False
    """Whether a planner thinks across ticks."""
    reactor: bool = False
    """Whether a reactor answers within each tick."""
    planner_answers: bool = False
    """The planner's finished text is itself read as an answer (a plan by turn)."""
    planner_programs: bool = False
    """The planner's finished text is a program, which decides every tick from then on."""


class Asked(NamedTuple):
    """What a prompt is built from."""

    tick: int
    """The turn the thinker is asked about."""
    parts: tuple[str | ev.Part, ...] = ()
    """The episode's own prompt for this role, filled in for this turn: guidance or memory included, where there is some."""
    guidance: tuple[str | ev.Part, ...] = ()
    """For a reactor: the planner's thinking, as parts, each already labelled with its turn."""
    memory: tuple[str | ev.Part, ...] = ()
    """For a planner: its own last conclusion, as parts."""


class Ran(NamedTuple):
    """What the program in force said in this tick."""

    generation: int
    """The planner's generation that wrote it."""
    letter: str | None = None
    """Its action; None if there is none."""
    why: str | None = None
    """Why there is none: fault, invalid."""


class Choice(NamedTuple):
    """What the conductor knows when a tick ends."""

    tick: int
    """The tick that ends."""
    letters: tuple[str, ...]
    """Legal actions."""
    default_action: str
    """What is applied when there is nothing better."""
    answer: ev.Answer | None
    """The reactor's answer of this tick."""
    plan: ev.Answer | None
    """The newest finished plan."""
    rng: random.Random
    """The episode's generator, for agents that draw."""
    missing: str = "none"
    """Why there is no answer: none, fault, late."""
    key: str = ""
    """Letter of the person's key in force as the tick ends; empty without one."""
    program: Ran | None = None
    """What the program in force came to; None without one."""


class Decision(NamedTuple):
    """What is applied, and where it came from."""

    letter: str
    """The action."""
    source: str
    """Whose word it is: reactor, forced, plan, program, policy, human, default."""
    reason: str | None = None
    """Why it is the default action, where it is."""
    generation: int | None = None
    """Id of the generation whose answer it is."""


class Agent(Protocol):
    """The surface of an agent module; prompts are only needed for the roles its shape has."""

    SHAPE: Shape
    """Who thinks."""

    def planner_prompt(self, asked: Asked) -> list[str | ev.Part]:
        """What the planner is asked when it begins to think."""
        ...

    def reactor_prompt(self, asked: Asked) -> list[str | ev.Part]:
        """What the reactor is asked in a tick."""
        ...

    def act(self, choice: Choice) -> Decision:
        """What is applied at the end of a tick. Asked once a tick, and never waits."""
        ...


def answered(choice: Choice) -> Decision:
    """The reactor's letter if it gave a legal one in time, else the default action with the reason."""
    answer = choice.answer
    if answer is None:
        return Decision(choice.default_action, "default", choice.missing)
    if not answer.letters:
        return Decision(choice.default_action, "default", answer.why or "invalid", answer.generation)
    return Decision(answer.letters[0], "forced" if answer.forced else "reactor", None, answer.generation)


def planned(choice: Choice) -> Decision:
    """The newest plan's entry for this turn, else the default action with the reason."""
    plan = choice.plan
    if plan is None or not plan.letters:
        return Decision(choice.default_action, "default", "none")
    for letter, turn in zip(plan.letters, plan.turns or ()):
        if turn == choice.tick:
            return Decision(letter, "plan", None, plan.generation)
    return Decision(choice.default_action, "default", "uncovered", plan.generation)
