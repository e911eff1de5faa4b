import itertools
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attnlab.errors import UsageError
from attnlab.stats.bootstrap import (
    Interval,
    bootstrap_difference,
    bootstrap_interval,
    drawn_counts,
    drawn_rows,
    interval_over_examples,
    interval_over_pairs,
    interval_over_seeds,
    means_of_drawn,
    resampled_rows,
    value_and_interval,
)

GENERATOR = np.random.default_rng(0)
NAN = float("nan")


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def test_says_what_it_is_over() -> None:
    values = GENERATOR.random(20)
    assert (interval_over_examples(values).over, interval_over_seeds(values).over) == ("examples", "seeds")


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
    interval = interval_over_seeds(gaps)  # a run without a value is drawn, and counts for nothing
    assert interval.low < np.nanmean(gaps) < interval.high


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


# --- one value a seed

samples = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)
STEPS = [40.0, 40.0, 50.0, 60.0, 60.0, 70.0, 90.0, 110.0, 150.0, 190.0]
CONTROL = [30.0, 30.0, 40.0, 40.0, 40.0, 50.0]


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_interval_equals_scipys_bootstrap(statistic: str) -> None:
    expected = stats.bootstrap(
        (STEPS,), getattr(np, statistic), n_resamples=50_000, method="percentile", rng=np.random.default_rng(7)
    ).confidence_interval
    found = bootstrap_interval(STEPS, statistic, resamples=50_000)
    assert found == pytest.approx((expected.low, expected.high), abs=2.5)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_difference_equals_scipys_bootstrap(statistic: str) -> None:
    reduce = getattr(np, statistic)
    expected = stats.bootstrap(
        (STEPS, CONTROL),
        lambda a, b, axis: reduce(a, axis=axis) - reduce(b, axis=axis),
        n_resamples=50_000,
        method="percentile",
        rng=np.random.default_rng(7),
    ).confidence_interval
    found = bootstrap_difference(STEPS, CONTROL, statistic, resamples=50_000)
    assert found == pytest.approx((expected.low, expected.high), abs=2.5)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_interval_equals_all_resamples_of_a_small_sample(statistic: str) -> None:
    sample = [0.0, 1.0, 3.0, 10.0]
    every = [getattr(np, statistic)(chosen) for chosen in itertools.product(sample, repeat=4)]
    # At this level neither quantile sits on a step of the 256 values' distribution.
    low, high = np.quantile(every, [0.105, 0.895], method="inverted_cdf")
    assert bootstrap_interval(sample, statistic, level=0.79, resamples=200_000) == pytest.approx((low, high))


@given(samples, st.sampled_from(["mean", "median"]), st.integers(0, 3))
def test_interval_is_repeatable_and_within_the_sample(sample: list[float], statistic: str, seed: int) -> None:
    interval = bootstrap_interval(sample, statistic, resamples=200, seed=seed)
    assert interval == bootstrap_interval(np.array(sample), statistic, resamples=200, seed=seed)
    low, high = interval
    assert min(sample) - 1e-9 <= low <= high <= max(sample) + 1e-9


@given(samples, samples, st.sampled_from(["mean", "median"]), st.integers(-5, 5))
def test_difference_moves_with_its_samples(a: list[float], b: list[float], statistic: str, shift: int) -> None:
    low, high = bootstrap_difference(a, b, statistic, resamples=200)
    moved = bootstrap_difference([value + shift for value in a], b, statistic, resamples=200)
    assert moved == pytest.approx((low + shift, high + shift), abs=1e-9)


def test_many_values_are_resampled_in_pieces() -> None:
    values = np.random.default_rng(0).normal(size=300_000)
    low, high = bootstrap_interval(values, resamples=40)
    spread = 1 / np.sqrt(len(values))
    assert values.mean() - 5 * spread < low < values.mean() < high < values.mean() + 5 * spread


def test_one_value_has_no_interval() -> None:
    assert bootstrap_interval([1.0]) is None
    assert bootstrap_difference([1.0], [1.0, 2.0]) is None
    assert bootstrap_difference([1.0, 2.0], [1.0]) is None


@pytest.mark.parametrize("sample", [[], [1.0, float("nan")], [1.0, float("inf")], [[1.0, 2.0], [3.0, 4.0]]])
def test_samples_that_are_no_samples_are_refused(sample: list[float]) -> None:
    with pytest.raises(UsageError, match="finite numbers"):
        bootstrap_interval(sample)
    with pytest.raises(UsageError, match="finite numbers"):
        bootstrap_difference([1.0, 2.0], sample)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match=r"level of 1\.5"):
        bootstrap_interval([1.0, 2.0], level=1.5)
    with pytest.raises(UsageError, match="at least one resample"):
        bootstrap_interval([1.0, 2.0], resamples=0)
    with pytest.raises(UsageError, match="no statistic 'mode'; statistics are mean, median"):
        bootstrap_interval([1.0, 2.0], "mode")


def test_numpys_global_generator_is_left_alone() -> None:
    before = np.random.get_state()
    bootstrap_difference(STEPS, CONTROL)
    after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


# --- pairs of seeds


