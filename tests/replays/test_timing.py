"""Speeds, fits and natural token use, by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest

from replays import events as ev
from replays.timing import StreamTimes, fit_line, natural_use, weighted_spread


def generation(phase: str, t_ns: int, **fields: Any) -> ev.Generation:
    return ev.Generation(tick=0, t_ns=t_ns, stream="reactor", id=0, phase=phase, **fields)


def run_of(arrivals: list[list[int]]) -> ev.Token:
    count = sum(tokens for tokens, _ in arrivals)
    return ev.Token(tick=0, t_ns=arrivals[0][1], stream="reactor", generation=0, channel="content", text="x" * count, lens=[1] * count, meas={"arrivals": arrivals})


def test_the_gap_before_a_frame_is_shared_by_its_tokens() -> None:
    times = StreamTimes()
    times.start(generation("start", 1_000_000_000))
    times.tokens(run_of([[1, 1_500_000_000], [10, 2_500_000_000], [1, 4_500_000_000]]))
    times.end(generation("end", 4_600_000_000, finish="stop", clock_tokens=12))
    found = times.summary()
    assert found["ttft_s"] == {"median": 0.5, "p90": 0.5}
    # Ten gaps of 0.1 s and one of 2 s.
    assert found["tpot_s"] == {"median": 0.1, "p90": 0.1}
    assert found["fit"] is None


def test_what_a_thinker_measured_itself_goes_before_what_was_seen() -> None:
    times = StreamTimes()
    times.start(generation("start", 0))
    times.tokens(run_of([[4, 900_000_000]]))
    times.end(generation("end", 1_000_000_000, finish="stop", clock_tokens=4, meas={"ttft_s": 0.25, "tpot_s": 0.01}))
    assert times.summary()["ttft_s"] == {"median": 0.25, "p90": 0.25}
    # One frame has no gaps to look at.
    assert times.summary()["tpot_s"] == {"median": 0.01, "p90": 0.01}


def test_a_fit_over_generations_gives_seconds_a_token_and_the_wait() -> None:
    times = StreamTimes()
    for n in (100, 250, 600):
        times.start(generation("start", 0))
        times.tokens(run_of([[n, 1]]))
        times.end(generation("end", round((0.004 * n + 0.7) * 1e9), finish="stop", clock_tokens=n))
    fit = times.summary()["fit"]
    assert (fit["alpha"], fit["beta"], fit["r2"]) == (pytest.approx(0.004), pytest.approx(0.7), pytest.approx(1.0))


def test_a_fit_needs_three_points_and_two_lengths() -> None:
    assert fit_line([1, 2], [1.0, 2.0]) is None
    assert fit_line([5, 5, 5], [1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("arrivals", [[[0, 5]], [[1 << 40, 5]], [], None])
def test_frames_without_tokens_are_passed_over(arrivals: Any) -> None:
    times = StreamTimes()
    times.start(generation("start", 0))
    times.tokens(ev.Token(tick=0, t_ns=7, stream="reactor", generation=0, channel="content", text="xy", lens=[1, 1], meas={"arrivals": arrivals}))
    times.tokens(ev.Token(tick=0, t_ns=9, stream="reactor", generation=0, channel="content", text="", lens=[]))
    times.end(generation("end", 10, finish="stop", clock_tokens=2, meas={"ttft_s": "fast", "tpot_s": float("inf")}))
    assert times.summary() == {"ttft_s": None, "tpot_s": None, "fit": None}


def test_weights_count_as_so_many_values() -> None:
    rng = random.Random(3)
    pairs = [(rng.random(), rng.randint(1, 9)) for _ in range(50)]
    flat = sorted(value for value, weight in pairs for _ in range(weight))
    found = weighted_spread(*zip(*pairs))
    assert found == {"median": flat[-(-len(flat) // 2) - 1], "p90": flat[-(-len(flat) * 9 // 10) - 1]}
    assert weighted_spread([], []) is None


def test_natural_use_without_cuts_is_the_plain_distribution() -> None:
    found = natural_use([(tokens, False) for tokens in (10, 20, 30, 40)])
    assert found is not None
    assert found["cdf"] == [[10, 0.25], [20, 0.5], [30, 0.75], [40, 1.0]]
    assert (found["p50"], found["p90"], found["cut"], found["most"]) == (20, 40, 0, 40)


def test_a_cut_stream_counts_as_longer_than_it_ran() -> None:
    # Kaplan and Meier by hand: 4 at risk, one ends at 10; one is cut at 20; of the 2 left one ends at 30.
    found = natural_use([(10, False), (20, True), (30, False), (40, True)])
    assert found is not None
    assert found["cdf"] == [[10, 0.25], [30, 0.625]]
    assert (found["p50"], found["p90"], found["cut"]) == (30, None, 2)


def test_nothing_but_cuts_leaves_it_unknown() -> None:
    found = natural_use([(64, True)] * 5)
    assert found is not None
    assert (found["cdf"], found["p50"], found["most"]) == ([], None, 64)
    assert natural_use([]) is None


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    found = natural_use([(tokens, False) for tokens in range(1, 5001)])
    assert found is not None
    assert len(found["cdf"]) == 100
    assert (found["cdf"][0][0], found["cdf"][-1]) == (1, [5000, 1.0])
    assert found["p90"] == 4500
