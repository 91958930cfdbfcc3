"""Somebody else's game at our door: what it raises or returns wrongly becomes one sentence that names it, where it would break us.

A game from a file or from another package runs in processes of ours, the desk among them. `guarded` gives a subclass whose methods check
the type of what they return and tell of any other error as a GameError; the class is the same in all else, so it may be asked for its
signatures. Our own games are held to their contract by tests and pay for none of this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from games.base import Board, GameError, Observation, StepResult
from games.nesting import nests_deeper

__all__ = ["LARGEST", "guarded"]

_RETURNS: dict[str, type | None] = {
    "__init__": None,
    "reset": Observation,
    "observe": Observation,
    "step": StepResult,
    "snapshot": dict,
    "restore": None,
    "describe": str,
    "board": Board,
}
"""Methods of a game and what each returns; None where that does not matter."""
LARGEST = 200
"""Columns and rows of a board; no terminal shows more, and drawing takes time and memory by the cell."""
DEEPEST = 60
"""Levels a snapshot or a view may nest; a replay takes 64, and a keyframe has some around a snapshot."""
_decoder = msgspec.msgpack.Decoder(dict[str, Any])


@functools.cache
def guarded(cls: type, name: str) -> type:
    """Return `cls` with its methods watched; `name` is what the game was called by whoever asked for it."""
    watched = {method: _watched(getattr(cls, method), method, want, name) for method, want in _RETURNS.items() if hasattr(cls, method)}
    return type(cls.__name__, (cls,), watched)


def _watched(call: Callable[..., Any], method: str, want: type | None, name: str) -> Callable[..., Any]:
    where = "its start" if method == "__init__" else f"{method}()"

    @functools.wraps(call)
    def watch(*arguments: Any, **more: Any) -> Any:
        try:
            value = call(*arguments, **more)
            wrong = None if want is None else _wrong(value, want)
        except GameError:
            raise
        except (Exception, SystemExit) as error:
            raise GameError(f"the game {name!r} failed in {where}: {_said(error)}; `rtdesk check game {name}` says more") from error
        if wrong is not None:
            raise GameError(f"the game {name!r} failed: {where} {wrong}; `rtdesk check game {name}` says more")
        return value

    return watch


def _wrong(value: Any, want: type) -> str | None:
    """Return what is wrong with a method's value, or None."""
    if not isinstance(value, want):
        return f"returned {value!r:.60}, expected {'a dict' if want is dict else 'a text' if want is str else f'games.base.{want.__name__}'}"
    if isinstance(value, dict):
        return _unwritable(value, "a snapshot")
    if isinstance(value, StepResult):
        return None if isinstance(value.observation, Observation) else f"gave the observation {value.observation!r:.60}, expected games.base.Observation"
    if isinstance(value, Board):
        return _undrawable(value)
    if isinstance(value, Observation):
        if not isinstance(value.text, str):
            return f"gave the text {value.text!r:.60}, expected a string"
        return _unwritable({"text": value.text}, "a text") or _unwritable(value.view, "a view")
    return None


def _undrawable(board: Board) -> str | None:
    """Return why a screen could not draw `board`, or None. A struct says nothing of its parts' types when it is made."""
    try:
        msgspec.convert(msgspec.to_builtins(board), Board)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        return f"gave a board that is none: {error}"
    if not (1 <= board.columns <= LARGEST and 1 <= board.rows <= LARGEST and len(board.entities) <= LARGEST**2):
        size = f"{board.columns} by {board.rows} cells and {len(board.entities)} entities"
        return f"gave a board of {size}, expected 1 to {LARGEST} columns and rows and at most {LARGEST**2} entities"
    return None


def _unwritable(value: Any, what: str) -> str | None:
    """Return why `value` could not be written into a replay and read again, or None."""
    try:
        # In this order: what holds itself ends here, and would go on for ever there.
        if nests_deeper(_decoder.decode(msgspec.msgpack.encode(value)), DEEPEST):
            return f"gave {what} that no replay can hold: it nests by more than {DEEPEST} levels"
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        return f"gave {what} that no replay can hold: {error} (plain dicts with string keys, lists, numbers and strings can be held)"
    return None


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
