"""Is this an agent, is this a thinker? `check_agent("agile")`, `check_backend("./mine.py")`: a report of what is wrong and why.

An agent is asked for its prompts and its decisions in every situation a tick can be in, and plays a short episode if it has a name. A
backend streams a few answers, is cancelled and closed. The one thing that surprises: a backend that speaks to a server really speaks to
it, four short requests, and is given `timeout_s` for each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import games
from games.base import Game
from games.check import CheckFailed, Finding, Report, run_checks
from workers import agents, backends
from workers._agent_checks import AGENT_CHECKS, AGENT_GATES, Player
from workers._backend_checks import BACKEND_CHECKS, BACKEND_GATES, Thinker
from workers.errors import ConfigError

__all__ = ["CheckFailed", "Finding", "Report", "check_agent", "check_backend"]


def check_agent(agent: str | Any, *, game: str = "snake") -> Report:
    """Return what is wrong with an agent: its name, the path of its file, or an object with SHAPE and the functions.

    Raises ConfigError if there is no agent of that name or its file does not load. `game` is the one its prompts and letters are of.

    >>> check_agent("agile").ok
    True
    """
    module = agents.load(agent) if isinstance(agent, str) else agent
    name = agent if isinstance(agent, str) else getattr(module, "__name__", type(module).__name__)
    if not hasattr(module, "SHAPE"):
        raise ConfigError(f"{name!r} is no agent: it has no SHAPE; an agent module defines SHAPE and act (see docs/add-your-own.md)")
    player = Player(module, named=agent if isinstance(agent, str) else None, game=_begun(game), path=game)
    return run_checks("agent", name, player, gates=AGENT_GATES, checks=AGENT_CHECKS)


def check_backend(
    backend: str | Callable[[], Any],
    *,
    game: str = "snake",
    timeout_s: float = 60.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Return what is wrong with a backend: its spec (a name, a path, `scripted:FILE`), or a function that makes one.

    `timeout_s` is how long one stream may take, by `clock`; while a stream says "nothing yet", `sleep` is called. Raises ConfigError if
    there is no such backend.

    >>> check_backend("builtin").ok
    True
    """
    if isinstance(backend, str):
        spec = backend
        backends.shut(backends.make(spec))
        thinker = Thinker(lambda: backends.make(spec), game=_begun(game), timeout_s=timeout_s, clock=clock, sleep=sleep)
        return run_checks("backend", spec, thinker, gates=BACKEND_GATES, checks=BACKEND_CHECKS)
    thinker = Thinker(backend, game=_begun(game), timeout_s=timeout_s, clock=clock, sleep=sleep)
    return run_checks("backend", getattr(backend, "__name__", "backend"), thinker, gates=BACKEND_GATES, checks=BACKEND_CHECKS)


def _begun(name: str) -> Game:
    game = games.make(name)
    game.reset()
    return game
