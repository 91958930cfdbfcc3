"""Two cooks on one screen: whose streams they are, which cook is the person's, and who left how much to the default."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replays import events as ev
from replays.clean import width as cells
from replays.reduce import fold, fold_all
from replays.view_state import ViewState
from rtdesk.tui.board import draw_board
from rtdesk.tui.boards import BoardMaker
from rtdesk.tui.layout import arrange
from rtdesk.tui.looks import make_look
from rtdesk.tui.meter import meter_rows
from rtdesk.tui.pair import LABELS, playing, sign_of
from rtdesk.tui.person import rules_card
from rtdesk.tui.result import result_card
from rtdesk.tui.runs import plain
from rtdesk.tui.scene import overlay, scene
from rtdesk.tui.sides import Side, side_name
from rtdesk.tui.verdict import match_card
from rtdesk.tui.views import Status, View
from workers.simulator import simulate

KITCHEN = ("U", "D", "L", "R", "I", "S")
SIZES = [(60, 20), (80, 24), (120, 40), (200, 60)]


@pytest.fixture(scope="module")
def beside() -> list[ev.AnyEvent]:
    """A person without a key, and the agent as the second cook."""
    return simulate("overcooked", agent="human", partner="agile", load="easy", ticks=8).events


@pytest.fixture(scope="module")
def cut() -> list[ev.AnyEvent]:
    """The partner's reactor never gets to its answer."""
    return simulate("overcooked", agent="random", partner="reactive", load="easy", ticks=4, tick_budget=40).events


def before(events: list[ev.AnyEvent], tick: int, kind: type) -> ViewState:
    """The state in which the first event of `kind` of a tick has not come yet."""
    state = ViewState()
    for event in events:
        if isinstance(event, kind) and event.tick == tick:
            return state
        fold(state, event)
    raise AssertionError(f"tick {tick} has no {kind.__name__}")


def shown(state: ViewState, size: tuple[int, int] = (120, 40), look: str = "mono", **status: Any) -> dict[str, list[str]]:
    view = view_of(state, **status)
    rows = scene(state, view, make_look(look), arrange(*size, 5, 5, planner="planner" in _roles(state), reactor="reactor" in _roles(state)))
    return {part: [plain(row) for row in found] for part, found in rows.items()}


def _roles(state: ViewState) -> dict[str, ev.Backend]:
    return state.header.backends if state.header is not None else {}


def view_of(state: ViewState, **status: Any) -> View:
    maker = BoardMaker()
    board = maker.board(state.header, state.snapshot)
    return View(status=Status(**{"human": KITCHEN, "people": 1, "rate": 3.0, **status}), board=board, spec=maker.spec)


def press(state: ViewState, letter: str) -> ViewState:
    return fold(state, ev.Control(tick=state.tick, what="key", value=letter, player=0))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("look", ["dark", "light", "ansi", "mono"])
def test_every_part_fills_its_place_with_two_cooks(size: tuple[int, int], look: str, beside: list[ev.AnyEvent]) -> None:
    state = press(before(beside, 6, ev.Action), "R")
    view = view_of(state)
    layout = arrange(*size, 5, 5)
    for part, rows in scene(state, view, make_look(look), layout).items():
        rect = layout.parts[part]
        assert len(rows) == rect.height
        assert {cells(plain(row)) for row in rows} <= {rect.width}


@pytest.mark.parametrize("size", SIZES[1:])
def test_the_streams_say_whose_they_are(size: tuple[int, int], beside: list[ev.AnyEvent]) -> None:
    parts = shown(before(beside, 6, ev.Action), size)
    assert "partner's planner" in parts["planner"][0]
    assert "partner's reactor" in parts["reactor"][0]
    assert "human + agile" in parts["head"][0]
    mine = shown(fold_all(simulate("overcooked", agent="agile", partner="random", load="easy", ticks=2).events), size)
    assert "partner" not in mine["planner"][0] + mine["reactor"][0]


@pytest.mark.parametrize("size", SIZES[1:])
def test_one_row_has_both_cooks_letters_and_whose_they_are(size: tuple[int, int], beside: list[ev.AnyEvent]) -> None:
    state = press(before(beside, 6, ev.Action), "R")
    assert state.answer is not None
    [row] = [row for row in shown(state, size)["left"] if " reactor B" in row]
    assert row.split()[:5] == ["R", "you", "A", state.answer.letter, "reactor"]
    # Nothing of it is cut in the middle.
    assert row.rstrip().endswith(("reactor B", "plan agrees", "as planned", "not the plan's", "off plan", "no plan line", "no plan"))


