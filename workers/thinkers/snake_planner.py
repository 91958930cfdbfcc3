"""The builtin Snake planner: it looks the board over, checks the way to each apple, then searches line by line and says so.

The search is a beam of sweeps: each sweep goes down the turns once and looks on from the most promising position of each depth that
was not looked at yet, so the first sweep already gives a whole line and every later one widens the beam by one. What is written is
what is searched: one sentence is one position looked at, with every figure that its worth is made of.

Lines a reader can act on, the last of a kind counts:

    Best line so far: Turn 12: U to (3,5); Turn 13: R to (4,5).
    GOAL target food (3,5).
    WARNING avoid food (5,2): dead end until turn 17.
    WARNING do not go L at turn 12: every way on is closed by turn 16.
    If at turn 13 I stand on (2,4) instead: Turn 13: U to (2,5); Turn 14: R to (3,5).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Any

from workers.thinkers import Step
from workers.thinkers.snake_search import LETTERS, Node, Tree, lost
from workers.thinkers.snake_words import look, spelled, turns, worth
from workers.thinkers.steps import Mind, think

__all__ = ["plan"]

DEPTH = 16
"""Turns a line is searched ahead."""
POSITIONS = {"easy": (105, 16), "medium": (115, 5), "hard": (140, 14)}
"""Positions looked on from in one plan: so many, and so many more for each cell of the body."""
MOST = 250
"""Positions no plan exceeds; about 20k tokens."""
BETTER = 40
"""Hundredths of an apple by which a line must gain to be written down before the sweep ends."""

DEEPER, DEEPEST = 4, 28
"""Turns added when all lines of that length were looked at, and turns where that ends."""
SUMMARY_EVERY = 40
"""Positions looked on from between one summary and the next."""
SPELLED = 8
"""Cells up to which the body is listed; a longer one is told by the way from head to tail."""
INSTEAD = 6
"""Positions looked on from behind each first move that is not the plan's."""

_APPROACH = (
    "Now I search turn by turn. A position is worth its apples, each losing 4 percent for every turn before "
    "it; plus 0.04 for each open cell; minus 0.06 for each step to the next apple (8 if none is in time); minus 0.30 if my tail is cut off, and then "
    "0.35 for each cell the room is too small for me. A line gains 0.10 for each turn it lasts."
)
_SHORT_VIEW = "That is the short view; where it leads to in the end I do not know yet.\n\n"
_NO_APPLE = "So far no apple is to be had, and staying alive comes first.\n"
_REMEMBERED = re.compile(r"Turn (\d{1,9}): ([LRUD]) to (\(\d+,\d+\))")


def plan(view: dict[str, Any], *, load: str, max_ticks: int = 100, memory: str = "") -> Generator[Step, str | None, None]:
    """Yield (strategy, text) for the board `view`, as it stood when the thinking began; the texts join to the whole reasoning.

    `send(strategy)` wishes for the next kind of step: `conclude` ends the thinking, `check`, `summarize` and `explore` are done when
    there is something to check, sum up or try; any other wish, and None, lets the thinking go its own way. `memory` is the planner's
    own last conclusion, or empty: if the snake is where it says, its line is searched first.
    """
    yield from think(_Mind(view, load=load, max_ticks=max_ticks, memory=memory))


