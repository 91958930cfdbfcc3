"""Tables as plain data: scores with intervals, paired tests, tokens, speed. Pure; everything in them is strict JSON.

The unit is the seed: samples of a seed are averaged first, and seeds whose episodes are identical count once. Failed episodes have no
score; how many there were stands beside every mean, and the mean with failures as zero beside it in the data. Source:
docs/design.md, Measuring.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from replays.timing import fit_line, natural_use, spread
from rtdesk.bench.rows import Row
from rtdesk.report.data import Data, Group
from rtdesk.stats import holm, interval, percentiles, said_p, sign_flip, wilson

__all__ = ["ALL", "USUAL_SHARE", "paired_tests", "score_tables", "speed_tables", "token_tables"]

ALL = "all"
DIGITS = 6
USUAL_SHARE = 2048
"""The reactive budget, in tokens, that agents have unless told otherwise."""


def _mean_of(rows: Sequence[Row], value: Callable[[Row], float]) -> float:
    """The mean over a seed's samples."""
    return statistics.fmean(value(row) for row in rows)


def _score(row: Row) -> float:
    assert row.score is not None
    return row.score


def _defaults(row: Row) -> float:
    return row.default_actions / row.ticks if row.ticks else 0.0


def _figure(groups: Sequence[Sequence[float]], *, unit: bool = True) -> dict[str, Any]:
    """A mean with its interval and how that was made; None for what nobody knows."""
    if not groups or not all(groups):
        return {"mean": None, "low": None, "high": None, "interval": "none"}
    ends, how = interval(groups, unit=unit)
    low, high = ends or (None, None)
    return {
        "mean": round(statistics.fmean(statistics.fmean(group) for group in groups), DIGITS),
        "low": None if low is None else round(low, DIGITS),
        "high": None if high is None else round(high, DIGITS),
        "interval": how,
    }


def score_tables(data: Data) -> list[dict[str, Any]]:
    """Return one line for each agent and setting of each game, and one over all games where all of them have it."""
    lines = [_line(group) for group in data.groups]
    games = list(dict.fromkeys(group.cell.game for group in data.groups))
    if len(games) > 1:
        by: defaultdict[tuple[Any, ...], list[Group]] = defaultdict(list)
        for group in data.groups:
            by[*group.setting, *group.entity].append(group)
        lines += [_pooled(members) for members in by.values() if {group.cell.game for group in members if group.rows} == set(games)]
    return lines


def _place(group: Group) -> dict[str, Any]:
    cell = group.cell
    return {"game": cell.game, "load": cell.load, "tick_budget": cell.tick_budget, "reactive_budget": cell.reactive_budget, "agent": group.agent}


def _line(group: Group) -> dict[str, Any]:
    distinct = group.distinct()
    rows = group.rows
    count = len(rows) + len(group.failures)
    ended = Counter(row.done_reason or "unknown" for row in rows)
    return {
        **_place(group),
        "config": group.cell.config,
        "n": len(distinct),
        "n_least": len(distinct),
        "ok": len(rows),
        "failed": len(group.failures),
        "missing": len(group.missing),
        "identical": len(group.episodes()) - len(distinct),
        "score": _figure([[_mean_of(seed, _score) for seed in distinct]]),
        "score_failed_as_zero": round(sum(map(_score, rows)) / count, DIGITS) if count else None,
        "points": _figure([[_mean_of(seed, lambda row: row.points or 0.0) for seed in distinct]], unit=False),
        "raw_score": round(statistics.fmean(row.raw_score or 0.0 for row in rows), DIGITS) if rows else None,
        "default_rate": _figure([[_mean_of(seed, _defaults) for seed in distinct]]),
        "late_actions": sum(row.late_actions for row in rows),
        "faults": sum(row.faults for row in rows),
        "ticks": round(statistics.fmean(row.ticks for row in rows), DIGITS) if rows else None,
        "planner_tokens": round(statistics.fmean(row.planner_tokens for row in rows), 1) if rows else None,
        "reactor_tokens": round(statistics.fmean(row.reactor_tokens for row in rows), 1) if rows else None,
        "ended": {why: {"n": hits, "of": len(rows), "low": round(wilson(hits, len(rows))[0], DIGITS), "high": round(wilson(hits, len(rows))[1], DIGITS)} for why, hits in sorted(ended.items())},
    }


