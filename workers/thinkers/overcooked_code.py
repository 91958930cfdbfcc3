"""The builtin Overcooked writer of programs: a greedy rule, what is held and what the pots hold decides where to go next.

It thinks the rules through, then writes the program down, and every word of both costs its tokens. The program is the same whenever it is
written. Bob is an obstacle to it and nothing more: it does not foresee what he will do, and waits where he stands in the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workers.thinkers.programs import told

__all__ = ["PROGRAM", "write"]

_THOUGHTS = (
    ("understand", "What do I have to write? A function that is called once a turn with the kitchen as it is and gives U, D, L, R, I or S. It sees the rows of the kitchen, both cooks with what they hold, and what lies on counters and in pots. I am the cook whose number is in `you`.\n"),
    ("understand", "A soup is three onions in a pot, five turns of cooking, a dish to lift it with, and the way to the serving counter. A pot starts by itself with the third onion. I hold one thing at a time, and I interact with the cell I face.\n"),
    ("understand", "Walking against a fixture turns me to it and does not move me, so the way to a fixture ends with a step against it, and then I.\n\n"),
    ("plan", "My approach: a greedy rule. What do I hold? A soup: to the serving counter. A dish: to a pot whose soup is ready, else to one that cooks, and wait there. An onion: to a pot that still takes one; if there is none, put it down on a counter. Nothing: if a soup is ready or cooking, take a dish; else take an onion.\n"),
    ("plan", "Where? The nearest one by a breadth-first search over the floor, around the other cook. If it is the cell I face: I. If no way leads there now: stay, and look again next turn.\n\n"),
    ("explore", "Things on counters: Bob puts onions there. Taking one from a counter is as good as from the dispenser if it is nearer, so both count as places to take an onion from. Dishes the same.\n"),
    ("explore", "Which pot for an onion? The one with most onions in it, for a full pot cooks and a half full one waits. Nearness decides between equals.\n\n"),
    ("check", "Wait, with a dish in my hands and no soup anywhere, I would carry it for ever. Then it goes down on a counter, and the next one is taken when a pot cooks. And both of us with a dish and one soup: the slower one puts it down, too. Good enough.\n"),
    ("check", "And two cooks in a corridor who both want through? If I do not get anywhere I stay, and Bob shakes himself loose at random after a while. That costs turns, but a rule for it costs more thinking than I want to spend here.\n\n"),
)

PROGRAM = '''\
STEP = {"D": (0, -1), "U": (0, 1), "R": (1, 0), "L": (-1, 0)}


def way(view, targets):
    """First letter of a shortest way to face one of the targets, I if it is faced; None if there is none."""
    terrain = view["terrain"]
    me = view["players"][view["you"]]
    other = tuple(view["players"][1 - view["you"]][0])
    start = tuple(me[0])
    dx, dy = STEP[me[1]]
    if (start[0] + dx, start[1] + dy) in targets:
        return "I"
    first = {start: ""}
    queue = collections.deque([start])
    while queue:
        cell = queue.popleft()
        for letter, (dx, dy) in STEP.items():
            there = (cell[0] + dx, cell[1] + dy)
            if there in targets:
                return first[cell] or letter
            if there in first or there == other or terrain[there[1]][there[0]] != " ":
                continue
            first[there] = first[cell] or letter
            queue.append(there)
    return None


def cells(view, kind):
    return {(x, y) for y, row in enumerate(view["terrain"]) for x, there in enumerate(row) if there == kind}


def act(view, memory):
    held = view["players"][view["you"]][2]
    pots = {cell: None for cell in sorted(cells(view, "P"))}
    counters = cells(view, "X")
    lying = {}
    for thing in view["objects"]:
        cell = tuple(thing[1])
        if cell in pots:
            pots[cell] = thing
        else:
            lying[cell] = thing[0]
    ready = {cell for cell, soup in pots.items() if soup and soup[4] == "ready"}
    cooking = {cell for cell, soup in pots.items() if soup and soup[4] == "cooking"}
    onions = {cell: len(soup[2]) if soup else 0 for cell, soup in pots.items()}
    hungry = {cell for cell in pots if cell not in ready and cell not in cooking and onions[cell] < 3}
    free = {cell for cell in counters if cell not in lying}

    if held and held[0] == "soup":
        goals = [cells(view, "S")]
    elif held and held[0] == "dish":
        goals = [ready or cooking or free]
    elif held:
        fullest = max([onions[cell] for cell in hungry], default=0)
        goals = [{cell for cell in hungry if onions[cell] == fullest}, hungry, free]
    elif ready or cooking:
        goals = [cells(view, "D") | {cell for cell, what in lying.items() if what == "dish"}]
    else:
        goals = [cells(view, "O") | {cell for cell, what in lying.items() if what == "onion"}]
    for targets in goals:
        letter = way(view, targets) if targets else None
        if letter == "I" and held and held[0] == "dish" and targets == cooking:
            return "S"
        if letter:
            return letter
    return "S"
'''


def write(view: dict[str, Any], *, load: str, max_ticks: int = 100, memory: str = "") -> Iterator[tuple[str, str]]:
    """Yield (strategy, text): thoughts, then the program in a block, as the visible answer. Neither the board nor the load changes it."""
    return told(_THOUGHTS, PROGRAM)
