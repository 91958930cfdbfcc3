"""What a screen draws of the kitchen."""

from __future__ import annotations

from games.base import Board, Entity
from games.overcooked.rules import COOK_TIME, Object, View

__all__ = ["drawn"]

# Terrain letter -> (kind, glyph, ascii, role).
_FIXTURES = {
    "X": ("counter", "▒", "#", "wall"),
    "P": ("pot", "P", "P", "tool"),
    "O": ("onions", "O", "O", "tool"),
    "D": ("dishes", "D", "D", "tool"),
    "S": ("serving", "S", "S", "goal"),
    " ": ("floor", "·", ".", "floor"),
}
_ITEMS = {"onion": ("ø", "o"), "dish": ("u", "u"), "soup": ("§", "s")}
# Alice last, so that she is drawn over everything.
_COOKS = ((1, "partner", "B", "partner"), (0, "player", "A", "player"))


def drawn(view: View) -> Board:
    """Return the board of a view. A pot's text is one o an onion, then `2/5` while cooking, then `done`; a cook's is what is held."""
    terrain = view["terrain"]
    pots = {tuple(thing[1]): thing for thing in view["objects"] if terrain[thing[1][1]][thing[1][0]] == "P"}
    entities = []
    for y, row in enumerate(terrain):
        for x, letter in enumerate(row):
            kind, glyph, ascii, role = _FIXTURES[letter]
            soup = pots.get((x, y))
            entities.append(Entity(kind=kind, x=x, y=y, glyph=glyph, ascii=ascii, role=role, text=_progress(soup) if soup else ""))
    for thing in view["objects"]:
        x, y = thing[1]
        if (x, y) not in pots:
            glyph, ascii = _ITEMS[thing[0]]
            entities.append(Entity(kind=thing[0], x=x, y=y, glyph=glyph, ascii=ascii))
    for i, kind, glyph, role in _COOKS:
        (x, y), facing, held = view["players"][i]
        text = held[0] if held else ""
        entities.append(Entity(kind=kind, x=x, y=y, glyph=glyph, ascii=glyph, role=role, facing=facing, text=text))
    held_by = [player[2][0] if player[2] else "nothing" for player in view["players"]]
    status = (("soups", str(view["orders_delivered"])), ("Alice holds", held_by[0]), ("Bob holds", held_by[1]))
    return Board(columns=len(terrain[0]), rows=len(terrain), entities=tuple(entities), status=status)


def _progress(soup: Object) -> str:
    """Return how far a soup in a pot is."""
    if soup[4] == "idle":
        return "o" * len(soup[2])
    return f"{soup[3]}/{COOK_TIME}" if soup[4] == "cooking" else "done"
