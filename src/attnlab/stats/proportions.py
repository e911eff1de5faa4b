"""Rates of successes: Wilson's and Newcombe's intervals, Fisher's exact test, McNemar's for pairs, and Holm's
correction for several tests.
"""

from collections.abc import Mapping, Sequence
from math import hypot, sqrt
from typing import Literal

from scipy.special import ndtri

from attnlab.errors import UsageError

Alternative = Literal["two-sided", "less", "greater"]


def wilson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate of ``successes`` in ``n`` trials.

    It stays within [0, 1] and still has a width at a rate of 0 or 1, where "always" and "never" are decided.

    >>> low, high = wilson(20, 20)
    >>> round(low, 3), high
    (0.839, 1.0)
    """
    _check_counts(successes, n)
    if not 0 < level < 1:
        raise UsageError(f"A level of {level} is out of range; it lies between 0 and 1, such as 0.95.")
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


def mcnemar(ours: Sequence[bool], theirs: Sequence[bool]) -> float:
    """The p-value of McNemar's exact test that both succeed equally often on the same starts, two-sided.

    Only starts on which they differ count: of these, half are expected on each side.

    >>> mcnemar([True] * 6, [False] * 6)
    0.03125
    """
    from scipy import stats

    if len(ours) != len(theirs):
        raise UsageError(f"A paired test needs the same starts on both sides, not {len(ours)} and {len(theirs)}.")
    won = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    lost = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    return float(stats.binomtest(won, won + lost).pvalue) if won + lost else 1.0


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's correction: each p-value times the number of tests not yet rejected, never smaller than the one before.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.02})
    {'a': 0.03, 'b': 0.04, 'c': 0.04}
    """
    corrected: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}


def _check_counts(successes: int, n: int) -> None:
    if not (n >= 1 and 0 <= successes <= n):
        raise UsageError(f"{successes} successes in {n} trials is no rate; n is at least 1 and successes at most n.")
