"""What the checker asks of what a game shows: its board, and its rules in words. Same form as `_checks`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from games._guard import LARGEST
from games._subject import Subject, encoded
from games.base import Board, Entity

__all__ = ["boards", "description"]

Found = Iterator[tuple[str, str]]

_ROLES = ("wall", "floor", "player", "partner", "hazard", "goal", "item", "tool")


def boards(subject: Subject) -> Found:
    """A board can be drawn, and drawing it changes nothing."""
    for load, seed in subject.starts():
        game, letters = subject.middle(load, seed)
        before = encoded(subject.state(game))
        board = game.board()
        if encoded(subject.state(game)) != before:
            yield f"{load}, seed {seed}: board() changed the game", "board() only looks"
        for letter in ["", *letters]:
            if letter and game.step(letter).done:
                letter = ""
            board = game.board()
            if not isinstance(board, Board) or board.columns < 1 or board.rows < 1:
                yield f"board() returns {board!r:.60}, expected a games.base.Board of at least 1 x 1", "return Board(columns=..., rows=..., entities=(...))"
                return
            if max(board.columns, board.rows) > LARGEST:
                yield f"the board has {board.columns} x {board.rows} cells, expected at most {LARGEST} x {LARGEST}", "a cell is a place on the board, not a pixel"
                return
            yield from _drawn(board)
            if not letter and game.snapshot()["rest"]["done"]:
                break


def _drawn(board: Board) -> Found:
    looks: dict[tuple[str, str], str] = {}
    seen = False
    for entity in board.entities:
        name = f"{entity.kind!r} at ({entity.x},{entity.y})"
        if not all(type(value) is int for value in (entity.x, entity.y, entity.length)) or entity.length < 1:
            yield f"{name} has x {entity.x!r}, y {entity.y!r}, length {entity.length!r}", "cells are whole numbers, a length at least 1"
            continue
        yield from _signs(entity, name)
        if entity.role not in _ROLES:
            yield f"{name} has role {entity.role!r}", f"a role is one of {', '.join(_ROLES)}"
        if any(letter not in "LRUD" for letter in entity.facing + entity.links) or len(entity.facing) > 1:
            yield f"{name} faces {entity.facing!r}, links {entity.links!r}", "both are made of the letters L R U D"
        reach = entity.length + max(board.columns, board.rows)
        if not (-reach <= entity.x < board.columns + reach and -reach <= entity.y < board.rows + reach):
            yield f"{name} is far outside the board of {board.columns} x {board.rows}", "x counts columns and y rows, from the lower left; are they pixels?"
        seen = seen or (0 <= entity.x < board.columns and 0 <= entity.y < board.rows)
        other = looks.setdefault((entity.glyph, entity.ascii), entity.kind)
        if other != entity.kind:
            yield f"{other!r} and {entity.kind!r} look the same ({entity.glyph!r}, {entity.ascii!r})", "give each kind its own glyph: nothing depends on colour"
    if not seen:
        yield f"nothing is on the board of {board.columns} x {board.rows}", "entities have x in 0..columns-1 and y in 0..rows-1"


def _signs(entity: Entity, name: str) -> Found:
    glyph = entity.glyph
    wide = len(glyph) != 1 or unicodedata.east_asian_width(glyph) in "WF" or unicodedata.category(glyph)[0] in "CM"
    if wide:
        yield f"{name} has glyph {glyph!r}, which is not one cell wide", "use one character that every font draws one cell wide, no emoji"
    if len(entity.ascii) != 1 or not " " <= entity.ascii <= "~":
        yield f"{name} has ascii {entity.ascii!r}", "give one ASCII character, for terminals without box drawing"


def description(subject: Subject) -> Found:
    """The rules are in words, and stay the same all the episode."""
    game = subject.make()
    game.reset()
    rules = game.describe()
    if not isinstance(rules, str) or not rules.strip():
        yield f"describe() returns {rules!r}", "it is all a language model knows of the rules: return them in words"
        return
    for letter in subject.actions(subject.seeds[0]):
        done = game.step(letter).done
        if game.describe() != rules:
            yield "describe() says something else after a step", "it holds the rules, which do not change; what changes belongs into the observation's text"
            return
        if done:
            return
