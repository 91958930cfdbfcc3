r"""The actions inside a box or fence, as they stand there: tokens, then one pass over them. Rules 5 to 8 and 12 of `workers.answers`.

    items   = line, {line end, line};                 a line that is no such thing is prose, or illegal
    line    = {[head] [label] [verb] action [other name] {comment} | separator | bullet | bracket round actions alone}
    head    = "Turn" n mark | "Step" n mark | n "." | n ")" | "(" n ")"
    label   = words such as "Final answer" with a colon    verb = one word such as "go"
    comment = bracket ... bracket directly behind | dash ... line end

The surprise: a bracket or a dash means different things by what it holds or begins. Both questions are answered from tables made
beforehand, so that no input makes the pass look at a token more than a fixed number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Found", "Item", "action_names", "read_items"]


class Found(NamedTuple):
    """The inside of a box or a fence."""

    body: str
    closed: bool


class Item(NamedTuple):
    """One action as it stands in a body."""

    base: str
    """What `number` counts: turn, list (a numbered list), or nothing for a bare action."""
    number: int
    letter: str


_WORDS = {"U": "UP", "D": "DOWN", "L": "LEFT", "R": "RIGHT", "I": "INTERACT", "S": "STAY"}


def action_names(letters: Iterable[tuple[str, str]], alias: Mapping[str, str]) -> dict[str, str]:
    """Return every legal token in upper case -> its letter; letters win over words, words over aliases."""
    own = {letter.upper(): letter for letter, _ in letters}
    usual = {word: own[letter] for letter, word in _WORDS.items() if letter in own}
    extra = {word.upper(): own[letter.upper()] for word, letter in alias.items() if letter.upper() in own}
    return extra | usual | {word.upper(): letter for letter, word in letters} | own


def read_items(found: Found, actions: Mapping[str, str]) -> list[Item] | None:
    """Return the actions of a body in their order there, [] for none, None for an illegal body. `actions`: see `action_names`."""
    tokens = _tokens(found.body, actions)
    if found.closed:
        return _Parser(tokens, actions).items(closed=True)
    border = max((index for index, (kind, _) in enumerate(tokens) if kind == "nl"), default=-1)
    items = _Parser(tokens[: max(border, 0)], actions).items(closed=False)
    if items == []:
        rest = _Parser(tokens[border + 1 :], actions).items(closed=False)
        return rest if rest is not None and len(rest) == 1 else None
    return items


_TOKEN = re.compile(
    r"""(?P<frame>\\{1,4}(?:begin|end)\ ?\{[A-Za-z*]{1,20}\}(?:\ ?\{[lcr|\ ]{0,20}\})?
                 |\\{1,4}(?:(?:text)?color|[hv]space\*?)\ ?\{[^{}\n]{0,30}\})
    |(?P<macro>\\{1,4}[A-Za-z]+)
    |(?P<nl>\n|\\\\+|<br\ {0,3}/?>)
    |(?P<escape>\\[^A-Za-z0-9\n]?)
    |(?P<arrow>-{1,3}>|={1,2}>)
    |(?P<word>[^\W_]+)
    |(?P<dash>-+)
    |(?P<dots>\.{2,})
    |(?P<sign>\S)""",
    re.VERBOSE,
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_INVISIBLE = _set(
    "text textbf textit textrm texttt textsf textsc textnormal textmd textup mathrm mathbf mathit mathtt mathsf mathcal operatorname "
    "mbox hbox fbox boxed bm boldsymbol emph underline displaystyle textstyle scriptstyle quad qquad enspace thinspace space "
    "left right big Big bigl bigr Bigl Bigr bigg Bigg rm bf it tt sf sl bfseries itshape ttfamily rmfamily sffamily upshape normalfont "
    "small normalsize large Large LARGE huge Huge centering"
)
_ARROWS = _set("to rightarrow Rightarrow longrightarrow Longrightarrow implies mapsto")
_LINE_ENDS = _set("newline linebreak par cr n")
_DROPPED = frozenset("*_`~$\"'{}&")
_SIGNS = dict.fromkeys(",;+", "sep") | dict.fromkeys(":=", "mark") | dict.fromkeys(".!?", "stop")
_SIGNS |= dict.fromkeys("([<", "open") | dict.fromkeys(")]>", "close")
_OPENING = {")": "(", "]": "[", ">": "<"}


def _tokens(body: str, actions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (kind, value in upper case) of all that is visible: act, num, word, sep, dash, mark, stop, open, close, nl, bad."""
    tokens: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(body):
        kind, value = str(match.lastgroup), match[0]
        if kind == "word":
            tokens.append(_word(value, actions))
        elif kind == "macro":
            tokens.extend(_macro(value, actions))
        elif kind == "sign":
            heading = value == "#" and (not tokens or tokens[-1][0] == "nl")
            if value not in _DROPPED and not heading:
                tokens.append((_SIGNS.get(value, "bad"), value))
        elif kind == "arrow":
            tokens.append(("sep", "->"))
        elif kind == "dots":
            tokens.append(("bad", value))
        elif kind == "escape":
            # Markdown writes `1\.` and `\-` where it wants neither list nor bullet; any other escaped sign is spacing or a delimiter.
            if value in ("\\.", "\\-"):
                tokens.append(("stop" if value == "\\." else "dash", value))
        elif kind != "frame":
            tokens.append((kind, value))
    return tokens


