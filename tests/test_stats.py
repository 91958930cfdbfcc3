"""The statistics of every table against figures worked out by hand, or otherwise."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest

from rtdesk.stats import bootstrap, holm, interval, sign_flip, wilson


@pytest.mark.parametrize(("hits", "count", "ends"), [(0, 8, (0, 0.3244)), (8, 8, (0.6756, 1)), (3, 8, (0.1368, 0.6943)), (1, 1, (0.2065, 1))])
def test_intervals_of_rates_are_wilsons(hits: int, count: int, ends: tuple[float, float]) -> None:
    """Case E10."""
    assert tuple(round(end, 4) for end in wilson(hits, count)) == ends


def test_eight_equal_values_have_an_interval_of_some_width() -> None:
    """Case E10: 8 of 8 is not "always", and 0 of 8 not "never"."""
    assert interval([[1.0] * 8]) == (wilson(8, 8), "wilson")
    assert interval([[0.0] * 8]) == (wilson(0, 8), "wilson")
    assert interval([[0.5] * 8], unit=False) == (None, "none")
    assert interval([[0.5]]) == (None, "none")
    assert interval([]) == (None, "none")
    # One episode of a game says nothing of how others would go, whatever is known of another game.
    assert interval([[0.1, 0.2, 0.3], [0.5]]) == (None, "none")
    assert interval([[0.5, 0.5], [1.0, 1.0]]) == (wilson(3, 4), "wilson")


def test_the_bootstrap_is_the_same_on_each_call_and_is_one() -> None:
    values = [0.1, 0.4, 0.45, 0.5, 0.8, 0.9, 0.2, 0.6]
    low, high = bootstrap([values])
    assert (low, high) == bootstrap([values])
    # By the normal approximation, to which the mean of eight is near.
    half = 1.96 * statistics.pstdev(values) / math.sqrt(8)
    assert low == pytest.approx(statistics.fmean(values) - half, abs=0.02)
    assert high == pytest.approx(statistics.fmean(values) + half, abs=0.02)
    rng = np.random.default_rng(0)
    means = np.asarray(values)[rng.integers(0, 8, size=(20_000, 8))].mean(axis=1)
    assert (low, high) == tuple(np.percentile(means, [2.5, 97.5]))


def test_groups_are_drawn_from_one_by_one() -> None:
    """Two games that differ by much, and do not vary inside by much: their mean is known well."""
    low, high = bootstrap([[0.1, 0.12, 0.11, 0.1], [0.9, 0.91, 0.9, 0.92]])
    assert high - low < 0.02
    assert low < statistics.fmean([0.1075, 0.9075]) < high


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0, 1.0, 1.0, 1.0], 2 / 16),
        ([0.5, 0.25, -0.25], 6 / 8),
        ([0.0, 0.0], None),
        ([], None),
        ([0.3], 1.0),
    ],
)
def test_the_paired_test_counts_flips(differences: list[float], p: float | None) -> None:
    assert sign_flip(differences) == p


def test_the_paired_test_is_that_of_all_flips_laid_out() -> None:
    """Whole numbers of points, so that ties are ties; scores are these by 24, and rounding is to break none."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        points = rng.integers(-4, 5, rng.integers(1, 11))
        flips = np.array(list(itertools.product((1, -1), repeat=len(points))))
        expected = float(np.mean(np.abs(flips @ points) >= abs(points.sum()))) if points.any() else None
        assert sign_flip([float(value) / 24 for value in points]) == expected


def test_the_paired_test_of_many_pairs_is_drawn_and_never_zero() -> None:
    assert sign_flip([1.0] * 40) == 1 / 20_001
    assert sign_flip([1.0, -1.0] * 20) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("count", [17, 24])
def test_many_values_are_drawn_in_parts_with_the_same_result(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [(7 * place % 11 - 4) / 24 for place in range(count)]
    p, ends = sign_flip(values), bootstrap([values], draws=2000)
    monkeypatch.setattr("rtdesk.stats.AT_ONCE", 1000)
    assert sign_flip(values) == p
    assert bootstrap([values], draws=2000) == pytest.approx(ends, abs=0.02)


def test_many_tests_are_corrected_by_holm() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [0.03, None, 0.06, 0.06]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize(("seeds", "holds"), [(2, 0.5), (8, 0.9), (32, 0.94)])
def test_the_bootstrap_holds_the_truth_as_often_as_the_docs_say(seeds: int, holds: float) -> None:
    """The mean of values spread evenly over 0 to 1 is a half."""
    rng = np.random.default_rng(7)
    ends = [bootstrap([rng.random(seeds).tolist()], draws=500, seed=draw) for draw in range(500)]
    assert statistics.fmean(low <= 0.5 <= high for low, high in ends) == pytest.approx(holds, abs=0.05)
