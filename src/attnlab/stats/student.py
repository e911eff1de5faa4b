"""Student's interval of a mean, for a handful of values where drawing again says too little."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from attnlab.errors import UsageError


def student_interval(values: Sequence[float] | NDArray[np.float64], level: float = 0.95) -> tuple[float, float] | None:
    """mean +- t s / sqrt(n) with n - 1 degrees of freedom; None for fewer than three values, of which two give an
    interval so wide that it says nothing.

    >>> low, high = student_interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not np.isfinite(sample).all():
        raise UsageError("Student's interval needs a list of finite numbers.")
    if len(sample) < 3:
        return None
    half = float(t.ppf((1 + level) / 2, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample)))
    return float(sample.mean()) - half, float(sample.mean()) + half
