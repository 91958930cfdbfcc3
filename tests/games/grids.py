"""The reference's text grids, drawn from our snapshots, so that the recorded strings can be compared byte for byte."""

from __future__ import annotations

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


GRIDS = {"snake": snake_grid}
