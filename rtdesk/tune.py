"""`rtdesk tune`: how much a reactor needs, from a few calls that nobody cuts, and the budgets and the command that follow from it.

Calls are made on boards of real play: each answer is played, and a game that ends begins anew with the next seed. Where the agent has a
planner, its text is there to be read as in an episode: a stretch of thinking, made anew every few turns. The one thing that surprises:
calls run one at a time, so a server that gets slower with two streams needs more seconds than are suggested here.
"""

from __future__ import annotations

import math
import shlex
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from games.base import Game
from replays import events as ev
from replays.timing import natural_use
from rtdesk.leave import Exit
from rtdesk.say import complain, print_json, print_plain
from workers import backends
from workers.answers import read_answer
from workers.backends import Backend, Chunk, Finish, Request
from workers.cast import Cast
from workers.config import Config, plan_episode
from workers.episode import cast_of, make_backend, make_game, make_header
from workers.errors import BackendError
from workers.tokens import count_tokens
from workers.trace import Trace, guidance_parts

__all__ = ["Asked", "Call", "measure", "suggest", "tune"]

FRESH = 5
"""Turns after which the planner's text is made anew."""
SHARE = 4
"""A tick lasts about so many times what the reactor needs; 8192 to 2048 are the defaults."""
MORE = 1.25
"""On top of what 19 of 20 calls needed: with a finished plan beside the thinking under way there is more to read than here."""
STEP = 64
"""Reactive budgets are suggested in steps of so many tokens."""
LEAST_TICK = 1024
TOLD = 8192
"""The budget a reactor is told while it is measured, tokens: room enough not to hurry."""
BUILTIN_TPOT_S = 0.001
NAP_S = 0.002
TICKS = 100
"""Length of an episode of a game that has none, for the estimate of its cost."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What `tune` was asked for."""

    spec: str
    game: str
    agent: str = "agile"
    load: str = "medium"
    seed: int = 0
    planner: str | None = None
    """None: the same as the reactor."""
    prompts: str | None = None
    calls: int = 20
    notes: int = 6144
    """Tokens of planner's text the reactor is shown; what it sees in the first tick of a generation at 8192 and 2048."""
    most: int = 32_768
    """Tokens after which a call is given up as endless."""
    prices: tuple[float, float] | None = None
    """Of a million tokens: read, written."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call as it went."""

    tokens: int
    """As the clock counts them."""
    cut: bool
    """Given up, or ended by the server at a length of its own."""
    letter: str | None
    prompt_tokens: int
    ttft_s: float
    tpot_s: float


def tune(asked: Asked, *, as_json: bool) -> int:
    """Measure, suggest, and print. Returns the exit code; a thinker that does not answer raises Exit or ConfigError with one line."""
    planner = asked.planner or asked.spec
    config = plan_episode(
        asked.game,
        agent=asked.agent,
        load=asked.load,
        seed=asked.seed,
        prompts=asked.prompts,
        planner=planner,
        reactor=asked.spec,
        tick_budget=TOLD,
        **({"reactive_budget": TOLD} if asked.agent == "agile" else {}),  # type: ignore[arg-type]
    )
    if config.reactor is None:
        raise Exit(2, f"agent {asked.agent!r} has no reactor to measure; give --agent agile or reactive")

    def tell(number: int, call: Call) -> None:
        what = f"{call.tokens} tokens, {call.letter or 'no answer'}{', given up' if call.cut else ''}"
        complain(f"call {number} of {asked.calls}: {what}")

    calls, failed = measure(config, asked, tell=tell)
    found = {
        "spec": asked.spec,
        "planner": planner if config.planner is not None else None,
        "game": config.game,
        "load": config.load,
        "seed": config.seed,
        "agent": config.agent,
        "calls": asked.calls,
        "failed": failed,
        **suggest(calls, config, asked),
    }
    print_json(found) if as_json else print_plain("\n".join(lines(found)))
    return 0


