"""Score and embedding norm of a topic word: the identity of P1.

In the limit of a large dictionary and small steps a topic word's score s and the norm r of its embedding obey

    ||q||^2 (r^2 - r(0)^2) / 2  =  s + e^s / m - s(0) - e^{s(0)} / m

whatever the classifier, for m non-topic words in each sentence. From zero start it is the released code's; general
start values are our own derivation, as are the dynamics of an ideal case: docs/theory.md.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnlab.errors import UsageError

Floats = NDArray[np.float64]


def norm_of_score(
    score: ArrayLike, others: float, *, query_norm: float = 1.0, start_score: float = 0.0, start_norm: float = 0.0
) -> Floats:
    """The norm r that the identity gives a topic word of ``score`` s among ``others`` = m words.

    Below the lowest score that the start allows (r would be imaginary) it is 0. With ``query_norm`` 1 the result is
    ||q|| r, the scale of P1's figures.

    >>> float(norm_of_score(0.0, 20)), round(float(norm_of_score(3.976, 20)), 2)
    (0.0, 3.63)
    """
    if not others > 0:
        raise UsageError(f"The identity needs more than 0 non-topic words in a sentence, not m = {others}.")
    if not query_norm > 0:
        raise UsageError(f"The identity needs a query of a norm above 0, not {query_norm}: without one no score moves.")
    grown = 2 / query_norm**2 * (_potential(score, others) - _potential(start_score, others))
    return np.sqrt(np.maximum(start_norm**2 + grown, 0.0))


def deviation(measured: ArrayLike, expected: ArrayLike) -> Floats:
    """|measured - expected| / expected."""
    wanted = np.asarray(expected, float)
    return np.asarray(np.abs(np.asarray(measured, float) - wanted) / wanted)


def _potential(score: ArrayLike, others: float) -> Floats:
    """s + e^s / m."""
    s = np.asarray(score, float)
    return np.asarray(s + np.exp(s) / others)
