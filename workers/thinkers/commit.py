"""What a builtin reactor says when its time is up before it has an answer: the best of what it had written down, and no more.

It is asked anew, with all it had said. So it thinks again along its own words, which are the same every time, stops behind the last
sentence that was whole, and takes what looks best there. Thoughts that were not said, or not to their end, count for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from workers.thinkers import Step

__all__ = ["Step", "sentences", "spoken"]


def sentences(thoughts: Iterator[Step], said: str) -> int:
    """Return how many of the thoughts stand whole in what was said."""
    number = upto = 0
    for _, text in thoughts:
        upto += len(text)
        if upto > len(said):
            break
        number += 1
    return number


def spoken(letter: str, why: str) -> Iterator[Step]:
    """Yield the answer, with a word on where it comes from."""
    yield "conclude", f"Time is up. {why}\n\\boxed{{{letter}}}"
