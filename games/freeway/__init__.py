"""Freeway: cross eight lanes of traffic, as early as you can.

The road is 9 columns wide. You stand in the middle column on lane 0, the near kerb; lane 9, the far kerb, is the goal; lanes 1..8 carry
cars. You can only go up, go down or stay. In each turn, in this order:
1. The turn is counted, which costs one point: you start with 100.
2. You move: U one lane up, D one lane down (not below lane 0), S stays.
3. On lane 9 you have won, and nothing else happens.
4. Every car moves. A slow car goes one cell right every k turns; a fast car goes k cells every turn, right or left. A car that has
   left the road (its head beyond the last column) spends one turn coming back: its head stands on the first column of its direction.
5. If a car now covers the middle column of your lane, it hits you: you are back on lane 0 and all traffic starts again as it
   stood at turn 0. The turn and the score are kept.

| | |
|---|---|
| actions | U D S |
| default action | U |
| ends when | you reach lane 9, or turn 100 is over |
| score | 100 minus the turns played |
| points | the score: turns left; 89 make a normalised score of 1.0 |
| cognitive load | which levels the seeds pick: their best crossings take 11-13 turns easy, 14-16 medium (seed 0: 12), 19-21 hard |

What a thinker sees is in twelfths of a cell with the middle column at 0, as in the reference, so that a slow car visibly creeps and the
rules are plain sums (`car_after`). From it the traffic of every later turn follows exactly, until a hit. What does not follow is
where the traffic starts again: the observation of turn 0 shows it.

Deviations from the reference (package RealtimeGym, commit 3d5b3ef), all outside the recorded turns: `reset` always builds the level of
its seed (there, a second reset yields another level); a finished episode cannot be stepped; the last observation is the real one, not
an empty one; anything but U D S is an error (there, it means stay); seeds above 7 are allowed and pick levels by the length of their
best crossing; reward is per step, beside the cumulative score; the text tells the wrap-around and the restart after a hit.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import msgspec

from games.base import BaseGame, Board, Entity, Figure, GameSpec, Observation, StepResult, Turn, no_snapshot, read_snapshot
from games.freeway.rules import advance, blocked, car_after, cars_after, describe, lane_after, timetable, words
from games.freeway.traffic import (
    CAP,
    COLUMNS,
    GOAL,
    MIDDLE,
    Car,
    Frame,
    State,
    Traffic,
    best_score,
    build,
    level_seed,
    possible,
    traffic_of,
)
from games.rng import SEED_MAX

__all__ = [
    "GOAL",
    "SPEC",
    "Game",
    "advance",
    "best_score",
    "blocked",
    "build",
    "car_after",
    "cars_after",
    "describe",
    "lane_after",
    "level_seed",
    "timetable",
    "words",
]

SPEC = GameSpec(
    name="freeway",
    title="Freeway",
    summary="Cross eight lanes of traffic in as few turns as you can.",
    letters=(("U", "up"), ("D", "down"), ("S", "stay")),
    default_action="U",
    points_name="turns left",
    points_max=89.0,
    max_ticks=CAP,
    # The largest seed whose level seeds stay inside the generator's 32 bits, rounded down.
    seeds=(0, 4_294_000),
    help=(
        "Cross the road: every turn costs one point of 100.",
        "A car that hits you throws you back to the start,",
        "and the traffic starts again as at turn 0.",
        "With no key you walk up.",
        "A figure on a car: cells per turn; 1/3 means one cell",
        "every three turns. Cars come back on the other side.",
        "Keys: up and down arrows, W and S or k and j;",
        "right arrow, D or l stays.",
    ),
)


class _Rest(msgspec.Struct, frozen=True):
    game: Literal["freeway"]
    load: str
    seed: int
    score: Figure
    done: bool
    done_reason: Literal["goal", "cap"] | None
    level_seed: int


class _Snapshot(msgspec.Struct, frozen=True):
    turn: Turn
    pos: int
    cars: list[Car]
    rest: _Rest


def _viewed(turn: int, lane: int, states: tuple[State, ...]) -> dict[str, Any]:
    return {"turn": turn, "lane": lane, "cars": [list(state) for state in states]}


class Game(BaseGame):
    """One episode of Freeway after another; the rules stand at the top of this module."""

    spec = SPEC

    def __init__(self, load: str = "medium", seed: int = 0) -> None:
        super().__init__(load, seed)
        self._level_seed = level_seed(self.load, self.seed)
        self._row = GOAL
        self._traffic = traffic_of(self._level_seed)
        # Turns since this traffic started; behind the turn after a hit.
        self._driven = 0
        self._frame: Frame | None = None
        self._score = CAP

    @property
    def points(self) -> float:
        """Turns left: 100 minus the turns played."""
        return self._score

    def reset(self, seed: int | None = None) -> Observation:
        """Start the episode of `seed`, or of the seed already set, and return its first observation."""
        if seed is not None:
            self.seed = self._checked_seed(seed)
            self._level_seed = level_seed(self.load, self.seed)
        self._turn = 0
        self._score = CAP
        self.done_reason = None
        self._playing = True
        self._restart()
        return self.observe()

    def step(self, action: str) -> StepResult:
        """Play one turn. Raises GameError, with nothing changed, if `action` is none or there is no episode to step."""
        if not self._playing or action not in self._accepted:
            raise self._refusal(action)
        self._turn += 1
        self._score -= 1
        row = self._row
        if action == "U":
            row -= 1
        elif action == "D" and row < GOAL:
            row += 1
        self._row = row
        reached = row <= 0
        hit = False
        over = self._turn >= CAP
        if reached:
            # The reference puts the winner back to the start, so the last state shows it there.
            self._row = GOAL
            self._finish("goal")
        else:
            self._driven += 1
            self._frame = self._traffic.at(self._driven)
            hit = bool(self._frame.covered >> row & 1)
            if over:
                self._finish("cap")
            if hit and over:
                self._row = GOAL
            elif hit:
                self._restart()
        return StepResult(
            observation=self.observe(),
            reward=-1,
            score=self._score,
            terminated=reached,
            truncated=over and not reached,
            reset=hit,
            done_reason=self.done_reason,
        )

    def observe(self) -> Observation:
        """Return the current observation."""
        if self._frame is None:
            raise self._unready("observe")
        return Observation(tick=self._turn, view=partial(_viewed, self._turn, GOAL - self._row, self._frame.states), text=words)

    def snapshot(self) -> dict[str, Any]:
        """Return the whole state as plain values, in the schema of the recorded reference episodes plus `rest`."""
        frame = self._frame
        if frame is None:
            raise self._unready("snapshot")
        return {
            "turn": self._turn,
            "pos": self._row,
            "cars": [list(car) for car in frame.cars],
            "player_states": GOAL - self._row,
            "car_states": [list(state) for state in frame.states],
            "rest": {
                "game": "freeway",
                "load": self.load,
                "seed": self.seed,
                "score": self._score,
                "done": not self._playing,
                "done_reason": self.done_reason,
                "level_seed": self._level_seed,
            },
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become the game the snapshot was taken of, load and seed included. Raises GameError, with nothing changed, if it is none."""
        saved = read_snapshot(snapshot, _Snapshot, "freeway")
        load, seed = self._checked_load(saved.rest.load), self._checked_seed(saved.rest.seed)
        number = saved.rest.level_seed
        if not 0 <= number <= SEED_MAX:
            raise no_snapshot("freeway", f"level_seed {number} is outside 0..{SEED_MAX}")
        if not 1 <= saved.pos <= GOAL:
            raise no_snapshot("freeway", f"pos {saved.pos} is outside 1..{GOAL}")
        for car in saved.cars:
            if not possible(car):
                raise no_snapshot("freeway", f"there is no such car as {list(car)!r}")
        self.load, self.seed, self._level_seed = load, seed, number
        self._traffic = Traffic(tuple(saved.cars))
        self._driven = 0
        self._frame = self._traffic.at(0)
        self._turn, self._row, self._score = saved.turn, saved.pos, saved.rest.score
        self._playing, self.done_reason = not saved.rest.done, saved.rest.done_reason

    def describe(self) -> str:
        """Return the rules in words, for a thinker."""
        return describe()

    def board(self) -> Board:
        """Return what a screen draws: kerbs, lanes, cars, then the player, who stands on the goal once there."""
        if self._frame is None:
            raise self._unready("board")
        entities = []
        for y in range(GOAL + 1):
            kerb = y in (0, GOAL)
            look = Entity(kind="kerb", x=0, y=y, glyph="░", ascii="=", role="wall")
            if not kerb:
                look = Entity(kind="lane", x=0, y=y, glyph="·", ascii=".", role="floor")
            entities += [msgspec.structs.replace(look, x=x) for x in range(COLUMNS)]
        for x, row, _, speed, length in self._frame.cars:
            left = speed < 0
            text = str(round(1 / abs(speed))) if abs(speed) < 1 else "1" if speed == 1 else f"1/{int(speed)}"
            entities.append(
                Entity(
                    kind="car",
                    x=x,
                    y=GOAL - row,
                    glyph="◀" if left else "▶",
                    ascii="<" if left else ">",
                    role="hazard",
                    text=text,
                    facing="L" if left else "R",
                    length=length,
                )
            )
        lane = GOAL if self.done_reason == "goal" else GOAL - self._row
        entities.append(Entity(kind="player", x=MIDDLE, y=lane, glyph="☻", ascii="P", role="player", facing="U"))
        return Board(
            columns=COLUMNS, rows=GOAL + 1, entities=tuple(entities), status=(("lane", str(lane)), ("turns left", str(self._score)))
        )

    def _restart(self) -> None:
        """Put the player and the traffic where an episode starts."""
        self._row = GOAL
        self._traffic = traffic_of(self._level_seed)
        self._driven = 0
        self._frame = self._traffic.at(0)

    def _finish(self, reason: str) -> None:
        self._playing = False
        self.done_reason = reason
