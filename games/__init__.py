"""The games, by name: `make("snake", load="hard", seed=3)`.

A game is one module with a rules docstring, `SPEC` and a class `Game`. It is found by its name: a module of this folder, an entry
point in the group `rtdesk.games`, or a path such as `./mygame.py`. There is no list to edit, and only the module asked for is
imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING, cast

from games.base import Game, GameError, GameSpec, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Game", "GameError", "GameSpec", "make", "names", "spec"]

GROUP = "rtdesk.games"
# Modules of this folder that are no games.
_TOOLS = frozenset({"base", "check", "loading", "nesting", "rng"})
# A game for measuring, found by its name but not offered: nobody plays it.
_UNLISTED = frozenset({"metronome"})


def make(name: str, load: str = "medium", seed: int = 0) -> Game:
    """Return a new game, not yet reset.

    `name` is a game's name or the path of a file that holds one. Raises GameError for an unknown name, load or seed.
    """
    module = _module(name)
    made = module.Game
    if not module.__name__.startswith(f"{__name__}."):
        # Imported here because few games are somebody else's.
        from games._guard import guarded

        made = guarded(made, name)
    return cast(Game, made(load, seed))


def names() -> tuple[str, ...]:
    """Return the names `make` knows, sorted; entry points of other packages included, nothing imported."""
    return tuple(sorted((_own() - _UNLISTED) | set(_entry_points())))


def spec(name: str) -> GameSpec:
    """Return the fixed facts of the game called `name` without making one. Raises GameError like `make`."""
    return cast(GameSpec, _module(name).SPEC)


def _own() -> frozenset[str]:
    found = (info.name for info in pkgutil.iter_modules(__path__))
    return frozenset(name for name in found if not name.startswith("_")) - _TOOLS


def _entry_points() -> dict[str, EntryPoint]:
    # Reading the metadata of every installed package takes some ten milliseconds: only where no own game has the name.
    import importlib.metadata

    return {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}


def _module(name: str) -> ModuleType:
    if name.endswith(".py") or "/" in name:
        # Imported here because few games come from a file.
        from games.loading import load_file

        module = load_file(name, what="game", refusal=GameError)
    elif name in _own():
        module = importlib.import_module(f"{__name__}.{name}")
    elif (point := _entry_points().get(name)) is not None:
        module = point.load()
    else:
        raise GameError(did_you_mean("game", name, names()))
    missing = [part for part in ("SPEC", "Game") if not hasattr(module, part)]
    if missing:
        raise GameError(f"{name!r} is no game: it has no {' and no '.join(missing)}; a game module defines SPEC and class Game")
    if not isinstance(module.SPEC, GameSpec) or not isinstance(module.Game, type):
        kinds = f"its SPEC is a {type(module.SPEC).__name__} and its Game a {type(module.Game).__name__}"
        raise GameError(f"{name!r} is no game: {kinds}; SPEC has to be a games.base.GameSpec, and Game a class")
    return module
