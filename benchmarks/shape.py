"""The shape the builtin thinkers must show: who holds up under cognitive load, under time pressure, and at which reactive budget.

    python benchmarks/shape.py [--quick] [--json] [--games snake,freeway] [--seeds 0-7] [--jobs 2]

Every figure is the mean over seeds of a game's normalised score (freeway (100 - turns)/89, snake apples/24, overcooked orders/3),
and `all` is the mean over games. Tables: the three loads at 8k tokens a tick; tick budgets 32k to 4k on medium; reactive budgets 512 to
8192 on medium at 8k; and the agile agent with its guidance blanked beside the reactive one, which must not differ by a single move. Then
the claims of docs/results.md, each with its figures, and paired tests.

A pair is (game, seed), and pairs whose episodes are identical count once (Overcooked's first eight seeds are one game, so its seeds are
8-15 unless told otherwise). The test flips the signs of the pairs' differences: all flips up to 16 pairs, 20,000 drawn ones beyond.

A whole run is about 350 episodes a game; with --quick (2 seeds) a quarter of that. Exit code 1 if a claim of a full run fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rtdesk.bench.grid import AGENTS, FIRST_SEED, LOADS, REACTIVE_BUDGETS, TICK_BUDGETS, Job, job_of, make_cell
from rtdesk.bench.pool import LocalEngine
from rtdesk.bench.rows import Row
from rtdesk.bench.run import drive
from rtdesk.stats import percentiles, said_p, sign_flip

GAMES = ("freeway", "snake", "overcooked")
BLANKED = "agile+guidance=none"


class Setting(NamedTuple):
    """One cell of the tables, for one game."""

    game: str
    load: str
    agent: str
    tick_budget: int = 8192
    reactive_budget: int | None = None


class Results:
    """All runs by setting and seed."""

    def __init__(self, games: list[str], seeds: dict[str, list[int]]) -> None:
        self.games = games
        self.seeds = seeds
        self.runs: dict[tuple[Setting, int], Row] = {}

    def gather(self, settings: Iterable[Setting], jobs: int) -> None:
        """Play every setting with every seed of its game, in `jobs` processes."""
        wanted: dict[str, tuple[Setting, int]] = {}
        queue: list[Job] = []
        for setting in dict.fromkeys(settings):
            game, load, agent, tick_budget, reactive_budget = setting
            cell, config = make_cell(game, load, agent, None, tick_budget, reactive_budget, seeds=self.seeds[game])
            for seed in self.seeds[game]:
                job = job_of(cell, config, seed, 0)
                if job.key not in wanted:
                    queue.append(job)
                wanted[job.key] = (setting, seed)

        def done(job: Job, row: Row) -> None:
            if not row.ok:
                raise SystemExit(f"{row.game} {row.load} seed {row.seed} {row.agent}: {row.fault}")
            self.runs[wanted[job.key]] = row

        engine = LocalEngine(jobs)
        try:
            drive(queue, engine, done=done)
        finally:
            engine.close()

    def of(self, game: str, setting: Setting) -> list[Row]:
        return [self.runs[setting._replace(game=game), seed] for seed in self.seeds[game]]

    def mean(self, setting: Setting, games: list[str] | None = None) -> float:
        """Return the normalised score, averaged over seeds and then over games."""
        return statistics.fmean(statistics.fmean(run.score for run in self.of(game, setting)) for game in games or self.games)

    def points(self, game: str, setting: Setting) -> float:
        return statistics.fmean(run.points for run in self.of(game, setting))

    def test(self, one: Setting, other: Setting) -> tuple[float, float | None, int]:
        """Return (mean difference, p or None for identical episodes, pairs) of two settings over all games and seeds."""
        pairs: dict[tuple[str, str, str], float] = {}
        for game in self.games:
            for a, b in zip(self.of(game, one), self.of(game, other)):
                pairs[game, a.moves, b.moves] = a.score - b.score
        differences = list(pairs.values())
        return statistics.fmean(differences), sign_flip(differences), len(differences)


def settings_of(game: str) -> list[Setting]:
    """Return every setting the tables need."""
    out = [Setting(game, load, agent) for load in LOADS for agent in AGENTS]
    out += [Setting(game, "medium", agent, budget) for budget in TICK_BUDGETS for agent in ("planning", "agile")]
    out += [Setting(game, "medium", "agile", 8192, budget) for budget in REACTIVE_BUDGETS if budget != 2048]
    out += [Setting(game, load, BLANKED) for load in LOADS]
    return out


def claims(results: Results) -> list[tuple[str, bool, str]]:
    """Return (claim, whether it holds, its figures). docs/results.md shows them."""

    def at(load: str, agent: str, budget: int = 8192) -> float:
        # A reactive agent never fills a tick of 4k, so its score is the same at every tick budget.
        return results.mean(Setting("", load, agent, 8192 if agent == "reactive" else budget))

    out = []
    cells = [(load, 8192) for load in LOADS] + [("medium", budget) for budget in TICK_BUDGETS if budget not in (32768, 8192)]
    worst = min(cells, key=lambda cell: at(cell[0], "agile", cell[1]) - max(at(cell[0], "reactive"), at(cell[0], "planning", cell[1])))
    lead = at(worst[0], "agile", worst[1]) - max(at(worst[0], "reactive"), at(worst[0], "planning", worst[1]))
    out.append(("agile is nowhere behind the better of the others by more than 0.02", lead >= -0.02, f"{lead:+.2f} on {worst[0]} at {worst[1]}"))
    easy, hard = at("easy", "reactive"), at("hard", "reactive")
    out.append(("reactive loses at least half its score from easy to hard", hard <= easy / 2, f"{easy:.2f} to {hard:.2f}"))
    long, short = at("medium", "planning", 32768), at("medium", "planning", 4096)
    out.append(("planning loses at least two thirds from 32k to 4k", short <= long / 3, f"{long:.2f} to {short:.2f}"))
    over_load = at("easy", "agile") - at("hard", "agile")
    out.append(("agile loses at most half of what reactive loses over load", over_load <= (easy - hard) / 2, f"{over_load:.2f} against {easy - hard:.2f}"))
    over_time = at("medium", "agile", 32768) - at("medium", "agile", 4096)
    out.append(("agile loses at most half of what planning loses over pressure", over_time <= (long - short) / 2, f"{over_time:.2f} against {long - short:.2f}"))
    for other in ("reactive", "planning"):
        lead, p, pairs = results.test(Setting("", "hard", "agile"), Setting("", "hard", other))
        # Five pairs or fewer have at most 32 flips, two of which always count: no p below 0.05 is to be had.
        sure = p is not None and (p < 0.05 or pairs <= 5)
        figures = f"{lead:+.2f}, {said_p(p)}, {pairs} pairs{', too few for the test' if pairs <= 5 else ''}"
        out.append((f"agile leads {other} on hard at 8k by 0.25 or more, p < 0.05", lead >= 0.25 and sure, figures))
    blind = all(
        a.moves == b.moves
        for game in results.games
        for load in LOADS
        for a, b in zip(results.of(game, Setting("", load, BLANKED)), results.of(game, Setting("", load, "reactive")))
    )
    out.append(("agile with its guidance blanked plays exactly as reactive", blind, "every move" if blind else "moves differ"))
    return out


def tables(results: Results) -> dict[str, Any]:
    """Return all figures as plain data."""
    by: dict[str, Any] = {"loads": {}, "tick_budgets": {}, "reactive_budgets": {}, "tests": {}, "tokens": {}}
    names = [*results.games, *(["all"] if len(results.games) > 1 else [])]

    def row(setting: Setting) -> dict[str, float]:
        return {name: round(results.mean(setting, None if name == "all" else [name]), 4) for name in names}

    for load in LOADS:
        by["loads"][load] = {agent: row(Setting("", load, agent)) for agent in AGENTS}
        by["loads"][load]["agile, blanked"] = row(Setting("", load, BLANKED))
        by["tests"][load] = {}
        for other in ("reactive", "planning"):
            lead, p, pairs = results.test(Setting("", load, "agile"), Setting("", load, other))
            by["tests"][load][other] = {"lead": round(lead, 4), "p": p, "pairs": pairs}
    for budget in TICK_BUDGETS:
        by["tick_budgets"][budget] = {agent: row(Setting("", "medium", agent, budget)) for agent in ("planning", "agile")}
    for budget in REACTIVE_BUDGETS:
        by["reactive_budgets"][budget] = row(Setting("", "medium", "agile", 8192, None if budget == 2048 else budget))
    for game in results.games:
        plans = [n for (s, _), run in results.runs.items() if s.game == game and s.agent in ("agile", BLANKED) for n in run.plan_lengths]
        alone = [n for (s, _), run in results.runs.items() if s.game == game and s.agent == "reactive" for n in run.reactor_lengths]
        guided = [
            n
            for (s, _), run in results.runs.items()
            if s.game == game and s.agent == "agile" and s.reactive_budget is None
            for n in run.reactor_lengths
        ]
        cpu = [run.meas["cpu_s"] for (s, _), run in results.runs.items() if s == Setting(game, s.load, "agile")]
        by["tokens"][game] = {
            "plan": percentiles(plans),
            "reactor alone": percentiles(alone),
            "reactor guided": percentiles(guided),
            "agile episode cpu_s": round(statistics.median(cpu), 3),
        }
        by["loads"].setdefault("points", {})[game] = {
            load: {agent: round(results.points(game, Setting("", load, agent)), 2) for agent in AGENTS} for load in LOADS
        }
    return by


def show(by: dict[str, Any], held: list[tuple[str, bool, str]], results: Results) -> None:
    names = [*results.games, *(["all"] if len(results.games) > 1 else [])]

    def line(label: str, cells: list[str]) -> None:
        print(f"{label:<26}" + "".join(f"{cell:>12}" for cell in cells))

    print("\nscore at 8k tokens a tick (points in brackets)")
    line("", names)
    for load in LOADS:
        for agent in (*AGENTS, "agile, blanked"):
            cells = []
            for name in names:
                points = by["loads"]["points"].get(name, {}).get(load, {}).get(agent)
                cells.append(f"{by['loads'][load][agent][name]:.2f}" + (f" ({points:.1f})" if points is not None else ""))
            line(f"{load} {agent}", cells)
    print("\ntick budget, medium")
    line("", names)
    for budget, agents in by["tick_budgets"].items():
        for agent, cells in agents.items():
            line(f"{budget} {agent}", [f"{cells[name]:.2f}" for name in names])
    print("\nreactive budget, medium, agile at 8k")
    line("", names)
    for budget, cells in by["reactive_budgets"].items():
        line(str(budget), [f"{cells[name]:.2f}" for name in names])
    print("\nagile against the others at 8k, paired sign-flip test")
    for load, tests in by["tests"].items():
        for other, test in tests.items():
            print(f"{load + ' ' + other:<26}{test['lead']:+.2f}  {said_p(test['p'])}  {test['pairs']} pairs")
    print("\ntokens: 5th, 50th, 95th percentile, greatest")
    for game, tokens in by["tokens"].items():
        for name, figures in tokens.items():
            print(f"{game + ' ' + name:<36}" + (str(figures) if isinstance(figures, float) else "  ".join(str(n) for n in figures.values())))
    print()
    for claim, holds, figures in held:
        print(f"{'holds' if holds else 'FAILS'}  {claim}: {figures}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two seeds a game")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--games", default="", help="comma-separated; those with builtin thinkers by default")
    parser.add_argument("--seeds", default="", help="FIRST-LAST, the same for all games; 0-7 (overcooked 8-15) by default")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="worker processes, 2 at most")
    asked = parser.parse_args()
    games = asked.games.split(",") if asked.games else [
        game for game in GAMES if all(importlib.util.find_spec(f"workers.thinkers.{game}_{role}") for role in ("planner", "reactor"))
    ]
    seeds = {}
    for game in games:
        first = FIRST_SEED.get(game, 0)
        low, high = (int(n) for n in asked.seeds.split("-")) if asked.seeds else (first, first + 7)
        seeds[game] = list(range(low, high + 1))[: 2 if asked.quick else None]
    results = Results(games, seeds)
    began = time.perf_counter()
    results.gather((setting for game in games for setting in settings_of(game)), min(2, asked.jobs))
    by = tables(results)
    held = claims(results)
    print(f"{len(results.runs)} episodes in {time.perf_counter() - began:.0f} s, seeds {seeds}", file=sys.stderr)
    if asked.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        rows = [{"claim": claim, "holds": holds, "figures": figures} for claim, holds, figures in held]
        print(json.dumps({"seeds": seeds, "quick": asked.quick, **by, "claims": rows, "meas": machine}, indent=1))
    else:
        show(by, held, results)
    return 0 if asked.quick or all(holds for _, holds, _ in held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
