"""Inline think tags in a content stream: which part is reasoning, with tags cut by any delta and never shown.

`<think>` and `<thinking>`, in any case, count only at the start of the answer; a closing tag without an opening one (the chat
template had opened it in the prompt) makes all that stood before it reasoning. With structured reasoning beside it, the
content is left as it is but for a stray closing tag at its very start.
"""

from __future__ import annotations

import enum
import re

__all__ = ["RETURN", "ThinkTags"]

RETURN = "was_reasoning"
"""Kind of the piece that says: the content so far was reasoning. Its text is the closing tag, which cannot be taken back either:
what has been released is released. Whoever shows the answer drops the tag; whoever reads a move out of it needs it."""

_OPEN = ("<think>", "<thinking>")
_CLOSE = ("</think>", "</thinking>")
_CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_EITHER = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_LONGEST = max(map(len, _CLOSE))


class _State(enum.Enum):
    START = enum.auto()
    """Nothing but blanks so far."""
    INSIDE = enum.auto()
    """In a block; all is reasoning."""
    WATCHING = enum.auto()
    """Content, but a closing tag may still say that it was reasoning; an opening one says that it was not."""
    PLAIN = enum.auto()
    """Content to the end; tags are text."""


class ThinkTags:
    """Splits content; pieces are (kind, text), kind reasoning, content or RETURN.

    `opened` starts inside a block: for a server that was seen to open it in the prompt.
    """

    def __init__(self, *, opened: bool = False) -> None:
        self._state = _State.INSIDE if opened else _State.START
        self._held = ""
        self.structured = False
        """Set when reasoning came in a field of its own."""

    @property
    def inside(self) -> bool:
        """Whether a block stands open."""
        return self._state is _State.INSIDE

    def feed(self, text: str) -> list[tuple[str, str]]:
        """Return the pieces that are certain; a partial tag at the end is held back."""
        if self._state is _State.PLAIN:
            return [("content", text)]
        if self._state is _State.WATCHING and not self._held and "<" not in text:
            return [("content", text)]
        text, self._held = self._held + text, ""
        pieces: list[tuple[str, str]] = []
        while text:
            before = self._state
            text = self._go(text, pieces)
            if self._state is before:
                break
        return pieces

    def end(self) -> list[tuple[str, str]]:
        """Return what was held back: it was no tag."""
        text, self._held = self._held, ""
        if not text:
            return []
        return [("reasoning" if self._state is _State.INSIDE else "content", text)]

    def _go(self, text: str, pieces: list[tuple[str, str]]) -> str:
        """Take what the state can; return the rest, which another state goes on with."""
        if self._state is _State.START:
            return self._start(text, pieces)
        if self._state is _State.PLAIN or (self._state is _State.WATCHING and self.structured):
            self._state = _State.PLAIN
            pieces.append(("content", text))
            return ""
        inside = self._state is _State.INSIDE
        kind = "reasoning" if inside else "content"
        tag = (_CLOSING if inside else _EITHER).search(text)
        if tag is None:
            keep = _partial(text, _CLOSE if inside else _CLOSE + _OPEN)
            if keep:
                pieces.append((kind, text[:keep]))
            self._held = text[keep:]
            return ""
        if not inside and not tag[0].startswith("</"):
            # Opened in the middle of the answer, so it is text, and so is the tag that closes it.
            self._state = _State.PLAIN
            return text
        if tag.start():
            pieces.append((kind, text[: tag.start()]))
        if not inside:
            pieces.append((RETURN, tag[0]))
        self._state = _State.PLAIN
        return text[tag.end() :]

    def _start(self, text: str, pieces: list[tuple[str, str]]) -> str:
        bare = text.lstrip()
        low = bare[:_LONGEST].lower()
        tags = _CLOSE if self.structured else _OPEN
        for tag in tags:
            if low.startswith(tag):
                self._state = _State.PLAIN if self.structured else _State.INSIDE
                return bare[len(tag) :]
        if not bare or any(tag.startswith(low) for tag in tags):
            self._held = text
            return ""
        self._state = _State.WATCHING
        return text


def _partial(text: str, tags: tuple[str, ...]) -> int:
    """Where a beginning of one of `tags` at the end of `text` starts; its length if there is none."""
    at = text.rfind("<", max(0, len(text) - _LONGEST))
    if at >= 0 and any(tag.startswith(text[at:].lower()) for tag in tags):
        return at
    return len(text)
