r"""The builtin Snake reactor: two turns of look-ahead of its own, then the planner's notes, then one `\boxed{X}`.

All it gets is what a language model would get: the fresh board, and the planner's text as far as it was written. It asks whether
it stands where a plan line wants it, walks the rest of that line on the fresh board, and takes the line's step if its own look-ahead
calls it safe. Where no line fits it keeps the goal and the warnings. Two turns are too few to see a pocket close: that is what the
planner is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from games.snake import STEP, advance, moves
from workers.thinkers.commit import Step, sentences, spoken
from workers.thinkers.guidance import Line, Notes, read_notes
from workers.tokens import count_tokens

__all__ = ["commit", "react"]

ENOUGH = 1700
"""Tokens after which no further move of a plan line is walked; the rest of the text is at most 250."""
NEXT_TO_NOTHING = 8
"""Steps counted when no apple can be had in time, and at most."""
EATS, STEP_AWAY, WAY_ON, STUCK = 1.0, 0.1, 0.15, -5.0
FOLLOWS, WARNED = 4.0, -2.0
SHORT = 6
"""Cells up to which a body is spelled out while a line is walked."""

_CELL = re.compile(r"\((\d{1,2}),(\d{1,2})\)")
_WARNED_MOVE = re.compile(r"do not go ([LRUD]) at turn (\d{1,9})\b")
_WARNED_FOOD = re.compile(r"avoid food \((\d{1,2}),(\d{1,2})\).*?until turn (\d{1,9})\b")


def react(view: dict[str, Any], guidance: str, *, load: str, max_ticks: int = 100) -> Iterator[Step]:
    """Yield (strategy, text) for the fresh board `view`; the last step is the answer. `guidance` is text, or empty for none."""
    options: dict[str, _Option] = {}
    yield from _thoughts(view, guidance, options)
    yield "conclude", f"\\boxed{{{_best(options) or view['direction']}}}"


def commit(view: dict[str, Any], guidance: str, said: str, *, load: str, max_ticks: int = 100) -> Iterator[Step]:
    """Yield the answer of one that was cut after it had `said` so much."""
    options: dict[str, _Option] = {}
    number = sentences(_thoughts(view, guidance, {}), said)
    for _ in islice(_thoughts(view, guidance, options), number):
        pass
    best = _best(options)
    if not best:
        return spoken(view["direction"], "I have found no move that is safe, so I go straight on.")
    return spoken(best, f"Of {', '.join(options)} I hold {best} for the best so far.")


def _best(options: dict[str, _Option]) -> str:
    """Return the letter that weighs most, empty if there is none."""
    return max(options.values(), key=lambda option: option.weight).letter if options else ""


def _thoughts(view: dict[str, Any], guidance: str, options: dict[str, _Option]) -> Iterator[Step]:
    """Yield all that comes before the answer; each move that does not kill joins `options` once it was looked at."""
    spent = 0
    for step in _situation(view):
        spent += count_tokens(step[1])
        yield step
    for letter in moves(view):
        option = _Option(view, letter)
        for text in option.look():
            spent += count_tokens(text)
            yield "execute", text
        if option.after is not None:
            options[letter] = option
    if not options:
        yield "check", "Every way is blocked; I go straight on.\n"
        return
    if guidance:
        yield from _advised(view, read_notes(guidance), options, spent)
    for option in options.values():
        yield "check", f"Weighing {option.letter}: {option.reasons()}, so {option.weight:.2f}.\n"


def _situation(view: dict[str, Any]) -> Iterator[Step]:
    snake = view["snake"]
    x, y = snake[0]
    size = "one cell long" if len(snake) == 1 else f"{len(snake)} cells long, with my tail at {_cell(snake[-1])}"
    yield "understand", f"Turn {view['turn']}. I stand on ({x},{y}), heading {view['direction']}, {size}.\n"
    if view["obstacles"]:
        yield "understand", f"Walls all round, and obstacles at {_cells(view['obstacles'])}.\n"
    if not view["foods"]:
        yield "understand", "There is no apple on the board.\n"
    for food in view["foods"]:
        steps = abs(food[0] - x) + abs(food[1] - y)
        late = "" if steps <= food[2] else ", too far to reach in time"
        yield "understand", f"An apple lies on ({food[0]},{food[1]}), {_count(steps, 'step')} away, for {_count(food[2], 'more turn')}{late}.\n"


class _Option:
    """One move I could make, looked at two turns deep."""

    def __init__(self, view: dict[str, Any], letter: str) -> None:
        self.letter = letter
        self.before = view
        after, self.eats, dead = advance(view, letter)
        self.after: dict[str, Any] | None = None if dead else after
        self.ways: list[str] = []
        self.near = NEXT_TO_NOTHING
        self.reach: list[tuple[str, int]] = []
        self.goal: list[int] | None = None
        self.shunned: list[list[int]] = []
        self.warned = False
        self.followed = False

    def look(self) -> Iterator[str]:
        """Say where the move leads and what could follow it."""
        letter, after = self.letter, self.after
        if after is None:
            yield f"If I go {letter}, I run into {_obstacle(self.before, letter)}, so {letter} is out.\n"
            return
        here = _cell(after["snake"][0])
        body = _cells(after["snake"])
        yield f"If I go {letter}, I come to {here}{' and eat the apple there' if self.eats else ''}; my body then covers {body}.\n"
        turn = after["turn"]
        for follow in moves(after):
            beyond, eats, dead = advance(after, follow)
            if dead:
                yield f"After {letter}, at turn {turn}, {follow} from {here} runs into {_obstacle(after, follow)}.\n"
                continue
            self.ways.append(follow)
            yield f"After {letter}, at turn {turn}, {follow} from {here} comes to {_cell(beyond['snake'][0])}, which {'holds an apple' if eats else 'is free'}.\n"
        self._measure()
        far = [f"{food} {_count(steps, 'step')}" for food, steps in self.reach]
        yield f"So {letter} leaves {_count(len(self.ways), 'way')} on. From {here} I have in time: {', '.join(far) if far else 'no apple'}.\n"

    def _measure(self) -> None:
        """Count the steps from there to each apple that lasts so long, walls and body not counted."""
        assert self.after is not None
        x, y = self.after["snake"][0]
        self.reach = []
        for food in self.after["foods"]:
            if (self.goal is None or food[:2] == self.goal) and food[:2] not in self.shunned:
                steps = abs(food[0] - x) + abs(food[1] - y)
                if steps <= food[2]:
                    self.reach.append((_cell(food), steps))
        self.near = min([NEXT_TO_NOTHING, *[steps for _, steps in self.reach]])

    def aim(self, goal: list[int] | None, shunned: list[list[int]]) -> None:
        """Count steps to one apple only, or to none of some."""
        self.goal, self.shunned = goal, shunned
        self._measure()

    @property
    def weight(self) -> float:
        weight = WAY_ON * len(self.ways) - STEP_AWAY * self.near
        if self.eats:
            weight += EATS
        if not self.ways:
            weight += STUCK
        if self.warned:
            weight += WARNED
        if self.followed:
            weight += FOLLOWS
        return weight

    def reasons(self) -> str:
        """Say what the weight is made of."""
        said = [_count(len(self.ways), "way") + " on"]
        if self.eats:
            said.append("an apple now")
        if self.near < NEXT_TO_NOTHING:
            said.append(f"{_count(self.near, 'step')} to the {'goal' if self.goal else 'nearest apple'}")
        if self.warned:
            said.append("warned against")
        if self.followed:
            said.append("the planner's line goes there")
        return ", ".join(said)


def _advised(view: dict[str, Any], notes: Notes, options: dict[str, _Option], spent: int) -> Iterator[Step]:
    """Hold the planner's notes against the fresh board and mark the options they speak for or against."""
    turn = view["turn"]
    followed = False
    found = _matching(view, notes)
    if found is None:
        yield "plan", "Now the planner's notes. None of its lines passes where I stand, so I look at its goal and warnings only.\n"
    else:
        line, start, letter = found
        text = _introduction(view, line, start, letter)
        spent += count_tokens(text)
        yield "plan", text
        at: dict[str, Any] | None = view
        held = ate = 0
        for move in line.moves[start:]:
            if spent > ENOUGH:
                yield "check", "That is as far as I can check it now.\n"
                break
            assert at is not None
            text, at, eats = _walked(at, letter if not held else move.letter)
            spent += count_tokens(text)
            yield "check", text
            if at is None:
                break
            held += 1
            ate += eats
        option = options.get(letter)
        followed = option is not None and bool(option.ways) and (at is not None or held > 2)
        if followed and option is not None:
            option.followed = True
            yield "check", f"The line stands for {_count(held, 'turn')} and eats {ate}. My own look ahead agrees that {letter} is safe.\n"
        else:
            yield "check", f"I do not trust that line any more, so I drop its {letter}.\n"
    shunned: list[list[int]] = []
    for warning in notes.warnings:
        move_match = _WARNED_MOVE.match(warning)
        if move_match is not None and int(move_match[2]) == turn and move_match[1] in options and not options[move_match[1]].warned:
            options[move_match[1]].warned = True
            yield "plan", f"The planner warns me not to go {move_match[1]} now.\n"
        food_match = _WARNED_FOOD.match(warning)
        if food_match is not None and int(food_match[3]) > turn:
            cell = [int(food_match[1]), int(food_match[2])]
            if cell not in shunned and any(food[:2] == cell for food in view["foods"]):
                shunned.append(cell)
                yield "plan", f"The planner warns me of the apple at {_cell(cell)} until turn {food_match[3]}, so I do not aim for it.\n"
    named = _CELL.search(notes.goal)
    goal = [int(named[1]), int(named[2])] if named is not None else None
    if goal is not None and all(food[:2] != goal for food in view["foods"]):
        yield "plan", f"Its goal {_cell(goal)} is gone.\n"
        goal = None
    elif goal is not None:
        yield "plan", f"I aim for the apple at {_cell(goal)}, its goal.\n"
    for option in options.values():
        option.aim(goal, shunned)


