"""A small picture made of half blocks: every character is two square dots, one over the other, with letters laid over them.

Colours are palette words of a look. Without colour a dot is on or off, and textures (walls) are letters. The one thing that
surprises: dots are square because a terminal's cell is about twice as high as wide.
"""

from __future__ import annotations

from rich.style import Style

from rtdesk.tui.looks import Look

__all__ = ["Canvas", "Run"]

Run = tuple[str, Style]


class Canvas:
    """`width` columns by `height` rows of characters: `width` x `2 * height` dots."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.dots: list[list[str | None]] = [[None] * width for _ in range(2 * height)]
        self.letters: dict[tuple[int, int], tuple[str, str | None, str | None, bool]] = {}

    def dot(self, x: int, y: int, colour: str | None) -> None:
        """Colour one dot; outside the picture nothing happens."""
        if 0 <= x < self.width and 0 <= y < 2 * self.height:
            self.dots[y][x] = colour
            self.letters.pop((y // 2, x), None)

    def fill(self, x: int, y: int, width: int, height: int, colour: str | None) -> None:
        for row in range(max(0, y), min(y + height, 2 * self.height)):
            line = self.dots[row]
            for column in range(max(0, x), min(x + width, self.width)):
                line[column] = colour
                self.letters.pop((row // 2, column), None)

    def mask(self, x: int, y: int, rows: tuple[str, ...], colour: str | None) -> None:
        """Colour the dots where `rows` has a `#`."""
        for i, row in enumerate(rows):
            for j, sign in enumerate(row):
                if sign == "#":
                    self.dot(x + j, y + i, colour)

    def write(self, column: int, row: int, text: str, colour: str | None, *, bg: str | None = None, bold: bool = False) -> None:
        """Lay letters over the picture; they stand on the dots' colour unless `bg` is given."""
        for i, char in enumerate(text):
            if 0 <= column + i < self.width and 0 <= row < self.height:
                self.letters[row, column + i] = (char, colour, bg, bold)

    def rows(self, look: Look) -> list[list[Run]]:
        """Return the picture as rows of runs, equal styles merged."""
        return [self._row(row, look) for row in range(self.height)]

    def _row(self, row: int, look: Look) -> list[Run]:
        upper, lower = self.dots[2 * row], self.dots[2 * row + 1]
        out: list[Run] = []
        text, style = "", None
        for column in range(self.width):
            letter = self.letters.get((row, column))
            top, bottom = upper[column], lower[column]
            if letter is not None:
                char, colour, bg, bold = letter
                made = look.paint(colour, bg if bg is not None else (bottom if bottom == top or top is None else top), bold)
                if not look.colour and bg is None and (top or bottom):
                    made = look.paint(colour, "reverse", bold)
            elif look.colour:
                if top == bottom:
                    char, made = " ", look.paint("text" if top is None else None, top)
                elif top is None:
                    char, made = "▄", look.paint(bottom, None)
                else:
                    char, made = "▀", look.paint(top, bottom)
            else:
                char = (" ", "▄", "▀", "█")[2 * (top is not None) + (bottom is not None)]
                made = look.base
            if made is style:
                text += char
            else:
                if style is not None:
                    out.append((text, style))
                text, style = char, made
        if style is not None:
            out.append((text, style))
        return out