class _Mind(Mind):
    """One plan in the making."""

    def __init__(self, view: dict[str, Any], *, load: str, max_ticks: int, memory: str) -> None:
        self.view = view
        self.turn: int = view["turn"]
        self.memory = memory
        self.tree = Tree(view, depth=DEPTH, max_ticks=max_ticks)
        base, each = POSITIONS.get(load, POSITIONS["medium"])
        self.looks = 0
        self.most = min(MOST, base + each * len(view["snake"]))
        self.line = ""
        """Letters of the best line written down."""
        self.score = -(10**6)
        self.node: Node | None = None
        """Where it ends in the tree; None while it is only a way from the survey."""
        self.goal: int | None = None
        self.verdict = ""
        self.warned: set[str] = set()
        self.warnings: list[str] = []
        self.checked = ""
        self.summed = self.explored = 0
        super().__init__()

    def _wished(self, wish: str | None) -> Iterator[Step]:
        if self.line:
            if wish == "check":
                return self._check()
            if wish == "summarize" and self.looks >= self.summed + SUMMARY_EVERY // 4:
                return self._summarize()
            if wish == "explore" and self.explored + INSTEAD <= self.looks < self.most:
                return self._explore()
        return iter(())

    def _freely(self) -> Iterator[Step]:
        yield from self._understand()
        yield from self._survey()
        ends = self.turn + DEPTH >= self.tree.end
        yield "plan", _APPROACH + (f" Once turn {self.tree.end} comes only apples count, so every cell counts as open then.\n\n" if ends else "\n\n")
        yield from self._sweeps()
        if not self.tree.root.dead:
            yield from self._explore()
        yield from self._check()

    def _understand(self) -> Iterator[Step]:
        view, tree = self.view, self.tree
        names, body = tree.names, tree.root.body
        where = f"Okay, it is turn {self.turn}. My head is at {names[body[0]]} and I am heading {view['direction']}"
        if len(body) == 1:
            yield "understand", where + "; I am one cell long.\n"
        else:
            if len(body) <= SPELLED:
                trail = "head first " + " ".join([names[cell] for cell in body])
            else:
                way = {shift: letter for letter, shift in zip(LETTERS, tree.shift)}
                trail = f"from my head by {''.join([way[after - cell] for cell, after in pairwise(body)])} to my tail at {names[body[-1]]}"
            yield "understand", f"{where}. I am {len(body)} cells long, {trail}; the last one is free next turn unless I eat.\n"
        blocks = " ".join([names[x + tree.size * y] for x, y in view["obstacles"]])
        yield "understand", f"Walls are x or y = 0 and {tree.size - 1}; inside them {f'the obstacles are {blocks}' if blocks else 'nothing is in the way'}.\n"
        foods = ", ".join([f"{names[cell]} for {turns(gone - self.turn)}" for cell, gone in tree.root.foods])
        yield "understand", f"Apples: {foods}. First the way to each.\n\n" if foods else "There is no apple to be seen, so I keep room around me.\n\n"

    def _survey(self) -> Iterator[Step]:
        """Look at the shortest way to each apple past the body as it lies, nearest first."""
        tree, root = self.tree, self.tree.root
        names, head = tree.names, root.body[0]
        far = [names[cell] for cell, gone in root.foods if tree.distance(head, cell) > gone - self.turn]
        if far:
            yield "execute", f"Too far away for the time they have: {' '.join(far)}.\n"
        near = [food for food in root.foods if names[food[0]] not in far]
        for cell, gone in sorted(near, key=lambda food: tree.distance(head, food[0])):
            intro = f"Apple {names[cell]}, here for {turns(gone - self.turn)}: "
            route = tree.route(cell)
            if not route:
                yield "execute", f"{intro}no open way leads there while my body lies as it does.\n"
                continue
            way = f"the shortest open way is {' '.join(route)}, {len(route)} move{'s' if len(route) > 1 else ''}"
            if len(route) > gone - self.turn:
                yield "execute", f"{intro}{way}, and that is too late.\n"
                continue
            node = tree.walk(route)
            text = f"{intro}{way}. Having eaten it I am {len(node.body)} long with {node.room} cells open, and my tail is "
            if not node.tail and node.room < len(node.body):
                yield "execute", text + "cut off: too tight.\n"
                yield "check", self._warn(f"WARNING avoid food {names[cell]}: dead end until turn {gone}.\n")
                continue
            yield "execute", text + ("in reach, so that is safe enough.\n" if node.tail else "cut off, but there is room for all of me.\n")
            if node.score > self.score and len(route) <= tree.depth:
                yield from self._record(node, cell)
        if self.line:
            yield "plan", _SHORT_VIEW
            return
        yield "plan", _NO_APPLE
        start = tree.next_at(0)
        if start is not None:
            yield "execute", self._look(start)
            yield from self._news(1)

    def _sweeps(self) -> Iterator[Step]:
        tree = self.tree
        recalled = self._recalled()
        if recalled:
            yield "plan", f"My last plan goes on {' '.join(recalled)} from here; I follow that first.\n"
        sweep = 0
        while self.looks < self.most:
            sweep += 1
            before = tree.expanded
            if sweep > 1:
                yield "plan", f"Sweep {sweep}: {self.line} is worth {worth(self.node)} at its end. Back to the top, for the best that I passed over.\n"
            for depth in range(tree.depth):
                node = (tree.at(recalled[:depth]) if sweep == 1 and recalled else None) or tree.next_at(depth)
                if node is None:
                    continue
                yield "execute", self._look(node)
                yield from self._news(BETTER)
                if tree.root.dead or self.looks >= self.most:
                    break
            if tree.root.dead:
                yield from self._last_stand()
                return
            yield from self._news(1 if self.node is not None else -(10**6))
            if tree.expanded == before:
                if tree.depth >= DEEPEST or not tree.deepen(DEEPER):
                    yield "plan", f"Every line up to turn {self.turn + tree.depth} has been looked at.\n\n"
                    return
                yield "plan", f"Every line I have is at its end, so I look on to turn {self.turn + tree.depth}.\n"
            if self.looks >= self.summed + SUMMARY_EVERY:
                yield from self._summarize()

    def _look(self, node: Node) -> str:
        self.looks += 1
        return look(self.tree, node)

    def _news(self, gain: int) -> Iterator[Step]:
        """Write down what the last look changed: first moves found dead, and a better line if it gained enough."""
        tree = self.tree
        for child in (*(tree.root.children or ()), *tree.root.closed):
            if child.dead and child.path not in self.warned:
                self.warned.add(child.path)
                yield "check", self._warn(f"WARNING do not go {child.path} at turn {self.turn}: every way on is closed by turn {child.last}.\n")
        best = tree.best()
        if best is None:
            return
        if self.node is not None and lost(self.node):
            yield "check", f"The line {self.line} turns out a dead end, so I need another.\n"
            yield from self._record(best)
        elif best.score >= self.score + gain and best is not self.node:
            yield from self._record(best)

    def _record(self, node: Node, goal: int | None = None) -> Iterator[Step]:
        """Write a line down as the best so far, with its goal."""
        on_tree = goal is None
        meal = node
        while on_tree and meal.parent is not None:
            if meal.eaten > meal.parent.eaten:
                goal = meal.body[0]
            meal = meal.parent
        self.node = node if on_tree else None
        self.line, self.score = node.path, node.score
        if goal is not None and goal != self.goal:
            yield "plan", f"GOAL target food {self.tree.names[goal]}.\n"
        self.goal = goal
        self.verdict = f"It eats {node.eaten} and ends at worth {worth(node)} with {node.room} cells open{'' if node.tail else ', my tail cut off'}."
        yield "execute", f"Best line so far: {spelled(self.tree, node.path)}. {self.verdict}\n"

    def _warn(self, warning: str) -> str:
        self.warnings.append(warning)
        return warning

    def _summarize(self) -> Iterator[Step]:
        """Say where the search stands, and what to do if another first move is taken."""
        if self.summed == self.looks:
            return
        self.summed = self.looks
        yield "summarize", f"So far I looked on from {self.tree.expanded} positions. {self.line} is my line. {self.verdict}\n"
        for line in self._instead():
            yield "summarize", line
        yield "summarize", "Let me see if anything beats that.\n\n"

    def _instead(self) -> list[str]:
        """Return the contingencies: the best live line behind each other first move."""
        lines = []
        for child in self.tree.root.children or ():
            if not child.dead and child.path != self.line[:1]:
                end = self.tree.best_from(child)
                if len(end.path) > 1:
                    lines.append(f"If at turn {self.turn + 1} I stand on {self.tree.names[child.body[0]]} instead: {spelled(self.tree, end.path, 1)}.\n")
        return lines

    def _explore(self) -> Iterator[Step]:
        """Look a little deeper behind the first moves that are not mine, in case one of them is made before this is read."""
        tree = self.tree
        before = self.looks
        for child in tree.root.children or ():
            if child.path == self.line[:1]:
                continue
            for k in range(INSTEAD):
                node = tree.best_from(child)
                if child.dead or node.children is not None or len(node.path) >= tree.depth:
                    break
                if not k:
                    yield "explore", f"What if {child.path} is played at turn {self.turn} after all?\n"
                yield "explore", self._look(node)
            yield from self._news(1)
        self.explored = self.looks
        if self.looks > before:
            for line in self._instead():
                yield "explore", line

    def _check(self) -> Iterator[Step]:
        """Walk the best line once more on the board, cell by cell."""
        if not self.line or self.checked == self.line or self.tree.root.dead:
            return
        self.checked = self.line
        tree = self.tree
        cell, gone = tree.root.body[0], dict(tree.root.foods)
        steps = []
        for k, letter in enumerate(self.line):
            cell += tree.shift[LETTERS.index(letter)]
            steps.append(f"{letter} {tree.names[cell]} {'apple' if gone.pop(cell, 0) > self.turn + k else 'free'}")
        yield "check", f"Wait, let me verify the line cell by cell: {', '.join(steps)}. It holds.\n\n"

    def _last_stand(self) -> Iterator[Step]:
        """No line survives: take the one that lasts longest, and of those the one that eats most."""
        node = self.tree.longest_lived()
        yield "check", f"Every line I can find ends by turn {self.tree.root.last}. I take what can be had before that.\n"
        if node.path:
            yield from self._record(node)

    def _recalled(self) -> str:
        """Return the letters the remembered plan has left, if the snake is where that plan wants it now."""
        names = self.tree.names
        said = [line for line in self.memory.splitlines() if line.startswith("Best line")]
        planned = {int(turn): (letter, cell) for turn, letter, cell in _REMEMBERED.findall(said[-1])} if said else {}
        if planned.get(self.turn - 1, ("", ""))[1] != names[self.tree.root.body[0]]:
            return ""
        line = ""
        while self.turn + len(line) in planned and len(line) < self.tree.depth:
            line += planned[self.turn + len(line)][0]
        return line

    def _conclude(self) -> Iterator[Step]:
        """The visible answer: the line once more, what to mind, the box, and the idea in a sentence."""
        tree = self.tree
        if not self.line:
            if tree.root.children is None:
                yield "execute", self._look(tree.root)
            node = tree.best() or tree.longest_lived()
            if node.path:
                yield from self._record(node)
        if not self.line:
            yield "conclude", f"Whatever I do at turn {self.turn} is the end, so I go straight on.\n\\boxed{{Turn {self.turn}: {self.view['direction']}}}\n"
            return
        yield "conclude", f"Best line: {spelled(self.tree, self.line)}. {self.verdict}\n"
        if self.goal is not None:
            yield "conclude", f"GOAL target food {tree.names[self.goal]}.\n"
        for text in (*self.warnings, *self._instead()):
            yield "conclude", text
        moves = "\n".join([f"Turn {self.turn + k}: {letter}" for k, letter in enumerate(self.line)])
        yield "conclude", f"\\boxed{{{moves}}}\n"
        if tree.root.dead:
            idea = "to last as long as I can"
        elif self.goal is not None:
            idea = f"to take the apple at {tree.names[self.goal]} first and always to have a way on"
        else:
            idea = "to keep room around me until an apple comes within reach"
        yield "conclude", f"The main idea is {idea}.\n"

