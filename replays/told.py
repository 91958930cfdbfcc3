"""What was shown, asked and said, tick by tick, in the columns of the reference package's logs: its notebooks read our tables.

`render` is the board as thinkers read it, `model1` is the reactor and `model2` the planner there. The one thing that surprises: a
response grows. While a planner's thinking goes on over several ticks, each row has all of it so far; its tokens are counted once, in
the row of the tick in which it ended, or the episode did.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from replays import events as ev
from replays.prompt import render
from replays.reader import Replay

__all__ = ["TOLD", "Told"]

TOLD = ("render", "plan", "model1_prompt", "model1_response", "model1_token_num", "model2_prompt", "model2_response", "model2_token_num")

MOST_BYTES = 1 << 20
"""Of one generation's text, and characters of one cell: a file may claim anything."""
_NUMBER = {"reactor": "model1", "planner": "model2"}
KEPT = 4
"""Planner generations whose text is kept: a prompt points at the one that runs and the last finished one."""


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
        self._replay = replay
        header = replay.header
        self._texts = header.texts
        self._plans = "planner" in header.backends
        self._reacts = "reactor" in header.backends
        self._said: dict[int, _Said] = {}
        self._plan: tuple[Sequence[int], Sequence[str]] = ((), ())
        self._newest = -1
        self._board_now = (-1, "")
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
                self._board_now = (tick, event.text)
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
        return cells

    def _of(self, generation: int) -> _Said:
        if generation not in self._said:
            self._said[generation] = _Said()
            self._newest = generation
            if len(self._said) > KEPT:
                del self._said[next(iter(self._said))]
        return self._said[generation]

    def _render(self, parts: Sequence[str | ev.Part]) -> str:
        out: list[str] = []
        for part in parts:
            try:
                out.append(render((part,), texts=self._texts, observation=self._board, trace=lambda id: bytes(self._said[id].data)))
            except (KeyError, AssertionError, ValueError, TypeError):
                out.append("[a part of the prompt is not in this file]")
        return "".join(out)[:MOST_BYTES]

    def _board(self, tick: int) -> str:
        if tick == self._board_now[0]:
            return self._board_now[1]
        found = next((event.text for event in self._replay.events(tick) if isinstance(event, ev.Tick)), None)
        if found is None:
            raise KeyError(tick)
        return found
