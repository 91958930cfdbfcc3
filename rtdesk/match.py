"""What is to be played, from what was asked for: one run, or the sides of a match, and which of the players are people.

    rtdesk play snake --agent human                   one run, a person's
    rtdesk play snake --vs human                      the agent and a person, on one level, in step
    rtdesk play snake --vs reactive                   two agents
    rtdesk play snake --agent human --vs FILE         a person races a recording (its ghost), which costs nothing to think again
    rtdesk play overcooked --partner human            the agent and a person in one kitchen
    rtdesk play overcooked --agent human --partner agile    a person and the agent, as the kitchen's first and second cook

Every side is an episode of its own, in a file of its own; the match id is in all of them.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

import games
from games.base import GameError
from replays import events as ev
from replays.reader import Replay, open_replay
from rtdesk.leave import Exit
from rtdesk.live import SCREEN_RATE, Wanted, label, machine
from rtdesk.paths import default_recording, intruder
from rtdesk.say import complain
from workers import agents
from workers.config import Config, parse_budget, plan_episode
from workers.errors import ConfigError
from workers.live.desk import LiveRun
from workers.live.keyboard import terminal_path

__all__ = ["Plan", "Seat", "default_rate", "make_plan", "make_runs"]

HUMAN_RATE = 4.0
KITCHEN_RATE = 3.0
"""Ticks a second when a person plays: in a kitchen one has more to think about."""
GHOST_RATES = (0.02, 10.0)
"""Ticks a second between which a recording's own pace is one to race at; one made without a pace ran as fast as it went."""
MOST_PEOPLE = 2


class Seat(NamedTuple):
    """A person's place."""

    side: int
    player: int


class Plan(NamedTuple):
    """What is to be played."""

    sides: tuple[Config, ...]
    records: tuple[str | None, ...]
    """Where each side's replay goes."""
    seats: tuple[Seat, ...] = ()
    """The people, in the order of their halves of the keyboard."""
    ghost: Replay | None = None
    """A recording that is raced, as one more side; whoever plays closes it."""

    @property
    def people(self) -> int:
        return len(self.seats)

    @property
    def match(self) -> bool:
        return len(self.sides) > 1 or self.ghost is not None

    def hands(self, side: int) -> dict[int, int]:
        """Which player of a side each person moves: hand -> player."""
        return {hand: seat.player for hand, seat in enumerate(self.seats) if seat.side == side}


def default_rate(game: str, *, people: int) -> float:
    """Ticks a second on screen unless told otherwise."""
    if not people:
        return SCREEN_RATE
    return KITCHEN_RATE if game == "overcooked" else HUMAN_RATE


def make_plan(wanted: Wanted, *, screen: bool) -> Plan:
    """Check everything that can be checked before anything starts. Raises Exit, ConfigError, GameError or ReplayError, each one sentence."""
    stranger = intruder()
    if stranger is not None:
        raise Exit(1, stranger)
    if wanted.tick_rate is not None and math.isfinite(wanted.tick_rate) and wanted.options.get("tpot"):
        raise Exit(2, "--tick-rate and --tpot both set the pace; give one of them")
    ghost = open_replay(wanted.vs) if wanted.vs is not None and _is_file(wanted.vs) else None
    try:
        return _plan(wanted, ghost, screen=screen)
    except BaseException:
        if ghost is not None:
            ghost.close()
        raise


