"""A made-up but lawful episode of Snake for looking at: real game, real budgets, invented thinkers' text. Deterministic, no worker code.

The text is in the words of the builtin thinkers (plan lines with positions, GOAL, WARNING, a box). Tick 9 ends in the default action
(answer cut off), tick 14 goes against the plan, tick 17 has a fault, tick 20 a bookmark; plans go stale on the way.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import games
from games.snake import STEP, advance, safe_moves
from replays import events as ev

BUDGET = 8192
WINDOW = 2048
TPOT_NS = 122_070


def tokens(text: str) -> list[int]:
    """Return token byte lengths: four characters a token, counted in UTF-8."""
    return [len(text[i : i + 4].encode()) for i in range(0, len(text), 4)]


def route(view: dict[str, Any], depth: int = 9) -> list[tuple[str, tuple[int, int]]]:
    """Return a line of safe moves that heads for the nearest apples."""
    line = []
    for _ in range(depth):
        options = safe_moves(view)
        if not options:
            break
        head = view["snake"][0]

        def worth(letter: str, view: dict[str, Any] = view, head: list[int] = head) -> tuple[int, int, str]:
            dx, dy = STEP[letter]
            after, ate, _ = advance(view, letter)
            near = min((abs(x - head[0] - dx) + abs(y - head[1] - dy) for x, y, *_ in view["foods"]), default=9)
            return (0 if ate else near, -len(safe_moves(after)), letter)

        letter = min(options, key=worth)
        view = advance(view, letter)[0]
        line.append((letter, tuple(view["snake"][0])))
    return line


def best_line(turn: int, line: list[tuple[str, tuple[int, int]]]) -> str:
    steps = "; ".join(f"Turn {turn + i}: {letter} to ({x},{y})" for i, (letter, (x, y)) in enumerate(line))
    return f"Best line so far: {steps}. It eats {1 + len(line) // 4} and leaves me alive."


def planner_text(turn: int, view: dict[str, Any], size: int, seed: int) -> str:
    """Return about `size` tokens of planner text about the board of `turn`."""
    chance = random.Random(seed)
    x, y = view["snake"][0]
    food = view["foods"][0][:2] if view["foods"] else [1, 1]
    line = route(view)
    out = [
        f"Okay, it is turn {turn}. My head is at ({x},{y}), I am moving {view['direction']} and my length is {len(view['snake'])}.",
        f"Let me look at the food at ({food[0]},{food[1]}). After eating it {chance.randrange(9, 28)} cells stay open and my tail is reachable.",
        f"GOAL target food ({food[0]},{food[1]}).",
        best_line(turn, line[:4]),
    ]
    length = sum(len(part) + 1 for part in out)
    warned = False
    while length < size * 4 - 400:
        a, b, letter = chance.randrange(1, 7), chance.randrange(1, 7), chance.choice("UDLR")
        dx, dy = STEP[letter]
        tail = chance.choice(
            (
                f"{chance.randrange(3, 29)} cells open for length {len(view['snake'])}, tail reachable, value {chance.uniform(-1, 4):.1f}.",
                f"eats the food, {chance.randrange(3, 29)} cells open for length {len(view['snake']) + 1}, tail reachable, value {chance.uniform(1, 4):.1f}.",
                "which is my body, so that kills me.",
            )
        )
        text = f"Turn {turn + chance.randrange(1, 12)} from ({a},{b}): {letter} goes to ({a + dx},{b + dy}), {tail}"
        if not warned and length > size * 2:
            warned, text = True, f"WARNING do not go {chance.choice('LR')} at turn {turn + 5}: dead end within 6 turns."
        elif chance.random() < 0.01:
            text = best_line(turn, line)
        out.append(text)
        length += len(text) + 1
    out += [best_line(turn, line), "\\boxed{", *(f"Turn {turn + i}: {letter}" for i, (letter, _) in enumerate(line)), "}"]
    return "\n".join(out) + "\n"


def reactor_text(tick: int, letter: str, *, fits: bool, whole: bool) -> str:
    out = [
        "If I go U then at the next turn my body covers two cells and the move R is free.",
        "So U keeps me alive for at least 2 turns with 3 continuations. If I go D I hit the wall.",
        f"Now the guidance from the planner. Its line for turn {tick} " + ("matches where I stand." if fits else "expects me elsewhere."),
        *(f"Turn {tick + i}: step {i} of the line is free, my tail is then {i + 2} cells away, and from there {1 + (tick + i) % 3} moves are open." for i in range(9)),
        f"My look ahead agrees that {letter} is safe.",
        f"Weighing {letter} gives 4.06. Weighing the others gives less.",
        f"\\boxed{{{letter}}}",
    ]
    text = "\n".join(out)
    return text if whole else text[: text.index("Weighing")]


def windows(text: str, at: int, borders: list[int]) -> Iterator[tuple[int, str, list[int]]]:
    """Yield (at of the first token, text, lens) of a stream's text, cut at the borders."""
    lens = tokens(text)
    data, place, offset = text.encode(), 0, 0
    while place < len(lens):
        first = at + place + 1
        border = next((one for one in borders if one >= first), None)
        count = len(lens) - place if border is None else min(len(lens) - place, border - first + 1)
        size = sum(lens[place : place + count])
        yield first, data[offset : offset + size].decode(), lens[place : place + count]
        place, offset = place + count, offset + size


