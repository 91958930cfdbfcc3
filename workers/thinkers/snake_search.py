"""The arithmetic of the Snake planner: positions on bitboards, what one is worth, and the tree of lines that were looked at.

A cell (x, y) is bit x + size * y. The walls are never free, so a shift by one cell cannot wrap round. Worth is counted in whole
hundredths of an apple, so that the figures in the text are the figures the search compares. All rules are those of `games.snake`
(a test walks both side by side); they are spelled out again here because a plan visits a few hundred positions a turn.

Nothing here decides what to look at, or looks at anything by itself: the planner asks for one expansion at a time and gets it
together with the sentence that says what was found.
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heappop, heappush
from typing import Any

__all__ = ["FAR", "LETTERS", "Foods", "Node", "Tree", "longest", "lost"]

LETTERS = "LRUD"
_BACK = (1, 0, 3, 2)
_WAYS = tuple(tuple((way, letter) for way, letter in enumerate(LETTERS) if way != back) for back in _BACK)
"""By heading, the ways that do not lead back."""

# What a position is worth, in hundredths of an apple. Found on seeds 0-23 of the three loads: each weight may be halved or doubled
# and costs less than one apple an episode.
WAIT = 96  # percent of its worth an apple keeps for each turn it is waited for
STEP_AWAY = 6  # lost for each step to the next apple that can be had in time
FAR = 8  # the steps counted when there is none, and at most
CUT_OFF = 30  # lost when the tail cannot be reached
SHORT = 35  # lost then for each cell the room is smaller than the body is long
OPEN = 4  # gained for each cell of room
LASTS = 10  # gained by a line for each turn it lasts

_APPLE = tuple(round(100 * (WAIT / 100) ** k) for k in range(64))

Foods = tuple[tuple[int, int], ...]
"""(cell, turn at whose beginning it is gone) of each apple, in ageing order."""


class Node:
    """One position of the search. Lines are read back through `parent`."""

    __slots__ = (
        "alsos", "body", "children", "closed", "dead", "eaten", "foods", "gain", "heading", "last",
        "mask", "near", "open", "parent", "path", "room", "score", "tail", "turn", "worth",
    )  # fmt: skip

    def __init__(self, turn: int, heading: int, body: tuple[int, ...], mask: int, foods: Foods, *, parent: Node | None, path: str, eaten: int, gain: int) -> None:
        self.turn = turn
        self.heading = heading
        self.body = body
        self.mask = mask
        self.foods = foods
        self.parent = parent
        self.path = path
        """Letters that lead here from the root."""
        self.eaten = eaten
        self.gain = gain
        """What the apples eaten are worth."""
        self.alsos: tuple[Node, ...] = ()
        """Other positions that lead to this one."""
        self.children: list[Node] | None = None
        """Survivable positions one turn on; None until it was looked at."""
        self.closed: tuple[Node, ...] = ()
        """Positions one turn on that have no way out."""
        self.open = 0
        """Ways on that are not known to be dead."""
        self.dead = False
        self.last = turn
        """Latest turn a line through here was seen alive."""
        # Set by `Tree.appraise`: cells of room, whether the tail is among them, steps to the next apple, worth, and worth of the line.
        self.room = self.near = self.worth = self.score = 0
        self.tail = True


class Tree:
    """All positions looked at so far, and the order in which to look at more."""

    def __init__(self, view: dict[str, Any], *, depth: int, max_ticks: int) -> None:
        size = self.size = view["size"]
        inner = range(1, size - 1)
        floor = 0
        for y in inner:
            for x in inner:
                floor |= 1 << (x + size * y)
        self.obstacles = 0
        for x, y in view["obstacles"]:
            self.obstacles |= 1 << (x + size * y)
        self.floor = floor & ~self.obstacles
        self.cells = self.floor.bit_count()
        self.shift = (-1, 1, size, -size)
        self.names, self._steps = _table(size)
        turn = view["turn"]
        self.end = max_ticks
        self.deepest = max(1, max_ticks - turn)
        self.depth = min(depth, self.deepest)
        body = tuple(x + size * y for x, y in view["snake"])
        mask = 0
        for cell in body:
            mask |= 1 << cell
        foods = tuple((x + size * y, turn + life) for x, y, life, _ in view["foods"])
        self.root = Node(turn, LETTERS.index(view["direction"]), body, mask, foods, parent=None, path="", eaten=0, gain=0)
        self.appraise(self.root)
        self.expanded = 0
        self._count = 0
        self._seen: dict[tuple[tuple[int, ...], Foods], Node] = {}
        self._ahead: list[list[tuple[int, int, Node]]] = [[] for _ in range(self.deepest + 1)]
        self._ahead[0].append((0, 0, self.root))
        self._lines: list[tuple[int, int, Node]] = []

    def distance(self, a: int, b: int) -> int:
        """Return the steps between two cells on an empty board."""
        return self._steps[a][b]

    def appraise(self, node: Node) -> None:
        """Set what the position is worth, and the figures that go into it.

        Room is the cells the head can get to while the body lies still; the tail's cell counts as free, and as reached or not.
        """
        body, turn, size = node.body, node.turn, self.size
        length = len(body)
        head, tail = body[0], body[-1]
        bit = 1 << head
        if length == 1:
            free = self.floor
            reach = bit
        else:
            free = self.floor & ~node.mask | 1 << tail
            reach = (bit << 1 | bit >> 1 | bit << size | bit >> size) & free
        while True:
            # A step along the row and then one along the column: a third fewer turns than with all four at once.
            row = (reach | reach << 1 | reach >> 1) & free
            wider = (row | row << size | row >> size) & free
            if wider == reach:
                break
            reach = wider
        room = reach.bit_count()
        node.room = room
        near = FAR
        steps_to = self._steps[head]
        for cell, gone in node.foods:
            steps = steps_to[cell]
            if steps < near and turn + steps <= gone and reach >> cell & 1:
                near = steps
        node.near = near
        cut = length > 1 and not reach >> tail & 1
        if cut:
            node.tail = False
        if turn >= self.end:
            worth = node.gain + OPEN * self.cells
        else:
            worth = node.gain + OPEN * room - STEP_AWAY * near
            if cut:
                worth -= CUT_OFF
                if room < length:
                    worth -= SHORT * (length - room)
        node.worth = worth
        node.score = worth + LASTS * len(node.path)

    def expand(self, node: Node) -> list[tuple[str, str, Node | None]]:
        """Look one turn on from `node`; return (letter, what is in the way or "", the new position or the known one, None if blocked).

        Blocks are `wall`, `obstacle`, `body`, `apple on my tail`; `closed` comes with a position that has no way on, and `known`
        with one that was reached before on another line.
        """
        body, mask, path, seen = node.body, node.mask, node.path, self._seen
        depth, shift, floor = len(path), self.shift, self.floor
        head, tail = body[0], body[-1]
        turn = node.turn + 1
        found: list[tuple[str, str, Node | None]] = []
        children: list[Node] = []
        self.expanded += 1
        for way, letter in _WAYS[node.heading]:
            cell = head + shift[way]
            bit = 1 << cell
            if not floor & bit:
                found.append((letter, "obstacle" if self.obstacles & bit else "wall", None))
                continue
            foods = node.foods
            eats = False
            for food in foods:
                if food[0] == cell:
                    eats = True
                    foods = tuple([other for other in foods if other is not food])
                    break
            if mask & bit and (eats or cell != tail or len(body) == 1):
                found.append((letter, "apple on my tail" if cell == tail else "body", None))
                continue
            for food in foods:
                if food[1] <= turn:
                    foods = _aged(foods, turn)
                    break
            after = (cell, *body) if eats else (cell, *body[:-1])
            place = after, foods
            known = seen.get(place)
            if known is not None:
                found.append((letter, "known", known))
                if not known.dead:
                    node.open += 1
                    known.alsos += (node,)
                continue
            if eats:
                child = Node(turn, way, after, mask | bit, foods, parent=node, path=path + letter, eaten=node.eaten + 1, gain=node.gain + _APPLE[depth])
            else:
                child = Node(turn, way, after, mask & ~(1 << tail) | bit, foods, parent=node, path=path + letter, eaten=node.eaten, gain=node.gain)
            seen[place] = child
            self.appraise(child)
            if not child.room and turn < self.end:
                child.dead = True
                found.append((letter, "closed", child))
                node.closed += (child,)
                node.last = turn
                continue
            found.append((letter, "", child))
            children.append(child)
            node.open += 1
            self._count += 1
            heappush(self._ahead[depth + 1], (-child.worth, self._count, child))
            heappush(self._lines, (-child.score, self._count, child))
        node.children = children
        if not node.open:
            self._bury(node)
        return found

    def forced(self, node: Node) -> bool:
        """Whether exactly one move from a position does not kill, and it was not looked on from yet."""
        if node.children is not None:
            return False
        head, tail = node.body[0], node.body[-1]
        ways = 0
        for way in range(4):
            cell = head + self.shift[way]
            bit = 1 << cell
            if way != _BACK[node.heading] and self.floor & bit:
                if node.mask & bit and (cell != tail or len(node.body) == 1 or any(food[0] == cell for food in node.foods)):
                    continue
                ways += 1
        return ways == 1

    def _bury(self, node: Node) -> None:
        """Mark a position without a way on as dead, and so every one that led only there."""
        todo = [node]
        while todo:
            dead = todo.pop()
            dead.dead = True
            for before in (dead.parent, *dead.alsos):
                if before is not None and not before.dead:
                    before.open -= 1
                    before.last = max(before.last, dead.last)
                    if not before.open and before.children is not None:
                        todo.append(before)

    def deepen(self, turns: int) -> bool:
        """Let lines grow by so many turns more; False if they reach the end of the game already."""
        before = self.depth
        self.depth = min(self.depth + turns, self.deepest)
        return self.depth > before

    def next_at(self, depth: int) -> Node | None:
        """Take the most promising position at a depth that was not looked at yet; None if there is none."""
        ahead = self._ahead[depth]
        while ahead:
            node = heappop(ahead)[2]
            if node.children is None and not lost(node):
                return node
        return None

    def best(self) -> Node | None:
        """Return the end of the best line known to be alive, made as long as the tree allows; None if all lines are dead."""
        lines = self._lines
        while lines:
            node = lines[0][2]
            if not lost(node):
                return longest(node)
            heappop(lines)
        return None

    def best_from(self, first: Node) -> Node:
        """Return the end of the best live line through `first`."""
        top = first
        todo = [first]
        while todo:
            node = todo.pop()
            if node.score > top.score:
                top = node
            todo += [after for after in node.children or () if not after.dead]
        return longest(top)

    def longest_lived(self) -> Node:
        """Return the position that was reached latest, dead ends included; of those the one that ate most."""
        top = self.root
        todo = [self.root]
        while todo:
            node = todo.pop()
            if (node.turn, node.eaten) > (top.turn, top.eaten):
                top = node
            todo += (*(node.children or ()), *node.closed)
        return top

    def at(self, path: str) -> Node | None:
        """Return the position a line leads to if it is alive and was not looked on from yet, else None."""
        node: Node | None = self.root
        for k in range(len(path)):
            node = next((child for child in (node.children if node else None) or () if child.path == path[: k + 1]), None)
        return node if node is not None and node.children is None and not lost(node) else None

    def route(self, goal: int) -> str:
        """Return the letters of a shortest way to a cell around the body as it lies, or "" if there is none."""
        root = self.root
        head = root.body[0]
        free = self.floor & ~root.mask
        if len(root.body) > 1:
            free |= 1 << root.body[-1]
        came = {head: (head, 0)}
        layer = [head]
        while layer and goal not in came:
            reached = []
            for cell in layer:
                for way, shift in enumerate(self.shift):
                    after = cell + shift
                    if free >> after & 1 and after not in came and (cell != head or way != _BACK[root.heading]):
                        came[after] = (cell, way)
                        reached.append(after)
            layer = reached
        letters = ""
        cell = goal
        while cell != head and cell in came:
            cell, way = came[cell]
            letters = LETTERS[way] + letters
        return letters

    def walk(self, letters: str) -> Node:
        """Return the position at the end of an open way, apples on it eaten. It is not put into the tree."""
        body, foods = self.root.body, self.root.foods
        mask = eaten = gain = 0
        for k, letter in enumerate(letters):
            cell = body[0] + self.shift[LETTERS.index(letter)]
            left = tuple([food for food in foods if food[0] != cell])
            eats = len(left) < len(foods)
            if eats:
                eaten += 1
                gain += _APPLE[k]
            body = (cell, *body) if eats else (cell, *body[:-1])
            turn = self.root.turn + k + 1
            foods = _aged(left, turn) if any(gone <= turn for _, gone in left) else left
        for cell in body:
            mask |= 1 << cell
        heading = LETTERS.index(letters[-1])
        node = Node(self.root.turn + len(letters), heading, body, mask, foods, parent=None, path=letters, eaten=eaten, gain=gain)
        self.appraise(node)
        return node


@lru_cache(maxsize=4)
def _table(size: int) -> tuple[list[str], list[list[int]]]:
    """Return the names of the cells, and the steps between any two."""
    cells = range(size * size)
    names = [f"({cell % size},{cell // size})" for cell in cells]
    return names, [[abs(a % size - b % size) + abs(a // size - b // size) for b in cells] for a in cells]


def longest(node: Node) -> Node:
    """Follow the best live ways on to the end of what was looked at."""
    while node.children:
        live = [child for child in node.children if not child.dead]
        if not live:
            break
        node = max(live, key=lambda child: child.score)
    return node


def lost(node: Node | None) -> bool:
    while node is not None:
        if node.dead:
            return True
        node = node.parent
    return False


def _aged(foods: Foods, turn: int) -> Foods:
    """Return the apples after one that vanishes at `turn`: the one behind it in the list does not age (a quirk of the game)."""
    kept: list[tuple[int, int]] = []
    skipped = False
    for cell, gone in foods:
        if skipped:
            skipped = False
            kept.append((cell, gone + 1))
        elif gone <= turn:
            skipped = True
        else:
            kept.append((cell, gone))
    return tuple(kept)