def _plan(wanted: Wanted, ghost: Replay | None, *, screen: bool) -> Plan:
    options = dict(wanted.options)
    if ghost is not None:
        options |= _level_of(wanted, ghost)
    names = [options["agent"]] + ([wanted.vs] if wanted.vs is not None and ghost is None else [])
    pairs = {name: _pair(name, options.get("partner")) for name in names}
    asked = [_fit({**options, "agent": name}, pair=pairs[name], others=any(pairs.values())) for name in names]
    people = sum(name == "human" for name in [*names, options.get("partner")])
    if wanted.vs is not None and options.get("partner") == "human":
        raise Exit(2, "--vs and --partner human together are more boards than hands; give one of them")
    rate = wanted.tick_rate
    if rate is None and screen:
        rate = _ghost_rate(ghost) if ghost is not None else None
        rate = default_rate(_name(wanted.game), people=people) if rate is None else rate
    sides = [plan_episode(wanted.game, tick_rate=None if rate is None or math.isinf(rate) else rate, **one) for one in asked]
    if people and screen and wanted.tick_rate is None and ghost is None and sides[0].clock == "token" and sides[0].tpot_s is None:
        tpot = _model_tpot(sides)
        if tpot is not None:
            # With a model a tick is as long as its thinking: faster boards would only wait for it.
            sides = [msgspec.structs.replace(config, tpot_s=tpot, warnings=(*config.warnings, _long_tick(config, tpot))) for config in sides]
    seats = [Seat(number, player) for number, config in enumerate(sides) for player, name in sorted(config.players.items()) if name == "human"]
    if seats and not screen:
        raise Exit(2, "a person plays on the screen; leave out --headless (--agent default plays what nobody's keys play)")
    if seats and rate is not None and math.isinf(rate):
        raise Exit(2, "nobody can keep up with --tick-rate max; give ticks a second, such as 4/s")
    if len(seats) > MOST_PEOPLE:
        raise Exit(2, f"{len(seats)} people do not fit at one keyboard; {MOST_PEOPLE} do")
    return Plan(tuple(sides), _records(wanted, sides, ghost), tuple(seats), ghost)


def _pair(agent: str, partner: str | None) -> bool:
    """Whether a planner and a reactor think in a side's game, be they the agent's or the partner's."""
    shape = agents.shape(agents.who_thinks(agent, partner)[1])
    return shape.planner and shape.reactor


def _model_tpot(sides: Sequence[Config]) -> float | None:
    """Return the seconds a token takes of the slowest model that thinks, from one short answer of each; None where no model does.

    Raises Exit if one does not answer: then nobody could be played against.
    """
    from rtdesk.model import COUNT, PROBE_TOKENS
    from workers import backends
    from workers.backends.openai.heard import hear

    slowest: float | None = None
    for spec in dict.fromkeys(spec for config in sides for spec in (config.planner, config.reactor) if isinstance(spec, str)):
        backend: Any = backends.make(spec)
        try:
            if backend.info.deterministic or not hasattr(backend, "ask"):
                continue
            complain(f"asking {backend.info.title or spec} how fast it is")
            heard = hear(backend.ask(COUNT, max_tokens=PROBE_TOKENS))
        finally:
            backend.close()
        if heard.error is not None:
            raise Exit(1, f"{spec}: how fast it is could not be measured: {heard.error}; mend that, or give --tick-rate")
        tpot = heard.meas.get("tpot_s")
        if tpot:
            slowest = max(slowest or 0.0, float(tpot))
    return slowest


def _long_tick(config: Config, tpot_s: float) -> str:
    seconds = tpot_s * (config.tick_budget_tokens or 1)
    return f"a tick lasts {seconds:.1f} s, {config.tick_budget_tokens} tokens of {tpot_s * 1000:.3g} ms; --tick-budget or --tick-rate makes it shorter"


def _is_file(name: str) -> bool:
    """Whether an opponent is a recording: agents have names, or are Python files."""
    return not name.endswith(".py") and (os.path.isfile(name) or name.endswith(".rtr"))


def _name(game: str) -> str:
    try:
        return games.spec(game).name
    except GameError as error:
        raise ConfigError(str(error)) from None


