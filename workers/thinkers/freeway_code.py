"""The builtin Freeway writer of programs: a breadth-first search over turns and lanes, which is all that Freeway asks for.

It thinks the rules through, then writes the program down, and every word of both costs its tokens. The program is the same whenever it is
written: what differs from board to board, the program works out itself, every turn, from the view it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workers.thinkers.programs import told

__all__ = ["PROGRAM", "write"]

_THOUGHTS = (
    ("understand", "What do I have to write? A function that is called once a turn with the board of that turn and gives U, D or S. Nothing is hidden in this game: the cars are told by head, direction, speed and length, and no chance comes in, so the traffic of every later turn follows from the view.\n"),
    ("understand", "Per turn a right mover's head grows by its speed while it is below 60; once it is at 60 or more, it stands at -48 the next turn. A left mover's head falls by its speed while it is above -60; at -60 or less it stands at 48 the next turn. I must not forget this wrap, for a lane that looks empty is not.\n"),
    ("understand", "A right mover covers head - length to head, a left mover head to head + length, and I stand at 0. I am hit if my lane is covered after both of us have moved. What is passed through on the way does not count.\n\n"),
    ("plan", "My approach: the places are pairs of a turn and a lane. From lane y I can be on y + 1, y or y - 1 one turn later, unless a car covers that lane then. Breadth first, turn by turn: the set of lanes I can stand on, each with the first letter of the way there. The first time lane 9 is in it, that letter begins a quickest crossing. There are ten lanes, so a turn is at most thirty looks, and a search of sixty turns costs nothing.\n"),
    ("plan", "Since the search is made anew every turn, the program needs no memory, and it does not matter what was played before it was finished: it goes on from wherever I stand.\n\n"),
    ("explore", "What if no way leads across within the horizon? Then the letter of a way that lives longest is the best there is: I keep the last set that was not empty. What if even the first turn is closed on all lanes? Then I am hit whatever I do, and U is as good as any.\n"),
    ("explore", "Ties: of two ways that arrive at the same turn either will do. I try U before S before D, so that I am early where it costs nothing; and a lane that is reached twice keeps the first letter it was given.\n\n"),
    ("check", "Wait, is lane 0 safe? It has no cars, so it is never covered, and D on lane 0 stays there. Lane 9 has no cars either, and reaching it wins at once, before the cars move; so it needs no look. A car of speed 4 moves every turn by 4, so heads are whole numbers, and 60 can be passed as well as met: hence at or beyond, not equal.\n"),
    ("check", "The order within a turn: first I move, then the cars. So before I look at the lanes of the next turn, every car is moved once. Good.\n\n"),
)

PROGRAM = '''\
GOAL = 9
HORIZON = 60


def head_after(head, direction, speed):
    if direction == "right":
        return head + speed if head < 60 else -48
    return head - speed if head > -60 else 48


def covers(head, direction, length):
    if direction == "right":
        return head - length <= 0 <= head
    return head <= 0 <= head + length


def act(view, memory):
    cars = [list(car) for car in view["cars"]]
    # Lane -> first letter of a way that stands there now; empty at the beginning.
    reached = {view["lane"]: ""}
    best = "U"
    for turn in range(HORIZON):
        covered = set()
        for car in cars:
            car[1] = head_after(car[1], car[2], car[3])
            if covers(car[1], car[2], car[4]):
                covered.add(car[0])
        after = {}
        for lane in sorted(reached, reverse=True):
            for letter, to in (("U", lane + 1), ("S", lane), ("D", max(0, lane - 1))):
                first = reached[lane] or letter
                if to == GOAL:
                    return first
                if to not in covered and to not in after:
                    after[to] = first
        if not after:
            return best
        reached = after
        best = reached[max(reached)]
    return best
'''


def write(view: dict[str, Any], *, load: str, max_ticks: int = 100, memory: str = "") -> Iterator[tuple[str, str]]:
    """Yield (strategy, text): thoughts, then the program in a block, as the visible answer. Neither the board nor the load changes it."""
    return told(_THOUGHTS, PROGRAM)
