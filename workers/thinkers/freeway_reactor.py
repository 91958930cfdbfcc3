r"""The builtin Freeway reactor: two turns of look-ahead of its own, then the planner's notes, then one `\boxed{X}`.

All it gets is what a language model would get: the fresh road, and the planner's text as far as it was written. Its own view is short:
a step is good if no car is there next turn and it could go on, up or waiting, the turn after. It never counts on walking back, and two
turns are too few to see that a gap leads nowhere. So it asks whether a plan line passes where it stands, and follows that line if its
next steps hold on the fresh road; else it looks for a step that leads back onto a line; else it keeps the warnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from games.freeway import GOAL, car_after, lane_after
from workers.thinkers.commit import Step, sentences, spoken
from workers.thinkers.guidance import Line, Notes, read_notes
from workers.tokens import count_tokens

__all__ = ["commit", "react"]

ENOUGH = 1650
"""Tokens after which no further step of a plan line is checked; the rest of the text is at most 350."""
AHEAD = 12
"""Steps of a line that are checked at most."""
LANE_UP, WAY_ON, STUCK = 1.0, 0.1, -5.0
FOLLOWS, WARNED = 8.0, -3.0

_TO_LANE = re.compile(r"to lane (\d)")
_ON_LANE = re.compile(r"lane (\d)")
_WARNED_LANE = re.compile(r"avoid lane (\d) at turn (\d+)")
_SHIFT = {"U": 1, "S": 0, "D": -1}
_NUMBERED = ("the first", "the second", "the third", "the next")


def react(view: dict[str, Any], guidance: str, *, load: str, max_ticks: int = 100) -> Iterator[Step]:
    """Yield (strategy, text) for the fresh road `view`; the last step is the answer. `guidance` is text, or empty for none."""
    options: list[_Option] = []
    yield from _thoughts(view, guidance, options)
    best = max(options, key=lambda option: option.weight)
    if best.hit:
        yield "check", "I am hit whatever I do.\n"
    yield "conclude", f"\\boxed{{{best.letter}}}"


def commit(view: dict[str, Any], guidance: str, said: str, *, load: str, max_ticks: int = 100) -> Iterator[Step]:
    """Yield the answer of one that was cut after it had `said` so much."""
    options: list[_Option] = []
    number = sentences(_thoughts(view, guidance, []), said)
    for _ in islice(_thoughts(view, guidance, options), number):
        pass
    if not options:
        return spoken("U", "I have looked at no step to its end, so I go on.")
    best = max(options, key=lambda option: option.weight)
    return spoken(best.letter, f"Of {', '.join([option.letter for option in options])} I hold {best.letter} for the best so far.")


def _thoughts(view: dict[str, Any], guidance: str, options: list[_Option]) -> Iterator[Step]:
    """Yield all that comes before the answer; each step I could take joins `options` once it was looked at."""
    spent = 0
    road = _Road(view)
    for text in _situation(road):
        spent += count_tokens(text)
        yield "understand", text
    for letter in "USD" if road.lane else "US":
        option = _Option(road, letter)
        for text in option.look():
            spent += count_tokens(text)
            yield "execute", text
        options.append(option)
    if guidance:
        yield from _advised(road, read_notes(guidance), options, spent)
    for option in options:
        if option.hit:
            yield "check", f"{option.letter} is hit at once.\n"
        else:
            yield "check", f"Weighing {option.letter}: {option.reasons()}, so {option.weight:.1f}.\n"


class _Road:
    """The fresh view, lane by lane."""

    def __init__(self, view: dict[str, Any]) -> None:
        self.turn: int = view["turn"]
        self.lane: int = view["lane"]
        self.cars: dict[int, list[list[Any]]] = {}
        for car in view["cars"]:
            self.cars.setdefault(car[0], []).append(car)

    def glance(self, lane: int, turns: int) -> tuple[str, bool]:
        """Return (what the cars of a lane do in so many turns, whether one of them covers me there)."""
        cars = self.cars.get(lane)
        if not cars:
            return "no car drives there", False
        hit = False
        said = []
        for k, car in enumerate(cars):
            name = f"the {car[2]} moving car" if len(cars) == 1 else f"{_NUMBERED[min(k, 3)]} car"
            head = car_after(car, turns)
            low, high = (head - car[4], head) if car[2] == "right" else (head, head + car[4])
            over = low <= 0 <= high
            hit |= over
            side = "right over 0" if over else "left of 0" if high < 0 else "right of 0"
            said.append(f"{name} {_way(car, head, turns)}, so it lies on {low} to {high}, {side}")
        return "; ".join(said), hit


def _way(car: list[Any], head: int, turns: int) -> str:
    """Say how a car gets where its head is so many turns on."""
    _, start, direction, speed, _ = car
    step = speed if direction == "right" else -speed
    if start + turns * step == head:
        return f"drives {start} {'+' if step > 0 else '-'} {turns} * {speed} = {head}"
    # The turn of coming back costs it its step.
    back = -48 if direction == "right" else 48
    since = (head - back) // step
    if not since:
        return f"has left the road and comes back at {head}"
    return f"leaves the road, comes back at {back} and after {_count(since, 'more turn')} is at {head}"


def _situation(road: _Road) -> Iterator[str]:
    left = GOAL - road.lane
    yield f"Turn {road.turn}. I stand on lane {road.lane}, {left} lane{'s' if left > 1 else ''} from the other side.\n"
    for lane in (road.lane + 1, road.lane, road.lane - 1):
        where = "above me" if lane > road.lane else "below me" if lane < road.lane else "with me on it"
        cars = road.cars.get(lane)
        if lane < 0:
            continue
        if not cars:
            yield f"Lane {lane}, {where}, is a kerb: no car comes there.\n" if lane in (0, GOAL) else f"Lane {lane}, {where}, is empty.\n"
            continue
        heads = " and ".join([f"{car[1]}" for car in cars])
        yield f"Lane {lane}, {where}, has {_count(len(cars), 'car')} going {cars[0][2]} by {cars[0][3]} a turn, {cars[0][4]} long, head at {heads}.\n"


class _Option:
    """One step I could take, looked at two turns deep."""

    def __init__(self, road: _Road, letter: str) -> None:
        self.road = road
        self.letter = letter
        self.lane = lane_after(road.lane, letter)
        self.hit = False
        self.ways: list[str] = []
        self.warned = False
        self.followed = False

    def look(self) -> Iterator[str]:
        """Say where the step leads and whether I could go on, or at least wait, from there."""
        letter, lane, turn = self.letter, self.lane, self.road.turn + 1
        if lane == GOAL:
            self.ways = ["U"]
            yield f"If I go {letter} now, I am on lane {lane} at turn {turn}: across.\n"
            return
        text, self.hit = self.road.glance(lane, 1)
        what = "stay" if letter == "S" else f"go {letter}"
        yield f"If I {what} now, I am on lane {lane} at turn {turn}: {text}. {'That is a hit' if self.hit else 'So that is free'}.\n"
        if self.hit:
            return
        for follow in "US":
            beyond = lane_after(lane, follow)
            if beyond == GOAL:
                self.ways.append(follow)
                yield f"After {letter}, {follow} would bring me across at turn {turn + 1}.\n"
                continue
            text, hit = self.road.glance(beyond, 2)
            if not hit:
                self.ways.append(follow)
            yield f"After {letter}, {follow} would have me on lane {beyond} at turn {turn + 1}: {text}. {'A hit' if hit else 'Free'}.\n"
        if len(self.ways) == 2:
            yield f"So after {letter} I could go on or wait.\n"
        elif self.ways:
            yield f"So after {letter} only {self.ways[0]} is left.\n"
        else:
            yield f"So {letter} would leave me stuck between cars.\n"

    @property
    def weight(self) -> float:
        if self.hit:
            return -100.0
        weight = LANE_UP * _SHIFT[self.letter] + WAY_ON * len(self.ways)
        if not self.ways:
            weight += STUCK
        if self.warned:
            weight += WARNED
        if self.followed:
            weight += FOLLOWS
        return weight

    def reasons(self) -> str:
        """Say what the weight is made of."""
        said = [{"U": "a lane up", "S": "the same lane", "D": "a lane back"}[self.letter], _count(len(self.ways), "way") + " on"]
        if self.warned:
            said.append("warned against")
        if self.followed:
            said.append("the planner's line goes there")
        return ", ".join(said)


class _Fit(NamedTuple):
    """A plan line and how I get to it from where I stand."""

    line: Line
    step: int
    """Index of its step that follows the letters below."""
    letters: str
    """Empty if I stand on the line; else the one or two steps that lead onto it."""
    across: bool
    """Whether it leads to lane 9."""


def _advised(road: _Road, notes: Notes, options: list[_Option], spent: int) -> Iterator[Step]:
    """Hold the planner's notes against the fresh road and mark the options they speak for or against."""
    for warning in notes.warnings:
        match = _WARNED_LANE.match(warning)
        for option in options:
            if match is not None and (int(match[1]), int(match[2])) == (option.lane, road.turn + 1) and not option.hit:
                option.warned = True
                text = f"The planner warns: {warning}. That speaks against {option.letter}.\n"
                spent += count_tokens(text)
                yield "plan", text
    fit = _fitting(road, notes, options)
    if fit is None:
        yield "plan", "Now the planner's notes. None of its lines passes near where I stand, so I have only its warnings to go by.\n"
        return
    text = _introduction(road, fit)
    spent += count_tokens(text)
    yield "plan", text
    lane, turn, held = road.lane, road.turn, 0
    steps = fit.letters + "".join([move.letter for move in fit.line.moves[fit.step :]])
    broken = False
    for letter in steps[:AHEAD]:
        if spent > ENOUGH:
            yield "check", "That is as far as I can check it now.\n"
            break
        lane, turn = lane_after(lane, letter), turn + 1
        if lane == GOAL:
            held += 1
            yield "check", f"Turn {turn - 1}: {letter} to lane {lane}, the other side.\n"
            break
        said, broken = road.glance(lane, turn - road.turn)
        text = f"Turn {turn - 1}: {letter} to lane {lane}; by turn {turn} {said}. {'There the line breaks' if broken else 'Free'}.\n"
        spent += count_tokens(text)
        yield "check", text
        if broken:
            break
        held += 1
    if broken:
        yield "check", f"That line does not hold on this road, so I drop its {steps[0]}.\n"
        return
    mine = next(option for option in options if option.letter == steps[0])
    if held == 1 and not mine.ways:
        yield "check", f"It ends there, and I see no way on after it, so I drop its {mine.letter}.\n"
        return
    mine.followed = True
    yield "check", f"It holds for {_count(held, 'turn')}, and my own look ahead agrees that {steps[0]} is not hit.\n"


