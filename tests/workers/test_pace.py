"""Pace is arithmetic: when a token is due, and what pause, step and speed do to it."""

from __future__ import annotations

import math

import pytest

from workers.pace import KEEP_NS, Pacer, Tempo

S = 1_000_000_000


def test_tokens_are_due_on_a_straight_line() -> None:
    pacer = Pacer(at=100, t_ns=5 * S, rate=50)
    assert pacer.due_ns(150) == 6 * S
    assert pacer.position(7 * S) == 200
    assert pacer.position(4 * S) == 100
    assert pacer.due_ns(90) == 5 * S


def test_unpaced_is_due_at_once_and_paused_never() -> None:
    assert Pacer().position(0) == math.inf
    assert Pacer(t_ns=3).due_ns(10**9) == 3
    paused = Pacer(at=10, t_ns=S, rate=0)
    assert paused.due_ns(11) == math.inf
    assert paused.position(99 * S) == 10


def test_change_goes_on_from_where_time_stands() -> None:
    pacer = Pacer(rate=1000)
    pacer.change(S, 10, most=8192)
    assert (pacer.position(S), pacer.position(2 * S)) == (1000, 1010)
    pacer.change(2 * S, math.inf, most=8192)
    pacer.change(3 * S, 0, most=8192)
    assert pacer.position(9 * S) == 8192


def test_small_lateness_keeps_the_schedule_so_that_ticks_do_not_drift() -> None:
    pacer = Pacer(rate=1000)
    for tick in range(1, 1000):
        pacer.begin(tick * 100, tick * S // 10 + 3_000_000)
    assert pacer.due_ns(100_000) == 100 * S


def test_long_lateness_is_not_made_up_for() -> None:
    pacer = Pacer(rate=1000)
    pacer.begin(100, S // 10 + KEEP_NS + 1)
    assert pacer.due_ns(200) == 2 * S // 10 + KEEP_NS + 1


def tempo(rate: float = 1000.0) -> Tempo:
    return Tempo(rate, tick_tokens=100)


def test_pause_and_resume_take_effect_at_once_in_token_time() -> None:
    pace = tempo()
    pace.begin(0, 0)
    assert pace.take("pause", "", S // 20, upto=100)
    assert pace.paused
    assert (pace.frame().at, pace.frame().rate) == (50, 0)  # type: ignore[union-attr]
    assert not pace.take("pause", "", S, upto=100)
    assert pace.take("resume", "", 10 * S, upto=100)
    assert pace.due_ns(100) == 10 * S + S // 20
    assert not pace.take("resume", "", 11 * S, upto=100)


def test_step_plays_to_the_end_of_the_tick() -> None:
    pace = tempo()
    pace.take("pause", "", 0, upto=100)
    assert pace.take("step", "", S, upto=100)
    assert not pace.paused
    assert pace.due_ns(100) == S + S // 10
    assert pace.tick_over(2 * S, at=100)
    assert pace.paused
    assert not pace.tick_over(3 * S, at=200)
    assert pace.due_ns(101) == math.inf


@pytest.mark.parametrize("value", ["", "fast", "-1", "0", "nan"])
def test_what_is_no_rate_changes_nothing(value: str) -> None:
    pace = tempo()
    assert not pace.take("rate", value, S, upto=100)
    assert pace.due_ns(100) == S // 10


def test_rate_is_in_ticks_a_second_and_outlives_a_pause() -> None:
    pace = tempo()
    pace.take("pause", "", 0, upto=100)
    assert pace.take("rate", "2", 0, upto=100)
    assert pace.due_ns(100) == math.inf
    pace.take("resume", "", 0, upto=100)
    assert pace.due_ns(100) == S // 2
    assert pace.take("rate", "max", 0, upto=100)
    assert pace.frame().rate == math.inf  # type: ignore[union-attr]


def test_unpaced_run_can_be_paused_where_its_tick_ends() -> None:
    pace = Tempo(math.inf, tick_tokens=100)
    assert not pace.paced
    assert pace.frame() is None
    assert pace.take("pause", "", S, upto=300)
    assert pace.paced
    assert (pace.due_ns(300), pace.due_ns(301)) == (S, math.inf)
    pace.take("resume", "", 2 * S, upto=300)
    assert pace.due_ns(10**9) == 2 * S


def test_wall_time_pauses_at_the_tick_end_only() -> None:
    pace = Tempo(math.inf, tick_tokens=None)
    assert not pace.take("rate", "2", 0, upto=0)
    assert not pace.take("pause", "", 0, upto=0)
    assert not pace.paused
    assert pace.tick_over(0, at=0)
    assert pace.paused
    assert pace.take("step", "", 0, upto=0)
    assert not pace.paused
    assert pace.tick_over(0, at=0)
    assert pace.take("resume", "", 0, upto=0)
    assert not pace.take("pause", "", 0, upto=0)
    assert not pace.take("resume", "", 0, upto=0)
    assert not pace.tick_over(0, at=0)
    assert not pace.paced


def test_unknown_wish_changes_nothing() -> None:
    assert not tempo().take("jump", "7", 0, upto=100)
