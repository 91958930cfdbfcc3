"""Wrapping: rows from the end, from a place, and the same rows either way."""

from hypothesis import given
from hypothesis import strategies as st

from replays.clean import width
from rtdesk.tui.wrap import clip, fit, last_rows, rows_at, rows_before, wrap

texts = st.text(st.sampled_from("ab cd日本\n "), max_size=120)


@given(texts, st.integers(4, 20))
def test_no_row_is_wider_than_asked_and_no_letter_is_lost(text: str, columns: int) -> None:
    rows = last_rows(text, columns, 10_000)
    assert all(width(row.text) <= columns for row in rows)
    assert "".join(row.text for row in rows).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert all(text[row.offset : row.offset + len(row.text)] == row.text for row in rows)


@given(texts, st.integers(4, 20), st.integers(1, 8))
def test_the_last_rows_are_the_last_of_all_rows(text: str, columns: int, count: int) -> None:
    assert last_rows(text, columns, count) == last_rows(text, columns, 10_000)[-count:]


@given(texts, st.integers(4, 20), st.integers(1, 8))
def test_rows_from_a_place_are_the_rows_of_the_whole(text: str, columns: int, count: int) -> None:
    whole = last_rows(text, columns, 10_000)
    for i, row in enumerate(whole):
        if i and whole[i - 1].offset == row.offset:
            continue
        found = rows_at(text, columns, count, row.offset)
        assert [one.text for one in found] == [one.text for one in whole[i : i + count]]


def test_going_back_some_rows_lands_on_a_row() -> None:
    text = "one two three four five six seven\n" * 9
    rows = last_rows(text, 10, 10_000)
    assert rows_before(text, 10, 3, rows[8].offset) == rows[5].offset
    assert rows_before(text, 10, 99, rows[2].offset) == 0


def test_words_longer_than_a_row_are_broken() -> None:
    assert [row.text for row in wrap("abcdefghij", 0, 10, 4)] == ["abcd", "efgh", "ij"]


def test_a_text_without_line_ends_costs_what_is_shown() -> None:
    rows = last_rows("x" * 40_000, 80, 5)
    assert len(rows) == 5
    assert len(rows_at("y" * 40_000, 80, 5, 30_000)) == 5


def test_clipping_counts_cells() -> None:
    assert clip("日本語モデル", 7) == "日本語…"
    assert fit("日本語", 8) == "日本語  "
    assert width(fit("日本語モデル", 6)) == 6