def _fitting(road: _Road, notes: Notes, options: list[_Option]) -> _Fit | None:
    """Return the line to follow. One I stand on before one a step away before one two steps away; of those one that leads across before
    one that does not, a best line before a contingency, and then the newest."""
    fits: list[tuple[tuple[bool, ...], _Fit]] = []
    near: list[tuple[tuple[bool, ...], _Fit]] = []
    far: list[tuple[tuple[bool, ...], _Fit]] = []
    for line in notes.lines():
        lanes = _lanes(line)
        if lanes is None:
            continue
        k = road.turn - line.moves[0].turn
        across = lanes[-1] == GOAL
        rank = across, not line.instead
        if 0 <= k < len(line.moves) and lanes[k] == road.lane:
            fits.append((rank, _Fit(line, k, "", across)))
        elif 0 <= k + 1 < len(line.moves) or (k + 1 == len(line.moves) and across):
            for option in options:
                if not option.hit and option.lane == lanes[k + 1]:
                    near.append((rank, _Fit(line, k + 1, option.letter, across)))
                elif not option.hit and 0 <= k + 2 < len(lanes):
                    far += [(rank, _Fit(line, k + 2, option.letter + way, across)) for way in option.ways if lane_after(option.lane, way) == lanes[k + 2]]
    for found in (fits, near, far):
        if found:
            # The first of the best is the newest.
            return max(found, key=lambda entry: entry[0])[1]
    return None


