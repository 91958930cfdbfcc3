"""The builtin tokenizer: what a text of the builtin thinkers costs, in tokens.

No vocabulary, only a rule, so it is deterministic, instant and the same in every process: a token is a run of ASCII
letters or of up to three digits or of punctuation, each with at most one blank in front; a run of further white space;
or one other code point. Words longer than eight letters are cut every eight. On English prose and coordinates this
lies close to common BPE vocabularies (about four characters a token on words, two on coordinates).
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["count_tokens", "lengths", "token_lengths"]

_TOKEN = re.compile(r" ?[A-Za-z]{1,8}| ?[0-9]{1,3}| ?[!-/:-@\[-`{-~]{1,3}|\s+?(?=\S)|\s+|.", re.DOTALL)


@lru_cache(maxsize=4096)
def lengths(text: str) -> tuple[int, ...]:
    """Return the UTF-8 byte length of each token as a tuple; kept for the sentences that come again and again."""
    if text.isascii():
        return tuple(map(len, _TOKEN.findall(text)))
    return tuple(len(piece.encode()) for piece in _TOKEN.findall(text))


def token_lengths(text: str) -> list[int]:
    """Return the UTF-8 byte length of each token of `text`; they add up to the text's bytes."""
    return list(lengths(text))


def count_tokens(text: str) -> int:
    """Return how many tokens `text` costs."""
    return len(lengths(text))