def measure(config: Config, asked: Asked, *, tell: Callable[[int, Call], None] = lambda number, call: None) -> tuple[list[Call], int]:
    """Make the calls; return those that went well and how many failed. Raises Exit if the first fails, or more than half do."""
    failed = 0
    calls: list[Call] = []
    hosts = backends.hosts((config.planner, config.reactor))
    made: list[Backend] = []
    try:
        reactor = make_backend(config, "reactor")
        made.append(reactor)
        planner = None
        if config.planner is not None:
            planner = reactor if config.planner == config.reactor else make_backend(config, "planner")
            made.append(planner)
        table = _Table(config, reactor, planner, asked)
        for number in range(1, asked.calls + 1):
            try:
                calls.append(table.call())
            except BackendError as error:
                failed += 1
                if not calls or failed > asked.calls // 2:
                    raise Exit(1, f"{asked.spec}: {error}") from None
                complain(f"call {number} of {asked.calls}: {error}")
                continue
            tell(number, calls[-1])
    finally:
        for backend in made:
            backend.close()
        for host in hosts:
            host.close()
    return calls, failed


class _Table:
    """A game under way, a reactor that is asked in every turn, and the planner's text beside it."""

    def __init__(self, config: Config, reactor: Backend, planner: Backend | None, asked: Asked) -> None:
        self._asked = asked
        self._reactor, self._planner = reactor, planner
        self._begin(config)

    def _begin(self, config: Config) -> None:
        """Put a new game on the table."""
        self._config = config
        self._game: Game = make_game(config)
        self._cast: Cast = cast_of(config, self._game, make_header(config, self._game, meas={}))
        self._tick = 0
        self._trace: Trace | None = None

    def call(self) -> Call:
        """Ask once, and play what comes of it. Raises BackendError."""
        observation = self._game.observe()
        tick = ev.Tick(tick=self._tick, view=observation.view, text=observation.text)
        self._cast.saw(tick)
        if self._planner is not None and self._asked.notes and self._tick % FRESH == 0:
            self._trace = self._think(tick)
        guidance = guidance_parts(None, self._trace, kind=self._config.guidance, tick=tick.tick, limit=self._config.guidance_limit)
        traces = {} if self._trace is None else {self._trace.generation: self._trace.raw}
        parts = self._cast.reactor_prompt(tick.tick, guidance, budget_tokens=TOLD)
        request = self._cast.request("reactor", "act", tick, parts, traces=traces, guidance=guidance)
        said: list[str] = []

        def take(chunk: Chunk) -> None:
            if chunk.channel == "content":
                said.append(chunk.text)

        tokens, finish, times = self._hear(self._reactor, request, self._asked.most, take)
        reading = read_answer("".join(said), letters=self._cast.letters, mode="act", turn=tick.tick, cut=finish is None)
        call = Call(
            tokens=tokens,
            cut=finish is None or finish.reason != "stop",
            letter=reading.letters[0] if reading.letters else None,
            prompt_tokens=times["prompt_tokens"],
            ttft_s=times["ttft_s"],
            tpot_s=times["tpot_s"],
        )
        self._step(call.letter or self._config.default_action)
        return call

    def _think(self, tick: ev.Tick) -> Trace:
        """A stretch of the planner's thinking on this board."""
        trace = Trace(tick.tick)
        parts = self._cast.planner_prompt(tick.tick, ())
        request = self._cast.request("planner", "think", tick, parts, traces={})
        assert self._planner is not None
        self._hear(self._planner, request, self._asked.notes, lambda chunk: trace.add(chunk.channel, chunk.text, chunk.lens))
        return trace

    @staticmethod
    def _hear(backend: Backend, request: Request, most: int, take: Callable[[Chunk], None]) -> tuple[int, Finish | None, dict[str, Any]]:
        """Read a stream to its end, or to about `most` tokens; (tokens, its Finish or None if it was given up, what it took)."""
        began = time.monotonic()
        first = last = 0.0
        tokens = 0
        finish: Finish | None = None
        items = backend.stream(request)
        for item in items:
            if isinstance(item, Finish):
                finish = item
            elif item is None:
                time.sleep(NAP_S)
            elif item.lens:
                last = time.monotonic()
                first = first or last
                tokens += len(item.lens)
                take(item)
                if tokens >= most:
                    break
        else:
            finish = finish or Finish()
        tell = getattr(items, "so_far", None)
        told = dict((finish.meas or {}) if finish is not None else tell() if tell is not None else {})
        if (close := getattr(items, "close", None)) is not None:
            close()
        if not getattr(backend, "blocking", True):
            # It costs what it is said to cost, and no time of its own.
            told = {"ttft_s": 0.0, "tpot_s": BUILTIN_TPOT_S}
        span = told.get("generation_s", last - first)
        return (
            tokens,
            finish,
            {
                "prompt_tokens": told.get("prompt_tokens") or count_tokens(str(request.prompt)),
                "ttft_s": told.get("ttft_s", first - began if first else 0.0),
                # Over the whole answer: what a budget of tokens takes.
                "tpot_s": told["tpot_s"] if "generation_s" not in told and "tpot_s" in told else span / max(1, tokens - 1),
            },
        )

    def _step(self, letter: str) -> None:
        result = self._game.step(letter)
        self._tick += 1
        if result.terminated or result.truncated:
            low, high = self._game.spec.seeds
            self._begin(msgspec.structs.replace(self._config, seed=self._config.seed + 1 if self._config.seed < high else low))
        elif result.reset:
            self._trace = None


