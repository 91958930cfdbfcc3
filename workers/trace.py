"""A thinker's copy of the planner's stream: the text of a generation, and what of it the reactor may be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from replays import events as ev
from workers.prompts import CONCLUSION_LABEL, TRACE_LABEL
from workers.stream import FINISHED
from workers.wire import AnyControl, Piece

__all__ = ["CONCLUSION_TOKENS", "PlannerCopy", "Trace", "guidance_parts", "memory_parts"]

CONCLUSION_TOKENS = 1024
_CONCLUDES = re.compile(rb"^(?:(?:Best line|Turn)\b|.*\\boxed)", re.MULTILINE)
_BORDERS = {"content": "\n[answer]\n", "reasoning": "\n[thinking]\n"}
_STATES = {None: "unfinished", "stop": "just ended", "length": "just ended"}


class Trace:
    """The released text of one planner generation, in runs of one channel."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self._runs: list[tuple[str, bytearray, list[int]]] = []
        self.ended_at_tick: int | None = None
        self.finish: str | None = None

    def add(self, channel: str, text: str, lens: Sequence[int]) -> None:
        if not self._runs or self._runs[-1][0] != channel:
            self._runs.append((channel, bytearray(), []))
        _, raw, lengths = self._runs[-1]
        raw += text.encode()
        lengths.extend(lens)

    @property
    def raw(self) -> bytes:
        """All text of both channels in order, UTF-8."""
        return b"".join(bytes(raw) for _, raw, _ in self._runs)

    @property
    def tokens(self) -> int:
        return sum(len(lengths) for _, _, lengths in self._runs)

    @property
    def finished(self) -> bool:
        """Ended by itself or at its length: only such a generation gives a conclusion or a plan."""
        return self.finish in FINISHED

    def content(self) -> str:
        """The visible answer."""
        return b"".join(bytes(raw) for channel, raw, _ in self._runs if channel == "content").decode()

    def parts(self, limit: int | None = None) -> list[str | ev.Part]:
        """The whole text as parts, the borders between thinking and answer marked; with `limit` only the last so many tokens."""
        out: list[str | ev.Part] = []
        skip = 0 if limit is None else max(0, self.tokens - limit)
        offset = 0
        before = "reasoning"
        for channel, raw, lengths in self._runs:
            dropped = sum(lengths[:skip])
            skip = max(0, skip - len(lengths))
            if dropped < len(raw):
                if channel != before:
                    out.append(_BORDERS[channel])
                before = channel
                out.append(ev.Part(trace=self.generation, start=offset + dropped, upto=offset + len(raw), guidance=True))
            offset += len(raw)
        return out

    def conclusion(self, limit: int = CONCLUSION_TOKENS) -> list[str | ev.Part]:
        """The content channel if not empty, else the text from the last line that concludes; at most `limit` tokens, cut at the front.

        Source: docs/design.md, Guidance.
        """
        spans: list[tuple[int, int, list[int]]] = []
        offset = 0
        for channel, raw, lengths in self._runs:
            if channel == "content" and raw:
                spans.append((offset, offset + len(raw), lengths))
            offset += len(raw)
        if not spans:
            whole = self.raw
            found = [match.start() for match in _CONCLUDES.finditer(whole)]
            if not found:
                return []
            lengths = [length for _, _, run in self._runs for length in run]
            start, tail = len(whole), []
            # Whole tokens from the end back to the line that concludes.
            while lengths and start > found[-1]:
                tail.append(lengths.pop())
                start -= tail[-1]
            spans = [(max(start, found[-1]), len(whole), tail[::-1])]
        left = limit
        out: list[str | ev.Part] = []
        for start, upto, lengths in reversed(spans):
            kept = lengths[max(0, len(lengths) - left) :] if left else []
            if kept:
                out.append(ev.Part(trace=self.generation, start=max(start, upto - sum(kept)), upto=upto, guidance=True))
            left -= len(kept)
        return out[::-1]


class PlannerCopy:
    """The reactor's own copy of the planner's stream, frame by frame: what ran, and the last generation that finished."""

    def __init__(self) -> None:
        self._current: Trace | None = None
        self._finished: Trace | None = None
        self._died_at: int | None = None
        self._void_before = 0

    def take(self, item: ev.AnyEvent | AnyControl | Piece) -> None:
        """Take one item of the planner's ring."""
        if isinstance(item, Piece):
            if self._current is not None and item.generation == self._current.generation:
                self._current.add(item.channel, item.text, item.lens)
        elif isinstance(item, ev.Generation) and item.stream == "planner":
            if item.phase == "start":
                self._retire()
                self._current = Trace(item.id) if item.id >= self._void_before else None
            elif self._current is not None and item.id == self._current.generation:
                self._current.finish = item.finish
                self._current.ended_at_tick = item.tick

    def died(self, tick: int) -> None:
        """The planner is gone: what it had begun by `tick` is over, also what of it has not been read yet."""
        self._died_at = tick

    def void(self, before: int) -> None:
        """The game was reset: nothing begun before tick `before` counts."""
        self._void_before = before
        if self._current is not None and self._current.generation < before:
            self._current = None
        if self._finished is not None and self._finished.generation < before:
            self._finished = None

    def torn(self) -> None:
        """Text is missing from the generation that runs, so nothing can point into it any more."""
        self._current = None

    def at_tick(self, tick: int) -> tuple[Trace | None, Trace | None]:
        """Return (last finished before this tick, what ran in this tick)."""
        current = self._current
        if current is not None and current.finish is None and self._died_at is not None and current.generation <= self._died_at:
            current.finish, current.ended_at_tick = "fault", self._died_at
        if current is not None and current.ended_at_tick is not None and current.ended_at_tick < tick:
            self._retire()
        return self._finished, self._current

    def _retire(self) -> None:
        if self._current is not None and self._current.finished:
            self._finished = self._current
        self._current = None


def guidance_parts(finished: Trace | None, running: Trace | None, *, kind: str, tick: int, limit: int | None) -> tuple[str | ev.Part, ...]:
    """What the reactor is shown at `tick`: the last conclusion, then the text of the generation that ran in this tick, each labelled."""
    out: list[str | ev.Part] = []
    if finished is not None and kind in ("both", "conclusion"):
        conclusion = finished.conclusion()
        if conclusion:
            out += [CONCLUSION_LABEL.format(turn=finished.generation) + "\n", *conclusion, "\n\n"]
    if running is not None and kind in ("both", "trace"):
        text = running.parts(limit)
        if text:
            state = _STATES.get(running.finish, "broken off")
            out += [TRACE_LABEL.format(turn=running.generation, state=state) + "\n", *text, "\n"]
    return tuple(out)


def memory_parts(finished: Trace | None, *, whole: bool = False) -> tuple[str | ev.Part, ...]:
    """What the planner is reminded of: its own last conclusion, as a reference. `whole` is for one that makes no sense without its beginning."""
    conclusion = finished.conclusion(finished.tokens if whole else CONCLUSION_TOKENS) if finished is not None else []
    if not conclusion or finished is None:
        return ()
    return (f"Your own last conclusion, made for turn {finished.generation}, as a reference:\n", *conclusion)
