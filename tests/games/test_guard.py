"""A game from a file that misbehaves is told of in one sentence with its name, whoever called it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import games
from games import GameError, make

GAME = '''
"""Walk right."""
from games.base import BaseGame, Board, Entity, GameSpec, Observation, StepResult

SPEC = GameSpec(name="walk", title="Walk", summary="Walk right.", letters=(("R", "right"),), default_action="R", points_name="steps", points_max=9, max_ticks=9)


class Game(BaseGame):
    spec = SPEC
    points = 0
    seen = {"x": 0}

    def reset(self, seed=None):
        return self.observe()

    def observe(self):
        return Observation(tick=self.points, text="walk", view=self.seen)

    def step(self, action):
        self.points += 1
        return StepResult(observation=self.observe(), reward=1, score=self.points, terminated=False, truncated=False, reset=False)

    def snapshot(self):
        return {"x": self.points}

    def restore(self, snapshot):
        self.points = snapshot["x"]

    def describe(self):
        return "walk"

    def board(self):
        return Board(columns=1, rows=1, entities=(Entity(kind="walker", x=0, y=0, glyph="@", ascii="@"),))
'''
CALLS = {"__init__": (), "reset": (), "observe": (), "step": ("R",), "snapshot": (), "restore": ({"x": 1},), "describe": (), "board": ()}


def written(tmp_path: Path, *more: str) -> str:
    file = tmp_path / "walk.py"
    file.write_text(GAME + "\n".join(f"    {line}" for line in more) + "\n", encoding="utf-8")
    return str(file)


def test_a_sound_game_is_the_same_behind_the_guard(tmp_path: Path) -> None:
    game = make(written(tmp_path))
    own = games._module(str(tmp_path / "walk.py")).Game
    assert isinstance(game, own)
    assert game.reset().text == game.describe() == "walk"
    assert (game.step("R").score, game.snapshot(), game.board().columns) == (1, {"x": 1}, 1)
    assert inspect.signature(type(game).step) == inspect.signature(own.step)


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("end", ["raise RuntimeError('boom')", "raise SystemExit(0)", "return 1 / 0"])
def test_whatever_a_method_raises_names_the_game_and_the_method(tmp_path: Path, method: str, end: str) -> None:
    file = written(tmp_path, f"def {method}(self, *any): {end}")
    with pytest.raises(GameError) as caught:
        getattr(make(file), method)(*CALLS[method])
    said = str(caught.value)
    assert said.startswith(f"the game {file!r} failed in {'its start' if method == '__init__' else method + '()'}: ")
    assert said.endswith(f"`rtdesk check game {file}` says more")
    assert any(word in said for word in ("RuntimeError: boom", "SystemExit: 0", "ZeroDivisionError: division by zero"))


@pytest.mark.parametrize("method", ["reset", "observe", "step", "snapshot", "describe", "board"])
@pytest.mark.parametrize("value", ["None", "5"])
def test_a_value_of_another_kind_is_refused_where_it_comes_from(tmp_path: Path, method: str, value: str) -> None:
    with pytest.raises(GameError, match=rf"{method}\(\) returned {value}, expected "):
        getattr(make(written(tmp_path, f"def {method}(self, *any): return {value}")), method)(*CALLS[method])


@pytest.mark.parametrize("view", ["{1: 2}", "[]", "{'x': object()}", "{'x': 1 << 70}", "{'x': '\\ud800'}", "nest(5000)", "nest(61)"])
def test_what_no_replay_could_hold_is_refused_where_it_comes_from(tmp_path: Path, view: str) -> None:
    nest = "nest = lambda levels: __import__('functools').reduce(lambda inside, _: {'a': inside}, range(levels), {})"
    for line in (f"seen = {view}", f"def snapshot(self): return {view}"):
        folder = tmp_path / line[:4].strip()
        folder.mkdir()
        file = written(folder)
        Path(file).write_text(Path(file).read_text(encoding="utf-8").replace("class Game", f"{nest}\n\n\nclass Game") + f"    {line}\n", encoding="utf-8")
        game = make(file)
        with pytest.raises(GameError, match=r"no replay can hold|expected a dict"):
            game.observe() if line.startswith("seen") else game.snapshot()


@pytest.mark.parametrize(
    "board",
    [
        "Board(columns=100000, rows=100000, entities=())",
        "Board(columns=0, rows=1, entities=())",
        "Board(columns='8', rows=1, entities=())",
        "Board(columns=1, rows=1, entities=5)",
        "Board(columns=1, rows=1, entities=(None,))",
        "Board(columns=1, rows=1, entities=(Entity(kind='w', x='0', y=0, glyph='@', ascii='@'),))",
        "Board(columns=1, rows=1, entities=(Entity(kind='w', x=0, y=0, glyph='@', ascii='@'),) * 40001)",
        "Board(columns=1, rows=1, entities=(), status=(('soups', 2),))",
    ],
)
def test_a_board_no_screen_could_draw_is_refused_where_it_comes_from(tmp_path: Path, board: str) -> None:
    with pytest.raises(GameError, match=r"board\(\) gave a board "):
        make(written(tmp_path, f"def board(self): return {board}")).board()


def test_a_text_with_half_a_character_is_refused_where_it_comes_from(tmp_path: Path) -> None:
    file = written(tmp_path, "def observe(self): return Observation(tick=0, text='\\ud800', view={})")
    with pytest.raises(GameError, match=r"observe\(\) gave a text that no replay can hold: .*surrogates"):
        make(file).observe()


def test_an_error_of_the_games_own_is_left_as_it_is(tmp_path: Path) -> None:
    file = written(tmp_path, "def step(self, action):", "    from games.base import GameError", "    raise GameError('not now')")
    with pytest.raises(GameError, match=r"^not now$"):
        make(file).step("R")


@pytest.mark.parametrize("text", ["SPEC = 1\nclass Game: pass", GAME + "\nGame = 5", GAME + "\nSPEC = None"])
def test_a_spec_or_a_game_of_another_kind_is_no_game(tmp_path: Path, text: str) -> None:
    file = tmp_path / "odd.py"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(GameError, match="is no game: its SPEC is a"):
        make(str(file))


def test_a_file_that_leaves_does_not_load(tmp_path: Path) -> None:
    file = tmp_path / "leaves.py"
    file.write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    with pytest.raises(GameError, match=r"does not load: SystemExit: 0 \(line 2\)"):
        make(str(file))
