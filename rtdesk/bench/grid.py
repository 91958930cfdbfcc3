"""What is to be played: lists from the command line become cells, each checked whole before anything runs.

A cell is one agent with its options on one game, load, tick budget and reactive budget; its seeds and samples are its episodes. The
configuration hash of a cell covers everything that decides an episode but those two: budgets, options, thinkers with their request
parameters, prompts, versions, and the contents of files that a person named. The one thing that surprises: an agent may carry options of
its own, `agile+guidance=none`, and options given for the whole grid end up there too, so that two designs never have one name.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import games
from games.base import GameError
from replays import events as ev
from rtdesk.bench.designs import OPTIONS, bare_name, is_pair, read_design
from rtdesk.bench.rows import Row, key_of
from workers.config import Config, parse_budget, plan_episode
from workers.episode import make_game, make_header
from workers.errors import ConfigError
from workers.plugins import unknown

__all__ = ["AGENTS", "FIRST_SEED", "GAME_OPTIONS", "LOADS", "PRESETS", "REACTIVE_BUDGETS", "TICK_BUDGETS", "Asked", "Cell", "Job", "Plan", "digest", "make_cell", "make_plan", "parse_seeds", "row_of", "seeds_of"]

LOADS = ("easy", "medium", "hard")
AGENTS = ("reactive", "planning", "agile")
TICK_BUDGETS = (32768, 16384, 8192, 4096)
REACTIVE_BUDGETS = (512, 1024, 2048, 4096, 8192)
FIRST_SEED = {"overcooked": 8}
"""Where a game's own seeds begin to differ: the reference's partner ignores them, so Overcooked's 0 to 7 are one game."""
SEEDS = 8
MAX_EPISODES = 1_000_000
MAX_FILE = 1 << 24

PRESETS: dict[str, dict[str, Any]] = {
    "load": {"loads": LOADS, "tick_budgets": ("8192",)},
    "pressure": {"loads": ("medium",), "tick_budgets": tuple(map(str, TICK_BUDGETS))},
    "ntr": {"loads": ("medium",), "agents": ("agile",), "tick_budgets": ("8192",), "reactive_budgets": tuple(map(str, REACTIVE_BUDGETS))},
    "quick": {"loads": ("easy", "hard"), "tick_budgets": ("8192",), "count": 2},
}
"""The published tables, and a look while working."""

GAME_OPTIONS = ("default-action", "partner", "guidance-limit")
"""Options of an episode's header that follow from the game it plays, unless a person says otherwise."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asked for; None where it said nothing."""

    preset: tuple[str, ...] = ()
    games: tuple[str, ...] | None = None
    loads: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    tick_budgets: tuple[str, ...] | None = None
    reactive_budgets: tuple[str, ...] | None = None
    seeds: str | None = None
    samples: int = 1
    options: dict[str, Any] = {}
    """For the whole grid, by the names of `plan_episode`."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One agent in one setting, with its episodes."""

    config: str
    """Configuration hash, 16 hex digits."""
    game: str
    load: str
    agent: str
    tick_budget: int
    reactive_budget: int | None = None
    design: str
    """Hash of what makes the agent, whatever it plays: options, thinkers, own files, versions."""
    settings: dict[str, Any]
    """What the two hashes were made of, for a person who wonders how two runs differ."""
    thinkers: dict[str, str] = {}
    """What thinks in each role, as tables call it."""
    model: bool = False
    """Whether a thinker is asked that may say something else next time."""
    points_max: float | None = None
    """The most points there are; None where nobody knows any more."""
    points_name: str = "points"
    seeds: list[int] = []
    samples: int = 1

    @property
    def place(self) -> tuple[Any, ...]:
        """What it is called; of two cells with one place the newer counts."""
        return (self.game, self.load, self.agent, self.tick_budget, self.reactive_budget, tuple(sorted(self.thinkers.items())))

    def episode_keys(self) -> list[str]:
        return [key_of(self.config, seed, sample) for seed in self.seeds for sample in range(self.samples)]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One episode to be played."""

    config: Config
    row: Row
    """Its row as far as it is known before it is played."""
    replay: str | None = None
    """Name of its replay; None to keep none."""
    model: bool = False
    bench: dict[str, Any] = {}
    """For the replay's header, under `meas`."""

    @property
    def key(self) -> str:
        return self.row.key


class Plan(msgspec.Struct, kw_only=True):
    """Cells and what they are made of."""

    cells: list[Cell]
    configs: dict[str, Config]
    """By the hash of the cell."""
    notes: list[str]
    """Things worth saying once."""

    def jobs(self) -> list[Job]:
        """Every episode, the seeds inside the cells, so that early results say something of every agent."""
        deepest = max((len(cell.seeds) for cell in self.cells), default=0)
        out = []
        for place in range(deepest):
            for cell in self.cells:
                if place < len(cell.seeds):
                    out += [job_of(cell, self.configs[cell.config], cell.seeds[place], sample) for sample in range(cell.samples)]
        return out


