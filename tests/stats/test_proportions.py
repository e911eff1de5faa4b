import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attnlab.errors import UsageError
from attnlab.stats.proportions import fisher_exact, mcnemar, newcombe, wilson

rates = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


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


def test_a_level_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match="level of 0"):
        wilson(1, 2, level=0)


# Pairs


def test_mcnemar_counts_only_starts_that_differ():
    assert mcnemar([True] * 9 + [False], [True] * 9 + [False]) == 1.0
    # 8 won, 1 lost: twice the chance of at most 1 head in 9 tosses
    assert mcnemar([True] * 8 + [False] + [True] * 7, [False] * 8 + [True] + [True] * 7) == pytest.approx(20 / 512)
    with pytest.raises(UsageError, match="the same starts on both sides, not 2 and 3"):
        mcnemar([True] * 2, [True] * 3)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_mcnemar_does_not_care_which_side_is_which(pairs):
    ours, theirs = zip(*pairs, strict=True)
    assert mcnemar(ours, theirs) == pytest.approx(mcnemar(theirs, ours))
    assert 0 < mcnemar(ours, theirs) <= 1
