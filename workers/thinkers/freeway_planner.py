"""The builtin Freeway planner: it searches the places (turn, lane) best first, with the sum for every car, and says so as it goes.

The search tries first what could still arrive earliest, and of that what has come furthest, so an early line exists after a few
sentences and the first line to reach lane 9 is a quickest one. Then it verifies that line lane by lane, and then asks, turn by turn,
what to do if another step than the planned one was taken: the game does not wait, and by then it may have been.

Lines a reader can act on, the last of a kind counts:

    Best line so far: Turn 12: S to lane 0; Turn 13: U to lane 1.
    GOAL lane 9 at turn 24.
    WARNING avoid lane 6 at turn 19: dead end.
    If at turn 15 I stand on lane 3 instead, then S; Turn 16: U to lane 4.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Any

from games.freeway import GOAL, lane_after
from workers.thinkers import Step
from workers.thinkers.freeway_search import Place, Road, Search, moves, places_of
from workers.thinkers.steps import Mind, think
from workers.tokens import count_tokens

__all__ = ["plan"]

TOKENS = {"easy": 11_000, "medium": 17_000, "hard": 18_000}
"""Tokens after which no further question is asked. Dense traffic has more places beside the line that are worth one."""
PATIENCE = 40
"""Sentences after which a question is left open."""
INSTEAD_TOKENS = 560
"""Room for contingencies in the conclusion: all of it must fit into the 1,024 tokens a reactor is shown of it."""

_APPROACH = (
    "My approach: search over turn and lane. I first try what could still arrive earliest, and of that what has come furthest: up, else wait, else back. "
    "A place is good if no car of its lane covers 0 at its turn. A right mover whose head has reached 60 is at -48 a turn later, a left mover at -60 comes "
    "back at 48.\n\n"
)
_BEST = re.compile(r"^Best line.*", re.MULTILINE)
_REMEMBERED = re.compile(r"Turn (\d+): ([USD]) to lane (\d)")


def plan(view: dict[str, Any], *, load: str, max_ticks: int = 100, memory: str = "") -> Generator[Step, str | None, None]:
    """Yield (strategy, text) for the road `view`, as it stood when the thinking began; the texts join to the whole reasoning.

    `send(strategy)` wishes for the next kind of step: `conclude` ends the thinking, `check`, `summarize` and `explore` are done when
    there is something to check, sum up or try; any other wish, and None, lets the thinking go its own way. `memory` is the planner's
    own last conclusion, or empty: if I stand where it says, its line is walked before anything is searched.
    """
    yield from think(_Mind(view, load=load, max_ticks=max_ticks, memory=memory))


class _Mind(Mind):
    """One plan in the making."""

    def __init__(self, view: dict[str, Any], *, load: str, max_ticks: int, memory: str) -> None:
        self.turn: int = view["turn"]
        self.lane: int = view["lane"]
        self.start: Place = (self.turn, self.lane)
        self.memory = memory
        self.road = Road(view, max_ticks=max_ticks)
        self.tokens = TOKENS.get(load, TOKENS["medium"])
        self.spent = 0
        self.search = Search(self.road, self.start)
        self.line = ""
        """Letters of the best line written down."""
        self.arrives = False
        """Whether it reaches lane 9."""
        self.warned: set[Place] = set()
        self.instead: dict[Place, str] = {}
        """Contingency sentences by the place they are for."""
        self.asked: set[Place] = set()
        self.checked = self.summed = ""
        super().__init__()

    def next(self, wish: str | None) -> Step | None:
        """Return the next step, counted: how long it thinks depends on what it has spent."""
        step = super().next(wish)
        if step is not None:
            self.spent += count_tokens(step[1])
        return step

    def _wished(self, wish: str | None) -> Iterator[Step]:
        if self.line and wish == "check":
            return self._check()
        if self.line and wish == "summarize":
            return self._summarize()
        return self._ask_one() if wish == "explore" else iter(())

    def _freely(self) -> Iterator[Step]:
        yield from self._understand()
        yield "plan", _APPROACH
        yield from self._recall()
        if not self.arrives:
            yield from self._cross()
        if not self.arrives:
            return
        yield from self._check()
        yield "plan", "Now the other steps I may have taken by the time this is read, turn by turn.\n\n"
        while True:
            before = len(self.asked)
            yield from self._ask_one()
            if len(self.asked) == before:
                break
        yield from self._summarize()

    def _understand(self) -> Iterator[Step]:
        where = "the near kerb" if self.lane == 0 else f"{GOAL - self.lane} lane{'s' if self.lane < GOAL - 1 else ''} below the far kerb"
        yield "understand", f"Okay, it is turn {self.turn} and I stand on lane {self.lane}, {where}. Lane {GOAL} cannot be reached before turn {self.turn + GOAL - self.lane}.\n"
        yield "understand", "Places are in twelfths of a cell with me at 0; a car covers all from its tail to its head.\n\n"

    def _recall(self) -> Iterator[Step]:
        """Walk the remembered line, if I stand on it and it leads to lane 9."""
        best = _BEST.search(self.memory)
        planned = {int(turn): (letter, int(lane)) for turn, letter, lane in _REMEMBERED.findall(best[0])} if best else {}
        line, place = "", self.start
        while place[0] in planned and place[1] != GOAL:
            letter, lane = planned[place[0]]
            place = (place[0] + 1, lane_after(place[1], letter))
            if place[1] != lane:
                return
            line += letter
        if not line or place[1] != GOAL or place[0] > self.road.last:
            return
        yield "plan", f"My last plan goes on {' '.join(line)} from here. I walk it once more.\n"
        for letter, to in zip(line, places_of(self.start, line)[1:]):
            if to[1] == GOAL:
                break
            intro = self.road.introduce(to[1])
            yield "execute", f"{intro}Turn {to[0] - 1}, {letter} to lane {to[1]}: {self.road.look(to)}.\n"
            if self.road.known[to]:
                yield "check", "So it does not hold, and I search anew.\n"
                return
        yield from self._record(line, arrives=True)

    def _cross(self) -> Iterator[Step]:
        """Search for the quickest line to lane 9."""
        search = self.search
        front = self.start
        for text in search.run():
            yield "execute", text
            yield from self._warn()
            if search.line is None and search.front != front:
                if front in self.road.closed:
                    yield "check", f"Lane {front[1]} at turn {front[0]} leads nowhere, so that line is off; I go on from lane {search.front[1]} at turn {search.front[0]}.\n"
                front = search.front
                yield from self._record(search.way(front))
        yield from self._warn()
        if search.line is not None:
            yield from self._record(search.line, arrives=True)
            yield "check", f"No place that was left could reach lane {GOAL} before turn {self.turn + len(self.line)}, so this is a quickest line.\n\n"
        else:
            yield "check", "No line I can find reaches the other side in time. I keep to the last one as long as it goes.\n\n"

    def _warn(self) -> Iterator[Step]:
        """Write down the places that turned out closed though no car is there."""
        road = self.road
        for place in sorted(road.closed - self.warned):
            self.warned.add(place)
            if not road.known.get(place, False) and place[0] < road.last and place != self.start:
                yield "check", self._warning(place)

    def _warning(self, place: Place) -> str:
        return f"WARNING avoid lane {place[1]} at turn {place[0]}: dead end.\n"

    def _record(self, line: str, arrives: bool = False) -> Iterator[Step]:
        """Write a line down as the best so far."""
        self.line, self.arrives = line, arrives
        if arrives:
            yield "plan", f"GOAL lane {GOAL} at turn {self.turn + len(line)}.\n"
        if line:
            yield "execute", f"Best line so far: {_spelled(places_of(self.start, line), line)}.\n"

    def _check(self) -> Iterator[Step]:
        """Hold the best line against each lane's own calendar, reckoned anew."""
        if not self.line or self.checked == self.line:
            return
        self.checked = self.line
        stays: dict[int, list[int]] = {}
        for turn, lane in places_of(self.start, self.line)[1:]:
            stays.setdefault(lane, []).append(turn)
        until = self.turn + len(self.line)
        yield "check", f"Wait, let me verify that the other way round, lane by lane, for turns {self.turn + 1} to {until}.\n"
        for lane, turns in sorted(stays.items()):
            if not 0 < lane < GOAL:
                continue
            covered = self.road.covered_turns(lane, until)
            closest = min((abs(turn - mine), turn) for turn in covered for mine in turns)[1] if covered else 0
            text = f"Lane {lane} is covered at {_turns(covered)}" if covered else f"Lane {lane} is never covered"
            end = f"the closest is turn {closest}" if covered else "no danger"
            yield "check", f"{text}; I stand there at {_turns(turns)}: {end}.\n"
        yield "check", "So the line holds.\n\n"

    def _ask_one(self) -> Iterator[Step]:
        """Find the way on from the next place beside the line that nobody asked about yet."""
        if not self.arrives or self.spent >= self.tokens:
            return
        on = places_of(self.start, self.line)
        step = next((step for step in self._beside(on) if step[2] not in self.asked), None)
        if step is None:
            return
        before, letter, to = step
        self.asked.add(to)
        road = self.road
        text = f"{road.introduce(to[1])}What if {letter} is played on lane {before[1]} at turn {before[0]}, so that I stand on lane {to[1]} at turn {to[0]}? "
        if to in road.known:
            yield "explore", f"{text}That is {'hit' if road.known[to] else 'clear'}, as found before.\n"
        else:
            yield "explore", f"{text}There {road.look(to)}.\n"
        if road.known[to]:
            return
        search = Search(road, to, frozenset(on))
        for said, sentence in enumerate(search.run()):
            if said == PATIENCE:
                yield "explore", f"That is a long way round; at turn {search.front[0]} I could be on lane {search.front[1]}, and I leave it there.\n"
                return
            yield "explore", sentence
            yield from self._warn()
        yield from self._warn()
        if search.line is not None:
            self.instead[to] = self._contingency(search, search.line)
            yield "explore", self.instead[to]

    def _contingency(self, search: Search, line: str) -> str:
        """Return what to do from the place a search began at, as a line for the reader."""
        to = search.start
        steps = _spelled(places_of(to, line)[1:], line[1:])
        late = to[0] + len(line) - self.turn - len(self.line)
        if search.joined:
            end = f"There I am on my line again, lane {search.joined[1]} at turn {search.joined[0]}"
        elif late:
            end = f"That is lane {GOAL} {late} turn{'s' if late > 1 else ''} later"
        else:
            end = f"That is lane {GOAL} at the same turn"
        return f"If at turn {to[0]} I stand on lane {to[1]} instead, then {line[0]}{'; ' + steps if steps else ''}. {end}.\n"

    def _beside(self, on: list[Place]) -> Iterator[tuple[Place, str, Place]]:
        """Yield (place, letter, place it leads to) of the steps off the line, turn by turn, from wherever I could stand by then."""
        standing = [self.start]
        for planned in on[1:-1]:
            there = [planned]
            for before in standing:
                for letter, to in moves(before):
                    if to not in there and to[1] != GOAL:
                        yield before, letter, to
                        if to not in self.road.closed:
                            there.append(to)
            standing = there

    def _summarize(self) -> Iterator[Step]:
        """Say where the thinking stands."""
        state = f"{self.line} {len(self.instead)}"
        if self.summed == state or not self.line:
            return
        self.summed = state
        reach = f"reaches lane {GOAL} at turn {self.turn + len(self.line)}" if self.arrives else "is not across yet"
        yield "summarize", f"So far I looked at {len(self.road.known)} places. {' '.join(self.line)} {reach}, and for {len(self.instead)} places beside it I know the way on.\n\n"

    def _conclude(self) -> Iterator[Step]:
        """The visible answer: the line once more, what to mind, the box, and the idea in a sentence."""
        if not self.line:
            # Steered to the end before the first look: one look at what the default does is the least an answer needs.
            to = (self.turn + 1, lane_after(self.lane, "U"))
            text = self.road.look(to)
            yield "execute", f"From lane {self.lane} at turn {self.turn}: U puts me on lane {to[1]} at turn {to[0]}; {text}.\n"
            self.line = "S" if self.road.known[to] else "U"
            self.arrives = to[1] == GOAL
        on = places_of(self.start, self.line)
        yield "conclude", f"Best line: {_spelled(on, self.line)}.\n"
        if self.arrives:
            yield "conclude", f"GOAL lane {GOAL} at turn {on[-1][0]}.\n"
        spent = 0
        # The next turn will be over when this is read.
        for place in sorted(place for place in self.instead if place[0] > self.turn + 1):
            spent += count_tokens(self.instead[place])
            if spent <= INSTEAD_TOKENS:
                yield "conclude", self.instead[place]
        entries = "\n".join([f"Turn {self.turn + k}: {letter}" for k, letter in enumerate(self.line)])
        yield "conclude", f"\\boxed{{{entries}}}\n"
        waits = len(self.line) - self.line.count("U")
        if not self.arrives:
            idea = "to stay clear of the cars until a way opens"
        elif waits:
            idea = f"to give way {waits} time{'s' if waits > 1 else ''}, exactly where a car is about to come, and to go up otherwise"
        else:
            idea = "to walk straight up, for no car comes in time"
        yield "conclude", f"The main idea is {idea}.\n"


def _spelled(on: list[Place], line: str) -> str:
    """Return the moves of a line, each with its turn and the lane it leads to."""
    return "; ".join([f"Turn {on[k][0]}: {letter} to lane {on[k + 1][1]}" for k, letter in enumerate(line)])


def _turns(turns: list[int]) -> str:
    if len(turns) == 1:
        return f"turn {turns[0]}"
    return f"turns {', '.join(map(str, turns[:-1]))} and {turns[-1]}"
