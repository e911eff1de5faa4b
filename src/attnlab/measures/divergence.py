"""How far apart two distributions over a text's positions are, and two predictions."""

import numpy as np
from numpy.typing import NDArray

from attnlab.fields import ScoreField
from attnlab.measures.ragged import check_pair

Floats = NDArray[np.float64]


def jensen_shannon(u: ScoreField, v: ScoreField) -> Floats:
    """The Jensen-Shannon divergence of each row in bits, (rows,): 0 for the same distribution, 1 for two that share no
    position. Unlike the Kullback-Leibler divergence it is symmetric and bounded. Rows are distributions; NaN where a
    row is empty.

    >>> jensen_shannon(ScoreField.from_rows([[1, 0], [0.5, 0.5]]), ScoreField.from_rows([[0, 1], [0.5, 0.5]])).tolist()
    [1.0, 0.0]
    """
    check_pair(u, v)
    middle = (u.values + v.values) / 2
    parts = (_relative(u.values, middle) + _relative(v.values, middle)) / 2
    sums = np.bincount(np.repeat(np.arange(len(u)), u.lengths), parts, minlength=len(u))
    return np.where(u.lengths > 0, np.clip(sums, 0, 1), np.nan)


def _relative(p: Floats, q: Floats) -> Floats:
    """p log2(p / q), 0 where p is."""
    return np.asarray(p * np.log2(np.divide(p, q, out=np.ones(len(p)), where=p > 0)))


def total_variation(p: Floats, q: Floats) -> Floats:
    """1/2 sum_k |p_k - q_k| of predictions (texts, classes): (texts,)."""
    return np.asarray(np.abs(p - q).sum(1) / 2)
