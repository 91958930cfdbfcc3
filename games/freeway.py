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
| cognitive load | which levels the seeds pick: their best crossings take 11-13 turns easy, 14-16 medium, 19-21 hard |

What a thinker sees is in twelfths of a cell with the middle column at 0, as in the reference, so that a slow car visibly creeps and the
rules are plain sums (`car_after`). From it the traffic of every later turn follows exactly, until a hit. What does not follow is
where the traffic starts again: the observation of turn 0 shows it.

Deviations from the reference (package RealtimeGym, commit 3d5b3ef), all outside the recorded turns: `reset` always builds the level of
its seed (there, a second reset yields another level); a finished episode cannot be stepped; the last observation is the real one, not
an empty one; anything but U D S is an error (there, it means stay); seeds above 7 are allowed and pick levels by the length of their
best crossing; reward is per step, beside the cumulative score; the text tells the wrap-around and the restart after a hit.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Literal

import msgspec

from games.base import BaseGame, Board, Entity, GameError, GameSpec, Observation, StepResult, read_snapshot
from games.rng import SEED_MAX, Legacy

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

COLUMNS = 9
MIDDLE = 4
GOAL = 9
"""Lane that wins; also the row of lane 0, as rows count from the top."""
CAP = 100
UNIT = 12
"""Parts of a cell in observations."""

# Car as the reference keeps it: (x of head, row, timer, speed, length). |speed| < 1 is a fast car of 1/|speed| cells a turn.
Car = tuple[int, int, int, int | float, int]

_KNOWN_SEEDS = {
    "easy": (1000, 1001, 1002, 1003, 1013, 1014, 1016, 1018),
    "medium": (1069, 1093, 1536, 1858, 1338, 2496, 1933, 1863),
    "hard": (1447, 2408, 2418, 2661, 1100, 1944, 1310, 2453),
}
# Of the levels for seeds the reference does not know: first level seed tried is base + 1000 * seed; (worst, best) best score.
_BANDS = {"easy": (100_000, 87, 89), "medium": (200_000, 84, 86), "hard": (300_000, 79, 81)}

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


# Levels


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


def _in_units(car: Car) -> tuple[int, int, str, int, int]:
    """Return a car as observations carry it: (lane, head, "left" or "right", speed, length), in twelfths of a cell."""
    x, row, timer, speed, length = car
    units = int(UNIT / abs(speed))
    head = UNIT * (x - MIDDLE)
    if abs(speed) >= 1:
        head += (int(speed) - timer - 1) * units
    return GOAL - row, head, "left" if speed < 0 else "right", units, UNIT * length - 1


class _Frame(msgspec.Struct, frozen=True):
    """The traffic of one turn, in the three forms it is asked for."""

    cars: tuple[Car, ...]
    covered: int
    states: tuple[tuple[int, int, str, int, int], ...]


def _frame(cars: tuple[Car, ...]) -> _Frame:
    states = sorted(map(_in_units, cars), key=lambda state: state[0])
    return _Frame(cars=cars, covered=_covered(cars), states=tuple(states))


class _Traffic:
    """The turns of one stretch of traffic, which no player can influence: made once, in order, and kept.

    Keyed by turn, not appended, so that two games sharing one from two threads at worst make the same frame twice.
    """

    __slots__ = ("_frames",)

    def __init__(self, cars: tuple[Car, ...]) -> None:
        self._frames = {0: _frame(cars)}

    def at(self, turn: int) -> _Frame:
        """Return the traffic `turn` turns after its start; asked for in order."""
        frame = self._frames.get(turn)
        if frame is None:
            frame = self._frames[turn] = _frame(_drive(self._frames[turn - 1].cars))
        return frame


@lru_cache(maxsize=64)
def _traffic(number: int) -> _Traffic:
    """Return the traffic of the level drawn from `RandomState(number)`."""
    return _Traffic(build(Legacy(number)))


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


