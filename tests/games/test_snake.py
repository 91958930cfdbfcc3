"""Snake's rules on hand-made states, its levels, and what is shown of it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from golden_episodes import LOADS, episodes

from games import GameError, make, snake
from games.snake import advance, moves, safe_moves


def view(**parts: Any) -> dict[str, Any]:
    """A view with one cell of snake on (3, 3) heading left and nothing else, but for what is given."""
    return {"turn": 10, "direction": "L", "snake": [[3, 3]], "foods": [], "obstacles": [], "size": 8, **parts}


def placed(**parts: Any) -> snake.Game:
    """A game in a hand-made state."""
    game = make("snake", load="easy")
    game.reset()
    game.restore({**game.snapshot(), **parts})
    return game


def test_level_is_the_recorded_one() -> None:
    for episode in episodes("snake"):
        level = snake.level(LOADS[episode["load"]], episode["seed"])
        assert [list(cell) for cell in level.obstacles] == episode["obstacles"]
        assert [list(cell) for cell in level.spawn_order] == episode["spawn_order"]


def test_loads_differ_only_in_how_many_obstacles_follow() -> None:
    for seed in (0, 31, 32, 1000, 2**31 - 1):
        easy, medium, hard = (snake.level(load, seed).obstacles for load in ("easy", "medium", "hard"))
        assert (len(easy), len(medium), len(hard)) == (1, 5, 8)
        assert hard[:5] == medium
        assert medium[:1] == easy


def test_seeds_beyond_the_reference_are_not_folded() -> None:
    assert snake.level("hard", 1000) != snake.level("hard", 0)


@pytest.mark.parametrize(("letter", "cell"), [("L", [2, 3]), ("U", [3, 4]), ("D", [3, 2]), ("R", [2, 3]), ("S", [2, 3])])
def test_letters_move_and_the_reverse_goes_straight_on_even_at_length_one(letter: str, cell: list[int]) -> None:
    after, eaten, dead = advance(view(), letter)
    assert after["snake"] == [cell]
    assert (eaten, dead, after["turn"]) == (False, False, 11)


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"snake": [[1, 3]]}, "wall"),
        ({"obstacles": [[2, 3]]}, "obstacle"),
        ({"snake": [[3, 3], [3, 2], [2, 2], [2, 3], [2, 4]]}, "body"),
        ({"snake": [[3, 3], [3, 2], [2, 2], [2, 3]], "foods": [[2, 3, 5, 1]]}, "apple on the tail"),
    ],
)
def test_what_kills(parts: dict[str, Any], why: str) -> None:
    before = view(**parts)
    after, eaten, dead = advance(before, "S")
    assert dead, why
    assert not eaten
    assert (after["snake"], after["foods"]) == (before["snake"], before["foods"]), "nothing but turn and heading changes"
    assert after["turn"] == 11


def test_the_heading_changes_even_if_the_move_kills() -> None:
    after, _, dead = advance(view(obstacles=[[3, 4]]), "U")
    assert dead
    assert after["direction"] == "U"


def test_the_tail_cell_is_safe_without_an_apple() -> None:
    after, _, dead = advance(view(snake=[[3, 3], [3, 2], [2, 2], [2, 3]]), "S")
    assert not dead
    assert after["snake"] == [[2, 3], [3, 3], [3, 2], [2, 2]]


def test_eating_grows_and_keeps_the_tail() -> None:
    after, eaten, _ = advance(view(snake=[[3, 3], [4, 3]], foods=[[2, 3, 1, 1], [5, 5, 4, 1]]), "S")
    assert eaten
    assert after["snake"] == [[2, 3], [3, 3], [4, 3]]
    assert after["foods"] == [[5, 5, 3, 1]]


def test_the_apple_behind_a_vanishing_one_does_not_age() -> None:
    foods = [[5, 1, 1, 1], [5, 2, 1, 1], [5, 3, 1, 1], [5, 4, 7, 1], [5, 5, 7, 1]]
    after, _, _ = advance(view(foods=foods), "S")
    assert after["foods"] == [[5, 2, 1, 1], [5, 4, 7, 1], [5, 5, 6, 1]]


def test_moves_leave_out_the_reverse_and_safe_moves_what_kills() -> None:
    cornered = view(snake=[[1, 1]], direction="D")
    assert moves(cornered) == ("L", "R", "D")
    assert safe_moves(cornered) == ("R",)


def test_advance_changes_nothing_it_is_given() -> None:
    before = view(snake=[[3, 3], [4, 3]], foods=[[2, 3, 4, 1], [6, 6, 1, 1]])
    kept = repr(before)
    for letter in "LRUDS":
        advance(before, letter)
    assert repr(before) == kept


def test_advance_foretells_recorded_turns_but_for_new_apples() -> None:
    for episode in episodes("snake"):
        obstacles = episode["obstacles"]
        state = episode["init"]
        for step in episode["steps"]:
            before = view(turn=state["turn"], direction=state["dir"], snake=state["snake"], foods=state["foods"], obstacles=obstacles)
            after, eaten, dead = advance(before, step["a"])
            new = step["s"]
            assert (after["turn"], after["direction"], after["snake"]) == (new["turn"], new["dir"], new["snake"])
            assert after["foods"] == new["foods"][: len(after["foods"])]
            assert len(new["foods"]) - len(after["foods"]) == (not dead and new["turn"] % 3 == 1)
            assert dead == ((step["done"] and new["turn"] < 100) or (new["turn"] == 100 and new["snake"] == state["snake"]))
            assert eaten == (len(new["snake"]) > len(state["snake"]))
            state = new


def test_dying_costs_one_point_and_ends_it_as_dead() -> None:
    game = placed(snake=[[1, 3]])
    result = game.step("S")
    assert (result.reward, result.score, result.terminated, result.truncated, result.done_reason) == (-1, -1, True, False, "dead")
    assert game.points == 0


def test_dying_on_the_last_turn_is_dying() -> None:
    result = placed(snake=[[1, 3]], turn=99).step("S")
    assert (result.terminated, result.truncated, result.done_reason) == (True, False, "dead")


def test_the_cap_ends_it_after_a_last_apple() -> None:
    game = placed(turn=99, snake=[[3, 3], [4, 3]], foods=[[2, 3, 4, 1]])
    result = game.step("S")
    assert (result.reward, result.terminated, result.truncated, result.done_reason) == (1, False, True, "cap")
    assert game.points == 1
    assert len(result.observation.view["foods"]) == 1, "turn 100 is one of those that bring an apple"


def test_view_tells_no_coming_apple() -> None:
    game = make("snake")
    assert sorted(game.reset().view) == ["direction", "foods", "obstacles", "size", "snake", "turn"]


def test_text_has_every_fact_of_the_view() -> None:
    game = make("snake", load="hard", seed=2)
    text = game.reset().text
    seen = game.observe().view
    for x, y in (*seen["obstacles"], *seen["snake"]):
        assert f"({x},{y})" in text
    for x, y, life, value in seen["foods"]:
        assert f"({x},{y}) life {life} value {value}" in text
    assert "Turn: 0" in text
    assert "Heading: L (left)" in text
    assert "x = 0, x = 7, y = 0 or y = 7" in text
    assert "Obstacles: none" in snake.words(view())
    assert "Apples, in ageing order: none" in snake.words(view())


def test_rules_text_tells_the_surprises() -> None:
    text = snake.describe()
    for surprise in ("reverse of its heading is ignored", "unless an apple lies there", "does not age", "turns 1, 4, 7"):
        assert surprise in text


def test_board_joins_the_body_and_gives_the_head_a_face() -> None:
    game = placed(snake=[[3, 3], [3, 2], [4, 2]], dir="U", foods=[[5, 5, 7, 1]])
    entities = game.board().entities
    assert [(e.kind, e.x, e.y, e.facing, e.links) for e in entities if e.role == "player"] == [
        ("body", 4, 2, "", "L"),
        ("body", 3, 2, "", "UR"),
        ("head", 3, 3, "U", "D"),
    ]
    assert [(e.x, e.y, e.text) for e in entities if e.kind == "food"] == [(5, 5, "7")]
    assert sum(e.kind == "wall" for e in entities) == 28
    assert sum(e.kind == "obstacle" for e in entities) == 1
    assert game.board().status == (("apples", "0"), ("length", "3"))


@pytest.mark.parametrize("damage", [{"snake": []}, {"snake": [[9, 3]]}, {"foods": [[0, -1, 3, 1]]}, {"idx": 99}, {"idx": -1}, {"dir": "X"}])
def test_an_impossible_snapshot_is_refused(damage: dict[str, Any]) -> None:
    with pytest.raises(GameError, match="not a snapshot of game 'snake'"):
        placed(**damage)


def test_long_random_play_never_breaks_a_rule() -> None:
    rng = random.Random(0)
    for seed in range(40, 80):
        game = make("snake", load="easy", seed=seed)
        seen = game.reset().view
        while game.done_reason is None:
            result = game.step(rng.choice(safe_moves(seen) or ("S",)))
            seen = result.observation.view
            cells = [tuple(cell) for cell in seen["snake"]]
            assert len(set(cells)) == len(cells)
            assert game.points == len(cells) - 1
            assert len({(x, y) for x, y, *_ in seen["foods"]}) == len(seen["foods"])
            assert all(1 <= life <= 10 for _, _, life, _ in seen["foods"])
