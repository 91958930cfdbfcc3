"""Traps other people's games fell into, one recorded case each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from golden_episodes import DATA, LOADS, letter

from games import make, overcooked
from games.base import Game


def case(name: str) -> dict[str, Any]:
    return json.loads((DATA / "cases" / name / "case.json").read_text())


def seen(game: Game, name: str, reset: bool) -> dict[str, Any]:
    """What a case records of a state."""
    snapshot = game.snapshot()
    if name == "freeway":
        return {"pos": snapshot["pos"], "collided": reset}
    return {"head": snapshot["snake"][0], "len": len(snapshot["snake"]), "dir": snapshot["dir"], "food": snapshot["foods"]}


@pytest.mark.parametrize("name", ["G01", "G03", "G05", "G07"])
def test_recorded_trace_is_played_exactly(name: str) -> None:
    given = case(name)
    game = make(given["game"], load=LOADS[given["level"]], seed=given["seed"])
    game.reset()
    assert given["reference_trace"]
    for expected in given["reference_trace"]:
        result = game.step(letter(given, expected["a"]))
        found = {"a": expected["a"], "turn": result.observation.tick, "score": result.score, "done": result.done}
        assert {**found, **seen(game, given["game"], result.reset)} == expected


def test_cooking_starts_by_itself_and_the_rules_say_so() -> None:
    expected = case("G08")["expected"]
    text = make("overcooked", load="easy").describe()
    assert "cooking starts by itself" in text
    assert f"takes {expected['cook_turns']} turns" in text
    assert "Empty-handed, nothing happens" in text


@pytest.mark.parametrize("row", case("G09")["rows"], ids=lambda row: row["result"])
def test_cooks_who_meet_stay_and_turn(row: dict[str, Any]) -> None:
    terrain = ["X   X", "X   X", "X   X"]
    cells, targets = [row["p1"], row["p2"]], [row["p1_to"], row["p2_to"]]
    by_step = {(0, 1): "U", (0, -1): "D", (-1, 0): "L", (1, 0): "R"}
    letters = [by_step[to[0] - at[0], to[1] - at[1]] for at, to in zip(cells, targets)]
    game = make("overcooked")
    game.reset()
    view = {**game.observe().view, "terrain": terrain, "players": [[cell, "D", None] for cell in cells]}
    for order in (slice(None), slice(None, None, -1)):
        given = {**view, "players": view["players"][order]}
        after, _, _ = overcooked.advance(given, *letters[order])
        expected = targets if row["result"] == "both move" else cells
        assert [player[0] for player in after["players"]] == expected[order]
        assert [player[1] for player in after["players"]] == letters[order], "facing changes even when the move is blocked"


@pytest.mark.parametrize("name", ["freeway", "overcooked", "snake"])
def test_up_is_one_row_up_on_the_screen_and_y_plus_one_for_thinkers(name: str) -> None:
    assert name in {row.get("game") for row in case("G11")["rows"]}

    def where(game: Game) -> tuple[int, int]:
        return next((e.x, e.y) for e in reversed(game.board().entities) if e.kind in ("head", "player"))

    game = make(name, load="easy", seed=0)
    game.reset()
    if name == "overcooked":
        game.step("D", partner="L")
    x, y = where(game)
    view = (game.step("U", partner="S") if name == "overcooked" else game.step("U")).observation.view
    assert where(game) == (x, y + 1)
    told = {"snake": lambda: view["snake"][0], "freeway": lambda: [4, view["lane"]], "overcooked": lambda: view["players"][0][0]}[name]()
    assert tuple(told) == (x, y + 1)
    assert dict(game.spec.letters)["U"] == "up"
