import random

import numpy
import pytest

from games.rng import SEED_MAX, Legacy, Tape

SEEDS = (0, 1, 7, 42, 1000, 2661, 999_983, 2**31 - 1, SEED_MAX)


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_are_those_of_the_legacy_numpy_generator(seed: int) -> None:
    ours, theirs = Legacy(seed), numpy.random.RandomState(seed)
    for n in (1, 2, 3, 5, 8, 33, 100, 1025):
        assert ours.double() == theirs.rand()
        assert [ours.randint(-1, n) for _ in range(5)] == [int(theirs.randint(-1, n)) for _ in range(5)]
        assert ours.permutation(n) == theirs.choice(range(n), n, replace=False).tolist()
        ours_items, theirs_items = list(range(n)), list(range(n))
        ours.shuffle(ours_items)
        theirs.shuffle(theirs_items)
        assert ours_items == theirs_items
        assert ours.randint(0, n) == int(theirs.choice(range(n)))
        assert [ours.randint(0, 2) for _ in range(8)] == theirs.randint(0, 2, 8).tolist()


def test_a_long_stream_stays_equal_across_the_generator_s_own_refills() -> None:
    ours, theirs = Legacy(42), numpy.random.RandomState(42)
    assert [ours.output() for _ in range(3000)] == theirs.randint(0, 2**32, 3000, dtype=numpy.uint64).tolist()


def test_a_generator_put_at_a_position_goes_on_from_there() -> None:
    first = Legacy(5)
    choices = random.Random(3)
    for _ in range(200):
        choices.choice((first.double, first.output, lambda: first.upto(5)))()
    tape = Tape(5)
    later = Legacy(tape, first.draws)
    assert [later.output() for _ in range(50)] == [first.output() for _ in range(50)]
    assert Legacy(tape).output() == Legacy(5).output(), "readers of one tape do not disturb each other"


def test_a_choice_among_one_takes_no_output() -> None:
    rng = Legacy(1)
    assert rng.upto(0) == 0
    assert rng.draws == 0


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_the_generator_does_not_take_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        Legacy(seed)
