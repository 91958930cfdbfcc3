"""Overcooked's rules on hand-made states, most of all those no recorded episode shows, and what is shown of it."""

from __future__ import annotations

from typing import Any

import pytest
from golden_episodes import episodes

from games import GameError, make, overcooked
from games.overcooked import advance, routes
from games.overcooked.kitchen import KITCHENS

EASY = ["XPXPX", "X   X", "D   S", "X   X", "XOXOX"]
LETTER = {(0, 1): "U", (0, -1): "D", (-1, 0): "L", (1, 0): "R"}
VECTOR = {letter: list(vector) for vector, letter in LETTER.items()}


def view(
    alice: tuple[Any, ...], bob: tuple[Any, ...], objects: list[Any] | None = None, terrain: list[str] | None = None
) -> dict[str, Any]:
    """A view of the easy kitchen; a cook is (cell, facing) or (cell, facing, what is held)."""
    return {
        "turn": 10,
        "you": 0,
        "terrain": terrain or EASY,
        "players": [cook(*alice), cook(*bob)],
        "objects": objects or [],
        "history": ["SSSSS", "U"],
        "orders_delivered": 0,
        "cook_time": 5,
        "onions_per_soup": 3,
        "soup_value": 20,
    }


def cook(cell: list[int], facing: str, held: str | None = None) -> list[Any]:
    thing = None if held is None else soup(cell, 5) if held == "soup" else [held, cell]
    return [cell, facing, thing]


def soup(cell: list[int], tick: int, onions: int = 3) -> list[Any]:
    state = "idle" if tick < 0 else "cooking" if tick < 5 else "ready"
    return ["soup", cell, ["onion"] * onions, tick, state, 5 if tick >= 0 else -1]


# Bob in a corner where he is in nobody's way.
BOB = ([3, 3], "U")


def placed(load: str = "easy", **parts: Any) -> overcooked.Game:
    game = make("overcooked", load=load)
    game.reset()
    game.restore({**game.snapshot(), **parts})
    return game


# Interactions


@pytest.mark.parametrize(("at", "facing", "thing"), [([1, 3], "U", "onion"), ([1, 2], "L", "dish")])
def test_dispensers_fill_empty_hands_only(at: list[int], facing: str, thing: str) -> None:
    after, _, _ = advance(view((at, facing), BOB), "I", "S")
    assert after["players"][0] == [at, facing, [thing, at]]
    for held in ("onion", "dish", "soup"):
        before = view((at, facing, held), BOB)
        assert advance(before, "I", "S")[0]["players"][0] == before["players"][0]


@pytest.mark.parametrize("thing", ["onion", "dish", "soup"])
def test_a_counter_takes_and_gives_anything_once(thing: str) -> None:
    before = view(([1, 1], "L", thing), BOB)
    down, _, _ = advance(before, "I", "S")
    assert down["players"][0][2] is None
    assert down["objects"][0][:2] == [thing, [0, 1]]
    up, soups, bonus = advance(down, "I", "S")
    assert up["objects"] == []
    assert up["players"][0][2] == before["players"][0][2]
    assert (soups, bonus) == (0, 0), "only lifting out of a pot earns the bonus"
    full = view(([1, 1], "L", thing), BOB, [["onion", [0, 1]]])
    assert advance(full, "I", "S")[0]["players"] == full["players"]


def test_third_onion_starts_the_cooking_and_the_soup_is_ready_four_turns_later() -> None:
    state = view(([1, 1], "D", "onion"), BOB, [soup([1, 0], -1, 2)])
    shown = []
    for _ in range(6):
        state, _, _ = advance(state, "I", "S")
        shown.append(tuple(state["objects"][0][3:]))
    assert shown == [(1, "cooking", 5), (2, "cooking", 5), (3, "cooking", 5), (4, "cooking", 5), (5, "ready", 5), (5, "ready", 5)]


