"""The board of a state: made from its snapshot by the game itself, once a tick."""

from __future__ import annotations

import logging
from typing import Any

import games
from games.base import Board, GameSpec
from replays.events import Episode

__all__ = ["BoardMaker"]

log = logging.getLogger(__name__)


class BoardMaker:
    """Makes boards for one episode after another. A game that is not installed, or a snapshot of another shape, gives no board.

    A recording may name a game by a path; that file is code, and looking at a recording must not run it. `trusted` names the
    games of this session, which the person has started by hand.
    """

    def __init__(self, trusted: frozenset[str] = frozenset(), *, game: str | None = None) -> None:
        """`game` stands in for whatever name a recording has."""
        self._trusted = trusted
        self._instead = game
        self._of: tuple[str, str, int] | None = None
        self._game: Any = None
        self._snapshot: Any = None
        self._board: Board | None = None
        self.spec: GameSpec | None = None
        self.why = ""
        """Why there is no board, in a sentence."""

    @classmethod
    def named(cls, game: str | None) -> BoardMaker:
        """Return one for recordings of the game the person has named; None where they named none."""
        return cls() if game is None else cls(frozenset({game}), game=game)

    def board(self, header: Episode | None, snapshot: dict[str, Any]) -> Board | None:
        if header is None:
            return None
        of = (header.game, header.load, header.seed)
        if of != self._of:
            self._of, self._snapshot, self._board = of, None, None
            self._game = self._make(header)
        if self._game is None or not snapshot:
            return None
        if snapshot is not self._snapshot:
            self._snapshot = snapshot
            try:
                self._game.restore(snapshot)
                self._board = self._game.board()
            except Exception as error:
                # Whatever a file holds and a game makes of it, the screen goes on without a board.
                log.warning("no board of this snapshot: %s", error)
                self._board, self.why = None, f"no board of this snapshot: {error}"
        return self._board

    def _make(self, header: Episode) -> Any:
        self.spec = None
        name = header.game if self._instead is None else self._instead
        if ("/" in name or name.endswith(".py")) and name not in self._trusted:
            self.why = f"the game {name!r} is a file, which is not run on a recording's word; if you trust it, give it with --game"
            return None
        try:
            game = games.make(name, header.load, header.seed)
            self.spec = game.spec
            return game
        except Exception as error:
            log.warning("no board of game %r: %s", name, error)
            self.why = str(error)
            return None
