"""Cards of the scrubber: its keys, the kinds of event, a prompt rebuilt from the log, what guidance did. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style

from replays.clean import clean, one_line
from replays.notes import why
from rtdesk.tui.cards import ABREAST, framed
from rtdesk.tui.layout import Layout, Rect
from rtdesk.tui.looks import Look
from rtdesk.tui.prompts import Piece
from rtdesk.tui.replay_keys import EVENTS, REPLAY_COMMANDS
from rtdesk.tui.runs import Row, Run, finish, rule
from rtdesk.tui.sides import COLUMNS
from rtdesk.tui.views import View
from rtdesk.tui.wrap import Line, fit, wrap

if TYPE_CHECKING:
    from workers.attribution import Attribution

__all__ = ["PromptText", "events_card", "guidance_card", "keys_card", "panel_rect", "prompt_card", "prompt_text"]

NARROW = 36
"""Columns below which a panel is no place to read in."""
WIDE = 150
"""Columns of a screen from which a panel leaves half of the streams to be seen."""


def panel_rect(layout: Layout, *, beside: int | None = None, count: int = 1) -> Rect:
    """Return where a side panel lies: the right half of the streams where there is room, else all of them; with runs side by side over the columns `beside` a run."""
    if beside is not None:
        return _over_columns(layout, beside, count)
    planner, reactor = layout.parts["planner"], layout.parts["reactor"]
    area = planner if planner.height else reactor
    height = layout.parts["left"].height
    if layout.width >= WIDE:
        width = max(64, round(layout.width * 0.4))
        return Rect(layout.width - width, 1, width, height)
    return Rect(area.x, 1, layout.width - area.x, height)


def _over_columns(layout: Layout, beside: int, count: int) -> Rect:
    columns = [layout.parts[name] for name in COLUMNS[:count]]
    # Beside the middle one of three there is one column, which may be too narrow; then it is two.
    free = columns[beside + 1 :] if beside < count - 1 else columns[:beside]
    if sum(one.width for one in free) < NARROW:
        free = columns[1:] if beside else columns[:1]
    free = free or columns[:1]
    return Rect(free[0].x, free[0].y, sum(one.width for one in free), free[0].height)


def keys_card(view: View, look: Look, width: int) -> list[Row]:
    """Return the keys in two columns, and the signs of the timeline."""
    half = min(ABREAST, (width - 5) // 2)
    shown = [(command.label, command.help) for command in REPLAY_COMMANDS if command.help]
    middle = -(-len(shown) // 2)
    body: list[list[Run]] = []
    for i in range(middle):
        line: list[Run] = []
        for label, words in shown[i::middle]:
            line += [(fit(label, 10), look.bright), (fit(words, half - 11, look.signs.ellipsis) + " ", look.text)]
        body.append(line)
    body.append([])
    signs: list[Run] = []
    for _, kind, _ in EVENTS:
        if kind:
            signs += [(f"{look.signs.marks[kind]} ", _voice(kind, look)), (f"{kind} ", look.dim)]
    body.append(signs)
    body.append([(f"{voice}   ", look.strong[voice]) for voice in ("planner", "reactor", "person")] + [("default action", look.strong["default"]), ("   click the timeline", look.dim)])
    return framed("keys", body, look, width)


def _voice(kind: str, look: Look) -> Style:
    voice = {"default": "default", "late": "default", "fault": "default", "died": "default", "reset": "default", "bookmark": "person", "stale": "planner", "plan": "planner"}.get(kind, "")
    return look.strong[voice] if voice else look.bright


def events_card(look: Look, width: int) -> list[Row]:
    """Return the kinds of event one can go to."""
    body: list[list[Run]] = [[("go to the next tick with ...", look.text), ("   capital letter: to the one before", look.dim)], []]
    for key, kind, words in EVENTS:
        body.append([(f"{key}  ", look.bright), (f"{look.signs.marks.get(kind, ' ')} ", _voice(kind, look)), (words, look.text)])
    return framed("event", body, look, width)


class PromptText(NamedTuple):
    """A prompt's clean text, wrapped, and where each piece of it begins."""

    text: str
    lines: tuple[Line, ...]
    starts: tuple[int, ...]
    pieces: tuple[Piece, ...]


def prompt_text(pieces: Sequence[Piece], columns: int) -> PromptText:
    """Return the pieces as one text fit for a terminal, in rows of at most `columns`."""
    out: list[str] = []
    starts: list[int] = []
    size = 0
    for piece in pieces:
        text = clean(piece.text)
        starts.append(size)
        out.append(text)
        size += len(text)
    whole = "".join(out)
    return PromptText(whole, tuple(_lines(whole, columns)), tuple(starts), tuple(pieces))


