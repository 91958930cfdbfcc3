"""Turn text from outside into text a terminal can be trusted with; the only door into what a screen shows.

Model output, prompts, names, notes and errors pass here once, where they enter the reducer's view state. What comes out
holds no control, format, private, unassigned or combining character, and every character is one or two cells wide in every
terminal we know of. Events and replays keep the original.

The one thing that surprises: cleaning a text in pieces gives the same as cleaning it whole, whatever the cuts. So the rule is
a walk with a small state (a carriage return held back, the last character put out, an open emoji sequence) instead of a call
to a normaliser on the whole text, and a piece may take back the last character of the piece before it, to compose it with an
accent that arrives late.

    C0, DEL                     control pictures (ESC is shown as its picture)
    tab, CR LF                  two blanks, LF (a CR that ends a piece waits for the next)
    C1, bidi, format, private,
    unassigned, line separators a middle dot
    accents                     composed with their letter (NFC) where Unicode has that letter, else dropped
    emoji, regional indicators  one box a sequence
    wide letters                kept where terminals agree: CJK, kana, hangul, full width; else a box
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

__all__ = ["BOX", "DOT", "Cleaner", "clean", "one_line", "trusted", "width"]

DOT = "\u00b7"
BOX = "\u25af"
"""A narrow box: its width is neutral in Unicode, unlike the square one's."""

_ZWJ = "\u200d"

# Kept two cells wide. Yi, Tangut and the Yijing hexagrams stay out: tables of different years disagree about them.
_WIDE = (
    (0x1100, 0x115E), (0x2E80, 0x303E), (0x3041, 0x3163), (0x3165, 0x33FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xA960, 0xA97C), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFE10, 0xFE19), (0xFE30, 0xFE6B), (0xFF01, 0xFF60), (0xFFE0, 0xFFE6),
    (0x1B000, 0x1B122), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD),
)  # fmt: skip

_ASCII = {code: chr(0x2400 + code) for code in range(32)} | {0x7F: "\u2421", 0x09: "  ", 0x0A: "\n"}

_PLAIN, _MARK, _JAMO, _EMOJI, _MODIFIER, _REGION, _JOINER = range(7)


def _is_wide(code: int) -> bool:
    return any(low <= code <= high for low, high in _WIDE)


@lru_cache(maxsize=8192)
def _kind(char: str) -> tuple[int, str]:
    """Return (kind, what is shown for it) of one character that is not ASCII."""
    code = ord(char)
    if char == _ZWJ:
        return _JOINER, DOT
    if 0x1F3FB <= code <= 0x1F3FF:
        return _MODIFIER, BOX
    if 0x1F1E6 <= code <= 0x1F1FF:
        return _REGION, BOX
    category = unicodedata.category(char)
    if category[0] == "M":
        return _MARK, ""
    if 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF:
        return _JAMO, DOT
    if category[0] == "C" or category in ("Zl", "Zp") or code in (0x115F, 0x3164, 0xFFA0):
        return _PLAIN, DOT
    if category == "Zs":
        return _PLAIN, "  " if code == 0x3000 else " "
    folded = unicodedata.normalize("NFC", char)[0]
    if folded != char:
        return _kind(folded) if not folded.isascii() else (_PLAIN, folded)
    if _is_wide(code):
        return _PLAIN, char
    if unicodedata.east_asian_width(char) in "WF" or 0x1F000 <= code <= 0x1FAFF:
        return _EMOJI, BOX
    if 0x2630 <= code <= 0x2637 or 0x268A <= code <= 0x268F or 0x4DC0 <= code <= 0x4DFF or 0x16FE0 <= code <= 0x18CFF or 0x1D300 <= code <= 0x1D376:
        # Narrow in older width tables, wide in newer ones.
        return _PLAIN, BOX
    return _PLAIN, char


