"""The checker of games, on a good game that is broken on purpose in one way at a time."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from games import GameError
from games.base import BaseGame, Board, Entity, GameSpec, Observation, StepResult, read_snapshot
from games.check import CheckFailed, Report, check_game

SPEC = GameSpec(
    name="meadow",
    title="Meadow",
    summary="Pick flowers.",
    letters=(("L", "left"), ("R", "right")),
    default_action="S",
    points_name="flowers",
    points_max=10,
    max_ticks=12,
    seeds=(0, 99),
    loads=("easy", "hard"),
)


class Saved(msgspec.Struct):
    turn: int
    x: int
    flowers: list[int]
    rest: dict[str, Any]


class Meadow(BaseGame):
    """Six cells in a row, a flower on some; picked by walking there. A bee at x = 5 ends the game."""

    spec = SPEC

    def __init__(self, load: str = "medium", seed: int = 0) -> None:
        super().__init__(load, seed)
        self._x = 2
        self._flowers: list[int] = []
        self._score = 0

    @property
    def points(self) -> float:
        return self._score

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self.seed = self._checked_seed(seed)
        rng = random.Random(f"{self.load}/{self.seed}")
        self._flowers = [rng.randint(0, 1) for _ in range(6)]
        self._turn = self._score = 0
        self._x = 2
        self.done_reason, self._playing = None, True
        return self.observe()

    def step(self, action: str) -> StepResult:
        if not self._playing or action not in self._accepted:
            raise self._refusal(action)
        self._turn += 1
        self._x = max(0, min(5, self._x + {"L": -1, "R": 1, "S": 0}[action]))
        picked = self._flowers[self._x]
        self._flowers = [*self._flowers[: self._x], 0, *self._flowers[self._x + 1 :]]
        self._score += picked
        reason = "dead" if self._x == 5 and self._turn > 8 else "cap" if self._turn >= 12 else None
        self._playing, self.done_reason = reason is None, reason
        return StepResult(
            observation=self.observe(), reward=picked, score=self._score, terminated=reason == "dead", truncated=reason == "cap", reset=False, done_reason=reason
        )

    def observe(self) -> Observation:
        view = {"turn": self._turn, "x": self._x, "flowers": self._flowers[:]}
        return Observation(tick=self._turn, text=f"turn {self._turn}, at {self._x}, flowers {self._flowers}", view=view)

    def snapshot(self) -> dict[str, Any]:
        rest = {"game": "meadow", "load": self.load, "seed": self.seed, "score": self._score, "done": not self._playing, "done_reason": self.done_reason}
        return {"turn": self._turn, "x": self._x, "flowers": self._flowers[:], "rest": rest}

    def restore(self, snapshot: dict[str, Any]) -> None:
        saved = read_snapshot(snapshot, Saved, "meadow")
        self.load, self.seed = self._checked_load(saved.rest.get("load")), self._checked_seed(saved.rest.get("seed"))  # type: ignore[arg-type]
        self._turn, self._x, self._flowers, self._score = saved.turn, saved.x, saved.flowers, saved.rest["score"]
        self._playing, self.done_reason = not saved.rest["done"], saved.rest["done_reason"]

    def describe(self) -> str:
        return "Walk with L and R and pick flowers."

    def board(self) -> Board:
        flowers = [Entity(kind="flower", x=x, y=0, glyph="*", ascii="*", role="goal") for x, there in enumerate(self._flowers) if there]
        return Board(columns=6, rows=1, entities=(*flowers, Entity(kind="walker", x=self._x, y=0, glyph="@", ascii="@", role="player")))


def checked(game: type, spec: GameSpec = SPEC) -> Report:
    return check_game(SimpleNamespace(SPEC=spec, Game=game), steps=16, seeds=(0, 1, 99))


def changed(result: StepResult, **fields: Any) -> StepResult:
    return msgspec.structs.replace(result, **fields)


def with_spec(**fields: Any) -> tuple[type, GameSpec]:
    made = msgspec.structs.replace(SPEC, **fields)
    return type("Changed", (Meadow,), {"spec": made}), made


@pytest.mark.parametrize("name", ["snake", "freeway", "overcooked", "metronome"])
def test_our_own_games_pass(name: str) -> None:
    assert check_game(name, steps=25, seeds=(0, 9)).raise_on_error().ok


def test_a_good_game_passes_every_check() -> None:
    report = checked(Meadow)
    assert report.findings == ()
    assert report.raise_on_error() is report
    assert report.lines()[-1] == "game meadow passes (13 checks)"


# Each of these breaks one thing, as people do.


class DrawsFromTheModule(Meadow):
    def reset(self, seed: int | None = None) -> Observation:
        super().reset(seed)
        self._flowers[3] = random.randint(0, 1 << 30)  # unseeded: the very mistake
        return self.observe()


class SeedsTheModule(Meadow):
    """Deterministic alone, but two games take each other's numbers."""

    def reset(self, seed: int | None = None) -> Observation:
        seen = super().reset(seed)
        random.seed(f"{self.load}/{self.seed}")
        return seen

    def step(self, action: str) -> StepResult:
        result = super().step(action)
        self._flowers[0] = random.randint(0, 1 << 30)
        return changed(result, observation=self.observe())


