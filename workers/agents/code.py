"""The planner writes a policy program, and the program acts from the tick its last token was released, every tick, until a newer one does.

What it may be, and where it runs, is `workers.sandbox`; nothing of it runs without `--allow-code`. Source of the design: the code agent
of Wen et al., arXiv 2511.04898.
"""

from __future__ import annotations

from pathlib import Path

from replays import events as ev
from workers.agents.base import Asked, Choice, Decision, Shape

__all__ = ["PROMPTS", "SHAPE", "act", "planner_prompt"]

SHAPE = Shape(planner=True, planner_programs=True)
PROMPTS = {"planner": (Path(__file__).parents[1] / "prompts" / "coder.txt").read_text(encoding="utf-8")}
"""In place of the planner's own template."""


def planner_prompt(asked: Asked) -> list[str | ev.Part]:
    """Rules, what a program may be and sees, the planner's own last program where memory is on, and the frozen observation."""
    return list(asked.parts)


def act(choice: Choice) -> Decision:
    """The program's letter, else the default action with the reason."""
    ran = choice.program
    if ran is None:
        return Decision(choice.default_action, "default", "none")
    if ran.letter is None:
        return Decision(choice.default_action, "default", ran.why, ran.generation)
    return Decision(ran.letter, "program", None, ran.generation)