def _word(word: str, actions: Mapping[str, str]) -> tuple[str, str]:
    name = word.upper()
    if word.isascii() and name in actions:
        return "act", name
    # Nine digits are more than any turn has, and far from the length that int() refuses.
    return "num" if word.isascii() and word.isdigit() and len(word) <= 9 else "word", name


def _macro(macro: str, actions: Mapping[str, str]) -> list[tuple[str, str]]:
    name = macro.lstrip("\\")
    if name in _INVISIBLE:
        return []
    if name in _ARROWS:
        return [("sep", "->")]
    if name in _LINE_ENDS:
        return [("nl", "")]
    # `\nTurn` is a line end escaped once too often, `\\Turn` a line end of LaTeX; Greek `\nu` is neither.
    if name[0] == "n" and name[1:2].isupper():
        return [("nl", ""), _word(name[1:], actions)]
    return [("nl", ""), _word(name, actions)] if macro.startswith("\\\\") else [("bad", macro)]


class _Head(NamedTuple):
    """A number in front of an action."""

    base: str
    number: int
    behind: int
    """Index of the token behind it."""


_COUNTERS = {"TURN": "turn", "TICK": "turn", "STEP": "list", "MOVE": "list"}
_LABELS = _set("ACTION ACTIONS ANSWER BEST CHOICE CHOSEN DECISION FINAL MOVE MOVES MY NEXT PLAN SEQUENCE THE")
_LABEL_WORDS = 4
_VERBS = _set("CHOOSE GO HEAD MOVE PRESS STEP TAKE TURN")
_MORE = frozenset(("word", "num", "mark", "bad"))
"""Kinds that are more than actions and what may stand between them."""


