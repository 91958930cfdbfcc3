"""Reads Overcooked's part of a snapshot, which may come from anywhere, and refuses what the rules do not know."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from games.base import GameError, Turn, no_snapshot
from games.overcooked.kitchen import FLOOR, STEP, Cell, Kitchen
from games.overcooked.rules import COOK_TIME, ONIONS, Object, Player

__all__ = ["Snapshot", "checked_objects", "checked_players"]

# Far beyond what an episode draws (about 300); keeps a hostile file from making millions of outputs.
_Draws = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class _Partner(msgspec.Struct, frozen=True):
    stage: Literal[1, 2]
    stuck: Turn
    last_pos: Cell
    obj_goal: Cell | None
    put_goal: Cell | None


class _Rest(msgspec.Struct, frozen=True):
    game: Literal["overcooked"]
    load: str
    seed: int
    score: Annotated[float, msgspec.Meta(ge=-(2.0**53), le=2.0**53)]
    done: bool
    done_reason: Literal["cap"] | None
    orders: Turn
    draws: tuple[_Draws, _Draws]


class Snapshot(msgspec.Struct, frozen=True):
    """The keys of a snapshot; objects stay raw, because their arrays differ in length."""

    turn: Turn
    players: tuple[tuple[Cell, Cell, Any], tuple[Cell, Cell, Any]]
    objects: list[Any]
    history: tuple[str, str]
    partner: _Partner
    rest: _Rest


def checked_players(raw: tuple[tuple[Cell, Cell, Any], ...], kitchen: Kitchen) -> list[Player]:
    """Return both players as a view has them. Raises GameError if one does not stand on a floor cell of its own."""
    letters = {step: letter for letter, step in STEP.items()}
    players: list[Player] = []
    for cell, vector, held in raw:
        if not _on(kitchen, cell, FLOOR) or vector not in letters:
            raise _refused(f"no cook can stand on {cell} facing {vector}")
        players.append([list(cell), letters[vector], None if held is None else _object(held)])
    if players[0][0] == players[1][0]:
        raise _refused(f"both cooks stand on {raw[0][0]}")
    return players


def checked_objects(raw: list[Any], kitchen: Kitchen) -> list[Object]:
    """Return what lies on counters and in pots as a view has it. Raises GameError for what cannot lie there."""
    objects = [_object(thing) for thing in raw]
    for i, thing in enumerate(objects):
        kinds = "XP" if thing[0] == "soup" else "X"
        if not _on(kitchen, tuple(thing[1]), kinds) or any(other[1] == thing[1] for other in objects[:i]):
            raise _refused(f"{thing!r} cannot lie there")
    return objects


def _object(raw: Any) -> Object:
    """Return one object, checked and sharing nothing with `raw`."""
    match raw:
        case ["onion" | "dish" as name, [int(x), int(y)]]:
            return [name, [x, y]]
        case ["soup", [int(x), int(y)], [*onions], int(tick), str(state), int(cook_time)]:
            count = len(onions)
            if onions != ["onion"] * count or not 1 <= count <= ONIONS:
                raise _refused(f"no soup is made of {onions!r}")
            idle = state == "idle" and tick == cook_time == -1 and count < ONIONS
            cooking = state == "cooking" and 0 <= tick < COOK_TIME == cook_time and count == ONIONS
            ready = state == "ready" and tick >= COOK_TIME == cook_time and count == ONIONS
            if idle or cooking or ready:
                return ["soup", [x, y], onions, tick, state, cook_time]
    raise _refused(f"{raw!r} is no onion, dish or soup")


def _on(kitchen: Kitchen, cell: tuple[int, ...], kinds: str) -> bool:
    x, y = cell
    return 0 <= x < kitchen.columns and 0 <= y < kitchen.rows and kitchen.terrain[y][x] in kinds


def _refused(why: str) -> GameError:
    return no_snapshot("overcooked", why)