class Cleaner:
    """Cleans one stream piece by piece."""

    __slots__ = ("_held", "_last", "_open")

    def __init__(self) -> None:
        self._held = False
        # A carriage return waits for what follows it.
        self._last = ""
        # The last character put out, which an accent may still change.
        self._open = 0
        # 1: the last box is followed by a joiner; 2: the last box is the first half of a flag.

    def feed(self, text: str) -> tuple[int, str]:
        """Return (characters of earlier output to take back, 0 or 1; text to add)."""
        if not text:
            return 0, ""
        if not self._held and text.isascii():
            if not text.isprintable():
                if "\r" in text:
                    text = text.replace("\r\n", "\n")
                    if text[-1] == "\r":
                        text, self._held = text[:-1], True
                text = text.translate(_ASCII)
            if text:
                self._last, self._open = text[-1], 0
            return 0, text
        return self._walk(text)

    def _walk(self, text: str) -> tuple[int, str]:
        back = 0
        out: list[str] = []
        for char in text:
            if self._held:
                self._held = False
                if char == "\n":
                    self._put(out, "\n")
                    continue
                self._put(out, "\u240d")
            if char == "\r":
                self._held = True
                continue
            if char < "\x80":
                self._put(out, char if " " <= char <= "~" else _ASCII[ord(char)])
                continue
            kind, shown = _kind(char)
            if kind == _PLAIN:
                self._put(out, shown)
            elif kind in (_MARK, _JAMO):
                composed = unicodedata.normalize("NFC", self._last + char) if self._last else ""
                if len(composed) == 1 and composed != self._last and _kind(composed)[0] == _PLAIN:
                    if out:
                        out.pop()
                    else:
                        back = 1
                    self._put(out, _kind(composed)[1])
                elif kind == _JAMO:
                    self._put(out, shown)
            elif kind == _JOINER:
                if self._last == BOX:
                    self._open = 1
                else:
                    self._put(out, DOT)
            elif kind == _MODIFIER:
                if self._last != BOX:
                    self._put(out, BOX)
            elif kind == _REGION:
                half = self._open == 2
                if half:
                    self._open = 0
                else:
                    self._put(out, BOX)
                    self._open = 2
            elif self._open == 1:
                self._open = 0
            else:
                self._put(out, BOX)
        return back, "".join(out)

    def _put(self, out: list[str], shown: str) -> None:
        # One entry a character, so that the last one can be taken back.
        out.extend(shown)
        self._last, self._open = shown[-1], 0

    def flush(self) -> str:
        """End the stream: return what a held carriage return becomes, and forget everything."""
        text = "\u240d" if self._held else ""
        self._held, self._last, self._open = False, "", 0
        return text

    def state(self) -> list[int | str]:
        """What `restore` needs to go on from here: plain values."""
        return [int(self._held), self._last, self._open]

    def restore(self, state: list[int | str]) -> None:
        self._held, self._last, self._open = bool(state[0]), str(state[1]), int(state[2])


def clean(text: str) -> str:
    """Return `text` fit for a terminal.

    >>> clean("a\\x1b[2Jb\\tc\\r\\n")
    'a␛[2Jb  c\\n'
    """
    if text.isascii() and text.isprintable():
        return text
    cleaner = Cleaner()
    return cleaner.feed(text)[1] + cleaner.flush()


def trusted(text: str) -> str:
    """Return `text` if it is clean already, as what this module once gave is; else clean it. Quick for long clean text in any script.

    >>> trusted("caf\\u00e9"), trusted("a\\x1b[2J")
    ('caf\u00e9', 'a\u241b[2J')
    """
    if text.isascii():
        return text if text.replace("\n", "").isprintable() else clean(text)
    return text if all(char == "\n" or _stays(char) for char in set(text)) else clean(text)


@lru_cache(maxsize=8192)
def _stays(char: str) -> bool:
    """Whether a character is shown as itself wherever it stands."""
    return " " <= char <= "~" if char < "\x80" else _kind(char) == (_PLAIN, char)


def one_line(text: str, limit: int = 400) -> str:
    """Return `text` clean, on one line and at most `limit` characters, for names, notes and errors."""
    return clean(text[: limit * 4]).replace("\n", " ")[:limit]


def width(text: str) -> int:
    """Return the cells a clean text without line ends takes.

    >>> width("\\u65e5\\u672c"), width("abc")
    (4, 3)
    """
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for char in text if char >= "\u1100" and unicodedata.east_asian_width(char) in "WF")
