r"""The builtin Overcooked planner: it looks the kitchen over, guesses the other cook's next two turns, then weighs chains of errands.

The search is a beam of sweeps: each sweep goes down the chain lengths once and, at each length, on from the most promising chain not
gone on from yet. So the first sweep already gives a whole line, and every later one widens the beam by one. One sentence is one errand
weighed: its way, the turn it is done by, and the sum its worth is made of.

Lines a reader can act on, the last of a kind counts:

    Best line so far: Turn 0: U from (3,3) holding nothing; Turn 1: I from (3,3) holding nothing; Turn 2: L from (3,3) holding onion.
    GOAL onion from (3,4), then onion into pot (3,0).
    WARNING keep out of (2,3) at turn 1: Bob is expected there.
    If at turn 0 I am at (3,3) with U blocked: Turn 0: R from (3,3) holding nothing; Turn 1: U from (4,3) holding nothing.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from functools import lru_cache
from typing import Any

from games.overcooked import advance
from games.overcooked.kitchen import FLOOR, STEP, Cell
from workers.thinkers import Step
from workers.thinkers.overcooked_search import DISCOUNT, Node, Tree
from workers.thinkers.steps import Mind, think

__all__ = ["plan"]

ERRANDS = 5
"""Errands in a chain."""
CHAINS = {"easy": 55, "medium": 55, "hard": 55}
"""Chains gone on from in one plan: a beam about ten wide over five errands."""
FUTURE = 5
"""Points that all later errands together are taken to be worth, so that of two equal chains the quicker one is ahead."""
SUMMARY_EVERY = 4
"""Sweeps from one summary to the next."""
SHOWN = 40
"""Turns of a line that are written down: as many as a conclusion of 1,024 tokens holds twice, as line and in the box."""
INSTEAD = 12
"""Turns of a contingency."""
KEPT_TO = 30
"""Hundredths of a point by which the first errand of my last plan is preferred, so that I do not turn back for a trifle."""
NEAR = 2
"""Steps up to which the other cook is worth a warning."""

_FACING = {"U": "up", "D": "down", "L": "left", "R": "right"}
_APPROACH = (
    "My approach: chains of up to five errands, in points: an onion in hand 1, in a pot 3, 4 or 5 as its first, second or third; a dish in hand 2.5 with a pot full, "
    "1.5 with one that lacks an onion; a soup lifted 5, served 12; an onion laid where the pots are nearer from the other side 1; all that may follow 5. Each "
    "turn that passes first takes 3 percent off.\n\n"
)
_GOAL = re.compile(r"GOAL (.*)")


def plan(view: dict[str, Any], *, load: str, max_ticks: int = 100, memory: str = "") -> Generator[Step, str | None, None]:
    """Yield (strategy, text) for the kitchen `view`, as it stood when the thinking began; the texts join to the whole reasoning.

    `send(strategy)` wishes for the next kind of step: `conclude` ends the thinking, `check`, `summarize` and `explore` are done when
    there is something to check, sum up or try; any other wish, and None, lets the thinking go its own way. `memory` is the planner's
    own last conclusion, or empty: the errand it began with is kept to unless something clearly better is found.
    """
    yield from think(_Mind(view, load=load, max_ticks=max_ticks, memory=memory))


class _Mind(Mind):
    """One plan in the making."""

    def __init__(self, view: dict[str, Any], *, load: str, max_ticks: int, memory: str) -> None:
        self.name, self.mate = ("Bob", "Alice") if view["you"] else ("Alice", "Bob")
        if view["you"]:
            # Thought through with the two cooks' places changed: the rules differ only in who interacts first.
            view = {**view, "you": 0, "players": view["players"][::-1], "history": view["history"][::-1]}
        self.view = view
        self.turn: int = view["turn"]
        self.tree = Tree(view, last=max_ticks)
        self.chains = CHAINS.get(load, CHAINS["medium"])
        self.best: Node | None = None
        """Where the best line written down ends."""
        self.line = ""
        """Its letters."""
        self.goal = ""
        self.ends: list[Node] = []
        """Chains that are as long as chains get, or cannot go on."""
        self.surveyed: set[Cell] = set()
        """Cells around which the floor was written down."""
        self.spelled: set[tuple[Cell, str, str]] = set()
        """Ways written down step by step: cell, facing, letters."""
        self.checked = self.summed = self.tried = ""
        found = _GOAL.findall(memory)
        self.kept_to = found[-1].rstrip(".").split(", then ")[0] if found else ""
        super().__init__()

    def _wished(self, wish: str | None) -> Iterator[Step]:
        kinds = {"check": self._check, "summarize": self._summarize, "explore": self._explore}
        return kinds[wish]() if self.best is not None and wish in kinds else iter(())

    def _freely(self) -> Iterator[Step]:
        yield from self._understand()
        yield "plan", _APPROACH
        yield from self._sweeps()
        yield from self._explore()
        yield from self._check()

    def _understand(self) -> Iterator[Step]:
        root, mate = self.tree.root, self.tree.mate
        yield "understand", f"Okay, it is turn {self.turn}. I am {self.name} at {_at(root.cell)}, facing {_FACING[root.facing]}, holding {root.held or 'nothing'}.\n"
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
        now, soon, later = mate.cells
        facing, last = self.view["players"][1][1], self.view["history"][1][-1:]
        yield "understand", f"{self.mate} at {_at(now)} faces {facing}{f' after {last}' if last else ''} and {mate.why}: then {_at(soon)} next turn and {_at(later)} in two.\n"
        for turn, cell in ((self.turn + 1, soon), (self.turn + 2, later)):
            if abs(cell[0] - root.cell[0]) + abs(cell[1] - root.cell[1]) <= NEAR and (turn == self.turn + 1 or cell != soon):
                yield "check", f"WARNING keep out of {_at(cell)} at turn {turn}: {self.mate} is expected there.\n"

    def _sweeps(self) -> Iterator[Step]:
        """Go down the chain lengths again and again, each time on from the most promising chain of each length not gone on from yet."""
        levels: list[list[Node]] = [[self.tree.root], *([] for _ in range(ERRANDS))]
        states: list[set[tuple[Any, ...]]] = [set() for _ in levels]
        gone_on = sweep = 0
        while gone_on < self.chains and any(levels[:-1]):
            sweep += 1
            if sweep > 1:
                yield "plan", f"Sweep {sweep}, from the top: of each length the best chain I have not gone on from.\n"
            for length, level in enumerate(levels[:-1]):
                if not level:
                    continue
                node = max(level, key=self._promise)
                level.remove(node)
                gone_on += 1
                on: list[Node] = []
                yield from self._go_on(node, on)
                for child in on:
                    state = child.cell, child.facing, child.held, tuple(child.pots.values()), tuple(sorted(child.items))
                    if state not in states[length + 1]:
                        states[length + 1].add(state)
                        levels[length + 1].append(child)
                        if length + 1 == ERRANDS:
                            self.ends.append(child)
                if not on and node.parent is not None:
                    self.ends.append(node)
            best = max(self.ends, key=self._promise, default=self.best)
            if best is not None and best is not self.best:
                yield from self._record(best)
            if sweep % SUMMARY_EVERY == 0:
                yield from self._summarize()
        yield "plan", "\n"

    def _go_on(self, node: Node, on: list[Node]) -> Iterator[Step]:
        """Weigh every errand that could come next and put where it leads into `on`."""
        tree = self.tree
        if node.cell not in self.surveyed:
            self.surveyed.add(node.cell)
            yield "execute", f"From {_at(node.cell)} it is {tree.kitchen.waves(node.cell)}.\n"
        if node.parent is not None:
            did = ", ".join([_errand(one.kind, one.target) for one in node.chain])
            yield "execute", f"After {did}: turn {node.turn}, I am at {_at(node.cell)} holding {node.held or 'nothing'}.\n"
        for kind, target, route in tree.errands(node):
            child = tree.done(node, kind, target, route)
            if child is None:
                yield "execute", f"{_errand(kind, target)}: {' '.join(route.letters)} I ends after the game.\n"
                continue
            kept = node.parent is None and self.kept_to == _errand(kind, target)
            if kept:
                child.worth += KEPT_TO
            yield "execute", self._weighed(node, child, kept)
            on.append(child)
            if node.parent is None and (self.best is None or self._promise(child) > self._promise(self.best)):
                yield from self._record(child)
        if not on:
            yield "execute", "Nothing can be done from there.\n"

    def _promise(self, node: Node) -> int:
        """Return the worth of a chain with what may still follow, in hundredths of a point."""
        return node.worth + FUTURE * DISCOUNT[node.turn - self.turn]

    def _weighed(self, node: Node, child: Node, kept: bool) -> str:
        """Return one errand in words, with its sum."""
        sign = "-" if child.gain < 0 else "+" if node.parent is not None else ""
        total = f"{_points(node.worth)} {sign} " if node.parent is not None else sign
        keep = f", {_points(KEPT_TO)} of it for keeping to my last plan" if kept else ""
        return (
            f"{_errand(child.kind, child.target)}: {self._route(node, child)}, done at turn {child.turn}{child.note}; "
            f"{total}{abs(child.gain):g} x {DISCOUNT[child.turn - self.turn] / 100:.2f} is {_points(child.worth)}{keep}.\n"
        )

    def _route(self, node: Node, child: Node) -> str:
        """Return the way of an errand: step by step when it is first met, its letters after that."""
        key = node.cell, node.facing, child.letters
        if key in self.spelled:
            return " ".join(child.letters)
        self.spelled.add(key)
        terrain, cell = self.tree.kitchen.terrain, node.cell
        out = []
        for letter in child.letters:
            there = _beside(cell, letter)
            if letter not in STEP:
                out.append(letter)
            elif terrain[there[1]][there[0]] == FLOOR:
                cell = there
                out.append(f"{letter} {_at(cell)}")
            else:
                out.append(f"{letter} to face {_at(there)}")
        return " ".join(out)

    def _record(self, node: Node) -> Iterator[Step]:
        """Write a line down as the best so far, with its goal."""
        self.best, self.line = node, node.line
        goal = ", then ".join([_errand(one.kind, one.target) for one in node.chain])
        if goal != self.goal:
            yield "plan", f"GOAL {goal}.\n"
        self.goal = goal
        yield "execute", f"Best line so far: {self._moves(node, SHOWN)}.\n"

    def _moves(self, node: Node, count: int) -> str:
        """Return the first moves of a chain, each with its turn, where it starts and what I hold there."""
        moves = self._walk(node)[:count]
        return "; ".join([f"Turn {self.turn + k}: {letter} from {_at(cell)} holding {held or 'nothing'}" for k, (letter, cell, held) in enumerate(moves)])

    def _walk(self, node: Node) -> list[tuple[str, Cell, str]]:
        """Return (letter, cell before it, held before it) along a chain."""
        terrain, cell, held = self.tree.kitchen.terrain, self.tree.root.cell, self.tree.root.held
        out = []
        for one in node.chain:
            for letter in one.letters:
                out.append((letter, cell, held))
                there = _beside(cell, letter)
                if terrain[there[1]][there[0]] == FLOOR:
                    cell = there
            held = one.held
        return out

    def _summarize(self) -> Iterator[Step]:
        """Say where the search stands."""
        state = f"{self.line} {self.tree.looked}"
        if self.best is None or self.summed == state:
            return
        self.summed = state
        yield "summarize", f"So far I weighed {self.tree.looked} errands. My chain is {self.goal}; it is worth {_points(self.best.worth)} and takes until turn {self.best.turn}.\n\n"

    def _other(self) -> Node | None:
        """Return the most promising chain that begins with another letter than my line."""
        return max((node for node in self.ends if node.chain[0].letters[0] != self.line[0]), key=self._promise, default=None)

    def _instead(self, node: Node) -> str:
        here = _at(self.tree.root.cell)
        return f"If at turn {self.turn} I am at {here} with {self.line[0]} blocked: {self._moves(node, INSTEAD)}.\n"

    def _explore(self) -> Iterator[Step]:
        """Say what to do if the first step of the line cannot be taken."""
        if not self.line or self.tried == self.line:
            return
        self.tried = self.line
        other = self._other()
        if other is not None:
            first = other.chain[0]
            yield (
                "explore",
                f"What if {self.line[0]} is blocked at turn {self.turn}? The best chain I saw that begins otherwise starts with "
                f"{_errand(first.kind, first.target)} and is worth {_points(other.worth)}.\n",
            )
            yield "explore", self._instead(other)

    def _check(self) -> Iterator[Step]:
        """Play the best line by the rules, the other cook where he is expected and then out of the way."""
        if self.best is None or self.checked == self.line:
            return
        self.checked = self.line
        view, mate = self.view, self.tree.mate
        walk = self._walk(self.best)
        said = []
        for k, (letter, cell, held) in enumerate(walk[:SHOWN]):
            his = "S"
            if k + 1 < len(mate.cells):
                step = (mate.cells[k + 1][0] - mate.cells[k][0], mate.cells[k + 1][1] - mate.cells[k][1])
                his = next((to for to, shift in STEP.items() if shift == step), "I" if k == 0 and mate.pot is not None else "S")
            else:
                # A corner of the kitchen is where he is in nobody's way.
                view = {**view, "players": [view["players"][0], [[0, 0], *view["players"][1][1:]]]}
            me = view["players"][0]
            if tuple(me[0]) != cell or (me[2][0] if me[2] else "") != held:
                yield "check", f"Wait, by the rules I would be at {_at(me[0])} and not at {_at(cell)} holding {held or 'nothing'} at turn {self.turn + k}; until then it holds.\n\n"
                return
            view, soups, _ = advance(view, letter, his)
            now = view["players"][0]
            if letter == "I":
                did = "serves" if soups else f"leaves me holding {now[2][0] if now[2] else 'nothing'}"
            else:
                did = f"to {_at(now[0])}" if now[0] != me[0] else "waits" if letter == "S" else "turns"
            said.append(f"{self.turn + k} {letter} {did}")
        yield "check", f"Wait, let me play that line by the rules: {', '.join(said)}. It holds.\n\n"

    def _conclude(self) -> Iterator[Step]:
        """The visible answer: goal, contingency, the line once more, the box, and the idea in a sentence."""
        if self.best is None:
            yield from self._go_on(self.tree.root, [])
        if self.best is None:
            yield "conclude", f"Nothing I could begin at turn {self.turn} would be done in time, so I stay.\n\\boxed{{Turn {self.turn}: S}}\n"
            return
        yield "conclude", f"GOAL {self.goal}.\n"
        other = self._other()
        if other is not None:
            yield "conclude", self._instead(other)
        yield "conclude", f"Best line: {self._moves(self.best, SHOWN)}.\n"
        moves = "\n".join([f"Turn {self.turn + k}: {letter}" for k, letter in enumerate(self.line[:SHOWN])])
        yield "conclude", f"\\boxed{{{moves}}}\n"
        first = self.best.chain[0]
        yield "conclude", f"The main idea is {_errand(first.kind, first.target)} first, out of {self.mate}'s way.\n"


@lru_cache(maxsize=512)
def _errand(kind: str, target: Cell) -> str:
    """Return an errand's name."""
    where = _at(target)
    if kind in ("onion", "dish"):
        return f"{kind} from {where}"
    if kind.startswith("take"):
        return f"{kind[5:]} off counter {where}"
    return {"add": "onion into pot", "lift": "soup out of pot", "serve": "serve at", "put": "lay down on"}[kind] + f" {where}"


def _beside(cell: Cell, letter: str) -> Cell:
    """Return the cell a letter points at; the cell itself for I and S."""
    dx, dy = STEP.get(letter, (0, 0))
    return (cell[0] + dx, cell[1] + dy)


def _at(cell: Any) -> str:
    return f"({cell[0]},{cell[1]})"


def _points(worth: int) -> str:
    return f"{worth / 100:.2f}"