def _matching(view: dict[str, Any], notes: Notes) -> tuple[Line, int, str] | None:
    """Return (line, index of its move for this turn, the letter that makes that move from here), or None.

    The newest line that stands where I stand; else the newest one I can get back on by one step.
    """
    turn = view["turn"]
    x, y = view["snake"][0]
    rejoin = None
    for line in notes.lines():
        first = line.moves[0].turn
        # Lines count turns without a gap; one that does not is no plan.
        index = turn - first
        if not 0 <= index < len(line.moves) or line.moves[index].turn != turn:
            continue
        move = line.moves[index]
        cell = _CELL.search(move.where)
        if cell is None:
            continue
        dx, dy = int(cell[1]) - x, int(cell[2]) - y
        for letter in moves(view):
            if STEP[letter] == (dx, dy):
                if letter == move.letter:
                    return line, index, letter
                rejoin = rejoin or (line, index, letter)
    return rejoin


def _introduction(view: dict[str, Any], line: Line, start: int, letter: str) -> str:
    turn, move = view["turn"], line.moves[start]
    dx, dy = STEP[letter]
    to = [view["snake"][0][0] + dx, view["snake"][0][1] + dy]
    made = "" if line.made_for < 0 else " made for this turn" if line.made_for == turn else f" made for turn {line.made_for}"
    text = f"Now the planner's notes. Its {'finished plan' if line.finished else 'line'}{made} says Turn {turn}: {move.letter} to {_cell(to)}"
    if line.instead:
        text += ", in case I came another way, and I did"
    if letter == move.letter:
        return f"{text}, which fits where I stand. Let me walk it on the board as it is now.\n"
    return f"{text}. I do not stand where it starts, but {letter} takes me back onto it. Let me walk it from there.\n"


