"""xi(u, v): agreement read as the performance of a model whose attention is as far along. (P3 section 3.1)

    xi(u, v) := p(inf{ step : A(alpha, alpha(step)) > A(u, v) })

alpha is the attention of the reference run, alpha(step) that of the same model trained from another seed, p(step) its
performance. So xi is how good the model is when its attention first agrees with the reference more than u and v agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnlab.errors import UsageError
from attnlab.stats.bootstrap import Floats, drawn_counts, drawn_rows, means_of_drawn, percentiles

RESAMPLES = 1000


@dataclass(frozen=True)
class Xi:
    """``performance``: xi. ``step``: the checkpoint it was read at."""

    step: int
    performance: float


def xi(steps: Sequence[int], agreement: ArrayLike, performance: ArrayLike, level: float) -> Xi | None:
    """The performance at the first checkpoint whose agreement with the reference exceeds ``level`` = A(u, v).

    ``agreement`` and ``performance`` are ``(steps,)`` for one comparison run or ``(runs, steps)`` for several, which
    are averaged first. None where no checkpoint agrees more: print "never" and read it as at least xi*, the reference
    run's best performance.

    >>> xi([0, 100, 500], [0.1, 0.4, 0.8], [0.5, 0.7, 0.9], level=0.3)
    Xi(step=100, performance=0.7)
    >>> xi([0, 100, 500], [0.1, 0.4, 0.8], [0.5, 0.7, 0.9], level=0.8) is None
    True
    """
    if not len(steps) or any(after <= before for before, after in pairwise(steps)):
        raise UsageError("xi needs the steps of at least one checkpoint, in rising order.")
    if not np.isfinite(level):
        raise UsageError(f"xi needs the agreement to exceed as a finite number, not {level}.")
    agreements, performances = (
        _mean_over_runs(values, len(steps), name)
        for values, name in ((agreement, "agreement"), (performance, "performance"))
    )
    beyond = np.flatnonzero(agreements > level)
    if not len(beyond):
        return None
    first = int(beyond[0])
    return Xi(int(steps[first]), float(performances[first]))


@dataclass(frozen=True)
class XiInterval:
    """xi with its uncertainty. ``first``: None where no evaluation agrees more ("never"). ``value``: the performance,
    or the ``best`` one where it is never. ``interval``: over comparison runs; over examples where there is one run;
    None where there is one text as well.
    """

    first: Xi | None
    value: float
    interval: tuple[float, float] | None
    over: Literal["comparison seeds", "examples"]


def xi_interval(
    steps: Sequence[int],
    agreement: Floats,
    performance: Floats,
    levels: Floats,
    followed: Floats,
    *,
    best: float,
    name: str,
    groups: NDArray[np.int64] | None = None,
) -> XiInterval:
    """xi and its 95 % interval, in which "never" counts as the ``best`` performance.

    ``agreement`` and ``performance`` (runs, steps); ``levels`` (texts,): A(u, v) of each text; ``followed`` (steps,
    texts): A(alpha, alpha(step)) of each text, mean over runs. A single run has no interval over seeds: texts are drawn
    again for both agreements together, while a step's performance stays the one measured. ``name`` names the draws.
    ``groups`` (texts,): which rows are drawn together, such as the output words of one sentence.
    """
    level = float(np.nanmean(levels))
    first = xi(steps, agreement, performance, level)
    value = best if first is None else first.performance
    if len(agreement) > 1:
        drawn = drawn_rows(len(agreement), "xi", name, resamples=RESAMPLES)[1:]
        again = [xi(steps, agreement[rows], performance[rows], level) for rows in drawn]
    elif len(levels) > 1:
        texts = drawn_texts(len(levels), name, groups)
        curves, reached = means_of_drawn(followed, texts), means_of_drawn(levels, texts)
        again = [xi(steps, curve, performance, at) for curve, at in zip(curves, reached, strict=True)]
    else:
        return XiInterval(first, value, None, "examples")
    interval = percentiles([best if one is None else one.performance for one in again])
    return XiInterval(first, value, interval, "comparison seeds" if len(agreement) > 1 else "examples")


def drawn_texts(texts: int, name: str, groups: NDArray[np.int64] | None = None) -> Floats:
    """How often each text is drawn in every resample: (resamples, texts); those of one group are drawn together."""
    if groups is None:
        return drawn_counts(texts, "xi over examples", name, resamples=RESAMPLES)
    names, group = np.unique(groups, return_inverse=True)
    return drawn_counts(len(names), "xi over examples", name, resamples=RESAMPLES)[:, group]


def _mean_over_runs(values: ArrayLike, steps: int, name: str) -> NDArray[np.float64]:
    array = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] != steps:
        raise UsageError(
            f"xi needs one {name} for each of its {steps} checkpoints, by run if there are several; "
            f"it was given shape {np.shape(values)}."
        )
    if not np.isfinite(array).all():
        raise UsageError(f"xi needs finite numbers; its {name} has one that is not.")
    return np.asarray(array.mean(axis=0))
