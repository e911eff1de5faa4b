"""Bootstrap over runs that fall into groups: every group keeps its size, so that the design stays as it was planned."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]
RESAMPLES = 2000


def resampled_rows(groups: Sequence[object], purpose: str, resamples: int = RESAMPLES) -> NDArray[np.int64]:
    """Which runs each resample has: (resamples + 1, runs), the first row being the runs themselves.

    ``groups``: the group of each run. A resample draws as many runs of a group as it has, with replacement.

    >>> resampled_rows(["a", "b"], "an example", resamples=2).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    rng = numpy_generator(0, "resampled rows", purpose)
    rows = np.tile(np.arange(len(groups)), (resamples + 1, 1))
    for group in dict.fromkeys(groups):
        members = np.array([place for place, one in enumerate(groups) if one == group])
        rows[1:, members] = members[rng.integers(len(members), size=(resamples, len(members)))]
    return rows


def value_and_interval(values: Floats) -> tuple[float, tuple[float, float]] | None:
    """The first value and the 95 % percentile interval of the others that are defined; None where the first is not."""
    others = values[1:][~np.isnan(values[1:])]
    if np.isnan(values[0]) or not len(others):
        return None
    low, high = np.quantile(others, [0.025, 0.975])
    return float(values[0]), (float(low), float(high))