def episode(ticks: int = 60, *, load: str = "hard", seed: int = 3, title: str = "builtin search", done: bool = True) -> list[ev.AnyEvent]:
    """Return the events of the episode, header first; `end` last if `done`."""
    game = games.make("snake", load, seed)
    observation = game.reset()
    backend = ev.Backend(spec="builtin", title=title)
    out: list[ev.AnyEvent] = [
        ev.Episode(
            tick=0, at=0, game="snake", load=load, seed=seed, agent="agile", tick_budget_tokens=BUDGET, reactive_budget_tokens=WINDOW,
            options={"ticks": 100}, backends={"planner": backend, "reactor": backend}, texts={"rules": game.describe()},
        )
    ]  # fmt: skip
    plan: list[tuple[int, str, list[int]]] = []
    frozen, line, pending_end = 0, [], None
    late = {9}
    for tick in range(ticks):
        start, wake, end = tick * BUDGET, (tick + 1) * BUDGET - WINDOW, (tick + 1) * BUDGET
        base = start * TPOT_NS
        view = observation.view
        out.append(
            ev.Tick(
                tick=tick, at=start, t_ns=base, view=view, text=observation.text, guidance_at=wake, end_at=end,
                snapshot=game.snapshot() if tick == 0 else None,
            )
        )
        if not plan:
            frozen, line = tick, route(view)
            text = planner_text(tick, view, (5200, 15000, 9000, 21000)[tick % 4], seed=tick)
            borders = sorted({(k + 1) * BUDGET - WINDOW for k in range(tick, tick + 5)} | {(k + 1) * BUDGET for k in range(tick, tick + 5)})
            plan = list(windows(text, start, borders))
            pending_end = start + len(tokens(text))
            out.append(ev.Generation(tick=tick, at=start, t_ns=base, stream="planner", id=tick, phase="start", prompt=[ev.Part(text="rules"), ev.Part(obs=tick)]))
        said: list[tuple[int, int, ev.AnyEvent]] = []
        while plan and plan[0][0] <= end:
            first, text, lens = plan.pop(0)
            said.append((first, 0, token_event("planner", tick, frozen, first, text, lens)))
        if not plan and pending_end is not None:
            said.append((pending_end, 0, ev.Generation(tick=tick, at=pending_end, t_ns=base + 900_000_000, stream="planner", id=frozen, phase="end", finish="stop", clock_tokens=pending_end - frozen * BUDGET)))
            pending_end = None
        head = tuple(view["snake"][0])
        expected = line[tick - frozen - 1][1] if 0 < tick - frozen <= len(line) else head if tick == frozen else None
        fits = expected == head and tick - frozen < len(line)
        fresh = route(view, 1)
        letter = line[tick - frozen][0] if fits else fresh[0][0] if fresh else "U"
        if tick == 14 and len(safe_moves(view)) > 1:
            letter = next(one for one in safe_moves(view) if one != letter)
        whole = tick not in late
        said.append((wake, 1, ev.Generation(tick=tick, at=wake, t_ns=base + 750_000_000, stream="reactor", id=tick, phase="start", prompt=[ev.Part(trace=frozen, upto=900, guidance=True)])))
        spoken = reactor_text(tick, letter, fits=fits, whole=whole)
        for first, text, lens in windows(spoken, wake, [end]):
            said.append((first, 1, token_event("reactor", tick, tick, first, text, lens)))
        last = wake + len(tokens(spoken))
        said.append((last, 1, ev.Generation(tick=tick, at=last, t_ns=base + 800_000_000, stream="reactor", id=tick, phase="end", finish="stop" if whole else "budget", clock_tokens=last - wake)))
        said.append((last, 1, ev.Answer(tick=tick, at=last, t_ns=base + 800_000_000, stream="reactor", generation=tick, mode="act", letters=[letter] if whole else None, why=None if whole else "truncated")))
        out += [event for _, _, event in sorted(said, key=lambda one: one[:2])]
        if tick == 17:
            out.append(ev.Fault(tick=tick, at=end, t_ns=base + 900_000_000, component="planner", what="the server closed the stream", done="begins anew next tick"))
        if tick == 20:
            out.append(ev.Bookmark(tick=tick, at=end, t_ns=base + 900_000_000, note="look at this"))
        applied = letter if whole else "S"
        out.append(ev.Action(tick=tick, at=end, t_ns=base + 999_000_000, letter=applied, source="reactor" if whole else "default", reason=None if whole else "truncated"))
        result = game.step(applied)
        out.append(ev.Step(tick=tick, at=end, t_ns=base + 999_500_000, state=game.snapshot(), reward=result.reward, score=result.score, points=game.points, done=result.done, done_reason=result.done_reason))
        observation = result.observation
        if result.done:
            break
    if done:
        steps = [event for event in out if isinstance(event, ev.Step)]
        spent = {name: sum(len(event.lens) for event in out if isinstance(event, ev.Token) and event.stream == name) for name in ("planner", "reactor")}
        points = steps[-1].points
        totals = ev.Totals(ticks=len(steps), score=points / 24, raw_score=steps[-1].score, points=points, default_actions=1, planner_tokens=spent["planner"], reactor_tokens=spent["reactor"], faults=1)
        out.append(ev.End(tick=steps[-1].tick, at=len(steps) * BUDGET, t_ns=len(steps) * 1_000_000_000, totals=totals, done_reason=steps[-1].done_reason or "quit"))
    return out