# The rules, on views. A view is {"turn", "lane": 0..9, "cars": [[lane, head, "left" or "right", speed, length], ...] sorted by lane} in
# twelfths of a cell, the player at 0. A car covers head-length..head (right) or head..head+length (left). Nothing here changes a view.

# A head at or beyond this has left the road; one turn later it stands at +-_ENTRY on the other side.
_OFF = UNIT * (COLUMNS - MIDDLE)
_ENTRY = UNIT * MIDDLE


def lane_after(lane: int, letter: str) -> int:
    """Return the lane a letter leads to."""
    if letter == "U":
        return min(GOAL, lane + 1)
    return max(0, lane - 1) if letter == "D" else lane


def car_after(car: list[Any], turns: int) -> int:
    """Return where the head of a car of a view is `turns` turns later, unless a hit restarts the traffic. Exact."""
    _, head, direction, speed, _ = car
    if direction == "right":
        for _ in range(turns):
            head = head + speed if head < _OFF else -_ENTRY
    else:
        for _ in range(turns):
            head = head - speed if head > -_OFF else _ENTRY
    return int(head)


def cars_after(view: dict[str, Any], turns: int) -> list[list[Any]]:
    """Return the cars of a view `turns` turns later, unless a hit restarts the traffic. Exact."""
    return [[car[0], car_after(car, turns), *car[2:]] for car in view["cars"]]


def blocked(view: dict[str, Any], lane: int, turns: int) -> bool:
    """Return whether a car covers the player's column on `lane` in `turns` turns: whoever stands there then is hit."""
    return any(car[0] == lane and _covers(car_after(car, turns), car[2], car[4]) for car in view["cars"])


def timetable(view: dict[str, Any], turns: int) -> list[tuple[bool, ...]]:
    """Return `blocked` for all lanes 0..9 and 0..turns turns ahead, as table[turns][lane]. Exact until a hit."""
    table = []
    cars = [car[:] for car in view["cars"]]
    for _ in range(turns + 1):
        row = [False] * (GOAL + 1)
        for car in cars:
            if _covers(car[1], car[2], car[4]):
                row[car[0]] = True
            car[1] = car_after(car, 1)
        table.append(tuple(row))
    return table


def advance(view: dict[str, Any], letter: str) -> tuple[dict[str, Any], bool, bool]:
    """Return (view after one turn, whether the goal was reached, whether a car hit). Does not end at turn 100.

    After a hit the lane is 0 and the cars are those that were driving: the view does not know where the traffic starts again.
    On the goal the cars do not move.
    """
    lane = lane_after(view["lane"], letter)
    turn = view["turn"] + 1
    if lane == GOAL:
        return {"turn": turn, "lane": lane, "cars": view["cars"]}, True, False
    cars = cars_after(view, 1)
    hit = any(car[0] == lane and _covers(car[1], car[2], car[4]) for car in cars)
    return {"turn": turn, "lane": 0 if hit else lane, "cars": cars}, False, hit


def _covers(head: int, direction: str, length: int) -> bool:
    """Return whether a car with this head covers the player's column."""
    return head - length <= 0 <= head if direction == "right" else head <= 0 <= head + length


def words(view: dict[str, Any]) -> str:
    """Return a view in words, complete, for a language model."""
    lines = [
        f"Turn: {view['turn']} (the game ends when turn {CAP} is over)",
        f"Your position: (0, {view['lane']}), on lane {view['lane']}; the goal is lane {GOAL}",
        "Cars of each lane as (head, tail, direction, speed):",
    ]
    for lane in range(1, GOAL):
        cars = [
            f"({head}, {head - length if direction == 'right' else head + length}, {direction}, {speed})"
            for on, head, direction, speed, length in view["cars"]
            if on == lane
        ]
        lines.append(f"Lane {lane}: {' '.join(cars) or 'none'}")
    return "\n".join(lines) + "\n"


