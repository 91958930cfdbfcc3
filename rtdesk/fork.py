"""Play on from a tick of a recording: the same game in the same state, its thinkers fresh, perhaps others and with another budget.

The one thing that surprises: what is not given is as it was in the parent, budgets in a unit of another clock apart. What a recording
names by a path or an address is not used on its word; the person names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replays.reader import open_replay
from rtdesk.look_back import tell_damage
from workers.config import parse_budget
from workers.recorded import Recording, fork_start, options_of

__all__ = ["child_options", "fork_options"]


def fork_options(file: str, tick: int, given: Mapping[str, Any], *, game: str | None = None) -> tuple[str, dict[str, Any]]:
    """Return the game and the options of `plan_episode` for a fork of the recording at `file`; `given` holds what the person asked for.

    Raises ReplayError for no recording, ConfigError for a tick that cannot be played on from.
    """
    with open_replay(file) as recording:
        options = child_options(recording, given)
        start = fork_start(recording, tick, game=game)
        tell_damage(recording)
        return game or recording.header.game, {**options, "start": start}


def child_options(recording: Recording, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parent's options with `given` over them."""
    header = recording.header
    told = options_of(header, agent=given.get("agent"), partner=given.get("partner"), planner=given.get("planner"), reactor=given.get("reactor"))
    budgets = [parse_budget(given[name], name=name.replace("_", " ")) for name in ("tick_budget", "reactive_budget") if given.get(name) is not None]
    clock = given.get("clock") or (budgets[0][0] if budgets else header.clock)
    if clock != header.clock:
        for name in ("tick_budget", "reactive_budget", "tpot", "throughput", "dynamic_reactive_budget"):
            told.pop(name, None)
        told["clock"] = clock
    elif given.get("tick_budget") is not None and "reactive_budget" in told:
        # The parent's share, as far as it fits into the child's tick.
        share = parse_budget(told["reactive_budget"], name="reactive budget")[1]
        if share > budgets[0][1]:
            told["reactive_budget"] = given["tick_budget"]
    return {**told, **given}
