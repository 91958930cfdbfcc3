"""Views as arrays: for each game a space, and a function from a view to a member of it. Nothing a thinker may know is left out.

Grids are indexed [plane, y, x], y growing upward as in the games.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

import games
from games.base import GameSpec
from workers.errors import ConfigError

__all__ = ["Encoder", "encoder", "text_encoder"]

View = dict[str, Any]
Encoder = tuple["spaces.Space[Any]", Callable[[View, str], Any]]
"""(space, function of view and text)."""

_HEADINGS = "LRUD"
_TERRAIN = " XPODST"
_THINGS = ("onion", "dish", "soup")
# Eight lanes of at most three cars (games/freeway: a lane has one car, or two or three short ones).
_CARS = 24
_TEXT_MAX = 1 << 16
_TEXT = "".join(map(chr, range(32, 127))) + "\n"


def encoder(spec: GameSpec, load: str) -> Encoder:
    """Return the arrays of a game. Raises ConfigError for a game that has none: its observations are text."""
    makers: dict[str, Callable[[GameSpec, str], Encoder]] = {"snake": _snake, "freeway": _freeway, "overcooked": _overcooked}
    if spec.name not in makers:
        raise ConfigError(f"there are no arrays for game {spec.name!r}; make it with observation='text'")
    return makers[spec.name](spec, load)


def text_encoder() -> Encoder:
    """Return observations as the text thinkers read; what is not ASCII becomes a question mark."""
    space = spaces.Text(min_length=1, max_length=_TEXT_MAX, charset=_TEXT)
    return space, lambda view, text: text.encode("ascii", "replace").decode()[:_TEXT_MAX]


def _turns(spec: GameSpec) -> spaces.Discrete:
    return spaces.Discrete((spec.max_ticks or 0) + 1)


def _snake(spec: GameSpec, load: str) -> Encoder:
    """Planes of `grid`: walls 1 and obstacles 2; the snake from its head, 1, to its tail; turns an apple still lives; order of ageing."""
    game = games.make("snake", load)
    size = game.reset().view["size"]
    space = spaces.Dict(
        {
            "grid": spaces.Box(0, size * size, (4, size, size), np.int8),
            "heading": spaces.Discrete(len(_HEADINGS)),
            "turn": _turns(spec),
        }
    )
    walls = np.zeros((size, size), np.int8)
    walls[[0, -1], :] = walls[:, [0, -1]] = 1

    def arrays(view: View, text: str) -> dict[str, Any]:
        grid = np.zeros((4, size, size), np.int8)
        grid[0] = walls
        for x, y in view["obstacles"]:
            grid[0, y, x] = 2
        for place, (x, y) in enumerate(view["snake"], 1):
            grid[1, y, x] = place
        for place, (x, y, life, _) in enumerate(view["foods"], 1):
            grid[2, y, x], grid[3, y, x] = life, place
        return {"grid": grid, "heading": np.int64(_HEADINGS.index(view["direction"])), "turn": np.int64(view["turn"])}

    return space, arrays


def _freeway(spec: GameSpec, load: str) -> Encoder:
    """Rows of `cars`: lane, head, 1 for right or -1 for left, speed, length; in twelfths of a cell, the player at 0. Unused rows are 0."""
    low = np.tile(np.array([0, -256, -1, 0, 0], np.int16), (_CARS, 1))
    high = np.tile(np.array([9, 256, 1, 64, 64], np.int16), (_CARS, 1))
    space = spaces.Dict({"lane": spaces.Discrete(10), "cars": spaces.Box(low, high, (_CARS, 5), np.int16), "turn": _turns(spec)})

    def arrays(view: View, text: str) -> dict[str, Any]:
        cars = np.zeros((_CARS, 5), np.int16)
        for row, (lane, head, direction, speed, length) in enumerate(view["cars"]):
            cars[row] = (lane, head, 1 if direction == "right" else -1, speed, length)
        return {"lane": np.int64(view["lane"]), "cars": cars, "turn": np.int64(view["turn"])}

    return space, arrays


def _overcooked(spec: GameSpec, load: str) -> Encoder:
    """Planes of `grid`: terrain (place in ` XPODST`); what lies there (1 onion, 2 dish, 3 soup); onions of a soup; its turns cooked plus 1.

    Rows of `cooks`, oneself first: x, y, facing (place in LRUD), what is held (as in the grid). Rows of `history`, oneself first: the last
    five actions, oldest first, each 1 more than the action's number, 0 for none.
    """
    terrain = games.make("overcooked", load).reset().view["terrain"]
    rows, columns = len(terrain), len(terrain[0])
    letters = spec.legal_actions
    past = 5
    low, high = np.zeros((2, 4), np.int8), np.tile(np.array([columns - 1, rows - 1, 3, 3], np.int8), (2, 1))
    space = spaces.Dict(
        {
            "grid": spaces.Box(0, max(len(_TERRAIN), 6), (4, rows, columns), np.int8),
            "cooks": spaces.Box(low, high, (2, 4), np.int8),
            "history": spaces.Box(0, len(letters), (2, past), np.int8),
            "soups": _turns(spec),
            "turn": _turns(spec),
        }
    )
    floor: NDArray[np.int8] = np.array([[_TERRAIN.index(kind) for kind in row] for row in terrain], np.int8)

    def arrays(view: View, text: str) -> dict[str, Any]:
        grid = np.zeros((4, rows, columns), np.int8)
        grid[0] = floor
        for name, (x, y), *soup in view["objects"]:
            grid[1, y, x] = _THINGS.index(name) + 1
            if soup:
                grid[2, y, x], grid[3, y, x] = len(soup[0]), soup[1] + 1
        order = (view["you"], 1 - view["you"])
        cooks = np.zeros((2, 4), np.int8)
        history = np.zeros((2, past), np.int8)
        for row, player in enumerate(order):
            (x, y), facing, held = view["players"][player]
            cooks[row] = (x, y, _HEADINGS.index(facing), 0 if held is None else _THINGS.index(held[0]) + 1)
            done = [letters.index(letter) + 1 for letter in view["history"][player]]
            if done:
                history[row, -len(done) :] = done
        return {"grid": grid, "cooks": cooks, "history": history, "soups": np.int64(view["orders_delivered"]), "turn": np.int64(view["turn"])}

    return space, arrays
