"""The thinkers as the conductor sees them: who takes part, what runs, which incarnation speaks."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from replays import events as ev
from workers.wire import Death, Mark, Ready

__all__ = ["Seat", "Seats", "State"]


class State(enum.Enum):
    """Whether a thinker is waited for."""

    OUT = enum.auto()
    """Not yet there, or dead; it takes part again from the tick after its ready mark."""
    PLAYING = enum.auto()
    GONE = enum.auto()
    """Dead, and no other incarnation comes."""


class Seat:
    """One thinker."""

    def __init__(self) -> None:
        self.state = State.OUT
        self.incarnation = 0
        """Who speaks; what another incarnation says is not heard."""
        self.ready = -1
        """The newest incarnation that has written its ready mark."""
        self.mark: Mark | None = None
        self.running: int | None = None
        """The generation that runs."""
        self.last_at = 0
        """Instant of its last token."""
        self.tokens = 0
        """What it has written in this episode."""

    @property
    def playing(self) -> bool:
        return self.state is State.PLAYING

    def wrote(self, at: int, tokens: int) -> None:
        """It wrote a run of tokens, the first at `at`."""
        self.tokens += tokens
        self.last_at = at + tokens - 1

    def on_generation(self, event: ev.Generation) -> None:
        """Its generation starts or ends."""
        if event.phase == "start":
            self.running, self.last_at = event.id, event.at or 0
        elif self.running == event.id:
            self.running = None

    def on_ready(self, ready: Ready) -> None:
        # It may come before the death of the incarnation before it was told: the rings are two.
        self.ready = max(self.ready, ready.incarnation)

    def on_death(self, death: Death) -> None:
        self.incarnation = death.incarnation + 1
        self.state = State.OUT if death.restarts else State.GONE
        self.running = None

    def marked(self, upto: int) -> bool:
        """Whether it has marked `upto`, or is not waited for."""
        return not self.playing or (self.mark is not None and self.mark.upto >= upto)


class Seats(dict[str, Seat]):
    """The seats by stream name, in a fixed order."""

    def __init__(self, streams: Iterable[str]) -> None:
        super().__init__({name: Seat() for name in streams})
        self.missing: set[str] = set()
        """Who died since the last tick began and is coming back."""

    def admit(self) -> bool:
        """Let those who are back take part; returns whether anybody was."""
        back = [seat for seat in self.values() if seat.state is State.OUT and seat.ready >= seat.incarnation]
        for seat in back:
            seat.state = State.PLAYING
        self.missing.clear()
        return bool(back)

    @property
    def playing(self) -> list[str]:
        """Who takes part."""
        return [name for name, seat in self.items() if seat.playing]

    @property
    def settled(self) -> bool:
        """Whether everybody who died in this tick has come back, or will not."""
        return all(self[name].state is State.GONE or self[name].ready >= self[name].incarnation for name in self.missing)
