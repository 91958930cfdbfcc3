"""From settings to an episode's header and cast: what the live run and the simulator both start from."""

from __future__ import annotations

from typing import Any

import games
from games.base import Game
from replays import events as ev
from workers import agents, backends
from workers.backends import Backend
from workers.cast import Cast
from workers.config import Config
from workers.prompts import fixed_texts, prompt_hash, templates_of

__all__ = ["budget_words", "cast_of", "make_backend", "make_game", "make_header", "rtdesk_version"]


def rtdesk_version() -> str:
    """The installed version, or 0 when run from a bare checkout."""
    # Imported here because only the desk asks, and every child would pay for it.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rtdesk")
    except PackageNotFoundError:
        return "0"


def budget_words(tokens: int | None, seconds: float | None) -> str | None:
    """A budget as prompts say it: `8192 tokens` or `6 seconds`."""
    if tokens is not None:
        return f"{tokens} tokens"
    return None if seconds is None else f"{seconds:g} seconds"


def make_game(config: Config) -> Game:
    """Return the game as the episode's first tick finds it. Raises GameError for a start that is no state of this game."""
    game = games.make(config.game, config.load, config.seed)
    game.reset()
    if config.start is not None:
        game.restore(config.start.snapshot)
    return game


def make_backend(config: Config, role: str) -> Backend:
    """Return the backend of `planner` or `reactor`: made from its spec, or the object that was given."""
    spec = getattr(config, role)
    made: Backend = backends.make(spec) if isinstance(spec, str) else spec
    if isinstance(spec, str) and hasattr(made, "idle_timeout_s"):
        # A backend that waits for a server itself waits as long as the thinker would.
        made.idle_timeout_s = config.stall_timeout_s
    return made


def make_header(config: Config, game: Game, *, meas: dict[str, Any]) -> ev.Episode:
    """Return the episode event."""
    tick = budget_words(config.tick_budget_tokens, config.tick_budget_s)
    assert tick is not None
    reactive = budget_words(config.reactive_budget_tokens, config.reactive_budget_s)
    texts = fixed_texts(
        game,
        shape=agents.shape(config.thinker),
        default_action=config.default_action,
        tick_budget=tick,
        reactive_budget=None if config.dynamic_reactive_budget else reactive or tick,
        templates=templates_of(agents.load(config.thinker), config.prompts or {}),
        player=config.player,
    )
    roles: dict[str, ev.Backend] = {}
    for role in ("planner", "reactor"):
        spec = getattr(config, role)
        if spec is not None:
            backend = make_backend(config, role)
            roles[role] = backend.info
            if isinstance(spec, str):
                backends.shut(backend)
    return ev.Episode(
        tick=0,
        game=config.game,
        load=config.load,
        seed=config.seed,
        agent=config.agent,
        clock=config.clock,
        tick_budget_tokens=config.tick_budget_tokens,
        reactive_budget_tokens=config.reactive_budget_tokens,
        tick_budget_s=config.tick_budget_s,
        reactive_budget_s=config.reactive_budget_s,
        options=config.options,
        backends=roles,
        prompt_hash=prompt_hash(texts),
        texts=texts,
        versions={"rtdesk": rtdesk_version()},
        parent=None if config.start is None else config.start.parent,
        meas=meas,
        player=config.player,
    )


def cast_of(config: Config, game: Game, header: ev.Episode) -> Cast:
    return Cast(config, game, header.texts)
