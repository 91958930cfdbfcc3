"""Freeway's rules on hand-made states, its levels, and what is shown of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from golden_episodes import LOADS, episodes

from games import GameError, freeway, make
from games.freeway import advance, best_score, blocked, build, car_after, cars_after, lane_after, level_seed, timetable
from games.rng import Legacy

BEST = {
    "easy": [87, 89, 89, 89, 87, 88, 89, 89],
    "medium": [88, 86, 86, 84, 86, 86, 85, 84],
    "hard": [81, 81, 80, 79, 81, 81, 79, 80],
}
# Every car the levels can hold, where it starts.
CARS = [[8, 3, 0, -1 / k, k] for k in (2, 3, 4)] + [[0, 3, 0, 1 / k, k] for k in (2, 3, 4)] + [[0, 3, k - 1, k, 1] for k in (1, 2, 3, 4)]


def placed(cars: list[list[Any]], **parts: Any) -> freeway.Game:
    """A game with hand-made traffic."""
    game = make("freeway", load="easy")
    game.reset()
    game.restore({**game.snapshot(), "cars": cars, **parts})
    return game


def test_levels_are_the_recorded_ones_and_as_hard_as_documented() -> None:
    assert {(e["load"], e["seed"]): e["level_seed"] for e in episodes("freeway")} == {
        (load, seed): level_seed(LOADS[load], seed) for load, seed in {(e["load"], e["seed"]) for e in episodes("freeway")}
    }
    for load, best in BEST.items():
        assert [best_score(build(Legacy(level_seed(load, seed)))) for seed in range(8)] == best


def test_recorded_plans_reach_the_best_score() -> None:
    plans = [e for e in episodes("freeway") if e["policy"] == "plan"]
    assert plans
    for episode in plans:
        assert episode["final_reward"] == BEST[LOADS[episode["load"]]][episode["seed"]]


@pytest.mark.parametrize(("load", "base", "band"), [("easy", 1, (87, 89)), ("medium", 2, (84, 86)), ("hard", 3, (79, 81))])
def test_further_seeds_take_the_first_level_in_the_load_s_band(load: str, base: int, band: tuple[int, int]) -> None:
    for seed in (8, 9, 40, 4_294_000):
        first = 100_000 * base + 1000 * seed
        found = level_seed(load, seed)
        assert found >= first
        scores = [best_score(build(Legacy(number))) or 0 for number in range(first, found + 1)]
        assert [band[0] <= score <= band[1] for score in scores] == [False] * (found - first) + [True]


def test_best_score_gives_up_below_the_lowest() -> None:
    cars = build(Legacy(level_seed("hard", 0)))
    assert best_score(cars, 81) == 81
    assert best_score(cars, 82) is None


@pytest.mark.parametrize("car", CARS)
def test_traffic_follows_from_what_is_seen(car: list[Any]) -> None:
    """The view's rule (sums in twelfths of a cell) and the reference's rule (cells and timers) say the same for ever."""
    game = placed([car])
    start = game.observe().view
    table = timetable(start, 99)
    for turn in range(1, 99):
        seen = game.step("D").observation.view
        assert cars_after(start, turn) == seen["cars"]
        assert car_after(start["cars"][0], turn) == seen["cars"][0][1]
        x, row, _, speed, length = game.snapshot()["cars"][0]
        body = range(x, x + length) if speed < 0 else range(x - length + 1, x + 1)
        assert blocked(start, 9 - row, turn) == (4 in body) == table[turn][9 - row]
        assert not any(table[turn][lane] for lane in range(10) if lane != 9 - row)


def test_advance_foretells_recorded_turns_but_for_the_restart() -> None:
    for episode in episodes("freeway"):
        state = episode["init"]
        for step in episode["steps"]:
            new = step["s"]
            after, reached, hit = advance({"turn": state["turn"], "lane": state["player_states"], "cars": state["car_states"]}, step["a"])
            assert after["turn"] == new["turn"]
            assert hit == step["reset"]
            assert reached == ((step["done"] and new["turn"] < 100) or after["lane"] == 9)
            if not reached:
                assert after["lane"] == new["player_states"]
            if not hit or new["turn"] == 100:
                assert after["cars"] == new["car_states"]
            state = new


@pytest.mark.parametrize(("lane", "letter", "after"), [(0, "U", 1), (0, "D", 0), (5, "D", 4), (5, "S", 5), (9, "U", 9)])
def test_letters_change_lanes(lane: int, letter: str, after: int) -> None:
    assert lane_after(lane, letter) == after


def test_stepping_into_a_car_that_moves_away_is_safe_and_into_its_new_place_is_a_hit() -> None:
    leaving = placed([[4, 8, 0, 1, 1]])
    assert not leaving.step("U").reset
    coming = placed([[3, 8, 0, 1, 1]])
    result = coming.step("U")
    assert result.reset
    assert not result.done
    assert coming.snapshot()["pos"] == 9


@pytest.mark.parametrize("row", range(1, 9))
def test_a_car_hits_only_on_its_own_lane(row: int) -> None:
    for at in range(2, 10):
        assert placed([[3, row, 0, 1, 1]], pos=at).step("S").reset == (at == row)


def test_a_long_car_covers_behind_its_head() -> None:
    for x, speed, length in product(range(-4, 13), (1 / 2, 1 / 3, 1 / 4, -1 / 2, -1 / 3, -1 / 4), (2, 3, 4)):
        result = placed([[x, 4, 0, speed, length]], pos=4).step("S")
        if x < 0 or x > 8:
            head = 8 if x < 0 else 0
        else:
            head = x + round(1 / speed)
        cells = range(head, head + length) if speed < 0 else range(head - length + 1, head + 1)
        assert result.reset == (4 in cells), (x, speed, length)


def test_a_hit_restarts_the_level_and_keeps_turn_and_score() -> None:
    game = make("freeway", load="easy")
    start = game.reset()
    first = game.snapshot()
    for _ in range(3):
        game.step("U")
    result = game.step("U")
    assert result.reset
    assert (result.reward, result.score, result.observation.tick) == (-1, 96, 4)
    assert game.snapshot()["cars"] == first["cars"]
    assert result.observation.view["cars"] == start.view["cars"]
    assert result.observation.view["lane"] == 0


def test_a_hit_on_the_last_turn_restarts_nothing() -> None:
    game = placed([[3, 8, 0, 1, 1]], turn=99)
    result = game.step("U")
    assert (result.reset, result.terminated, result.truncated, result.done_reason) == (True, False, True, "cap")
    snapshot = game.snapshot()
    assert (snapshot["pos"], snapshot["cars"]) == (9, [[4, 8, 0, 1, 1]])


def test_winning_leaves_the_cars_where_they_are_and_shows_the_player_on_the_goal() -> None:
    game = placed([[3, 1, 0, 1, 1]], pos=1, turn=41)
    result = game.step("U")
    assert (result.terminated, result.truncated, result.done_reason, result.reset) == (True, False, "goal", False)
    assert game.snapshot()["cars"] == [[3, 1, 0, 1, 1]]
    player = game.board().entities[-1]
    assert (player.kind, player.x, player.y) == ("player", 4, 9)


def test_winning_on_the_last_turn_is_winning() -> None:
    result = placed([], pos=1, turn=99).step("U")
    assert (result.terminated, result.truncated, result.done_reason) == (True, False, "goal")


def test_a_second_reset_gives_the_same_level() -> None:
    game = make("freeway", load="hard", seed=2)
    assert game.reset() == game.reset()


def test_text_has_every_car_with_head_and_tail() -> None:
    game = make("freeway", load="hard", seed=1)
    seen = game.reset()
    lines = {int(line[5]): line for line in seen.text.splitlines() if line.startswith("Lane ")}
    assert sorted(lines) == list(range(1, 9))
    for lane, head, direction, speed, length in seen.view["cars"]:
        tail = head - length if direction == "right" else head + length
        assert f"({head}, {tail}, {direction}, {speed})" in lines[lane]
    assert "Turn: 0" in seen.text
    assert "(0, 0)" in seen.text
    assert "Lane 1: none" in freeway.words({"turn": 1, "lane": 2, "cars": []})


def test_rules_text_tells_wrap_around_and_restart() -> None:
    text = freeway.describe()
    for surprise in ("60 or more", "-48", "-60 or less", "48", "stand again where they stood at turn 0"):
        assert surprise in text


def test_board_gives_cars_length_facing_and_speed() -> None:
    board = placed([[8, 6, 0, -0.5, 2], [0, 3, 2, 3, 1], [9, 2, 0, 1, 1]]).board()
    cars = [(e.x, e.y, e.facing, e.length, e.text) for e in board.entities if e.kind == "car"]
    assert cars == [(8, 3, "L", 2, "2"), (0, 6, "R", 1, "1/3"), (9, 7, "R", 1, "1")]
    assert (board.columns, board.rows) == (9, 10)
    assert sum(e.kind == "kerb" for e in board.entities) == 18
    assert sum(e.kind == "lane" for e in board.entities) == 72


@pytest.mark.parametrize(
    "parts",
    [
        {"pos": 0},
        {"pos": 10},
        {"cars": [[0, 9, 0, 1, 1]]},
        {"cars": [[0, 3, 0, 0, 1]]},
        {"cars": [[0, 3, 0, -2, 1]]},
        {"cars": [[0, 3, 0, 1e-300, 1]]},
        {"cars": [[0, 3, 0, float("nan"), 1]]},
        {"cars": [[0, 3, 9, 2, 1]]},
        {"cars": [[99, 3, 0, 1, 1]]},
        {"cars": [[0, 3, 0, 1, 10**9]]},
    ],
)
def test_an_impossible_snapshot_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(GameError, match="not a snapshot of game 'freeway'"):
        placed(**{"cars": [], **parts})
