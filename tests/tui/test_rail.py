"""The rail of a wide screen: what its curves and words claim is what the streams did."""

import pytest
from material import BUDGET, WINDOW, episode, upto

from replays.reduce import fold_all
from replays.timing import natural_use
from replays.view_state import ViewState
from rtdesk.tui.layout import RAIL, arrange
from rtdesk.tui.looks import LOOKS, make_look
from rtdesk.tui.rail import milliseconds, use_rows
from rtdesk.tui.runs import plain
from rtdesk.tui.scene import scene
from rtdesk.tui.views import View

WIDTH = RAIL - 2
DARK = make_look("dark")


def made(tick: int = 40) -> ViewState:
    return fold_all(upto(episode(), tick, 0.99))


def ended(voice: str, *thoughts: tuple[int, str]) -> ViewState:
    state = ViewState()
    for number, (tokens, finish) in enumerate(thoughts):
        getattr(state, voice).ends.append((number, tokens, finish))
    state.reactive_budget, state.tick_budget = WINDOW, BUDGET
    return state


def plot(state: ViewState, look: str = "dark", ascii: bool = False) -> list[str]:
    return [plain(row) for row in use_rows(state, make_look(look, ascii), WIDTH)]


def curve_columns(state: ViewState, voice: str) -> list[int]:
    """Return the columns in which the voice's colour is drawn."""
    colour = DARK.value(voice)
    found = set()
    for row in use_rows(state, DARK, WIDTH)[3:-2]:
        at = 0
        for text, style in row:
            ink, ground = (one and one.name for one in (style.color, style.bgcolor))
            found.update(at + i for i, sign in enumerate(text) if colour == ground or (colour == ink and sign != " "))
            at += len(text)
    return sorted(found)


def test_a_wide_screen_has_a_rail_and_the_streams_stay_readable() -> None:
    assert arrange(200, 60).parts["rail"].width == RAIL
    for size in ((120, 40), (160, 60), (200, 36)):
        assert arrange(*size).parts["rail"].height == 0
    for columns in range(80, 260, 7):
        assert arrange(columns, 60).parts["planner"].width >= min(80, columns - 40)


def test_the_words_beside_the_curves_are_the_percentiles_of_the_streams() -> None:
    state = made()
    rows = plot(state)
    for stream, row in ((state.planner, rows[1]), (state.reactor, rows[2])):
        use = natural_use([(tokens, finish != "stop") for _, tokens, finish in stream.ends])
        assert use is not None
        assert row[1:].split()[0] == stream.name
        assert f"half in {use['p50']:,}" in row


def test_a_curve_reaches_the_right_edge_only_where_every_thought_was_finished() -> None:
    whole = ended("reactor", (300, "stop"), (700, "stop"))
    assert curve_columns(whole, "reactor")[-1] == WIDTH - 2
    some = ended("reactor", (300, "stop"), (700, "stop"), (2048, "budget"), (2048, "budget"))
    assert curve_columns(some, "reactor")[-1] < WIDTH - 2
    assert "half in 700, 2 of 4 cut" in plot(some)[1]
    none = ended("reactor", (2048, "budget"))
    assert "half need more, 1 of 1 cut" in plot(none)[1]
    assert curve_columns(none, "reactor") == []


def test_a_thought_of_just_the_budget_ends_under_the_budgets_mark() -> None:
    rows = plot(ended("reactor", (WINDOW, "stop")))
    assert rows[-1].index("▲ N_TR") == curve_columns(ended("reactor", (WINDOW, "stop")), "reactor")[0]
    axis = rows[-2]
    assert rows[-1].index("▲ N_TR") == axis.index("2k")
    assert rows[-1].index("▲ N_TE") == axis.index("8k")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("tokens", [0, 1, 7, 9, 8192, 3_000_000])
def test_thoughts_of_any_length_have_a_plot_of_the_same_size(tokens: int, look: str) -> None:
    sizes = {len(plot(state, look)) for state in (ViewState(), made(), ended("reactor", (tokens, "stop")), ended("planner", (tokens, "stop"), (1, "length")))}
    assert len(sizes) == 1


def test_without_colour_the_curves_are_letters() -> None:
    for look, ascii in (("mono", False), ("dark", True)):
        rows = "\n".join(plot(made(), look, ascii)[3:-2])
        assert "p" in rows
        assert "r" in rows
        assert ascii is False or rows.isascii()


def test_a_run_of_one_thinker_has_one_curve_and_a_persons_has_none() -> None:
    state = made()
    assert state.header is not None
    state.header.backends.pop("planner", None)
    assert not any("planner" in row for row in plot(state))
    state.header.backends.clear()
    layout = arrange(200, 60)
    rows = [plain(row) for row in scene(state, View(), DARK, layout)["rail"]]
    assert "events" in rows[0]
    assert not any("token use" in row for row in rows)


@pytest.mark.parametrize(
    ("seconds", "said"), [(None, "-"), (0.0, "0.00 ms"), (1.7e-6, "1.7 µs"), (1e-5, "0.01 ms"), (0.00012, "0.12 ms"), (0.0123, "12 ms"), (8.526, "8526 ms"), (75.0, "75.0 s")]
)
def test_a_pace_is_told_in_a_unit_that_leaves_something_of_it(seconds: float | None, said: str) -> None:
    assert milliseconds(seconds, DARK) == said.rjust(7)
    assert milliseconds(seconds, make_look("dark", True)).isascii()
