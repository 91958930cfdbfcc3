"""Snake: eat apples on a small walled board, and do not bite.

The board is 8 x 8 cells, (0, 0) bottom left, x to the right, y up. The border cells are walls, so the snake lives on 1..6 x 1..6;
some of those cells are obstacles. The snake starts as one cell on (3, 3), heading left, and moves one cell every turn.

In each turn, in this order:
1. The heading becomes the letter given. The reverse of the heading is ignored and the snake goes straight on, even at length 1.
2. The snake dies if the cell ahead is a wall, an obstacle or its own body. Its tail cell does not count as body, because the tail
   moves away in the same turn, unless an apple lies on that cell: then the tail stays and the snake dies. Dying costs one point.
3. The head enters the cell. An apple there is eaten: one point, and the tail stays, so the snake is one cell longer.
4. Apples age. Each has a life, 10 when new, that falls by one a turn; it vanishes in the turn in which its life would reach 0. The
   apple behind a vanishing one in the list does not age that turn (a quirk of the reference, kept: it lives one turn longer).
5. On turns 1, 4, 7, ... one new apple appears, possibly under the snake. Where is fixed by the seed but not told to the player.

| | |
|---|---|
| actions | L R U D; the default S (go straight) is accepted too |
| ends when | the snake dies, or turn 100 is over |
| score | +1 an apple, -1 for dying |
| points | apples eaten; 24 make a normalised score of 1.0 |
| cognitive load | obstacles: 1 easy, 5 medium, 8 hard |

Deviations from the reference (package RealtimeGym, commit 3d5b3ef), all outside the recorded turns: a finished episode cannot be
stepped (there, a dead snake lives on); the last observation is the real one, not an empty one; anything but L R U D S is an error
(there, it means straight on); seeds above 31 are allowed and seed the same generator; dying and eating are told by reward per step
beside the cumulative score.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Literal

import msgspec

from games.base import BaseGame, Board, Entity, Figure, GameSpec, Observation, StepResult, Turn, no_snapshot, read_snapshot
from games.rng import Legacy

__all__ = ["SPEC", "STEP", "Game", "Level", "advance", "describe", "level", "moves", "safe_moves", "words"]

SIZE = 8
START = (3, 3)
LIFE = 10
VALUE = 1
CAP = 100
OBSTACLES = {"easy": 1, "medium": 5, "hard": 8}

STEP = {"L": (-1, 0), "R": (1, 0), "U": (0, 1), "D": (0, -1)}
"""Direction letter -> (dx, dy)."""
REVERSE = {"L": "R", "R": "L", "U": "D", "D": "U"}
WORD = {"L": "left", "R": "right", "U": "up", "D": "down"}
# The three letters that mean something for each heading, in the order prompts list letters.
_MOVES = {heading: tuple(letter for letter in STEP if letter != REVERSE[heading]) for heading in STEP}

SPEC = GameSpec(
    name="snake",
    title="Snake",
    summary="Eat as many apples as you can in 100 turns without hitting a wall, an obstacle or yourself.",
    letters=(("L", "left"), ("R", "right"), ("U", "up"), ("D", "down")),
    default_action="S",
    points_name="apples",
    points_max=24.0,
    max_ticks=CAP,
    help=(
        "Eat apples: +1 each. Hitting a wall, an obstacle or",
        "yourself ends the game: -1.",
        "The snake moves one cell every turn and cannot",
        "reverse. With no key it goes straight on.",
        "An apple shows how many turns it still lives.",
        "A new one comes every third turn.",
        "Entering the cell the tail is leaving is safe,",
        "unless an apple lies there.",
        "Keys: arrows, WASD or hjkl.",
    ),
)


class Level(msgspec.Struct, frozen=True):
    """What load and seed fix."""

    obstacles: tuple[tuple[int, int], ...]
    """Obstacle cells in the order they were placed."""
    spawn_order: tuple[tuple[int, int], ...]
    """Cells apples appear on, in turn, over and over."""


# Seeding the generator and shuffling cost 0.15 ms, thirty times a step; episodes of one seed are often played in a row.
@lru_cache(maxsize=256)
def level(load: str, seed: int) -> Level:
    """Return the level of a seed. Source: spec 2.2; the order of the draws is the reference's."""
    rng = Legacy(seed)
    obstacles: list[tuple[int, int]] = []
    while len(obstacles) < OBSTACLES[load]:
        x = rng.randint(1, SIZE - 1)
        y = rng.randint(1, SIZE - 1)
        if (x, y) != START and (x, y) not in obstacles:
            obstacles.append((x, y))
    inner = range(1, SIZE - 1)
    cells = [(x, y) for x in inner for y in inner if (x, y) != START and (x, y) not in obstacles]
    rng.shuffle(cells)
    rng.shuffle(cells)
    return Level(obstacles=tuple(obstacles), spawn_order=tuple(cells))


