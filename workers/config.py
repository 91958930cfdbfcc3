"""One episode's settings: what a person may ask for, checked once, before anything starts.

`plan_episode` turns options (by the names of the command line) into a frozen `Config`, or raises `ConfigError` with one
sentence. The one thing that surprises: the unit of a budget decides the clock. `8192` is tokens, `6s` is wall time.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

import games
from games.base import GameError
from replays import events as ev
from workers import agents, backends
from workers.backends import Backend
from workers.context import room_for_trace
from workers.errors import ConfigError
from workers.force import kept_back
from workers.plugins import unknown
from workers.prompts import names_in, read_folder, templates_of

__all__ = ["Config", "Start", "choice", "parse_budget", "parse_duration", "plan_episode"]

DEFAULT_TICK_BUDGET = 8192
DEFAULT_REACTIVE_BUDGET = 2048
DEFAULT_TICK_S = 8.0
DEFAULT_REACTIVE_S = 2.0
MAX_TICK_BUDGET = 1 << 24
MAX_SECONDS = 24 * 3600.0
MIN_TICK_S = 0.001
MAX_TICKS = 10_000_000
MAX_GUIDANCE = 1 << 30
SHORT_TRACE = 8192
"""Tokens of running text below which it is worth saying that there is room for no more."""
GUIDANCE = ("both", "trace", "conclusion", "none")
THROUGHPUT = ("parallel", "shared")


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """Where an episode begins that does not begin at tick 0: a fork goes on from a recorded state, its thinkers fresh."""

    tick: int
    """Its first tick."""
    snapshot: dict[str, Any]
    """The game as it stands when that tick begins."""
    parent: ev.Parent | None = None
    """For the header."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides how an episode goes."""

    game: str
    load: str
    seed: int
    agent: str
    clock: str
    """token or wall."""
    tick_budget_tokens: int | None
    """N_TE."""
    reactive_budget_tokens: int | None
    """N_TR; None for agents without a reactor."""
    tick_budget_s: float | None
    """T_E."""
    reactive_budget_s: float | None
    """T_R."""
    planner: Any
    """Spec of the planner's backend, or (in the simulator) the backend itself; None for agents without a planner."""
    reactor: Any
    ticks: int | None = None
    """Stop after so many ticks, counted from tick 0 in a fork too; None for the game's own cap."""
    start: Start | None = None
    """None: from the game's beginning."""
    partner: str | None = None
    """Who plays beside the agent: scripted (the game's own), human, or an agent; None in a game for one."""
    player: int = 0
    """For whom planner and reactor think, and whose view they are given: 0 the agent, 1 the partner, where that one alone has to think."""
    guidance: str = "both"
    throughput: str = "parallel"
    dynamic_reactive_budget: bool = False
    planner_memory: bool = False
    prompts: dict[str, str] | None = None
    """The user's own prompt templates by the names of their files; None for ours."""
    force_answer: bool = False
    """The end of the reactor's time is kept back, to ask for its answer where none stands there by then."""
    guidance_limit: int | None = None
    """Tokens of the running trace the reactor is shown at most; its tail is kept."""
    allow_code: bool = False
    """Whether a program that the planner writes may be run."""
    default_action: str = ""
    stall_timeout_s: float = 120.0
    tpot_s: float | None = None
    """Seconds a token takes: pacing in token time, the builtin thinkers' speed in wall time."""
    tick_rate: float | None = None
    """Ticks a second on paced runs; None for unpaced."""
    warnings: tuple[str, ...] = ()
    """Things allowed but worth saying once."""

    @property
    def first_tick(self) -> int:
        """The tick the episode begins with."""
        return 0 if self.start is None else self.start.tick

    @property
    def players(self) -> dict[int, str]:
        """Who moves each player that is not the game's own affair."""
        return {0: self.agent} if self.partner in (None, "scripted") else {0: self.agent, 1: str(self.partner)}

    @property
    def thinker(self) -> str:
        """Name of the agent whose planner and reactor these are."""
        return self.players[self.player]

    @property
    def options(self) -> dict[str, Any]:
        """The effective value of every switch that changes behaviour, for the header."""
        return {
            "guidance": self.guidance,
            "throughput": self.throughput,
            "dynamic-reactive-budget": self.dynamic_reactive_budget,
            "planner-memory": "on" if self.planner_memory else "off",
            "guidance-limit": self.guidance_limit,
            **({"force-answer": True} if self.force_answer else {}),
            **({"prompts": "own"} if self.prompts else {}),
            "default-action": self.default_action,
            "ticks": self.ticks,
            "stall-timeout": self.stall_timeout_s,
            **({"partner": self.partner} if self.partner is not None else {}),
            **({"allow-code": True} if self.allow_code else {}),
            # In token time this is pace, which changes nothing that happens.
            **({"tpot": self.tpot_s} if self.clock == "wall" else {}),
        }