def _lanes(line: Line) -> list[int] | None:
    """Return the lanes a line stands on, before its first step and after each; None if it is no line of lanes turn by turn."""
    moves = line.moves
    lanes: list[int] = []
    start = _ON_LANE.search(line.instead)
    if start is not None:
        lanes.append(int(start[1]))
    else:
        match = _TO_LANE.search(moves[0].where)
        if match is None or moves[0].letter not in _SHIFT:
            return None
        lanes.append(int(match[1]) - _SHIFT[moves[0].letter])
    for k, move in enumerate(moves):
        if move.turn != moves[0].turn + k or move.letter not in _SHIFT:
            return None
        match = _TO_LANE.search(move.where)
        lanes.append(int(match[1]) if match is not None else lane_after(lanes[-1], move.letter))
    return lanes


def _introduction(road: _Road, fit: _Fit) -> str:
    line, turn = fit.line, road.turn
    made = "" if line.made_for < 0 else " made for this turn" if line.made_for == turn else f" made for turn {line.made_for}"
    text = f"Now the planner's notes. Its {'finished plan' if line.finished else 'line'}{made}"
    if line.instead:
        text += f", for the case that I stand on {line.instead} at turn {line.moves[0].turn},"
    if not fit.letters:
        move = line.moves[fit.step]
        return f"{text} says Turn {turn}: {move.letter} {move.where}".rstrip() + ", and I stand where it expects me. Let me hold its next steps against the cars as they are now.\n"
    return (
        f"{text} does not pass lane {road.lane} at turn {turn}, but {' then '.join(fit.letters)} would bring me onto it at turn {turn + len(fit.letters)}. "
        f"Let me hold that way against the cars as they are now.\n"
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