def describe() -> str:
    """Return the rules in words, for a thinker."""
    return (
        "You cross a road. You always stand at x = 0; y is your lane. Lane 0 is the start, lane 9 the goal, lanes 1 to 8 carry cars.\n"
        "Every turn you move first: U is one lane up (y+1), D is one lane down (y-1, not below lane 0), S stays. Without an answer in "
        "time you go U. If you are on lane 9 now, you have won at once.\n"
        "Then every car moves along its lane by its speed: a car facing right adds its speed to its head, a car facing left "
        "subtracts it. A car covers every x from its tail to its head, both included; the distance of tail and head never changes.\n"
        "Cars come back: a car facing right whose head is at 60 or more does not move by its speed but has its head at -48 next turn; "
        "a car facing left whose head is at -60 or less has its head at 48 next turn. From there it goes on by its speed.\n"
        "You are hit if, after you and the cars have moved, a car on your lane covers x = 0. Nothing in between counts: you may pass "
        "through where a car has been. When hit, you are put back on lane 0 and all cars stand again where they stood at turn 0; "
        "the turn goes on counting.\n"
        "You have 100 turns, and your score is 100 minus the number of turns you took, 0 if you never arrive. "
        "Goal: reach lane 9 in as few turns as you can."
    )


def _possible(car: Car) -> bool:
    """Return whether the rules know such a car; a snapshot may come from anywhere."""
    x, row, timer, speed, length = car
    if not (-COLUMNS <= x <= 2 * COLUMNS and 1 <= row < GOAL and 1 <= length <= COLUMNS):
        return False
    if abs(speed) < 1:
        return abs(speed) * COLUMNS >= 1
    return speed in (1, 2, 3, 4) and 0 <= timer < speed


class _Rest(msgspec.Struct, frozen=True):
    game: Literal["freeway"]
    load: str
    seed: int
    score: int
    done: bool
    done_reason: Literal["goal", "cap"] | None
    level_seed: int


class _Snapshot(msgspec.Struct, frozen=True):
    turn: int
    pos: int
    cars: list[tuple[int, int, int, int | float, int]]
    rest: _Rest


def _viewed(turn: int, lane: int, states: tuple[tuple[int, int, str, int, int], ...]) -> dict[str, Any]:
    return {"turn": turn, "lane": lane, "cars": [list(state) for state in states]}


class Game(BaseGame):
    """One episode of Freeway after another; the rules stand at the top of this module."""

    spec = SPEC

    def __init__(self, load: str = "medium", seed: int = 0) -> None:
        super().__init__(load, seed)
        self._level_seed = level_seed(self.load, self.seed)
        self._row = GOAL
        self._traffic = _traffic(self._level_seed)
        # Turns since this traffic started; behind the turn after a hit.
        self._driven = 0
        self._frame: _Frame | None = None
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
            raise GameError(f"not a snapshot of game 'freeway': level_seed {number} is outside 0..{SEED_MAX}")
        if not 1 <= saved.pos <= GOAL:
            raise GameError(f"not a snapshot of game 'freeway': pos {saved.pos} is outside 1..{GOAL}")
        for car in saved.cars:
            if not _possible(car):
                raise GameError(f"not a snapshot of game 'freeway': no such car as {list(car)!r}")
        self.load, self.seed, self._level_seed = load, seed, number
        self._traffic = _Traffic(tuple(saved.cars))
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
        return Board(columns=COLUMNS, rows=GOAL + 1, entities=tuple(entities), status=(("lane", str(lane)), ("turns left", str(self._score))))

    def _restart(self) -> None:
        """Put the player and the traffic where an episode starts."""
        self._row = GOAL
        self._traffic = _traffic(self._level_seed)
        self._driven = 0
        self._frame = self._traffic.at(0)

    def _finish(self, reason: str) -> None:
        self._playing = False
        self.done_reason = reason