class KeepsTheLastEpisode(Meadow):
    bees = 0

    def step(self, action: str) -> StepResult:
        self.bees += 1
        result = super().step(action)
        self._flowers[0] = self.bees
        return changed(result, observation=self.observe())


class SharesAClassAttribute(Meadow):
    field: list[int] = []  # noqa: RUF012, the very mistake

    def reset(self, seed: int | None = None) -> Observation:
        super().reset(seed)
        self.field[:] = self._flowers
        return self.observe()

    def observe(self) -> Observation:
        return Observation(tick=self._turn, text=f"{self.field}", view={"x": self._x, "flowers": self.field[:]})


class HandsOutItsList(Meadow):
    def observe(self) -> Observation:
        return Observation(tick=self._turn, text="a meadow", view={"x": self._x, "flowers": self._flowers})


class SnapshotSharesItsList(Meadow):
    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "flowers": self._flowers}


class AltersInPlace(Meadow):
    """Its snapshot is the very list that the next step changes."""

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "flowers": self._flowers}

    def step(self, action: str) -> StepResult:
        mine = self._flowers
        result = super().step(action)
        mine[:] = self._flowers
        self._flowers = mine
        self._flowers[0] += 1
        return changed(result, observation=self.observe())


class LooksLater(Meadow):
    def observe(self) -> Observation:
        return Observation(tick=self._turn, text="a meadow", view=lambda: {"x": self._x, "flowers": self._flowers[:]})


class KeepsTheSnapshotsList(Meadow):
    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        self._flowers = snapshot["flowers"]


class ForgetsTheSeed(Meadow):
    def restore(self, snapshot: dict[str, Any]) -> None:
        load, seed = self.load, self.seed
        super().restore(snapshot)
        self.load, self.seed = load, seed


class ForgetsACounter(Meadow):
    """Something that no observation shows, and the snapshot lacks."""

    def reset(self, seed: int | None = None) -> Observation:
        self.hidden = 0
        return super().reset(seed)

    def step(self, action: str) -> StepResult:
        self.hidden = getattr(self, "hidden", 0) + 1
        result = super().step(action)
        if self.hidden == 10:
            self._flowers[1] = 7
        return changed(result, observation=self.observe())


class SnapshotOfTuples(Meadow):
    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "flowers": tuple(self._flowers)}


class ViewOfSets(Meadow):
    def observe(self) -> Observation:
        return Observation(tick=self._turn, text="a meadow", view={"x": self._x, "flowers": set(self._flowers)})


class NoRest(Meadow):
    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "rest": {"load": self.load, "seed": self.seed, "score": self._score, "done": False, "done_reason": None}}


