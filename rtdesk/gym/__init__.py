"""The games as standard environments (extra `[gym]`): Gymnasium's for one player, PettingZoo's for two cooks.

    import gymnasium
    import rtdesk.gym

    env = gymnasium.make("rtdesk/Snake-v1", load="hard")

Importing this module registers the ids; `gymnasium.make("rtdesk.gym:rtdesk/Snake-v1")` imports it for you. Without gymnasium the import
says what to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import gymnasium
except ImportError as error:
    raise ImportError(f"rtdesk.gym needs gymnasium and pettingzoo ({error}); install them with: pip install 'rtdesk[gym]'") from error

if TYPE_CHECKING:
    from rtdesk.gym.deadline import Deadline
    from rtdesk.gym.env import GameEnv
    from rtdesk.gym.kitchen import KitchenEnv, parallel_env

__all__ = ["IDS", "Deadline", "GameEnv", "KitchenEnv", "parallel_env", "register"]

IDS = {"rtdesk/Snake-v1": "snake", "rtdesk/Freeway-v1": "freeway", "rtdesk/Overcooked-v1": "overcooked"}
"""Gymnasium id -> game. `rtdesk/Game-v1` is any other, by name or path: `make("rtdesk/Game-v1", game="./mygame.py")`."""

_HOMES = {"Deadline": "deadline", "GameEnv": "env", "KitchenEnv": "kitchen", "parallel_env": "kitchen"}


def register() -> None:
    """Make the ids known to Gymnasium; again is no error."""
    for name, game in IDS.items():
        if name not in gymnasium.registry:
            # No max_episode_steps: the game has its own cap, and says `truncated` itself.
            gymnasium.register(id=name, entry_point="rtdesk.gym.env:GameEnv", kwargs={"game": game})
    if "rtdesk/Game-v1" not in gymnasium.registry:
        gymnasium.register(id="rtdesk/Game-v1", entry_point="rtdesk.gym.env:GameEnv", kwargs={"observation": "text"})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rtdesk.gym' has no attribute {name!r}; it offers {', '.join(__all__)}")
    import importlib

    return getattr(importlib.import_module(f"rtdesk.gym.{_HOMES[name]}"), name)


register()
