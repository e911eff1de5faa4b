from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from attnlab.errors import UsageError
from attnlab.measures.intervals import Interval, interval_over_examples, interval_over_seeds

GENERATOR = np.random.default_rng(0)
NAN = float("nan")


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def test_says_what_it_is_over() -> None:
    table = GENERATOR.random((3, 20))
    assert [interval.over for interval in (interval_over_examples(table[0]), interval_over_seeds(table[:, 0]))] == [
        "examples",
        "seeds",
    ]


def test_equals_scipys_bootstrap() -> None:
    values = GENERATOR.random(300) ** 3
    ours = interval_over_examples(values, resamples=20_000)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-3)


def test_two_seeds_give_the_quantiles_that_can_be_worked_out() -> None:
    # The means of two draws from {0, 1} are 0, 1/2 and 1, with chances 1/4, 1/2 and 1/4.
    assert interval_over_seeds([0, 1]) == Interval(0, 1, 0.95, "seeds")
    assert interval_over_seeds([0, 1], level=0.4) == Interval(0.5, 0.5, 0.4, "seeds")


def test_covers_the_truth_as_often_as_it_says() -> None:
    samples = np.random.default_rng(3).random((300, 60)) < 0.4
    intervals = [interval_over_examples(sample, level=0.9, resamples=500) for sample in samples]
    assert 0.84 <= np.mean([interval.low <= 0.4 <= interval.high for interval in intervals]) <= 0.95


def test_groups_are_drawn_whole() -> None:
    # Four copies of each value are no more than one of each: the same draws give the same interval.
    values = GENERATOR.random(50)
    copies, groups = np.repeat(values, 4), np.repeat([f"sentence {k}" for k in range(50)], 4)
    single, grouped, ignored = (
        interval_over_examples(values),
        interval_over_examples(copies, groups=groups),
        interval_over_examples(copies),
    )
    assert width(ignored) < 0.7 * width(single)
    # Groups are drawn in the order of their names, so the draws differ; the widths may not.
    assert width(grouped) == pytest.approx(width(single), rel=0.1)


def test_groups_of_different_size_weigh_by_their_rows() -> None:
    # The mean is over rows: resamples of {one row of 1} and {three rows of 0} have the means 0, 1/4 and 1.
    interval = interval_over_examples([1, 0, 0, 0], groups=[0, 1, 1, 1], level=0.4)
    assert (interval.low, interval.high) == (0.25, 0.25)


def test_undefined_rows_are_left_out() -> None:
    values = GENERATOR.random(40)
    gaps = np.insert(values, [0, 7, 7, 40], NAN)
    assert interval_over_examples(gaps) == interval_over_examples(values)
    interval = interval_over_seeds([0.2, NAN, 0.6, 0.7])  # undefined for one of four runs
    assert interval.low < 0.5 < interval.high


def test_a_single_example_or_seed_has_no_interval() -> None:
    assert interval_over_examples([0.5]) is None
    assert interval_over_examples([0.5, NAN]) is None
    assert interval_over_examples([0.5, 0.7], groups=["a", "a"]) is None
    assert interval_over_seeds([0.5]) is None


def test_the_seed_decides_and_global_generators_are_left_alone() -> None:
    values = GENERATOR.random(30)
    before = np.random.get_state()[1].tolist()
    assert interval_over_examples(values) == interval_over_examples(values)
    assert interval_over_examples(values) != interval_over_examples(values, seed=1)
    assert np.random.get_state()[1].tolist() == before


def test_many_examples_are_drawn_in_parts() -> None:
    # Half a million rows a resample: held all at once these would be 4 GB.
    values = GENERATOR.random(500_000)
    interval = interval_over_examples(values, resamples=20)
    assert interval.low < values.mean() < interval.high and width(interval) < 0.003


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interval_over_examples([]), "some must be defined"),
        (lambda: interval_over_examples([NAN, NAN]), "some must be defined"),
        (lambda: interval_over_examples([1, float("inf")]), "finite"),
        (lambda: interval_over_examples([[1, 2]]), "one value a row"),
        (lambda: interval_over_seeds([[1, 2]]), "one value a run"),
        (lambda: interval_over_examples([1, 2], groups=[1]), "label for each of the 2 rows"),
        (lambda: interval_over_examples([1, 2], level=1), "level"),
        (lambda: interval_over_examples([1, 2], resamples=0), "resample"),
        (lambda: interval_over_examples([1, 2], seed=-1), "seed"),
    ],
)
def test_bad_input_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
