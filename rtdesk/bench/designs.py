"""An agent with its options in its name: `agile+guidance=none+force-answer`, so that two designs never have one name.

An option is any parameter of `plan_episode` that changes what happens, by its long name; one more there is one more here. The one thing
that surprises: an option given to the whole grid becomes part of every name it means something to, and one that says what is so anyway
becomes part of none.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from workers import agents
from workers.config import plan_episode
from workers.errors import ConfigError
from workers.plugins import unknown

__all__ = ["OPTIONS", "bare_name", "is_pair", "read_design"]

_NOT_AN_OPTION = frozenset({"game", "agent", "load", "seed", "tick_budget", "reactive_budget", "clock", "tpot", "tick_rate", "start"})
OPTIONS = {name: parameter for name, parameter in inspect.signature(plan_episode).parameters.items() if name not in _NOT_AN_OPTION}
_SILENT = frozenset({"allow_code", "planner", "reactor"})
"""Options of the whole grid that do not go into an agent's name: a thinker has a name of its own."""
_NEEDS = {
    "force_answer": ("reactor",),
    "planner_memory": ("planner",),
    "guidance": ("planner", "reactor"),
    "guidance_limit": ("planner", "reactor"),
    "throughput": ("planner", "reactor"),
    "dynamic_reactive_budget": ("planner", "reactor"),
}
"""Who has to be there for an option to mean anything."""
_NAMES = "|".join(sorted((name.replace("_", "-") for name in OPTIONS), key=len, reverse=True))
_PLUS = re.compile(rf"\+(?=(?:{_NAMES})(?:=|\+|$))")


def bare_name(agent: str) -> str:
    """Return the agent's own name, or its path, without its options."""
    return _PLUS.split(agent)[0]


def read_design(text: str, whole: Mapping[str, Any], notes: list[str]) -> tuple[str, dict[str, Any]]:
    """Return an agent's name with all its options in it, and those options as values. `whole` are the grid's. Raises ConfigError."""
    bare, *parts = _PLUS.split(text)
    if not bare:
        raise ConfigError(f"agent {text!r} has no name; give one such as agile, or agile+guidance=none")
    if "+" in bare and not bare.endswith(".py"):
        bad = bare.split("+")[1].partition("=")[0]
        raise unknown("option of an agent", bad, [name.replace("_", "-") for name in OPTIONS])
    own: dict[str, Any] = {}
    for part in parts:
        name, _, value = part.partition("=")
        own[name.replace("-", "_")] = _value(name, value)
    shape = _shape(bare, {**whole, **own})
    # What is so anyway is no part of a name, or one agent would have two.
    options = {name: value for name, value in own.items() if value != OPTIONS[name].default}
    for name, value in whole.items():
        if all(getattr(shape, role) for role in _NEEDS.get(name, ())):
            if name not in own:
                options[name] = value
        else:
            notes.append(f"--{name.replace('_', '-')} means nothing to agent {bare}, which is played without it")
    shown = [f"{name.replace('_', '-')}{_shown(value)}" for name, value in sorted(options.items()) if name in own or name not in _SILENT]
    return "+".join([bare, *shown]), options


def _shown(value: Any) -> str:
    return "" if value is True else f"={'off' if value is False else value}"


def _value(name: str, text: str) -> Any:
    """Read an option's value by the kind of the parameter it is for."""
    kind = str(OPTIONS[name.replace("-", "_")].annotation)
    if "bool" in kind:
        if text not in ("", "on", "off"):
            raise ConfigError(f"option {name}={text} of an agent is a switch; write +{name} or +{name}=off")
        return text != "off"
    if not text:
        raise ConfigError(f"option {name} of an agent has no value; write +{name}=VALUE")
    if kind == "int | None":
        if not re.fullmatch(r"[0-9]{1,9}", text):
            raise ConfigError(f"option {name}={text} of an agent is no whole number; write +{name}=N")
        return int(text)
    return text


def is_pair(name: str, options: Mapping[str, Any]) -> bool:
    """Whether a planner and a reactor share a tick in this agent, its options read."""
    shape = _shape(bare_name(name), options)
    return shape.planner and shape.reactor


def _shape(bare: str, options: Mapping[str, Any]) -> agents.Shape:
    """Return who thinks: in a game for two that may be the partner."""
    return agents.shape(agents.who_thinks(bare, options.get("partner"))[1])