def test_without_a_key_the_row_says_what_was_applied(beside: list[ev.AnyEvent]) -> None:
    [row] = [row for row in shown(before(beside, 3, ev.Action))["left"] if " you A" in row]
    assert row.split()[:3] == ["S", "you", "A"]


def test_a_baselines_name_gives_way_to_the_letters(cut: list[ev.AnyEvent]) -> None:
    state = fold_all([event for event in cut if not isinstance(event, ev.End)])
    assert state.last is not None
    for size, words in (((80, 24), [state.last.letter, "A", "S", "default", "B"]), ((120, 40), [state.last.letter, "random", "A", "S", "default", "B"])):
        [row] = [row for row in shown(state, size)["left"] if " default B" in row]
        assert row.split()[: len(words)] == words


def test_a_cooks_letter_has_the_colour_it_has_on_the_board(beside: list[ev.AnyEvent]) -> None:
    state = press(before(beside, 6, ev.Action), "R")
    for look in (make_look("dark"), make_look("light"), make_look("ansi")):
        rows = scene(state, view_of(state), look, arrange(120, 40, 5, 5))["left"]
        row = next(row for row in rows if " reactor B" in plain(row))
        styles = {text: style for text, style in row if text in ("A", "B")}
        assert [styles[sign].bgcolor for sign in "AB"] == [look.paint("ink", role).bgcolor for role in ("player", "partner")]


@pytest.mark.parametrize("size", SIZES[1:])
def test_each_cook_has_a_row_of_letters_and_a_count_of_defaults(size: tuple[int, int], beside: list[ev.AnyEvent]) -> None:
    state = before(beside, 6, ev.Action)
    left = shown(state, size)["left"]
    mine = next(row for row in left if row.startswith(" A you"))
    theirs = next(row for row in left if row.startswith(" B agile"))
    assert mine.split()[2:] == ["!"] * 6
    assert "".join(theirs.split()[2:]) == state.history.partner_letters
    facts = next(row for row in left if row.startswith(" score"))
    assert "6+0" in facts or "A  6  B  0" in facts
    assert (len(mine) - len(mine.lstrip()), mine.index("!")) == (1, LABELS[len(mine) > 30])


def test_the_board_has_both_letters_and_hides_neither_cook(beside: list[ev.AnyEvent]) -> None:
    state = press(before(beside, 6, ev.Action), "R")
    view = view_of(state)
    assert (sign_of(view, 0), sign_of(view, 1)) == ("A", "B")
    meant = overlay(state, view)
    assert view.board is not None
    spots = {entity.role: (entity.x, entity.y) for entity in view.board.entities}
    assert state.answer is not None
    assert (meant.letter, meant.voice) == (state.answer.letter, "reactor")
    assert meant.other == ((spots["player"][0] + 1, spots["player"][1]), "R", "person")
    # An arrow that points at the other cook lies under them.
    at = meant._replace(arrow=spots["player"], letter="U", other=(spots["partner"], "U", "person"))
    for look in ("dark", "mono"):
        for cell in ((4, 2), (6, 3)):
            text = "\n".join(plain(row) for row in draw_board(view.board, make_look(look), cell, at, axes=False))
            assert text.count("A") == 1, (look, cell)
            assert text.count("B") == 1, (look, cell)
    # Where a cell has two columns a hand that holds something takes the letter's place, but never where no colour says who it is.
    holding = {entity.role for entity in view.board.entities if entity.text and entity.role in spots and entity.role != "tool"}
    assert holding == {"partner"}
    for look, signs in (("mono", "AB"), ("dark", "A")):
        small = "".join(plain(row) for row in draw_board(view.board, make_look(look), (2, 1), at, axes=False))
        assert "".join(sorted(set(small) & set("AB"))) == signs


def test_the_plan_is_held_against_where_the_second_cook_stands(beside: list[ev.AnyEvent]) -> None:
    state = before(beside, 6, ev.Action)
    assert state.stands == tuple(state.snapshot["players"][1][0])
    assert state.stands != tuple(state.snapshot["players"][0][0])
    done = fold_all(beside)
    assert done.followed + done.changed > 0
    assert done.partner_last is not None
    assert done.last is not None
    assert done.last.agrees is None


