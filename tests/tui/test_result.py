"""The result card: what it claims is what happened, at every size, and nothing of it is cut."""

import pytest
from material import episode

from replays.reduce import fold_all
from replays.view_state import ViewState
from rtdesk.tui.looks import LOOKS, make_look
from rtdesk.tui.result import result_card
from rtdesk.tui.runs import plain
from rtdesk.tui.views import View

EVENTS = episode()
DARK = make_look("dark")


def card(state: ViewState, width: int = 80, room: int = 29, earlier: tuple[float, ...] = (), **more: bool) -> list[str]:
    return [plain(row) for row in result_card(state, View(), DARK, width, earlier, room=room, **more)]


def whole() -> ViewState:
    return fold_all(EVENTS)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("width", [53, 80, 140])
def test_no_row_is_cut_and_the_card_takes_no_more_room_than_there_is(width: int, look: str) -> None:
    for room in range(18, 60, 3):
        for earlier in ((), (0.2,), (0.0, 1.0, 0.4)):
            rows = [plain(row) for row in result_card(whole(), View(), make_look(look), width, earlier, room=room, look_back=True)]
            assert len(rows) <= max(room, 18)
            assert not any("…" in row for row in rows)
            assert "q quit" in rows[-3]


def test_the_strip_of_who_acted_is_divided_as_the_ticks_were() -> None:
    state = whole()
    state.history.acted = "r" * 30 + "p" * 10 + "d" * 10
    strip = next(row for row in card(state) if "▀" in row)
    assert strip.count("▀") == pytest.approx(3 * strip.count("▄"), abs=2)
    assert strip.count("!") == pytest.approx(strip.count("▄"), abs=1)
    state.history.acted = "r" * 5000 + "d"
    assert "!" in next(row for row in card(state) if "▀" in row)


def test_a_card_with_little_room_has_no_strip_and_no_curve() -> None:
    small, large = card(whole(), room=16), card(whole(), room=40)
    assert not any("▀▀" in row for row in small)
    assert any("▀▀" in row for row in large)
    assert len(large) > len(small) + 5


@pytest.mark.parametrize(("scores", "words"), [((0.25,), "1 earlier run 0.25"), ((0.1, 0.5), "best 0.50 of 2 earlier runs, mean 0.30"), ((1.0, 0.0), "best 1.00 of 2 earlier runs")])
def test_the_best_earlier_run_stands_below_the_gauge_where_its_score_is(scores: tuple[float, ...], words: str) -> None:
    rows = card(whole(), earlier=scores)
    below = next(row for row in rows if words in row)
    gauge = rows[rows.index(below) - 1]
    start = gauge.index("█") if "█" in gauge else gauge.index("─")
    assert below.index("▲") - start == pytest.approx(max(scores) * 60, abs=1)


def test_guidance_that_was_always_followed_is_not_said_to_have_been_left() -> None:
    state = whole()
    state.followed, state.changed = 12, 0
    said = "\n".join(card(state))
    assert "followed all 12 fitting plan lines" in said
    assert "another way" not in said
    state.changed = 1
    assert "followed 12 of 13 fitting plan lines, went another way 1 time" in "\n".join(card(state))
