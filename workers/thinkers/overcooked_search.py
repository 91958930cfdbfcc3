"""The search behind the builtin Overcooked planner: a beam over errands, each walked by its shortest route.

An errand is a route to one fixture or counter and one I in front of it. The tree knows the frozen view, the rules and a guess where the
other cook is in the next two turns; after that it takes him as out of the way. Worth is counted in hundredths of a point, so that every sum in
the text can be checked by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from games.overcooked import faced, object_at, routes, soup_in
from games.overcooked.kitchen import FLOOR, STEP, Cell

__all__ = ["DISCOUNT", "Layout", "Mate", "Node", "Route", "Tree", "layout", "predict"]

DISCOUNT = tuple(round(100 * 0.97**turns) for turns in range(201))
"""What a point is still worth so many turns later, in hundredths: 3 percent less each turn."""
POT = (3, 4, 5)
"""Points for the first, second and third onion of a pot, the one in hand included."""
ONION, DISH, DISH_SOON, LIFT, SERVE = 1.0, 2.5, 1.5, 5, 12
OVER = 1.0
"""Points for an onion laid on a counter from whose other side a pot is nearer."""
NEAR = {"onion": 2, "take onion": 2, "take dish": 2, "take soup": 2, "dish": 1, "put": 2, "add": 2, "lift": 2, "serve": 1}
"""How many targets of a kind are looked at from one position, nearest first."""
SAVES = 3
"""Steps a counter must save to be worth handing something over."""


class Route(NamedTuple):
    """A way to stand in front of a fixture and face it."""

    letters: str
    cell: Cell
    facing: str


class Layout:
    """What a kitchen is made of, with its routes remembered: they depend on the walls alone."""

    def __init__(self, terrain: tuple[str, ...]) -> None:
        self.terrain = terrain
        self.cells = {kind: [(x, y) for y, row in enumerate(terrain) for x, there in enumerate(row) if there == kind] for kind in "XPODS "}
        self._ways: dict[tuple[Cell, str], dict[Cell, Route]] = {}
        self._waves: dict[Cell, str] = {}
        self.over = self._handing_over()
        """(counter, floor cell on its far side) where what is laid down is nearer to a pot from the other side."""
        self.finish, self.trip = self._times()
        """Turns from a full pot, seen from there, to a served soup; turns for one onion more."""

    def ways(self, cell: Cell, facing: str) -> dict[Cell, Route]:
        """Return the shortest way from a cell and facing to facing each cell there is a way to."""
        key = cell, facing
        if key not in self._ways:
            self._ways[key] = self.ways_past(cell, facing, (cell,))
        return self._ways[key]

    def ways_past(self, cell: Cell, facing: str, other: Sequence[Cell]) -> dict[Cell, Route]:
        """Return such ways that keep out of the other cook's cells `other`: now, in a turn, in two. Afterwards he is gone.

        Breadth first over cell, facing and turn; the first way found wins. S waits, while there is somebody to wait for.
        """
        known = len(other) - 1
        found: dict[Cell, Route] = {}
        queue = [(cell, facing, "")]
        seen = {(cell, facing, 0)}
        terrain = self.terrain
        for here, looks, letters in queue:
            x, y = here
            dx, dy = STEP[looks]
            ahead = (x + dx, y + dy)
            if ahead not in found:
                found[ahead] = Route(letters, here, looks)
            done = len(letters)
            now = min(done + 1, known)
            for letter, (dx, dy) in STEP.items():
                there = (x + dx, y + dy)
                if terrain[there[1]][there[0]] != FLOOR:
                    there = here
                if done < known and (there == other[now] or (there == other[done] and here == other[now])):
                    continue
                key = there, letter, now
                if key not in seen:
                    seen.add(key)
                    queue.append((there, letter, letters + letter))
            if done < known and here != other[now] and (here, looks, now) not in seen:
                seen.add((here, looks, now))
                queue.append((here, looks, letters + "S"))
        return found

    def waves(self, cell: Cell) -> str:
        """Return the floor around a cell in words, by steps: what a breadth-first walk meets."""
        if cell not in self._waves:
            found = routes(self.terrain, cell)
            rings: dict[int, list[str]] = {}
            for there in found.floor:
                if there != cell:
                    rings.setdefault(found.distance[there], []).append(f"({there[0]},{there[1]})")
            parts = [f"{steps} {'step' if steps == 1 else 'steps'} to {' '.join(ring)}" for steps, ring in sorted(rings.items())]
            self._waves[cell] = ", ".join(parts)
        return self._waves[cell]

    def _handing_over(self) -> set[tuple[Cell, Cell]]:
        found = set()
        for counter in self.cells["X"]:
            sides = [(counter[0] + dx, counter[1] + dy) for dx, dy in STEP.values()]
            floor = [side for side in sides if side in self.cells[FLOOR]]
            for side in floor:
                if any(self._to_pot(other) + SAVES <= self._to_pot(side) for other in floor):
                    found.add((counter, side))
        return found

    def _to_pot(self, cell: Cell) -> int:
        reached = routes(self.terrain, cell).distance
        return min((reached[pot] for pot in self.cells["P"] if pot in reached), default=99)

    def _times(self) -> tuple[int, int]:
        dish_and_back, onion_and_back = 2 * self._between("P", "D") + 2, 2 * self._between("O", "P") + 2
        return dish_and_back + self._between("P", "S") + 1, onion_and_back

    def _between(self, one: str, two: str) -> int:
        """Return the fewest letters from in front of a fixture of one kind to facing one of another; 0 if there is no way."""
        spans = []
        for start in self.cells[one]:
            reached = self._from(start)
            spans += [reached[end] for end in self.cells[two] if end in reached]
        return min(spans, default=0)

    def _from(self, fixture: Cell) -> dict[Cell, int]:
        """Return the letters from in front of a fixture to facing each other one."""
        best: dict[Cell, int] = {}
        for dx, dy in STEP.values():
            side = (fixture[0] + dx, fixture[1] + dy)
            if side in self.cells[FLOOR]:
                for there, steps in routes(self.terrain, side).distance.items():
                    best[there] = min(steps, best.get(there, steps))
        return best


@lru_cache(maxsize=16)
def layout(terrain: tuple[str, ...]) -> Layout:
    """Return the layout of a kitchen; the same one for the same kitchen."""
    return Layout(terrain)


class Mate(NamedTuple):
    """What the other cook is expected to do in the next two turns, from what is seen of him."""

    cells: tuple[Cell, Cell, Cell]
    """Where he is now, in one turn and in two."""
    why: str
    pot: Cell | None
    """The pot he is about to add an onion to."""


def predict(view: dict[str, Any]) -> Mate:
    """Return a guess at the other's next two turns: to the nearest onions if his hands are empty, else on in the direction he walked."""
    terrain = view["terrain"]
    me = tuple(view["players"][0][0])
    (x, y), facing, held = view["players"][1]
    front = faced(view["players"][1])
    ahead = terrain[front[1]][front[0]]
    here: Cell = (x, y)
    if held is None:
        cells = [here]
        while len(cells) < 3:
            reached = routes(terrain, cells[-1], me)
            boxes = [box for box in reached.distance if terrain[box[1]][box[0]] == "O"]
            letter = reached.first[min(boxes, key=lambda box: (reached.distance[box], box))] if boxes else ""
            cells.append(_walked(terrain, cells[-1], letter, me))
        return Mate((cells[0], cells[1], cells[2]), "is empty-handed and probably after onions", None)
    soup = soup_in(view, front)
    if held[0] == "onion" and ahead == "P" and (soup is None or len(soup[2]) < view["onions_per_soup"]):
        return Mate((here, here, here), f"has an onion for pot ({front[0]},{front[1]}), which I count as in", (front[0], front[1]))
    if ahead == FLOOR and view["history"][1][-1:] == facing:
        one = _walked(terrain, here, facing, me)
        two = _walked(terrain, one, facing, me)
        return Mate((here, one, two), f"carries {_a(held[0])} and probably walks on {facing}", None)
    busy = "about to put it down" if ahead == "X" and object_at(view["objects"], front) is None else "looking for a place"
    return Mate((here, here, here), f"carries {_a(held[0])} and is {busy}", None)


