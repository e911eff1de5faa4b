"""Percentile bootstrap intervals of a mean agreement: over examples, over seeds, or over both.

What an interval is over decides what it says. Over examples: how the figure would vary with other texts and the same
trained models. Over seeds: with other models and the same texts. Over both: with both, which is what a claim about a
method and a kind of text is about.

Rows that are NaN (a tau that is undefined) are left out of every mean. The interval of a difference between two figures
of the same rows is the interval of the rows' differences.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

Over: TypeAlias = Literal["examples", "seeds", "seeds and examples"]

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


def interval_over_both(
    values: ArrayLike, *, groups: ArrayLike | None = None, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval | None:
    """The interval of the mean of ``values (seeds, rows)``, the same rows for every run.

    A resample draws runs, and draws rows (or groups) once for all of them: an example that is hard is hard for every
    run, and drawing other rows for each run would average that away. None where there is a single run or group.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise UsageError(f"An interval over both needs values (seeds, rows), not an array of shape {table.shape}.")
    return _interval(table, groups, level, resamples, seed, "seeds and examples")


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
    draw_seeds, draw_groups = over != "examples", over != "seeds"
    if (draw_seeds and len(sums) == 1) or (draw_groups and sums.shape[1] == 1):
        return None
    generator = numpy_generator(seed, "bootstrap", over)
    means = np.empty(resamples)
    step = max(1, _CELLS // max(sums.shape))
    for start in range(0, resamples, step):
        chunk = means[start : start + step]
        seeds = _drawn_counts(len(chunk), len(sums), generator) if draw_seeds else np.ones((1, len(sums)))
        drawn = generator.integers(sums.shape[1], size=(len(chunk), sums.shape[1])) if draw_groups else None
        total, number = (_totals(seeds @ part, drawn) for part in (sums, counts))
        # A resample may, very seldom, hold undefined rows alone.
        chunk[:] = np.divide(total, number, out=np.full(len(chunk), np.nan), where=number > 0)
    low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, over)


def _drawn_counts(resamples: int, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """How often each of ``n`` is drawn in ``n`` draws: ``(resamples, n)``."""
    drawn = generator.integers(n, size=(resamples, n)) + n * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * n).reshape(resamples, n).astype(np.float64)


def _totals(parts: NDArray[np.float64], drawn: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Sums over the drawn groups, or over all: ``(resamples or 1, groups)`` to ``(resamples or 1,)``."""
    if drawn is None:
        totals: NDArray[np.float64] = parts.sum(axis=1)
    elif len(parts) == 1:
        totals = parts[0][drawn].sum(axis=1)
    else:
        totals = np.take_along_axis(parts, drawn, axis=1).sum(axis=1)
    return totals
