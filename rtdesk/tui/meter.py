"""The budget meter, the heart of the screen: what is left of this tick. Pure.

It drains through the tick: the spent part is a thin line, the planner's rest is solid, the reactor's window a textured stretch
at the end. The instants at which the reactor woke and answered stand in the row below. In wall time it counts seconds.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.style import Style

from replays.notes import why
from replays.view_state import ViewState
from rtdesk.tui.looks import Look
from rtdesk.tui.runs import Row, Run, finish, rule
from rtdesk.tui.views import View

__all__ = ["Window", "alarm", "meter_rows", "window"]

ALARM = 0.25
"""Share of a tick for which the default action of the tick before is still shouted."""


class Window(NamedTuple):
    """A tick's budget in one unit, tokens or seconds, counted from the tick's first instant."""

    total: float
    wakes: float | None
    """Where the reactor's window begins."""
    now: float
    answered: float | None
    unit: str

    @property
    def left(self) -> float:
        return max(0.0, self.total - self.now)

    @property
    def share(self) -> float:
        return min(1.0, self.now / self.total) if self.total else 0.0


def window(state: ViewState, view: View) -> Window | None:
    """Return the running tick's window, or None before the first tick or where nothing is budgeted.

    Where a person plays, paced tokens are told in seconds: that is what hands have.
    """
    span = _window(state, view)
    rate = view.status.rate
    if span is None or span.unit != "tokens" or not (view.status.played and rate and span.total):
        return span
    each = 1 / (rate * span.total)
    wakes, answered = (None if value is None else value * each for value in (span.wakes, span.answered))
    return Window(span.total * each, wakes, span.now * each, answered, "s")


def _window(state: ViewState, view: View) -> Window | None:
    status, answer = view.status, state.answer
    if state.start_at is not None and state.end_at is not None:
        start = state.start_at
        now = max(state.now_at, _paced_at(state, view))
        wakes = state.guidance_at - start if state.guidance_at is not None else None
        answered = answer.at - start if answer is not None and answer.at is not None else None
        return _inside(state.end_at - start, wakes, now - start, answered, "tokens")
    if state.deadline_ns is not None:
        budget = state.header.tick_budget_s if state.header is not None else None
        start_ns = state.deadline_ns - int(budget * 1e9) if budget else state.start_ns
        now_ns = status.t_ns if status.t_ns is not None else state.now_ns
        total_s = (state.deadline_ns - start_ns) / 1e9
        wakes_s = (state.reactor_ns - start_ns) / 1e9 if state.reactor_ns is not None else None
        answered_s = (answer.t_ns - start_ns) / 1e9 if answer is not None else None
        return _inside(total_s, wakes_s, (now_ns - start_ns) / 1e9, answered_s, "s")
    return None


def _inside(total: float, wakes: float | None, now: float, answered: float | None, unit: str) -> Window:
    """Return the window with every instant inside it: a file may claim any."""
    total = max(type(total)(0), total)

    def clamp(instant: float) -> float:
        return min(max(type(total)(0), instant), total)

    return Window(total, None if wakes is None else clamp(wakes), clamp(now), None if answered is None else clamp(answered), unit)


def _paced_at(state: ViewState, view: View) -> float:
    """Return the instant the pace says it is, where that is to be believed: a thinker that speaks says itself how far it is.

    A slow server holds virtual time up, and its pace does not know. But between a thinker's end and the next one's beginning nobody speaks,
    and the pace is all there is.
    """
    at = view.status.at
    if at is None:
        return 0
    live = view.status.mode == "live" and not view.status.played
    return 0 if live and (state.planner.running or state.reactor.running) else at


def alarm(state: ViewState, share: float) -> bool:
    """Whether the tick before ended without an answer and that is still news. A person may well leave a tick to the default."""
    last = state.thought
    if state.header is not None and state.header.thinker == "human":
        return False
    return last is not None and last.source == "default" and last.tick == state.tick - 1 and share < ALARM


def meter_rows(state: ViewState, view: View, look: Look, width: int) -> list[Row]:
    """Return three rows: heading, bar, and what stands at which instant."""
    span = window(state, view)
    head = rule(look, "", "this tick", (), "", width)
    if span is None:
        word = "waiting for the first tick" if state.tick < 0 else "no budget: nobody thinks"
        return [head, finish(((look.signs.line * (width - 1), look.rule),), width, look), finish((("  " + word, look.dim),), width, look)]
    inner = width - 2
    return [head, _bar(span, _whose(state), look, inner, width), _labels(state, span, look, inner, width)]