def prompt_card(prompt: PromptText, voice: str, turn: int, look: Look, rect: Rect, top: int, *, other: str = "Tab") -> tuple[list[Row], int]:
    """Return the panel from row `top` of the prompt on, and the largest `top` there is; `other` is the key of the other stream."""
    width, room = rect.width, rect.height - 3
    lines = prompt.lines
    most = max(0, len(lines) - room)
    top = max(0, min(top, most))
    # A blank before the bar: what the panel leaves of the streams ends there.
    bar: Run = (" " + look.signs.bar, look.voice[voice])
    foot = f"{min(len(lines), top + 1)}-{min(len(lines), top + room)} of {len(lines)}"
    head = rule(look, voice, f"prompt of the {voice}", (f"for turn {turn}",) if turn >= 0 else (), foot, width - 1)
    rows = [((" ", look.base), *head), _legend(look, width, bar)]
    for line in lines[top : top + room]:
        rows.append(finish((bar, (" ", look.base), *_styled(line, prompt, look)), width, look))
    if not prompt.text:
        rows.append(finish((bar, (" none: this stream has not begun, or its prompt was not recorded", look.dim)), width, look))
    rows += [finish((bar,), width, look)] * (rect.height - 1 - len(rows))
    keys = (("▲ ▼" if not look.signs.ascii else "up down", "scroll"), (other, "other stream"), ("y", "copy"), ("Esc", "close"))
    rows.append(finish((bar, *(run for key, word in keys for run in ((f" {key}", look.key), (f" {word} ", look.dim)))), width, look))
    return rows[: rect.height], most


def _legend(look: Look, width: int, bar: Run) -> Row:
    return finish((bar, (" board", look.bright), ("  ", look.base), ("guidance", look.voice["planner"]), ("  fixed text", look.dim)), width, look)


def _lines(text: str, columns: int) -> list[Line]:
    lines: list[Line] = []
    start = 0
    while start <= len(text) and text:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        lines += wrap(text, start, end, columns)
        start = end + 1
    return lines


def _styled(line: Line, prompt: PromptText, look: Look) -> list[Run]:
    """Return a row, each piece of the prompt in its own style."""
    runs: list[Run] = []
    at, end = line.offset, line.offset + len(line.text)
    number = max(0, bisect_right(prompt.starts, at) - 1)
    while at < end:
        behind = prompt.starts[number + 1] if number + 1 < len(prompt.starts) else end
        piece = prompt.pieces[number]
        if behind > at:
            style = look.voice["planner"] if piece.guidance else look.text if piece.source.startswith("observation") else look.dim
            runs.append((prompt.text[at : min(behind, end)], style))
            at = min(behind, end)
        number += 1
    return runs


def guidance_card(found: Attribution | str, tick: int, look: Look, width: int) -> list[Row]:
    """Return what the reactor says to each kind of guidance, side by side; `found` is the result, or a line to show instead."""
    title = f"guidance at tick {tick}"
    if isinstance(found, str):
        words = one_line(found, 600)
        return framed(title, [[(line.text, look.text)] for line in wrap(words, 0, len(words), width - 6)], look, width, voice="reactor")
    # (word, columns) of what fits.
    columns = [("guidance", 17), ("action", 8), ("from", 12 if width < 90 else 30), ("wrote", 10)] + ([("was shown", 14)] if width >= 72 else [])
    body: list[list[Run]] = [[("".join(fit(word, size) if i < 3 else f"{word:>{size}}" for i, (word, size) in enumerate(columns)), look.dim)]]
    body.append(_asked((f"recorded, {found.guidance}", found.letter, found.source, "", ""), found.source, columns, look, True))
    for one in found.asked:
        who = one.source if one.source != "default" else f"default, {why(one.reason)}"
        cells = (one.guidance, one.letter, who, f"{one.tokens:,} tok", f"{one.shown_bytes:,} bytes" if one.shown_bytes else "nothing")
        body.append(_asked(cells, one.source, columns, look, one.letter == found.letter))
    body.append([])
    without = next((one for one in found.asked if one.guidance == "none"), None)
    if without is not None and found.changed:
        body.append([("Guidance changed this action", look.bright), (f": without it the reactor plays {one_line(without.letter, 4)}.", look.text)])
    elif without is not None:
        body.append([("Without guidance it is the same action.", look.text)])
    if not found.exact:
        body.append([("Really asked again: this reactor may say something else each time.", look.dim)])
    return framed(title, body, look, width, voice="reactor")


def _asked(cells: Sequence[str], source: str, columns: Sequence[tuple[str, int]], look: Look, same: bool) -> list[Run]:
    voice = "default" if source == "default" else "reactor"
    letter = one_line(cells[1], 4)
    chip: Run = (f" {letter} ", look.chip[voice] if same else look.chip[""])
    runs: list[Run] = [(fit(one_line(cells[0], 40), columns[0][1]), look.text), chip, (" " * (columns[1][1] - 2 - len(letter)), look.base)]
    runs.append((fit(one_line(cells[2], 60), columns[2][1]), look.strong[voice] if same else look.text))
    return [*runs, ("".join(f"{word:>{size}}" for word, (_, size) in zip(cells[3:], columns[3:])), look.dim)]
