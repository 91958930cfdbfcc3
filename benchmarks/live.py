"""What processes cost: a live run against the simulator on the same episode, punctual wall ticks, and the simulator's own CPU.

    python benchmarks/live.py [--json] [--rounds N] [--seconds S]

* live over simulator: Snake medium, seed 0, `agile` with the builtin thinkers, 8,192 tokens a tick, unpaced and recorded. Live is counted
  from the first tick to `end`, so without start-up. Rounds are interleaved, medians compared, quartiles shown.
* lateness: `metronome` in wall time at 30 ticks a second with scripted thinkers, recorded, with the screen on a pseudo-terminal; how long
  after its absolute deadline each tick was stepped, and by how much the last tenth of the ticks is later than the first tenth (drift).
  `--seconds 600 --rounds 0` is the long run, and leaves out the rest.
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

from input import Terminal, environment

from replays import events as ev
from replays.reader import open_replay
from workers.config import Config, plan_episode
from workers.live.desk import LiveRun
from workers.simulator import run_simulation

EPISODE = {"game": "snake", "agent": "agile", "load": "medium", "seed": 0, "tick_budget": 8192}
HERTZ = 30
PATIENCE_S = 30.0
"""Seconds the desk may take to start, and to write its last tick."""
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
    """How late ticks at 30 Hz are, in milliseconds, told by the recording of a desk on a terminal of 120x36."""
    path = Path(folder) / "metronome.rtr"
    ticks = round(seconds * HERTZ)
    command = [sys.executable, "-m", "rtdesk", "play", "metronome", "--ticks", str(ticks), "--record", str(path)]
    command += ["--tick-budget", f"{1000 / HERTZ:.6f}ms", "--reactive-budget", "20ms"]
    scripts = {"planner": [{"tokens": 1_000_000}], "reactor": [{"tokens": 2, "chunks": [["\\boxed{B}", 3, "content"]]}]}
    for role, script in scripts.items():
        said = Path(folder) / f"{role}.json"
        said.write_text(json.dumps(script))
        command += [f"--{role}", f"scripted:{said}"]
    terminal = Terminal(command, (120, 36), environment(Path(folder)))
    try:
        terminal.idle(seconds)
        left = PATIENCE_S
        while not (done := path.exists() and ended(path)) and left > 0 and terminal.child.poll() is None:
            terminal.idle(0.5)
            left -= 0.5
    finally:
        terminal.close()
    if not done:
        raise SystemExit(f"the desk had not played {ticks} ticks {PATIENCE_S:.0f} s after they were due; its terminal showed {terminal.seen[-300:]!r}")
    with open_replay(path) as replay:
        events = list(replay)
    deadlines = {event.tick: event.deadline_ns or 0 for event in events if isinstance(event, ev.Tick)}
    late = [(event.t_ns - deadlines[event.tick]) / 1e6 for event in events if isinstance(event, ev.Step)]
    # A deadline that moved would hide a drift.
    moved = max(abs(deadline - round((tick + 1) * 1e9 / HERTZ)) for tick, deadline in deadlines.items()) / 1e6
    ordered, tenth = sorted(late), max(1, len(late) // 10)
    return {
        "ticks": len(late),
        "minutes": seconds / 60,
        "p50_ms": statistics.median(late),
        "p90_ms": ordered[int(0.9 * len(ordered))],
        "p99_ms": ordered[int(0.99 * len(ordered))],
        "max_ms": ordered[-1],
        "drift_ms": statistics.median(late[-tenth:]) - statistics.median(late[:tenth]),
        "deadlines_moved_ms": moved,
        "terminal_bytes_per_s": terminal.bytes / seconds,
    }


def ended(path: Path) -> bool:
    """Whether a recording has its end."""
    with open_replay(path) as replay:
        return replay.end is not None


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return {"median": statistics.median(values), "q1": low, "q3": high}


def main() -> int:
    """Measure, print, and return 0 if every figure that must be reached was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds; 0 for the punctuality run alone")
    parser.add_argument("--seconds", type=float, default=15.0, help="length of the punctuality run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compared = compare(options.rounds, folder) if options.rounds else None
        late = lateness(options.seconds, folder)
    figures = {"lateness p50 ms": late["p50_ms"]}
    if compared is not None:
        figures |= {"live over simulator": compared["ratio"], "simulator CPU s": compared["simulator_cpu_s"]["median"]}
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
    for name in ("simulator_s", "live_s", "simulator_cpu_s") if agile is not None else ():
        print(f"  {name:16} median {agile[name]['median']:.3f}   quartiles {agile[name]['q1']:.3f} to {agile[name]['q3']:.3f}")
    print(
        f"  lateness of {late['ticks']} ticks in {late['minutes']:.1f} min, ms: p50 {late['p50_ms']:.3f}, p90 {late['p90_ms']:.3f}, p99 {late['p99_ms']:.2f}, "
        f"max {late['max_ms']:.2f}; drift {late['drift_ms']:+.3f}, deadlines moved {late['deadlines_moved_ms']:.6f}"
    )
    for name, row in report["figures"].items():
        verdict = "aim" if row["value"] <= row["aim"] else "must" if row["value"] <= row["must"] else "MISSED"
        print(f"{name:20} {row['value']:.3f}   must {row['must']:g}, aim {row['aim']:g}: {verdict}")


if __name__ == "__main__":
    sys.exit(main())