def _pooled(members: Sequence[Group]) -> dict[str, Any]:
    """Return the line over all games: each game's mean counts the same."""
    distinct = [group.distinct() for group in members]
    rows = [row for group in members for row in group.rows]
    return {
        **_place(members[0]),
        "game": ALL,
        "n": sum(map(len, distinct)),
        "n_least": min(map(len, distinct)),
        "ok": len(rows),
        "failed": sum(len(group.failures) for group in members),
        "missing": sum(len(group.missing) for group in members),
        "identical": sum(len(group.episodes()) for group in members) - sum(map(len, distinct)),
        "score": _figure([[_mean_of(seed, _score) for seed in seeds] for seeds in distinct]),
        "default_rate": _figure([[_mean_of(seed, _defaults) for seed in seeds] for seeds in distinct]),
        "planner_tokens": round(statistics.fmean(row.planner_tokens for row in rows), 1),
        "reactor_tokens": round(statistics.fmean(row.reactor_tokens for row in rows), 1),
    }


def paired_tests(data: Data, *, against: str | None = None) -> list[dict[str, Any]]:
    """Return a test of every two agents in each setting, by game, over all games, and over all loads; `against`: of each with this one.

    Pairs are (game, seed), over all loads (game, load, seed); over all is only what both have on each of them. `lead` is the first agent's mean score less the second's over the pairs
    both have. Of an agent with several reactive budgets the one nearest the default meets the other agents, and each of its others meets
    that one. `p_holm` is p corrected for all tests of the same kind: by game or over games, by load or over loads, agents or budgets.
    """
    out: list[dict[str, Any]] = []
    games = list(dict.fromkeys(group.cell.game for group in data.groups))
    loads = list(dict.fromkeys(group.cell.load for group in data.groups))
    for load in [*loads, *([ALL] if len(loads) > 1 else [])]:
        for game in [*games, *([ALL] if len(games) > 1 else [])]:
            found = []
            for tick in sorted({group.cell.tick_budget for group in data.groups}, reverse=True):
                here = [
                    group
                    for group in data.groups
                    if group.rows and group.cell.tick_budget == tick and load in (ALL, group.cell.load) and game in (ALL, group.cell.game)
                ]
                for one, other in _couples({group.entity for group in here}):
                    if against is not None and against not in (one[0], other[0]):
                        continue
                    if against is not None and one[0] == against != other[0]:
                        one, other = other, one
                    sides = [[group for group in here if group.entity == name] for name in (one, other)]
                    told = _test(*sides, games=set(games) if game == ALL else set(), loads=set(loads) if load == ALL else set())
                    if told is not None:
                        place = {"game": game, "load": load, "tick_budget": tick}
                        found.append({**place, "a": one[0], "a_reactive_budget": one[1], "b": other[0], "b_reactive_budget": other[1], **told})
            out += found
    families: defaultdict[tuple[bool, ...], list[dict[str, Any]]] = defaultdict(list)
    for test in out:
        families[test["game"] == ALL, test["load"] == ALL, test["a"] == test["b"]].append(test)
    for members in families.values():
        for test, p in zip(members, holm([test["p"] for test in members])):
            test["p_holm"] = None if p is None else round(p, DIGITS)
    return out


def _couples(entities: set[tuple[str, int | None]]) -> list[tuple[tuple[str, int | None], tuple[str, int | None]]]:
    """Return who is compared with whom."""
    shares: defaultdict[str, list[int | None]] = defaultdict(list)
    for agent, share in sorted(entities, key=lambda entity: (entity[0], entity[1] or 0)):
        shares[agent].append(share)
    usual = {agent: min(known, key=lambda share: abs((share or USUAL_SHARE) - USUAL_SHARE)) for agent, known in shares.items()}
    couples = list(itertools.combinations(usual.items(), 2))
    return couples + [((agent, share), (agent, usual[agent])) for agent, known in shares.items() for share in known if share != usual[agent]]


