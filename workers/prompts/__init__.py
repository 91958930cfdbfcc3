"""What thinkers are asked: the texts of `planner.txt` and `reactor.txt`, or of a folder of yours, and how they become prompts.

A template is plain text with placeholders in braces, such as `{turn}`. The header of a replay holds the templates and the texts that
are the same in the whole episode, each once, by name; a prompt is a list of parts that point into them, at a tick's observation, or at a
stretch of a planner generation's text. So the log holds every prompt without holding any text twice, and `render` rebuilds it.

The one thing that surprises: `\\boxed{X}` may stand in a template as it is, for a placeholder is lower-case letters in braces; and a
placeholder that stands on a line of its own takes the line and the blank lines after it away when it has nothing to say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from games.base import Game
from replays.prompt import render
from workers.agents.base import Shape
from workers.prompts.template import Layout, Template, default_templates, read_folder
from workers.prompts.words import words_of

__all__ = ["CONCLUSION_LABEL", "ROLES", "TRACE_LABEL", "Layout", "default_templates", "fixed_texts", "names_in", "prompt_hash", "read_folder", "render", "templates_of"]

ROLES = ("planner", "reactor")
CONCLUSION_LABEL = "Conclusion of the planner's last finished thinking, made for turn {turn}:"
TRACE_LABEL = "The planner's thinking so far, {state}, made for turn {turn}:"

_FOLLOWED = (
    "Nobody looks over your plan: once it is finished, the game follows it by the numbers of its turns. Until then, and for every turn it does "
    "not cover, the game plays {default}."
)
_READ = (
    "You do not act yourself. A quick player does, every turn, with little time: it sees the fresh board, which you do not, and reads what "
    "you have written so far, finished or not. Write for that reader."
)
_NOTES = (
    "3. The planner's notes, if there are any, stand below the board. They were made for the turn they name, on the board of that turn, and are a "
    "reference, not an order: unfinished thoughts may be wrong, and the board may have changed. Look for the step they give for the turn it is "
    "now and for the place where you are now. If it is there and does no harm on this board, take it. If it is not, see whether a goal, a warning or "
    "another line still holds; if none does, trust the board. Do not repeat the notes."
)
_ALONE = "3. There is nobody to help you: what you see now is all there is."
_FORCE = (
    "Your time for turn {turn} is up. Think no further: give the action you hold for the best so far, as \\boxed{X} and not a word more."
)


def _letters(letters: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{letter} ({word.lower()})" for letter, word in letters)


def fixed_texts(
    game: Game,
    *,
    shape: Shape,
    default_action: str,
    tick_budget: str,
    reactive_budget: str | None,
    templates: Mapping[str, str] | None = None,
    player: int = 0,
) -> dict[str, str]:
    """Return the texts an episode's prompts point into, by name: the templates of the roles that think, and what their placeholders mean.

    Budgets are words, such as `8192 tokens`. `reactive_budget` None says that it is not the same in every tick; prompts then name
    the one of their tick. `templates` by role stand in for ours; `player` is who thinks.
    """
    spec = game.spec
    words = words_of(spec.name, player)
    default = (dict(spec.letters) | dict(words.defaults)).get(default_action, "")
    default = f"{default_action} ({default.lower()})" if default else default_action
    reader = [_READ] if shape.reactor else []
    if shape.planner_answers:
        reader.append(_FOLLOWED.format(default=default))
    known = {
        "game": spec.title,
        "rules": game.describe().rstrip("\n"),
        "actions": _letters(spec.letters),
        "default_action": default,
        "tick_budget": tick_budget,
        "reader": "\n".join(reader),
        "notes": _NOTES if shape.planner else _ALONE,
        "line": words.line,
        "marks": words.marks,
        "advice": words.advice,
        "glance": words.glance,
        "view": words.view,
    }
    if reactive_budget is not None:
        known["reactive_budget"] = reactive_budget
    given = default_templates() | dict(templates or {})
    out = {role: given[role] for role, there in (("planner", shape.planner), ("reactor", shape.reactor)) if there}
    wanted = {name for role, text in out.items() for name in Template(text, role=role).names}
    if "reactor" in out:
        out["force"] = _FORCE
    return out | {name: text for name, text in known.items() if name in wanted or name == "rules"}


def templates_of(agent: Any, own: Mapping[str, str]) -> dict[str, str]:
    """Return the templates by role that stand in for ours: an agent module's own (`PROMPTS`), and before them the user's."""
    out = {**getattr(agent, "PROMPTS", {}), **{role: own[role] for role in ROLES if role in own}}
    if agent.SHAPE.planner_programs:
        # A planner that writes programs is not asked for a plan.
        out |= {"planner": own["coder"]} if "coder" in own else {role: text for role, text in agent.PROMPTS.items() if role == "planner"}
    return out


def names_in(role: str, templates: Mapping[str, str]) -> list[str]:
    """Return the placeholders of a role's template: the given one, or ours."""
    return Template(templates.get(role) or default_templates()[role], role=role).names


def prompt_hash(texts: dict[str, str]) -> str:
    """Return the sha-256 over the fixed texts, in name order."""
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}\0{texts[name]}\0".encode())
    return digest.hexdigest()