def row_of(cell: Cell, seed: int, sample: int) -> Row:
    """Return the row of one episode of a cell, with nothing told of how it went."""
    return Row(
        key=key_of(cell.config, seed, sample),
        config=cell.config,
        game=cell.game,
        load=cell.load,
        agent=cell.agent,
        tick_budget=cell.tick_budget,
        reactive_budget=cell.reactive_budget,
        seed=seed,
        sample=sample,
        design=cell.design,
        thinkers=cell.thinkers,
    )


def job_of(cell: Cell, config: Config, seed: int, sample: int) -> Job:
    """Return one episode of a cell."""
    row = row_of(cell, seed, sample)
    words = [cell.game.rpartition("/")[2].removesuffix(".py"), cell.load, f"s{seed}", cell.agent, cell.tick_budget, cell.reactive_budget or 0, cell.config[:8]]
    name = "-".join(re.sub(r"[^A-Za-z0-9_=]+", "_", str(word)).strip("_")[:60] for word in words) + (f"-k{sample}" if sample else "")
    bench = {"key": row.key, "config": cell.config, "agent": cell.agent, "design": cell.design, "sample": sample}
    return Job(config=msgspec.structs.replace(config, seed=seed), row=row, replay=f"{name}.rtr", model=cell.model, bench=bench)


def make_plan(asked: Asked) -> Plan:
    """Return all cells asked for, each checked. Raises ConfigError, one sentence, for the first that cannot be played."""
    notes: list[str] = []
    grids: list[dict[str, Any]] = []
    for name in asked.preset or ("",):
        if name and name not in PRESETS:
            raise unknown("preset", name, list(PRESETS))
        given = {axis: value for axis in ("games", "loads", "agents", "tick_budgets", "reactive_budgets") if (value := getattr(asked, axis)) is not None}
        grids.append({**PRESETS.get(name, {}), **given})
    if not 1 <= asked.samples <= 10_000:
        raise ConfigError(f"{asked.samples} samples cannot be drawn; give --samples from 1 to 10000")
    cells: dict[tuple[Any, ...], Cell] = {}
    configs: dict[str, Config] = {}
    for grid in grids:
        for cell, config in _cells(asked, grid, notes):
            held = cells.get(cell.place)
            if held is not None:
                cell = msgspec.structs.replace(cell, seeds=sorted({*held.seeds, *cell.seeds}))
            elif cell.config in configs:
                notes.append(f"agent {cell.agent} is another name of one that is there already, and is left out")
                continue
            cells[cell.place] = cell
            configs[cell.config] = config
    total = sum(len(cell.seeds) * cell.samples for cell in cells.values())
    if total > MAX_EPISODES:
        raise ConfigError(f"that is {total} episodes, more than {MAX_EPISODES}; give fewer seeds, or run it in parts")
    if asked.samples > 1 and not all(cell.model for cell in cells.values()):
        notes.append("thinkers that say the same whenever they are asked the same are played once, whatever --samples says")
    return Plan(cells=list(cells.values()), configs=configs, notes=list(dict.fromkeys(notes)))


def _cells(asked: Asked, grid: Mapping[str, Any], notes: list[str]) -> Iterable[tuple[Cell, Config]]:
    whole = {name: value for name, value in asked.options.items() if value != OPTIONS[name].default}
    ticks = [_tokens(text, "tick budget") for text in grid.get("tick_budgets") or ("8192",)]
    shares = [None if text is None else _tokens(text, "reactive budget") for text in grid.get("reactive_budgets") or (None,)]
    wanted = [read_design(text, whole, notes) for text in grid.get("agents") or AGENTS]
    taken: set[str] = set()
    for game in grid.get("games") or games.names():
        seeds = seeds_of(game, asked.seeds, grid.get("count", SEEDS), notes)
        for load in grid.get("loads") or ("medium",):
            for name, options in wanted:
                for tick in ticks:
                    for share in shares if is_pair(name, options) else [None]:
                        if share is not None and share > tick:
                            notes.append(f"a reactive budget of {share} tokens does not fit into a tick of {tick}, and is left out there")
                            continue
                        taken.add(name)
                        yield make_cell(game, load, name, options, tick, share, seeds=seeds, samples=asked.samples, notes=notes)
    empty = [name for name, _ in wanted if name not in taken]
    if empty:
        raise ConfigError(f"no reactive budget given fits into any tick budget for agent {empty[0]!r}; lower --reactive-budgets or raise --tick-budgets")


