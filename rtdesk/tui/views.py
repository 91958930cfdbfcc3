"""What the scene is given besides the reducer's state: how the source runs, what the person has scrolled to. Plain values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from games.base import Board, GameSpec

__all__ = ["Find", "Overview", "Status", "View"]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How a source runs right now."""

    mode: str = "live"
    """live or replay."""
    play: str = "playing"
    """playing, paused, waiting (for the first tick, or for a slow server) or ended."""
    rate: float | None = None
    """Ticks a second; None where time is the wall's or nothing is paced."""
    speed: float = 1.0
    """Replay: times the recorded pace."""
    at: float | None = None
    """The instant now, in virtual tokens, where the source knows it better than the newest token."""
    t_ns: int | None = None
    """The instant now, ns since episode start."""
    ticks: int | None = None
    """How many ticks there are, or can be."""
    human: tuple[str, ...] = ()
    """Letters a person may play here; empty when nobody does."""
    people: int = 0
    """How many people play at this keyboard, here or on another side of the match; with two each has half of it."""
    reading: bool = False
    """The start waits for the person to have read the rules; the command `begin` says so."""
    count: int = 0
    """Seconds to the start, while they are counted down."""
    paceable: bool = True
    """Whether speed can be changed: not in wall time."""
    title: str = ""
    """Name of the file, for a replay."""
    note: str = ""
    """One line the source wants shown."""

    @property
    def played(self) -> bool:
        """Whether anybody at this keyboard plays."""
        return bool(self.human or self.people)


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """A whole recording at a glance: one character a tick, as in `History`."""

    acted: str = ""
    marks: str = ""
    scores: tuple[tuple[int, float, float], ...] = ()
    ticks: int = 0
    hits: frozenset[int] = frozenset()
    """Ticks in which the words looked for were said."""


class Find(msgspec.Struct, frozen=True):
    """Words looked for in what was said."""

    pattern: re.Pattern[str]
    stream: str = ""
    """The stream whose newest words are the hit that was gone to; empty if none is."""


class View(msgspec.Struct, kw_only=True):
    """What the app hands to the scene for a frame."""

    status: Status = Status()
    board: Board | None = None
    spec: GameSpec | None = None
    overview: Overview | None = None
    anchors: dict[str, int] = {}
    """Stream -> offset (in everything it ever said) of the row its pane shows first; absent while it follows."""
    notice: str = ""
    """Shown in the foot instead of the keys, for a moment."""
    prompts: bool = False
    """Panes show prompts instead of text."""
    keys: tuple[tuple[str, str], ...] = ()
    """(key, what it does) for the foot."""
    jump: str = ""
    """Digits typed so far, in a replay."""
    chosen: bool = False
    """Of several recordings, the one that keys and cards are about."""
    voice: str = ""
    """The stream whose tail that one's column shows."""
    find: Find | None = None
    memo: dict[str, Any] = {}
    """Rows that need no making again while what they are made of is the same; the app hands the same dict to every frame."""
    dropped: int = 0
    """Frames not drawn because the terminal had not taken the last one."""

    def kept(self, name: str, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return what `make` gives, or what it gave last time under `name` if `key` is the same."""
        found = self.memo.get(name)
        if found is None or found[0] != key:
            found = self.memo[name] = (key, make())
        return found[1]
