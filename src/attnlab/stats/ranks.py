"""Measures of how well one order agrees with another, for many samples at once: a row each, as a bootstrap has them."""

import numpy as np
from scipy import stats

from attnlab.stats.bootstrap import Floats, divided


def spearman(a: Floats, b: Floats) -> Floats:
    """Spearman's rank correlation with ties, row by row; nan where one side is constant.

    >>> spearman(np.array([[1.0, 2.0, 3.0]]), np.array([[10.0, 30.0, 20.0]])).tolist()
    [0.5]
    """
    centre = (a.shape[1] + 1) / 2
    ranks = [stats.rankdata(side, axis=1) - centre for side in (a, b)]
    spread = np.sqrt((ranks[0] ** 2).sum(axis=1) * (ranks[1] ** 2).sum(axis=1))
    return divided((ranks[0] * ranks[1]).sum(axis=1), spread)


def area_under_curve(scores: Floats, learned: Floats, failed: Floats) -> Floats:
    """The chance that a run that learned has a higher score than one that failed, ties counted half, row by row.

    ``learned`` and ``failed``: how many runs of each distribution did.

    >>> area_under_curve(np.array([[0.0, 1.0]]), np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]])).tolist()
    [0.75]
    """
    above = (np.sign(scores[:, :, None] - scores[:, None, :]) + 1) / 2
    return divided(np.einsum("rd,rde,re->r", learned, above, failed), learned.sum(axis=1) * failed.sum(axis=1))
