"""Percentile bootstrap intervals of a mean agreement: over examples or over seeds.

What an interval is over decides what it says. Over examples: how the figure would vary with other texts and the same
trained models. Over seeds: with other models and the same texts.

Rows that are NaN (a tau that is undefined) are left out of every mean. The interval of a difference between two figures
of the same rows is the interval of the rows' differences.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

Over: TypeAlias = Literal["examples", "seeds"]

# Resampled numbers held at once: 8 MB an array, however many examples there are.
_CELLS = 1_000_000


@dataclass(frozen=True)
class Interval:
    """From ``low`` to ``high``, with the confidence ``level``, over what was drawn again."""

    low: float
    high: float
    level: float
    over: Over


def interval_over_examples(
    values: ArrayLike, *, groups: ArrayLike | None = None, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval | None:
    """The interval of the mean of ``values (rows,)``, one for each output word.

    ``groups (rows,)`` says which rows belong together and are drawn together: the output words of one sentence are not
    independent. None where there is a single row or group.

    >>> interval_over_examples([0.5, 0.5, 0.5])
    Interval(low=0.5, high=0.5, level=0.95, over='examples')
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1:
        raise UsageError(f"An interval over examples needs one value a row, not an array of shape {table.shape}.")
    return _interval(table[None], groups, level, resamples, seed, "examples")


def interval_over_seeds(
    values: ArrayLike, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval | None:
    """The interval of the mean of ``values (seeds,)``, one figure for each run. None for a single run."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1:
        raise UsageError(f"An interval over seeds needs one value a run, not an array of shape {table.shape}.")
    return _interval(table[:, None], None, level, resamples, seed, "seeds")


def grouped_sums(
    table: NDArray[np.float64], groups: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and number of the defined values of each group: ``(seeds, rows)`` to ``(seeds, groups)`` twice.

    A group without any is left out.
    """
    defined = ~np.isnan(table)
    filled = np.where(defined, table, 0.0)
    if not defined.any() or not np.isfinite(filled).all():
        raise UsageError("An agreement's rows are finite numbers, or NaN where undefined, and some must be defined.")
    if groups is None:
        used = defined.any(axis=0)
        return filled[:, used], defined[:, used].astype(np.float64)
    labels = np.asarray(groups)
    if labels.shape != table.shape[1:]:
        raise UsageError(f"groups has a label for each of the {table.shape[1]} rows; its shape is {labels.shape}.")
    names, group = np.unique(labels, return_inverse=True)
    sums, counts = np.zeros((2, len(names), len(table)))
    np.add.at(sums, group, filled.T)
    np.add.at(counts, group, defined.T)
    used = counts.any(axis=1)
    return sums[used].T, counts[used].T


def _interval(
    table: NDArray[np.float64], groups: ArrayLike | None, level: float, resamples: int, seed: int, over: Over
) -> Interval | None:
    """The interval of the mean over a table ``(seeds, rows)``."""
    if not 0 < level < 1:
        raise UsageError(f"A level of {level} is out of range; it lies between 0 and 1, such as 0.95.")
    if resamples < 1:
        raise UsageError(f"A bootstrap interval needs at least one resample, not {resamples}.")
    sums, counts = grouped_sums(table, groups)
    drawn = len(sums) if over == "seeds" else sums.shape[1]  # how many are drawn from
    if drawn == 1:
        return None
    generator = numpy_generator(seed, "bootstrap", over)
    means = np.empty(resamples)
    step = max(1, _CELLS // max(sums.shape))
    for start in range(0, resamples, step):
        chunk = means[start : start + step]
        chosen = generator.integers(drawn, size=(len(chunk), drawn))
        if over == "seeds":
            times = _times_drawn(chosen)
            total, number = ((times @ part).sum(axis=1) for part in (sums, counts))
        else:
            total, number = (part[0][chosen].sum(axis=1) for part in (sums, counts))
        # A resample may, very seldom, hold undefined rows alone.
        chunk[:] = np.divide(total, number, out=np.full(len(chunk), np.nan), where=number > 0)
    low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, over)


def _times_drawn(chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """How often each of n was drawn: ``(resamples, n)`` from the ``chosen`` ones ``(resamples, n)``."""
    resamples, n = chosen.shape
    places = chosen + n * np.arange(resamples)[:, None]
    return np.bincount(places.ravel(), minlength=resamples * n).reshape(resamples, n).astype(np.float64)
