"""All measures of two score fields at once, from arrays of anybody's model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.measures.agreement import random_baseline, released_baseline, top_agreement
from attnlab.measures.tau import kendall_tau
from attnlab.stats.bootstrap import Interval, interval_over_examples


@dataclass(frozen=True)
class Agreement:
    """How well u's highest position is ranked by v, averaged over rows.

    ``expected``: A(u, v) with ties broken at random, the main figure; ``interval``: its bootstrap interval over
    examples, None for a single one; ``baseline``: what it would be if v were shuffled. ``released`` and
    ``released_baseline``: the same by the rule of the released code. ``tau``: the mean of Kendall's tau-b over the
    ``tau_rows`` rows that have one, None if none has. ``rows``: rows with at least one position, which all other means
    are over. ``share``: what counts as top.
    """

    expected: float
    interval: Interval | None
    baseline: float
    released: float
    released_baseline: float
    tau: float | None
    rows: int
    tau_rows: int
    share: float


def agreement(
    u: ArrayLike | ScoreField,
    v: ArrayLike | ScoreField,
    lengths: ArrayLike | None = None,
    *,
    share: float = 0.05,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Compare two score fields, such as attention weights ``u`` and gradient influence ``v``. Direction matters.

    ``u`` and ``v`` are score fields, as probes return them, or arrays: flat, rows one after the other, or padded,
    ``(rows, longest row)``. ``lengths (rows,)`` says how many positions each row of an array has; padded arrays without
    it are full. ``groups (rows,)``: which rows are drawn together for the interval, such as those of one sentence.

    >>> measured = agreement([0.1, 0.7, 0.2, 0.5, 0.5], [1, 3, 2, 1, 0], lengths=[3, 2])
    >>> measured.expected, round(measured.baseline, 4), measured.tau_rows
    (0.75, 0.4167, 1)
    """
    first, second = _field(u, lengths, "u"), _field(v, lengths, "v")
    measured = top_agreement(first, second, share)
    occupied = first.lengths > 0
    if not occupied.any():
        raise UsageError("There is nothing to compare: no row has a position.")
    tau = kendall_tau(first, second)
    tau = tau[~np.isnan(tau)]
    expected = measured.expected
    return Agreement(
        expected=float(expected[occupied].mean()),
        interval=interval_over_examples(expected, groups=groups, level=level, resamples=resamples, seed=seed),
        baseline=float(random_baseline(first.lengths[occupied], share).mean()),
        released=float(measured.released[occupied].mean()),
        released_baseline=float(released_baseline(second, share)[occupied].mean()),
        tau=float(tau.mean()) if len(tau) else None,
        rows=int(occupied.sum()),
        tau_rows=len(tau),
        share=share,
    )


def _field(scores: ArrayLike | ScoreField, lengths: ArrayLike | None, name: str) -> ScoreField:
    """A score field as it is, or from a flat or a padded array."""
    if isinstance(scores, ScoreField):
        return scores
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a PyTorch tensor that still has a graph
        raise UsageError(f"{name} cannot be read as an array of numbers: {error}.") from error
    if values.ndim not in (1, 2):
        raise UsageError(f"{name} is flat or (rows, longest row), not an array of shape {values.shape}.")
    if lengths is None and values.ndim == 1:
        raise UsageError(f"{name} is flat, so lengths must say how many positions each row has.")
    counts = np.full(len(values), values.shape[-1]) if lengths is None else np.asarray(lengths)
    if counts.ndim != 1 or not (np.issubdtype(counts.dtype, np.integer) or counts.size == 0) or (counts < 0).any():
        raise UsageError("lengths is a flat list of whole numbers from 0 upwards, one for each row.")
    counts = counts.astype(np.int64)
    if values.ndim == 2:
        if len(counts) != len(values):
            raise UsageError(f"lengths names {len(counts)} rows, but {name} has {len(values)}.")
        if (counts > values.shape[1]).any():
            k = int(np.argmax(counts > values.shape[1]))
            raise UsageError(f"Row {k} cannot have {counts[k]} positions: {name} is {values.shape[1]} wide.")
        values = values[np.arange(values.shape[1]) < counts[:, None]]
    elif counts.sum() != len(values):
        raise UsageError(f"The lengths add up to {counts.sum()} positions, but {name} has {len(values)} values.")
    return ScoreField(values, np.concatenate([[0], np.cumsum(counts)]))
