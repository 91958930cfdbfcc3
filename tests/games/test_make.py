import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import games
from games import GameError, make, names, spec
from games.base import Game

ROOT = Path(__file__).resolve().parents[2]

ONE_BUTTON = '''
"""One button."""
from games.base import BaseGame, Board, GameSpec, Observation, StepResult

SPEC = GameSpec(name="button", title="Button", summary="Press it.", letters=(("P", "press"),), default_action="P",
                points_name="presses", points_max=1.0)


class Game(BaseGame):
    spec = SPEC
    points = 0.0
'''


def test_names_are_the_three_games() -> None:
    assert names() == ("freeway", "overcooked", "snake")


@pytest.mark.parametrize("name", ["freeway", "overcooked", "snake", "metronome"])
def test_every_game_keeps_the_contract(name: str) -> None:
    game = make(name, load="hard", seed=3)
    assert isinstance(game, Game)
    assert game.spec is spec(name)
    assert (game.spec.name, game.load, game.seed) == (name, "hard", 3)
    assert game.legal_actions == game.spec.legal_actions
    assert all(len(line) <= 56 for line in game.spec.help)
    assert make(name).load == "medium"


def test_only_the_module_asked_for_is_imported() -> None:
    code = (
        "import json, sys, games; games.names(); early = sorted(m for m in sys.modules if m.startswith('games'));"
        "games.make('snake'); late = sorted(m for m in sys.modules if m.startswith('games'));"
        "print(json.dumps([early, late, sorted({'numpy', 'textual', 'requests', 'difflib'} & set(sys.modules))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    early, late, heavy = json.loads(done.stdout)
    assert early == ["games", "games.base"]
    assert late == ["games", "games.base", "games.rng", "games.snake"]
    assert heavy == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "freway"}, "unknown game 'freway'; did you mean 'freeway'? (available: freeway, overcooked, snake)"),
        ({"name": "zzz"}, "unknown game 'zzz' (available: freeway, overcooked, snake)"),
        ({"name": "base"}, "unknown game 'base' (available: freeway, overcooked, snake)"),
        ({"name": ""}, "unknown game '' (available: freeway, overcooked, snake)"),
        ({"name": "snake", "load": "meduim"}, "unknown load 'meduim'; did you mean 'medium'? (available: easy, medium, hard)"),
        ({"name": "snake", "load": "E"}, "unknown load 'E' (available: easy, medium, hard)"),
        ({"name": "snake", "seed": -1}, "seed -1 is out of range for snake; give one from 0 to 2147483647"),
        ({"name": "overcooked", "seed": 2**31}, "seed 2147483648 is out of range for overcooked; give one from 0 to 2147483647"),
        ({"name": "freeway", "seed": 4_294_001}, "seed 4294001 is out of range for freeway; give one from 0 to 4294000"),
        ({"name": "snake", "seed": "3"}, "seed '3' is no whole number; give one from 0 to 2147483647"),
        ({"name": "snake", "seed": 1.5}, "seed 1.5 is no whole number; give one from 0 to 2147483647"),
    ],
)
def test_what_is_unknown_is_refused_in_one_sentence(arguments: dict, message: str) -> None:
    with pytest.raises(GameError) as error:
        make(**arguments)
    assert str(error.value) == message


def test_reset_refuses_a_bad_seed_and_keeps_the_game_as_it_is() -> None:
    game = make("snake", seed=4)
    game.reset()
    game.step("U")
    before = game.snapshot()
    with pytest.raises(GameError, match="out of range"):
        game.reset(-5)
    assert game.snapshot() == before


def test_a_path_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mygame.py").write_text(ONE_BUTTON)
    monkeypatch.chdir(tmp_path)
    assert make("./mygame.py").spec.title == "Button"
    assert spec("mygame.py").title == "Button"
    assert make(str(tmp_path / "mygame.py"), seed=2).seed == 2


def test_files_of_one_name_in_two_folders_are_two_games(tmp_path: Path) -> None:
    for title in ("Button", "Bell"):
        (tmp_path / title).mkdir()
        (tmp_path / title / "mygame.py").write_text(ONE_BUTTON.replace('title="Button"', f'title="{title}"'))
    assert [spec(str(tmp_path / title / "mygame.py")).title for title in ("Button", "Bell")] == ["Button", "Bell"]


def test_a_path_that_holds_no_game_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GameError, match="there is no such file"):
        make("./nowhere.py")
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(GameError, match="it has no SPEC and no Game"):
        make(str(tmp_path / "empty.py"))


def test_a_file_that_fails_says_why_and_where_each_time(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\nx / 0\n")
    for _ in range(2):
        with pytest.raises(GameError, match=r"does not load: ZeroDivisionError: division by zero \(line 2\)") as raised:
            make(str(tmp_path / "broken.py"))
        assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_an_entry_point_is_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name="tick-tock", value="games.metronome", group=games.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == games.GROUP else [])
    assert names() == ("freeway", "overcooked", "snake", "tick-tock")
    assert make("tick-tock").spec.title == "Metronome"
    with pytest.raises(GameError, match="did you mean 'tick-tock'"):
        make("tick-tok")
