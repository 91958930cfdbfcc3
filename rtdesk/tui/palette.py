"""The command palette, which closes once however often it is told to.

Textual's own takes a second Enter, typed before the first one's work is done, for a second choice: it runs the command again and closes a
screen that is gone, which ends the session.
"""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.message import Message
from textual.widgets import Input, OptionList

__all__ = ["Palette"]


class Palette(CommandPalette):
    """Push it where Textual would push its own."""

    _gone = False

    def dismiss(self, result: Any = None) -> AwaitComplete:
        if self._gone:
            return AwaitComplete.nothing()
        self._gone = True
        return super().dismiss(result)

    async def _dispatch_message(self, message: Message) -> None:
        # Here, and not where they are sent: both may have been sent before either was dealt with.
        if not (self._gone and isinstance(message, Input.Submitted | OptionList.OptionSelected)):
            await super()._dispatch_message(message)
