"""A report in plain lines for a person: what there is, the scores, the tests, the tokens, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rtdesk.bench.run import money
from rtdesk.report.tables import ALL
from rtdesk.stats import said_p

__all__ = ["lines"]

MOST = 12
"""Failures and gaps that are told one by one."""
ENOUGH = 8
"""Seeds below which a percentile bootstrap is marked: with 8 it holds about nine tenths of truths, with 2 half of them."""


def lines(found: dict[str, Any], *, width: int | None = None) -> list[str]:
    """Return the whole report; where `width` columns do not hold the table of scores, its least telling columns go."""
    counts = found["episodes"]
    planned = f" of {counts['planned']} planned" if counts["planned"] is not None else ""
    out = [f"{found['folder']}: {counts['ok']} episodes{planned}, {counts['failed']} failed, {counts['missing']} missing; {found['thinkers']}"]
    if found["scale"]:
        scale = "; ".join(f"{game} {'not recorded' if told['points_max'] is None else format(told['points_max'], 'g') + ' ' + told['points_name']}" for game, told in found["scale"].items())
        out.append(f"score = points / most, clipped to 0 and 1: {scale}")
    out.append("[ ] 95 %: bootstrap over seeds, 20,000 draws, always the same; * all values equal, so the interval of a rate (Wilson) instead")
    if any(told["n_least"] < ENOUGH and "bootstrap" in (told["score"]["interval"], told["default_rate"]["interval"]) for told in found["scores"]):
        out.append(f"~ from fewer than {ENOUGH} seeds of a game: too narrow, and the truth lies outside more often than 5 % (2 seeds: half the time)")
    out += _scores(found["scores"], width)
    out += _tests(found["tests"], width)
    out += _tokens(found["tokens"], width)
    out += _speed(found["speed"])
    out += _cost(found)
    out += _gaps(found)
    out += [f"note: {note}" for note in found["notes"]]
    out += [f"figure {path}" for path in found["plots"]]
    return out


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int) -> list[str]:
    """Align columns; the first `left` to the left, the others to the right."""
    widths = [max(len(line[place]) for line in (head, *rows)) for place in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(cell.ljust(size) if place < left else cell.rjust(size) for place, (cell, size) in enumerate(zip(cells, widths))).rstrip()

    return [line(head), *(line(row) for row in rows)]


def _fitting(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int, width: int | None, goes: Sequence[int]) -> tuple[list[str], int]:
    """Return a table, and how many columns had to go for it to fit into `width`: those of `goes`, in that order, while it is too wide."""
    kept = list(range(len(head)))
    for place in (*goes, -1):
        table = _table([head[at] for at in kept], [[row[at] for at in kept] for row in rows], left=sum(at < left for at in kept))
        if width is None or max(map(len, table)) <= width or place < 0:
            break
        kept.remove(place)
    return table, len(head) - len(kept)


def _interval(figure: dict[str, Any], least: int, *, scale: float = 1.0, digits: int = 2) -> tuple[str, str]:
    """A mean, and its interval; `least`: the fewest seeds of a game in it."""
    if figure["mean"] is None:
        return "-", "-"
    mean = f"{figure['mean'] * scale:.{digits}f}"
    if figure["low"] is None:
        return mean, "n/a"
    mark = "*" if figure["interval"] == "wilson" else "~" if least < ENOUGH else ""
    return mean, f"[{figure['low'] * scale:.{digits}f}, {figure['high'] * scale:.{digits}f}]{mark}"


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _scores(scores: Sequence[dict[str, Any]], width: int | None) -> list[str]:
    head = ("game", "load", "N_TE", "N_TR", "agent", "score", "95 %", "points", "defaults %", "95 %", "planner", "reactor", "n", "failed")
    rows = []
    for told in scores:
        points = "-" if told.get("points") is None or told["points"]["mean"] is None else f"{told['points']['mean']:.1f}"
        rows.append(
            (
                told["game"],
                told["load"],
                str(told["tick_budget"]),
                str(told["reactive_budget"] or "-"),
                told["agent"],
                *_interval(told["score"], told["n_least"]),
                points,
                *_interval(told["default_rate"], told["n_least"], scale=100, digits=1),
                _whole(told["planner_tokens"]),
                _whole(told["reactor_tokens"]),
                str(told["n"]),
                str(told["failed"]),
            )
        )
    table, gone = _fitting(head, rows, left=5, width=width, goes=(9, 11, 10, 7, 8))
    out = ["", "scores; n seeds whose episodes differ, tokens an episode", *table]
    if gone:
        out.append(f"{gone} more columns (points, defaults, tokens) need a wider terminal, or a pipe")
    same = sum(told["identical"] for told in scores if told["game"] != ALL)
    return [*out, f"{same} episodes are identical to another and do not count again"] if same else out


def _tests(tests: Sequence[dict[str, Any]], width: int | None) -> list[str]:
    """Over all games where both have been in all of them, else by game; the others are in the data."""
    wide = {_met(test) for test in tests if test["game"] == ALL}
    shown = [test for test in tests if test["game"] == ALL or _met(test) not in wide]
    if not shown:
        return []
    head = ("game", "load", "N_TE", "agent", "against", "lead", "p", "Holm", "pairs")
    swept = {test["a"] for test in shown if test["a"] == test["b"]}
    rows = []
    for test in shown:
        name = [f"{test[side]} @{test[f'{side}_reactive_budget']}" if test[side] in swept else test[side] for side in ("a", "b")]
        holm = "-" if test["p_holm"] is None else _p(test["p_holm"])
        rows.append((test["game"], test["load"], str(test["tick_budget"]), *name, f"{test['lead']:+.2f}", _p(test["p"]), holm, str(test["pairs"])))
    told = "; @ its N_TR" if swept else ""
    # What is the same in every line is above in the table of scores.
    same = [place for place in (0, 2, 1) if len({row[place] for row in rows}) == 1]
    table, _ = _fitting(head, rows, left=5, width=width, goes=(*same, 7))
    return ["", f"paired sign-flip tests; Holm: p corrected for all of its kind{told}", *table]


def _met(test: dict[str, Any]) -> tuple[Any, ...]:
    """Who met whom in what setting."""
    return tuple(test[name] for name in ("load", "tick_budget", "a", "a_reactive_budget", "b", "b_reactive_budget"))


def _p(p: float | None) -> str:
    return said_p(p).removeprefix("p ").removeprefix("= ")


def _tokens(tokens: Sequence[dict[str, Any]], width: int | None) -> list[str]:
    if not tokens:
        return []
    head = ("game", "agent", "plan p5", "plan p50", "p95", "most", "answer p50", "p90", "p95", "most", "cut %")
    rows = []
    for told in tokens:
        plans, use = told["plans"], told["reactor"]
        cells = [_whole(plans[name]) for name in ("p5", "p50", "p95", "max")] if plans else ["-"] * 4
        cells += [_whole(use[name]) for name in ("p50", "p90", "p95", "most")] + [f"{100 * use['cut'] / use['streams']:.1f}"] if use else ["-"] * 5
        rows.append((told["game"], told["agent"], *cells))
    table, _ = _fitting(head, rows, left=2, width=width, goes=(7, 2, 5, 9))
    return ["", "tokens of a plan that ended by itself, and of an answer if nobody cut it", *table]


def _speed(speed: Sequence[dict[str, Any]]) -> list[str]:
    if not speed:
        return []
    out = ["", "speed of models"]
    for told in speed:
        parts = [f"{told['streams']} streams, {told['attempts']} attempts, {told['throttled_s']:g} s throttled"]
        for name, unit, label in (("ttft_s", 1.0, "TTFT"), ("tpot_s", 1000.0, "TPOT")):
            if told[name]:
                parts.append(f"{label} {told[name]['median'] * unit:.3g} {'s' if unit == 1.0 else 'ms'} (p90 {told[name]['p90'] * unit:.3g})")
        for name, over in (("fit_episodes", "episodes"), ("fit_generations", "streams")):
            if told[name]:
                fit = told[name]
                parts.append(f"T = {fit['alpha']:.4g} s/token N {'-' if fit['beta'] < 0 else '+'} {abs(fit['beta']):.4g} s, R2 {fit['r2']:.3f}, over {over}")
        out.append(f"{told['agent']} {told['role']}: {'; '.join(parts)}")
    return out


def _cost(found: dict[str, Any]) -> list[str]:
    told = ", ".join(f"{role} {tokens['written']:,} written{', ' + format(tokens['read'], ',') + ' read' if tokens['read'] else ''}" for role, tokens in found["totals"].items())
    cost = "" if found["cost"] is None else f"; cost at the prices given: {money(found['cost'])}"
    return ["", f"tokens in all: {told}{cost}"] if told else []


def _gaps(found: dict[str, Any]) -> list[str]:
    out = []
    if found["failures"]:
        out += ["", f"failed, {len(found['failures'])}:"]
        for row in found["failures"][:MOST]:
            out.append(f"  {row['game']} {row['load']} s{row['seed']} {row['agent']}: {row['fault']}")
    if found["missing"]:
        out += ["", f"missing, {found['episodes']['missing']} (the same rtdesk bench command goes on):"]
        for gap in found["missing"][:MOST]:
            seeds = " ".join(gap["episodes"][:8]) + (" ..." if len(gap["episodes"]) > 8 else "")
            out.append(f"  {gap['game']} {gap['load']} {gap['tick_budget']}/{gap['reactive_budget'] or '-'} {gap['agent']}: {seeds}")
    for name, shown in (("failures", found["failures"]), ("settings with gaps", found["missing"])):
        if len(shown) > MOST:
            out.append(f"  and {len(shown) - MOST} more {name}; --json has all")
    return out