def _test(one: Iterable[Group], other: Iterable[Group], *, games: set[str], loads: set[str]) -> dict[str, Any] | None:
    """Compare two agents over the pairs both have; None where there is no pair, or none of one of the `games` or `loads`: what is called
    `all` is of all."""
    sides = []
    for groups in (one, other):
        sides.append({(group.cell.game, group.cell.load, seed): episode for group in groups for seed, episode in group.episodes().items()})
    common = [pair for pair in sides[0] if pair in sides[1]]
    if not common or games - {game for game, _, _ in common} or loads - {load for _, load, _ in common}:
        return None
    pairs: dict[Any, float] = {}
    for game, load, seed in common:
        (a_moves, a_rows), (b_moves, b_rows) = (side[game, load, seed] for side in sides)
        pairs[game, load, a_moves, b_moves] = _mean_of(a_rows, _score) - _mean_of(b_rows, _score)
    differences = list(pairs.values())
    p = sign_flip(differences)
    return {
        "lead": round(statistics.fmean(differences), DIGITS),
        "p": None if p is None else round(p, DIGITS),
        "pairs": len(differences),
        "identical": len(common) - len(differences),
        "unpaired": sum(len(side) for side in sides) - 2 * len(common),
        "said": said_p(p),
    }


def token_tables(data: Data) -> list[dict[str, Any]]:
    """Return how many tokens plans and answers have by nature, by game and agent: percentiles, and a curve of what share needs no more.

    An answer that was cut says only that it needed more than it had, so the reactor's are product-limit estimates (`replays.timing`).
    """
    by: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for group in data.groups:
        by[group.cell.game, group.agent].extend(group.rows)
    out = []
    for (game, agent), rows in by.items():
        plans = [tokens for row in rows for tokens in row.plan_lengths]
        use = natural_use([(tokens, cut) for row in rows for lengths, cut in ((row.reactor_lengths, False), (row.reactor_cut, True)) for tokens in lengths])
        if plans or use:
            told = natural_use([(tokens, False) for tokens in plans])
            out.append({"game": game, "agent": agent, "plans": None if told is None else {**percentiles(plans), "streams": len(plans), "cdf": told["cdf"]}, "reactor": use})
    return out


def speed_tables(data: Data) -> list[dict[str, Any]]:
    """Return how fast models were, by agent and role: TTFT, TPOT, what they were made to wait, and T = alpha*N + beta.

    The fit over episodes has an episode's tokens and wall time, the one over generations those of each stream (its beta is near TTFT).
    Builtin thinkers take no time worth telling, and are left out.
    """
    calls: defaultdict[tuple[str, str], list[list[Any]]] = defaultdict(list)
    whole: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for group in data.groups:
        for row in group.rows:
            told = _calls_of(row)
            for role, streams in told.items():
                calls[group.agent, role] += streams
            if told and _number(row.meas.get("wall_s")):
                whole[group.agent].append((row.planner_tokens + row.reactor_tokens, row.meas["wall_s"]))
    out = []
    for (agent, role), streams in sorted(calls.items()):
        sizes, seconds, ttft, tpot, throttled, attempts = ([stream[place] for stream in streams] for place in range(6))
        timed = [(n, t) for n, t in zip(sizes, seconds) if n]
        out.append(
            {
                "agent": agent,
                "role": role,
                "streams": len(streams),
                "ttft_s": spread([value for value in ttft if value is not None]),
                "tpot_s": spread([value for value in tpot if value is not None]),
                "throttled_s": round(sum(value or 0.0 for value in throttled), 3),
                "attempts": sum(value or 0 for value in attempts),
                "fit_generations": fit_line([n for n, _ in timed], [t for _, t in timed]),
                "fit_episodes": fit_line([n for n, _ in whole[agent]], [t for _, t in whole[agent]]),
            }
        )
    return out


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _calls_of(row: Row) -> dict[str, list[list[Any]]]:
    """Return what a row tells of each stream, by role; `meas` has no schema, so what is not as `Tally` makes it is passed over."""
    told = row.meas.get("calls")
    out = {}
    for role, streams in told.items() if isinstance(told, dict) else ():
        good = [stream for stream in streams if isinstance(stream, list) and len(stream) == 6] if isinstance(streams, list) else []
        good = [stream for stream in good if all(map(_number, stream[:2])) and all(value is None or _number(value) for value in stream[2:])]
        if good:
            out[role] = good
    return out