def test_first_and_second_onion_start_nothing() -> None:
    state = view(([1, 1], "D", "onion"), BOB)
    state, _, _ = advance(state, "I", "S")
    assert state["objects"] == [soup([1, 0], -1, 1)]
    state["players"][0][2] = ["onion", [1, 1]]
    state, _, _ = advance(state, "I", "S")
    assert state["objects"] == [soup([1, 0], -1, 2)]


@pytest.mark.parametrize("held", ["onion", "dish", "soup", None])
@pytest.mark.parametrize("there", [(-1, 2), (0, 3), (3, 3), (4, 3), (5, 3)])
def test_what_a_pot_does(held: str | None, there: tuple[int, int]) -> None:
    before = view(([1, 1], "D", held), BOB, [soup([1, 0], *there)])
    after, soups, bonus = advance(before, "I", "S")
    hands = after["players"][0][2]
    if held == "dish" and there[0] == 5:
        assert (hands, after["objects"], bonus) == (soup([1, 1], 5), [], 5)
    elif held == "onion" and there[1] == 2:
        assert (hands, after["objects"]) == (None, [soup([1, 0], 1)])
    else:
        assert hands == before["players"][0][2], "a dish at a cooking pot, empty hands and all else do nothing"
        assert bonus == 0
        assert len(after["objects"][0][2]) == there[1]
    assert soups == 0


@pytest.mark.parametrize("held", ["onion", "dish", "soup", None])
def test_only_soup_is_served(held: str | None) -> None:
    before = view(([3, 2], "R", held), ([1, 1], "U"))
    after, soups, bonus = advance(before, "I", "S")
    assert (soups, bonus) == ((1, 0) if held == "soup" else (0, 0))
    assert after["orders_delivered"] == soups
    assert after["players"][0][2] == (None if held == "soup" else before["players"][0][2])


def test_there_is_no_hand_over_across_the_floor() -> None:
    before = view(([1, 2], "R", "onion"), ([2, 2], "L"))
    assert advance(before, "I", "I")[0]["players"] == before["players"]


def test_alice_acts_first_and_bob_takes_what_she_just_put_down() -> None:
    hall = ["XXXXX", "  X  ", "XXXXX"]
    after, _, _ = advance(view(([1, 1], "R", "onion"), ([3, 1], "L"), terrain=hall), "I", "I")
    assert after["objects"] == []
    assert [player[2] for player in after["players"]] == [None, ["onion", [3, 1]]]


# Reward


@pytest.mark.parametrize(
    ("objects", "bob_holds", "bonus"),
    [
        ([], None, 0),
        ([soup([1, 0], -1, 1)], None, 3),
        ([soup([1, 0], 2)], None, 3),
        ([soup([1, 0], 5)], None, 3),
        ([soup([1, 0], 5)], "dish", 0),
        ([soup([1, 0], 5), soup([3, 0], -1, 1)], "dish", 3),
        ([soup([1, 0], 5)], "onion", 3),
        ([soup([1, 0], 5)], "soup", 3),
        ([soup([1, 0], 5), ["dish", [0, 4]]], None, 0),
        ([soup([1, 0], 5), soup([3, 0], 5), ["dish", [0, 4]]], None, 0),
        ([soup([1, 0], 5), ["onion", [0, 4]]], None, 3),
        ([soup([0, 4], 5)], None, 0),
    ],
)
def test_a_dish_earns_its_bonus_only_while_it_is_useful(objects: list[Any], bob_holds: str | None, bonus: int) -> None:
    after, _, earned = advance(view(([1, 2], "L"), ([3, 3], "U", bob_holds), objects), "I", "S")
    assert after["players"][0][2] == ["dish", [1, 2]]
    assert earned == bonus


def test_bob_putting_his_dish_down_in_the_same_turn_counts_as_holding_it() -> None:
    _, _, earned = advance(view(([1, 2], "L"), ([3, 3], "R", "dish"), [soup([1, 0], 5)]), "I", "I")
    assert earned == 0


def test_a_dish_taken_from_a_counter_earns_nothing() -> None:
    _, _, earned = advance(view(([1, 1], "L"), BOB, [soup([1, 0], 5), ["dish", [0, 1]]]), "I", "S")
    assert earned == 0


