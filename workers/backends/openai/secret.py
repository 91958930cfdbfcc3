"""An API key: trimmed, kept out of every text, and taken out of what a server repeats of it."""

from __future__ import annotations

import re
from typing import NoReturn

from workers.errors import ConfigError

__all__ = ["Secret"]

_LONGEST_SHOWN = 5
"""Letters of a key in a row that may stand in a text: fewer tell nothing."""
_HIDDEN = "***"


class Secret:
    """A key. Printing, logging or pickling it shows nothing; `reveal` gives the text, to the header and to nobody else."""

    __slots__ = ("_text", "_where")

    def __init__(self, text: str, *, where: str) -> None:
        """`where` names the variable or file in messages. Blanks, a byte order mark and a leading `Bearer` are taken off.

        Raises ConfigError if what is left cannot stand in a header.
        """
        text = text.strip("\ufeff\u200b \t\r\n\v\f\u00a0")
        text = re.sub(r"^bearer\s+", "", text, flags=re.I).strip()
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
            text = text[1:-1].strip()
        if any(not "!" <= letter <= "~" for letter in text):
            raise ConfigError(f"the key in {where} has blanks or letters inside that no key has; set it again, without line breaks or quotes")
        self._text = text
        self._where = where

    def __bool__(self) -> bool:
        return bool(self._text)

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Secret({self._where})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key does not travel between processes; each reads it where it is kept")

    def hide(self, message: str) -> str:
        """Return `message` without the key and without any six letters in a row of it. Source: case X06."""
        key, run = self._text, _LONGEST_SHOWN + 1
        if len(key) < run:
            return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", _HIDDEN, message) if key else message
        parts = {key[at : at + run] for at in range(len(key) - run + 1)}
        covered = [False] * len(message)
        for at in range(len(message) - run + 1):
            if message[at : at + run] in parts:
                covered[at : at + run] = [True] * run
        out: list[str] = []
        for letter, hidden in zip(message, covered):
            if not hidden:
                out.append(letter)
            elif not out or out[-1] != _HIDDEN:
                out.append(_HIDDEN)
        return "".join(out)
