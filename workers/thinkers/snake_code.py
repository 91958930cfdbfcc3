"""The builtin Snake writer of programs: a look at all lines of five moves, and a rule for which end of a line is the best.

It thinks the rules through, then writes the program down, and every word of both costs its tokens. The program is the same whenever it is
written. It is as short-sighted as a rule is: whoever runs into a pocket of six cells does not see it coming.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workers.thinkers.programs import told

__all__ = ["PROGRAM", "write"]

_THOUGHTS = (
    ("understand", "What do I have to write? A function that is called once a turn with the board of that turn and gives L, R, U or D. It sees the snake head first, the heading, the apples with their lives and the obstacles. It does not see where the next apple comes, so nothing can be planned to the end: it takes a rule that is good enough every turn.\n"),
    ("understand", "A move kills if the cell ahead is a wall, an obstacle or the body. The last cell is safe to enter, because the tail leaves it, unless an apple lies there. The reverse of the heading is no move at all, so there are three real ones.\n"),
    ("understand", "An apple with life n can be eaten by a move made at most n turns from now. Eating makes the snake one cell longer, the tail staying in place for that turn.\n\n"),
    ("plan", "My approach: try all lines of five moves. Three ways each, that is at most 243 lines, and every one is cheap: put the new head in front, take the tail away unless an apple was eaten, let the apples age. A line that dies is worth little, the less the sooner it dies. A line that lives is worth its apples, sooner ones a little more, and at its end it is better to be near the next apple.\n"),
    ("plan", "Near is the sum of the distances in x and y, and only apples count whose life is long enough to get there. If there is none, the middle of the board is a good place to wait.\n\n"),
    ("explore", "What about the space that is left? A count of the cells that can still be reached would tell a pocket from open ground. It costs a search of its own at every end of a line. Five moves of survival have to do; I write the simple rule first, and it can be made better later.\n"),
    ("explore", "And deeper? Seven moves are two thousand lines, nine are twenty thousand. That is too long for one turn, if the time of a call is short. Five it is.\n\n"),
    ("check", "Wait, the ageing: after the move every apple loses one, and one that comes to 0 is gone. The one behind a vanishing apple does not age in that turn, which happens seldom; I leave it out and am at worst one turn too careful.\n"),
    ("check", "Does the body count right? With the tail gone the new head may stand where the tail was. With an apple on that cell the tail stays, and it kills: the test must know whether an apple is eaten before it looks at the body. A snake of one cell has no body to run into but itself, and the reverse is ruled out by the heading.\n\n"),
)

PROGRAM = '''\
DEPTH = 5
STEP = {"L": (-1, 0), "R": (1, 0), "U": (0, 1), "D": (0, -1)}
REVERSE = {"L": "R", "R": "L", "U": "D", "D": "U"}


def moved(snake, foods, letter, size, obstacles):
    """The snake, the apples and whether one was eaten; no snake if it died."""
    dx, dy = STEP[letter]
    head = (snake[0][0] + dx, snake[0][1] + dy)
    if not (0 < head[0] < size - 1 and 0 < head[1] < size - 1) or head in obstacles:
        return None, foods, False
    eaten = any(cell == head for cell, life in foods)
    body = snake if eaten else snake[:-1]
    if head in body:
        return None, foods, False
    left = [(cell, life - 1) for cell, life in foods if cell != head and life > 1]
    return (head,) + body, left, eaten


def end_worth(snake, foods, size):
    x, y = snake[0]
    steps = [abs(x - cell[0]) + abs(y - cell[1]) for cell, life in foods if abs(x - cell[0]) + abs(y - cell[1]) <= life]
    if steps:
        return -min(steps)
    middle = (size - 1) / 2
    return -size - abs(x - middle) - abs(y - middle)


def worth(snake, foods, heading, depth, size, obstacles):
    if depth == 0:
        return end_worth(snake, foods, size)
    best = None
    for letter in STEP:
        if letter == REVERSE[heading]:
            continue
        after, left, eaten = moved(snake, foods, letter, size, obstacles)
        if after is None:
            value = -1000 * depth
        else:
            value = worth(after, left, letter, depth - 1, size, obstacles)
            if eaten:
                value += 100 + depth
        if best is None or value > best:
            best = value
    return best


def act(view, memory):
    size = view["size"]
    obstacles = {(x, y) for x, y in view["obstacles"]}
    snake = tuple((x, y) for x, y in view["snake"])
    foods = [((x, y), life) for x, y, life, value in view["foods"]]
    best, chosen = None, view["direction"]
    for letter in STEP:
        if letter == REVERSE[view["direction"]]:
            continue
        after, left, eaten = moved(snake, foods, letter, size, obstacles)
        if after is None:
            continue
        value = worth(after, left, letter, DEPTH - 1, size, obstacles)
        if eaten:
            value += 100 + DEPTH
        if best is None or value > best:
            best, chosen = value, letter
    return chosen
'''


def write(view: dict[str, Any], *, load: str, max_ticks: int = 100, memory: str = "") -> Iterator[tuple[str, str]]:
    """Yield (strategy, text): thoughts, then the program in a block, as the visible answer. Neither the board nor the load changes it."""
    return told(_THOUGHTS, PROGRAM)
