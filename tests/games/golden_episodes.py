"""Reads the recorded reference episodes in `data/` and drives our games with them, for the tests beside it."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from games import make
from games.base import Game

DATA = Path(__file__).parent / "data"
LOADS = {"E": "easy", "M": "medium", "H": "hard"}
LETTERS = {"freeway": "UDS", "snake": "LRUDS", "overcooked": "UDLRIS"}


@cache
def episodes(name: str) -> list[dict[str, Any]]:
    """The recorded episodes of a game; shared by all tests, so nobody may change one."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def label(episode: dict[str, Any]) -> str:
    return f"{episode['load']}{episode['seed']}-{episode['policy']}-{episode['resets']}"


def game_of(episode: dict[str, Any], seed: int | None = None) -> Game:
    """A new game of the episode's load, with its seed unless another is given; not reset."""
    return make(episode["game"], load=LOADS[episode["load"]], seed=episode["seed"] if seed is None else seed)


def letter(episode: dict[str, Any], action: str) -> str:
    """The letter that means what the reference makes of `action`: it takes any string and does nothing on those it does not know."""
    return action if action in LETTERS[episode["game"]] and len(action) == 1 else "S"


def state(game: Game) -> dict[str, Any]:
    """The snapshot in the schema of the recorded `s` objects."""
    snapshot = game.snapshot()
    del snapshot["rest"]
    return snapshot
