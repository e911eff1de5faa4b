"""How the claims on heads (P3 5.2) are decided: rates of combinations, the geometric law of failures, accuracies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2

from attnlab.errors import UsageError
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.success import Outcome, learned
from attnlab.stats.bootstrap import bootstrap_difference, bootstrap_interval
from attnlab.stats.rates import wilson

Floats = NDArray[np.float64]

MARGIN = 0.02
"""Accuracies that differ by no more than this are the same."""
LEAST = 5
"""Fewest networks on each side when accuracies are compared."""
GRID = np.concatenate([[1e-9], np.linspace(0, 1, 1001)[1:-1], [1 - 1e-9]])
"""Failure rates of one head among which the likeliest is looked for."""
SIMULATIONS = 2000


def none_learns(name: str, group: Sequence[Outcome], least: int) -> Part:
    """Holds if none of at least ``least`` combinations learns; one that does refutes it."""
    return _all_or_none(name, group, least, wanted=0)


def all_learn(name: str, group: Sequence[Outcome], least: int) -> Part:
    """Holds if each of at least ``least`` combinations learns; one that does not refutes it."""
    return _all_or_none(name, group, least, wanted=len(group))


def _all_or_none(name: str, group: Sequence[Outcome], least: int, wanted: int) -> Part:
    count, n = learned(group), len(group)
    if not n:
        return nothing(name, "combinations")
    verdict: Verdict = "fails" if count != wanted else "holds" if n >= least else "undecided"
    return Part(name, verdict, count / n, wilson(count, n), "combinations", f"{count} of {n} combinations learned.")


def nearly_always(name: str, group: Sequence[Outcome], rate: float = 0.8) -> Part:
    """Holds if the success rate's lower bound is above ``rate``; fails if its upper bound is below."""
    count, n = learned(group), len(group)
    if not n:
        return nothing(name, "combinations")
    low, high = wilson(count, n)
    verdict: Verdict = "holds" if low > rate else "fails" if high < rate else "undecided"
    return Part(name, verdict, count / n, (low, high), "combinations", f"{count} of {n} combinations learned.")


def nothing(name: str, over: str) -> Part:
    """What is said where nothing was run."""
    return Part(name, "undecided", None, None, over, "No run at this preset.")


# --- failures fall off as q^K


@dataclass(frozen=True)
class Geometric:
    """P(failure with K heads) = q^K, fitted to failures at several K.

    ``q``: the likeliest failure rate of one head; ``interval``: the rates whose likelihood a ratio test does not reject
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
    heads = np.array(list(failures))
    failed, runs = (np.array([pair[side] for pair in failures.values()]) for side in (0, 1))
    likelihood = _log_likelihood(failed[None], runs, heads)[0]  # (grid,)
    best = int(likelihood.argmax())
    # At the ends of the grid stand the rates 0 and 1, which have no logarithm.
    q = float(np.round(GRID[best], 8))
    inside = GRID[2 * (likelihood[best] - likelihood) <= chi2.ppf(0.95, df=1)].round(8)
    drawn = np.random.default_rng(seed).binomial(runs, q**heads, size=(SIMULATIONS, len(heads)))
    distances = _distance(drawn, runs, heads)
    as_far = int((distances >= _distance(failed[None], runs, heads)[0] - 0.01).sum())  # the grid is no finer
    return Geometric(q, (float(inside[0]), float(inside[-1])), (as_far + 1) / (SIMULATIONS + 1))


def _log_likelihood(failed: NDArray[np.int64], runs: NDArray[np.int64], heads: NDArray[np.int64]) -> Floats:
    """Of every rate of the grid, (samples, grid), for ``failed`` (samples, numbers of heads)."""
    failure = GRID[None] ** heads[:, None]  # (numbers of heads, grid)
    table: Floats = failed @ np.log(failure) + (runs - failed) @ np.log1p(-failure)
    return table


def _distance(failed: NDArray[np.int64], runs: NDArray[np.int64], heads: NDArray[np.int64]) -> Floats:
    """Twice the log of the likelihood ratio, a rate of its own for every K against the fitted law: (samples,)."""
    rate = failed / runs
    free = (xlogy(failed, rate) + xlogy(runs - failed, 1 - rate)).sum(1)
    distance: Floats = 2 * (free - _log_likelihood(failed, runs, heads).max(1))
    return distance


def falls_geometrically(name: str, failures: Mapping[int, tuple[int, int]], least: int) -> Part:
    """Holds if the fit is not rejected, every failure rate's interval holds q^K, and q is neither 0 nor 1.

    Needs at least three numbers of heads with at least ``least`` runs each; fails where the fit is rejected.
    """
    if not failures:
        return nothing(name, "runs")
    fit = fit_geometric(failures)
    missed = [k for k, pair in failures.items() if not _holds(wilson(*pair), fit.q**k)]
    enough = len(failures) >= 3 and all(n >= least for _, n in failures.values())
    verdict: Verdict = "undecided"
    if enough and fit.goodness < 0.05:
        verdict = "fails"
    elif enough and not missed and fit.interval[0] > 0 and fit.interval[1] < 1:
        verdict = "holds"
    told = ", ".join(f"{failed} of {n} at K = {k}" for k, (failed, n) in failures.items())
    detail = f"Failures: {told}; q = {fit.q:.2f}, goodness of fit p = {fit.goodness:.2g}."
    return Part(name, verdict, fit.q, fit.interval, "runs", detail)


def _holds(interval: tuple[float, float], value: float) -> bool:
    return interval[0] <= value <= interval[1]


# --- accuracies


def as_accurate(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Part:
    """Holds if the whole interval of the difference of mean accuracies lies within 2 points; fails if below -2."""
    if min(len(ours), len(theirs)) < LEAST:
        detail = f"{len(ours)} and {len(theirs)} networks; at least {LEAST} each are needed."
        return Part(name, "undecided", None, None, "networks", detail)
    difference = float(np.mean(ours) - np.mean(theirs))
    interval = bootstrap_difference(ours, theirs)
    assert interval is not None  # five values have one
    detail = f"Mean accuracy {np.mean(ours):.4f} of {len(ours)} against {np.mean(theirs):.4f} of {len(theirs)}."
    return Part(name, _same(interval), difference, interval, "networks", detail)


def keeps_accuracy(name: str, pruned: Sequence[float], whole: Sequence[float]) -> Part:
    """The same for each network pruned against itself whole."""
    if len(pruned) < LEAST:
        detail = f"{len(pruned)} networks have learned; at least {LEAST} are needed."
        return Part(name, "undecided", None, None, "networks", detail)
    lost = np.subtract(pruned, whole)
    interval = bootstrap_interval(lost)
    assert interval is not None  # five values have one
    detail = (
        f"Mean accuracy {np.mean(pruned):.3f} with the best head alone against {np.mean(whole):.3f} of the same "
        f"{len(pruned)} networks whole."
    )
    return Part(name, _same(interval), float(lost.mean()), interval, "networks", detail)


def _same(interval: tuple[float, float]) -> Verdict:
    if interval[0] >= -MARGIN and interval[1] <= MARGIN:
        return "holds"
    return "fails" if interval[1] < -MARGIN else "undecided"