def _walked(terrain: list[str], cell: Cell, letter: str, me: Any) -> Cell:
    """Return the cell a step of the other's leads to: his own if there is no letter, no floor, or if I stand there."""
    if not letter:
        return cell
    dx, dy = STEP[letter]
    there = (cell[0] + dx, cell[1] + dy)
    return there if there != me and terrain[there[1]][there[0]] == FLOOR else cell


def _a(thing: str) -> str:
    return f"an {thing}" if thing == "onion" else f"a {thing}"


class Node:
    """Where a chain of errands has led: my place and hands, the pots and the counters, and what it is worth."""

    __slots__ = ("cell", "facing", "gain", "held", "items", "kind", "letters", "note", "parent", "pots", "served", "target", "turn", "worth")

    turn: int
    """The next turn to be played there."""
    cell: Cell
    facing: str
    held: str
    """onion, dish, soup, or empty."""
    pots: dict[Cell, tuple[int, int]]
    """Pot -> (onions, turn from which the soup is ready, or -1)."""
    items: dict[Cell, str]
    """Counter -> what lies on it."""
    served: int
    worth: int
    """Hundredths of a point."""
    parent: Node | None
    kind: str
    target: Cell
    letters: str
    """Of the last errand, its I included."""
    gain: float
    """Points of the last errand before the discount."""
    note: str
    """What else there is to say of the last errand."""

    @property
    def chain(self) -> list[Node]:
        """The errands from the first to this one."""
        out = []
        node: Node | None = self
        while node is not None and node.parent is not None:
            out.append(node)
            node = node.parent
        return out[::-1]

    @property
    def line(self) -> str:
        """All letters from the frozen view on."""
        return "".join([node.letters for node in self.chain])


