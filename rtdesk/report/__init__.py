"""`rtdesk report DIR`: tables, intervals, paired tests and figures of a folder of results, whole or not."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtdesk.leave import Exit
from rtdesk.say import print_json

if TYPE_CHECKING:
    from rtdesk.bench.run import Prices
    from rtdesk.report.data import Data

__all__ = ["report", "tell"]


def report(folder: str, *, plots: bool = False, against: str | None = None, prices: Prices | None = None, as_json: bool = False) -> int:
    """Print the report; returns the exit code."""
    from rtdesk.report.data import gather
    from rtdesk.report.words import lines
    from rtdesk.say import print_plain

    if plots:
        from rtdesk.report.plots import check_installed

        check_installed()
    data = gather(Path(folder))
    found = tell(data, folder=folder, against=against, prices=prices or {})
    if plots:
        from rtdesk.report.plots import draw

        found["plots"] = draw(found, Path(folder) / "plots")
    if as_json:
        print_json(found)
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print_plain("\n".join(lines(found, width=width)))
    return 0


def tell(data: Data, *, folder: str, against: str | None, prices: Prices) -> dict[str, Any]:
    """Return the whole report as plain data, strict JSON. Raises Exit for an agent nobody knows."""
    from rtdesk.bench.run import cost_of, token_totals
    from rtdesk.report.tables import paired_tests, score_tables, speed_tables, token_tables
    from workers.plugins import unknown

    agents = list(dict.fromkeys(group.agent for group in data.groups))
    if against is not None and against not in agents:
        raise Exit(2, str(unknown("agent", against, agents)))
    rows = [row for group in data.groups for row in (*group.rows, *group.failures)]
    missing = [
        {
            **{name: getattr(group.cell, name) for name in ("game", "load", "tick_budget", "reactive_budget")},
            "agent": group.agent,
            "episodes": [key.removeprefix(f"{group.cell.config}-") for key in group.missing],
        }
        for group in data.groups
        if group.missing and data.known_plan
    ]
    failures = [
        {"game": row.game, "load": row.load, "seed": row.seed, "sample": row.sample, "agent": group.agent, "fault": row.fault, "replay": row.replay}
        for group in data.groups
        for row in group.failures
    ]
    totals = token_totals(rows)
    titles = dict.fromkeys(title for group in data.groups for title in group.cell.thinkers.values())
    return {
        "folder": folder,
        "episodes": {
            "planned": data.planned if data.known_plan else None,
            "ok": sum(len(group.rows) for group in data.groups),
            "failed": len(failures),
            "missing": sum(len(gap["episodes"]) for gap in missing),
        },
        "thinkers": ", ".join(titles) or ("thinkers not recorded" if any(row.streams for row in rows) else "nobody thinks"),
        "scale": {
            group.cell.game: {"low": 0, "points_max": group.cell.points_max, "points_name": group.cell.points_name, "clipped": True} for group in data.groups
        },
        "scores": score_tables(data),
        "tests": paired_tests(data, against=against),
        "tokens": token_tables(data),
        "speed": speed_tables(data),
        "totals": totals,
        "cost": cost_of(totals, prices),
        "failures": failures,
        "missing": missing,
        "notes": data.notes,
        "plots": [],
    }
