"""What a report is made of: the rows that count, who they belong to, and what is missing.

Rows come from `results.jsonl`, or, where there is none, from the replays themselves. Only what the plan names counts; rows of earlier
configurations stay in the file and are told of. The one thing that surprises: two runs under one name are one agent only if everything
that makes the agent is the same (options, thinkers, prompts, versions). Where it is not, they get different names here, and a note says
in what they differ; they are never pooled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

import games
from games.base import GameError
from replays import events as ev
from replays.errors import ReplayError
from replays.reader import open_replay
from rtdesk.bench.folder import PLAN, ROWS, read_folder
from rtdesk.bench.grid import GAME_OPTIONS, Cell, digest, row_of
from rtdesk.bench.rows import Row, Tally, accept
from workers.errors import ConfigError

__all__ = ["Data", "Group", "gather"]


class Group(msgspec.Struct, kw_only=True):
    """The episodes of one agent in one setting."""

    cell: Cell
    agent: str
    """Its name in this report."""
    rows: list[Row]
    """Good ones, in order of seed and sample."""
    failures: list[Row]
    missing: list[str]
    """Keys nobody has played yet."""

    @property
    def setting(self) -> tuple[str, int]:
        """What agents are compared in: load and tick budget."""
        return self.cell.load, self.cell.tick_budget

    @property
    def entity(self) -> tuple[str, int | None]:
        """Who is compared: the agent, and its share of the tick."""
        return self.agent, self.cell.reactive_budget

    def episodes(self) -> dict[int, tuple[tuple[str, ...], list[Row]]]:
        """Return (digest of what happened, rows of all samples) by seed."""
        by: defaultdict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            by[row.seed].append(row)
        return {seed: (tuple(row.moves or row.key for row in rows), rows) for seed, rows in sorted(by.items())}

    def distinct(self) -> list[list[Row]]:
        """Return the rows of each seed, identical episodes once."""
        return list(dict(reversed(self.episodes().values())).values())[::-1]


class Data(msgspec.Struct, kw_only=True):
    """All there is to report on."""

    groups: list[Group]
    notes: list[str]
    planned: int
    known_plan: bool
    """Whether it is known what should be there."""


def gather(folder: Path) -> Data:
    """Read a folder of results, or of replays. Raises ConfigError, one sentence, if it holds neither."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder; give one that rtdesk bench has made, or a folder of replays")
    if (folder / PLAN).exists() or (folder / ROWS).exists():
        found = read_folder(folder)
        notes = []
        if found.bad:
            notes.append(f"{found.bad} lines of {ROWS} are no rows and do not count")
        if found.torn:
            notes.append(f"the last line of {ROWS} was torn off and does not count")
        cells, rows = found.cells, found.rows
        known = found.planned
        if known and not rows:
            cells, rows = found.cells, _from_replays(folder, notes)[1]
        elif not known:
            cells = _cells_of_rows(rows)
    else:
        notes = []
        cells, rows = _from_replays(folder, notes)
        known = False
        if not rows:
            raise ConfigError(f"{folder} holds no {ROWS} and no replays; give a folder that rtdesk bench has made")
    accepted, repeated = accept(rows)
    if repeated:
        notes.append(f"{repeated} rows repeat an episode; one good row counts for each")
    groups = [_group(cell, accepted) for cell in cells]
    _name(groups, notes)
    ours = {key for cell in cells for key in cell.episode_keys()}
    left_out = sum(key not in ours for key in accepted)
    if left_out:
        notes.append(f"{left_out} rows of other configurations (earlier versions, prompts or options) are left out")
    groups.sort(key=_order)
    return Data(groups=groups, notes=notes, planned=sum(len(cell.episode_keys()) for cell in cells), known_plan=known)


def _order(group: Group) -> tuple[Any, ...]:
    loads = {"easy": 0, "medium": 1, "hard": 2}
    cell = group.cell
    return (cell.game, loads.get(cell.load, 3), cell.load, -cell.tick_budget, cell.reactive_budget or 0, group.agent)


def _group(cell: Cell, accepted: dict[str, Row]) -> Group:
    there = [accepted[key] for key in cell.episode_keys() if key in accepted]
    return Group(
        cell=cell,
        agent=cell.agent,
        rows=sorted((row for row in there if row.ok and row.score is not None), key=lambda row: (row.seed, row.sample)),
        failures=[row for row in there if not row.ok or row.score is None],
        missing=[key for key in cell.episode_keys() if key not in accepted],
    )


def _name(groups: Sequence[Group], notes: list[str]) -> None:
    """Give agents that share a name but not a design names of their own."""
    by_label: defaultdict[str, dict[str, list[Group]]] = defaultdict(dict)
    for group in groups:
        by_label[group.cell.agent].setdefault(group.cell.design, []).append(group)
    for label, designs in by_label.items():
        if len(designs) > 1:
            titles = {design: _titles(members[0].cell) for design, members in designs.items()}
            told_apart = len(set(titles.values())) == len(designs)
            for design, members in designs.items():
                for group in members:
                    group.agent = f"{label} ({titles[design] if told_apart else design[:6]})"
            first, *others = (members[0].cell for members in designs.values())
            for other in others:
                apart = _apart(first.settings, other.settings, skip=("game", "load", "tick_budget", "reactive_budget", "game_options", "game_files", "prompts"))
                notes.append(f"agent {label} ran as {len(designs)} designs, which are not pooled; they differ in {apart}")
    # One design, and yet another game or other prompts in one place: that, too, is another thing.
    places: defaultdict[tuple[Any, ...], list[Group]] = defaultdict(list)
    for group in groups:
        places[(group.cell.game, *group.setting, *group.entity)].append(group)
    for members in places.values():
        for group in members[1:]:
            notes.append(f"{group.agent} on {group.cell.game} {group.cell.load} ran twice, not pooled: {_apart(members[0].cell.settings, group.cell.settings)} differ")
        if len(members) > 1:
            for group in members:
                group.agent = f"{group.agent} ({group.cell.config[:6]})"


