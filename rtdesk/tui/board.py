"""Draw a game's board: any game's, from its entities alone, with the plan and the reactor's choice laid over it.

Cells are 2x1, 4x2, 6x3 or 8x4 characters. A snake is a tube along its links, a head carries eyes, a car has its length, walls
and counters are tiles; whatever a game of tomorrow has is drawn as its glyph in its role's colour. Pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import msgspec

from games.base import Board, Entity
from rtdesk.tui.canvas import Canvas, Run
from rtdesk.tui.looks import Look, mix

__all__ = ["Overlay", "draw_board"]

STEP = {"L": (-1, 0), "R": (1, 0), "U": (0, 1), "D": (0, -1)}

_ROLE = {
    "wall": "wall", "floor": "faint", "player": "player", "partner": "partner", "hazard": "hazard", "goal": "goal", "item": "item", "tool": "tool",
}  # fmt: skip


class Overlay(NamedTuple):
    """What thinkers mean to do, in board cells."""

    path: tuple[tuple[int, int], ...] = ()
    """Where the best line leads, next cell first."""
    holds: bool = True
    arrow: tuple[int, int] | None = None
    """The cell the answered letter leads to."""
    letter: str = ""
    voice: str = "reactor"
    """Whose letter it is."""
    other: tuple[tuple[int, int], str, str] | None = None
    """The same three (cell, letter, voice) of the other one of two players."""


def draw_board(board: Board, look: Look, cell: tuple[int, int], overlay: Overlay, *, axes: bool = True) -> list[list[Run]]:
    """Return the board as rows of runs: `board.columns * cell[0]` columns wide (3 more with axes), `board.rows * cell[1]` high (1 more)."""
    painter = _Plain(board, cell) if look.signs.ascii else _Tiles(board, cell, look)
    # The plan lies on the ground and under everything that moves: what is there now is more certain than what is meant.
    ground = [entity for entity in board.entities if _is_ground(entity)]
    for entity in ground:
        painter.entity(entity)
    for i, spot in enumerate(overlay.path):
        if spot != overlay.arrow:
            painter.plan(*spot, i, overlay.holds, look)
    # Of two players neither is hidden by where the other one wants to go.
    shared = any(entity.role == "partner" for entity in board.entities)
    people = [entity for entity in board.entities if shared and entity.role in ("player", "partner")]
    for entity in board.entities:
        if not _is_ground(entity) and entity not in people:
            painter.entity(entity)
    if overlay.arrow is not None:
        painter.arrow(*overlay.arrow, overlay.letter, overlay.voice, look, _marked(board, overlay.arrow))
    if overlay.other is not None:
        spot, letter, voice = overlay.other
        painter.arrow(*spot, letter, voice, look, _marked(board, spot))
    for entity in people:
        painter.entity(entity)
    rows = painter.canvas.rows(look)
    return _with_axes(rows, board, cell, look) if axes else rows


def _marked(board: Board, spot: tuple[int, int]) -> Entity | None:
    """Return what lies in a cell and says something by its letters, which an arrow must not hide."""
    return next((entity for entity in board.entities if (entity.x, entity.y) == spot and entity.role in ("goal", "tool", "item")), None)


def _is_ground(entity: Entity) -> bool:
    return entity.role in ("wall", "floor", "tool") or (entity.role == "hazard" and not entity.facing)


def _with_axes(rows: list[list[Run]], board: Board, cell: tuple[int, int], look: Look) -> list[list[Run]]:
    across, down = cell
    out: list[list[Run]] = []
    for i, row in enumerate(rows):
        y = board.rows - 1 - i // down
        label = f"{y:>2} " if i % down == (down - 1) // 2 else "   "
        out.append([(label, look.faint), *row])
    numbers = "".join(f"{x:^{across}}" for x in range(board.columns))
    out.append([("   " + numbers, look.faint)])
    return out


class _Painter(ABC):
    """What both ways of drawing share: where a cell stands."""

    def __init__(self, board: Board, cell: tuple[int, int]) -> None:
        self.across, self.down = cell
        self.rows = board.rows
        self.columns = board.columns
        self.canvas = Canvas(board.columns * self.across, board.rows * self.down)

    def corner(self, x: int, y: int) -> tuple[int, int]:
        """Return column and row of a cell's upper left character: y grows up in a game and down on a screen."""
        return x * self.across, (self.rows - 1 - y) * self.down

    def sign(self, x: int, y: int, text: str, colour: str, *, bold: bool = True) -> None:
        """Put a sign on a cell, centred as far as a cell can be, on what is there."""
        if 0 <= x < self.columns and 0 <= y < self.rows:
            column, row = self.corner(x, y)
            text = text[: self.across]
            self.canvas.write(column + (self.across - len(text)) // 2, row + (self.down - 1) // 2, text, colour, bold=bold)

    def plan(self, x: int, y: int, index: int, holds: bool, look: Look) -> None:
        colour = mix("planner", "bg", min(0.6, index * 0.06)) if look.rgb else "planner"
        self.sign(x, y, look.signs.diamond if holds else look.signs.hollow, colour, bold=index == 0)

    def arrow(self, x: int, y: int, letter: str, voice: str, look: Look, on: Entity | None = None) -> None:
        """Draw where a letter leads; `on` is what lies there and is to be read still."""
        arrow = look.signs.arrows.get(letter, letter)
        said = on.text or on.ascii if on is not None else ""
        text = arrow + said if len(arrow + said) <= self.across else arrow
        self.sign(x, y, text if on is None else text.center(self.across), voice)

    @abstractmethod
    def entity(self, entity: Entity) -> None:
        """Draw what stands on the board, whatever it is."""


class _Plain(_Painter):
    """ASCII only: a sign a cell, repeated where cells are large."""

    def entity(self, entity: Entity) -> None:
        colour = _ROLE.get(entity.role, "text")
        if entity.role == "player":
            colour = "head" if entity.kind != "body" else "body"
        step = {"L": 1, "R": -1}.get(entity.facing, 0) if entity.length > 1 else 0
        for i in range(entity.length):
            column, row = self.corner(entity.x + i * step, entity.y)
            solid = entity.role in ("wall", "hazard") or entity.kind in ("body", "head")
            for line in range(self.down):
                text = entity.ascii * self.across if solid else ""
                if line == (self.down - 1) // 2:
                    # Half of a number would be another one.
                    middle = next((one for one in (entity.ascii + entity.text, entity.text) if 0 < len(one) <= self.across), entity.ascii)
                    text = text or middle.center(self.across) if entity.role != "floor" else entity.ascii.center(self.across)
                if text:
                    self.canvas.write(column, row + line, text, colour, bold=entity.role == "player")


class _Tiles(_Painter):
    """Half blocks, and quarter blocks where a corner is rounded."""

    def __init__(self, board: Board, cell: tuple[int, int], look: Look) -> None:
        super().__init__(board, cell)
        self.look = look
        self.tall = 2 * self.down
        self.body = [entity for entity in board.entities if entity.kind == "body"]
        self.length = len(self.body)
        self.seen = 0
        self._ground()

    def _ground(self) -> None:
        if not self.look.rgb:
            for y in range(self.rows):
                for x in range(self.columns):
                    self.sign(x, y, self.look.signs.dot, "faint", bold=False)
            return
        for y in range(self.rows):
            for x in range(self.columns):
                column, row = self.corner(x, y)
                self.canvas.fill(column, 2 * row, self.across, self.tall, self._floor(x, y))

    def plan(self, x: int, y: int, index: int, holds: bool, look: Look) -> None:
        if not look.rgb or self.down == 1:
            super().plan(x, y, index, holds, look)
            return
        # A square in the very middle of the cell, two dots wide; a stale one is two dots of the four.
        column, row = self.corner(x, y)
        colour = mix("planner", "bg", min(0.55, index * 0.05) if holds else 0.45)
        x, y = column + self.across // 2 - 1, 2 * row + self.down - 1
        if holds:
            self.canvas.fill(x, y, 2, 2, colour)
        else:
            self.canvas.dot(x, y, colour)
            self.canvas.dot(x + 1, y + 1, colour)

    def arrow(self, x: int, y: int, letter: str, voice: str, look: Look, on: Entity | None = None) -> None:
        if on is not None:
            self._chip(on, look.signs.arrows.get(letter, letter), voice)
            return
        shape = _ARROWS.get(self.down, {}).get(letter)
        if shape is None or not (0 <= x < self.columns and 0 <= y < self.rows):
            super().arrow(x, y, letter, voice, look)
            return
        column, row = self.corner(x, y)
        for i, line in enumerate(shape):
            start = column + (self.across - len(line)) // 2
            for j, sign in enumerate(line):
                if sign != " ":
                    self.canvas.write(start + j, row + i, sign, voice)

    def _chip(self, entity: Entity, arrow: str, voice: str) -> None:
        """Turn what lies in a cell into a chip of the voice that goes there: an arrow over an apple is neither to be read as one nor as the other."""
        column, row = self.corner(entity.x, entity.y)
        text = arrow + (entity.text or entity.glyph)
        if self.down == 1:
            text = text if len(text) <= self.across else arrow
            self.canvas.write(column, row, f"{text:<{self.across}}", "ink", bg=voice if self.look.colour else "reverse", bold=True)
            return
        if self.look.colour:
            self._block(entity, voice)
        else:
            self.canvas.fill(column, 2 * row, self.across, self.tall, "player")
        self.sign(entity.x, entity.y, text[: self.across - 1], "ink")

    def entity(self, entity: Entity) -> None:
        if entity.kind == "body":
            self._body(entity)
        elif entity.kind == "head":
            self._head(entity)
        elif entity.role == "wall":
            self._tile(entity, "wall", "░")
        elif entity.role == "floor":
            return
        elif entity.role == "hazard" and entity.facing in ("L", "R"):
            self._car(entity)
        elif entity.role == "hazard":
            self._tile(entity, "block", "▒")
        elif entity.role == "tool":
            self._tile(entity, "tool", "▒", entity.glyph + entity.text)
        elif entity.role == "goal":
            self._disc(entity, "goal", entity.text or entity.glyph)
        elif entity.role in ("player", "partner"):
            self._person(entity)
        else:
            self.sign(entity.x, entity.y, entity.glyph + entity.text, _ROLE.get(entity.role, "text"))

    def _block(self, entity: Entity, colour: str, corners: str = "LRUD") -> None:
        """Fill a cell, corners rounded where they are not joined to anything: `corners` names the sides that are free."""
        column, row = self.corner(entity.x, entity.y)
        self.canvas.fill(column, 2 * row, self.across, self.tall, colour)
        ground = self._floor(entity.x, entity.y)
        for down, across, sign in (("U", "L", "▟"), ("U", "R", "▙"), ("D", "L", "▜"), ("D", "R", "▛")):
            if down in corners and across in corners:
                x = column + (0 if across == "L" else self.across - 1)
                y = row + (0 if down == "U" else self.down - 1)
                self.canvas.write(x, y, sign, colour, bg=ground)

    def _floor(self, x: int, y: int) -> str | None:
        if not self.look.rgb:
            return None
        return "check" if (x + y) % 2 else "road"

    def _tile(self, entity: Entity, colour: str, texture: str, text: str = "") -> None:
        column, row = self.corner(entity.x, entity.y)
        if self.look.rgb:
            self.canvas.fill(column, 2 * row, self.across, self.tall, colour)
        else:
            self.canvas.fill(column, 2 * row, self.across, self.tall, None)
            for line in range(self.down):
                self.canvas.write(column, row + line, texture * self.across, colour)
        if text:
            self.sign(entity.x, entity.y, f" {text} " if self.across >= 4 and not self.look.rgb else text, "bright")

    def _disc(self, entity: Entity, colour: str, text: str) -> None:
        column, row = self.corner(entity.x, entity.y)
        if not self.look.colour:
            self.canvas.write(column, row, " " * self.across, None)
            self.sign(entity.x, entity.y, entity.glyph + entity.text if self.across > 2 else (entity.glyph + entity.text)[-2:], "goal")
            return
        if self.down == 1:
            self.canvas.write(column, row, f"{text[:2]:>2}", "ink", bg=colour, bold=True)
            return
        self._block(entity, colour)
        text = text[: self.across - 2]
        line = row + (self.down - 1) // 2
        self.canvas.write(column + (self.across - len(text)) // 2, line, text, "ink", bg=colour, bold=True)

    def _body(self, entity: Entity) -> None:
        # Later pieces lie nearer the head: the tube brightens towards it, so its direction is seen at once.
        self.seen += 1
        colour = "body"
        if self.look.rgb:
            colour = mix("tail", "body", self.seen / max(1, self.length))
        self._tube(entity, colour)

    def _tube(self, entity: Entity, colour: str) -> None:
        column, row = self.corner(entity.x, entity.y)
        if self.down == 1:
            sign, reach = _PIPES.get("".join(letter for letter in "UDLR" if letter in entity.links), "━"), "━" if "R" in entity.links else " "
            self.canvas.write(column, row, sign + reach, colour, bold=True)
            return
        inset = _INSET[self.down]
        thick = self.across - 2 * inset
        x, y = column + inset, 2 * row + inset
        self.canvas.fill(x, y, thick, thick, colour)
        for letter in entity.links:
            if letter == "L":
                self.canvas.fill(column, y, inset, thick, colour)
            elif letter == "R":
                self.canvas.fill(x + thick, y, inset, thick, colour)
            elif letter == "U":
                self.canvas.fill(x, 2 * row, thick, inset, colour)
            elif letter == "D":
                self.canvas.fill(x, y + thick, thick, inset, colour)
        if self.look.colour and inset % 2:
            self._bend(entity, colour, column + inset, row, thick)

    def _bend(self, entity: Entity, colour: str, x: int, row: int, thick: int) -> None:
        """Round the corners of a tube that lie on two sides it is not joined on."""
        top, bottom = row + self.down // 2 - 1 if self.down == 2 else row, row + self.down - 1
        for down, across, sign in (("U", "L", "▗"), ("U", "R", "▖"), ("D", "L", "▝"), ("D", "R", "▘")):
            if down not in entity.links and across not in entity.links:
                column = x if across == "L" else x + thick - 1
                self.canvas.write(column, top if down == "U" else bottom, sign, colour, bg=self._floor(entity.x, entity.y))

    def _head(self, entity: Entity) -> None:
        column, row = self.corner(entity.x, entity.y)
        if self.down == 1:
            self.canvas.write(column, row, _EYES_SMALL.get(entity.facing, "••"), "ink", bg="head" if self.look.colour else "reverse", bold=True)
            return
        if entity.links:
            self._tube(entity, "body")
        if self.look.colour:
            free = {"L": "LUD", "R": "RUD", "U": "ULR", "D": "DLR"}.get(entity.facing, "")
            self._block(entity, "head", free if entity.links else "LRUD")
        else:
            self.canvas.fill(column, 2 * row, self.across, self.tall, "head")
        for x, y in _EYES[self.down].get(entity.facing, ()):
            self.canvas.write(column + x, row + y, "●" if self.down > 2 else "•", "ink", bold=True)

    def _car(self, entity: Entity) -> None:
        step = 1 if entity.facing == "L" else -1
        colour = "hazard"
        for i in range(entity.length):
            column, row = self.corner(entity.x + i * step, entity.y)
            if self.down == 1 or not self.look.colour:
                for line in range(self.down):
                    self.canvas.write(column, row + line, " " * self.across, "ink", bg=colour if self.look.colour else "reverse")
                continue
            self.canvas.fill(column, 2 * row, self.across, self.tall - 1, colour)
            if i == 0:
                nose = column if entity.facing == "L" else column + self.across - 1
                self.canvas.dot(nose, 2 * row, self._floor(entity.x, entity.y))
        column, row = self.corner(entity.x, entity.y)
        arrow = self.look.signs.arrows[entity.facing]
        if self.across == 2 and "/" in entity.text:
            # Two columns hold a hollow arrow and how many turns a cell takes.
            arrow = "◁" if entity.facing == "L" else "▷"
            entity = msgspec.structs.replace(entity, text=entity.text.rpartition("/")[2])
        text = (arrow + entity.text if entity.facing == "L" else entity.text + arrow)[: self.across]
        where = column if entity.facing == "L" else column + self.across - len(text)
        self.canvas.write(where, row + (self.down - 1) // 2, text, "ink", bg=colour if self.look.colour else "reverse", bold=True)

    def _person(self, entity: Entity) -> None:
        colour = "player" if entity.role == "player" else "partner"
        column, row = self.corner(entity.x, entity.y)
        facing = self.look.signs.arrows.get(entity.facing, "")
        # Who is who is said by a letter, where there are two; colours alone would not tell everybody.
        letter = entity.glyph if facing and entity.glyph.isalpha() else ""
        text = (facing or entity.glyph) + entity.text
        if self.down == 1:
            # Two columns are where it faces, and what it holds; else, or where no colour says who it is, its letter.
            text = letter + facing if letter and not (entity.text and self.look.colour) else text
            self.canvas.write(column, row, f"{text[:2]:<2}", "ink", bg=colour if self.look.colour else "reverse", bold=True)
            return
        if self.look.colour:
            self._block(entity, colour)
        else:
            self.canvas.fill(column, 2 * row, self.across, self.tall, "player")
        self.sign(entity.x, entity.y, text[: self.across - 1], "ink")
        if 0 <= entity.x < self.columns and 0 <= entity.y < self.rows:
            self.canvas.write(column + (self.across - 1) // 2, row + self.down - 1, letter, "ink", bold=True)


# Each leaves half a character free at its foot: an arrow that touched who goes would be a hat.
_ARROWS: dict[int, dict[str, tuple[str, ...]]] = {
    2: {"R": ("▐▙▄ ", "▐▛▀ "), "L": (" ▄▟▌", " ▀▜▌"), "U": (" ▟▙ ", "▝▀▀▘"), "D": ("▗▄▄▖", " ▜▛ ")},
    3: {"R": ("▐▄▖ ", "▐███", "▐▀▘ "), "L": (" ▗▄▌", "███▌", " ▝▀▌"), "U": (" ▟▙ ", "▗██▖", "▀▀▀▀"), "D": ("▄▄▄▄", "▝██▘", " ▜▛ ")},
    4: {
        "R": ("▐▄▖   ", "▐███▄▖", "▐███▀▘", "▐▀▘   "),
        "L": ("   ▗▄▌", "▗▄███▌", "▝▀███▌", "   ▝▀▌"),
        "U": ("  ▟▙  ", " ▟██▙ ", "▗████▖", "▀▀▀▀▀▀"),
        "D": ("▄▄▄▄▄▄", "▝████▘", " ▜██▛ ", "  ▜▛  "),
    },
}
_INSET = {2: 1, 3: 1, 4: 2}
_PIPES = {
    "": "━", "U": "┃", "D": "┃", "L": "━", "R": "━", "UD": "┃", "LR": "━", "UL": "┛", "UR": "┗", "DL": "┓", "DR": "┏",
}  # fmt: skip
_EYES_SMALL = {"L": ": ", "R": " :", "U": "••", "D": "••"}
_EYES = {
    2: {"R": ((2, 0), (2, 1)), "L": ((1, 0), (1, 1)), "U": ((1, 0), (2, 0)), "D": ((1, 1), (2, 1))},
    3: {"R": ((4, 0), (4, 2)), "L": ((1, 0), (1, 2)), "U": ((1, 0), (4, 0)), "D": ((1, 2), (4, 2))},
    4: {"R": ((5, 1), (5, 2)), "L": ((2, 1), (2, 2)), "U": ((2, 1), (5, 1)), "D": ((2, 2), (5, 2))},
}
