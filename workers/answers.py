r"""How an answer text is read: letters for a tick (mode act), or letters for a row of turns (mode plan).

The one thing that surprises: nothing is guessed. An answer that is not clearly one of the game's actions is no answer, the game's
default action applies, and the event says why. Prose is never searched for letters, so RIGHT is never R and I, and the pronoun I is
never INTERACT. The rules:

Where the answer stands
  1. Text in think blocks never counts: `strip_think`.
  2. The last `\boxed{...}` decides, even when it holds nothing legal. Braces are balanced; a box inside a box is part of the outer one.
     `oxed{` counts too, for JSON reads the `\b` of `\boxed` as a backspace; so do `\fbox{`, blanks and backslashes before the brace.
  3. Without a box the last code fence is read, without its info string. Without either there is no answer.
What is taken away before reading
  4. Zero-width and control characters; full-width and styled letters and punctuation become plain ones.
  5. Text wrappers, font and spacing macros, math delimiters, braces, quotes, markdown marks, list bullets; in front of an action a
     label with a colon (`Answer: U`) and one verb (`go up`). A macro that is none of these is illegal.
  6. Behind an action: a comment in brackets, and a comment after a dash up to the end of its line. Brackets round actions alone are
     decoration, and dashes among actions alone are separators. An action's other name behind it (`U: UP`) is the same action.
What an answer is
  7. An action is a whole token, in any case, equal to a letter or to its word (`U`, `up`). `UUR` is one token and no action.
  8. A sequence is actions apart by blanks, commas, semicolons, arrows, dashes or line ends; anything else in it makes it illegal.
     It counts from `turn`.
  9. `Turn n: X` entries are ordered by n. The same turn twice with two actions, a turn missing between, or an illegal action make the
     whole plan illegal. Lines beside them that name no turn are prose and ignored; a bare action beside them is illegal.
 10. A numbered list (`1. U`, `Step 1: U`) that begins at 0 or 1 counts from `turn`; one that begins later names turns.
 11. Mode act wants one action. Said twice it is still one; of several `Turn n` entries the one for `turn` is taken; else it is illegal.
Cut answers
 12. A box or fence that was never closed gives its whole lines: what stands behind the last line end may be half a word. Without a whole
     line it gives its text if that is one whole action (`\boxed{U`). Prose that follows its actions is not part of it.

Every step is linear in the text, whatever it holds: one pass for tags, one for braces, one for tokens, one over the tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from games.base import GameSpec
from workers._answer_items import Found, Item, action_names, read_items

__all__ = ["Reading", "answer_report", "plan_action", "read_answer", "strip_think"]


class Reading(msgspec.Struct, frozen=True):
    """What a text was read as. Exactly one of `letters` and `why` is set."""

    letters: list[str] | None = None
    """One letter in mode act; one for each of `turns` in mode plan; None for no answer."""
    turns: list[int] | None = None
    """Mode plan: the turn of each letter, consecutive and rising."""
    why: str | None = None
    """Why there is no answer. none: no text at all; truncated: cut, and nothing usable before the cut; invalid: anything else."""


def read_answer(
    text: str,
    *,
    letters: Sequence[tuple[str, str]],
    mode: str,
    turn: int = 0,
    cut: bool = False,
    alias: Mapping[str, str] | None = None,
) -> Reading:
    r"""Return what `text`, the visible answer of a thinker, says under the rules above. No text makes it raise.

    `letters` are (letter, word) pairs as in `GameSpec.letters`; `alias` adds words, word -> letter. `turn` is the turn that a bare
    sequence counts from. `cut` says that a budget ended the text; it only changes `why`, for an unclosed box is cut whoever cut it.
    Raises ValueError for a mode that is neither act nor plan.

    >>> moves = (("U", "up"), ("D", "down"), ("L", "left"), ("R", "right"))
    >>> read_answer(r"The wall is near. \boxed{\text{Right}}", letters=moves, mode="act")
    Reading(letters=['R'], turns=None, why=None)
    >>> read_answer(r"\boxed{Turn 9: L, Turn 8: U}", letters=moves, mode="plan")
    Reading(letters=['U', 'L'], turns=[8, 9], why=None)
    """
    if mode not in ("act", "plan"):
        raise ValueError(f"mode {mode!r} is unknown; give act (one letter) or plan (a letter for each turn)")
    text = strip_think(_fold(text))
    found = _last_box(text) or _last_fence(text)
    items = read_items(found, action_names(letters, alias or {})) if found else None
    plan = _in_order(items, turn) if items else None
    if items and plan and mode == "plan":
        return Reading(letters=plan[0], turns=plan[1])
    letter = _one_letter(plan, turn, named=items[0].base == "turn") if items and plan else None
    if letter is not None:
        return Reading(letters=[letter])
    if not text.strip():
        return Reading(why="none")
    return Reading(why="truncated" if cut else "invalid")


def plan_action(letters: Sequence[str] | None, turns: Sequence[int] | None, tick: int) -> str | None:
    """Return the plan's letter for turn `tick`, or None without a plan or an entry: a late plan keeps its turns, it is not shifted."""
    if letters is None or turns is None:
        return None
    return dict(zip(turns, letters)).get(tick)


