"""How fast streams were and how much the reactor needs, from a recording's events: TTFT, TPOT, T = alpha*N + beta, natural token use.

The one thing that surprises: a reactor stream that was cut says only that it needed more than it had. So its natural use is the
product-limit estimate, in which a cut stream counts as long as it ran and is then left out; where too many were cut, the curve ends
below 1 and the upper percentiles are unknown (None). Source: docs/design.md, Measuring; Kaplan and Meier, 1958.
"""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Any

from replays import events as ev

__all__ = ["StreamTimes", "fit_line", "natural_use", "spread", "weighted_spread"]

CUT = ("budget", "length")
POINTS = 100
"""Points of a CDF at most."""


class StreamTimes:
    """What one stream's events tell of its speed; fed in file order."""

    def __init__(self) -> None:
        self._gaps = array("d")
        self._weights = array("L")
        self._told: dict[str, list[float]] = {"ttft_s": [], "tpot_s": []}
        self._sizes = array("d")
        self._seconds = array("d")
        self._began: int | None = None
        self._last: int | None = None
        self._first_ns: int | None = None
        self._waits: list[float] = []
        self.used: list[tuple[int, bool]] = []
        """(tokens, whether it was cut) of each generation that ended by itself or was cut."""

    def start(self, event: ev.Generation) -> None:
        self._began, self._last, self._first_ns = event.t_ns, None, None

    def tokens(self, event: ev.Token) -> None:
        """Take a run of tokens: those of one frame came together, so the gap before it is shared among them."""
        for count, t_ns in _arrivals(event):
            if self._first_ns is None:
                self._first_ns = t_ns
            elif self._last is not None:
                self._gaps.append(max(0, t_ns - self._last) / 1e9 / count)
                self._weights.append(count)
            self._last = t_ns

    def end(self, event: ev.Generation) -> None:
        told = event.meas.get("ttft_s")
        for name, kept in self._told.items():
            value = event.meas.get(name)
            if isinstance(value, int | float) and math.isfinite(value):
                kept.append(float(value))
        if self._began is not None:
            if told is None and self._first_ns is not None:
                self._waits.append(max(0, self._first_ns - self._began) / 1e9)
            if event.finish in ("stop", *CUT) and event.clock_tokens > 0:
                self._sizes.append(event.clock_tokens)
                self._seconds.append(max(0, event.t_ns - self._began) / 1e9)
        if event.finish in ("stop", *CUT):
            self.used.append((event.clock_tokens, event.finish in CUT))
        self._began = self._last = self._first_ns = None

    def summary(self) -> dict[str, Any]:
        """Return `ttft_s` and `tpot_s` ({median, p90} or None), and `fit` of seconds over tokens of its generations.

        What the thinker measured itself goes before what the recorder saw; in a paced run the latter is the pace.
        """
        tpot = weighted_spread(self._gaps, self._weights) if self._gaps else spread(self._told["tpot_s"])
        return {"ttft_s": spread(self._told["ttft_s"] or self._waits), "tpot_s": tpot, "fit": fit_line(self._sizes, self._seconds)}


def _arrivals(event: ev.Token) -> Iterable[tuple[int, int]]:
    """Return (tokens, t_ns) of each frame of a run; the run itself where the file does not tell."""
    told = event.meas.get("arrivals") or [[len(event.lens), event.t_ns]]
    return [(count, t_ns) for count, t_ns in told if 0 < count < 1 << 32]


def spread(values: list[float]) -> dict[str, float] | None:
    """Return median and 90th percentile (nearest rank), None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return {"median": statistics.median(ordered), "p90": ordered[max(0, math.ceil(0.9 * len(ordered)) - 1)]}


def weighted_spread(values: Iterable[float], weights: Iterable[int]) -> dict[str, float] | None:
    """Return median and 90th percentile (nearest rank) where each value counts as often as its weight says.

    >>> weighted_spread([1.0, 5.0], [9, 1])
    {'median': 1.0, 'p90': 1.0}
    """
    pairs = sorted(zip(values, weights))
    total = sum(weight for _, weight in pairs)
    if not total:
        return None
    found: dict[str, float] = {}
    seen = 0
    for value, weight in pairs:
        seen += weight
        for name, share in (("median", 0.5), ("p90", 0.9)):
            if name not in found and seen >= share * total:
                found[name] = value
    return found


def fit_line(sizes: Iterable[float], seconds: Iterable[float]) -> dict[str, float] | None:
    """Return the least-squares line T = alpha*N + beta as {alpha, beta, r2, generations}: seconds a token, seconds, share explained.

    None with fewer than three points, or where all have the same N.

    >>> fit_line([100, 200, 300], [2.0, 3.0, 4.0])
    {'alpha': 0.01, 'beta': 1.0, 'r2': 1.0, 'generations': 3}
    """
    points = list(zip(sizes, seconds))
    count = len(points)
    if count < 3:
        return None
    mean_n, mean_t = (sum(point[i] for point in points) / count for i in (0, 1))
    across = sum((n - mean_n) ** 2 for n, _ in points)
    if not across:
        return None
    alpha = sum((n - mean_n) * (t - mean_t) for n, t in points) / across
    beta = mean_t - alpha * mean_n
    whole = sum((t - mean_t) ** 2 for _, t in points)
    left = sum((t - alpha * n - beta) ** 2 for n, t in points)
    return {"alpha": alpha, "beta": beta, "r2": 1 - left / whole if whole else 1.0, "generations": count}


def natural_use(used: list[tuple[int, bool]]) -> dict[str, Any] | None:
    """Return how many tokens streams would use if none were cut, from (tokens, whether it was cut) of each; None without any.

    `cdf` is [[tokens, share of streams that need no more], ...], at most 100 points; percentiles beyond its end are None.

    >>> natural_use([(10, False), (20, False), (20, True), (40, False)])["cdf"]
    [[10, 0.25], [20, 0.5], [40, 1.0]]
    """
    if not used:
        return None
    whole = Counter(tokens for tokens, cut in used if not cut)
    cuts = Counter(tokens for tokens, cut in used if cut)
    at_risk, left = len(used), 1.0
    curve: list[list[float]] = []
    # A stream cut at n tokens was still running when others ended there.
    for tokens in sorted({*whole, *cuts}):
        if whole[tokens]:
            left *= 1 - whole[tokens] / at_risk
            curve.append([tokens, round(1 - left, 6)])
        at_risk -= whole[tokens] + cuts[tokens]
    marks = {f"p{round(100 * share)}": next((tokens for tokens, reached in curve if reached >= share - 1e-6), None) for share in (0.5, 0.9, 0.95)}
    if len(curve) > POINTS:
        curve = [curve[round(i * (len(curve) - 1) / (POINTS - 1))] for i in range(POINTS)]
    return {"streams": len(used), "cut": sum(cuts.values()), **marks, "most": max(tokens for tokens, _ in used), "cdf": curve}
