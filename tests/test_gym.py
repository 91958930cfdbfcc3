"""The games as standard environments: the checkers of Gymnasium and PettingZoo pass, and arrays say what the views say."""

# ruff: noqa: E402, because what follows can only be imported where the extra is installed.
from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("pettingzoo")

import numpy as np
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

import games
import rtdesk.gym
from games import GameError
from rtdesk.gym import IDS, Deadline, GameEnv, parallel_env
from workers.errors import ConfigError

LOADS = ("easy", "medium", "hard")


class ManualClock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", IDS)
def test_gymnasiums_own_checker_passes_without_a_warning(name: str, load: str, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name, load=load).unwrapped)
        check_env(gymnasium.make(name, load=load, observation="text").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("load", LOADS)
def test_pettingzoos_own_tests_pass_without_a_warning(load: str, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(parallel_env(load=load), num_cycles=120)
        parallel_seed_test(lambda: parallel_env(load=load), num_cycles=60)


def test_the_module_in_the_id_registers_by_itself() -> None:
    env = gymnasium.make("rtdesk.gym:rtdesk/Snake-v1")
    assert isinstance(env.unwrapped, GameEnv)
    rtdesk.gym.register()


@pytest.mark.parametrize("name", IDS)
def test_a_seed_is_the_level_the_desk_plays(name: str) -> None:
    env = gymnasium.make(name, load="hard")
    _, info = env.reset(seed=5)
    game = games.make(IDS[name], load="hard", seed=5)
    assert info["view"] == game.reset().view
    rng = np.random.default_rng(1)
    done = False
    while not done:
        action = int(rng.integers(env.action_space.n))
        seen, reward, terminated, truncated, info = env.step(action)
        result = game.step(game.legal_actions[action])
        assert (info["view"], info["text"]) == (result.observation.view, result.observation.text)
        assert (reward, terminated, truncated, info["reset"]) == (result.reward, result.terminated, result.truncated, result.reset)
        assert info["score"] == game.spec.normalise(game.points)
        assert seen in env.observation_space
        done = result.done
    assert info["done_reason"] == result.done_reason


def test_every_reset_without_a_seed_is_another_level_and_the_same_ones_again() -> None:
    env = gymnasium.make("rtdesk/Snake-v1")
    rows = []
    for _ in range(2):
        env.reset(seed=1)
        rows.append([env.reset()[1]["seed"] for _ in range(5)])
    assert rows[0] == rows[1]
    assert len(set(rows[0])) == 5
    # A seed the game does not have, as training libraries draw them, is a level of its own.
    assert env.reset(seed=2**40)[1]["seed"] == env.reset(seed=2**40)[1]["seed"] <= 2**31 - 1


def test_snakes_arrays_say_what_the_view_says() -> None:
    env = gymnasium.make("rtdesk/Snake-v1", load="hard")
    rng = np.random.default_rng(4)
    for seed in range(8):
        seen, info = env.reset(seed=seed)
        done = False
        while not done:
            view, grid = info["view"], seen["grid"]
            size = view["size"]
            at = {tuple(cell): place for place, cell in enumerate(view["snake"], 1)}
            apples = {(x, y): (life, place) for place, (x, y, life, _) in enumerate(view["foods"], 1)}
            for y in range(size):
                for x in range(size):
                    edge = x in (0, size - 1) or y in (0, size - 1)
                    blocked = 1 if edge else 2 * ([x, y] in view["obstacles"])
                    assert tuple(grid[:, y, x]) == (blocked, at.get((x, y), 0), *apples.get((x, y), (0, 0)))
            assert "LRUD"[seen["heading"]] == view["direction"]
            assert seen["turn"] == view["turn"]
            seen, _, terminated, truncated, info = env.step(int(rng.integers(4)))
            done = terminated or truncated


def test_freeways_arrays_say_what_the_view_says() -> None:
    env = gymnasium.make("rtdesk/Freeway-v1", load="hard")
    for seed in range(8):
        seen, info = env.reset(seed=seed)
        for _ in range(60):
            view = info["view"]
            cars = [[lane, head, "right" if way == 1 else "left", speed, length] for lane, head, way, speed, length in seen["cars"].tolist() if lane]
            assert cars == view["cars"]
            assert (seen["lane"], seen["turn"]) == (view["lane"], view["turn"])
            seen, _, _, _, info = env.step(2)
            assert seen in env.observation_space


def kitchen_of(seen: dict[str, Any], player: int) -> dict[str, Any]:
    """What the arrays say, in the words of a view."""
    names = (None, "onion", "dish", "soup")
    rows, columns = seen["grid"].shape[1:]
    cells = [(x, y) for y in range(rows) for x in range(columns)]
    order = (player, 1 - player)
    return {
        "terrain": ["".join(" XPODST"[kind] for kind in row) for row in seen["grid"][0]],
        "objects": {
            (x, y): (names[seen["grid"][1, y, x]], int(seen["grid"][2, y, x]), int(seen["grid"][3, y, x])) for x, y in cells if seen["grid"][1, y, x]
        },
        "players": [([int(x), int(y)], "LRUD"[facing], names[held]) for x, y, facing, held in (seen["cooks"][row] for row in order)],
        "history": ["".join("UDLRIS"[code - 1] for code in seen["history"][row] if code) for row in order],
        "soups": int(seen["soups"]),
    }


def words_of(view: dict[str, Any]) -> dict[str, Any]:
    return {
        "terrain": view["terrain"],
        "objects": {
            tuple(thing[1]): (thing[0], len(thing[2]) if thing[0] == "soup" else 0, thing[3] + 1 if thing[0] == "soup" else 0) for thing in view["objects"]
        },
        "players": [(cell, facing, held and held[0]) for cell, facing, held in view["players"]],
        "history": view["history"],
        "soups": view["orders_delivered"],
    }


@pytest.mark.parametrize("load", LOADS)
def test_overcookeds_arrays_say_what_each_cook_sees(load: str) -> None:
    env = parallel_env(load=load)
    rng = np.random.default_rng(2)
    things = set()
    for _ in range(10):
        seen, infos = env.reset(seed=0)
        while env.agents:
            for player, agent in enumerate(env.possible_agents):
                assert kitchen_of(seen[agent], player) == words_of(infos[agent]["view"])
                assert infos[agent]["view"]["you"] == player
                assert seen[agent] in env.observation_space(agent)
                things |= {thing[0] for thing in infos[agent]["view"]["objects"]}
            # Interacting often, so that the kitchen fills.
            seen, _, _, truncations, infos = env.step({agent: int(rng.choice([0, 1, 2, 3, 4, 4, 4])) for agent in env.agents})
        assert truncations == {"alice": True, "bob": True}
    # In the larger kitchens nobody makes a soup by chance.
    assert things >= ({"onion", "soup"} if load == "easy" else {"onion"})


def test_both_cooks_get_the_whole_reward_and_a_silent_one_stays() -> None:
    env = parallel_env(load="easy")
    env.reset(seed=0)
    game = games.make("overcooked", "easy")
    game.reset()
    for letter in "LULURIDI":
        _, rewards, _, _, infos = env.step({"alice": "UDLRIS".index(letter)})
        result = game.step(letter, partner="S")  # type: ignore[call-arg]
        assert rewards == {"alice": result.reward, "bob": result.reward}
        assert infos["alice"]["view"] == result.observation.view
    with pytest.raises(GameError, match="99 is no action for bob"):
        env.step({"alice": 0, "bob": 99})
    assert env.game.observe() == game.observe()


def test_none_is_the_default_action_and_anything_else_unknown_is_an_error() -> None:
    env = gymnasium.make("rtdesk/Freeway-v1")
    env.reset(seed=0)
    assert env.step(None)[4]["view"]["lane"] == 1
    with pytest.raises(gymnasium.error.InvalidAction, match="3 is no action; give 0 to 2"):
        env.step(3)
    bare = GameEnv("snake")
    with pytest.raises(GameError, match="before reset"):
        bare.step(0)
    bare.reset(seed=0)
    for _ in range(100):
        if bare.step(None)[2]:
            break
    with pytest.raises(GameError, match="the episode ended"):
        bare.step(0)


def test_a_game_of_yours_is_an_environment_of_text(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "add-your-own.md").read_text(encoding="utf-8")
    mine = tmp_path / "corridor.py"
    mine.write_text(text.split("<!-- file: corridor.py -->\n```python\n")[1].split("```")[0], encoding="utf-8")
    env = gymnasium.make("rtdesk/Game-v1", game=str(mine))
    seen, _ = env.reset(seed=1)
    assert seen == "Turn 0. You stand on cell 0. Turns to the gust: 2."
    assert env.step(1)[1] == 1
    with pytest.raises(ConfigError, match="make it with observation='text'"):
        GameEnv(str(mine))


def test_ansi_is_the_board_and_human_draws_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    env = gymnasium.make("rtdesk/Overcooked-v1", load="easy", render_mode="ansi")
    env.reset(seed=0)
    drawn = env.render()
    assert drawn.splitlines()[0].startswith("Overcooked, turn 0   soups 0")
    assert [line.split() for line in drawn.splitlines()[1:]] == [
        ["▒", "O", "▒", "O", "▒"],
        ["▒", "·", "A", "·", "▒"],
        ["D", "·", "·", "·", "S"],
        ["▒", "·", "B", "·", "▒"],
        ["▒", "P", "▒", "P", "▒"],
    ]
    env = gymnasium.make("rtdesk/Snake-v1", render_mode="human")
    env.reset(seed=0)
    env.step(0)
    assert env.render() is None
    out = capsys.readouterr().out
    assert "Snake, turn 0" in out
    assert "Snake, turn 1" in out
    # Not a terminal: no control sequences, and no waiting.
    assert "\x1b" not in out
    with pytest.raises(ConfigError, match="render_mode 'film' is unknown"):
        GameEnv("snake", render_mode="film")


def test_a_token_deadline_drops_late_actions_and_plays_every_tick_that_is_over() -> None:
    env = Deadline(gymnasium.make("rtdesk/Freeway-v1"), 100)
    env.reset(seed=0)
    env.spend(100)
    *_, info = env.step(2)
    assert (info["late"], info["ticks"], info["view"]["lane"], env.left) == (False, 1, 0, 100)
    env.spend(101)
    _, reward, *_, info = env.step(2)
    assert (info["late"], info["ticks"], info["view"]["lane"], reward) == (True, 1, 1, -1)
    assert env.late_actions == 1
    env.spend(250)
    _, reward, *_, info = env.step(2)
    # 451 tokens have gone by: ticks 2 and 3 ended at 300 and 400.
    assert (info["late"], info["ticks"], info["view"]["turn"], reward) == (True, 2, 4, -2)
    with pytest.raises(ConfigError, match="seconds, which pass by themselves"):
        Deadline(gymnasium.make("rtdesk/Freeway-v1"), "6s").spend(1)


def test_a_wall_deadline_is_absolute_and_stops_with_the_episode() -> None:
    clock = ManualClock()
    env = Deadline(gymnasium.make("rtdesk/Freeway-v1"), "2s", clock=clock, sleep=clock.sleep)
    env.reset(seed=0)
    clock.sleep(0.5)
    *_, info = env.step(2)
    assert (clock.now, info["late"]) == (2_000_000_000, False)
    clock.sleep(2)
    *_, info = env.step(2)
    assert (info["late"], info["ticks"], env.left) == (True, 1, 2)
    clock.sleep(5)
    _, reward, *_, info = env.step(2)
    assert (info["late"], info["ticks"], reward, env.left) == (True, 2, -2, 1)
    clock.sleep(10_000)
    *_, terminated, truncated, info = env.step(2)
    assert terminated or truncated
    assert info["view"]["turn"] <= 100
    env.reset(seed=0)
    assert (env.left, env.late_actions, env.tick) == (2, 0, 0)


def test_a_deadline_fits_other_environments_with_an_action_for_late_ticks() -> None:
    env = Deadline(gymnasium.make("CartPole-v1"), 10, default=1)
    env.reset(seed=0)
    env.spend(35)
    *_, info = env.step(0)
    assert (info["late"], info["ticks"]) == (True, 3)