def suggest(calls: Sequence[Call], config: Config, asked: Asked) -> dict[str, Any]:
    """Return what was measured, the budgets that follow from it, what an episode would cost, and the lines to play it with. Pure."""
    use = natural_use([(call.tokens, call.cut) for call in calls])
    assert use is not None
    pair = config.planner is not None
    needed = use["p95"] or use["most"]
    reactive = max(STEP, math.ceil(needed * (MORE if pair else 1.0) / STEP) * STEP)
    tick = max(LEAST_TICK, 1 << round(math.log2(SHARE * reactive))) if pair else reactive
    ttft = sorted(call.ttft_s for call in calls)
    tpot = sorted(call.tpot_s for call in calls)
    slow = {"ttft_s": _rank(ttft, 0.9), "tpot_s": _rank(tpot, 0.9)}
    reactive_s = _tenths(slow["ttft_s"] + reactive * slow["tpot_s"])
    tick_s = max(_tenths(tick * statistics.median(tpot)), 2 * reactive_s if pair else reactive_s)
    answered = sum(call.letter is not None for call in calls)
    notes = []
    if use["p95"] is None:
        notes.append(f"{use['cut']} of {len(calls)} calls were given up, so what it needs is only known to be more than this")
    if answered < len(calls):
        notes.append(f"{len(calls) - answered} of {len(calls)} calls gave no legal answer; --force-answer may help where they were cut, nothing where they were wrong")
    return {
        "answered": answered,
        "tokens": {**{name: use[name] for name in ("p50", "p90", "p95", "most", "cut")}, "mean": round(statistics.fmean(call.tokens for call in calls), 1)},
        "cdf": use["cdf"],
        "ttft_s": {"median": round(statistics.median(ttft), 4), "p90": round(slow["ttft_s"], 4)},
        "tpot_s": {"median": round(statistics.median(tpot), 6), "p90": round(slow["tpot_s"], 6)},
        "suggested": {
            "reactive_budget_tokens": reactive if pair else None,
            "tick_budget_tokens": tick,
            "reactive_budget_s": reactive_s if pair else None,
            "tick_budget_s": tick_s,
        },
        "cost": _cost(calls, config, asked, tick=tick, reactive=reactive, tick_s=tick_s, slow=slow),
        "play": _line(config, asked, f"{tick}", f"{reactive}" if pair else None),
        "play_wall": _line(config, asked, f"{tick_s:g}s", f"{reactive_s:g}s" if pair else None),
        "notes": notes,
    }


