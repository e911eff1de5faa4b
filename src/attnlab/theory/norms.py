"""Score and embedding norm of a topic word: the identity of P1, and the dynamics of an ideal case.

In the limit of a large dictionary and small steps a topic word's score s and the norm r of its embedding obey

    ||q||^2 (r^2 - r(0)^2) / 2  =  s + e^s / m - s(0) - e^{s(0)} / m

whatever the classifier, for m non-topic words in each sentence. With a fixed classifier of orthonormal columns both
follow an ordinary differential equation. The identity from zero start is the released code's; general start values
and the equation are our own derivation: docs/theory.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from attnlab.errors import RunFailed, UsageError

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
    _check(others, query_norm)
    grown = 2 / query_norm**2 * (_potential(np.asarray(score, float), others) - _potential(start_score, others))
    return np.sqrt(np.maximum(start_norm**2 + grown, 0.0))


def deviation(measured: ArrayLike, expected: ArrayLike) -> Floats:
    """|measured - expected| / expected."""
    wanted = np.asarray(expected, float)
    return np.asarray(np.abs(np.asarray(measured, float) - wanted) / wanted)


@dataclass(frozen=True)
class Ideal:
    """The ideal case: ``topics`` J balanced classes and a fixed classifier with orthonormal columns.

    ``share`` pi: the share of sentences that contain the topic word. ``others`` m. ``query_norm`` ||q||. The embedding
    starts at 0 or on the ray to the word's own class.
    """

    topics: int
    share: float
    others: float
    query_norm: float

    def __post_init__(self) -> None:
        _check(self.others, self.query_norm)
        if self.topics < 2:
            raise UsageError(f"The dynamics need at least 2 topics, not {self.topics}.")
        if not 0 < self.share <= 1:
            raise UsageError(f"A topic word's share of the sentences is above 0 and at most 1, not {self.share}.")

    @property
    def c(self) -> float:
        """sqrt(J / (J - 1)): how fast the margin grows with the norm."""
        return float(np.sqrt(self.topics / (self.topics - 1)))

    def weight(self, score: ArrayLike) -> Floats:
        """a = e^s / (e^s + m), the topic word's attention."""
        return np.asarray(1 / (1 + self.others * np.exp(-np.asarray(score, float))))

    def loss(self, score: ArrayLike, norm: ArrayLike) -> Floats:
        """log(1 + (J - 1) e^{-z}) with the margin z = a r c."""
        margin = self.weight(score) * np.asarray(norm, float) * self.c
        return np.asarray(np.logaddexp(0, np.log(self.topics - 1) - margin))

    def rates(self, score: float, norm: float) -> tuple[float, float]:
        """ds/dtau and dr/dtau."""
        a = float(self.weight(score))
        push = self.share * a * self.c * float(-np.expm1(-self.loss(score, norm)))  # pi a c (1 - p)
        return self.query_norm**2 * (1 - a) * norm * push, push


@dataclass(frozen=True)
class Trajectory:
    """A topic word's way at the times tau (steps times the rate): each (times,)."""

    time: Floats
    score: Floats
    norm: Floats
    loss: Floats


def integrate(
    ideal: Ideal, times: Sequence[float] | Floats, *, start_score: float = 0.0, start_norm: float = 0.0
) -> Trajectory:
    """The dynamics of ``ideal`` at rising ``times``, from time 0."""
    wanted = np.asarray(times, float)
    if wanted.ndim != 1 or not len(wanted) or wanted[0] < 0 or (np.diff(wanted) <= 0).any():
        raise UsageError("Times to integrate to are a list of rising numbers from 0 upwards, and not an empty one.")
    solved = solve_ivp(
        lambda _, state: ideal.rates(*state),
        (0.0, float(wanted[-1])),
        (start_score, start_norm),
        method="LSODA",  # slow at the start, fast in the middle, slow again
        t_eval=wanted,
        rtol=1e-9,
        atol=1e-12,
    )
    if not solved.success:
        raise RunFailed(f"The dynamics could not be integrated to time {wanted[-1]}: {solved.message}")
    score, norm = solved.y
    return Trajectory(wanted, score, norm, ideal.loss(score, norm))


def _potential(score: ArrayLike, others: float) -> Floats:
    """s + e^s / m."""
    s = np.asarray(score, float)
    return np.asarray(s + np.exp(s) / others)


def _check(others: float, query_norm: float) -> None:
    if not others > 0:
        raise UsageError(f"The identity needs more than 0 non-topic words in a sentence, not m = {others}.")
    if not query_norm > 0:
        raise UsageError(f"The identity needs a query of a norm above 0, not {query_norm}: without one no score moves.")
