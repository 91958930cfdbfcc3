"""Freeway's traffic: how a level is drawn, how its cars drive, and which seeds give which level.

Cars are kept as the reference keeps them; what a thinker sees of them is made here too. Rows count from the top: row 0 is the goal.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from games.base import GameError
from games.rng import SEED_MAX, Legacy

__all__ = [
    "CAP",
    "COLUMNS",
    "GOAL",
    "MIDDLE",
    "UNIT",
    "Car",
    "Frame",
    "State",
    "Traffic",
    "best_score",
    "build",
    "level_seed",
    "possible",
    "traffic_of",
]

COLUMNS = 9
MIDDLE = 4
GOAL = 9
"""Lane that wins; also the row of lane 0, as rows count from the top."""
CAP = 100
UNIT = 12
"""Parts of a cell in observations."""

# Car as the reference keeps it: (x of head, row, timer, speed, length). |speed| < 1 is a fast car of 1/|speed| cells a turn.
Car = tuple[int, int, int, int | float, int]

State = tuple[int, int, str, int, int]
"""A car as observations carry it: (lane, head, "left" or "right", speed, length), in twelfths of a cell."""

_KNOWN_SEEDS = {
    "easy": (1000, 1001, 1002, 1003, 1013, 1014, 1016, 1018),
    "medium": (1069, 1093, 1536, 1858, 1338, 2496, 1933, 1863),
    "hard": (1447, 2408, 2418, 2661, 1100, 1944, 1310, 2453),
}
# Of the levels for seeds the reference does not know: first level seed tried is base + 1000 * seed; (worst, best) best score.
_BANDS = {"easy": (100_000, 87, 89), "medium": (200_000, 84, 86), "hard": (300_000, 79, 81)}


def build(rng: Legacy) -> tuple[Car, ...]:
    """Return the cars of a level drawn from `rng`. The order of the draws is the reference's (spec 1.2)."""
    # Which lanes are active: all of them, whatever comes out. Drawn because the stream must move on.
    rng.permutation(8)
    headings = [1 if rng.double() > 0.5 else -1 for _ in range(8)]
    copies = [rng.randint(0, 2) for _ in range(8)]
    cars: list[Car] = []
    pattern: list[tuple[int, int, int | float, int]] = []
    for lane in range(8):
        if not (copies[lane] and lane):
            pattern = _pattern(rng, headings[lane])
        cars += [(x, lane + 1, timer, speed, length) for x, timer, speed, length in pattern]
    return tuple(cars)


def _pattern(rng: Legacy, heading: int) -> list[tuple[int, int, int | float, int]]:
    """Return one lane's cars as (x, timer, speed, length)."""
    kind = rng.randint(0, 3)
    x = 0 if heading == 1 else COLUMNS - 1
    if kind == 0:
        cells = rng.randint(2, 5)
        return [(x, 0, heading / cells, cells)]
    if kind == 1:
        count = rng.randint(2, 4)
        pause = rng.randint(1, 4)
        return [(x + heading * i * (COLUMNS // count), pause - 1, pause, 1) for i in range(count)]
    pause = rng.randint(1, 5)
    return [(x, pause - 1, pause, 1)]


def _drive(cars: tuple[Car, ...]) -> tuple[Car, ...]:
    """Return the cars one turn later."""
    moved: list[Car] = []
    for x, row, timer, speed, length in cars:
        if x < 0:
            x = COLUMNS - 1
        elif x >= COLUMNS:
            x = 0
        elif -1 < speed < 1:
            x += round(1 / speed)
        else:
            timer -= 1
            if timer == -1:
                timer = int(speed) - 1
                x += 1
        moved.append((x, row, timer, speed, length))
    return tuple(moved)


def _covered(cars: tuple[Car, ...]) -> int:
    """Return the rows whose middle column a car covers, as a bit mask."""
    rows = 0
    for x, row, _, speed, length in cars:
        if x <= MIDDLE < x + length if speed < 0 else x - length < MIDDLE <= x:
            rows |= 1 << row
    return rows


def _in_units(car: Car) -> State:
    """Return a car as observations carry it: (lane, head, "left" or "right", speed, length), in twelfths of a cell."""
    x, row, timer, speed, length = car
    units = int(UNIT / abs(speed))
    head = UNIT * (x - MIDDLE)
    if abs(speed) >= 1:
        head += (int(speed) - timer - 1) * units
    return GOAL - row, head, "left" if speed < 0 else "right", units, UNIT * length - 1


def possible(car: Car) -> bool:
    """Return whether the rules know such a car; a snapshot may come from anywhere."""
    x, row, timer, speed, length = car
    if not (-COLUMNS <= x <= 2 * COLUMNS and 1 <= row < GOAL and 1 <= length <= COLUMNS):
        return False
    if abs(speed) < 1:
        return abs(speed) * COLUMNS >= 1
    return speed in (1, 2, 3, 4) and 0 <= timer < speed


class Frame(msgspec.Struct, frozen=True):
    """The traffic of one turn, in the three forms it is asked for."""

    cars: tuple[Car, ...]
    covered: int
    states: tuple[State, ...]


def _frame(cars: tuple[Car, ...]) -> Frame:
    states = sorted(map(_in_units, cars), key=lambda state: state[0])
    return Frame(cars=cars, covered=_covered(cars), states=tuple(states))


class Traffic:
    """The turns of one stretch of traffic, which no player can influence: made once, in order, and kept.

    Keyed by turn, not appended, so that two games sharing one from two threads at worst make the same frame twice.
    """

    __slots__ = ("_frames",)

    def __init__(self, cars: tuple[Car, ...]) -> None:
        self._frames = {0: _frame(cars)}

    def at(self, turn: int) -> Frame:
        """Return the traffic `turn` turns after its start; asked for in order."""
        frame = self._frames.get(turn)
        if frame is None:
            frame = self._frames[turn] = _frame(_drive(self._frames[turn - 1].cars))
        return frame


@lru_cache(maxsize=64)
def traffic_of(number: int) -> Traffic:
    """Return the traffic of the level drawn from `RandomState(number)`."""
    return Traffic(build(Legacy(number)))


def best_score(cars: tuple[Car, ...], lowest: int = 0) -> int | None:
    """Return the score of the quickest crossing without a hit, or None if it would be below `lowest`."""
    everywhere = (1 << (GOAL + 1)) - 1
    reached = 1 << GOAL
    for turn in range(1, CAP - lowest + 1):
        reached = (reached | reached >> 1 | reached << 1) & everywhere
        if reached & 1:
            return CAP - turn
        cars = _drive(cars)
        reached &= ~_covered(cars)
    return None


@lru_cache(maxsize=1024)
def level_seed(load: str, seed: int) -> int:
    """Return the generator seed of a level: the reference's for seeds 0..7, else the first whose best score is in the load's band."""
    known = _KNOWN_SEEDS[load]
    if seed < len(known):
        return known[seed]
    base, worst, best = _BANDS[load]
    number = base + 1000 * seed
    while number <= SEED_MAX:
        score = best_score(build(Legacy(number)), worst)
        if score is not None and score <= best:
            return number
        number += 1
    raise GameError(f"freeway: no {load} level for seed {seed}; try a smaller one")
