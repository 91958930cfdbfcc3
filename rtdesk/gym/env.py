"""Any game as a Gymnasium environment for one player."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
from gymnasium import spaces

import games
from games.base import Game, GameSpec, Observation
from rtdesk.gym.arrays import encoder, text_encoder
from rtdesk.gym.drawing import board_text, show
from workers.errors import ConfigError

__all__ = ["GameEnv", "game_seed"]

MODES = (None, "ansi", "human")


class GameEnv(gymnasium.Env[Any, Any]):
    """One player in one game.

    Action i is the i-th letter of the game's spec; `step(None)` plays the game's default action, as if nobody had answered. Observations
    are arrays (rtdesk.gym.arrays says what is in them), or with `observation="text"` the text a language model reads; `info` has the
    text, the plain view, the points, the normalised score and the level's seed either way. A `seed` given to `reset` is the level's, the
    same as on the desk; without one, every reset draws the next level from the environment's generator.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 4}  # noqa: RUF012, Gymnasium's own form

    def __init__(self, game: str, *, load: str = "medium", observation: str = "arrays", render_mode: str | None = None) -> None:
        if observation not in ("arrays", "text"):
            raise ConfigError(f"observation {observation!r} is unknown; give arrays or text")
        if render_mode not in MODES:
            raise ConfigError(f"render_mode {render_mode!r} is unknown; give ansi, human or None")
        self.render_mode = render_mode
        self.game: Game = games.make(game, load=load)
        spec = self.game.spec
        self.letters = spec.legal_actions
        """The letter of each action."""
        self.action_space = spaces.Discrete(len(self.letters))
        self.observation_space, self._encode = encoder(spec, load) if observation == "arrays" else text_encoder()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode. No options are known; they are ignored."""
        super().reset(seed=seed)
        seen = self.game.reset(game_seed(self, self.game.spec, seed))
        self._show()
        return self._encode(seen.view, seen.text), self._info(seen)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play one tick. Raises InvalidAction for a number that is no action, GameError before reset and after the end."""
        if action is None:
            letter = self.game.default_action
        elif self.action_space.contains(action):
            letter = self.letters[int(action)]
        else:
            raise gymnasium.error.InvalidAction(f"{action!r} is no action; give 0 to {len(self.letters) - 1}, or None for the default action")
        result = self.game.step(letter)
        self._show()
        seen = result.observation
        info = {**self._info(seen), "reset": result.reset, "done_reason": result.done_reason}
        return self._encode(seen.view, seen.text), float(result.reward), result.terminated, result.truncated, info

    def render(self) -> str | None:
        """Return the board as text in mode ansi; in mode human every step has drawn it already."""
        return self._drawn() if self.render_mode == "ansi" else None

    def _info(self, seen: Observation) -> dict[str, Any]:
        points = self.game.points
        return {"text": seen.text, "view": seen.view, "points": points, "score": self.game.spec.normalise(points), "seed": self.game.seed}

    def _drawn(self) -> str:
        return board_text(self.game.board(), f"{self.game.spec.title}, turn {self.game.observe().tick}")

    def _show(self) -> None:
        if self.render_mode == "human":
            show(self._drawn(), self.metadata["render_fps"])


def game_seed(env: Any, spec: GameSpec, seed: int | None) -> int:
    """Return the level's seed: `seed` itself if the game has it, else one drawn from the environment's generator."""
    low, high = spec.seeds
    if seed is not None and low <= seed <= high:
        return seed
    return int(env.np_random.integers(low, high, endpoint=True))
