"""What was shown, asked and said, tick by tick, in the columns of the reference package's logs: its notebooks read our tables.

`render` is the board as thinkers read it, `model1` is the reactor and `model2` the planner there. The one thing that surprises: a
response grows. While a planner's thinking goes on over several ticks, each row has all of it so far; its tokens are counted once, in
the row of the tick in which it ended, or the episode did.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from replays import events as ev
from replays.prompt import MOST_BYTES, MOST_PARTS, render
from replays.reader import Replay

__all__ = ["TOLD", "Told"]

TOLD = ("render", "plan", "model1_prompt", "model1_response", "model1_token_num", "model2_prompt", "model2_response", "model2_token_num")

_NUMBER = {"reactor": "model1", "planner": "model2"}
ALL_CHARS = 1 << 30
"""About how much text a table holds: in a recording of very many ticks each cell has less of what grows."""
KEPT = 4
"""Planner generations and boards that are kept: a prompt points at this tick, the thinking that runs and the last finished one."""


class _Said:
    """The text of one generation."""

    def __init__(self) -> None:
        self.channels: dict[str, list[str]] = {}
        self.data = bytearray()

    def add(self, event: ev.Token) -> None:
        if len(self.data) < MOST_BYTES:
            self.channels.setdefault(event.channel, []).append(event.text)
            self.data += event.text.encode("utf-8", "replace")

    def text(self) -> str:
        """Return it as the reference writes it: reasoning in think tags, then what it answered."""
        reasoning, content = ("".join(self.channels.get(channel, [])) for channel in ("reasoning", "content"))
        return f"<think>{reasoning}\n</think>\n{content}" if reasoning else content


class Told:
    """Goes over a recording's ticks, in order, once."""

    def __init__(self, replay: Replay) -> None:
        header = replay.header
        self._most = max(200, min(MOST_BYTES, ALL_CHARS // (len(TOLD) * max(1, len(replay.ticks)))))
        self._texts = header.texts
        self._plans = "planner" in header.backends
        self._reacts = "reactor" in header.backends
        self._said: dict[int, _Said] = {}
        self._plan: tuple[Sequence[int], Sequence[str]] = ((), ())
        self._newest = -1
        self._boards: dict[int, str] = {}
        self._open: dict[str, int] = {}
        # Stream -> tokens released of the generation that runs.

    def cells(self, tick: int, events: Iterable[Any]) -> dict[str, Any]:
        """Return the cells of a tick's row, by column; what the agent has no such thing for is left out."""
        cells: dict[str, Any] = {"model1_token_num": 0} if self._reacts else {}
        if self._plans:
            cells.update(model2_token_num=0, model2_prompt="")
        prompts: dict[str, Sequence[str | ev.Part]] = {}
        reactor = _Said()
        for event in events:
            if isinstance(event, ev.Tick):
                cells["render"] = event.text
                self._boards[tick] = event.text
                if len(self._boards) > KEPT:
                    del self._boards[next(iter(self._boards))]
            elif isinstance(event, ev.Token):
                if event.stream in _NUMBER:
                    (self._of(event.generation) if event.stream == "planner" else reactor).add(event)
                    self._open[event.stream] = self._open.get(event.stream, 0) + len(event.lens)
            elif isinstance(event, ev.Generation):
                name = _NUMBER.get(event.stream)
                if name is None:
                    continue
                if event.phase == "start":
                    prompts[f"{name}_prompt"] = event.prompt
                    if event.stream == "planner":
                        self._of(event.id)
                else:
                    used = event.usage_tokens if event.usage_tokens is not None else event.clock_tokens
                    self._open.pop(event.stream, None)
                    cells[f"{name}_token_num"] = cells.get(f"{name}_token_num", 0) + used
            elif isinstance(event, ev.End):
                # What still ran then has no end of its own.
                for stream, count in self._open.items():
                    cells[f"{_NUMBER[stream]}_token_num"] = cells.get(f"{_NUMBER[stream]}_token_num", 0) + count
            elif isinstance(event, ev.Answer) and event.mode == "plan" and event.letters:
                self._plan = (event.turns or range(event.generation, event.generation + len(event.letters)), event.letters)
        for name, parts in prompts.items():
            cells[name] = self._render(parts)
        if self._reacts:
            cells["model1_response"] = reactor.text()
        if self._plans:
            cells["model2_response"] = self._said[self._newest].text() if self._newest in self._said else ""
        if self._reacts and self._plans:
            asked = prompts.get("model1_prompt", ())
            shown = [i for i, part in enumerate(asked) if isinstance(part, ev.Part) and part.guidance]
            # With the words between them, which say what is what.
            cells["plan"] = self._render(asked[shown[0] : shown[-1] + 1]) if shown else ""
        elif self._plans:
            cells["plan"] = "".join(letter for turn, letter in zip(*self._plan) if turn >= tick)
        elif self._reacts:
            cells["plan"] = "N/A"
        return {name: self._end_of(value) if isinstance(value, str) else value for name, value in cells.items()}

    def _end_of(self, text: str) -> str:
        """Return a text, or its end where it is too long for a cell."""
        left_out = len(text) - self._most
        return text if left_out <= 0 else f"[{left_out:,} characters left out] {text[left_out:]}"

    def _of(self, generation: int) -> _Said:
        if generation not in self._said:
            self._said[generation] = _Said()
            self._newest = generation
            if len(self._said) > KEPT:
                del self._said[next(iter(self._said))]
        return self._said[generation]

    def _render(self, parts: Sequence[str | ev.Part]) -> str:
        out: list[str] = []
        left = MOST_BYTES
        for part in parts[:MOST_PARTS]:
            try:
                text = render((part,), texts=self._texts, observation=self._boards.__getitem__, trace=lambda id: self._said[id].data)
            except (KeyError, AssertionError, ValueError, TypeError):
                text = "[a part of the prompt is not in this file]"
            out.append(text[:left])
            left -= len(text)
            if left <= 0:
                break
        return "".join(out)
