"""The builtin tokenizer: the quick way over words gives what the rule gives."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.tokens import _scan, lengths

PIECES = st.sampled_from(["a", "turn", "alphabetical", " ", "  ", "\n", "\n\n", "\t", "(3,", "1234", "0.35", "é", "日本", " ", "…", "-->", "\\boxed{U}", "\r\n"])


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
@example("")
@example("\n")
@example("a \n")
@example(" é b\n\n")
def test_words_put_together_cost_what_the_whole_text_costs(text: str) -> None:
    lengths.cache_clear()
    assert lengths(text) == _scan(text)
    assert sum(lengths(text)) == len(text.encode())


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("Turn 12: go left\n", (4, 3, 1, 3, 5, 1)),
        ("alphabetical", (8, 4)),
        ("a  b", (1, 2, 1)),
        ("(3,14)", (1, 1, 1, 2, 1)),
        ("é 日", (2, 1, 3)),
    ],
)
def test_what_a_token_is(text: str, sizes: tuple[int, ...]) -> None:
    assert lengths(text) == sizes