# The rules, on views. A view is {"turn", "direction", "snake": [[x, y], ...] head first, "foods": [[x, y, life, value], ...],
# "obstacles": [[x, y], ...], "size"}. These functions never change a view; what they return may share its unchanged parts.


def moves(view: dict[str, Any]) -> tuple[str, ...]:
    """Return the three letters that mean different things now: all but the reverse of the heading."""
    return _MOVES[view["direction"]]


def safe_moves(view: dict[str, Any]) -> tuple[str, ...]:
    """Return the letters of `moves` that do not kill in this turn."""
    return tuple(letter for letter in _MOVES[view["direction"]] if not advance(view, letter)[2])


def advance(view: dict[str, Any], letter: str) -> tuple[dict[str, Any], bool, bool]:
    """Return (view after one turn, whether an apple was eaten, whether the snake died).

    Exact but for the new apple of turns 1, 4, 7, ..., whose cell a thinker does not know; it can only add to `foods`. Any letter but
    L R U D goes straight on. Does not end at turn 100.
    """
    direction = view["direction"]
    if letter in STEP and letter != REVERSE[direction]:
        direction = letter
    dx, dy = STEP[direction]
    snake = view["snake"]
    foods = view["foods"]
    obstacles = view["obstacles"]
    size = view["size"]
    x, y = snake[0]
    x += dx
    y += dy
    head = [x, y]
    eaten = None
    for food in foods:
        if food[0] == x and food[1] == y:
            eaten = food
            break
    outside = not (0 < x < size - 1 and 0 < y < size - 1)
    if outside or head in obstacles or (head in snake and (eaten is not None or head != snake[-1])):
        after = {"turn": view["turn"] + 1, "direction": direction, "snake": snake, "foods": foods, "obstacles": obstacles, "size": size}
        return after, False, True
    aged = []
    skipped = False
    for food in foods:
        if food is eaten:
            continue
        fx, fy, life, value = food
        if skipped:
            # It slid into the place of one that just vanished, and the walk by index has passed that place.
            skipped = False
            aged.append(food)
        elif life <= 1:
            skipped = True
        else:
            aged.append([fx, fy, life - 1, value])
    body = [head, *snake] if eaten is not None else [head, *snake[:-1]]
    after = {"turn": view["turn"] + 1, "direction": direction, "snake": body, "foods": aged, "obstacles": obstacles, "size": size}
    return after, eaten is not None, False


def words(view: dict[str, Any]) -> str:
    """Return a view in words, complete, for a language model."""
    edge = view["size"] - 1
    obstacles = _cells(view["obstacles"]) or "none"
    foods = "; ".join(f"({x},{y}) life {life} value {value}" for x, y, life, value in view["foods"]) or "none"
    heading = view["direction"]
    return (
        f"Turn: {view['turn']} (the game ends when turn {CAP} is over)\n"
        f"Walls: every cell with x = 0, x = {edge}, y = 0 or y = {edge}\n"
        f"Obstacles: {obstacles}\n"
        f"Snake, head first: {_cells(view['snake'])}\n"
        f"Heading: {heading} ({WORD[heading]})\n"
        f"Apples, in ageing order: {foods}\n"
    )


