"""How much of the planner's running text a reactor with a small context can be shown.

An estimate on the safe side, made once before an episode from what the server says of itself; where it was too generous, an overflow
halves it (`workers.reactor`). Why: docs/models.md, Small contexts.
"""

from __future__ import annotations

from games.base import Game
from workers.agents import Shape
from workers.prompts import Layout, fixed_texts, render
from workers.tokens import count_tokens
from workers.trace import CONCLUSION_TOKENS

__all__ = ["room_for_trace"]

SAFE = 1.25
"""A model's own tokenizer may need more tokens than ours for the same text; boards are mostly digits and brackets."""
WALL_TOKENS = 2048
"""What a reactor is taken to write where its time is in seconds."""


def room_for_trace(context_tokens: int, game: Game, *, shape: Shape, templates: dict[str, str], reactive_tokens: int | None) -> int:
    """Return the tokens of a reactor's context that are left for the running trace; 0 if there are none."""
    texts = fixed_texts(
        game, shape=shape, default_action=game.default_action, tick_budget="", reactive_budget="", templates=templates
    )
    observation = game.reset().text
    prompt = render(Layout(texts, "reactor").fill(0), texts=texts, observation=lambda tick: observation, trace=lambda generation: b"")
    # Boards get longer as a game goes on, by far less than they are.
    needed = SAFE * (count_tokens(prompt) + count_tokens(observation)) + CONCLUSION_TOKENS + (reactive_tokens or WALL_TOKENS)
    return max(0, int((context_tokens - needed) / SAFE))
