"""The reference's text grids, drawn from our snapshots, so that the recorded strings can be compared byte for byte."""

from __future__ import annotations

from typing import Any

from games.base import Game


def snake_grid(game: Game) -> str:
    snapshot = game.snapshot()
    obstacles = game.observe().view["obstacles"]
    text = ""
    for y in range(7, -1, -1):
        for x in range(8):
            cell = "#" if [x, y] in obstacles else ""
            cell += "".join(chr(ord("a") + i) for i, part in enumerate(snapshot["snake"]) if part == [x, y])
            cell += "".join(f"+{life}" for fx, fy, life, _ in snapshot["foods"] if [fx, fy] == [x, y])
            if x in (0, 7) or y in (0, 7):
                cell += "#"
            text += (cell or ".").ljust(6)
        text += "\n"
    return text


def freeway_grid(game: Game) -> str:
    snapshot = game.snapshot()
    cells = [[""] * 9 for _ in range(10)]
    cells[snapshot["pos"]][4] = "P"
    for x, row, _, speed, length in snapshot["cars"]:
        figure = f"/{speed}" if abs(speed) >= 1 else str(round(1 / abs(speed)))
        back = 1 if speed < 0 else -1
        for i in range(length):
            at = x + back * i
            if 0 <= at < 9:
                part = "x" if i else (f"<{figure}" if speed < 0 else f"{figure}>")
                cells[row][at] += part
    return "".join("".join(f"{cell or '.':<4} " for cell in row) + "\n" for row in cells)


def overcooked_grid(game: Game) -> str:
    snapshot = game.snapshot()
    arrows = {(0, 1): "↑", (0, -1): "↓", (-1, 0): "←", (1, 0): "→"}

    def item(thing: list[Any]) -> str:
        if thing[0] != "soup":
            return str(thing[0][0])
        figure = {"idle": "", "cooking": str(thing[3]), "ready": "✓"}[thing[4]]
        return "{" + "ø" * len(thing[2]) + figure

    text = ""
    for y, row in enumerate(game.observe().view["terrain"]):
        for x, kind in enumerate(row):
            cell = kind
            for thing in snapshot["objects"]:
                if thing[1] == [x, y]:
                    cell += item(thing)
            for i, (at, vector, held) in enumerate(snapshot["players"]):
                if at == [x, y]:
                    cell = arrows[tuple(vector)] + str(i) + (item(held) if held else "")
            text += f"{cell:<7} "
        text += "\n\n"
    return "\n".join(reversed(text.split("\n")))


GRIDS = {"freeway": freeway_grid, "overcooked": overcooked_grid, "snake": snake_grid}