def test_bonuses_are_alice_s_alone_and_deliveries_are_everyone_s() -> None:
    assert advance(view(([3, 3], "U"), ([1, 2], "L"), [soup([1, 0], 5)]), "S", "I")[2] == 0
    assert advance(view(([3, 3], "U"), ([1, 1], "D", "dish"), [soup([1, 0], 5)]), "S", "I")[2] == 0
    after, soups, bonus = advance(view(([3, 3], "U"), ([3, 2], "R", "soup")), "S", "I")
    assert (soups, bonus, after["orders_delivered"]) == (1, 0, 1)


def test_a_soup_made_alone_is_worth_28() -> None:
    game = placed(players=[[[1, 2], [-1, 0], None], [[3, 3], [0, 1], None]], objects=[soup([1, 0], 5)])
    rewards = [game.step(letter, partner="S").reward for letter in ("I", "D", "D", "I", "U", "R", "R", "R", "I")]
    assert rewards == [3, 0, 0, 5, 0, 0, 0, 0, 20]
    assert game.points == 1
    assert all(type(reward) is float for reward in rewards)


# Movement


def test_walking_against_anything_only_turns() -> None:
    after, _, _ = advance(view(([1, 1], "U"), BOB), "L", "U")
    assert [player[:2] for player in after["players"]] == [[[1, 1], "L"], [[3, 3], "U"]]


@pytest.mark.parametrize(
    ("alice", "bob", "letters", "cells"),
    [
        (([1, 2], "U"), ([3, 2], "U"), "RL", [[1, 2], [3, 2]]),  # one cell for both
        (([1, 2], "U"), ([2, 2], "U"), "RL", [[1, 2], [2, 2]]),  # swap
        (([1, 2], "U"), ([2, 2], "U"), "RR", [[2, 2], [3, 2]]),  # into the cell just left
        (([2, 2], "U"), ([1, 2], "U"), "RR", [[3, 2], [2, 2]]),
        (([1, 2], "U"), ([2, 2], "U"), "RS", [[1, 2], [2, 2]]),  # into one who stays
        (([2, 2], "U"), ([3, 2], "U"), "RR", [[2, 2], [3, 2]]),  # into one who is blocked
    ],
)
def test_cooks_never_share_or_swap_cells(alice: Any, bob: Any, letters: str, cells: list[list[int]]) -> None:
    after, _, _ = advance(view(alice, bob), *letters)
    assert [player[0] for player in after["players"]] == cells
    assert [player[1] for player in after["players"]] == [letters[0], letters[1].replace("S", "U")]
    mirrored, _, _ = advance(view(bob, alice), letters[1], letters[0])
    assert mirrored["players"] == after["players"][::-1], "the order of the cooks makes no difference"


def test_held_things_go_with_their_holder() -> None:
    after, _, _ = advance(view(([1, 2], "R", "soup"), ([3, 3], "D", "dish")), "R", "D")
    assert after["players"][0][2] == soup([2, 2], 5)
    assert after["players"][1][2] == ["dish", [3, 2]]


def test_history_keeps_the_last_five() -> None:
    after, _, _ = advance(view(([1, 2], "R"), BOB), "R", "D")
    assert after["history"] == ["SSSSR", "UD"]


def test_advance_changes_nothing_it_is_given() -> None:
    before = view(([1, 1], "D", "onion"), ([3, 1], "D", "dish"), [soup([1, 0], -1, 2), soup([3, 0], 5), ["dish", [0, 1]]])
    kept = repr(before)
    for alice in "UDLRIS":
        for bob in "UDLRIS":
            advance(before, alice, bob)
    assert repr(before) == kept


def as_view(state: dict[str, Any], terrain: list[str]) -> dict[str, Any]:
    made = view(([1, 1], "D"), BOB, state["objects"], terrain)
    players = [[cell, LETTER[tuple(vector)], held] for cell, vector, held in state["players"]]
    return {**made, "turn": state["turn"], "players": players, "history": state["history"]}


