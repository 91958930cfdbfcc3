"""The sentences of the Snake planner: what a position looks like, what a line is."""

from __future__ import annotations

from workers.thinkers.snake_search import FAR, LETTERS, Node, Tree

__all__ = ["look", "spelled", "turns", "worth"]

_WORTH = {value: f"{value / 100:.2f}" for value in range(-2000, 2500)}
_BLOCKED = {
    "wall": ("is the wall", "are walls"),
    "obstacle": ("is an obstacle", "are obstacles"),
    "body": ("bites my body", "bite my body"),
    "apple on my tail": ("bites my tail, held in place by an apple", ""),
}


def look(tree: Tree, node: Node) -> str:
    """Look on from a position, and say what is there; where there is one way only, look on from its end as well."""
    names, eaten = tree.names, node.eaten
    where = f"Turn {node.turn} at {names[node.body[0]]}"
    if node.path:
        where += f", by {node.path}"
    if eaten:
        where += f" with {eaten} eaten"
    ways = []
    blocked: dict[str, list[str]] = {}
    only: Node | None = None
    for letter, block, child in tree.expand(node):
        if child is None:
            blocked.setdefault(block, []).append(letter)
        else:
            ways.append(_way(tree, letter, block, node, child))
            only = child if not block else only
    closed = [f"{' and '.join(letters)} {_BLOCKED[block][len(letters) > 1]}" for block, letters in blocked.items()]
    if node.dead:
        return f"{where}: {'; '.join(ways + closed)}. A dead end.\n"
    if len(ways) > 1 or only is None:
        return f"{where}: {'; '.join(ways + closed)}.\n"
    forced = [_step(tree, only, eaten)]
    after = ""
    while len(only.path) < tree.depth and tree.forced(only):
        letter, block, child = next(way for way in tree.expand(only) if way[2] is not None)
        assert child is not None
        if block:
            after = f", then {_way(tree, letter, block, only, child)}{', a dead end' if only.dead else ''}"
            break
        forced.append(_step(tree, child, only.eaten))
        only = child
    after = after or f", {_outlook(tree, only)}, worth {_WORTH[only.worth]}"
    return f"{where}: {', '.join(closed)}, so it must be {', then '.join(forced)}{after}.\n"


def spelled(tree: Tree, line: str, start: int = 0) -> str:
    """Return the moves of a line from its `start`-th on, each with the turn and the cell it leads to."""
    cell, turn = tree.root.body[0], tree.root.turn
    out = []
    for k, letter in enumerate(line):
        cell += tree.shift[LETTERS.index(letter)]
        if k >= start:
            out.append(f"Turn {turn + k}: {letter} to {tree.names[cell]}")
    return "; ".join(out)


def worth(node: Node | None) -> str:
    """Return what a position is worth, in apples; nothing is worth 0.00."""
    return _WORTH[node.worth if node is not None else 0]


def turns(count: int) -> str:
    """Return `1 more turn`, `2 more turns`."""
    return f"{count} more turn{'s' if count != 1 else ''}"


def _step(tree: Tree, node: Node, eaten: int) -> str:
    return f"{node.path[-1]}{' to the apple at ' if node.eaten > eaten else ' to '}{tree.names[node.body[0]]}"


def _way(tree: Tree, letter: str, block: str, node: Node, child: Node) -> str:
    """Say what one way on is worth, or why not to go on there."""
    if block == "known":
        return f"{letter} meets {child.path or 'the start'} again{', which is dead' if child.dead else ''}"
    if block == "closed":
        return f"{letter} to {tree.names[child.body[0]]} has no way out"
    return f"{_step(tree, child, node.eaten)}, {_outlook(tree, child)}, worth {_WORTH[child.worth]}"


def _outlook(tree: Tree, node: Node) -> str:
    """Say what a position is worth something for: room, tail, next apple."""
    if node.turn >= tree.end:
        return "where the game ends"
    near = f"an apple {node.near} away" if node.near < FAR else "no apple in time"
    room = f"{node.room} cell{'s' if node.room != 1 else ''}"
    if node.tail:
        return f"leaving {room} open and {near}"
    if node.room < len(node.body):
        return f"shut into {room} with {near}"
    return f"leaving {room} open but my tail cut off and {near}"
