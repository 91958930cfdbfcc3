"""What processes cost: a live run against the simulator on the same episode, punctual wall ticks, and the simulator's own CPU.

    python benchmarks/live.py [--json] [--rounds N] [--seconds S]

* live over simulator: Snake medium, seed 0, `agile` with the builtin thinkers, 8,192 tokens a tick, unpaced and recorded. Live is counted
  from the first tick to `end`, so without start-up. Rounds are interleaved, medians compared, quartiles shown.
* lateness: `metronome` in wall time at 30 ticks a second with scripted thinkers; how long after its absolute deadline each tick was
  stepped, and by how much the last tenth of the ticks is later than the first tenth (drift).
* CPU: the same `agile` episode in the simulator, in seconds of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from replays import events as ev
from workers.config import Config, plan_episode
from workers.live.desk import LiveRun
from workers.simulator import run_simulation

EPISODE = {"game": "snake", "agent": "agile", "load": "medium", "seed": 0, "tick_budget": 8192}
HERTZ = 30
GOALS = {"live over simulator": (2.0, 1.2), "lateness p50 ms": (1.0, 0.2), "simulator CPU s": (1.0, 0.3)}
"""Row -> (must, aim)."""


def simulated(config: Config) -> tuple[float, float]:
    """Wall and CPU seconds of the episode in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    run_simulation(config, commit=lambda tick, events: None)
    return time.perf_counter() - wall, time.process_time() - cpu


def live(config: Config, folder: str, name: str) -> tuple[list[ev.AnyEvent], float]:
    """The game's events of a live run, and the seconds from its first tick to its end."""
    events: list[ev.AnyEvent] = []
    with LiveRun(config, record=os.path.join(folder, f"{name}.rtr")) as run:
        run.start()
        while not run.over:
            run.wait(0.05)
            events += run.poll_game()
        if run.end is None:
            raise SystemExit(f"the live run failed: {run.failure}")
        return events, run.end.t_ns / 1e9


def compare(rounds: int, folder: str) -> dict[str, Any]:
    """Rounds of both, interleaved."""
    config = plan_episode(**EPISODE)  # type: ignore[arg-type]
    simulated(config)
    walls, cpus, lives = [], [], []
    for number in range(rounds):
        wall, cpu = simulated(config)
        walls.append(wall)
        cpus.append(cpu)
        lives.append(live(config, folder, f"agile{number}")[1])
    return {
        "simulator_s": spread(walls),
        "live_s": spread(lives),
        "ratio": statistics.median(lives) / statistics.median(walls),
        "simulator_cpu_s": spread(cpus),
    }


def lateness(seconds: float, folder: str) -> dict[str, float]:
    """How late ticks at 30 Hz are, in milliseconds."""
    scripts = {"planner": [{"tokens": 1_000_000}], "reactor": [{"tokens": 2, "chunks": [["\\boxed{B}", 3, "content"]]}]}
    thinkers = {}
    for role, script in scripts.items():
        path = Path(folder) / f"{role}.json"
        path.write_text(json.dumps(script))
        thinkers[role] = f"scripted:{path}"
    ticks = round(seconds * HERTZ)
    config = plan_episode("metronome", agent="agile", tick_budget=f"{1000 / HERTZ:.6f}ms", reactive_budget="20ms", ticks=ticks, **thinkers)
    events, _ = live(config, folder, "metronome")
    deadlines = {event.tick: event.deadline_ns or 0 for event in events if isinstance(event, ev.Tick)}
    late = [(event.t_ns - deadlines[event.tick]) / 1e6 for event in events if isinstance(event, ev.Step)]
    ordered, tenth = sorted(late), max(1, len(late) // 10)
    return {
        "ticks": len(late),
        "p50_ms": statistics.median(late),
        "p90_ms": ordered[int(0.9 * len(ordered))],
        "max_ms": ordered[-1],
        "drift_ms": statistics.median(late[-tenth:]) - statistics.median(late[:tenth]),
    }


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return {"median": statistics.median(values), "q1": low, "q3": high}


def main() -> int:
    """Measure, print, and return 0 if every figure that must be reached was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    parser.add_argument("--seconds", type=float, default=15.0, help="length of the punctuality run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compared, late = compare(options.rounds, folder), lateness(options.seconds, folder)
    figures = {"live over simulator": compared["ratio"], "lateness p50 ms": late["p50_ms"], "simulator CPU s": compared["simulator_cpu_s"]["median"]}
    report = {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "rounds": options.rounds,
        "agile": compared,
        "metronome": late,
        "figures": {name: {"value": value, "must": GOALS[name][0], "aim": GOALS[name][1]} for name, value in figures.items()},
    }
    if options.json:
        print(json.dumps(report))
    else:
        show(report)
    return int(any(row["value"] > row["must"] for row in report["figures"].values()))  # type: ignore[attr-defined]


def show(report: dict[str, Any]) -> None:
    agile, late = report["agile"], report["metronome"]
    print(f"{report['machine']}, Python {report['python']}, {report['rounds']} rounds")
    for name in ("simulator_s", "live_s", "simulator_cpu_s"):
        print(f"  {name:16} median {agile[name]['median']:.3f}   quartiles {agile[name]['q1']:.3f} to {agile[name]['q3']:.3f}")
    print(f"  lateness of {late['ticks']} ticks, ms: p50 {late['p50_ms']:.3f}, p90 {late['p90_ms']:.3f}, max {late['max_ms']:.2f}; drift {late['drift_ms']:+.3f}")
    for name, row in report["figures"].items():
        verdict = "aim" if row["value"] <= row["aim"] else "must" if row["value"] <= row["must"] else "MISSED"
        print(f"{name:20} {row['value']:.3f}   must {row['must']:g}, aim {row['aim']:g}: {verdict}")


if __name__ == "__main__":
    sys.exit(main())