class TakesAnySnapshot(Meadow):
    def restore(self, snapshot: dict[str, Any]) -> None:
        if snapshot.get("rest", {}).get("game") == "meadow" and "load" in snapshot["rest"]:
            super().restore(snapshot)
        else:
            self._x = snapshot.get("x", 0)


class RefusesItsDefault(Meadow):
    def step(self, action: str) -> StepResult:
        if action == "S" and self._turn == 3:
            raise GameError("no standing about")
        return super().step(action)


class TakesAnyLetter(Meadow):
    def step(self, action: str) -> StepResult:
        return super().step(action if action in self._accepted else "S")


class FailsOddly(Meadow):
    def step(self, action: str) -> StepResult:
        if action not in ("L", "R", "S"):
            raise KeyError(action)
        return super().step(action)


class RefusesTooLate(Meadow):
    def step(self, action: str) -> StepResult:
        if self._playing and action not in self._accepted:
            self._x = 0
        return super().step(action)


class PlaysOnAfterTheEnd(Meadow):
    def step(self, action: str) -> StepResult:
        self._playing = True
        return super().step(action)


class StartsByItself(Meadow):
    def __init__(self, load: str = "medium", seed: int = 0) -> None:
        super().__init__(load, seed)
        self.reset()


class CountsFromOne(Meadow):
    def observe(self) -> Observation:
        seen = super().observe()
        return Observation(tick=seen.tick + 1, text=seen.text, view=seen.view)


class CountsTurnsFromOne(Meadow):
    def observe(self) -> Observation:
        seen = super().observe()
        return Observation(tick=seen.tick, text=seen.text, view={**seen.view, "turn": seen.tick + 1})


class SaysNothing(Meadow):
    def observe(self) -> Observation:
        seen = super().observe()
        return Observation(tick=seen.tick, text="", view=seen.view)


class RewardsTheSum(Meadow):
    def step(self, action: str) -> StepResult:
        result = super().step(action)
        return changed(result, reward=result.score + 1)


class EndsWithoutAReason(Meadow):
    def step(self, action: str) -> StepResult:
        return changed(super().step(action), done_reason=None)


class EndsTwice(Meadow):
    def step(self, action: str) -> StepResult:
        result = super().step(action)
        return changed(result, terminated=result.done, truncated=result.done)


class NeverEnds(Meadow):
    def step(self, action: str) -> StepResult:
        result = super().step(action)
        self._playing, self.done_reason = True, None
        return changed(result, terminated=False, truncated=False, done_reason=None)


class ShowsTheStateBefore(Meadow):
    def step(self, action: str) -> StepResult:
        seen = self.observe()
        result = super().step(action)
        return changed(result, observation=Observation(tick=result.observation.tick, text=seen.text, view=seen.view))


class NanPoints(Meadow):
    @property
    def points(self) -> float:
        return float("nan")


class ReturnsNothing(Meadow):
    def reset(self, seed: int | None = None) -> Observation:
        super().reset(seed)
        return None  # type: ignore[return-value]


class EmojiBoard(Meadow):
    def board(self) -> Board:
        return Board(columns=6, rows=1, entities=(Entity(kind="bee", x=0, y=0, glyph="\N{HONEYBEE}", ascii="b"),))


class BoardOfPixels(Meadow):
    def board(self) -> Board:
        return Board(columns=1920, rows=1080, entities=super().board().entities)


class BoardInPixels(Meadow):
    def board(self) -> Board:
        return Board(columns=6, rows=1, entities=(Entity(kind="bee", x=320, y=240, glyph="b", ascii="b"),))


class TwinsOnTheBoard(Meadow):
    def board(self) -> Board:
        return Board(columns=6, rows=1, entities=tuple(Entity(kind=kind, x=0, y=0, glyph="o", ascii="o") for kind in ("bee", "bird")))


class BoardThatMoves(Meadow):
    def board(self) -> Board:
        self._x = 0
        return super().board()


class RulesThatChange(Meadow):
    def describe(self) -> str:
        return f"It is turn {self._turn}."