def test_advance_foretells_recorded_turns_given_both_letters() -> None:
    for episode in episodes("overcooked"):
        state, score = episode["init"], 0.0
        for step in episode["steps"]:
            after, soups, bonus = advance(as_view(state, episode["terrain"]), step["a0"], step["pa"])
            expected = as_view(step["s"], episode["terrain"])
            assert {**after, "orders_delivered": 0} == expected
            assert 20 * soups + bonus == step["r"] - score
            state, score = step["s"], step["r"]


# Ways and the partner


def test_right_is_looked_at_before_left() -> None:
    """Among equally short ways the first found wins; only this corner of the easy kitchen tells right from left."""
    kitchen = KITCHENS["easy"]
    assert routes(kitchen.terrain, (2, 1), (2, 2)).first[(2, 3)] == "R"
    assert routes(kitchen.terrain, (2, 3), (2, 2)).first[(2, 1)] == "R"
    assert routes(kitchen.terrain, (2, 2)).first[(1, 1)] == "D", "down before left"
    assert routes(kitchen.terrain, (2, 2)).first[(3, 3)] == "U", "up before right"


@pytest.mark.parametrize(("bob", "goal"), [([2, 1], [2, 4]), ([2, 3], [2, 0])])
def test_bob_goes_right_around_alice_in_the_middle(bob: list[int], goal: list[int]) -> None:
    game = placed(
        players=[[[2, 2], [0, -1], None], [bob, [1, 0], ["onion", bob]]],
        partner={"stage": 2, "stuck": 0, "last_pos": [1, 1], "obj_goal": None, "put_goal": goal},
    )
    assert game.step("S").observation.view["history"][1] == "R"