class Tree:
    """Errands from a frozen view."""

    def __init__(self, view: dict[str, Any], *, last: int) -> None:
        self.view = view
        self.kitchen = layout(tuple(view["terrain"]))
        self.turn: int = view["turn"]
        self.last = last
        """Turns of the game; what is not done by then is not done."""
        self.mate = predict(view)
        self.looked = 0
        """Errands weighed so far."""
        self.root = self._root()

    def _root(self) -> Node:
        view, pots = self.view, self.kitchen.cells["P"]
        cook, full = view["cook_time"], view["onions_per_soup"]
        root = Node()
        cell, root.facing, held = view["players"][0]
        root.cell = (cell[0], cell[1])
        root.turn, root.held, root.served, root.worth = self.turn, held[0] if held else "", 0, 0
        root.parent, root.kind, root.target, root.letters, root.gain, root.note = None, "", root.cell, "", 0.0, ""
        root.pots = dict.fromkeys(pots, (0, -1))
        root.items = {}
        for thing in view["objects"]:
            where = (thing[1][0], thing[1][1])
            if where in root.pots:
                onions = len(thing[2])
                root.pots[where] = onions, self.turn + max(0, cook - thing[3]) if onions == full else -1
            else:
                root.items[where] = thing[0]
        if self.mate.pot is not None:
            onions = root.pots[self.mate.pot][0] + 1
            root.pots[self.mate.pot] = onions, self.turn + cook if onions == full else -1
        return root

    def errands(self, node: Node) -> list[tuple[str, Cell, Route]]:
        """Return what could be done next as (kind, target, route), the nearest of each kind."""
        cells, full = self.kitchen.cells, self.view["onions_per_soup"]
        wanted: list[tuple[str, Cell]]
        if not node.held:
            wanted = [("onion", cell) for cell in cells["O"]]
            wanted += [(f"take {thing}", cell) for cell, thing in node.items.items() if not (node.kind == "put" and cell == node.target)]
            wanted += [("dish", cell) for cell in cells["D"]]
        elif node.held == "soup":
            wanted = [("serve", cell) for cell in cells["S"]]
        else:
            if node.held == "onion":
                wanted = [("add", pot) for pot, (onions, _) in node.pots.items() if onions < full]
            else:
                wanted = [("lift", pot) for pot, (onions, _) in node.pots.items() if onions == full]
            # What was just taken from a counter is not put on another: that is no errand.
            if not node.kind.startswith("take"):
                wanted += [("put", cell) for cell in cells["X"] if cell not in node.items]
        still = self.mate.cells[node.turn - self.turn :]
        ways = self.kitchen.ways_past(node.cell, node.facing, still) if len(still) > 1 else self.kitchen.ways(node.cell, node.facing)
        found = [(len(ways[target].letters), kind, target, ways[target]) for kind, target in wanted if target in ways]
        found.sort()
        left = dict(NEAR)
        out = []
        for _, kind, target, route in found:
            if left[kind]:
                left[kind] -= 1
                out.append((kind, target, route))
        return out

    def done(self, node: Node, kind: str, target: Cell, route: Route) -> Node | None:
        """Return where an errand leads, or None if it ends after the game."""
        view, full = self.view, self.view["onions_per_soup"]
        letters = route.letters
        turn = node.turn + len(letters)
        pots, items, held, served, note = node.pots, node.items, node.held, node.served, ""
        gain: float
        if kind == "onion":
            held, gain = "onion", ONION
        elif kind == "dish" or kind == "take dish":
            held, gain = "dish", self._dish(node)
        elif kind == "take onion":
            held, gain = "onion", ONION
        elif kind == "take soup":
            held, gain = "soup", LIFT
        elif kind == "add":
            held = ""
            onions = pots[target][0] + 1
            gain = POT[min(onions, len(POT)) - 1] - ONION
            need = self.kitchen.finish + (full - onions) * self.kitchen.trip
            if turn + need > self.last:
                gain, note = -ONION, ", too late for a soup"
            pots = {**pots, target: (onions, turn + view["cook_time"] if onions == full else -1)}
        elif kind == "lift":
            wait = max(0, pots[target][1] - turn)
            letters += "S" * wait
            turn += wait
            note = f", having waited {wait} for it to be ready" if wait else ""
            held, gain = "soup", LIFT
            pots = {**pots, target: (0, -1)}
        elif kind == "serve":
            held, gain, served = "", SERVE, served + 1
        else:
            gain = -ONION if held == "onion" else -self._dish(node)
            if held == "onion" and (target, route.cell) in self.kitchen.over and turn + self.kitchen.finish + self.kitchen.trip <= self.last:
                gain, note = OVER, ", nearer to the pots on its far side"
            items = {**items, target: held}
            held = ""
        if kind.startswith("take"):
            items = {cell: thing for cell, thing in items.items() if cell != target}
        turn += 1
        if turn > self.last:
            return None
        child = Node()
        child.turn, child.cell, child.facing, child.held, child.pots, child.items = turn, route.cell, route.facing, held, pots, items
        child.served, child.parent, child.kind, child.target, child.letters = served, node, kind, target, letters + "I"
        child.gain, child.note = gain, note
        child.worth = node.worth + round(gain * DISCOUNT[turn - self.turn])
        self.looked += 1
        return child

    def _dish(self, node: Node) -> float:
        """Return the points of a dish in hand: only where a soup is under way."""
        most = max((onions for onions, _ in node.pots.values()), default=0)
        full = self.view["onions_per_soup"]
        return DISH if most == full else DISH_SOON if most == full - 1 else 0.0
