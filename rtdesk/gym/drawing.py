"""A board as plain text, four columns a cell, for `render_mode` ansi and human."""

from __future__ import annotations

import sys
import time

from games.base import Board

__all__ = ["board_text", "show"]

_ACROSS = 4


def board_text(board: Board, title: str) -> str:
    """Return the board as lines of text, top row first, a line with the title and the board's own facts over it."""
    cells = [[" " * _ACROSS] * board.columns for _ in range(board.rows)]
    for entity in board.entities:
        step = {"L": 1, "R": -1}.get(entity.facing, 0) if entity.length > 1 else 0
        for i in range(entity.length):
            x, y = entity.x + i * step, entity.y
            if 0 <= x < board.columns and 0 <= y < board.rows:
                # What does not fit (what a cook holds) is told by its first letter.
                text = entity.text if len(entity.text) < _ACROSS else entity.text[:1]
                cells[y][x] = f"{entity.glyph}{text}".ljust(_ACROSS)
    facts = "   ".join(f"{word} {value}" for word, value in board.status)
    return "\n".join([f"{title}   {facts}".rstrip(), *("".join(row).rstrip() for row in reversed(cells))]) + "\n"


def show(text: str, fps: float) -> None:
    """Write a frame to stdout; on a terminal in place of the last one, and for 1/`fps` seconds."""
    screen = sys.stdout.isatty()
    sys.stdout.write(("\x1b[H\x1b[J" if screen else "") + text)
    sys.stdout.flush()
    if screen:
        time.sleep(1 / fps)