def make_cell(
    game: str,
    load: str,
    agent: str,
    options: Mapping[str, Any] | None = None,
    tick_budget: int = 8192,
    reactive_budget: int | None = None,
    *,
    seeds: Sequence[int],
    samples: int = 1,
    notes: list[str] | None = None,
) -> tuple[Cell, Config]:
    """Return a cell and the settings of its episodes. `options` None: they are read from the agent's name. Raises ConfigError."""
    if options is None:
        agent, options = read_design(agent, {}, [])
    call: dict[str, Any] = {**options, "agent": bare_name(agent), "load": load, "tick_budget": tick_budget}
    if reactive_budget is not None:
        call["reactive_budget"] = reactive_budget
    # Seeds are wrong by their size alone, so the ends stand for all of them.
    config = plan_episode(game, seed=min(seeds), **call)
    if max(seeds) != min(seeds):
        low, high = games.spec(game).seeds
        if not low <= max(seeds) <= high:
            plan_episode(game, seed=max(seeds), **call)
    if config.ticks is None and games.spec(game).max_ticks is None:
        raise ConfigError(f"game {game} has no end, and neither would its episode; give --ticks")
    if "human" in (config.agent, config.partner):
        raise ConfigError("a person cannot be played by the simulator; leave human out of a bench")
    if notes is not None:
        notes += config.warnings
    header = make_header(config, make_game(config), meas={})
    spec = games.spec(game)
    if not (math.isfinite(spec.points_max) and spec.points_max > 0):
        raise ConfigError(f"game {game} gives {spec.points_max:g} points at most, so no score can be normalised; `rtdesk check game {game}` says more")
    pair = config.planner is not None and config.reactor is not None
    settings = _settings(config, header, limited=call.get("guidance_limit") is not None)
    model = any(not backend.deterministic for backend in header.backends.values())
    cell = Cell(
        config=digest(settings),
        game=game,
        load=load,
        agent=agent,
        tick_budget=tick_budget,
        reactive_budget=config.reactive_budget_tokens if pair else None,
        design=digest({name: settings[name] for name in ("agent", "options", "backends", "versions", "own_prompts", "agent_files")}),
        settings=settings,
        thinkers={role: backend.title or backend.spec for role, backend in header.backends.items()},
        model=model,
        points_max=spec.points_max,
        points_name=spec.points_name,
        seeds=list(seeds),
        samples=samples if model else 1,
    )
    return cell, config


def _settings(config: Config, header: ev.Episode, *, limited: bool) -> dict[str, Any]:
    """Return all that decides an episode but seed and sample, as plain JSON; `limited`: a person gave the guidance limit."""
    # What follows from the game is no part of an agent's design; a guidance limit nobody gave follows from the length of its rules.
    theirs = [name for name in GAME_OPTIONS if not (limited and name == "guidance-limit")]
    options = {name: value for name, value in header.options.items() if name not in theirs}
    bound = {name: value for name, value in header.options.items() if name in theirs}
    return {
        "game": header.game,
        "load": header.load,
        "agent": header.agent,
        "tick_budget": header.tick_budget_tokens,
        "reactive_budget": header.reactive_budget_tokens,
        "options": options,
        "game_options": bound,
        "backends": {role: msgspec.to_builtins(backend) for role, backend in header.backends.items()},
        "prompts": header.prompt_hash,
        "own_prompts": None if config.prompts is None else digest(config.prompts),
        "versions": header.versions,
        "game_files": _files([config.game]),
        "agent_files": _files([config.agent, config.partner, config.planner, config.reactor]),
    }


def _files(named: Iterable[Any]) -> dict[str, str]:
    """Return the digest of each file a person named: code and scripts change while their names stay."""
    out = {}
    for name in named:
        if not isinstance(name, str):
            continue
        path = Path(name.removeprefix("scripted:")).expanduser()
        if (name.endswith((".py", ".yaml", ".yml")) or name.startswith("scripted:")) and path.is_file() and path.stat().st_size <= MAX_FILE:
            out[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return out


def digest(value: Any) -> str:
    """Return 16 hex digits that stand for plain JSON, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def _tokens(text: str, what: str) -> int:
    unit, size = parse_budget(text, name=what)
    if unit != "token":
        raise ConfigError(f"{what} {text} is in seconds, and a bench runs in token time; give tokens such as 8192")
    return int(size)


def seeds_of(game: str, text: str | None, count: int, notes: list[str]) -> list[int]:
    """Return a game's seeds: those asked for, else its first `count` that differ. Raises ConfigError."""
    try:
        name = games.spec(game).name
    except GameError as error:
        raise ConfigError(str(error)) from None
    first = FIRST_SEED.get(name, 0)
    if text is None:
        return list(range(first, first + count))
    seeds = parse_seeds(text)
    if sum(seed < first for seed in seeds) > 1:
        notes.append(f"seeds below {first} of {name} are all the same game and count once; its own begin at {first}")
    return seeds


def parse_seeds(text: str) -> list[int]:
    """Return seeds from `0-7`, `3`, or `0-3,8`, in order and each once. Raises ConfigError."""
    out: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,10})\s*(?:-\s*([0-9]{1,10})\s*)?", part)
        if match is None:
            raise ConfigError(f"seeds {text!r} cannot be read; give numbers and ranges such as 0-7 or 0-3,8")
        low = int(match[1])
        high = low if match[2] is None else int(match[2])
        if high < low:
            raise ConfigError(f"seeds {part.strip()!r} run backwards; give the smaller number first, such as {high}-{low}")
        if high - low >= MAX_EPISODES:
            raise ConfigError(f"seeds {part.strip()!r} are {high - low + 1}, more than {MAX_EPISODES} episodes; give fewer")
        out |= dict.fromkeys(range(low, high + 1))
    return list(out)
