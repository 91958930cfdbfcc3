"""Thinkers by name. `make(spec)` imports the one module a spec names; our own backends use the same door as yours.

A spec is `builtin`, `scripted:FILE`, `provider/model` or `URL#model` (a model behind an OpenAI-compatible server; see docs/models.md),
a path such as `./mine.py` (a module with a class `Backend`), or the name of an entry point in the group `rtdesk.backends`.
"""

from __future__ import annotations

from workers.backends.base import Backend, Chunk, Finish, Item, Request, cut, spread
from workers.errors import ConfigError
from workers.plugins import find, names

__all__ = ["Backend", "Chunk", "Finish", "Item", "Request", "available", "cut", "make", "spread"]

_OURS = ("builtin", "openai", "scripted")


def available() -> list[str]:
    """Names of the backends this installation knows."""
    return sorted({*_OURS, *names("rtdesk.backends")})


def make(spec: str) -> Backend:
    """Return the backend a spec names. Raises ConfigError for an unknown or malformed spec."""
    name, _, rest = spec.partition(":") if not spec.endswith(".py") else (spec, "", "")
    if name == "openai":
        raise ConfigError("'openai' needs a model; give openai/MODEL, another provider/MODEL, or URL#MODEL, see docs/models.md")
    if _is_model(spec, name):
        name, rest = "openai", spec
    module = find(name, package="workers.backends", ours=_OURS, group="rtdesk.backends", what="backend")
    factory = getattr(module, "Backend", None)
    if factory is None:
        raise ConfigError(f"{spec!r} has no class Backend; a backend module defines one (see docs/add-your-own.md)")
    try:
        backend: Backend = factory(rest) if rest else factory()
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(f"backend {spec!r} cannot be made: {type(error).__name__}: {error}") from error
    missing = [name for name in ("info", "stream", "close") if not hasattr(backend, name)]
    if missing:
        raise ConfigError(f"backend {spec!r} has no {' and no '.join(missing)}; a backend has info, stream(request) and close()")
    return backend


def _is_model(spec: str, name: str) -> bool:
    """Whether a spec names a model behind a server: a URL, provider/model, or a YAML model file."""
    if spec.endswith(".py"):
        return False
    return "://" in spec or "/" in name or ("#" in spec and name not in _OURS) or name.endswith((".yaml", ".yml"))