def _level_of(wanted: Wanted, ghost: Replay) -> dict[str, Any]:
    """The recording's level, which is the one that is raced on. Raises Exit if another was asked for."""
    header = ghost.header
    if header.game not in (wanted.game, _name(wanted.game)):
        raise Exit(2, f"{wanted.vs} is a recording of {header.game}, and {wanted.game} was to be played; give the game it is of")
    for name, theirs in (("load", header.load), ("seed", header.seed)):
        if name in wanted.given and wanted.options[name] != theirs:
            raise Exit(2, f"{wanted.vs} was played on {name} {theirs}, not {wanted.options[name]}; leave out --{name}, or record another")
    if header.parent is not None:
        raise Exit(2, f"{wanted.vs} is a fork and does not begin at tick 0; race the recording it was made from")
    partner = header.options.get("partner", "scripted")
    if partner != "scripted" and "partner" not in wanted.given:
        # In whose company somebody cooks is part of the level, but who thinks there, and at what cost, is for the one who races to say.
        raise Exit(2, f"{wanted.vs} was played with partner {partner!r}; give --partner {partner} to race it on equal terms, or --partner scripted")
    found: dict[str, Any] = {"load": header.load, "seed": header.seed}
    ticks = header.options.get("ticks")
    if "ticks" not in wanted.given and isinstance(ticks, int):
        found["ticks"] = ticks
    return found


def _ghost_rate(ghost: Replay) -> float | None:
    """Ticks a second a recording was played at; None if that is no pace to race at."""
    ends = [event.t_ns for tick in ghost.ticks for event in ghost.events(tick) if isinstance(event, ev.Step)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(ends)]
    middle = statistics.median(gaps) if gaps else 0.0
    rate = 1e9 / middle if middle > 0 else math.inf
    return rate if GHOST_RATES[0] <= rate <= GHOST_RATES[1] else None


def _fit(options: Mapping[str, Any], *, pair: bool, others: bool) -> dict[str, Any]:
    """Leave out what is meant for a side with a planner and a reactor, where this one has not both but another has."""
    out = dict(options)
    if pair or not others:
        return out
    share = out.pop("reactive_budget", None)
    if share is not None and out.get("tick_budget") is None and out.get("clock") is None:
        # It may have said the clock, and there is one for all.
        out["clock"] = parse_budget(share, name="reactive budget")[0]
    out.pop("dynamic_reactive_budget", None)
    out.pop("throughput", None)
    return out


def _records(wanted: Wanted, sides: Sequence[Config], ghost: Replay | None) -> tuple[str | None, ...]:
    """Return where each side's replay goes. Raises Exit if that cannot be."""
    from replays.writer import check_target

    if not wanted.recording:
        return tuple(None for _ in sides)
    try:
        paths = [new_path(wanted, sides, number, ghost) for number in range(len(sides))]
    except OSError as error:
        raise Exit(2, f"the replays folder cannot be made: {error}; give --record FILE, or --no-record") from error
    for path in paths:
        check_target(path)
    return tuple(os.path.abspath(path) for path in paths)


def new_path(wanted: Wanted, sides: Sequence[Config], number: int, ghost: Replay | None = None) -> str:
    """Return a path for the replay of one side: the default place and name, or beside what was named."""
    config = sides[number]
    others = [label(one) for one in sides if one is not config] or ([f"{ghost.header.agent}-ghost"] if ghost is not None else [])
    if wanted.record is not None:
        stem, ending = os.path.splitext(wanted.record)
        return wanted.record if number == 0 else f"{stem}-vs-{_word(label(config))}{ending}"
    name = "-vs-".join([label(config), *others]) + ("-b" if number and label(config) == label(sides[0]) else "")
    return default_recording(games.spec(config.game).name, config.load, config.seed, name)


def _word(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)


def make_runs(plan: Plan, sides: Sequence[Config], records: Sequence[str | None], *, log_queue: Any = None) -> list[LiveRun]:
    """Return the runs of a heat, not yet started; the sides of a match share an id."""
    meas = machine()
    of = len(sides) + (plan.ghost is not None)
    if plan.match:
        meas["match"] = uuid.uuid4().hex
    if plan.ghost is not None:
        meas["ghost"] = str(plan.ghost.header.meas.get("file_id", ""))
    together = len(sides) > 1
    keyboard = terminal_path()
    return [
        LiveRun(
            config,
            record=record,
            meas={**meas, "file_id": uuid.uuid4().hex},
            log_queue=log_queue,
            held=together or plan.people > 0,
            together=together,
            keyboard=keyboard if plan.hands(number) else None,
            match=ev.Match(side=number, of=of) if plan.match else None,
        )
        for number, (config, record) in enumerate(zip(sides, records))
    ]
