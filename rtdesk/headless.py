"""A match without a screen: its sides side by side, one result."""

from __future__ import annotations

import os
import time
from typing import Any

from rtdesk.heat import Gate, Heat
from rtdesk.leave import Exit
from rtdesk.live import QUIT_S, Signals, Wanted, sentence
from rtdesk.match import make_plan, make_runs
from rtdesk.say import complain, print_json

__all__ = ["play_match"]


def play_match(wanted: Wanted) -> int:
    """Play a match of agents; print its results, with `--json` as one object: that of the first side, and `sides` with all of them."""
    from rtdesk.logs import Log
    from workers.simulator import summary

    plan = make_plan(wanted, screen=False)
    if plan.ghost is not None:
        plan.ghost.close()
        raise Exit(2, f"a race against {wanted.vs} is for watching; leave out --headless, or compare two recordings with rtdesk diff")
    for warning in dict.fromkeys(warning for config in plan.sides for warning in config.warnings):
        complain(f"note: {warning}")
    log = Log()
    signals = Signals()
    began = time.monotonic()
    heat = Heat(make_runs(plan, plan.sides, plan.records, log_queue=log.queue), gate=Gate())
    quit_at = 0.0
    try:
        heat.start()
        while not heat.over and not (quit_at and time.monotonic() > quit_at):
            heat.poll(time.monotonic_ns())
            # The last one may have ended since it was asked.
            next((run for run in heat.runs if not run.over), heat.runs[0]).wait(0.02)
            for run in heat.runs:
                run.poll_game()
            if signals.code is not None and not quit_at:
                quit_at = time.monotonic() + QUIT_S
                for run in heat.runs:
                    run.command("quit")
        wall_s = time.monotonic() - began
    finally:
        heat.close()
        log.close()
        signals.restore()
    results: list[dict[str, Any]] = []
    for run in heat.runs:
        if run.end is None:
            if signals.code is not None:
                return signals.code
            raise Exit(1, run.failure or "the match ended without a result")
        kept = run.recording if run.recording and os.path.exists(run.recording) else None
        results.append(summary(run.header, run.end, replay=kept, wall_s=wall_s))
    if wanted.as_json:
        print_json({**results[0], "match": heat.runs[0].header.meas["match"], "sides": results})
    else:
        print("\n".join(sentence(result) for result in results))
    lost = [run.record_failure for run in heat.runs if run.record_failure is not None]
    for line in lost:
        complain(f"recording stopped: {line}")
    failed = next((run.failure for run in heat.runs if run.failure is not None), None)
    if failed is not None and signals.code is None:
        raise Exit(1, failed)
    return 1 if lost else signals.code or 0
