"""What a turn on the road does, as pure functions on views, and a view in words.

A view is {"turn", "lane": 0..9, "cars": [[lane, head, "left" or "right", speed, length], ...] sorted by lane} in twelfths of a cell, the
player at 0. A car covers head-length..head (right) or head..head+length (left). Nothing here changes a view.
"""

from __future__ import annotations

from typing import Any

from games.freeway.traffic import CAP, COLUMNS, GOAL, MIDDLE, UNIT

__all__ = ["advance", "blocked", "car_after", "cars_after", "describe", "lane_after", "timetable", "words"]

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
        "Every turn you move first: U is one lane up (y+1), D is one lane down (y-1, not below lane 0), S stays. "
        "If you are on lane 9 now, you have won at once.\n"
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
