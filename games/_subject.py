"""A game under the checker: how it is made, played and looked at, and how two looks are compared."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from games.base import GameError, GameSpec

__all__ = ["Subject", "encoded", "first_difference", "refusal", "scramble", "unplain"]

_SCALARS = (int, float, str, bool, type(None))


class Subject:
    """A module with SPEC and Game. `seeds` are those to play, smallest first, at least one."""

    def __init__(self, module: Any, *, steps: int, seeds: Sequence[int] | None) -> None:
        self.module = module
        self.spec: GameSpec = module.SPEC
        self.steps = steps
        self._seeds = seeds

    @property
    def seeds(self) -> tuple[int, ...]:
        low, high = self.spec.seeds
        return tuple(self._seeds or sorted({low, min(low + 1, high), high}))

    def make(self, load: str | None = None, seed: int | None = None) -> Any:
        """Return a new game, not reset; by default of the first load and seed."""
        return self.module.Game(self.spec.loads[0] if load is None else load, self.seeds[0] if seed is None else seed)

    def fresh(self, load: str | None = None, seed: int | None = None) -> Any:
        """Return a new game, reset."""
        game = self.make(load, seed)
        game.reset()
        return game

    def starts(self) -> Iterator[tuple[str, int]]:
        """Every load with every seed to be played."""
        for load in self.spec.loads:
            for seed in self.seeds:
                yield load, seed

    def actions(self, seed: int, steps: int | None = None) -> list[str]:
        """Return legal actions to play, drawn evenly."""
        rng = random.Random(seed)
        letters = self.spec.legal_actions
        return [rng.choice(letters) for _ in range(self.steps if steps is None else steps)]

    def trace(self, game: Any, actions: Sequence[str]) -> list[dict[str, Any]]:
        """Step a game until it ends or the letters do; return all there is to see after each step."""
        seen = []
        for letter in actions:
            seen.append(self.after(game, letter))
            if seen[-1]["done"]:
                break
        return seen

    def after(self, game: Any, letter: str) -> dict[str, Any]:
        """Step once; return all there is to see."""
        result = game.step(letter)
        flags = {name: getattr(result, name) for name in ("reward", "score", "terminated", "truncated", "reset", "done_reason", "done")}
        return {"action": letter, **flags, "observation": look(result.observation), **self.state(game)}

    def state(self, game: Any) -> dict[str, Any]:
        """Return all there is to see of a game that has been reset."""
        return {"snapshot": game.snapshot(), "now": look(game.observe()), "points": game.points, "load": game.load, "seed": game.seed}

    def middle(self, load: str, seed: int) -> tuple[Any, list[str]]:
        """Return a game in the middle of an episode, and letters for the rest of it."""
        letters = self.actions(seed)
        length = len(self.trace(self.fresh(load, seed), letters))
        game = self.fresh(load, seed)
        half = length // 2
        for letter in letters[:half]:
            game.step(letter)
        return game, letters[half:]

    def ended(self, load: str, seed: int) -> Any | None:
        """Return a game whose episode is over, or None for one without end."""
        if self.spec.max_ticks is None:
            return None
        game = self.fresh(load, seed)
        letters = self.actions(seed, self.spec.max_ticks)
        return game if any(game.step(letter).done for letter in letters) else None


def look(observation: Any) -> dict[str, Any]:
    """Return an observation as plain data."""
    return {"tick": observation.tick, "text": observation.text, "view": observation.view}


def encoded(value: Any) -> bytes:
    """Return bytes that are equal where the values are, order of keys included."""
    return msgspec.msgpack.encode(value, enc_hook=repr)


def unplain(value: Any, path: str) -> str | None:
    """Return what in `value` is not plain data and where, or None: dicts with string keys, lists, ints, floats, strings, bools, None."""
    if isinstance(value, dict) and type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                return f"{path} has the key {key!r}, and keys are strings"
            if (found := unplain(item, f"{path}.{key}")) is not None:
                return found
        return None
    if type(value) is list:
        for place, item in enumerate(value):
            if (found := unplain(item, f"{path}[{place}]")) is not None:
                return found
        return None
    if type(value) is float and not math.isfinite(value):
        return f"{path} is {value!r}, and numbers are finite"
    if type(value) is int and not -(2**63) <= value < 2**63:
        return f"{path} is {value!r}, which has more than 64 bits"
    return None if type(value) in _SCALARS else f"{path} is {value!r} of type {type(value).__name__}"


def first_difference(one: Any, other: Any, path: str = "") -> str | None:
    """Return where two plain values differ: `snapshot.snake[0][1] is 3, was 4`, or None."""
    if type(one) is not type(other) or not isinstance(one, dict | list):
        return None if type(one) is type(other) and one == other else f"{path or 'it'} is {other!r:.60}, was {one!r:.60}"
    if isinstance(one, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in one or key not in other:
                return f"{path}.{key}".lstrip(".") + (" is gone" if key in one else " is new")
            if (found := first_difference(one[key], other[key], f"{path}.{key}".lstrip("."))) is not None:
                return found
        return None if list(one) == list(other) else f"the keys of {path or 'it'} come in another order"
    if len(one) != len(other):
        return f"{path or 'it'} has {len(other)} items, had {len(one)}"
    return next((found for i, pair in enumerate(zip(one, other)) if (found := first_difference(*pair, f"{path}[{i}]")) is not None), None)


def scramble(value: Any) -> None:
    """Change everything that can be changed inside plain data."""
    if isinstance(value, list):
        for item in value:
            scramble(item)
        value.append("changed")
    elif isinstance(value, dict):
        for item in value.values():
            scramble(item)
        value["changed"] = True


def refusal(call: Any, *arguments: Any) -> str | None:
    """Return None if a call is refused with a GameError that says why, else what came instead."""
    try:
        call(*arguments)
    except GameError as error:
        return None if str(error).strip() else "is refused without a word; a GameError says what was given and what is legal"
    except Exception as error:
        return f"raises {type(error).__name__} ({error}), expected GameError"
    return "is accepted, expected GameError"