def _whose(state: ViewState) -> str:
    """Return whose time drains before the reactor's does: nobody's in particular where no planner thinks."""
    header = state.header
    if header is None or header.backends:
        return "planner"
    return "person" if header.agent == "human" else ""


def _bar(span: Window, voice: str, look: Look, inner: int, width: int) -> Row:
    signs = look.signs
    scale = inner / span.total if span.total else 0.0
    border = round(span.wakes * scale) if span.wakes is not None else inner
    spent = span.now * scale
    whole = int(spent)
    runs: list[Run] = [(" ", look.base)]
    runs.append((signs.line * min(whole, inner), look.rule))
    at = min(whole, inner)
    if at < border:
        if look.rgb and not signs.ascii:
            # The border cell drains in eighths, so that slow motion moves and does not jump.
            part = signs.parts[int((spent - whole) * 8)]
            if part:
                runs.append((part, look.paint("bg", voice or "text")))
                at += 1
        runs.append((signs.block * max(0, border - at), look.voice[voice]))
    runs.append((signs.shade * (inner - max(at, border)), look.voice["reactor"]))
    return finish(runs, width, look)


def _labels(state: ViewState, span: Window, look: Look, inner: int, width: int) -> Row:
    if span.unit == "tokens":
        number, rest = f"{int(span.left):>7,}", f" of {int(span.total):,} tokens left"
    else:
        number, rest = f"{span.left:>6.2f}", f" of {span.total:.{1 if span.total >= 1 else 2}f} s left"
    runs: list[Run] = [(number, look.bright), (rest, look.dim)]
    at = len(number) + len(rest)
    for text, style, start in _marks(state, span, look, inner, width, at + 2):
        if start < at + 1 or start + len(text) > width:
            continue
        runs += [(" " * (start - at), look.base), (text, style)]
        at = start + len(text)
    return finish(runs, width, look)


def _marks(state: ViewState, span: Window, look: Look, inner: int, width: int, room: int) -> list[tuple[str, Style, int]]:
    """Return (text, style, column) of what is written under the bar, left to right."""
    scale = inner / span.total if span.total else 0.0
    up = look.signs.up
    out: list[tuple[str, Style, int]] = []
    last = state.thought
    if last is not None and alarm(state, span.share):
        # An answer that was no use was in time, and is said to be what it was.
        late = last.reason in (None, "none", "truncated", "late")
        said = f"no answer in time: default {last.letter}, {why(last.reason)}" if late else f"default {last.letter}: {why(last.reason)}"
        out.append((said, look.strong["default"], room))
        room += len(out[0][0]) + 2
    if span.wakes is None:
        return out
    wakes = 1 + min(inner - 1, round(span.wakes * scale))
    woken = state.woke is not None
    style = look.voice["reactor"] if woken else look.dim
    text = next((one for one in (f"reactor {'woke' if woken else 'wakes'} {up}", f"{'woke' if woken else 'wakes'} {up}", up) if wakes - len(one) + 1 >= room), "")
    end = room
    if text:
        out.append((text, style, wakes - len(text) + 1))
        end = wakes + 2
    answer = state.answer
    if answer is not None and span.answered is not None:
        column = 1 + min(inner - 1, round(span.answered * scale))
        strong = look.strong["reactor"] if answer.letter else look.strong["default"]
        says, short = (f"answers {answer.letter}", answer.letter) if answer.letter else ("no answer", "none")
        if end <= column <= width - len(says) - 3:
            out.append((f"{up} {says}", strong, column))
        elif end <= column - len(says) - 1:
            out.append((f"{says} {up}", strong, column - len(says) - 1))
        elif end <= column <= width - len(short) - 3:
            out.append((f"{up} {short}", strong, column))
        else:
            # No room for words where it stands: a letter may do. An arrow elsewhere would point at another instant.
            instant = f"{int(span.answered):,}" if span.unit == "tokens" else f"{span.answered:.2f} s"
            full = f"{says} at {instant}"
            out.append((full, strong, end + 1) if end + 1 + len(full) < width else (says, strong, end))
    return out
