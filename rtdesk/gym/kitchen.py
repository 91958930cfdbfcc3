"""Overcooked for two: a PettingZoo parallel environment in which both cooks are yours."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

try:
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise ImportError(f"two-cook Overcooked needs pettingzoo ({error}); install it with: pip install 'rtdesk[gym]'") from error

from games.base import GameError
from games.overcooked import SPEC, Game
from rtdesk.gym.arrays import encoder, text_encoder
from rtdesk.gym.drawing import board_text, show
from rtdesk.gym.env import MODES, game_seed
from workers.errors import ConfigError

__all__ = ["KitchenEnv", "parallel_env"]


class KitchenEnv(ParallelEnv):
    """Two cooks, `alice` and `bob`, who act at once and share the score: both get the whole reward of a tick.

    Actions and observations are those of `rtdesk/Overcooked-v1`, each cook seeing itself first. A cook without an action in `step` plays
    the default action. The kitchen depends on the load alone; a seed changes nothing, for Bob's script does not play.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "rtdesk_overcooked_v1", "render_modes": ["ansi", "human"], "render_fps": 4, "is_parallelizable": True}

    def __init__(self, *, load: str = "medium", observation: str = "arrays", render_mode: str | None = None) -> None:
        if observation not in ("arrays", "text") or render_mode not in MODES:
            raise ConfigError(f"observation {observation!r} with render_mode {render_mode!r} is unknown; give arrays or text, and ansi, human or None")
        self.render_mode = render_mode
        self.game = Game(load)
        self.possible_agents = ["alice", "bob"]
        self.agents: list[str] = []
        self.np_random = np.random.default_rng()
        self.letters = SPEC.legal_actions
        # One object an agent, for ever: seeding a space is remembered in it.
        made = {agent: encoder(SPEC, load) if observation == "arrays" else text_encoder() for agent in self.possible_agents}
        self.observation_spaces = {agent: space for agent, (space, _) in made.items()}
        self.action_spaces = {agent: spaces.Discrete(len(self.letters)) for agent in self.possible_agents}
        self._encode = made["alice"][1]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode. No options are known; they are ignored."""
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.game.reset(game_seed(self, SPEC, seed))
        self.agents = list(self.possible_agents)
        self._show()
        return self._seen()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play one tick for both. Raises GameError for a number that is no action, and before reset or after the end."""
        alice, bob = (self._letter(agent, actions.get(agent)) for agent in self.possible_agents)
        result = self.game.step(alice, partner=bob)
        self._show()
        seen, infos = self._seen()
        both = self.possible_agents
        if result.done:
            self.agents = []
        return (
            seen,
            dict.fromkeys(both, float(result.reward)),
            dict.fromkeys(both, result.terminated),
            dict.fromkeys(both, result.truncated),
            infos,
        )

    def render(self) -> str | None:
        """Return the kitchen as text in mode ansi; in mode human every step has drawn it already."""
        return self._drawn() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Nothing is held open."""

    def _letter(self, agent: str, action: Any) -> str:
        if action is None:
            return SPEC.default_action
        if not self.action_spaces[agent].contains(action):
            raise GameError(f"{action!r} is no action for {agent}; give 0 to {len(self.letters) - 1}, or none for the default action")
        return self.letters[int(action)]

    def _seen(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        seen, infos = {}, {}
        for player, agent in enumerate(self.possible_agents):
            observation = self.game.observe(player)
            seen[agent] = self._encode(observation.view, observation.text)
            points = self.game.points
            infos[agent] = {"text": observation.text, "view": observation.view, "points": points, "score": SPEC.normalise(points)}
        return seen, infos

    def _drawn(self) -> str:
        return board_text(self.game.board(), f"{SPEC.title}, turn {self.game.observe().tick}")

    def _show(self) -> None:
        if self.render_mode == "human":
            show(self._drawn(), self.metadata["render_fps"])


def parallel_env(**options: Any) -> KitchenEnv:
    """Return a two-cook kitchen; takes the options of `KitchenEnv`."""
    return KitchenEnv(**options)
