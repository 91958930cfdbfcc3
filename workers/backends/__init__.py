"""Thinkers by name. `make(spec)` imports the one module a spec names; our own backends use the same door as yours.

A spec is `builtin`, `scripted:FILE`, `local:FILE.gguf`, `provider/model` or `URL#model` (a model behind an OpenAI-compatible server; see docs/models.md),
a path such as `./mine.py` (a module with a class `Backend`), or the name of an entry point in the group `rtdesk.backends`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

from replays.events import Backend as Info
from workers.backends.base import Backend, Chunk, Finish, Item, Request, cut, spread
from workers.errors import ConfigError
from workers.plugins import find, names

__all__ = ["Backend", "Chunk", "Finish", "Item", "Request", "available", "cut", "hosts", "make", "shut", "spread"]

log = logging.getLogger(__name__)

_OURS = ("builtin", "local", "openai", "scripted")


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
    except (Exception, SystemExit) as error:
        raise ConfigError(f"backend {spec!r} cannot be made: {type(error).__name__}: {error}; mend it and try again") from error
    missing = [name for name in ("info", "stream", "close") if not hasattr(backend, name)]
    if missing:
        raise ConfigError(f"backend {spec!r} has no {' and no '.join(missing)}; a backend has info, stream(request) and close()")
    if not isinstance(backend.info, Info):
        raise ConfigError(f"backend {spec!r} has info {backend.info!r:.60}; expected a replays.events.Backend, such as Backend(spec='./mine.py')")
    return backend


def shut(backend: Backend) -> None:
    """Close a backend. What it raises is logged and goes no further: everybody who closes one is on the way out."""
    try:
        backend.close()
    except (Exception, SystemExit):
        # Not louder than a note: before there is a log, anything louder would go to the terminal.
        log.info("backend %s did not close", backend.info.spec, exc_info=True)


class Hosted(Protocol):
    """A server that several processes share."""

    def close(self) -> None: ...


def hosts(specs: Iterable[object]) -> list[Hosted]:
    """Start the servers that the children of this process are going to share: one for each local model. Whoever asks closes them.

    Raises ConfigError or WorkerError, and then none is left running.
    """
    out: list[Hosted] = []
    for spec in dict.fromkeys(spec for spec in specs if isinstance(spec, str) and spec.startswith("local:")):
        from workers.backends.local import host

        try:
            started = host(spec.partition(":")[2])
        except BaseException:
            for one in out:
                one.close()
            raise
        if started is not None:
            out.append(started)
    return out


def _is_model(spec: str, name: str) -> bool:
    """Whether a spec names a model behind a server: a URL, provider/model, or a YAML model file."""
    if spec.endswith(".py"):
        return False
    return "://" in spec or "/" in name or ("#" in spec and name not in _OURS) or name.endswith((".yaml", ".yml"))
