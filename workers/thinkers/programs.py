"""How the builtin writers of programs say what they wrote: thoughts first, then the program, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["told"]


def told(thoughts: Iterable[tuple[str, str]], program: str) -> Iterator[tuple[str, str]]:
    """Yield (strategy, text) of the thoughts, then the program as the visible answer, in a fenced block."""
    yield from thoughts
    yield "conclude", "```python\n"
    for line in program.splitlines(keepends=True):
        yield "conclude", line
    yield "conclude", "```\n"