class _Parser:
    """One pass over the tokens of a body; the position only moves forward, and every look ahead is a table look-up."""

    def __init__(self, tokens: list[tuple[str, str]], actions: Mapping[str, str]) -> None:
        self._actions = actions
        # Line ends behind the last token spare every look ahead its bounds check; the longest look, of a head, is 6 tokens.
        self._kinds = [kind for kind, _ in tokens] + ["nl"] * 8
        self._values = [value for _, value in tokens] + [""] * 8
        self._end = len(tokens)
        self._items: list[Item] = []
        self._partner: dict[int, int] = {}
        waiting: list[int] = []
        for index, (kind, value) in enumerate(tokens):
            if kind == "open":
                waiting.append(index)
            elif kind == "close" and waiting and self._values[waiting[-1]] == _OPENING[value]:
                self._partner[waiting.pop()] = index
        self._more = list(accumulate((kind in _MORE for kind in self._kinds), initial=0))
        self._line_end = [0] * len(self._kinds)
        line_end = len(self._kinds) - 1
        for index in range(line_end, -1, -1):
            if self._kinds[index] == "nl":
                line_end = index
            self._line_end[index] = line_end

    def items(self, *, closed: bool) -> list[Item] | None:
        """Return the actions, or None if something illegal stands among them."""
        index = 0
        failed: set[str] = set()
        while index < self._end:
            before = len(self._items)
            index, base, legal = self._line(index)
            if not legal:
                del self._items[before:]
                if not closed and not base and self._items and not self._items[0].base:
                    # An unclosed box has no border but this one: what follows its bare actions is prose outside it.
                    break
                failed.add(base)
                index = self._line_end[index]
            index += 1
        bases = {item.base for item in self._items}
        # A faulty numbered line beside turn entries is prose that begins with a number; a faulty turn entry is never prose.
        if len(bases) > 1 or bases & failed or "turn" in failed or (failed and not bases):
            return None
        return self._items

    def _line(self, index: int) -> tuple[int, str, bool]:
        """Read one line's items. Return where it stopped, what its numbers count ("" for no numbers), and whether all of it was legal."""
        base = ""
        head: _Head | None = None
        first = len(self._items)
        while self._kinds[index] != "nl":
            kind = self._kinds[index]
            begins = head is not None or len(self._items) == first
            if kind in ("sep", "stop", "close"):
                index += 1
            elif kind == "dash":
                index = self._after_dash(index, bullet=begins, numbered=bool(base))
            elif (found := self._head(index)) is not None:
                if head is not None and (head.base, found.base) != ("list", "turn"):
                    return index, base, False
                head, base, index = found, found.base, found.behind
            elif begins and (behind := self._label(index)) > index:
                index = behind
            elif self._values[index] in _VERBS and self._kinds[index + 1] == "act" and (begins or self._kinds[index - 1] == "sep"):
                index += 1
            elif kind == "open":
                behind = self._after_bracket(index, wanted=head is not None)
                if behind < 0:
                    return index, base, False
                index = behind
            elif kind == "act" and (head is not None or not base):
                letter = self._actions[self._values[index]]
                self._items.append(Item(base, head.number if head else 0, letter))
                head = None
                index = self._after_action(index)
            else:
                return index, base, False
        return index, base, head is None

    def _head(self, index: int) -> _Head | None:
        """Return the number at `index`: `Turn 12:`, `Turn 12 ->`, `Step 3)`, `1.`, `(2)`; without such a mark it is none."""
        base = _COUNTERS.get(self._values[index])
        at = index + (base is not None)
        bracket = self._kinds[at] == "open"
        at += bracket
        # Behind a word a digit is a number even in a game whose letters are digits.
        if self._kinds[at] != "num" and not (base and self._kinds[at] == "act" and self._values[at].isdigit()):
            return None
        number = int(self._values[at])
        closed = self._kinds[at + 1] == "close"
        at += 1 + closed
        marked = self._kinds[at] in ("mark", "dash", "stop") or self._values[at] == "->"
        if marked or (closed and not (bracket and base)):
            return _Head(base or "list", number, at + marked)
        return None

    def _label(self, index: int) -> int:
        """Return the index behind a label such as `Final answer:`, or `index` where there is none."""
        at = index
        while at - index < _LABEL_WORDS and self._kinds[at] == "word" and self._values[at] in _LABELS:
            at += 1
        return at + 1 if at > index and self._kinds[at] == "mark" else index

    def _after_action(self, index: int) -> int:
        """Return where reading goes on behind the action at `index`: past its other name and past comments in brackets."""
        name = self._values[index]
        index += 1
        at = index + (self._kinds[index] in ("mark", "dash"))
        other = self._values[at]
        if self._kinds[at] == "act" and other != name and self._actions[other] == self._actions[name]:
            index = at + 1
        while self._kinds[index] == "open":
            head = self._head(index)
            if head is not None and self._kinds[head.behind] == "act":
                # `(1) U (2) L`: a number in brackets with an action behind it is no comment.
                break
            index = self._after_comment(index)
        return index

    def _after_bracket(self, index: int, *, wanted: bool) -> int:
        """Return where reading goes on at an opening bracket that does not stand directly behind an action, or -1 if it is illegal.

        Inside it, when it is decoration; behind it, when it is a comment. `wanted`: a head still waits for its action.
        """
        partner = self._partner.get(index)
        if partner is not None and self._more[partner] == self._more[index]:
            return index + 1
        if self._items and not wanted:
            return self._after_comment(index)
        if partner is None or self._head(index + 1) is not None or self._label(index + 1) > index + 1:
            return index + 1
        return -1

    def _after_comment(self, index: int) -> int:
        """Return the index behind the comment in brackets that opens at `index`; one left open goes on to the line's end."""
        partner = self._partner.get(index)
        return self._line_end[index] if partner is None else partner + 1

    def _after_dash(self, index: int, *, bullet: bool, numbered: bool) -> int:
        """Return where reading goes on: behind a bullet or a separating dash, or behind the comment that the dash begins."""
        line_end = self._line_end[index]
        if bullet or self._names_turn(index + 1) or (not numbered and self._more[line_end] == self._more[index]):
            return index + 1
        while index < line_end and not self._names_turn(index):
            index += 1
        return index

    def _names_turn(self, index: int) -> bool:
        return _COUNTERS.get(self._values[index]) == "turn" and self._head(index) is not None