def answer_report(game_spec: GameSpec, text: str, mode: str, turn: int = 0) -> dict[str, Any]:
    """Return what `rtdesk answer` prints: {actions, turns, why}, each null where it does not apply. `text` may hold think tags."""
    reading = read_answer(text, letters=game_spec.letters, mode=mode, turn=turn)
    return {"actions": reading.letters, "turns": reading.turns, "why": reading.why}


_THINK_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


def strip_think(text: str) -> str:
    """Return `text` without its inline think blocks (`<think>`, `<thinking>`, any case), a blank in place of each.

    A block left open takes the rest. A closing tag without an opening one makes everything before it reasoning, for a chat template
    may have written the opening tag into the prompt; only a stray one behind a whole block, with nothing after it, is dropped alone.
    """
    end = len(text.rstrip())
    kept: list[str] = []
    start, inside, opened = 0, False, False
    for tag in _THINK_TAG.finditer(text):
        closing = bool(tag[1])
        if not inside:
            kept.append(text[start : tag.start()])
            if closing and (not opened or tag.end() < end):
                kept.clear()
        inside = not closing
        opened = opened or inside
        start = tag.end()
    if not inside:
        kept.append(text[start:])
    return " ".join(kept)


# Rule 4. JSON reads \b, \f and \t as control characters; these are the macros whose beginning is lost that way.
_EATEN = re.compile(r"[\x08\t\x0c](?=oxed|oldsymbol|box|ext)")
_EATEN_AS = {"\x08": "\\b", "\t": "\\t", "\x0c": "\\f"}
_PLAIN = (
    dict.fromkeys("\x0b\x85\u2028\u2029", "\n")
    | dict.fromkeys("\t\u2800", " ")
    | dict.fromkeys("\u034f\u115f\u1160\u3164\uffa0", "")
    | dict.fromkeys("、•·▪◦‣●", ",")
    | dict.fromkeys("。｡", ".")
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("→⇒➔➙➜➝➞➡⟶⟹", "->")
    | dict.fromkeys("“”„‘’‚«»", '"')
    | dict(zip("【】〔〕〖〗「」『』〈〉《》", "[]" * 7))
)


def _fold(text: str) -> str:
    """Return `text` in plain characters, lines ended by LF."""
    text = _EATEN.sub(lambda eaten: _EATEN_AS[eaten[0]], text.replace("\r\n", "\n").replace("\r", "\n"))
    odd = {char for char in set(text) if not (" " <= char <= "~" or char == "\n")}
    return text.translate({ord(char): _plain(char) for char in odd})


def _plain(char: str) -> str:
    """Return the plain form of one odd character. One at a time, because normalising runs of combining marks is not linear."""
    if char in _PLAIN:
        return _PLAIN[char]
    if unicodedata.category(char) in ("Cc", "Cf") or "\ufe00" <= char <= "\ufe0f":
        return ""
    return unicodedata.normalize("NFKC", char)


_BRACE = re.compile(r"(?:oxed|\\fbox)\s*\\*\{|[{}]")


def _last_box(text: str) -> Found | None:
    """Return the inside of the last outermost box. An unclosed box yields to a closed one that begins after it."""
    last: tuple[int, int] | None = None
    pending: list[tuple[int, bool]] = []
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            pending.append((brace.end(), brace[0] != "{"))
        elif pending:
            start, is_box = pending.pop()
            if is_box:
                # The box that closes last either follows the ones before or holds them: in both cases it is the one that counts.
                last = start, brace.start()
    unclosed = max((start for start, is_box in pending if is_box), default=-1)
    if last is not None and last[0] > unclosed:
        return Found(text[last[0] : last[1]], True)
    return Found(text[unclosed:], False) if unclosed >= 0 else None


_FENCE = re.compile(r"`{3,}|~{3,}")


def _last_fence(text: str) -> Found | None:
    """Return the inside of the last code fence, without an info string such as `text`."""
    start, end, opened = -1, len(text), False
    for mark in _FENCE.finditer(text):
        opened = not opened
        if opened:
            start, end = mark.end(), len(text)
        else:
            end = mark.start()
    if start < 0:
        return None
    body = text[start:end]
    _, _, below = body.partition("\n")
    return Found(below if below.strip() else body, not opened)


def _in_order(items: list[Item], turn: int) -> tuple[list[str], list[int]] | None:
    """Return (letters, turns), or None if the numbers conflict or leave one out."""
    base = items[0].base
    if not base:
        return [item.letter for item in items], list(range(turn, turn + len(items)))
    plan: dict[int, str] = {}
    for item in items:
        if plan.setdefault(item.number, item.letter) != item.letter:
            return None
    numbers = sorted(plan)
    if numbers[-1] - numbers[0] != len(numbers) - 1:
        return None
    shift = turn - numbers[0] if base == "list" and numbers[0] <= 1 else 0
    return [plan[number] for number in numbers], [number + shift for number in numbers]


def _one_letter(plan: tuple[list[str], list[int]], turn: int, *, named: bool) -> str | None:
    """Return the one action of a plan read in mode act; `named` says that it names turns."""
    letters, turns = plan
    if len(set(letters)) == 1:
        return letters[0]
    return plan_action(letters, turns, turn) if named else None