def matrix(level, spread=0.0, seeds=8, draw=0):
    values = np.random.default_rng(draw).normal(level, spread, (seeds, seeds))
    values = (values + values.T) / 2
    np.fill_diagonal(values, np.nan)  # it is never to be read
    return values


def test_resamples_of_three_seeds_can_be_listed():
    values = np.array([[np.nan, 0.1, 0.2], [0.1, np.nan, 0.6], [0.2, 0.6, np.nan]])
    means = []
    for drawn in product(range(3), repeat=3):
        pairs = [values[i, j] for k, i in enumerate(drawn) for j in drawn[k + 1 :] if i != j]
        if pairs:
            means.append(np.mean(pairs))
    low, high = interval_over_pairs(values)
    assert (low, high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-9)


@given(st.integers(3, 10), st.floats(0, 1))
def test_seeds_that_agree_alike_have_an_interval_of_no_width(seeds, level):
    assert interval_over_pairs(matrix(level, seeds=seeds)) == pytest.approx((level, level))


def test_two_seeds_have_no_interval_over_pairs():
    assert interval_over_pairs(matrix(0.5, seeds=2)) is None


def test_a_seed_that_disagrees_with_all_widens_the_interval_more_than_pairs_would():
    values = matrix(0.8)
    values[0, 1:] = values[1:, 0] = 0.0
    pairs = values[np.triu_indices(8, 1)]
    generator = np.random.default_rng(0)
    as_if_independent = np.quantile(generator.choice(pairs, (4000, len(pairs))).mean(axis=1), [0.025, 0.975])
    low, high = interval_over_pairs(values)
    assert high - low > 1.5 * (as_if_independent[1] - as_if_independent[0])


# --- draws alone


def test_resamples_keep_the_size_of_every_group():
    groups = ["a"] * 3 + ["b"] + ["a"] * 2
    rows = resampled_rows(groups, "here", resamples=200)
    assert rows[0].tolist() == list(range(6))
    kinds = np.array(groups)[rows]
    assert (kinds == np.array(groups)).all()
    assert len(np.unique(rows[1:, 0])) == 5
    assert (resampled_rows(groups, "here", resamples=200) == rows).all()


def test_the_interval_leaves_out_what_is_undefined():
    value, (low, high) = value_and_interval(np.array([2.0, 1.0, np.nan, 3.0]))
    assert (value, low, high) == (2.0, pytest.approx(1.05), pytest.approx(2.95))
    assert value_and_interval(np.array([np.nan, 1.0])) is None
    assert value_and_interval(np.array([1.0, np.nan])) is None


def test_rows_in_one_piece_are_drawn_alike():
    rows = drawn_rows(5, "here", resamples=4000)
    assert rows[0].tolist() == [0, 1, 2, 3, 4]
    assert np.bincount(rows[1:].ravel()) / 20000 == pytest.approx(0.2, abs=0.02)
    assert (drawn_rows(5, "here", resamples=4000) == rows).all() and (
        drawn_rows(5, "there", resamples=4000) != rows
    ).any()


def test_counts_are_those_of_draws_with_replacement():
    counts = drawn_counts(6, "here", resamples=4000)
    assert (counts.sum(axis=1) == 6).all()
    assert counts.mean(axis=0) == pytest.approx(1, abs=0.06)
    assert counts.var(axis=0) == pytest.approx(5 / 6, rel=0.1)


@given(st.lists(st.one_of(st.just(NAN), st.floats(-9, 9)), min_size=1, max_size=6), st.integers(0, 99))
def test_means_of_drawn_leave_out_what_is_undefined(values, seed):
    counts = np.random.default_rng(seed).integers(1, 4, size=(3, len(values))).astype(float)
    with np.errstate(invalid="ignore"):
        means = means_of_drawn(np.array(values), counts)
    for row, mean in zip(counts, means, strict=True):
        drawn = [v for v, times in zip(values, row, strict=True) if v == v for _ in range(int(times))]
        assert mean == pytest.approx(np.mean(drawn) if drawn else NAN, nan_ok=True)


def test_draws_are_those_that_committed_results_were_made_with():
    weights = np.arange(1, 6)
    assert (drawn_rows(5, "alignment")[1:] @ weights).sum() == 60367
    assert (resampled_rows(list("aabbb"), "early verdict") @ weights).sum() == 75101
    assert (drawn_counts(5, "xi over examples", "alpha, beta", resamples=1000) @ weights).sum() == 15032
    values = np.array([0.1, 0.2, 0.4, 0.8, 1.6]) ** 1.5
    assert bootstrap_interval(values) == pytest.approx((0.09902264084336423, 1.3637475273849813), rel=1e-12)
    assert bootstrap_difference(values, values[:3], "median") == pytest.approx(
        (-0.1635394937134788, 1.9344149834077715), rel=1e-12
    )
    for interval, expected in (
        (interval_over_seeds(values), (0.09902264084336423, 1.3155075066300461)),
        (interval_over_examples(values), (0.1105866293430258, 1.3637475273849813)),
        (interval_over_examples(values, groups=[0, 0, 1, 1, 2], seed=1), (0.0605327478508377, 2.023857702507763)),
    ):
        assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-12)
    assert interval_over_pairs(np.outer(values, values)) == pytest.approx(
        (0.009071067811865476, 0.8659261999419865), rel=1e-12
    )
