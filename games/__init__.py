"""The games, by name: `make("snake", load="hard", seed=3)`.

A game is one module with a rules docstring, `SPEC` and a class `Game`. It is found by its name: a module of this folder, an entry
point in the group `rtdesk.games`, or a path such as `./mygame.py`. There is no list to edit, and only the module asked for is
imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from games.base import Game, GameError, GameSpec, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Game", "GameError", "GameSpec", "make", "names", "spec"]

GROUP = "rtdesk.games"
# Modules of this folder that are no games.
_TOOLS = frozenset({"base", "check", "rng"})
# A game for measuring, found by its name but not offered: nobody plays it.
_UNLISTED = frozenset({"metronome"})


def make(name: str, load: str = "medium", seed: int = 0) -> Game:
    """Return a new game, not yet reset.

    `name` is a game's name or the path of a file that holds one. Raises GameError for an unknown name, load or seed.
    """
    return cast(Game, _module(name).Game(load, seed))


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
        module = _from_path(name)
    elif name in _own():
        module = importlib.import_module(f"{__name__}.{name}")
    elif (point := _entry_points().get(name)) is not None:
        module = point.load()
    else:
        raise GameError(did_you_mean("game", name, names()))
    missing = [part for part in ("SPEC", "Game") if not hasattr(module, part)]
    if missing:
        raise GameError(f"{name!r} is no game: it has no {' and no '.join(missing)}; a game module defines SPEC and class Game")
    return module


def _from_path(name: str) -> ModuleType:
    path = Path(name).expanduser()
    if not path.is_file():
        raise GameError(f"unknown game {name!r}: there is no such file; give a path to a .py file or one of {', '.join(names())}")
    # One module per file, under a name of its own: two folders may both hold a mygame.py.
    title = f"rtdesk game {path.resolve()}"
    loaded = sys.modules.get(title)
    if loaded is not None:
        return loaded
    how = importlib.util.spec_from_file_location(title, path)
    if how is None or how.loader is None:
        raise GameError(f"unknown game {name!r}: it is no Python file; give a path ending in .py")
    module = importlib.util.module_from_spec(how)
    # Registered before it runs: typed structs look their annotations up there.
    sys.modules[title] = module
    try:
        how.loader.exec_module(module)
    except Exception as error:
        del sys.modules[title]
        raise GameError(f"the game at {name!r} does not load: {type(error).__name__}: {error}{_line(error, how.origin)}; mend it and try again") from error
    return module


def _line(error: Exception, file: str | None) -> str:
    """Return where in `file` an error was raised, as ` (line 3)`; empty for a syntax error, whose own text says so."""
    # Imported here because only the error path needs it.
    import traceback

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" (line {lines[-1]})" if lines else ""