def _walked(view: dict[str, Any], letter: str) -> tuple[str, dict[str, Any] | None, bool]:
    """Return (what one move of a line does on the board, the board after it or None if it kills, whether it eats)."""
    after, eats, dead = advance(view, letter)
    if dead:
        return f"Turn {view['turn']}: {letter} runs into {_obstacle(view, letter)}. There the line breaks.\n", None, False
    snake = after["snake"]
    text = f"Turn {view['turn']}: {letter} to {_cell(snake[0])} {'eats an apple' if eats else 'is free'}, "
    if len(snake) <= SHORT:
        text += f"my body is then {_cells(snake)}, "
    else:
        text += f"my tail is then at {_cell(snake[-1])}, "
    ways = [follow for follow in moves(after) if not advance(after, follow)[2]]
    text += f"and from there {' '.join(ways)} {'are' if len(ways) > 1 else 'is'} open.\n" if ways else "and from there nothing is open.\n"
    return text, after, eats


def _obstacle(view: dict[str, Any], letter: str) -> str:
    """Say what stands in the way of a move that kills."""
    dx, dy = STEP[letter]
    cell = [view["snake"][0][0] + dx, view["snake"][0][1] + dy]
    if cell in view["obstacles"]:
        return f"the obstacle at {_cell(cell)}"
    if cell in view["snake"]:
        return f"my own body at {_cell(cell)}"
    return f"the wall at {_cell(cell)}"


def _cell(cell: list[int]) -> str:
    return f"({cell[0]},{cell[1]})"


def _cells(cells: list[list[int]]) -> str:
    return " ".join([f"({x},{y})" for x, y in cells])


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
