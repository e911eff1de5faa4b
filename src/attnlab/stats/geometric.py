"""The geometric law of independent chances: K of them all fail with probability q^K."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2

from attnlab.errors import UsageError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

GRID = np.concatenate([[1e-9], np.linspace(0, 1, 1001)[1:-1], [1 - 1e-9]])
"""Failure rates of one chance among which the likeliest is looked for."""
SIMULATIONS = 2000


@dataclass(frozen=True)
class Geometric:
    """P(all of K fail) = q^K, fitted to failures at several K.

    ``q``: the likeliest failure rate of one; ``interval``: the rates whose likelihood a ratio test does not reject
    (95 %). ``goodness``: the share of data drawn from the fitted law that lie as far from it as these do, by the
    likelihood ratio against a free rate at every K.
    """

    q: float
    interval: tuple[float, float]
    goodness: float


def fit_geometric(failures: Mapping[int, tuple[int, int]], seed: int = 0) -> Geometric:
    """Fit the law to ``failures``: for each K how many failed of how many runs.

    >>> fit_geometric({1: (30, 60), 2: (15, 60)}).q
    0.5
    """
    if not failures or any(not 0 <= failed <= n or n < 1 or k < 1 for k, (failed, n) in failures.items()):
        raise UsageError("A geometric law needs at least one number of heads with runs, and failures among them.")
    numbers = np.array(list(failures))
    failed, runs = (np.array([pair[side] for pair in failures.values()]) for side in (0, 1))
    likelihood = _log_likelihood(failed[None], runs, numbers)[0]  # (grid,)
    best = int(likelihood.argmax())
    # At the ends of the grid are the rates 0 and 1, which have no logarithm.
    q = float(np.round(GRID[best], 8))
    inside = GRID[2 * (likelihood[best] - likelihood) <= chi2.ppf(0.95, df=1)].round(8)
    drawn = np.random.default_rng(seed).binomial(runs, q**numbers, size=(SIMULATIONS, len(numbers)))
    distances = _distance(drawn, runs, numbers)
    as_far = int((distances >= _distance(failed[None], runs, numbers)[0] - 0.01).sum())  # the grid is no finer
    return Geometric(q, (float(inside[0]), float(inside[-1])), (as_far + 1) / (SIMULATIONS + 1))


def _log_likelihood(failed: Counts, runs: Counts, numbers: Counts) -> Floats:
    """Of every rate of the grid, (samples, grid), for ``failed`` (samples, numbers K)."""
    failure = GRID[None] ** numbers[:, None]  # (numbers K, grid)
    table: Floats = failed @ np.log(failure) + (runs - failed) @ np.log1p(-failure)
    return table


def _distance(failed: Counts, runs: Counts, numbers: Counts) -> Floats:
    """Twice the log of the likelihood ratio, a rate of its own for every K against the fitted law: (samples,)."""
    rate = failed / runs
    free = (xlogy(failed, rate) + xlogy(runs - failed, 1 - rate)).sum(1)
    distance: Floats = 2 * (free - _log_likelihood(failed, runs, numbers).max(1))
    return distance
