"""What every game promises, whatever its rules."""

from __future__ import annotations

import copy
import json
import pickle
import random
from itertools import pairwise
from typing import Any

import msgpack
import pytest

from games import GameError, make
from games.base import Board, Game, Observation

NAMES = ("freeway", "overcooked", "snake")
ALL = (*NAMES, "metronome")
LOADS = ("easy", "medium", "hard")


def played(name: str, load: str = "medium", seed: int = 0, steps: int = 12) -> Game:
    """A game some random turns into an episode that is not over."""
    rng = random.Random(seed)
    game = make(name, load=load, seed=seed)
    game.reset()
    while steps:
        if game.step(rng.choice(game.legal_actions)).done:
            game.reset()
        steps -= 1
    return game


def finished(name: str) -> Game:
    game = make(name, load="easy")
    game.reset()
    while not game.step(game.default_action).done:
        pass
    return game


def scrambled(value: Any) -> None:
    """Change everything that can be changed inside plain data."""
    if isinstance(value, list):
        for item in value:
            scrambled(item)
        value.append("changed")
    elif isinstance(value, dict):
        for item in value.values():
            scrambled(item)
        value["changed"] = True


def is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return value is None or type(value) in (int, float, str, bool)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("action", ["", "X", "UU", "u", "up", " U", None, 3, ["U"]])
def test_what_is_no_action_is_refused_and_changes_nothing(name: str, action: Any) -> None:
    game = played(name)
    before, seen = game.snapshot(), game.observe()
    with pytest.raises(GameError) as error:
        game.step(action)
    assert "\n" not in str(error.value)
    assert f"{action!r} is no action; give one of {', '.join(game.legal_actions)}" in str(error.value)
    assert game.snapshot() == before
    assert game.observe() == seen


def test_the_refusal_names_a_default_that_is_no_legal_action() -> None:
    with pytest.raises(GameError, match="give one of L, R, U, D, and S for the default action"):
        played("snake").step("X")


@pytest.mark.parametrize("name", ALL)
def test_nothing_but_the_rules_is_told_before_reset(name: str) -> None:
    game = make(name)
    assert game.describe()
    for method, ask in {
        "step": lambda: game.step(game.default_action),
        "observe": game.observe,
        "snapshot": game.snapshot,
        "board": game.board,
    }.items():
        with pytest.raises(GameError, match=rf"{name}: {method}\(\) before reset\(\)"):
            ask()
    assert game.reset().tick == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_finished_episode_is_not_stepped(name: str) -> None:
    game = finished(name)
    before = game.snapshot()
    with pytest.raises(GameError, match=r"the episode ended on turn \d+ \((goal|dead|cap)\); call reset\(\)"):
        game.step(game.default_action)
    assert game.snapshot() == before
    assert game.observe().view["turn"] == before["turn"], "the last observation is the real one"
    game.reset()
    game.step(game.default_action)


@pytest.mark.parametrize("name", NAMES)
def test_a_finished_game_restores_as_finished(name: str) -> None:
    game = finished(name)
    other = make(name)
    other.restore(game.snapshot())
    assert other.points == game.points
    with pytest.raises(GameError, match="the episode ended"):
        other.step(other.default_action)


@pytest.mark.parametrize("name", ALL)
def test_changing_what_a_game_gave_never_changes_the_game(name: str) -> None:
    game, twin = played(name), played(name)
    rng = random.Random(1)
    observation, snapshot = game.observe(), game.snapshot()
    for _ in range(40):
        scrambled(observation.view)
        scrambled(snapshot)
        assert game.snapshot() == twin.snapshot()
        assert game.observe() == twin.observe()
        action = rng.choice(game.legal_actions)
        result, expected = game.step(action), twin.step(action)
        assert result == expected
        observation, snapshot = result.observation, game.snapshot()
        if result.done:
            scrambled(observation.view)
            assert game.reset() == twin.reset()


@pytest.mark.parametrize("name", ALL)
def test_restoring_takes_nothing_of_the_snapshot_along(name: str) -> None:
    snapshot = played(name).snapshot()
    kept = copy.deepcopy(snapshot)
    game = make(name)
    game.restore(snapshot)
    scrambled(snapshot)
    assert game.snapshot() == kept


@pytest.mark.parametrize("name", ALL)
def test_an_observation_read_late_is_of_its_own_turn(name: str) -> None:
    game = make(name, load="easy")
    late = [game.reset()]
    early = [(late[0].tick, late[0].text, copy.deepcopy(late[0].view))]
    again = make(name, load="easy")
    late = [again.reset()]
    for _ in range(3):
        observation = game.step(game.default_action).observation
        early.append((observation.tick, observation.text, copy.deepcopy(observation.view)))
        late.append(again.step(again.default_action).observation)
    assert [(observation.tick, observation.text, observation.view) for observation in late] == early
    assert [tick for tick, *_ in early] == [0, 1, 2, 3]


def test_an_edited_view_does_not_reach_the_text() -> None:
    observation = played("snake").observe()
    observation.view["snake"].clear()
    assert observation.text == played("snake").observe().text


