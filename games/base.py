"""What every game is made of: its spec, what a thinker may see of it, what a step gives back, and what a screen draws.

The one thing that surprises: a game knows no clock, no process and no model. It is stepped with one letter at a time
and never waits; what happens when nobody answers is the worker layer's business and is called the default action.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import msgspec

__all__ = ["Board", "Entity", "Game", "GameError", "GameSpec", "Observation", "StepResult"]

LOADS = ("easy", "medium", "hard")


class GameError(ValueError):
    """Something asked of a game that its rules do not know: the message says what was given, what is legal, what to try."""


class GameSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The fixed facts of a game; the same for every load and seed."""

    name: str
    """Lower-case name a person types; also the module's name."""
    title: str
    """Name for headings, such as `Snake`."""
    summary: str
    """One sentence: what the player tries to do."""
    letters: tuple[tuple[str, str], ...]
    """(letter, full word) of each action a thinker may answer, in the order prompts list them."""
    default_action: str
    """What the game does when no action came in time. `step` accepts it even where it is no legal action."""
    points_name: str
    """What the points behind the normalised score are called: `apples`, `soups`, `turns left`."""
    points_max: float
    """Points that make a normalised score of 1.0."""
    max_ticks: int | None = 100
    """Ticks after which an episode ends; None for a game without end."""
    seeds: tuple[int, int] = (0, 2**31 - 1)
    """Smallest and largest seed, both included."""
    loads: tuple[str, ...] = LOADS
    help: tuple[str, ...] = ()
    """Lines of the help card: goal, rules, keys; at most 56 columns each."""

    @property
    def legal_actions(self) -> tuple[str, ...]:
        return tuple(letter for letter, _ in self.letters)

    def normalise(self, points: float) -> float:
        """Return the score in [0, 1] for raw points, clipped at both ends."""
        return min(1.0, max(0.0, points / self.points_max))


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What a thinker may see at a tick. A value: changing its parts never changes the game."""

    tick: int
    """Tick the observation belongs to, from 0; thinkers call it turn."""
    text: str
    """The state in words, complete, for a language model."""
    view: dict[str, Any]
    """The same facts as plain data (dicts with string keys, lists, ints, floats, strings); nothing hidden is in it."""


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one step gave."""

    observation: Observation
    """The real state after the step, also when the episode is over."""
    reward: float
    """This step's reward."""
    score: float
    """Cumulative raw reward; Freeway starts at 100."""
    terminated: bool
    """The game's own rules ended the episode (goal reached, snake dead)."""
    truncated: bool
    """The tick cap ended it."""
    reset: bool
    """The game threw the player back to its start; thinkers drop what they were thinking."""
    done_reason: str | None = None
    """goal, dead or cap once the episode is over; None before."""

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """One thing on the board, in game coordinates (x grows right, y grows up, as U does)."""

    kind: str
    """Its own word, such as `head`, `body`, `food`, `car`, `pot`; unique per looks, so nothing depends on colour."""
    x: int
    y: int
    glyph: str
    """One cell wide, in any font."""
    ascii: str
    """The same for a terminal without box drawing."""
    role: str = "item"
    """What colour it may take: wall, floor, player, partner, hazard, goal, item, tool."""
    text: str = ""
    """A short figure shown beside the glyph: food life, cooking progress, car speed."""
    facing: str = ""
    """U, D, L or R where the thing looks somewhere; else empty."""
    links: str = ""
    """Letters of the neighbours this piece is joined to (a snake's body is drawn as a tube along them)."""
    length: int = 1
    """Cells it covers, counted from (x, y) against `facing`."""


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """What a screen draws: back to front, so later entities lie over earlier ones. Parts off the board are clipped by the drawer."""

    columns: int
    rows: int
    entities: tuple[Entity, ...]
    status: tuple[tuple[str, str], ...] = ()
    """(word, value) facts that do not sit on a cell, such as ("soups", "2")."""


@runtime_checkable
class Game(Protocol):
    """The door every game goes through, ours and yours; `rtdesk check game` tests it."""

    spec: GameSpec
    load: str
    seed: int

    @property
    def points(self) -> float:
        """Raw points behind the normalised score: apples eaten, soups delivered, turns left."""
        ...

    @property
    def legal_actions(self) -> tuple[str, ...]: ...

    @property
    def default_action(self) -> str: ...

    def reset(self, seed: int | None = None) -> Observation: ...

    def step(self, action: str) -> StepResult: ...

    def observe(self) -> Observation:
        """The current observation, without changing anything."""
        ...

    def snapshot(self) -> dict[str, Any]: ...

    def restore(self, snapshot: dict[str, Any]) -> None: ...

    def describe(self) -> str:
        """The rules in words, for a thinker; the same for the whole episode."""
        ...

    def board(self) -> Board: ...
