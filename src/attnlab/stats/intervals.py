"""The few statistics by which claims are decided: intervals of rates, medians and means, and an exact test."""

from collections.abc import Callable, Sequence
from math import hypot, sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from attnlab.errors import UsageError

Statistic = Literal["mean", "median"]
Alternative = Literal["two-sided", "less", "greater"]
Sample: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]

_STATISTICS: dict[str, Callable[..., Any]] = {"mean": np.mean, "median": np.median}
# Resampled values held at once: 8 MB, however many seeds or examples there are.
_CHUNK = 1_000_000


def wilson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate of ``successes`` in ``n`` trials.

    It stays within [0, 1] and still has a width at a rate of 0 or 1, where "always" and "never" are decided.

    >>> low, high = wilson(20, 20)
    >>> round(low, 3), high
    (0.839, 1.0)
    """
    _check_counts(successes, n)
    _check_level(level)
    z = float(ndtri((1 + level) / 2))  # of the standard normal distribution
    rate = successes / n
    scale = 1 + z**2 / n
    centre = (rate + z**2 / (2 * n)) / scale
    half = z * sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2)) / scale
    # At the ends a bound is exact; rounding would put it just beside.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return low, high


def newcombe(a: tuple[int, int], b: tuple[int, int], level: float = 0.95) -> tuple[float, float]:
    """Newcombe's interval of the difference of two rates, each ``(successes, n)``, made from their Wilson intervals.

    Unlike a bootstrap's it still has a width where both rates are 0 or 1.

    >>> low, high = newcombe((56, 70), (48, 80))
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    (low_a, high_a), (low_b, high_b) = wilson(*a, level), wilson(*b, level)
    rate_a, rate_b = a[0] / a[1], b[0] / b[1]
    below = hypot(rate_a - low_a, high_b - rate_b)
    above = hypot(high_a - rate_a, rate_b - low_b)
    return rate_a - rate_b - below, rate_a - rate_b + above


def fisher_exact(a: tuple[int, int], b: tuple[int, int], alternative: Alternative = "two-sided") -> float:
    """The p-value of Fisher's exact test that two rates, each ``(successes, n)``, are equal.

    ``greater`` asks whether the rate of ``a`` is the larger one.

    >>> round(fisher_exact((20, 20), (10, 20)), 4)
    0.0004
    """
    from scipy import stats  # takes a second to load, and few need it

    for successes, n in (a, b):
        _check_counts(successes, n)
    table = [[successes, n - successes] for successes, n in (a, b)]
    return float(stats.fisher_exact(table, alternative=alternative).pvalue)


def bootstrap_interval(
    sample: Sample, statistic: Statistic = "mean", *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float] | None:
    """The percentile bootstrap interval of a mean or median over a sample, usually of one value a seed.

    None for a single value: one seed has no interval over seeds.

    >>> bootstrap_interval([3.0, 3.0, 3.0])
    (3.0, 3.0)
    """
    _check_level(level)
    resampled = _resample(sample, statistic, resamples, np.random.default_rng(seed))
    return _percentiles(resampled, level) if len(sample) > 1 else None


def bootstrap_difference(
    a: Sample,
    b: Sample,
    statistic: Statistic = "mean",
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float] | None:
    """The percentile bootstrap interval of ``statistic(a) - statistic(b)`` for two independent samples.

    None where either sample is a single value.
    """
    _check_level(level)
    generator = np.random.default_rng(seed)
    resampled_a = _resample(a, statistic, resamples, generator)
    resampled_b = _resample(b, statistic, resamples, generator)
    return _percentiles(resampled_a - resampled_b, level) if min(len(a), len(b)) > 1 else None


def _resample(
    sample: Sample, statistic: Statistic, resamples: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """The statistic of each resample: ``(resamples,)``."""
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise UsageError("A bootstrap interval needs a list of finite numbers, and not an empty one.")
    if statistic not in _STATISTICS:
        raise UsageError(f"There is no statistic {statistic!r}; statistics are {', '.join(_STATISTICS)}.")
    if resamples < 1:
        raise UsageError(f"A bootstrap interval needs at least one resample, not {resamples}.")
    resampled = np.empty(resamples)
    step = max(1, _CHUNK // len(values))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        chosen = generator.integers(len(values), size=(stop - start, len(values)))
        resampled[start:stop] = _STATISTICS[statistic](values[chosen], axis=1)
    return resampled


def _percentiles(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _check_counts(successes: int, n: int) -> None:
    if not (n >= 1 and 0 <= successes <= n):
        raise UsageError(f"{successes} successes in {n} trials is no rate; n is at least 1 and successes at most n.")


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise UsageError(f"A level of {level} is out of range; it lies between 0 and 1, such as 0.95.")
