r"""The builtin Overcooked reactor: three moves of look-ahead of its own, then the planner's notes, then one `\boxed{X}`.

All it gets is what a language model would get: the fresh kitchen, and the planner's text as far as it was written. It wants the next
thing only, counts the way there as the crow flies, and looks three moves ahead with Bob standing still: enough in an open kitchen,
too little behind a row of counters. With notes it asks whether a plan line passes where it stands with what it holds, walks the line
on in the fresh kitchen, and takes its step unless the kitchen or Bob is against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workers.thinkers.guidance import read_notes
from workers.thinkers.overcooked_advice import Advice
from workers.thinkers.overcooked_glance import Glance
from workers.tokens import count_tokens

__all__ = ["react"]

Step = tuple[str, str]

LONGEST = 1750
"""Tokens after which no further move of a plan line is walked; the rest of the text is at most 200."""


def react(view: dict[str, Any], guidance: str, *, load: str, max_ticks: int = 100) -> Iterator[Step]:
    """Yield (strategy, text) for the fresh kitchen `view`; the last step is the answer. `guidance` is text, or empty for none."""
    spent = 0
    glance = Glance(view)
    for step in glance.look():
        spent += count_tokens(step[1])
        yield step
    letter = ""
    if guidance:
        advice = Advice(view, read_notes(guidance), glance)
        yield from advice.weigh(LONGEST - spent)
        letter = advice.letter
    if not letter:
        for step in glance.choose():
            yield step
        letter = glance.letter
    yield "conclude", f"\\boxed{{{letter}}}"
