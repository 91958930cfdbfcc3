"""Game steps per second, with a snapshot after every step and resets included, against the reference package.

    python benchmarks/games.py [--json] [--rounds N]

What is measured: random legal actions, a snapshot after each step, `reset` with the next of the reference's seeds whenever an episode
ends. Every round begins with empty level caches, so building levels is in the figure, as it is in the reference's. Rounds of all rows
are interleaved and the median is reported, with the quartiles as spread.

The reference package cannot be installed from a registry, so its figures are constants, measured on a machine with 2 cores. A loop of
plain Python, run in the same rounds, says how fast this machine is beside one that runs it LOOP_REFERENCE times a second, and scales
them. That loop rate is not a figure of the reference measurement: it was taken on a 2-core machine of the same kind (Python 3.11),
so ratios are good to about the spread between two such machines.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from games import make, snake
from games.freeway import traffic

LOOP_REFERENCE = 530_000.0
"""Calibration loops a second on the machine the reference figures are taken to be from."""

# Row -> (game, load, reference steps/s, ratio that must be reached, ratio aimed at). The reference's Overcooked takes 138-244 ms for
# each reset, which its figure includes.
ROWS = {
    "freeway": ("freeway", "medium", 4_100, 10.0, 18.0),
    "snake easy": ("snake", "easy", 14_000, 2.5, 4.0),
    "snake medium": ("snake", "medium", 23_000, 2.5, 4.0),
    "snake hard": ("snake", "hard", 31_000, 2.5, 4.0),
    "overcooked": ("overcooked", "medium", 500, 50.0, 90.0),
}
SEEDS = {"freeway": 8, "snake": 32, "overcooked": 8}
STEPS = 15_000


def loops_per_second() -> float:
    """Return how often a second this machine runs a loop of the kind of work a game does: small lists, tuples, dict look-ups."""
    count = 3000
    table = {(x, y): x * y for x in range(8) for y in range(8)}
    start = time.perf_counter()
    for i in range(count):
        cells = [[x, (x * 3 + i) % 8] for x in range(8)]
        total = 0
        for x, y in cells:
            total += table[x, y] if x < y else -1
        cells = [[y, x] for x, y in cells if x != total]
    return count / (time.perf_counter() - start)


def steps_per_second(name: str, load: str, seed: int) -> float:
    """Return steps a second of one round of random play."""
    rng = random.Random(seed)
    game = make(name, load=load, seed=0)
    actions = rng.choices(game.legal_actions, k=STEPS)
    seeds = [rng.randrange(SEEDS[name]) for _ in range(STEPS)]
    snake.level.cache_clear()
    traffic.traffic_of.cache_clear()
    traffic.level_seed.cache_clear()
    start = time.perf_counter()
    game.reset(0)
    for action in actions:
        result = game.step(action)
        game.snapshot()
        if result.done:
            game.reset(seeds.pop())
    return STEPS / (time.perf_counter() - start)


def measured(rounds: int) -> dict[str, list[float]]:
    """Return the rates of every row and of the loop, one a round, the rows taking turns."""
    work: dict[str, Callable[[int], float]] = {"loop": lambda _: loops_per_second()}
    for row, (name, load, *_) in ROWS.items():
        work[row] = lambda seed, name=name, load=load: steps_per_second(name, load, seed)  # type: ignore[misc]
    rates: dict[str, list[float]] = {row: [] for row in work}
    for seed in range(rounds):
        for row, run in work.items():
            rates[row].append(run(seed))
    return rates


def report(rounds: int) -> dict[str, object]:
    """Return machine, loop and one figure a row."""
    rates = measured(rounds)
    speed = statistics.median(rates["loop"]) / LOOP_REFERENCE
    figures = []
    for row, (_, _, reference, must, aim) in ROWS.items():
        median = statistics.median(rates[row])
        low, _, high = statistics.quantiles(rates[row], n=4)
        ratio = median / (reference * speed)
        figures.append(
            {
                "row": row,
                "steps_per_s": round(median),
                "quartiles": [round(low), round(high)],
                "reference_steps_per_s": round(reference * speed),
                "ratio": round(ratio, 1),
                "must": must,
                "aim": aim,
                "reached": ratio >= must,
            }
        )
    machine = {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()}
    return {"machine": machine, "rounds": rounds, "machine_speed": round(speed, 2), "figures": figures}


def main() -> int:
    """Print the table; exit code 1 if a ratio that must be reached is not."""
    parser = argparse.ArgumentParser(description="game steps per second against the reference package")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (default 7; at least 2)")
    options = parser.parse_args()
    found = report(max(2, options.rounds))
    if options.json:
        print(json.dumps(found))
    else:
        machine = found["machine"]
        print(f"{machine}; {found['rounds']} rounds; this machine is {found['machine_speed']} x the reference's")
        print(f"{'':14}{'steps/s':>10}{'quartiles':>20}{'reference':>11}{'ratio':>8}{'must':>7}{'aim':>6}")
        for figure in found["figures"]:  # type: ignore[attr-defined]
            low, high = figure["quartiles"]
            print(
                f"{figure['row']:14}{figure['steps_per_s']:>10,}{f'{low:,}-{high:,}':>20}{figure['reference_steps_per_s']:>11,}"
                f"{figure['ratio']:>8}{figure['must']:>7}{figure['aim']:>6}{'' if figure['reached'] else '  MISSED'}"
            )
    return 0 if all(figure["reached"] for figure in found["figures"]) else 1  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
