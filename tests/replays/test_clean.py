"""`clean` is the only door from outside text to a screen: what passes it, for every code point, and that cuts do not matter."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from replays.clean import BOX, DOT, Cleaner, clean, one_line, width

HARMLESS = {"\n"}


def test_no_code_point_gives_a_control_format_private_unassigned_or_combining_character() -> None:
    bad = []
    for code in range(sys.maxunicode + 1):
        for char in clean(chr(code)):
            category = unicodedata.category(char)
            if char not in HARMLESS and (category[0] in "CM" or category in ("Zl", "Zp")):
                bad.append(hex(code))
    assert bad == []


def test_the_width_of_every_code_point_is_what_the_terminal_library_says() -> None:
    bad = []
    for code in range(sys.maxunicode + 1):
        shown = clean(chr(code)).replace("\n", "")
        if cell_len(shown) != width(shown):
            bad.append(hex(code))
    assert bad == []


def test_cleaning_twice_changes_nothing() -> None:
    for code in range(0x3000):
        once = clean(chr(code))
        assert clean(once) == once


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("\x7f\x00", "␡␀"),
        ("\x9b31m\x9d0;t\x07", f"{DOT}31m{DOT}0;t␇"),
        ("a\tb", "a  b"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("\u202etxet lasrever", f"{DOT}txet lasrever"),
        ("a\u200bb\u00adc", f"a{DOT}b{DOT}c"),
        ("x\u2028y\u2029z\u0085", f"x{DOT}y{DOT}z{DOT}"),
        ("e\u0301cole", "école"),
        ("Z\u0351\u0352algo", "Zalgo"),
        ("日本語モデル", "日本語モデル"),
        ("\u1112\u1161\u11ab", "한"),
        ("\u2126 \u212b", "Ω Å"),
        ("👨\u200d👩\u200d👧 fam", f"{BOX} fam"),
        ("👍🏽", BOX),
        ("🇫🇷🇩🇪!", f"{BOX}{BOX}!"),
        ("⚠\ufe0f warn", "⚠ warn"),
        ("\ud800", DOT),
        ("\U0001f37a\U0001f37a", BOX + BOX),
    ],
)
def test_known_texts(given_text: str, shown: str) -> None:
    assert clean(given_text) == shown


@given(st.text(st.sampled_from("ae\u0301\u0302\r\n\tx 日👨\u200d👩🏽🇫🇷\u1112\u1161\u11ab\x1b\u202e"), max_size=30), st.lists(st.integers(1, 5), max_size=30))
def test_a_text_cleaned_in_pieces_is_the_text_cleaned_whole(text: str, cuts: list[int]) -> None:
    cleaner, shown, place = Cleaner(), "", 0
    for size in [*cuts, len(text)]:
        back, more = cleaner.feed(text[place : place + size])
        shown = (shown[:-back] if back else shown) + more
        # The state at rest is enough to go on from.
        other = Cleaner()
        other.restore(cleaner.state())
        cleaner, place = other, place + size
    assert shown + cleaner.flush() == clean(text)


def test_a_name_becomes_one_line_of_bounded_length() -> None:
    assert one_line("a\nb\x1b", 10) == "a b␛"
    assert len(one_line("x" * 10_000, 80)) == 80
