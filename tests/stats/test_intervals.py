import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attnlab.errors import UsageError
from attnlab.stats.intervals import bootstrap_difference, bootstrap_interval, fisher_exact, newcombe, wilson

rates = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
samples = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)


# Rates


@given(rates, levels)
def test_wilson_equals_scipy(rate: tuple[int, int], level: float) -> None:
    expected = stats.binomtest(*rate).proportion_ci(level, method="wilson")
    assert wilson(*rate, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(rates)
def test_wilson_holds_the_rate_and_mirrors(rate: tuple[int, int]) -> None:
    successes, n = rate
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert low < high
    assert wilson(n - successes, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


# Newcombe, Statistics in Medicine 17 (1998), pages 873-890, Table II, method 10.
@pytest.mark.parametrize(
    ("a", "b", "interval"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((10, 10), (0, 20), (0.6791, 1.0)),
    ],
)
def test_newcombe_equals_the_published_table(
    a: tuple[int, int], b: tuple[int, int], interval: tuple[float, float]
) -> None:
    assert newcombe(a, b) == pytest.approx(interval, abs=5e-5)


@given(rates, rates)
def test_newcombe_holds_the_difference_and_mirrors(a: tuple[int, int], b: tuple[int, int]) -> None:
    low, high = newcombe(a, b)
    assert -1 - 1e-12 <= low < high <= 1 + 1e-12
    assert low <= a[0] / a[1] - b[0] / b[1] <= high
    assert newcombe(b, a) == pytest.approx((-high, -low), abs=1e-12)


@given(rates, rates)
def test_fisher_equals_sums_of_the_hypergeometric(a: tuple[int, int], b: tuple[int, int]) -> None:
    (successes_a, n_a), (successes_b, n_b) = a, b
    total = successes_a + successes_b
    distribution = stats.hypergeom(n_a + n_b, total, n_a)
    assert fisher_exact(a, b, "greater") == pytest.approx(distribution.sf(successes_a - 1), rel=1e-6, abs=1e-12)
    assert fisher_exact(a, b, "less") == pytest.approx(distribution.cdf(successes_a), rel=1e-6, abs=1e-12)
    chances = distribution.pmf(np.arange(max(0, total - n_b), min(n_a, total) + 1))
    as_rare = chances[chances <= distribution.pmf(successes_a) * (1 + 1e-7)].sum()
    assert fisher_exact(a, b) == pytest.approx(min(as_rare, 1), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("rate", [(0, 0), (-1, 5), (6, 5)])
def test_impossible_rates_are_refused(rate: tuple[int, int]) -> None:
    for call in (lambda: wilson(*rate), lambda: fisher_exact((1, 2), rate), lambda: newcombe((1, 2), rate)):
        with pytest.raises(UsageError, match=f"{rate[0]} successes in {rate[1]} trials"):
            call()


# Bootstrap

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
    with pytest.raises(UsageError, match="level of 0"):
        wilson(1, 2, level=0)
    with pytest.raises(UsageError, match="at least one resample"):
        bootstrap_interval([1.0, 2.0], resamples=0)
    with pytest.raises(UsageError, match="no statistic 'mode'; statistics are mean, median"):
        bootstrap_interval([1.0, 2.0], "mode")


def test_numpys_global_generator_is_left_alone() -> None:
    before = np.random.get_state()
    bootstrap_difference(STEPS, CONTROL)
    after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