def _rank(ordered: list[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _tenths(seconds: float) -> float:
    """Round up to a tenth of a second."""
    return max(0.1, math.ceil(round(seconds * 10, 6)) / 10)


def _cost(calls: Sequence[Call], config: Config, asked: Asked, *, tick: int, reactive: int, tick_s: float, slow: dict[str, float]) -> dict[str, Any]:
    """What one episode takes: a planner thinks all the time, a reactor once a tick and reads, at least, a tick of the planner's text."""
    import games

    ticks = games.spec(config.game).max_ticks or TICKS
    pair = config.planner is not None
    used = statistics.fmean(call.tokens for call in calls)
    read = statistics.fmean(call.prompt_tokens for call in calls)
    more = max(0, tick - reactive - asked.notes) if pair else 0
    reads = round(ticks * (read + more + (read if pair else 0)))
    writes = round(ticks * (used + (tick if pair else 0)))
    money = None if asked.prices is None else round((reads * asked.prices[0] + writes * asked.prices[1]) / 1e6, 4)
    seconds = ticks * max(tick_s, slow["ttft_s"] + tick * statistics.median(call.tpot_s for call in calls))
    return {"ticks": ticks, "tokens_read": reads, "tokens_written": writes, "price": money, "wall_s": round(seconds, 1)}


def _line(config: Config, asked: Asked, tick: str, reactive: str | None) -> str:
    """The command that plays with these budgets."""
    words = ["rtdesk", "play", asked.game, "--agent", config.agent, "--load", config.load, "--seed", str(config.seed)]
    if config.planner is not None:
        words += ["--planner", asked.planner or asked.spec]
    words += ["--reactor", asked.spec, "--tick-budget", tick]
    if reactive is not None:
        words += ["--reactive-budget", reactive]
    if asked.prompts is not None:
        words += ["--prompts", asked.prompts]
    return shlex.join(words)


def lines(found: dict[str, Any]) -> list[str]:
    """What was found, for a person."""
    tokens, best, cost = found["tokens"], found["suggested"], found["cost"]
    price = "" if cost["price"] is None else f", {cost['price']:.2f} at the prices given"
    pair = best["reactive_budget_tokens"] is not None
    rows = [
        ("calls", f"{found['calls'] - found['failed']} of {found['calls']}, {found['answered']} with a legal answer, {tokens['cut']} given up"),
        ("needs", f"{_some(tokens['p50'])} tokens (median), {_some(tokens['p90'])} (p90), {_some(tokens['p95'])} (p95), {tokens['most']} at most"),
        *(("", row) for row in _curve(found["cdf"])),
        ("speed", f"first token {found['ttft_s']['median'] * 1000:.3g} ms (p90 {found['ttft_s']['p90'] * 1000:.3g}), each further {found['tpot_s']['median'] * 1000:.3g} ms"),
        ("N_TR", f"{best['reactive_budget_tokens']} tokens, or {best['reactive_budget_s']:g} s" if pair else "the whole tick"),
        ("N_TE", f"{best['tick_budget_tokens']} tokens, or {best['tick_budget_s']:g} s"),
        ("episode", f"{cost['ticks']} ticks: about {cost['tokens_written']:,} tokens written, {cost['tokens_read']:,} read{price}; {cost['wall_s'] / 60:.0f} min"),
        *(("note", note) for note in found["notes"]),
    ]
    return [f"{name:8} {value}" for name, value in rows] + ["", found["play"], found["play_wall"]]


def _some(value: int | None) -> str:
    return "?" if value is None else str(value)


def _curve(cdf: list[list[float]]) -> list[str]:
    """The CDF of tokens as a few bars."""
    marks = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
    out = []
    for mark in marks:
        reached = next((tokens for tokens, share in cdf if share >= mark - 1e-6), None)
        if reached is not None:
            out.append(f"{mark:4.0%} {'#' * round(mark * 30):30} {reached:.0f}")
    return out