def _titles(cell: Cell) -> str:
    names = dict.fromkeys(cell.thinkers.values())
    return next(iter(names)) if len(names) == 1 else ", ".join(f"{role} {title}" for role, title in cell.thinkers.items())


def _apart(one: dict[str, Any], other: dict[str, Any], *, skip: Iterable[str] = (), path: str = "") -> str:
    """Name where two settings differ, with both values where they are short."""
    out = []
    for name in sorted({*one, *other} - set(skip)):
        a, b = one.get(name), other.get(name)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            out.append(_apart(a, b, path=f"{path}{name}."))
        else:
            shown = f" ({a} and {b})" if len(f"{a}{b}") <= 60 else ""
            out.append(f"{path}{name}{shown}")
    return ", ".join(out) or "what was not recorded"


def _cells_of_rows(rows: Sequence[Row]) -> list[Cell]:
    """Return cells as far as rows tell of them."""
    cells: dict[str, Cell] = {}
    seeds: defaultdict[str, dict[int, None]] = defaultdict(dict)
    samples: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        seeds[row.config][row.seed] = None
        samples[row.config] = max(samples[row.config], row.sample + 1)
        cells.setdefault(
            row.config,
            Cell(
                config=row.config,
                game=row.game,
                load=row.load,
                agent=row.agent,
                tick_budget=row.tick_budget or 0,
                reactive_budget=row.reactive_budget,
                design=row.design,
                settings={},
                thinkers=row.thinkers,
                **_scale(row.game),
            ),
        )
    return [msgspec.structs.replace(cell, seeds=sorted(seeds[config]), samples=samples[config]) for config, cell in cells.items()]


def _scale(game: str) -> dict[str, Any]:
    """What a normalised score of a game is made of; of a path nothing is known, for nothing is loaded on a file's word."""
    try:
        spec = games.spec(game) if game.isidentifier() else None
    except GameError:
        spec = None
    return {} if spec is None else {"points_max": spec.points_max, "points_name": spec.points_name}


def _from_replays(folder: Path, notes: list[str]) -> tuple[list[Cell], list[Row]]:
    """Return cells and rows of all replays in a folder; what cannot be read is noted. Those in seconds are left out."""
    cells: dict[str, Cell] = {}
    rows: list[Row] = []
    for path in sorted(folder.rglob("*.rtr")):
        tally = Tally()
        try:
            with open_replay(path) as recording:
                header = recording.header
                if header.clock != "token":
                    notes.append(f"{path.name} ran in wall time, and is left out")
                    continue
                tally.add([header])
                tally.add(recording)
                if recording.end is not None and tally.end is None:
                    tally.add([recording.end])
        except ReplayError as error:
            notes.append(f"{error}")
            continue
        cell, sample = _cell_of(header)
        held = cells.setdefault(cell.config, cell)
        cells[cell.config] = msgspec.structs.replace(held, seeds=sorted({*held.seeds, header.seed}), samples=max(held.samples, sample + 1))
        row = row_of(cell, header.seed, sample)
        rows.append(msgspec.structs.replace(row, replay=path.relative_to(folder).as_posix(), **tally.fields()))
    return list(cells.values()), rows


def _cell_of(header: ev.Episode) -> tuple[Cell, int]:
    """Return the cell a replay belongs to, without its seeds, and its sample."""
    told = header.meas.get("bench")
    told = told if isinstance(told, dict) else {}
    settings = {
        "game": header.game,
        "load": header.load,
        "agent": header.agent,
        "tick_budget": header.tick_budget_tokens,
        "reactive_budget": header.reactive_budget_tokens,
        "options": {name: value for name, value in header.options.items() if name not in GAME_OPTIONS},
        "game_options": {name: value for name, value in header.options.items() if name in GAME_OPTIONS},
        "backends": {role: msgspec.to_builtins(backend) for role, backend in header.backends.items()},
        "prompts": header.prompt_hash,
        "versions": header.versions,
    }
    design = {name: settings[name] for name in ("agent", "options", "backends", "versions")}
    sample = told.get("sample")
    pair = {"planner", "reactor"} <= set(header.backends)
    cell = Cell(
        config=_text(told.get("config")) or digest(settings),
        game=header.game,
        load=header.load,
        agent=_text(told.get("agent")) or header.agent,
        tick_budget=header.tick_budget_tokens or 0,
        reactive_budget=header.reactive_budget_tokens if pair else None,
        design=_text(told.get("design")) or digest(design),
        settings=settings,
        thinkers={role: backend.title or backend.spec for role, backend in header.backends.items()},
        model=any(not backend.deterministic for backend in header.backends.values()),
        **_scale(header.game),
    )
    return cell, sample if isinstance(sample, int) and 0 <= sample < 10_000 else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= 1000 else ""
