"""What the builtin Freeway planner searches with: the road turn by turn, and a best-first search over (turn, lane).

A place is (turn, lane): I stand on that lane when the cars of that turn have moved. A place is known once it was looked at, and looking
at it is what writes its sentence; nothing else of the traffic ever counts. A place from which every move leads under a car, or to a
place that is closed itself, is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

from games.freeway import GOAL, car_after, lane_after

__all__ = ["Place", "Road", "Search", "moves", "places_of"]

Place = tuple[int, int]

LETTERS = "USD"
"""In the order they are tried: on, wait, back."""
OFF, ENTRY = 60, 48
"""Where a head has left the road, and where it comes back on the other side, in twelfths of a cell."""
_ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th")
_TAKEN = {"U": "U puts me on", "S": "S keeps me on", "D": "D takes me back to"}


def moves(place: Place) -> list[tuple[str, Place]]:
    """Return (letter, place it leads to) for the letters that differ: on the kerb D is S."""
    turn, lane = place
    return [(letter, (turn + 1, lane_after(lane, letter))) for letter in LETTERS if lane or letter != "D"]


def places_of(start: Place, line: str) -> list[Place]:
    """Return the places a line of letters goes through, the start included."""
    out = [start]
    for letter in line:
        turn, lane = out[-1]
        out.append((turn + 1, lane_after(lane, letter)))
    return out


class Road:
    """The traffic of a frozen view, as far as it has been looked at."""

    def __init__(self, view: dict[str, Any], *, max_ticks: int) -> None:
        self.turn: int = view["turn"]
        self.last = max_ticks
        """Turn that ends the game."""
        self._cars: list[list[list[Any]]] = [[car for car in view["cars"] if car[0] == lane] for lane in range(GOAL + 1)]
        self._met: set[int] = set()
        self.known: dict[Place, bool] = {}
        """Place to whether a car covers me there."""
        self.closed: set[Place] = set()
        self._left: set[Place] = set()

    def introduce(self, lane: int) -> str:
        """Return what drives on a lane, the first time it is asked for; then, and for the kerbs, nothing."""
        if lane in self._met or not 0 < lane < GOAL:
            return ""
        self._met.add(lane)
        cars = self._cars[lane]
        if not cars:
            return f"Lane {lane} is empty.\n"
        for other in sorted(self._met - {lane}, reverse=True):
            if [car[1:] for car in self._cars[other]] == [car[1:] for car in cars]:
                return f"Lane {lane} carries the same traffic as lane {other}: heads at {_heads(cars)}, {_pace(cars[0])}.\n"
        if len(cars) == 1:
            return f"Lane {lane} has one car, a {cars[0][2]} mover, {_pace(cars[0])}: at turn {self.turn} it covers {_span(cars[0], cars[0][1])}.\n"
        return f"Lane {lane} has {len(cars)} {cars[0][2]} movers, {_pace(cars[0])}, heads at {_heads(cars)} at turn {self.turn}.\n"

    def look(self, place: Place) -> str:
        """Look at a place and return the arithmetic, without a full stop; `known` then holds the verdict."""
        turn, lane = place
        cars = self._cars[lane]
        if not cars:
            self.known[place] = False
            return "the kerb, where no car comes: clear" if lane in (0, GOAL) else "an empty lane: clear"
        covered = False
        parts = []
        for k, car in enumerate(cars):
            text, here = self._driven(car, turn)
            parts.append(f"the {_ORDINALS[k] + ' ' if len(cars) > 1 else ''}{car[2]} mover {text}")
            covered |= here
        self.known[place] = covered
        if covered:
            self.closed.add(place)
        return f"{', and '.join(parts)}: {'hit' if covered else 'clear'}"

    def _driven(self, car: list[Any], turn: int) -> tuple[str, bool]:
        """Return (where a car is at a turn, with the sum that says so; whether it covers me)."""
        _, start, direction, speed, length = car
        turns = turn - self.turn
        right = direction == "right"
        sign = "+" if right else "-"
        head = car_after(car, turns)
        alone = max(0, -(-(OFF - (start if right else -start)) // speed))
        if turns <= alone:
            text = f"is at {start} {sign} {turns} * {speed} = {head}"
        else:
            since = (turns - alone - 1) % (-(-(OFF + ENTRY) // speed) + 1)
            entry = -ENTRY if right else ENTRY
            text = f"came back at {entry} on turn {turn - since} and is at {entry} {sign} {since} * {speed} = {head}" if since else f"left the road and is back at {head}"
        low, high = (head - length, head) if right else (head, head + length)
        text += f", covering {low} to {high}, so "
        if low <= 0 <= high:
            return text + "0 is under it", True
        ahead, behind = (-high, low) if right else (low, -high)
        if 0 < ahead <= speed:
            return text + "0 is free, but not a turn longer", False
        if 0 < behind <= speed:
            return text + "it has just gone by", False
        return text + "0 stays free", False

    def covered_turns(self, lane: int, until: int) -> list[int]:
        """Return the turns, from the next one to `until`, at which a car of the lane covers me there. The caller writes them down."""
        turns = range(self.turn + 1, until + 1)
        return [turn for turn in turns if any(self._driven(car, turn)[1] for car in self._cars[lane])]

    def leave(self, place: Place) -> None:
        """Every move from a place has been looked at: close it, and those before it, if none is left."""
        self._left.add(place)
        self._settle(place)

    def _settle(self, place: Place) -> None:
        turn, lane = place
        if place not in self._left or place in self.closed or any(to not in self.closed for _, to in moves(place)):
            return
        self.closed.add(place)
        for before in (lane - 1, lane, lane + 1):
            self._settle((turn - 1, before))


class Search:
    """A* from a place to lane 9, or to a line that is known to lead there. What is written is what is looked at."""

    def __init__(self, road: Road, start: Place, joins: frozenset[Place] = frozenset()) -> None:
        self.road = road
        self.start = start
        self.joins = joins
        """Places of a line that leads to lane 9."""
        self.line: str | None = None
        """Letters of the line found."""
        self.joined: Place | None = None
        self.front = start
        """The furthest place still open: highest lane, the earliest of those."""
        self.looked = 0
        self._came: dict[Place, tuple[Place, str] | None] = {start: None}
        self._heap: list[tuple[int, int, Place]] = [(start[0] + GOAL - start[1], -start[1], start)]

    def run(self) -> Iterator[str]:
        """Yield a sentence for each move looked at, until a line is found or none is left."""
        road, heap = self.road, self._heap
        while heap:
            place = heappop(heap)[2]
            if place in road.closed or place[0] >= road.last:
                road.closed.add(place)
                continue
            turn, lane = place
            again = []
            for letter, to in moves(place):
                if to[1] == GOAL:
                    self._came[to] = place, letter
                    self.line = self.way(to)
                    yield f"From lane {lane} at turn {turn}: U puts me on lane {GOAL} at turn {to[0]}, and that is the other side.\n"
                    return
                if to in self._came:
                    continue
                if to in road.known:
                    again.append(f"{letter} to lane {to[1]} is {'hit' if road.known[to] else 'clear'}")
                else:
                    intro = road.introduce(to[1])
                    if intro:
                        yield intro
                    self.looked += 1
                    yield f"From lane {lane} at turn {turn}: {_TAKEN[letter]} lane {to[1]} at turn {to[0]}; {road.look(to)}.\n"
                self._came[to] = place, letter
                if to in road.closed:
                    continue
                heappush(heap, (to[0] + GOAL - to[1], -to[1], to))
                if to[1] > self.front[1] or self.front == self.start:
                    self.front = to
                if to in self.joins:
                    if again:
                        yield _again(place, again)
                    self.line, self.joined = self.way(to), to
                    return
            if again:
                yield _again(place, again)
            road.leave(place)
            if self.front in road.closed:
                self.front = self._furthest()

    def way(self, to: Place) -> str:
        """Return the letters that lead from the start to a place this search has come to."""
        letters = []
        step = self._came[to]
        while step is not None:
            letters.append(step[1])
            step = self._came[step[0]]
        return "".join(reversed(letters))

    def _furthest(self) -> Place:
        """Return the place the search would go on from, or the start when nothing is open."""
        return min(((f, lane, place) for f, lane, place in self._heap if place not in self.road.closed), default=(0, 0, self.start))[2]


def _again(place: Place, parts: list[str]) -> str:
    return f"From lane {place[1]} at turn {place[0]}, as found before: {', '.join(parts)}.\n"


def _heads(cars: list[list[Any]]) -> str:
    heads = [str(car[1]) for car in cars]
    return heads[0] if len(heads) == 1 else f"{', '.join(heads[:-1])} and {heads[-1]}"


def _pace(car: list[Any]) -> str:
    speed: int = car[3]
    if speed >= 12:
        return f"{speed} a turn"
    return f"{speed} a turn, that is a cell in {12 // speed}"


def _span(car: list[Any], head: int) -> str:
    return f"{head - car[4]} to {head}" if car[2] == "right" else f"{head} to {head + car[4]}"
