"""What thinkers are asked, in our words, and how a prompt's parts become text.

A prompt is a list of parts: literal text, a name of a fixed text in the header, a tick's observation, or a stretch of a
planner generation's text. So the log holds every prompt without holding any text twice, and `render` rebuilds it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from games.base import Game, GameSpec
from replays import events as ev

__all__ = ["CONCLUSION_LABEL", "TRACE_LABEL", "fixed_texts", "prompt_hash", "render"]

CONCLUSION_LABEL = "Conclusion of the planner's last finished thinking, made for turn {turn}:"
TRACE_LABEL = "The planner's thinking so far, {state}, made for turn {turn}:"


def _letters(spec: GameSpec) -> str:
    return ", ".join(f"{letter} ({word.lower()})" for letter, word in spec.letters)


def fixed_texts(game: Game, *, default_action: str, tick_budget: str, reactive_budget: str | None) -> dict[str, str]:
    """Return the texts every prompt of an episode shares, by name: rules, planner, reactor."""
    spec = game.spec
    letters = _letters(spec)
    planner = (
        f"You play {spec.title} and think ahead. The game does not wait for you: it moves on one turn for every {tick_budget} you think. "
        f"You see the board as it was at the turn you were asked about; by the time you finish, turns have gone by. "
        f"Write your best line early and whenever it improves, as `Best line so far: Turn t: X to where it leads; ...`, because a quick "
        f"player reads your unfinished thoughts. Name goals as `GOAL ...` and dangers as `WARNING ...`. "
        f"At the end give the actions by turn, one a line, in one box:\n\\boxed{{Turn t: X\nTurn t+1: X}}\n"
        f"The actions are {letters}."
    )
    reactor = (
        f"You play {spec.title} and answer at once. You have {reactive_budget or tick_budget} for this turn, thinking included; without a legal "
        f"answer in time the game plays {default_action}. The planner's notes, if any, were made for an earlier turn and are a "
        f"reference, not an order: check them against the board as it is now. "
        f"End with exactly one action in a box, such as \\boxed{{{spec.letters[0][0]}}}. The actions are {letters}."
    )
    return {"planner": planner, "reactor": reactor, "rules": game.describe()}


def prompt_hash(texts: dict[str, str]) -> str:
    """Return the sha-256 over the fixed texts, in name order."""
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}\0{texts[name]}\0".encode())
    return digest.hexdigest()


def render(
    parts: Iterable[str | ev.Part],
    *,
    texts: dict[str, str],
    observation: Callable[[int], str],
    trace: Callable[[int], bytes],
) -> str:
    """Return a prompt's text. `observation(tick)` and `trace(generation)` give what parts point at."""
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif part.text is not None:
            out.append(texts[part.text] + "\n\n")
        elif part.obs is not None:
            out.append(observation(part.obs) + "\n\n")
        else:
            assert part.trace is not None
            out.append(trace(part.trace)[part.start : part.upto].decode(errors="replace"))
    return "".join(out)