def describe() -> str:
    """Return the rules in words, for a thinker."""
    return (
        "You steer a snake on a board of 8 x 8 cells. (0,0) is the bottom left cell, x grows to the right, y grows upward. "
        "The outermost cells are walls, so the free cells have x and y from 1 to 6; some of those are obstacles.\n"
        "Every turn the snake moves one cell: L is x-1, R is x+1, U is y+1, D is y-1. The reverse of its heading is ignored and it "
        "goes straight on, also when it is one cell long.\n"
        "It dies when its head would enter a wall, an obstacle or its own body. Its last cell is safe to enter, because the tail "
        "leaves it in the same turn, unless an apple lies there: eating keeps the tail in place, so that kills.\n"
        "An apple in the cell the head enters is eaten: the score rises by its value (always 1) and the snake grows by one cell, the "
        "tail staying where it is for that turn. Dying costs 1 and ends the game. Otherwise the game ends when turn 100 is over.\n"
        "After the move every apple's life falls by 1, and an apple whose life was 1 vanishes: an apple shown with life n can be "
        "eaten by a move made at most n turns from now, counting the next move as 1. Exception: when an apple vanishes, the next one "
        "in the list does not age in that turn.\n"
        "New apples have life 10. Three lie there at the start; one more comes at the end of turns 1, 4, 7 and so on, on an inner "
        "cell without obstacle that you cannot foresee. It may lie under the snake and is eaten only when the head enters its cell.\n"
        "Goal: eat as many apples as you can, and stay alive."
    )


def _cells(cells: list[list[int]]) -> str:
    return " ".join(f"({x},{y})" for x, y in cells)


def _copied(view: dict[str, Any]) -> dict[str, Any]:
    return {
        "turn": view["turn"],
        "direction": view["direction"],
        "snake": [cell[:] for cell in view["snake"]],
        "foods": [food[:] for food in view["foods"]],
        "obstacles": [cell[:] for cell in view["obstacles"]],
        "size": view["size"],
    }


class _Rest(msgspec.Struct, frozen=True):
    game: Literal["snake"]
    load: str
    seed: int
    score: Figure
    done: bool
    done_reason: Literal["dead", "cap"] | None


class _Snapshot(msgspec.Struct, frozen=True):
    turn: Turn
    dir: Literal["L", "R", "U", "D"]
    snake: list[tuple[int, int]]
    foods: list[tuple[int, int, Figure, Figure]]
    idx: int
    rest: _Rest


