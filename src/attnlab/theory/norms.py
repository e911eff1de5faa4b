"""Score and embedding norm of a topic word: the identity of P1.

In the limit of a large dictionary and small steps a topic word's score s and the norm r of its embedding obey

    ||q||^2 (r^2 - r(0)^2) / 2  =  s + e^s / m - s(0) - e^{s(0)} / m

whatever the classifier, for m non-topic words in each sentence. From zero start it is the released code's; general
start values are our own derivation, as are the dynamics of an ideal case: docs/theory.md.

A small dictionary is ours too. In every sentence the changes of all scores add up to 0, so the scores of all words keep
their sum: where the topic words' mean rises by 1 the dictionary's falls by |T| / |Theta|. With that ``fall`` f the
attention of a topic word is e^s / (e^s + m e^{-f (s - s(0))}), and

    ||q||^2 (r^2 - r(0)^2) / 2  =  s + e^{(1 + f) s - f s(0)} / (m (1 + f)) - s(0) - e^{s(0)} / (m (1 + f)).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnlab.errors import UsageError

Floats = NDArray[np.float64]


def norm_of_score(
    score: ArrayLike,
    others: float,
    *,
    query_norm: float = 1.0,
    start_score: float = 0.0,
    start_norm: float = 0.0,
    fall: float = 0.0,
) -> Floats:
    """The norm r that the identity gives a topic word of ``score`` s among ``others`` = m words.

    ``fall``: how far the other words' scores fall while this one rises by 1; 0 is P1's limit of a large dictionary.

    Below the lowest score that the start allows (r would be imaginary) it is 0. With ``query_norm`` 1 the result is
    ||q|| r, the scale of P1's figures.

    >>> float(norm_of_score(0.0, 20)), round(float(norm_of_score(3.976, 20)), 2)
    (0.0, 3.63)
    """
    if not others > 0:
        raise UsageError(f"The identity needs more than 0 non-topic words in a sentence, not m = {others}.")
    if not query_norm > 0:
        raise UsageError(f"The identity needs a query of a norm above 0, not {query_norm}: without one no score moves.")
    risen = _potential(score, others, start_score, fall) - _potential(start_score, others, start_score, fall)
    grown = 2 / query_norm**2 * risen
    return np.sqrt(np.maximum(start_norm**2 + grown, 0.0))


def deviation(measured: ArrayLike, expected: ArrayLike) -> Floats:
    """|measured - expected| / expected."""
    wanted = np.asarray(expected, float)
    return np.asarray(np.abs(np.asarray(measured, float) - wanted) / wanted)


def _potential(score: ArrayLike, others: float, start: float, fall: float) -> Floats:
    """s + e^{(1 + f) s - f s(0)} / (m (1 + f)), whose derivative is 1 / (1 - a), a being the word's attention."""
    s = np.asarray(score, float)
    return np.asarray(s + np.exp((1 + fall) * s - fall * start) / (others * (1 + fall)))
