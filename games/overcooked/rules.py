"""What a turn in the kitchen does, as pure functions on views.

A view is {"turn", "you": 0 or 1, "terrain": [row, ...] with y = 0 first, "players": [[[x, y], facing letter, held], ...] Alice first,
"objects": [object, ...] on counters and in pots, oldest first, "history": [letters, letters] the last five of each cook,
"orders_delivered", "cook_time", "onions_per_soup", "soup_value"}. An object is ["onion", [x, y]], ["dish", [x, y]] or
["soup", [x, y], ["onion", ...], tick, "idle" | "cooking" | "ready", cook_time or -1 while idle]; `held` is an object on its holder's
cell, or None. Nothing here changes a view; what comes back may share its unchanged parts.
"""

from __future__ import annotations

from typing import Any

from games.overcooked.kitchen import FLOOR, STEP

__all__ = ["COOK_TIME", "ONIONS", "SOUP_VALUE", "advance", "faced", "interact", "object_at", "soup_in"]

COOK_TIME = 5
ONIONS = 3
SOUP_VALUE = 20
DISH_BONUS = 3
LIFT_BONUS = 5
HISTORY = 5

View = dict[str, Any]
Object = list[Any]
Player = list[Any]


def faced(player: Player) -> list[int]:
    """Return the cell a player looks at."""
    (x, y), facing, _ = player
    dx, dy = STEP[facing]
    return [x + dx, y + dy]


def object_at(objects: list[Object], cell: list[int]) -> Object | None:
    """Return what lies on a counter or in a pot, or None."""
    for thing in objects:
        if thing[1] == cell:
            return thing
    return None


def soup_in(view: View, pot: list[int]) -> Object | None:
    """Return the soup in a pot of a view, or None."""
    return object_at(view["objects"], pot)


def interact(terrain: list[str], objects: list[Object], player: Player) -> tuple[list[Object], Object | None, str]:
    """Return (objects, what the player holds, what happened) after the player's I.

    What happened is one of "dish" (taken from the dispenser), "lifted" (a soup out of its pot), "served", or "" for all else.
    A lifted or taken object still names its old cell; `advance` moves it to its holder.
    """
    held = player[2]
    cell = faced(player)
    kind = terrain[cell[1]][cell[0]]
    if kind == "X":
        there = object_at(objects, cell)
        if held is not None and there is None:
            return [*objects, [held[0], cell, *held[2:]]], None, ""
        if held is None and there is not None:
            return [thing for thing in objects if thing is not there], there, ""
    elif kind == "O":
        if held is None:
            return objects, ["onion", cell], ""
    elif kind == "D":
        if held is None:
            return objects, ["dish", cell], "dish"
    elif kind == "P":
        if held is None:
            return objects, None, ""
        soup = object_at(objects, cell)
        if held[0] == "onion":
            if soup is None:
                return [*objects, ["soup", cell, ["onion"], -1, "idle", -1]], None, ""
            if len(soup[2]) < ONIONS:
                return [_with_onion(thing) if thing is soup else thing for thing in objects], None, ""
        elif held[0] == "dish" and soup is not None and soup[4] == "ready":
            return [thing for thing in objects if thing is not soup], soup, "lifted"
    elif kind == "S" and held is not None and held[0] == "soup":
        return objects, None, "served"
    return objects, held, ""


def advance(view: View, alice: str, bob: str) -> tuple[View, int, int]:
    """Return (view after one turn, soups delivered in it by either cook, Alice's bonus points). Does not end at turn 100.

    The turn's reward is `SOUP_VALUE` for each soup plus the bonus. Letters other than U D L R I stay.
    """
    terrain = view["terrain"]
    first, second = view["players"]
    objects = view["objects"]
    served = bonus = 0
    held_first, held_second = first[2], second[2]
    # Alice's interaction is finished before Bob's begins, so Bob may take what she has just put down.
    if alice == "I":
        useful = _dish_is_useful(terrain, objects, held_second)
        objects, held_first, what = interact(terrain, objects, first)
        served = what == "served"
        if what == "dish" and useful:
            bonus = DISH_BONUS
        elif what == "lifted":
            bonus = LIFT_BONUS
    if bob == "I":
        objects, held_second, what = interact(terrain, objects, second)
        served += what == "served"
    cell_first, facing_first = _wish(terrain, first, alice)
    cell_second, facing_second = _wish(terrain, second, bob)
    if cell_first == cell_second or (cell_first == second[0] and cell_second == first[0]):
        cell_first, cell_second = first[0], second[0]
    history = view["history"]
    after = {
        "turn": view["turn"] + 1,
        "you": view["you"],
        "terrain": terrain,
        "players": [
            [cell_first, facing_first, _carried(held_first, cell_first)],
            [cell_second, facing_second, _carried(held_second, cell_second)],
        ],
        "objects": [_cooked(thing) if thing[0] == "soup" and thing[4] == "cooking" else thing for thing in objects],
        "history": [(history[0] + alice)[-HISTORY:], (history[1] + bob)[-HISTORY:]],
        "orders_delivered": view["orders_delivered"] + served,
        "cook_time": view["cook_time"],
        "onions_per_soup": view["onions_per_soup"],
        "soup_value": view["soup_value"],
    }
    return after, int(served), bonus


def _dish_is_useful(terrain: list[str], objects: list[Object], held_by_bob: Object | None) -> bool:
    """Return whether Alice taking a dish now would earn the bonus: no dish lies about, and a pot in use is without one to come."""
    pots = 0
    for thing in objects:
        if thing[0] == "dish":
            return False
        if thing[0] == "soup":
            x, y = thing[1]
            pots += terrain[y][x] == "P"
    return pots > (held_by_bob is not None and held_by_bob[0] == "dish")


def _with_onion(soup: Object) -> Object:
    """Return a soup with one onion more; the last one starts the cooking."""
    onions = [*soup[2], "onion"]
    if len(onions) < ONIONS:
        return ["soup", soup[1], onions, -1, "idle", -1]
    return ["soup", soup[1], onions, 0, "cooking", COOK_TIME]


def _cooked(soup: Object) -> Object:
    """Return a cooking soup one turn later."""
    tick = soup[3] + 1
    return ["soup", soup[1], soup[2], tick, "ready" if tick >= COOK_TIME else "cooking", COOK_TIME]


def _carried(held: Object | None, cell: list[int]) -> Object | None:
    """Return what a player holds, on the player's cell."""
    if held is None or held[1] == cell:
        return held
    return [held[0], cell, *held[2:]]


def _wish(terrain: list[str], player: Player, letter: str) -> tuple[list[int], str]:
    """Return the cell and facing a player would have after `letter` if nobody else were there."""
    cell, facing, _ = player
    step = STEP.get(letter)
    if step is None:
        return cell, facing
    x, y = cell[0] + step[0], cell[1] + step[1]
    return ([x, y] if terrain[y][x] == FLOOR else cell), letter