def parse_duration(text: str | float, *, name: str, zero: bool = False) -> float:
    """Return seconds from `6s`, `5ms`, `2min` or a number of seconds. Raises ConfigError."""
    seconds: float
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(ms|s|min|)\s*", str(text))
    if match:
        seconds = float(match[1]) * {"ms": 1e-3, "s": 1.0, "min": 60.0, "": 1.0}[match[2]]
        if math.isfinite(seconds) and (0 < seconds <= MAX_SECONDS or (zero and seconds == 0)):
            return seconds
    raise ConfigError(f"{name} {text!r} is no duration; give a positive one up to a day, such as 120s or 5ms")


def parse_budget(text: str | int | float, *, name: str) -> tuple[str, float]:
    """Return ("token", tokens) or ("wall", seconds). Raises ConfigError for anything else, zero and absurd sizes included."""
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    match = re.fullmatch(r"\s*([0-9][0-9_,]*)\s*(k|K|)\s*", str(text))
    if match:
        tokens = int(re.sub("[_,]", "", match[1])) * (1024 if match[2] else 1)
        if 0 < tokens <= MAX_TICK_BUDGET:
            return "token", tokens
        raise ConfigError(f"{name} {text} tokens is out of range; give 1 to {MAX_TICK_BUDGET} tokens (8192 is usual), or seconds such as 6s")
    if re.fullmatch(r"\s*[0-9.]+\s*(ms|s|min)\s*", str(text)):
        return "wall", parse_duration(str(text), name=name)
    raise ConfigError(f"{name} {text!r} is no budget; give tokens such as 8192, or seconds such as 6s")


def choice(value: str, allowed: tuple[str, ...], *, what: str) -> str:
    """Return `value` if it is one of `allowed`; raise ConfigError with the nearest otherwise."""
    if value in allowed:
        return value
    raise unknown(what, value, list(allowed))


