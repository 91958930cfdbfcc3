"""Find a game, agent or backend by its name: our own module, an entry point of another distribution, or a path to a file."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from workers.errors import ConfigError

__all__ = ["find", "names", "unknown"]


def names(group: str) -> list[str]:
    """Names other distributions offer in an entry-point group."""
    from importlib.metadata import entry_points

    return [entry.name for entry in entry_points(group=group)]


def unknown(what: str, given: str, available: list[str]) -> ConfigError:
    """The error for a name nobody knows, with the nearest one that somebody does."""
    near = difflib.get_close_matches(given, available, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return ConfigError(f"unknown {what} {given!r}{hint} (available: {', '.join(sorted(available))})")


def find(name: str, *, package: str, ours: tuple[str, ...], group: str, what: str) -> Any:
    """Return the module (or the object an entry point names). Raises ConfigError when there is none."""
    if name.endswith(".py"):
        return _load(Path(name), what)
    if name in ours:
        return importlib.import_module(f"{package}.{name}")
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        if entry.name == name:
            return entry.load()
    raise unknown(what, name, [*ours, *names(group)])


def _load(path: Path, what: str) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"no {what} at {str(path)!r}: no such file; give a name or the path of a .py file")
    name = f"_rtdesk_{what}_{path.stem}_{abs(hash(str(path.resolve())))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(f"the {what} at {str(path)!r} does not load: {type(error).__name__}: {error}") from error
    return module
