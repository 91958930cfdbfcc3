"""From a recording back to settings: what runs its thinkers again, and where a fork of it begins.

The one thing that surprises: a recording never chooses code to run or a server to talk to. Games, agents and thinkers are taken from
its header only by names this installation knows itself; a path, a script or an address must be named by the person.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any, Protocol

import games
from games.base import GameError
from replays import events as ev
from replays.payload import AnyRecorded
from workers import agents, backends
from workers.config import Config, Start, plan_episode
from workers.errors import ConfigError
from workers.prompts import ROLES

__all__ = ["Recording", "config_of", "file_id", "fork_start", "options_of", "own_start"]

_MODEL = re.compile(r"[A-Za-z0-9][\w-]*/[\w.:/@+-]+")
# Options that need a planner and a reactor, and are left out where a fork has not both.
_PAIR = ("throughput", "dynamic_reactive_budget")
# What says nothing of how an episode goes, and what only a person can allow.
_UNASKED = ("tick_rate", "allow_code")


class Recording(Protocol):
    """A recording by ticks; an open `replays.reader.Replay` is one."""

    header: ev.Episode
    ticks: Sequence[int]

    def events(self, tick: int) -> Sequence[AnyRecorded]: ...


def options_of(header: ev.Episode, *, game: str | None = None, agent: str | None = None, partner: str | None = None, planner: Any = None, reactor: Any = None) -> dict[str, Any]:
    """Return the options of `plan_episode`, by name, that the header gives; `game`, `agent`, `partner` and so on stand in for recorded names.

    Raises ConfigError for a name that is not taken on a recording's word.
    """
    agent = _agent(header) if agent is None else agent
    partner = _partner(header) if partner is None else partner
    shape = agents.shape(agents.who_thinks(agent, partner)[1])
    pair = shape.planner and shape.reactor
    wall = header.clock == "wall"
    out: dict[str, Any] = {
        "agent": agent,
        "load": header.load,
        "seed": header.seed,
        "tick_budget": f"{header.tick_budget_s}s" if wall else header.tick_budget_tokens,
    }
    reactive = header.reactive_budget_s if wall else header.reactive_budget_tokens
    # A reactor without a planner has the whole tick, and is given no share of its own.
    if pair and reactive is not None and "planner" in header.backends:
        out["reactive_budget"] = f"{reactive}s" if wall else reactive
    accepted = inspect.signature(plan_episode).parameters
    for option, value in header.options.items():
        name = option.replace("-", "_")
        if name == "prompts":
            # Prompts of the user's own are in the header, and the folder they came from is not.
            out[name] = {"coder" if role == "planner" and shape.planner_programs else role: header.texts[role] for role in ROLES if role in header.texts}
            continue
        if name in _UNASKED or value is None or (name in _PAIR and not pair):
            continue
        if name not in accepted:
            raise ConfigError(f"the recording has an option this version does not know, {option!r}; use the rtdesk it was made with")
        if name == "partner":
            value = partner
        if isinstance(accepted[name].default, str) and not isinstance(value, str):
            raise ConfigError(f"the recording's option {option!r} is {value!r}, which no rtdesk wrote; it cannot be run again")
        # Switches are recorded as they are typed.
        out[name] = {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value
    for role, given, there in (("planner", planner, shape.planner), ("reactor", reactor, shape.reactor)):
        if there:
            out[role] = _spec(header, role) if given is None else given
    return out


def config_of(header: ev.Episode, *, game: str | None = None, planner: Any = None, reactor: Any = None, start: Start | None = None) -> Config:
    """Return the settings an episode was played with. Raises ConfigError, a sentence, if this installation cannot have them."""
    options = options_of(header, planner=planner, reactor=reactor)
    if agents.shape(agents.who_thinks(options["agent"], options.get("partner"))[1]).planner_programs:
        # The programs come from our own thinker, or from one that the person named.
        options["allow_code"] = planner is not None or options["planner"] == "builtin"
    return plan_episode(_game(header, game), **options, start=start)


def own_start(recording: Recording) -> Start | None:
    """Return where a fork's own first tick begins; None for an episode from tick 0, and for a file that lost its first tick."""
    if recording.header.parent is None or not recording.ticks:
        return None
    first = recording.ticks[0]
    tick = _only(recording.events(first), ev.Tick)
    if tick is None or tick.snapshot is None:
        return None
    return Start(tick=first, snapshot=tick.snapshot, parent=recording.header.parent)


def fork_start(recording: Recording, tick: int, *, game: str | None = None) -> Start:
    """Return where a fork of `recording` at `tick` begins: the state that the step before it left.

    Raises ConfigError, a sentence, for a tick that cannot be played on from.
    """
    ticks = recording.ticks
    if not ticks:
        raise ConfigError("the recording holds no tick to fork at; give one that was played")
    first, last = ticks[0], ticks[-1]
    if not first <= tick <= last + 1:
        raise ConfigError(f"tick {tick} is not in the recording; give --tick from {first} to {last + 1}, the tick after its last")
    if tick == first:
        begun = _only(recording.events(first), ev.Tick)
        snapshot = None if begun is None else begun.snapshot
    else:
        step = _only(recording.events(tick - 1), ev.Step)
        snapshot = None if step is None else step.state
        if step is not None and step.done and step.done_reason != "ticks":
            raise ConfigError(f"the episode ended with tick {tick - 1} ({step.done_reason}); give --tick from {first} to {tick - 1}")
    if snapshot is None:
        raise ConfigError(f"the recording lost the state tick {tick} begins with; give another --tick")
    header = recording.header
    try:
        # What a file calls a state may be none; better said now than by a process that dies of it.
        games.make(_game(header, game), header.load, header.seed).restore(snapshot)
    except GameError as error:
        raise ConfigError(f"the recorded state of tick {tick} cannot be played on from: {error}; give another --tick") from None
    return Start(tick=tick, snapshot=snapshot, parent=ev.Parent(file=file_id(header), tick=tick))


def file_id(header: ev.Episode) -> str:
    """Return the recording's own id, empty if it was given none."""
    found = header.meas.get("file_id")
    return found if isinstance(found, str) else ""


def _game(header: ev.Episode, given: str | None) -> str:
    name = header.game if given is None else given
    if given is None and not name.isidentifier():
        raise ConfigError(f"the recording's game is the file {name!r}, which is not loaded on a recording's word; if you trust it, name it with --game")
    return name


def _agent(header: ev.Episode) -> str:
    if not header.agent.isidentifier():
        raise ConfigError(f"the recording's agent is the file {header.agent!r}, which is not loaded on a recording's word; if you trust it, name it with --agent")
    return header.agent


def _partner(header: ev.Episode) -> str | None:
    found = header.options.get("partner")
    if found is None or (isinstance(found, str) and found.isidentifier()):
        return found
    raise ConfigError(f"the recording's partner is {found!r}, which is not loaded on a recording's word; name who plays beside the agent with --partner")


def _spec(header: ev.Episode, role: str) -> str:
    """Return who thinks in a role: as recorded if it is a name, `builtin` if nobody did."""
    backend = header.backends.get(role)
    if backend is None:
        return "builtin"
    spec = backend.spec
    named = spec in backends.available() and spec not in ("scripted", "openai")
    if named or (_MODEL.fullmatch(spec) and not spec.endswith((".py", ".yaml", ".yml"))):
        return spec
    raise ConfigError(f"the recording's {role} is {spec!r}, which is not used on a recording's word; if you trust it, name it with --{role} SPEC")


def _only(events: Sequence[AnyRecorded], kind: type[Any]) -> Any:
    return next((event for event in events if isinstance(event, kind)), None)