def plan_episode(
    game: str,
    *,
    agent: str = "agile",
    load: str = "medium",
    seed: int = 0,
    ticks: int | None = None,
    tick_budget: str | int | None = None,
    reactive_budget: str | int | None = None,
    clock: str | None = None,
    planner: str | Backend = "builtin",
    reactor: str | Backend = "builtin",
    guidance: str = "both",
    throughput: str = "parallel",
    dynamic_reactive_budget: bool = False,
    planner_memory: bool | None = None,
    guidance_limit: int | None = None,
    force_answer: bool = False,
    prompts: str | Mapping[str, str] | None = None,
    default_action: str | None = None,
    stall_timeout: str | float = 120.0,
    tpot: str | float | None = None,
    tick_rate: float | None = None,
    start: Start | None = None,
    partner: str | None = None,
    allow_code: bool = False,
) -> Config:
    """Check one episode's options together. Raises ConfigError (a sentence) for the first that cannot be run.

    `planner_memory` None means: on for a model, off for a thinker that says the same whenever it is asked the same. `prompts` is a folder
    of the user's own, or templates by role.
    """
    try:
        spec = games.spec(game)
    except GameError as error:
        raise ConfigError(str(error)) from None
    partner, player, thinker = _players(game, agent, partner)
    shape = agents.shape(thinker)
    choice(load, spec.loads, what="load")
    low, high = spec.seeds
    if not _whole(seed, low, high):
        raise ConfigError(f"seed {seed!r} is out of range for {spec.name}; give a whole number from {low} to {high}")
    if ticks is not None and not _whole(ticks, 1, MAX_TICKS):
        raise ConfigError(f"{ticks!r} ticks cannot be played; give --ticks from 1 to {MAX_TICKS}, or leave it out for the whole episode")
    if start is not None and ticks is not None and ticks <= start.tick:
        raise ConfigError(f"{ticks} ticks are over before tick {start.tick} begins; give --ticks above {start.tick}: they are counted from tick 0")
    warnings: list[str] = []
    clock, budgets = _budgets(clock, tick_budget, reactive_budget, shape, warnings)
    choice(guidance, GUIDANCE, what="guidance")
    choice(throughput, THROUGHPUT, what="throughput")
    if guidance_limit is not None and not _whole(guidance_limit, 1, MAX_GUIDANCE):
        raise ConfigError(f"guidance limit {guidance_limit!r} is out of range; give 1 to {MAX_GUIDANCE} tokens, or --guidance none for nothing")
    if throughput == "shared" and not (shape.planner and shape.reactor):
        raise ConfigError(f"throughput 'shared' needs a planner and a reactor, and agent {thinker!r} has not both; use --agent agile")
    if throughput == "shared" and clock == "wall":
        raise ConfigError("throughput 'shared' divides token time; leave out the seconds, or use --throughput parallel")
    if dynamic_reactive_budget and (clock == "wall" or not (shape.planner and shape.reactor)):
        raise ConfigError("--dynamic-reactive-budget moves N_TR of a planner/reactor pair in token time; use it with --agent agile and token budgets")
    if force_answer:
        if not shape.reactor:
            raise ConfigError(f"--force-answer asks a reactor, and agent {thinker!r} has none; use --agent agile or reactive, or leave it out")
        share = budgets["reactive_budget_tokens"]
        if share is not None and kept_back(share) < 1:
            raise ConfigError(f"a reactive budget of {share} tokens is too small to keep some back for --force-answer; give 8 or more")
    default = spec.default_action if default_action is None else default_action
    if default not in (*spec.legal_actions, spec.default_action):
        raise ConfigError(f"default action {default!r} is none of {spec.name}'s; give one of {' '.join(spec.legal_actions)}")
    if tick_rate is not None and not 0.001 <= tick_rate <= 1000:
        raise ConfigError(f"tick rate {tick_rate:g}/s is out of range; give 0.001/s to 1000/s, or max")
    thinkers = {role: given for role, given, there in (("planner", planner, shape.planner), ("reactor", reactor, shape.reactor)) if there}
    _check_code(thinker, shape, planner, spec.name, allowed=allow_code)
    known = {role: _checked(given, spec.name, role) for role, given in thinkers.items()}
    own = read_folder(prompts) if isinstance(prompts, str) else dict(prompts or {})
    model = "planner" in known and not known["planner"].info.deterministic
    templates = templates_of(agents.load(thinker), own)
    memory = model and "memory" in names_in("planner", templates) if planner_memory is None else planner_memory
    if shape.planner and shape.reactor and guidance in ("both", "trace"):
        if known["planner"].hides:
            warnings.append("the planner's server hides its reasoning: the reactor is shown its conclusions, and answers as they are written")
        context = known["reactor"].context_tokens() if guidance_limit is None else None
        if context is not None:
            made = games.make(game, load, seed)
            guidance_limit = room_for_trace(context, made, shape=shape, templates=templates, reactive_tokens=budgets["reactive_budget_tokens"])
            if guidance_limit < SHORT_TRACE:
                warnings.append(f"the reactor's context is {context} tokens: of the planner's running text it is shown the last {guidance_limit}")
    _check_prompts(templates, shape, guidance, memory)
    return Config(
        game=game,
        load=load,
        seed=seed,
        agent=agent,
        clock=clock,
        planner=thinkers.get("planner"),
        reactor=thinkers.get("reactor"),
        ticks=ticks,
        start=start,
        partner=partner,
        player=player,
        guidance=guidance,
        throughput=throughput,
        dynamic_reactive_budget=dynamic_reactive_budget,
        planner_memory=memory,
        force_answer=force_answer,
        prompts=own or None,
        guidance_limit=guidance_limit,
        # What an agent without programs is allowed changes nothing.
        allow_code=allow_code and shape.planner_programs,
        default_action=default,
        stall_timeout_s=parse_duration(stall_timeout, name="--stall-timeout"),
        tpot_s=None if tpot is None else parse_duration(tpot, name="--tpot"),
        tick_rate=tick_rate,
        warnings=tuple(warnings),
        **budgets,
    )


def _players(game: str, agent: str, given: str | None) -> tuple[str | None, int, str]:
    """Return who plays beside the agent (None where nobody can), for which player is thought, and the name of the agent that thinks."""
    rules = type(games.make(game))
    if "partner" not in inspect.signature(rules.step).parameters:
        if given is None:
            return None, *agents.who_thinks(agent, None)
        raise ConfigError(f"partner {given!r} has no place in {games.spec(game).name}, which one plays alone; leave out --partner")
    partner = given or "scripted"
    player, thinker = agents.who_thinks(agent, partner)
    if player and "player" not in inspect.signature(rules.observe).parameters:
        raise ConfigError(
            f"partner {partner!r} has to see the game as its second player does, and {games.spec(game).name} shows it to the first alone "
            f"(its observe() takes no `player`); give --agent {partner}, or --partner scripted"
        )
    return partner, player, thinker


