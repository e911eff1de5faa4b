"""Where a learning curve goes on: error against n as a + b (n + m)^-c, with an interval for one training.

A few sizes cannot say whether an error keeps falling or has come to rest, nor whether it has begun to fall at all. So
no single curve is fitted: all triples of a resting error a, a rate c and a late beginning m are weighed by how well
they go with what was measured, and the interval is that of their predictions, with the spread of single trainings.

Form and constants were chosen on SMS, SST and AG News; experiment samples-ahead tries them on other corpora.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]

RATES = np.linspace(0.05, 1.5, 30)
"""c: from hardly a gain by more data to faster than any curve seen."""
RESTS = np.linspace(0.0, 1.0, 26)
"""a, as a share of the least error measured."""
LATE = np.array([0.0, 0.1, 0.3, 1.0])
"""m, as a share of the largest size measured: up to about there an error stays near chance."""
SLACK = 0.003
"""What curves of this form miss of real ones, in errors from 0 to 1."""
STEADIER = 1 / 3
"""The standard deviation of single trainings falls like n to the minus this; measured: 0.45, over 18 curves."""
DRAWS = 4000
LEVEL = 0.9


@dataclass(frozen=True)
class Expected:
    """The error expected at ``n``, with a 90 % interval for one training there."""

    n: int
    error: float
    low: float
    high: float


def extrapolate(errors: Mapping[int, Sequence[float]], n: int) -> Expected:
    """What one training on ``n`` examples will get wrong, from ``errors[size]`` of trainings at smaller sizes.

    >>> expected = extrapolate({size: [0.1 + size**-0.5] * 3 for size in (50, 100, 200, 400)}, 800)
    >>> expected.low < 0.1 + 800**-0.5 < expected.high
    True
    """
    sizes = np.array(sorted(errors), np.float64)
    if len(sizes) < 3:
        raise UsageError(f"To go on with a learning curve takes 3 sizes or more, not {len(sizes)}.")
    if n < 1 or not all(len(values) and np.isfinite(values).all() for values in errors.values()):
        raise UsageError("A learning curve has finite errors at every size, and goes on to a size of at least 1.")
    means = np.array([np.mean(errors[int(size)]) for size in sizes])
    counts = np.array([len(errors[int(size)]) for size in sizes])
    # The smallest sizes are farthest from where the curve goes, and fit it worst.
    slack = SLACK * (1 + np.log2(sizes[-1] / sizes) / 2)
    sigma = np.sqrt(np.array([spread(errors, size) for size in sizes]) ** 2 / counts + slack**2)
    predicted, weights = _weighed(sizes, means, sigma, n)
    generator = numpy_generator(0, "learning curve")
    chosen = generator.choice(len(weights), size=DRAWS, p=weights)
    far = SLACK * (1 + np.log2(max(n / sizes[-1], 1.0)))
    values = predicted[chosen] + generator.normal(0, 1, DRAWS) * np.hypot(spread(errors, n), far)
    low, high = np.clip(np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]), 0, 1)
    return Expected(n, float(np.clip(weights @ predicted, 0, 1)), float(low), float(high))


def spread(errors: Mapping[int, Sequence[float]], n: float) -> float:
    """The standard deviation of single trainings on ``n`` examples, from all sizes; larger ones count more."""
    variances = [
        (np.var(values, ddof=1) * (size / n) ** (2 * STEADIER), len(values) - 1)
        for size, values in sorted(errors.items())
        if len(values) > 1
    ]
    if not variances:
        return 0.01
    weights = np.array([degrees * (1 + place) for place, (_, degrees) in enumerate(variances)], np.float64)
    return float(np.sqrt(np.average([variance for variance, _ in variances], weights=weights)))


def _weighed(sizes: Floats, means: Floats, sigma: Floats, n: int) -> tuple[Floats, Floats]:
    """The error at ``n`` by every triple of a, c and m, and the weight of each: both (triples,)."""
    most = sizes[-1]
    grid = np.meshgrid(RESTS * means.min(), RATES, LATE * most, indexing="ij")
    rest, rate, late = (part.ravel() for part in grid)
    curves = ((sizes + late[:, None]) / (most + late[:, None])) ** -rate[:, None]  # (triples, sizes)
    gaps = means - rest[:, None]
    b = np.maximum((curves * gaps / sigma**2).sum(1) / (curves**2 / sigma**2).sum(1), 0.0)
    misses = ((gaps - b[:, None] * curves) / sigma) ** 2
    likelihood = -misses.sum(1) / 2
    weights = np.exp(likelihood - likelihood.max())
    return rest + b * ((n + late) / (most + late)) ** -rate, weights / weights.sum()