class Game(BaseGame):
    """One episode of Snake after another; the rules stand at the top of this module."""

    spec = SPEC

    def __init__(self, load: str = "medium", seed: int = 0) -> None:
        super().__init__(load, seed)
        self._level = level(self.load, self.seed)
        # The state is a view that is never altered in place: each turn makes the next one, so observations only hold on to it.
        self._view: dict[str, Any] = {}
        self._next_spawn = 0
        self._score = 0

    @property
    def points(self) -> float:
        """Apples eaten."""
        return self._score + (self.done_reason == "dead")

    def reset(self, seed: int | None = None) -> Observation:
        """Start the episode of `seed`, or of the seed already set, and return its first observation."""
        if seed is not None:
            self.seed = self._checked_seed(seed)
            self._level = level(self.load, self.seed)
        self._score = self._turn = self._next_spawn = 0
        self.done_reason = None
        self._playing = True
        self._view = {
            "turn": 0,
            "direction": "L",
            "snake": [list(START)],
            "foods": [self._spawned() for _ in range(3)],
            "obstacles": [list(cell) for cell in self._level.obstacles],
            "size": SIZE,
        }
        return self.observe()

    def step(self, action: str) -> StepResult:
        """Play one turn. Raises GameError, with nothing changed, if `action` is none or there is no episode to step."""
        if not self._playing or action not in self._accepted:
            raise self._refusal(action)
        after, eaten, dead = advance(self._view, action)
        turn = self._turn = after["turn"]
        reward = 0
        if dead:
            reward = -1
            self._finish("dead")
        else:
            if eaten:
                reward = VALUE
            if turn % 3 == 1:
                after["foods"].append(self._spawned())
            if turn >= CAP:
                self._finish("cap")
        self._score += reward
        self._view = after
        return StepResult(
            observation=self.observe(),
            reward=reward,
            score=self._score,
            terminated=dead,
            truncated=not dead and turn >= CAP,
            reset=False,
            done_reason=self.done_reason,
        )

    def observe(self) -> Observation:
        """Return the current observation."""
        view = self._view
        if not view:
            raise self._unready("observe")
        return Observation(tick=view["turn"], view=partial(_copied, view), text=words)

    def snapshot(self) -> dict[str, Any]:
        """Return the whole state as plain values, in the schema of the recorded reference episodes plus `rest`."""
        view = self._view
        if not view:
            raise self._unready("snapshot")
        return {
            "turn": view["turn"],
            "dir": view["direction"],
            "snake": [cell[:] for cell in view["snake"]],
            "foods": [food[:] for food in view["foods"]],
            "idx": self._next_spawn,
            "rest": {
                "game": "snake",
                "load": self.load,
                "seed": self.seed,
                "score": self._score,
                "done": not self._playing,
                "done_reason": self.done_reason,
            },
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become the game the snapshot was taken of, load and seed included. Raises GameError, with nothing changed, if it is none."""
        saved = read_snapshot(snapshot, _Snapshot, "snake")
        load, seed = self._checked_load(saved.rest.load), self._checked_seed(saved.rest.seed)
        found = level(load, seed)
        inside = range(SIZE)
        if not saved.snake or not all(x in inside and y in inside for x, y, *_ in (*saved.snake, *saved.foods)):
            raise no_snapshot("snake", f"the snake or an apple is not on the board of {SIZE} x {SIZE} cells")
        if not 0 <= saved.idx < len(found.spawn_order):
            raise no_snapshot("snake", f"idx {saved.idx} is outside 0..{len(found.spawn_order) - 1}")
        self.load, self.seed, self._level = load, seed, found
        self._view = {
            "turn": saved.turn,
            "direction": saved.dir,
            "snake": [list(cell) for cell in saved.snake],
            "foods": [list(food) for food in saved.foods],
            "obstacles": [list(cell) for cell in found.obstacles],
            "size": SIZE,
        }
        self._turn, self._next_spawn, self._score = saved.turn, saved.idx, saved.rest.score
        self._playing, self.done_reason = not saved.rest.done, saved.rest.done_reason

    def describe(self) -> str:
        """Return the rules in words, for a thinker."""
        return describe()

    def board(self) -> Board:
        """Return what a screen draws: walls, obstacles, apples, then the snake from tail to head."""
        view = self._view
        if not view:
            raise self._unready("board")
        edge = SIZE - 1
        entities = [
            Entity(kind="wall", x=x, y=y, glyph="▒", ascii="#", role="wall")
            for y in range(SIZE)
            for x in range(SIZE)
            if x in (0, edge) or y in (0, edge)
        ]
        entities += [Entity(kind="obstacle", x=x, y=y, glyph="▓", ascii="%", role="hazard") for x, y in view["obstacles"]]
        entities += [Entity(kind="food", x=x, y=y, glyph="●", ascii="*", role="goal", text=str(life)) for x, y, life, _ in view["foods"]]
        snake = view["snake"]
        for i in range(len(snake) - 1, -1, -1):
            x, y = snake[i]
            links = "".join(_toward(snake[i], snake[j]) for j in (i - 1, i + 1) if 0 <= j < len(snake))
            if i:
                entities.append(Entity(kind="body", x=x, y=y, glyph="■", ascii="o", role="player", links=links))
            else:
                facing = view["direction"]
                entities.append(Entity(kind="head", x=x, y=y, glyph=_HEAD[facing], ascii="@", role="player", facing=facing, links=links))
        return Board(
            columns=SIZE, rows=SIZE, entities=tuple(entities), status=(("apples", str(int(self.points))), ("length", str(len(snake))))
        )

    def _spawned(self) -> list[int]:
        """Return the next new apple."""
        order = self._level.spawn_order
        x, y = order[self._next_spawn]
        self._next_spawn = (self._next_spawn + 1) % len(order)
        return [x, y, LIFE, VALUE]

    def _finish(self, reason: str) -> None:
        self._playing = False
        self.done_reason = reason


_HEAD = {"L": "◀", "R": "▶", "U": "▲", "D": "▼"}
_LETTER = {step: letter for letter, step in STEP.items()}


def _toward(cell: list[int], neighbour: list[int]) -> str:
    """Return the letter of the direction from a cell to one beside it."""
    return _LETTER.get((neighbour[0] - cell[0], neighbour[1] - cell[1]), "")
