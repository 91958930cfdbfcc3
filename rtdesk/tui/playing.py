"""What the app does for a person who plays: moves take the short way, and nothing runs that they cannot see. A mixin of the app.

A game waits, before its start as well, while its board is behind a card or a dialog or the terminal has no room for it. Otherwise the
person would lose ticks to a help text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual import events
from textual.message_pump import MessagePump

from rtdesk.tui.at_once import AtOnce
from rtdesk.tui.keys import hand_keys
from rtdesk.tui.source import Source
from rtdesk.tui.views import Status

if TYPE_CHECKING:
    import asyncio

    from textual.geometry import Size

    from rtdesk.tui.layout import Layout

__all__ = ["Playing"]


class Playing(MessagePump):
    """Needs an app around it that has what is named here."""

    if TYPE_CHECKING:
        sources: tuple[Source, ...]
        screen_stack: Any
        _card: str
        _human: tuple[str, ...]
        _people: int
        _status: Status
        _loop: asyncio.AbstractEventLoop | None
        _ask: Callable[..., None]
        _hurry: Callable[[], None]
        _press: Callable[[str], None]

        def arrangement(self, size: Size | None = None) -> Layout: ...

        @property
        def _leading(self) -> Source: ...

    def sit_down(self) -> None:
        """To be called once it is known who plays."""
        self._covered = False
        """Whether a card, a dialog or the lack of room hides the board."""
        self._held_for_card = False
        """Whether the game waits for that alone, and goes on afterwards."""
        hands = {key: f"{letter}/{hand}" if hand else letter for keys, letter, hand in hand_keys(self._human, self._people) for key in keys.split(",")}
        self._at_once = AtOnce(hands, playing=lambda: not (self._covered or self._card) and len(self.screen_stack) == 1, press=self._press_early)

    # The short way of a move.

    def take_key(self, key: str) -> bool:
        """Take a move in the thread that reads the terminal; False: the key is to go through the event loop."""
        return self._at_once.take(key)

    def _press_early(self, value: str) -> None:
        self._press(value)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._hurry)

    async def on_event(self, event: events.Event) -> None:
        fresh = isinstance(event, events.Key) and not event.is_forwarded
        await super().on_event(event)
        if fresh:
            self._at_once.done()

    # Waiting for who cannot play.

    def cover(self) -> None:
        """A card or a dialog has opened or closed, or the screen has another size: a person's game waits, or goes on."""
        covered = bool(self._card) or len(self.screen_stack) > 1 or self.arrangement().small
        was, self._covered = self._covered, covered
        if covered:
            self.hold_game()
        elif was and self._people:
            self._status = self._leading.status
            if self._status.reading:
                self._ask("begin")
            elif self._held_for_card and self._status.play == "paused":
                self._ask("pause")
            self._held_for_card = False

    def hold_game(self) -> None:
        """Let a person's game wait if it runs, or is about to."""
        playing = [source.status for source in self.sources if source.status.human] if self._people else []
        if any(status.count for status in playing):
            self._ask("read")
        elif any(status.play == "playing" for status in playing):
            self._held_for_card = True
            self._ask("pause")
