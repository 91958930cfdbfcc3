"""How long it takes until something is there: `rtdesk --help`, and the first tick of a live run.

    python benchmarks/startup.py [--json] [--rounds N]

* help: `python -m rtdesk --help` against `python -c pass`, interleaved rounds, medians and quartiles, and the number of modules each
  has loaded.
* first tick: from `LiveRun.start()` to the instant the conductor begins tick 0, with four children (Snake, `agile`, recorded), and until
  the desk has read it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

GOALS = {"help over bare interpreter": (5.0, 3.0), "first tick s": (1.5, 0.8)}
"""Row -> (must, aim). The second is for the first board on screen, of which this is the part without the screen."""

COUNT = "import sys\n{}\nprint(len(sys.modules), file=sys.stderr)"


def seconds(command: list[str]) -> float:
    """How long a command takes."""
    began = time.perf_counter()
    subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def modules(code: str) -> int:
    """How many modules an interpreter has loaded after `code`."""
    done = subprocess.run([sys.executable, "-c", COUNT.format(code)], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1])


def first_tick(folder: str, number: int) -> tuple[float, float]:
    """Seconds from start to the first tick, and to its being read here."""
    from replays import events as ev
    from workers.config import plan_episode
    from workers.live.desk import LiveRun

    config = plan_episode("snake", ticks=1)
    began = time.monotonic_ns()
    with LiveRun(config, record=os.path.join(folder, f"{number}.rtr")) as run:
        run.start()
        while not run.over:
            run.wait(0.05)
            for event in run.poll_game():
                if isinstance(event, ev.Tick):
                    read = time.monotonic_ns() - began
                    return (run.header.meas["epoch_ns"] - began) / 1e9, read / 1e9
        raise SystemExit(f"the live run failed: {run.failure}")


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return {"median": statistics.median(values), "q1": low, "q3": high}


def main() -> int:
    """Measure, print, and return 0 if every figure that must be reached was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds")
    options = parser.parse_args()
    bare, helped, begun, read = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            bare.append(seconds([sys.executable, "-c", "pass"]))
            helped.append(seconds([sys.executable, "-m", "rtdesk", "--help"]))
            tick, seen = first_tick(folder, number)
            begun.append(tick)
            read.append(seen)
    figures = {"help over bare interpreter": statistics.median(helped) / statistics.median(bare), "first tick s": statistics.median(read)}
    report: dict[str, Any] = {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "rounds": options.rounds,
        "bare_s": spread(bare),
        "help_s": spread(helped),
        "modules": {"bare": modules("pass"), "help": modules("from rtdesk.cli import run\nrun(['--help'])")},
        "first_tick_s": spread(begun),
        "first_tick_read_s": spread(read),
        "figures": {name: {"value": value, "must": GOALS[name][0], "aim": GOALS[name][1]} for name, value in figures.items()},
    }
    if options.json:
        print(json.dumps(report))
    else:
        show(report)
    return int(any(row["value"] > row["must"] for row in report["figures"].values()))


def show(report: dict[str, Any]) -> None:
    """The report in a few lines."""
    print(f"{report['machine']}, Python {report['python']}, {report['rounds']} rounds")
    for name in ("bare_s", "help_s", "first_tick_s", "first_tick_read_s"):
        row = report[name]
        print(f"  {name:18} median {row['median']:.3f}   quartiles {row['q1']:.3f} to {row['q3']:.3f}")
    print(f"  modules loaded: bare {report['modules']['bare']}, help {report['modules']['help']}")
    for name, row in report["figures"].items():
        verdict = "aim" if row["value"] <= row["aim"] else "must" if row["value"] <= row["must"] else "MISSED"
        print(f"{name:28} {row['value']:.2f}   must {row['must']:g}, aim {row['aim']:g}: {verdict}")


if __name__ == "__main__":
    sys.exit(main())