class NoRules(Meadow):
    def describe(self) -> str:
        return " "


class AnySeed(Meadow):
    def _checked_seed(self, seed: int) -> int:
        return seed


class ResetIgnoresTheSeed(Meadow):
    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._checked_seed(seed)
        return super().reset()


class Crashes(Meadow):
    def board(self) -> Board:
        return {}["nothing"]  # type: ignore[index]


class ShrinksWithTheGame(Meadow):
    @property
    def legal_actions(self) -> tuple[str, ...]:
        return ("L",)


class ForgetsTheEnd(Meadow):
    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        self._playing, self.done_reason = True, None


@pytest.mark.parametrize(
    ("game", "check", "problem", "cause"),
    [
        (DrawsFromTheModule, "determinism", "played twice differ", "module-level `random`"),
        (SeedsTheModule, "determinism", "differs when another game is played beside it", "two games share something"),
        (SharesAClassAttribute, "determinism", "differs when another game is played beside it", "mutable class attribute"),
        (KeepsTheLastEpisode, "determinism", "the second episode of one game differs from its first", "reset() leaves something"),
        (HandsOutItsList, "aliasing", "changing an observation's view changed the game", "copy them"),
        (SnapshotSharesItsList, "aliasing", "changing a snapshot changed the game", "copy them"),
        (AltersInPlace, "snapshot and restore", "a snapshot changed while the game went on", "copy them"),
        (LooksLater, "aliasing", "an observation changed while the game went on", "made from lists that step() alters"),
        (KeepsTheSnapshotsList, "snapshot and restore", "changing a snapshot after restore() changed the game", "copy them"),
        (ForgetsTheSeed, "snapshot and restore", "restored into a game of another load and seed", "load and seed included"),
        (ForgetsACounter, "snapshot and restore", "the rest of the episode goes otherwise", "the snapshot lacks something"),
        (SnapshotOfTuples, "snapshot and restore", "of type tuple", "lists for tuples"),
        (ViewOfSets, "episodes", "of type set", "lists for tuples"),
        (NoRest, "snapshot and restore", "`rest` is", "holds game, load, seed"),
        (TakesAnySnapshot, "bad snapshots", "is accepted, expected GameError", "read_snapshot"),
        (RefusesItsDefault, "default action", "the default action 'S' is refused: no standing about", "whenever no answer came in time"),
        (TakesAnyLetter, "refusals", "step('?'), which is no action, is accepted", "before anything changes"),
        (FailsOddly, "refusals", "raises KeyError ('?'), expected GameError", "before anything changes"),
        (RefusesTooLate, "refusals", "is refused, but the game changed", "check everything"),
        (PlaysOnAfterTheEnd, "refusals", "step() after the end is accepted", "self._playing"),
        (StartsByItself, "refusals", "step() before reset() is accepted", "self._playing"),
        (ForgetsTheEnd, "refusals", "an episode that is over is accepted", "take up from `rest`"),
        (CountsFromOne, "episodes", "the observation's tick is 1, expected 0", "ticks count the steps"),
        (CountsTurnsFromOne, "episodes", "the view's turn is 1, expected 0", "always equal to it"),
        (SaysNothing, "episodes", "the observation's text is ''", "in words"),
        (RewardsTheSum, "episodes", "the rewards sum to", "one of them given as the other"),
        (EndsWithoutAReason, "episodes", "done is True and done_reason None", "goal, dead, cap"),
        (EndsTwice, "episodes", "both terminated and truncated", "the tick cap"),
        (NeverEnds, "episodes", "goes on after SPEC.max_ticks = 12", "done_reason 'cap'"),
        (ShowsTheStateBefore, "episodes", "not what observe() gives", "after the state has changed"),
        (NanPoints, "episodes", "points is nan", "points_max counts"),
        (ReturnsNothing, "results", "reset() gives None, expected a Observation", "without `return`"),
        (EmojiBoard, "board", "not one cell wide", "no emoji"),
        (BoardOfPixels, "board", "has 1920 x 1080 cells", "not a pixel"),
        (BoardInPixels, "board", "far outside the board of 6 x 1", "are they pixels"),
        (TwinsOnTheBoard, "board", "'bee' and 'bird' look the same", "its own glyph"),
        (BoardThatMoves, "board", "board() changed the game", "only looks"),
        (Crashes, "results", "raised KeyError: 'nothing'", "test_check.py, line"),
        (RulesThatChange, "describe", "says something else after a step", "the rules, which do not change"),
        (NoRules, "describe", "describe() returns ' '", "all a language model knows"),
        (AnySeed, "making", "Game('easy', -1) is accepted", "_checked_seed"),
        (ResetIgnoresTheSeed, "seeding", "reset(99) plays another episode", "reset(seed) must set"),
        (ShrinksWithTheGame, "making", "legal_actions is ('L',)", "return SPEC's"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_a_broken_game_is_told_what_is_wrong_and_why(game: type, check: str, problem: str, cause: str) -> None:
    found = [(finding.check, finding.problem, finding.cause) for finding in checked(game).findings]
    assert any(name == check and problem in what and cause in why for name, what, why in found), found


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": "My Game"}, "SPEC.name is 'My Game'"),
        ({"letters": (("LEFT", "left"), ("R", "right"))}, "'LEFT' is no single letter"),
        ({"letters": ()}, "SPEC.letters is empty"),
        ({"letters": (("L", "left"), ("l", "lower"))}, "'l' names two actions"),
        ({"letters": (("L", "go left"), ("R", "right"))}, "'go left' is no word"),
        ({"default_action": ""}, "'' is no single letter"),
        ({"points_max": 0.0}, "SPEC.points_max is 0.0"),
        ({"max_ticks": 0}, "SPEC.max_ticks is 0"),
        ({"seeds": (5, 1)}, "SPEC.seeds is (5, 1)"),
        ({"loads": ("easy", "easy")}, "SPEC.loads is"),
        ({"help": ("x" * 57,)}, "a line of 57 columns"),
    ],
)
def test_a_broken_spec_is_told_first_and_alone(fields: dict[str, Any], problem: str) -> None:
    report = checked(*with_spec(**fields))
    assert report.checks == ("surface",)
    assert any(problem in finding.problem for finding in report.findings), report.findings


def test_a_missing_method_is_named() -> None:
    class Bare:
        def reset(self) -> None: ...

    report = checked(Bare)
    assert [finding.problem for finding in report.findings] == ["Game has no step(), no observe(), no snapshot(), no restore(), no describe(), no board()"]
    assert report.checks == ("surface",)


def test_determinism_is_a_gate_for_what_comes_after() -> None:
    assert checked(DrawsFromTheModule).checks == ("surface", "results", "determinism")


def test_findings_can_be_raised_in_a_test_of_ones_own() -> None:
    with pytest.raises(CheckFailed, match=r"(?s)game meadow:.*determinism: .*likely cause: "):
        checked(DrawsFromTheModule).raise_on_error()


def test_a_report_reads_top_to_bottom() -> None:
    lines = checked(NoRules).lines()
    place = lines.index("FAIL  describe")
    assert lines[place + 1].strip().startswith("describe() returns")
    assert lines[place + 2].strip().startswith("likely cause: ")
    assert lines[-1] == "game meadow has 1 problem (13 checks)"


def test_a_file_without_a_game_and_one_that_does_not_load_are_one_sentence(tmp_path: Any) -> None:
    empty, broken = tmp_path / "empty.py", tmp_path / "broken.py"
    empty.write_text("SPEC = None\n")
    broken.write_text("def (:\n")
    with pytest.raises(GameError, match="has no Game"):
        check_game(str(empty))
    with pytest.raises(GameError, match="does not load: SyntaxError"):
        check_game(str(broken))
    with pytest.raises(GameError, match="no such file"):
        check_game("./nowhere.py")