@pytest.mark.parametrize("name", ALL)
def test_observations_survive_pickling(name: str) -> None:
    observation = played(name).observe()
    assert pickle.loads(pickle.dumps(observation)) == observation


def test_an_observation_may_be_made_of_plain_parts() -> None:
    observation = Observation(tick=2, text="hello", view={"turn": 2})
    assert (observation.tick, observation.text, observation.view) == (2, "hello", {"turn": 2})
    assert observation != Observation(tick=2, text="hello", view={"turn": 3})


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", ALL)
def test_snapshots_and_views_are_plain_and_survive_json_and_msgpack(name: str, load: str) -> None:
    game = played(name, load=load, seed=5, steps=40)
    snapshot = game.snapshot()
    assert is_plain(snapshot)
    assert is_plain(game.observe().view)
    for carried in (json.loads(json.dumps(snapshot)), msgpack.unpackb(msgpack.packb(snapshot))):
        other = make(name)
        other.restore(carried)
        assert other.snapshot() == snapshot
        assert other.observe() == game.observe()
        assert other.board() == game.board()


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("seed", [0, 7, 8, 31, 32, 4096])
@pytest.mark.parametrize("name", NAMES)
def test_same_seed_load_and_actions_give_the_same_bytes(name: str, load: str, seed: int) -> None:
    def run(game: Game) -> bytes:
        rng = random.Random(seed)
        seen = [game.reset(seed).view]
        for _ in range(60):
            result = game.step(rng.choice(game.legal_actions))
            seen += [game.snapshot(), result.observation.view, result.observation.text, result.reward]
            if result.done:
                break
        return msgpack.packb(seen)

    used = make(name, load=load, seed=1)
    first = run(used)
    assert run(used) == first, "a second reset gives the same level"
    assert run(make(name, load=load, seed=seed)) == first


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "damage",
    [
        lambda s: None,
        lambda s: [],
        lambda s: {},
        lambda s: {key: value for key, value in s.items() if key != "rest"},
        lambda s: {**s, "rest": None},
        lambda s: {**s, "turn": "soon"},
        lambda s: {**s, "turn": -1},
        lambda s: {**s, "turn": -(1 << 63)},
        lambda s: {**s, "turn": (1 << 63) - 1},
        lambda s: {**s, "rest": {**s["rest"], "game": "chess"}},
        lambda s: {**s, "rest": {**s["rest"], "load": "E"}},
        lambda s: {**s, "rest": {**s["rest"], "seed": -1}},
        lambda s: {**s, "rest": {**s["rest"], "score": None}},
        lambda s: {**s, "rest": {**s["rest"], "score": (1 << 64) - 1}},
        lambda s: {**s, "rest": {**s["rest"], "done_reason": "bored"}},
    ],
)
def test_what_is_no_snapshot_is_refused_and_changes_nothing(name: str, damage: Any) -> None:
    game = played(name)
    before = game.snapshot()
    with pytest.raises(GameError) as error:
        game.restore(damage(played(name, seed=3).snapshot()))
    assert "\n" not in str(error.value)
    assert game.snapshot() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_of_another_game_is_named(name: str) -> None:
    for other in NAMES:
        if other != name:
            with pytest.raises(GameError, match=f"snapshot is of game '{other}', expected '{name}'"):
                make(name).restore(played(other).snapshot())


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", ALL)
def test_the_board_draws_one_cell_glyphs_and_one_look_a_kind(name: str, load: str) -> None:
    game = played(name, load=load, seed=2, steps=30)
    board: Board = game.board()
    looks: dict[tuple[str, str], str] = {}
    for entity in board.entities:
        assert len(entity.glyph) == len(entity.ascii) == 1
        assert entity.ascii.isascii()
        assert entity.facing in ("", "U", "D", "L", "R")
        assert set(entity.links) <= set("UDLR")
        kind = looks.setdefault((entity.glyph, entity.facing), entity.kind)
        assert kind == entity.kind, f"{entity.glyph!r} stands for both {kind} and {entity.kind}"
        if entity.kind != "car":
            assert 0 <= entity.x < board.columns
            assert 0 <= entity.y < board.rows
    assert all(is_plain(list(pair)) for pair in board.status)


@pytest.mark.parametrize("name", NAMES)
def test_the_normalised_score_is_clipped_and_full_at_the_named_points(name: str) -> None:
    spec = make(name).spec
    assert spec.points_max == {"freeway": 89, "snake": 24, "overcooked": 3}[name]
    assert [spec.normalise(p) for p in (-1, 0, spec.points_max / 2, spec.points_max, 1000)] == [0, 0, 0.5, 1, 1]


def test_the_metronome_never_ends() -> None:
    game = make("metronome")
    game.reset()
    assert game.spec.max_ticks is None
    columns = []
    for _ in range(1000):
        result = game.step("B")
        assert not result.done
        columns.append(result.observation.view["column"])
    assert set(columns) == set(range(9))
    assert all(abs(a - b) == 1 for a, b in pairwise(columns))