def test_a_partner_without_an_answer_is_an_alarm_and_a_line(cut: list[ev.AnyEvent]) -> None:
    state = fold_all([event for event in cut if not isinstance(event, ev.End)])
    assert (state.partner_defaults, state.defaults) == (4, 0)
    assert state.notes[-2].text.startswith("partner: default S: ")
    early = before(cut, 2, ev.Generation)
    early.tick, early.now_at = 2, 80
    rows = [plain(row) for row in meter_rows(early, view_of(early), make_look("mono"), 100)]
    assert any("no answer in time: default S" in row for row in rows)
    # Of a person's ticks without a key nobody shouts.
    lazy = before(simulate("overcooked", agent="human", partner="agile", load="easy", ticks=3).events, 2, ev.Generation)
    assert not any("no answer" in plain(row) for row in meter_rows(lazy, view_of(lazy), make_look("mono"), 100))


def test_a_person_who_is_the_partner_is_counted_and_not_complained_of() -> None:
    state = fold_all(simulate("overcooked", agent="agile", partner="human", load="easy", ticks=5).events)
    assert (state.partner_defaults, state.defaults) == (5, 0)
    assert not [note for note in state.notes if "default" in note.text]
    left = shown(state)["left"]
    assert any(row.startswith(" B you") and row.split()[2:] == ["!"] * 5 for row in left)


@pytest.mark.parametrize("width", [52, 84])
def test_the_result_counts_each_cooks_actions(width: int, beside: list[ev.AnyEvent], cut: list[ev.AnyEvent]) -> None:
    state = fold_all(beside)
    rows = [plain(row).strip(" ▌|") for row in result_card(state, view_of(state), make_look("mono"), width)]
    assert any(row.startswith("you and agile ") for row in rows)
    assert any(row.split() == ["you", "default", "8"] for row in rows)
    assert any(row.split() == ["agile", "reactor", "8"] for row in rows)
    other = fold_all(cut)
    rows = [plain(row).strip(" ▌|") for row in result_card(other, view_of(other), make_look("mono"), width)]
    assert any(row.split() == ["reactive", "default", "4"] for row in rows)


@pytest.mark.parametrize(
    ("agent", "partner", "words"),
    [
        ("human", "agile", "You are A on the board; B is agile, whose thoughts stand at the right."),
        ("human", "random", "You are A on the board; B is random."),
        ("human", "scripted", "You are A on the board."),
        ("agile", "human", "You are B on the board, the partner of agile, who is A."),
        ("human", "human", "The first one at the keyboard is A on the board, the second one is B on the board."),
    ],
)
def test_the_rules_say_which_cook_is_whose(agent: str, partner: str, words: str) -> None:
    state = fold_all(simulate("overcooked", agent=agent, partner=partner, load="easy", ticks=1).events[:2])
    for width in (80, 120):
        text = " ".join(plain(row).strip(" ▌|") for row in rules_card(state, view_of(state, people=2 if agent == partner else 1), make_look("mono"), width))
        assert words in " ".join(text.split())


def test_in_a_race_a_side_is_called_by_both(beside: list[ev.AnyEvent]) -> None:
    state = fold_all(beside)
    mine = Side(state, view_of(state))
    assert side_name(mine, 0) == "you + agile"
    assert cells(side_name(mine, 0, 8)) <= 8
    theirs = fold_all(simulate("overcooked", agent="random", partner="agile", load="easy", ticks=8).events)
    other = Side(theirs, view_of(theirs, human=(), people=1))
    assert side_name(other, 1) == "random + agile"
    card = "\n".join(plain(row) for row in match_card([mine, other], make_look("mono"), 100, 30))
    assert "you + agile" in card
    assert "random + agile" in card


def test_a_scrubbers_keyframe_keeps_what_the_partner_did(beside: list[ev.AnyEvent]) -> None:
    state = fold_all(beside)
    again = ViewState.from_map(msgspec.msgpack.decode(msgspec.msgpack.encode(state.to_map())), state.header)
    for name in ("partner_last", "partner_defaults", "history", "stands", "player", "thought"):
        assert getattr(again, name) == getattr(state, name), name
    assert (again.player, len(again.history.partner)) == (1, 8)


def test_a_header_that_names_nobody_is_shown_as_an_agents(beside: list[ev.AnyEvent]) -> None:
    for player in (-1, 2, 1 << 40):
        header = msgspec.structs.replace(beside[0], player=player)
        state = fold_all([header, *beside[1:]])
        assert state.player == 0
        shown(state)
    assert playing(None) == "the agent"