def token_event(stream: str, tick: int, generation: int, first: int, text: str, lens: list[int]) -> ev.Token:
    return ev.Token(tick=tick, at=first, t_ns=first * TPOT_NS, stream=stream, generation=generation, channel="reasoning", text=text, lens=lens, meas={"arrivals": [[1, (first + i) * TPOT_NS] for i in range(len(lens))]})


def upto(events: list[ev.AnyEvent], tick: int, share: float) -> list[ev.AnyEvent]:
    """Return the events as a live screen has them at `share` of `tick`: runs of tokens cut there, nothing applied in it yet."""
    from rtdesk.tui.player import cut

    now = int((tick + share) * BUDGET)
    out: list[ev.AnyEvent] = []
    for event in events:
        if event.tick > tick or isinstance(event, ev.End):
            break
        if event.tick == tick and not isinstance(event, ev.Episode):
            if isinstance(event, ev.Action | ev.Step):
                break
            if isinstance(event, ev.Token) and event.at is not None:
                count = now - event.at + 1
                if count <= 0:
                    continue
                if count < len(event.lens):
                    event = cut(event, count)[0]
            elif event.at is not None and event.at > now:
                continue
        out.append(event)
    return out


def pieces(events: list[ev.AnyEvent], seed: int = 0) -> list[ev.AnyEvent]:
    """Return the same events with every run of tokens cut at random, as live frames are."""
    from rtdesk.tui.player import cut

    chance = random.Random(seed)
    out: list[ev.AnyEvent] = []
    for event in events:
        while isinstance(event, ev.Token) and len(event.lens) > 1:
            count = chance.randrange(1, min(len(event.lens), 400))
            first, event = cut(event, count)
            out.append(first)
        out.append(event)
    return out
