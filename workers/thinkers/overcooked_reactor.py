r"""The builtin Overcooked reactor: three moves of look-ahead of its own, then the planner's notes, then one `\boxed{X}`.

All it gets is what a language model would get: the fresh kitchen, and the planner's text as far as it was written. It wants the next
thing only, counts the way there as the crow flies, and looks three moves ahead with the other cook standing still: enough in an open kitchen,
too little behind a row of counters. With notes it asks whether a plan line passes where it stands with what it holds, walks the line
on in the fresh kitchen, and takes its step unless the kitchen or the other is against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from workers.thinkers.commit import Step, spoken
from workers.thinkers.guidance import read_notes
from workers.thinkers.overcooked_advice import Advice
from workers.thinkers.overcooked_glance import Glance
from workers.tokens import count_tokens

__all__ = ["commit", "react"]

LONGEST = 1750
"""Tokens after which no further move of a plan line is walked; the rest of the text is at most 200."""
_TAKEN = re.compile(r"so I take its ([UDLRIS])\.\n")
_CHOSEN = re.compile(r"on my own I would (play [UDLRI]|stay|wait)")
_LETTERS = {"stay": "S", "wait": "S"}
_AT_ONCE = re.compile(r"^Move 1, I: .*that is what I want\.$", re.MULTILINE)
_FIRST_MOVES = re.compile(r"^Move 1 from .*$", re.MULTILINE)
_STEPPED = re.compile(r"([UDLR]) gets to \(\d+,\d+\), a free cell [^;]*?with (\d+) to go")
ANSWERED = "\n[answer]\n"
"""Where the answer of a thinking begins: with it in the notes, the thinking under way has come to its end."""


def react(view: dict[str, Any], guidance: str, *, load: str, max_ticks: int = 100) -> Iterator[Step]:
    """Yield (strategy, text) for the fresh kitchen `view`; the last step is the answer. `guidance` is text, or empty for none."""
    if view["you"]:
        # Looked at with the two cooks' places changed: the rules differ only in who interacts first.
        view = {**view, "players": view["players"][::-1], "history": view["history"][::-1]}
    spent = 0
    glance = Glance(view)
    for step in glance.look():
        spent += count_tokens(step[1])
        yield step
    letter = ""
    if guidance:
        advice = Advice(view, read_notes(guidance), glance, ended=ANSWERED in guidance)
        yield from advice.weigh(LONGEST - spent)
        letter = advice.letter
    yield "conclude", f"\\boxed{{{letter or glance.letter}}}"


def commit(view: dict[str, Any], guidance: str, said: str, *, load: str, max_ticks: int = 100) -> Iterator[Step]:
    """Yield the answer of one that was cut after it had `said` so much. Its own words are all it goes by."""
    whole = said[: said.rfind("\n") + 1]
    if taken := _TAKEN.findall(whole):
        return spoken(taken[-1], "The planner's line stands.")
    if chosen := _CHOSEN.findall(whole):
        return spoken(_LETTERS.get(chosen[-1], chosen[-1][-1]), "So I do what I would do on my own.")
    if _AT_ONCE.search(whole):
        return spoken("I", "I face what I want.")
    reached = [(int(left), letter) for letter, left in _STEPPED.findall("".join(_FIRST_MOVES.findall(whole)))]
    if reached:
        return spoken(min(reached)[1], f"{min(reached)[1]} leaves least to go, as far as I have looked.")
    return spoken("S", "I have looked at no move to its end, so I stay.")
