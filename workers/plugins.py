"""Find a game, agent or backend by its name: our own module, an entry point of another distribution, or a path to a file."""

from __future__ import annotations

import importlib
from typing import Any

from games.base import did_you_mean
from workers.errors import ConfigError

__all__ = ["find", "names", "unknown"]


def names(group: str) -> list[str]:
    """Names other distributions offer in an entry-point group."""
    from importlib.metadata import entry_points

    return [entry.name for entry in entry_points(group=group)]


def unknown(what: str, given: str, available: list[str]) -> ConfigError:
    """The error for a name nobody knows, with the nearest one that somebody does."""
    return ConfigError(did_you_mean(what, given, sorted(available)))


def find(name: str, *, package: str, ours: tuple[str, ...], group: str, what: str) -> Any:
    """Return the module (or the object an entry point names). Raises ConfigError when there is none."""
    if name.endswith(".py"):
        # Imported here because few thinkers come from a file.
        from games.loading import load_file

        return load_file(name, what=what, refusal=ConfigError)
    if name in ours:
        return importlib.import_module(f"{package}.{name}")
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        if entry.name == name:
            return entry.load()
    raise unknown(what, name, [*ours, *names(group)])
