"""The statistics of every table: intervals of means and rates, and the paired test. Pure; the same data give the same figures.

The one thing that surprises: an interval is never of no width because all values happen to be equal. Eight wins of eight say less than
"always", so there the interval of a rate (Wilson) stands in, which for values between 0 and 1 is on the safe side.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

__all__ = ["DRAWS", "EXACT_PAIRS", "bootstrap", "holm", "interval", "percentiles", "said_p", "sign_flip", "wilson"]

EXACT_PAIRS = 16
DRAWS = 20_000
AT_ONCE = 1 << 22
"""Drawn numbers held at a time, 32 MiB of them."""
Z95 = 1.959963984540054


def wilson(hits: float, count: int) -> tuple[float, float]:
    """Return the 95 % score interval of a rate. Source: Wilson, 1927.

    >>> [round(end, 4) for end in wilson(8, 8)]
    [0.6756, 1.0]
    """
    rate = hits / count
    middle = rate + Z95**2 / (2 * count)
    half = Z95 * math.sqrt(rate * (1 - rate) / count + Z95**2 / (4 * count**2))
    whole = 1 + Z95**2 / count
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def bootstrap(groups: Sequence[Sequence[float]], *, draws: int = DRAWS, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean over groups of the groups' means; each group is drawn from by itself."""
    import numpy as np

    rng = np.random.default_rng(seed)
    total = np.zeros(draws)
    for group in groups:
        values = np.asarray(group, dtype=float)
        # Of thousands of seeds not all draws at once: they would be gigabytes.
        block = max(1, min(draws, AT_ONCE // len(values)))
        for first in range(0, draws, block):
            size = min(block, draws - first)
            total[first : first + size] += values[rng.integers(0, len(values), size=(size, len(values)))].mean(axis=1)
    low, high = np.percentile(total / len(groups), [2.5, 97.5])
    return float(low), float(high)


def interval(groups: Sequence[Sequence[float]], *, unit: bool = True) -> tuple[tuple[float, float] | None, str]:
    """Return (95 % interval, how it was made) of the mean over groups of the groups' means; `unit` says that values lie in [0, 1].

    How: `bootstrap`; `wilson` where no value differs from the others of its group; `none` (no interval) where a group has fewer than two.
    """
    count = sum(len(group) for group in groups)
    if not groups or any(len(group) < 2 for group in groups):
        return None, "none"
    if all(len(set(group)) == 1 for group in groups):
        if not unit:
            return None, "none"
        mean = statistics.fmean(statistics.fmean(group) for group in groups)
        return wilson(min(1.0, max(0.0, mean)) * count, count), "wilson"
    return bootstrap(groups), "bootstrap"


def sign_flip(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of a paired sign-flip permutation test; None if all differences are zero, or there are none.

    All flips up to 16 pairs, 20,000 drawn ones beyond.

    >>> sign_flip([1.0, 1.0, 1.0, 1.0])
    0.125
    """
    if not any(differences):
        return None
    import numpy as np

    # Sums that differ by rounding alone are the same sum.
    observed = abs(sum(differences)) - 1e-12
    if len(differences) <= EXACT_PAIRS:
        sums = np.zeros(1)
        for difference in differences:
            sums = np.concatenate((sums + difference, sums - difference))
        return float(np.mean(np.abs(sums) >= observed))
    hit = int(np.sum(np.abs(_drawn_sums(differences)) >= observed))
    # The observed signs are one of the flips, so p is never 0.
    return (hit + 1) / (DRAWS + 1)


def _drawn_sums(differences: Sequence[float]) -> Any:
    """Return the sums of 20,000 drawn flips, the same flips for as many differences."""
    import numpy as np

    if DRAWS * len(differences) <= AT_ONCE:
        return _drawn_flips(len(differences)) @ np.asarray(differences, dtype=float)
    rng = random.Random(0)
    return np.fromiter((sum(d if rng.random() < 0.5 else -d for d in differences) for _ in range(DRAWS)), dtype=float, count=DRAWS)


@lru_cache(maxsize=4)
def _drawn_flips(count: int) -> Any:
    """Return 20,000 drawn flips of `count` signs, +1 and -1. A report has hundreds of tests of few sizes, and drawing takes the most time."""
    import numpy as np

    rng = random.Random(0)
    drawn = np.fromiter((rng.random() for _ in range(DRAWS * count)), dtype=float, count=DRAWS * count)
    return np.where(drawn < 0.5, 1.0, -1.0).reshape(DRAWS, count)


def said_p(p: float | None) -> str:
    """Return how a p of `sign_flip` is written down; it is never zero.

    >>> [said_p(p) for p in (0.125, 1 / 20_001, None)]
    ['p = 0.1250', 'p < 0.0001', 'n/a (identical episodes)']
    """
    if p is None:
        return "n/a (identical episodes)"
    # The least that 20,000 draws give, rounded as it may be, is no 0.0001.
    return "p < 0.0001" if p <= 0.00005 else f"p = {p:.4f}"


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return each p as it stands when all of them are looked at together; None stays None. Source: Holm, 1979.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    out: list[float | None] = [None] * len(ps)
    worst = 0.0
    for rank, (p, place) in enumerate(known):
        worst = max(worst, min(1.0, p * (len(known) - rank)))
        out[place] = worst
    return out


def percentiles(lengths: Iterable[int]) -> dict[str, int]:
    """Return 5th, 50th and 95th percentile and the greatest; zeros without any."""
    ranked = sorted(lengths) or [0]
    return {name: ranked[min(len(ranked) - 1, int(len(ranked) * q))] for name, q in (("p5", 0.05), ("p50", 0.5), ("p95", 0.95), ("max", 1.0))}