def _check_prompts(templates: Mapping[str, str], shape: agents.Shape, guidance: str, memory: bool) -> None:
    """Raise ConfigError where a prompt of the user's would silently leave out what was asked for."""
    if shape.planner and shape.reactor and guidance != "none" and "guidance" not in names_in("reactor", templates):
        raise ConfigError("the reactor.txt given has no {guidance}, so the planner's notes would not be seen; add it, or give --guidance none")
    if shape.planner and memory and "memory" not in names_in("planner", templates):
        raise ConfigError("the planner.txt given has no {memory}, so its last conclusion would not be seen; add it, or give --planner-memory off")


def _check_code(agent: str, shape: agents.Shape, planner: str | Backend, game: str, *, allowed: bool) -> None:
    """Raise ConfigError for an agent whose planner writes programs, unless that was asked for and can be done here."""
    if not shape.planner_programs:
        return
    if not allowed:
        raise ConfigError(f"agent {agent!r} runs programs that its planner writes, in a sandbox; add --allow-code if you want that (docs/code-agent.md)")
    from workers.sandbox.host import supported

    if not supported():
        raise ConfigError(f"agent {agent!r} needs the process limits of Linux or macOS, which this system has not; use --agent planning")
    if planner == "builtin":
        _checked(planner, game, "code")


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


class _Known:
    """What a backend says of itself."""

    def __init__(self, given: str | Backend, backend: Backend) -> None:
        self._given = given
        self.info = backend.info
        self.hides = bool(getattr(backend, "hides", False))

    def context_tokens(self) -> int | None:
        """Return how much it can read, None if it does not say. Asks the server."""
        if not isinstance(self._given, str):
            return None
        backend = backends.make(self._given)
        try:
            describe = getattr(backend, "describe", None)
            return describe()["context_tokens"] if describe is not None else None
        finally:
            backends.shut(backend)


def _checked(given: str | Backend, game: str, role: str) -> _Known:
    """Return what is known of a backend, once it is sure that it can think in this role of this game."""
    backend = backends.make(given) if isinstance(given, str) else given
    check = getattr(backend, "check", None)
    try:
        if check is not None:
            check(game, role)
        return _Known(given, backend)
    finally:
        if isinstance(given, str):
            backends.shut(backend)


def _budgets(
    clock: str | None, tick: str | int | None, reactive: str | int | None, shape: agents.Shape, warnings: list[str]
) -> tuple[str, dict[str, Any]]:
    """Decide the clock and both budgets from what was given; the unit decides, a contradiction is an error."""
    if clock is not None:
        choice(clock, ("token", "wall"), what="clock")
    given = {
        name: parse_budget(value, name=name) for name, value in (("tick budget", tick), ("reactive budget", reactive)) if value is not None
    }
    for name, (unit, value) in given.items():
        if clock is not None and unit != clock:
            unit_word = "tokens" if unit == "token" else "seconds"
            raise ConfigError(f"{name} {value:g} is in {unit_word}, but the clock is {clock!r}; give both in one unit, or leave out --clock")
    if len({unit for unit, _ in given.values()}) > 1:
        raise ConfigError(
            f"tick budget {tick} and reactive budget {reactive} are in different units; give both in tokens (8192) or both in seconds (6s)"
        )
    if "reactive budget" in given and not (shape.planner and shape.reactor):
        why = "its reactor has the whole tick" if shape.reactor else "it has no reactor"
        raise ConfigError(f"this agent takes no reactive budget ({why}); leave out --reactive-budget, or use --agent agile")
    unit = clock or next((unit for unit, _ in given.values()), "token")
    wall = unit == "wall"
    whole = given.get("tick budget", (unit, DEFAULT_TICK_S if wall else DEFAULT_TICK_BUDGET))[1]
    share = given.get("reactive budget", (unit, min(DEFAULT_REACTIVE_S if wall else DEFAULT_REACTIVE_BUDGET, whole)))[1]
    word = "s" if wall else " tokens"
    if wall and share < MIN_TICK_S:
        raise ConfigError(f"a budget of {share:g} s is too short to think in; give {MIN_TICK_S:g}s or more")
    if share > whole:
        raise ConfigError(
            f"reactive budget {share:g}{word} exceeds tick budget {whole:g}{word}; lower --reactive-budget or raise --tick-budget"
        )
    if shape.reactor and not shape.planner:
        share = whole
    elif shape.reactor and share == whole:
        warnings.append("the reactive budget is the whole tick: the reactor sees nothing of a generation in its first tick")
    tail = share if shape.reactor else None
    if wall:
        return unit, {"tick_budget_tokens": None, "reactive_budget_tokens": None, "tick_budget_s": whole, "reactive_budget_s": tail}
    return unit, {
        "tick_budget_tokens": int(whole),
        "reactive_budget_tokens": None if tail is None else int(tail),
        "tick_budget_s": None,
        "reactive_budget_s": None,
    }