def test_ways_end_at_what_is_not_floor_and_go_around_the_other_cook() -> None:
    ways = routes(EASY, (1, 1), (1, 2))
    assert ways.distance[(1, 1)] == 0
    assert ways.first[(1, 1)] == ""
    assert ways.distance[(1, 0)] == 1
    assert ways.distance[(1, 3)] == 4
    assert (1, 2) not in ways.first
    assert ways.floor == ((1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (1, 3), (2, 3), (3, 3))


@pytest.mark.parametrize("load", ["easy", "medium", "hard"])
def test_the_reference_s_seeds_are_one_game_and_later_ones_differ(load: str) -> None:
    def played(seed: int) -> list[str]:
        game = make("overcooked", load=load, seed=seed)
        game.reset()
        for _ in range(99):
            game.step("S")
        return [game.snapshot()["rest"]["draws"], game.step("S").observation.view]

    assert played(0) == played(3) == played(7)
    assert len({repr(played(seed)) for seed in range(8, 16)}) > 1
    assert played(9) == played(9)


def test_seed_42_draws_as_the_reference_does() -> None:
    runs = []
    for seed in (0, 42):
        game = make("overcooked", load="easy", seed=seed)
        game.reset()
        runs.append([game.step("U").observation.view for _ in range(100)])
    assert runs[0] == runs[1]


def test_draws_count_both_generators() -> None:
    game = make("overcooked", load="easy")
    game.reset()
    assert game.snapshot()["rest"]["draws"] == [4, 0], "two doubles are drawn before the first turn"
    game.step("S")
    assert game.snapshot()["rest"]["draws"][1] > 0


def test_bob_may_be_played_by_somebody_else() -> None:
    game = make("overcooked", load="easy")
    game.reset()
    before = game.snapshot()
    after = game.step("S", partner="L").observation.view
    assert after["players"][1][:2] == [[1, 1], "L"]
    assert after["history"] == ["S", "L"]
    snapshot = game.snapshot()
    assert (snapshot["partner"], snapshot["rest"]["draws"]) == (before["partner"], before["rest"]["draws"])
    with pytest.raises(GameError, match="'X' is no action"):
        game.step("S", partner="X")
    assert game.snapshot() == snapshot


# What is shown


def test_each_cook_is_told_who_they_are_and_nothing_of_the_script() -> None:
    game = make("overcooked")
    seen = game.reset()
    assert "You are Alice." in seen.text
    assert "You are Bob." in game.observe(player=1).text
    assert (seen.view["you"], game.observe(player=1).view["you"]) == (0, 1)
    assert sorted(seen.view) == sorted(view(([1, 1], "D"), BOB))


def test_text_has_every_fact_of_the_view() -> None:
    state = view(
        ([1, 2], "L", "soup"),
        ([3, 3], "U", "dish"),
        [["onion", [0, 1]], soup([1, 0], -1, 2), soup([3, 0], 3), soup([4, 4], 5), ["dish", [2, 0]]],
    )
    text = overcooked.words({**state, "orders_delivered": 2, "history": ["UDL", ""]})
    for fact in (
        "Turn: 10",
        "Counters: (0,0) (2,0) (4,0) (0,1) (4,1) (0,3) (4,3) (0,4) (2,4) (4,4)",
        "Pots: (1,0) (3,0)",
        "Onion dispensers: (1,4) (3,4)",
        "Tomato dispensers: none",
        "Dish dispensers: (0,2)",
        "Serving counters: (4,2)",
        "3 onions, worth 20 points, cooked for 5 turns",
        "delivered so far: 2",
        "Alice (you): at (1,2), facing L (left), holding a soup of 3 onions; last actions, oldest first: U D L",
        "Bob: at (3,3), facing U (up), holding a dish; last actions, oldest first: none",
        "(0,1) an onion",
        "(2,0) a dish",
        "(4,4) a soup of 3 onions",
        "(1,0) 2 onions, not cooking, needs 1 more",
        "(3,0) 3 onions, cooked for 3 turns, ready after 2 more",
    ):
        assert fact in text
    assert "soup ready" in overcooked.words(view(([1, 1], "D"), BOB, [soup([1, 0], 5)]))


def test_board_tells_pots_hands_and_facings() -> None:
    bob_soup = soup([3, 3], 5)
    game = placed(
        players=[[[1, 2], [-1, 0], ["onion", [1, 2]]], [[3, 3], [0, 1], bob_soup]],
        objects=[soup([1, 0], -1, 2), soup([3, 0], 3), ["dish", [0, 1]]],
    )
    board = game.board()
    assert (board.columns, board.rows) == (5, 5)
    assert [(e.x, e.y, e.text) for e in board.entities if e.kind == "pot"] == [(1, 0, "oo"), (3, 0, "3/5")]
    assert [(e.x, e.y) for e in board.entities if e.kind == "dish"] == [(0, 1)]
    assert [(e.kind, e.x, e.y, e.facing, e.text) for e in board.entities[-2:]] == [
        ("partner", 3, 3, "U", "soup"),
        ("player", 1, 2, "L", "onion"),
    ]
    assert placed(objects=[soup([1, 0], 5)]).board().entities[1].text == "done"


@pytest.mark.parametrize(
    "parts",
    [
        {"players": [[[0, 0], [0, 1], None], [[3, 3], [0, 1], None]]},
        {"players": [[[3, 3], [0, 1], None], [[3, 3], [0, 1], None]]},
        {"players": [[[1, 1], [1, 1], None], [[3, 3], [0, 1], None]]},
        {"players": [[[1, 1], [0, 1], ["knife", [1, 1]]], [[3, 3], [0, 1], None]]},
        {"players": [[[99, 1], [0, 1], None], [[3, 3], [0, 1], None]]},
        {"objects": [["onion", [1, 1]]]},
        {"objects": [["onion", [1, 0]]]},
        {"objects": [["onion", [0, 0]], ["dish", [0, 0]]]},
        {"objects": [["soup", [1, 0], ["tomato"], -1, "idle", -1]]},
        {"objects": [["soup", [1, 0], ["onion"], 2, "cooking", 5]]},
        {"objects": [["soup", [1, 0], ["onion"] * 3, 99, "cooking", 5]]},
        {"objects": ["onion"]},
        {"partner": {"stage": 3, "stuck": 0, "last_pos": [1, 1], "obj_goal": None, "put_goal": None}},
    ],
)
def test_an_impossible_snapshot_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(GameError, match="not a snapshot of game 'overcooked'"):
        placed(**parts)
