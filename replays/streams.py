"""One thinker's stream as a screen shows it: the clean tail of its text, its counts, its pace.

Folding one token at a time or a whole window at once gives the same state, whatever the cuts; live frames are finer than a
file's events, and both must show the same screen. The tail is cut at multiples of `BLOCK` characters of the whole text, so
that where it starts depends on how much was said and not on how it came.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import msgspec

from replays.clean import Cleaner, one_line
from replays.events import Generation, Part, Segment, Token

__all__ = ["BLOCK", "Border", "SegmentState", "StreamState"]

BLOCK = 24 * 1024
"""Characters; a tail holds between one and two blocks of them."""


class Border(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in the text where something changes; `offset` counts from the start of everything ever said."""

    offset: int
    kind: str
    """turn, content, or segment."""
    turn: int = 0
    label: str = ""
    """The strategy, for a segment."""


class SegmentState(msgspec.Struct, omit_defaults=True):
    """A steered step."""

    id: int
    strategy: str
    phrase: str = ""
    flags: list[str] = []
    finish: str | None = None
    tokens: int = 0
    over: bool = False
    """It ended beyond the thinking budget."""
    left: float | None = None
    """Share of the thinking budget left after it."""


class StreamState(msgspec.Struct, omit_defaults=True):
    """What is known of a stream now. Not a value: `fold` alters it in place."""

    name: str
    generation: int = -1
    """Tick the running or last generation began on; -1 before the first."""
    running: bool = False
    """Whether a generation has begun and not ended."""
    finish: str | None = None
    """How the last generation ended; None while it runs."""
    channel: str = ""
    """Channel of the newest token: reasoning or content."""
    started_ns: int = 0
    """When this generation began, in ns since the episode began, like the next two."""
    first_ns: int | None = None
    """When its first token came; None before it has."""
    last_ns: int = 0
    """When its newest token came."""
    at: int | None = None
    """Instant of the last token, in virtual tokens; None in wall time."""
    tokens: int = 0
    """Of this generation."""
    tick_tokens: int = 0
    """Released in this tick."""
    total_tokens: int = 0
    """Of the episode."""
    ttft_s: float | None = None
    """Seconds to this generation's first token, as far as they are known."""
    tpot_s: float | None = None
    """Seconds a token of it took, likewise."""
    ends: list[tuple[int, int, str]] = []
    """(generation, tokens, finish) of the last generations that ended, at most 64, oldest first."""
    prompt: list[str | Part] = []
    """What this generation was asked, as its start event has it."""
    segments: list[SegmentState] = []
    """Of this generation, at most 256."""
    borders: list[Border] = []
    """Places in the tail where something changes, oldest first."""
    tail: str = ""
    """The end of everything said, clean; what `pieces` holds comes behind it."""
    dropped: int = 0
    """Characters said before the tail begins."""
    pieces: list[str] = []
    """Text not yet joined to the tail; read through `text`."""
    fresh: int = 0
    """Characters in `pieces`."""
    cleaner: list[int | str] = msgspec.field(default_factory=lambda: [0, "", 0])
    """What the cleaner has to remember between two pieces of text."""
    _cleaner: Any = None
    """The running Cleaner; `cleaner` is its state at rest."""

    @property
    def said(self) -> int:
        """Characters ever said: the offset one behind the tail's end."""
        return self.dropped + len(self.tail) + self.fresh

    @property
    def text(self) -> str:
        """The tail of what was said, clean."""
        if self.pieces:
            self.tail += "".join(self.pieces)
            self.pieces, self.fresh = [], 0
        return self.tail

    def tick(self) -> None:
        self.tick_tokens = 0

    def start(self, event: Generation) -> None:
        self._open()
        self._append(0, self._scrub().flush())
        if self.said and not self._ends_with_newline():
            self._append(0, "\n")
        self.generation, self.running, self.finish, self.channel = event.id, True, None, ""
        self.started_ns, self.first_ns, self.last_ns = event.t_ns, None, event.t_ns
        self.tokens, self.ttft_s, self.tpot_s = 0, None, None
        self.prompt = list(event.prompt)
        self.segments = []
        self._border(Border(self.said, "turn", event.id))

    def end(self, event: Generation) -> None:
        self._append(0, self._scrub().flush())
        self.running, self.finish = False, event.finish or "stop"
        self.ttft_s = _number(event.meas.get("ttft_s"), self.ttft_s)
        self.tpot_s = _number(event.meas.get("tpot_s"), self.tpot_s)
        self.ends = [*self.ends, (event.id, event.clock_tokens or self.tokens, self.finish)][-64:]

    def token(self, event: Token) -> tuple[int, str]:
        """Take a run of tokens; return (characters taken back, clean text added)."""
        if event.generation != self.generation:
            # A reader that came late, or was lapped, has not seen the start.
            self.start(Generation(tick=event.tick, t_ns=event.t_ns, at=event.at, stream=self.name, id=event.generation, phase="start"))
        count = len(event.lens)
        if event.channel != self.channel:
            if self.channel and self.tokens:
                self._append(0, self._scrub().flush())
                if not self._ends_with_newline():
                    self._append(0, "\n")
                self._border(Border(self.said, event.channel, event.generation))
            self.channel = event.channel
        self.tokens += count
        self.tick_tokens += count
        self.total_tokens += count
        if event.at is not None:
            self.at = event.at + max(0, count - 1)
        arrivals = event.meas.get("arrivals") or ((count, event.t_ns),)
        if self.first_ns is None:
            self.first_ns = int(arrivals[0][1])
            self.ttft_s = max(0, self.first_ns - self.started_ns) / 1e9
        self.last_ns = int(arrivals[-1][1])
        if self.tokens > 1:
            self.tpot_s = (self.last_ns - self.first_ns) / 1e9 / (self.tokens - 1)
        back, text = self._scrub().feed(event.text)
        self._append(back, text)
        return back, text

    def segment(self, event: Segment) -> None:
        if event.phase == "open":
            strategy = one_line(event.strategy, 20)
            self.segments = [*self.segments, SegmentState(event.id, strategy, one_line(event.phrase, 200), list(event.flags))][-256:]
            self._border(Border(self.said, "segment", event.generation, strategy))
        elif self.segments and self.segments[-1].id == event.id:
            last = self.segments[-1]
            last.finish, last.tokens, last.flags = event.finish, event.tokens, list(event.flags)
            if event.budget:
                last.over = event.used_after > event.budget
                last.left = 1 - event.used_after / event.budget

    def copy(self) -> StreamState:
        """Return a stream of its own that goes on apart from this one."""
        self._rest()
        new = copy(self)
        new.pieces = []
        # Only an open step is altered in place, and only the last one can be open.
        new.segments = [*self.segments[:-1], *map(copy, self.segments[-1:])]
        return new

    def _rest(self) -> None:
        """Bring what is in motion to rest: pieces joined, the cleaner's state plain."""
        _ = self.text
        self.cleaner, self._cleaner = self._scrub().state(), None

    def to_map(self) -> dict[str, Any]:
        """Return everything as plain values, for a keyframe."""
        self._rest()
        return msgspec.to_builtins(self)

    def _open(self) -> None:
        if self.running and self.generation >= 0:
            # No end was seen: cut off by a reset, a death, or a gap.
            self.running, self.finish = False, "cancelled"

    def _scrub(self) -> Cleaner:
        if self._cleaner is None:
            self._cleaner = Cleaner()
            self._cleaner.restore(self.cleaner)
        return self._cleaner

    def _ends_with_newline(self) -> bool:
        last = self.pieces[-1] if self.pieces else self.tail
        return last.endswith("\n")

    def _append(self, back: int, text: str) -> None:
        if back:
            self.tail = self.text[:-back]
        if text:
            self.pieces.append(text)
            self.fresh += len(text)
        start = ((self.said - 1) // BLOCK - 1) * BLOCK
        if start > self.dropped:
            whole = self.text
            self.tail, self.dropped = whole[start - self.dropped :], start
            self.borders = [border for border in self.borders if border.offset >= start]
        elif len(self.pieces) > 512:
            _ = self.text

    def _border(self, border: Border) -> None:
        # A stream of empty generations must not grow the list for ever.
        self.borders = [*self.borders, border][-512:]


def _number(value: object, otherwise: float | None) -> float | None:
    return float(value) if isinstance(value, int | float) else otherwise
