"""Metronome: nothing happens, for ever. A game without end, for measuring how punctual the desk is.

A pendulum swings over a row of nine cells, one cell a turn. B is the only action; it counts as one beat.

| | |
|---|---|
| action | B, the default action too |
| ends when | never |
| score | turns played |
| points | the score; 100 make a normalised score of 1.0 |
| cognitive load | changes nothing; neither does the seed |
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from games.base import BaseGame, Board, Entity, Figure, GameSpec, Observation, StepResult, Turn, read_snapshot

__all__ = ["SPEC", "Game"]

COLUMNS = 9

SPEC = GameSpec(
    name="metronome",
    title="Metronome",
    summary="A pendulum that swings for ever, for measuring punctuality.",
    letters=(("B", "beat"),),
    default_action="B",
    points_name="beats",
    points_max=100.0,
    max_ticks=None,
    help=("There is nothing to do. The pendulum swings one cell", "a turn and never stops."),
)


class _Rest(msgspec.Struct, frozen=True):
    game: Literal["metronome"]
    load: str
    seed: int
    score: Figure
    done: Literal[False]
    done_reason: None


class _Snapshot(msgspec.Struct, frozen=True):
    turn: Turn
    rest: _Rest


def _swing(turn: int) -> int:
    """Return the pendulum's column: 0 to the last and back."""
    phase = turn % (2 * COLUMNS - 2)
    return min(phase, 2 * COLUMNS - 2 - phase)


class Game(BaseGame):
    """The pendulum."""

    spec = SPEC

    @property
    def points(self) -> float:
        """Turns played."""
        return self._turn

    def reset(self, seed: int | None = None) -> Observation:
        """Start again from turn 0."""
        if seed is not None:
            self.seed = self._checked_seed(seed)
        self._turn = 0
        self._playing = True
        return self.observe()

    def step(self, action: str) -> StepResult:
        """Swing on. Raises GameError if `action` is not B or there was no reset."""
        if not self._playing or action not in self._accepted:
            raise self._refusal(action)
        self._turn += 1
        return StepResult(observation=self.observe(), reward=1, score=self._turn, terminated=False, truncated=False, reset=False)

    def observe(self) -> Observation:
        """Return the turn and the pendulum's column."""
        if not self._playing:
            raise self._unready("observe")
        column = _swing(self._turn)
        return Observation(
            tick=self._turn, text=f"Turn: {self._turn}\nPendulum: column {column}\n", view={"turn": self._turn, "column": column}
        )

    def snapshot(self) -> dict[str, Any]:
        """Return the turn, and `rest`."""
        if not self._playing:
            raise self._unready("snapshot")
        rest = {"game": "metronome", "load": self.load, "seed": self.seed, "score": self._turn, "done": False, "done_reason": None}
        return {"turn": self._turn, "rest": rest}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become the game the snapshot was taken of. Raises GameError, with nothing changed, if it is none."""
        saved = read_snapshot(snapshot, _Snapshot, "metronome")
        self.load, self.seed = self._checked_load(saved.rest.load), self._checked_seed(saved.rest.seed)
        self._turn = saved.turn
        self._playing = True

    def describe(self) -> str:
        """Return the rules in words, for a thinker."""
        return "A pendulum swings from column 0 to column 8 and back, one column a turn. Your only action is B, which does nothing."

    def board(self) -> Board:
        """Return a row of cells and the pendulum."""
        if not self._playing:
            raise self._unready("board")
        row = [Entity(kind="floor", x=x, y=0, glyph="·", ascii=".", role="floor") for x in range(COLUMNS)]
        bob = Entity(kind="pendulum", x=_swing(self._turn), y=0, glyph="●", ascii="O", role="player")
        return Board(columns=COLUMNS, rows=1, entities=(*row, bob), status=(("beats", str(self._turn)),))
