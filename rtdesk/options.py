"""Options that several commands share, and how what was typed there is read. What they may be together is `workers.config`'s to say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

__all__ = ["EPISODE_OPTIONS", "GRID_OPTIONS", "LEVEL_OPTIONS", "PRICE", "PRICE_OPTIONS", "RUN_OPTIONS", "episode_options", "given_options", "parse_rate", "prices_of", "split_run", "words_of"]


def _options(*decorators: Any) -> Callable[[Any], Any]:
    """Return one decorator that puts all of them on a command, first things first."""

    def wrap(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return wrap


LEVEL_OPTIONS = _options(
    click.option("--load", default="medium", show_default=True, help="Cognitive load: easy, medium, hard."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of the level."),
)
_EPISODE = {
    "agent": click.option("--agent", default="agile", show_default=True, help="Who plays: agile, reactive, planning, code, human, random, default."),
    "ticks": click.option("--ticks", type=int, help="Stop after so many ticks."),
    "tick-budget": click.option("--tick-budget", metavar="8192|6s", help="N_TE: thinking a tick, in tokens or seconds; the unit decides the clock."),
    "reactive-budget": click.option("--reactive-budget", metavar="2048|2s", help="N_TR: the reactor's share of it."),
    "clock": click.option("--clock", metavar="token|wall", help="Time counted in tokens, or by the wall."),
    "planner": click.option("--planner", default="builtin", show_default=True, metavar="SPEC", help="Who thinks as planner."),
    "reactor": click.option("--reactor", default="builtin", show_default=True, metavar="SPEC", help="Who thinks as reactor."),
    "guidance": click.option("--guidance", default="both", show_default=True, metavar="both|trace|conclusion|none", help="What the reactor is shown."),
    "throughput": click.option("--throughput", default="parallel", show_default=True, metavar="parallel|shared", help="Two streams, or one shared."),
    "dynamic-reactive-budget": click.option("--dynamic-reactive-budget", is_flag=True, help="Let N_TR follow what the reactor needs."),
    "planner-memory": click.option("--planner-memory", type=click.Choice(["on", "off"]), help="Show the planner its last conclusion.  [default: on for models, off for builtin]"),
    "guidance-limit": click.option("--guidance-limit", type=int, metavar="N", help="Show the reactor at most the last N tokens of the running trace."),
    "prompts": click.option("--prompts", metavar="DIR", help="Folder with prompts of yours: planner.txt, reactor.txt (docs/models.md names the placeholders)."),
    "force-answer": click.option("--force-answer", is_flag=True, help="Keep the end of the reactor's time back, and ask for its answer where it has none by then."),
    "allow-code": click.option("--allow-code", is_flag=True, help="Let agent code run, in a sandbox, the programs that its planner writes."),
    "default-action": click.option("--default-action", metavar="X", help="What happens when no answer came in time."),
    "partner": click.option("--partner", metavar="scripted|human|AGENT", help="Who plays beside the agent, in a game for two; one of them may have thinkers.  [default: scripted]"),
    "stall-timeout": click.option("--stall-timeout", default="120s", show_default=True, help="Silence after which a thinker counts as stalled."),
    "tpot": click.option("--tpot", metavar="5ms", help="Time a token takes, instead of a tick rate; the builtin thinkers' speed in wall time."),
}
EPISODE_OPTIONS = _options(*_EPISODE.values())
"""Of one episode."""
GRID_OPTIONS = _options(*(option for name, option in _EPISODE.items() if name not in ("agent", "tick-budget", "reactive-budget", "clock", "tpot")))
"""The same but for those a grid has in the plural, and those of a screen."""
RUN_OPTIONS = _options(
    click.option("--tick-rate", metavar="R/s|max", help="Pace on screen: ticks a second, or as fast as it goes.  [default: 1/s on screen, 4/s when a person plays (Overcooked 3/s), max headless]"),
    click.option("--record", metavar="FILE", help="Where the replay goes.  [default: the replays folder]"),
    click.option("--no-record", is_flag=True, help="Keep no replay."),
    click.option("--headless", is_flag=True, help="No screen."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end."),
    click.option("--look", metavar="dark|light|ansi|mono", help="Colours of the screen.  [default: dark, mono with NO_COLOR]"),
    click.option("--ascii", "plain", is_flag=True, help="No box drawing, for terminals where it is two cells wide."),
    click.option("--fps", type=click.IntRange(1, 60), help="Frames a second at most."),
)
class _Price(click.FloatRange):
    """A price of a million tokens; `nan` and `inf` are numbers to Python, and would be the cost of everything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        price = super().convert(value, param, ctx)
        if not math.isfinite(price):
            self.fail(f"{value} is no price; give numbers such as 0.55 2.19", param, ctx)
        return price


PRICE = _Price(0)
PRICE_OPTIONS = _options(
    click.option("--price", nargs=2, type=PRICE, metavar="IN OUT", help="Price of a million tokens read and written, for the cost."),
    click.option("--reactor-price", nargs=2, type=PRICE, metavar="IN OUT", help="The same for the reactor, where it is another.  [default: --price]"),
)


def episode_options(options: dict[str, Any]) -> dict[str, Any]:
    """Turn command-line values into the options of `plan_episode`."""
    memory = options["planner_memory"]
    return {**options, "planner_memory": None if memory is None else memory == "on"}


def given_options(context: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """The options of `plan_episode` that were typed, not filled in."""
    typed = {name for name in options if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT}
    return {name: value for name, value in episode_options(options).items() if name in typed}


def split_run(typed: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (what an episode is, how it is run), by name: RUN_OPTIONS are the second."""
    run = {name: typed[name] for name in ("tick_rate", "record", "no_record", "headless", "as_json", "look", "plain", "fps")}
    return {name: value for name, value in typed.items() if name not in run}, run


def parse_rate(text: str | None) -> float | None:
    """Return ticks a second from `2/s` or `2`; infinity from `max`; None if nothing was given."""
    if text is None:
        return None
    if text == "max":
        return float("inf")
    number = text.removesuffix("/s").strip()
    try:
        rate = float(number)
    except ValueError:
        rate = float("nan")
    if not 0.001 <= rate <= 1000:
        raise click.UsageError(f"tick rate {text!r} is no rate; give ticks a second such as 2/s (0.001/s to 1000/s), or max")
    return rate


def prices_of(both: tuple[float, float] | None, reactor: tuple[float, float] | None) -> dict[str, tuple[float, float]]:
    """Return prices by role, (read, written) of a million tokens."""
    return {role: price for role, price in (("planner", both), ("controller", both), ("reactor", reactor or both)) if price is not None}


def words_of(text: str | None) -> tuple[str, ...] | None:
    """Return the parts of a list such as `easy,hard`; None if nothing was given."""
    if text is None:
        return None
    words = tuple(word for part in text.split(",") if (word := part.strip()))
    if not words:
        raise click.UsageError(f"{text!r} is an empty list; give one or more, separated by commas")
    return words
