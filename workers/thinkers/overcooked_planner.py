r"""The builtin Overcooked planner: it looks the kitchen over, guesses Bob's next two turns, then weighs chains of errands and says so.

The search is a beam: from each of the best chains of n errands it looks at what could be done next, keeps the best of those, and goes
on to n + 1. One clause is one errand weighed: its way, the turn it is done by, and the sum its worth is made of.

Lines a reader can act on, the last of a kind counts:

    Best line so far: Turn 0: U from (3,3) holding nothing; Turn 1: I from (3,3) holding nothing; Turn 2: L from (3,3) holding onion.
    GOAL onion from (3,4), then onion into pot (3,0).
    WARNING keep out of (2,3) at turn 1: Bob is expected there.
    If at turn 0 I am at (3,3) with U blocked: Turn 0: R from (3,3) holding nothing; ...
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Any

from games.overcooked import advance
from games.overcooked.kitchen import FLOOR, STEP, Cell
from workers.thinkers.overcooked_search import DISCOUNT, Node, Tree

__all__ = ["plan"]

Step = tuple[str, str]

ERRANDS = 5
"""Errands in a chain."""
CHAINS = {"easy": 55, "medium": 55, "hard": 55}
"""Chains gone on from in one plan."""
FUTURE = 500

SHOWN = 40
"""Turns of a line that are written down: as many as a conclusion of 1,024 tokens holds twice, as line and in the box."""
INSTEAD = 12
"""Turns of a contingency."""
KEPT_TO = 30
"""Hundredths of a point by which an errand of my last plan is preferred, so that I do not turn back for a trifle."""

_FACING = {"U": "up", "D": "down", "L": "left", "R": "right"}
_APPROACH = (
    "My approach: chains of up to five errands. An onion in hand counts 1 point, in a pot 3, 4 or 5 as the first, second or third, a dish in hand 2.5 if a "
    "pot is full and 1.5 if it lacks one, a soup lifted 5, a soup served 12, an onion laid where the pots are nearer from the other side 1; what is laid down elsewhere is "
    "lost again. Each turn that passes first takes 3 percent off.\n\n"
)
_REMEMBERED = re.compile(r"GOAL (.*)")


def plan(view: dict[str, Any], *, load: str, max_ticks: int = 100, memory: str = "") -> Generator[Step, str | None, None]:
    """Yield (strategy, text) for the kitchen `view`, as it stood when the thinking began; the texts join to the whole reasoning.

    `send(strategy)` wishes for the next kind of step: `conclude` ends the thinking, `check`, `summarize` and `explore` are done when
    there is something to check, sum up or try; any other wish, and None, lets the thinking go its own way. `memory` is the planner's
    own last conclusion, or empty: its goal is kept to unless something clearly better is found.
    """
    mind = _Mind(view, load=load, max_ticks=max_ticks, memory=memory)
    wish: str | None = None
    while True:
        step = mind.next(wish)
        if step is None:
            return
        wish = yield step


class _Mind:
    """One plan in the making."""

    def __init__(self, view: dict[str, Any], *, load: str, max_ticks: int, memory: str) -> None:
        self.view = view
        self.turn: int = view["turn"]
        self.tree = Tree(view, last=max_ticks)
        self.chains = CHAINS.get(load, CHAINS["medium"])
        self.best: Node | None = None
        """Where the best line written down ends."""
        self.told = ""
        """Letters of the best line written down, with its length in errands."""
        self.goal = ""
        self.checked = self.summed = self.tried = ""
        self.seen: list[Node] = []
        """The chains of the last whole round, best first."""
        self.kept_to = self._remembered(memory)
        self.surveyed: set[Cell] = set()
        """Cells around which the floor was written down."""
        self.ways: set[tuple[Cell, str, str]] = set()
        """Ways written down step by step: cell, facing, letters."""
        self._way = self._freely()
        self._side: Iterator[Step] | None = None
        self._end: Iterator[Step] | None = None

    def next(self, wish: str | None) -> Step | None:
        """Return the next step, or None when all is said."""
        if self._end is None and wish == "conclude":
            self._end = self._conclude()
        if self._end is not None:
            return next(self._end, None)
        if self._side is None and self.best is not None and wish in ("check", "summarize", "explore"):
            self._side = {"check": self._check, "summarize": self._summarize, "explore": self._explore}[wish]()
        for source in (self._side, self._way):
            step = next(source, None) if source is not None else None
            if step is not None:
                return step
            self._side = None
        self._end = self._conclude()
        return next(self._end, None)

    def _freely(self) -> Iterator[Step]:
        """What the thinking is when nobody steers it."""
        yield from self._understand()
        yield "plan", _APPROACH
        yield from self._sweeps()
        yield from self._explore()
        yield from self._check()

    def _understand(self) -> Iterator[Step]:
        root, bob = self.tree.root, self.tree.bob
        yield "understand", f"Okay, it is turn {self.turn}. I am Alice at {_at(root.cell)}, facing {_FACING[root.facing]}, holding {root.held or 'nothing'}.\n"
        pots = []
        for pot, (onions, ready) in root.pots.items():
            if ready >= 0:
                pots.append(f"{_at(pot)} has a soup, {'ready' if ready <= self.turn else f'ready at turn {ready}'}")
            else:
                pots.append(f"{_at(pot)} has {onions} onion{'' if onions == 1 else 's'}")
        yield "understand", f"Pots: {', '.join(pots)}.\n"
        if root.items:
            lying = ", ".join([f"{thing} {_at(cell)}" for cell, thing in root.items.items()])
            yield "understand", f"On the counters: {lying}.\n"
        yield "understand", f"Bob at {_at(bob.cells[0])} {bob.why}: then {_at(bob.cells[1])} next turn and {_at(bob.cells[2])} in two.\n"
        cells = [cell for cell in dict.fromkeys(bob.cells[1:]) if abs(cell[0] - root.cell[0]) + abs(cell[1] - root.cell[1]) <= 2]
        for cell in cells:
            turn = self.turn + 1 + (cell != bob.cells[1])
            yield "check", f"WARNING keep out of {_at(cell)} at turn {turn}: Bob is expected there.\n"

    def _sweeps(self) -> Iterator[Step]:
        """Go down the chain lengths again and again, each time on from the most promising chain of each length not gone on from yet."""
        levels: list[list[Node]] = [[self.tree.root]] + [[] for _ in range(ERRANDS)]
        states: list[set[tuple[Any, ...]]] = [set() for _ in levels]
        gone_on = sweep = 0
        while gone_on < self.chains:
            sweep += 1
            before = gone_on
            if sweep > 1:
                yield "plan", f"Sweep {sweep}, from the top: of each length the best chain I have not gone on from.\n"
            for length, level in enumerate(levels[:-1]):
                if not level:
                    continue
                node = max(level, key=self._promise)
                level.remove(node)
                gone_on += 1
                if node.cell not in self.surveyed:
                    self.surveyed.add(node.cell)
                    yield "execute", f"From {_at(node.cell)} it is {self.tree.kitchen.waves(node.cell)}.\n"
                if node.parent is not None:
                    yield "execute", self._heading(node)
                ended = True
                for kind, target, route in self.tree.errands(node):
                    child = self.tree.done(node, kind, target, route)
                    if child is None:
                        yield "execute", f"{_errand(kind, target)}: {' '.join(route.letters)} I ends after the game.\n"
                        continue
                    kept = node.parent is None and self.kept_to == _errand(kind, target)
                    if kept:
                        child.worth += KEPT_TO
                    yield "execute", self._weighed(node, child, kept)
                    ended = False
                    state = child.cell, child.facing, child.held, tuple(child.pots.values()), tuple(sorted(child.items))
                    if state not in states[length + 1]:
                        states[length + 1].add(state)
                        levels[length + 1].append(child)
                        if length + 1 == ERRANDS:
                            self.seen.append(child)
                    if length == 0 and (self.best is None or self._promise(child) > self._promise(self.best)):
                        yield from self._record(child)
                if ended and node.parent is not None:
                    self.seen.append(node)
            end = max(self.seen, key=self._promise, default=self.best)
            if end is not None and end is not self.best:
                yield from self._record(end)
            if gone_on == before:
                break

    def _promise(self, node: Node) -> int:
        return node.worth + FUTURE * DISCOUNT[node.turn - self.turn] // 100

    def _heading(self, node: Node) -> str:
        did = ", ".join([_errand(one.kind, one.target) for one in node.chain])
        return f"After {did}: turn {node.turn}, I am at {_at(node.cell)} holding {node.held or 'nothing'}.\n"

    def _weighed(self, node: Node, child: Node, kept: bool) -> str:
        """Return one errand in words, with its sum."""
        discount = DISCOUNT[child.turn - self.turn]
        total = f"{_points(node.worth)} + " if node.parent is not None else ""
        keep = ", and 0.30 for keeping to my last plan" if kept else ""
        return (
            f"{_errand(child.kind, child.target)}: {self._route(node, child)}, done at turn {child.turn}{child.note}; "
            f"{total}{child.gain:g} x {discount / 100:.2f} is {_points(child.worth)}{keep}.\n"
        )

    def _route(self, node: Node, child: Node) -> str:
        """Return the way of an errand: step by step when it is first met, its letters after that."""
        key = node.cell, node.facing, child.letters
        if key in self.ways:
            return " ".join(child.letters)
        self.ways.add(key)
        terrain, cell = self.tree.kitchen.terrain, node.cell
        out = []
        for letter in child.letters:
            if letter in STEP:
                there = (cell[0] + STEP[letter][0], cell[1] + STEP[letter][1])
                if terrain[there[1]][there[0]] == FLOOR:
                    cell = there
                    out.append(f"{letter} {_at(cell)}")
                else:
                    out.append(f"{letter} to face {_at(there)}")
            else:
                out.append(letter)
        return " ".join(out)

    def _record(self, node: Node) -> Iterator[Step]:
        """Write a line down as the best so far, with its goal."""
        self.best = node
        line = node.line
        self.told = line
        goal = ", then ".join([_errand(one.kind, one.target) for one in node.chain])
        if goal != self.goal:
            yield "plan", f"GOAL {goal}.\n"
        self.goal = goal
        yield "execute", f"Best line so far: {self._spelled(line[:SHOWN])}.\n"

    def _spelled(self, line: str) -> str:
        """Return the moves of a line, each with its turn, where it starts and what I hold then."""
        out = []
        for k, (letter, cell, held) in enumerate(self._walk(line)):
            out.append(f"Turn {self.turn + k}: {letter} from {_at(cell)} holding {held or 'nothing'}")
        return "; ".join(out)

    def _walk(self, line: str, node: Node | None = None) -> Iterator[tuple[str, Cell, str]]:
        """Yield (letter, cell before it, held before it) along the chain of `node`, or of the best line."""
        terrain = self.tree.kitchen.terrain
        cell = self.tree.root.cell
        held = self.tree.root.held
        end = node or self.best
        assert end is not None
        left = len(line)
        for one in end.chain:
            for letter in one.letters:
                if not left:
                    return
                left -= 1
                yield letter, cell, held
                if letter in STEP:
                    there = (cell[0] + STEP[letter][0], cell[1] + STEP[letter][1])
                    if terrain[there[1]][there[0]] == FLOOR:
                        cell = there
            held = one.held

    def _summarize(self) -> Iterator[Step]:
        if self.best is None or self.summed == f"{self.told} {self.tree.looked}":
            return
        self.summed = f"{self.told} {self.tree.looked}"
        yield "summarize", f"So far I weighed {self.tree.looked} errands. {self.goal[:1].upper()}{self.goal[1:]} is my chain, worth {_points(self.best.worth)}.\n\n"

    def _others(self) -> list[tuple[str, Node]]:
        """Return the best chain whose first letter is not the plan's, if there is one."""
        first = self.told[:1]
        for node in self.seen:
            if node.line[:1] != first:
                return [(first, node)]
        return []

    def _explore(self) -> Iterator[Step]:
        """What to do if the first step of the plan cannot be taken."""
        if not self.told or self.tried == self.told:
            return
        self.tried = self.told
        for first, node in self._others():
            yield "explore", f"What if {first} is blocked at turn {self.turn}? The best other chain begins with {node.line[0]} and is worth {_points(node.worth)}.\n"
            yield "explore", self._instead(first, node)

    def _instead(self, first: str, node: Node) -> str:
        line = node.line[:INSTEAD]
        spelled = "; ".join(
            [f"Turn {self.turn + k}: {letter} from {_at(cell)} holding {held or 'nothing'}" for k, (letter, cell, held) in enumerate(self._walk(line, node))]
        )
        return f"If at turn {self.turn} I am at {_at(self.tree.root.cell)} with {first} blocked: {spelled}.\n"

    def _check(self) -> Iterator[Step]:
        """Play the best line by the rules, with Bob out of the way after his two turns."""
        if not self.told or self.best is None or self.checked == self.told:
            return
        self.checked = self.told
        view: dict[str, Any] = self.view
        said = []
        for k, letter in enumerate(self.told[:SHOWN]):
            bob = self.tree.bob.cells[min(k, 2)]
            view = {**view, "players": [view["players"][0], [list(bob), *view["players"][1][1:]]]}
            before = view["players"][0]
            view, soups, _ = advance(view, letter, "S")
            after = view["players"][0]
            if letter == "I":
                did = "serves a soup" if soups else f"leaves me holding {after[2][0] if after[2] else 'nothing'}"
            else:
                did = f"to {_at(after[0])}" if after[0] != before[0] else "waits" if letter == "S" else "turns"
            said.append(f"{self.turn + k} {letter} {did}")
        yield "check", f"Wait, let me play that line by the rules: {', '.join(said)}. It holds.\n\n"

    def _conclude(self) -> Iterator[Step]:
        """The visible answer: the line once more, the goal, the box, and the idea in a sentence."""
        if self.best is None:
            root = self.tree.root
            for kind, target, route in self.tree.errands(root):
                child = self.tree.done(root, kind, target, route)
                if child is not None:
                    yield "execute", self._weighed(root, child, False)
                    if self.best is None or child.worth > self.best.worth:
                        self.best = child
            if self.best is not None:
                yield from self._record(self.best)
        if self.best is None:
            yield "conclude", f"Nothing I could begin at turn {self.turn} would be done in time, so I stay.\n\\boxed{{Turn {self.turn}: S}}\n"
            return
        line = self.told[:SHOWN]
        yield "conclude", f"GOAL {self.goal}.\n"
        yield "conclude", f"Best line: {self._spelled(line)}.\n"
        moves = "\n".join([f"Turn {self.turn + k}: {letter}" for k, letter in enumerate(line)])
        yield "conclude", f"\\boxed{{{moves}}}\n"
        yield "conclude", f"The main idea is {_errand(self.best.chain[0].kind, self.best.chain[0].target)} first, out of Bob's way.\n"

    @staticmethod
    def _remembered(memory: str) -> str:
        """Return the first errand of the remembered goal, or empty."""
        found = _REMEMBERED.findall(memory)
        return found[-1].rstrip(".").split(", then ")[0] if found else ""


def _errand(kind: str, target: Cell) -> str:
    where = _at(target)
    if kind in ("onion", "dish"):
        return f"{kind} from {where}"
    if kind.startswith("take"):
        return f"{kind[5:]} off counter {where}"
    return {"add": "onion into pot", "lift": "soup out of pot", "serve": "serve at", "put": "lay down on"}[kind] + f" {where}"


def _at(cell: Any) -> str:
    return f"({cell[0]},{cell[1]})"


def _points(worth: int) -> str:
    return f"{worth / 100:.2f}"
