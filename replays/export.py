"""Replays for other programs: CSV with one row a tick, JSON Lines with one line an event.

The table's last columns are those of the reference package's logs (`told`), so what reads those reads it as well.

The one thing that surprises: NaN and infinity are no JSON, so JSON Lines has null for them; in CSV they stand as `nan`, `inf` and `-inf`.
Map keys that are numbers become strings, and bytes become hex.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from replays import events as ev
from replays.info import strict
from replays.payload import AnyRecorded, UnknownEvent
from replays.reader import Replay
from replays.told import TOLD, Told

__all__ = ["COLUMNS", "csv_lines", "jsonl_lines"]

COLUMNS = (
    "tick",
    "t_s",
    "at",
    "end_at",
    "action",
    "source",
    "reason",
    "partner_action",
    "reward",
    "score",
    "points",
    "done",
    "done_reason",
    "reset",
    "planner_tokens",
    "reactor_tokens",
    "controller_tokens",
    "planner_generation",
    "planner_finish",
    "reactor_finish",
    "segments",
    "faults",
    "bookmark",
    "partner_source",
    "partner_reason",
    *TOLD,
)
"""`action`, `source` and `reason` are the agent's, `partner_...` a second player's that is no script. `t_s` is seconds since the episode began, `at` and `end_at` virtual tokens; a cell is empty where the tick has no such thing."""

# A terminal that is shown a JSON line acts on these (C1 is control like C0, bidi turns lines round); a JSON reader sees the same text.
_CONTROL = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def csv_lines(replay: Replay) -> Iterator[str]:
    """Yield the header row, then one row a tick; every line ends with CR LF, as RFC 4180 has it."""
    yield _row(COLUMNS)
    notes: dict[int, list[str]] = {}
    for event in replay.annotations:
        if isinstance(event, ev.Bookmark):
            notes.setdefault(event.tick, []).append(event.note)
    told = Told(replay)
    for tick in replay.ticks:
        cells = _cells(tick, replay.events(tick), notes.get(tick, []), told)
        yield _row(tuple(cells.get(name, "") for name in COLUMNS))


def _cells(tick: int, events: tuple[AnyRecorded, ...], notes: list[str], told: Told) -> dict[str, Any]:
    cells: dict[str, Any] = {"tick": tick, "planner_tokens": 0, "reactor_tokens": 0, "controller_tokens": 0, "segments": 0, "faults": 0}
    notes = list(notes)
    for event in events:
        if isinstance(event, ev.Tick):
            cells.update(t_s=round(event.t_ns / 1e9, 6), at=event.at, end_at=event.end_at)
        elif isinstance(event, ev.Action):
            if event.player == 0:
                cells.update(action=event.letter, source=event.source, reason=event.reason)
            else:
                cells.update(partner_action=event.letter, partner_source=event.source, partner_reason=event.reason)
        elif isinstance(event, ev.Step):
            cells.update(reward=event.reward, score=event.score, points=event.points)
            cells.update(done=int(event.done), done_reason=event.done_reason, reset=int(event.reset))
        elif isinstance(event, ev.End):
            cells.update(done=1, done_reason=event.done_reason)
        elif isinstance(event, ev.Token):
            name = f"{event.stream}_tokens"
            cells[name] = cells.get(name, 0) + len(event.lens)
        elif isinstance(event, ev.Generation):
            if event.stream == "planner":
                cells["planner_generation"] = event.id
            if event.phase == "end":
                cells[f"{event.stream}_finish"] = event.finish
        elif isinstance(event, ev.Segment):
            cells["segments"] += event.phase == "open"
        elif isinstance(event, ev.Fault):
            cells["faults"] += 1
        elif isinstance(event, ev.Bookmark):
            notes.append(event.note)
    cells["bookmark"] = " | ".join(notes)
    return cells | told.cells(tick, events)


def _row(cells: tuple[Any, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow([_cell(value) for value in cells])
    return line.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        # The table may be shown by a terminal, which acts on control characters; tab and line end are text.
        value = _ACTED_ON.sub(lambda found: chr(0x2400 + ord(found[0])) if found[0] < " " else "\ufffd", value)
    # A note that a spreadsheet would run as a formula is shown to it as text.
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value
    return value


def jsonl_lines(replay: Replay) -> Iterator[str]:
    """Yield one JSON object a line: the header, every event in order, then the bookmarks appended later; each line ends with LF.

    Fields at their default are left out, as in the file.
    """
    for event in replay:
        yield _line(event)
    for event in replay.annotations:
        yield _line(event)


def _line(event: AnyRecorded) -> str:
    data = event.data if isinstance(event, UnknownEvent) else ev.to_map(event)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", msgspec.json.encode(strict(data)).decode()) + "\n"
