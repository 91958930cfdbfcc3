"""Words typed in the foot: what to look for, or a bookmark's note. A mixin of the scrubber; while words are typed, every other key is a letter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from replays.clean import one_line

if TYPE_CHECKING:
    from rtdesk.tui.app import DeskApp as Around
    from rtdesk.tui.player import ReplaySource
else:
    Around = object

__all__ = ["Typing"]

LONGEST_ENTRY = 200


class Typing(Around):
    """Needs the scrubber around it."""

    if TYPE_CHECKING:

        @property
        def lead(self) -> ReplaySource: ...

    _entry: tuple[str, str] | None = None
    # (sign, text) of what is being typed.

    async def on_event(self, event: events.Event) -> None:
        if self._entry is not None and len(self.screen_stack) == 1 and isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._type(event)
            return
        await super().on_event(event)

    def _type(self, event: events.Key | events.Paste) -> None:
        assert self._entry is not None
        sign, text = self._entry
        if isinstance(event, events.Paste):
            text += one_line(event.text, LONGEST_ENTRY)
        elif event.key in ("escape", "ctrl+c"):
            self._entry = None
            self._soon()
            return
        elif event.key == "enter":
            self._entry = None
            self._enter(sign, text)
            return
        elif event.key == "backspace":
            text = text[:-1]
        elif event.key == "ctrl+u":
            text = ""
        elif event.character is not None and event.is_printable:
            text += one_line(event.character)
        self._entry = (sign, text[:LONGEST_ENTRY])
        self._soon()

    def _enter(self, sign: str, text: str) -> None:
        if sign == "mark":
            self._ask("bookmark", text)
        elif text:
            self._ask("search", text)
        elif self.lead.search is not None:
            # An empty search is the last one again, as everywhere.
            self._ask("hit", "1")
        self._soon()
