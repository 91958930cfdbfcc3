"""The kitchen in words: the rules, and what a cook sees."""

from __future__ import annotations

from typing import Any

from games.overcooked.rules import COOK_TIME, DISH_BONUS, LIFT_BONUS, ONIONS, SOUP_VALUE, Object, View, object_at

__all__ = ["describe", "words"]

NAMES = ("Alice", "Bob")
CAP = 100
_FACING = {"U": "up", "D": "down", "L": "left", "R": "right"}
_FIXTURES = (
    ("Counters", "X"),
    ("Pots", "P"),
    ("Onion dispensers", "O"),
    ("Tomato dispensers", "T"),
    ("Dish dispensers", "D"),
    ("Serving counters", "S"),
)


def words(view: View) -> str:
    """Return a view in words, complete, for a language model."""
    you = view["you"]
    lines = [f"Turn: {view['turn']} (the game ends when turn {CAP} is over)", f"You are {NAMES[you]}.", "Kitchen:"]
    cells = {
        kind: [[x, y] for y, row in enumerate(view["terrain"]) for x, there in enumerate(row) if there == kind] for _, kind in _FIXTURES
    }
    lines += [f"- {title}: {' '.join(map(_cell, cells[kind])) or 'none'}" for title, kind in _FIXTURES]
    lines.append(f"- Floor: every other cell with x from 1 to {len(view['terrain'][0]) - 2} and y from 1 to {len(view['terrain']) - 2}")
    lines.append(
        f"Order, over and over: a soup of {view['onions_per_soup']} onions, worth {view['soup_value']} points, cooked for "
        f"{view['cook_time']} turns. Soups delivered so far: {view['orders_delivered']}"
    )
    for i, (cell, facing, held) in enumerate(view["players"]):
        name = NAMES[i] + (" (you)" if i == you else "")
        past = " ".join(view["history"][i]) or "none"
        lines.append(
            f"{name}: at {_cell(cell)}, facing {facing} ({_FACING[facing]}), holding {_held(held)}; last actions, oldest first: {past}"
        )
    lying = [f"{_cell(cell)} {_held(thing)}" for cell in cells["X"] if (thing := object_at(view["objects"], cell)) is not None]
    lines.append(f"Counters with something on them: {'; '.join(lying) or 'none'}")
    pots = [f"{_cell(cell)} {_pot(soup)}" for cell in cells["P"] if (soup := object_at(view["objects"], cell)) is not None]
    lines.append(f"Pots with something in them: {'; '.join(pots) or 'none'}")
    return "\n".join(lines) + "\n"


def describe() -> str:
    """Return the rules in words, for a thinker."""
    return (
        "Two cooks, Alice and Bob, share a kitchen and a score. You are Alice unless told otherwise; Bob acts on his own. Cells are (x, y), "
        "x grows to the right, y grows upward. All actions of a turn happen at once.\n"
        "Actions: U (y+1), D (y-1), L (x-1) and R (x+1) turn you that way and, if the cell there is floor, move you onto it; walking "
        "against anything else only turns you. I interacts with the cell you face. S stays.\n"
        "If both cooks would end on the same cell, or would swap cells, both stay where they are, but turn. Moving into a cell that "
        "the other leaves in the same turn is allowed.\n"
        "You hold at most one thing. I does this, depending on the cell you face:\n"
        "- onion or dish dispenser, empty-handed: you take an onion or a dish; there is no end of them;\n"
        "- counter: you put down what you hold if the counter is empty, or, empty-handed, take what lies there;\n"
        f"- pot, holding an onion: it goes in if there are fewer than {ONIONS}. With onion number {ONIONS} cooking starts by itself and "
        f"takes {COOK_TIME} turns, the one in which that onion goes in being the first. Empty-handed, nothing happens: a pot is never started by hand;\n"
        "- pot, holding a dish: if the soup is ready, you hold the soup instead of the dish, and the pot is empty. If it is not ready, "
        "nothing happens;\n"
        f"- serving counter, holding a soup: it is delivered, {SOUP_VALUE} points. Nothing else can be put there;\n"
        "- floor, the other cook, or anything not named here: nothing happens.\n"
        "If both interact with the same cell in one turn, Alice comes first.\n"
        f"Alice alone also earns {LIFT_BONUS} points whenever she lifts a soup out of a pot, and {DISH_BONUS} whenever she takes a dish "
        "from the dispenser while it is of use: no dish lies on a counter, and more pots have something in them than Bob holds dishes.\n"
        "The game ends when turn 100 is over. Goal: deliver as many soups as you can together."
    )


def _cell(cell: list[int]) -> str:
    return f"({cell[0]},{cell[1]})"


def _held(thing: Object | None) -> str:
    if thing is None:
        return "nothing"
    return f"a soup of {len(thing[2])} onions" if thing[0] == "soup" else {"onion": "an onion", "dish": "a dish"}[thing[0]]


def _pot(soup: Any) -> str:
    count = len(soup[2])
    inside = f"{count} onion{'s' if count > 1 else ''}"
    if soup[4] == "idle":
        return f"{inside}, not cooking, needs {ONIONS - count} more"
    if soup[4] == "cooking":
        return f"{inside}, cooked for {soup[3]} turns, ready after {COOK_TIME - soup[3]} more"
    return f"{inside}, soup ready"
