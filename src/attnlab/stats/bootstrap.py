"""Percentile bootstrap: draw again with replacement, compute again, and give the middle 95 % of the results.

What is drawn again decides what an interval says. Over examples: how a figure would vary with other texts and the same
trained models. Over seeds: with other models and the same texts. The interval of a difference between two figures of
the same rows is the interval of the rows' differences.

Each has a generator of its own, named by what it is for: the same call gives the same interval. The draws differ from
function to function, and committed results depend on them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator

Floats: TypeAlias = NDArray[np.float64]
Sample: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]
Statistic = Literal["mean", "median"]
Over: TypeAlias = Literal["examples", "seeds"]

RESAMPLES = 2000
_STATISTICS: dict[str, Callable[..., Any]] = {"mean": np.mean, "median": np.median}
_CELLS = 1_000_000
"""Resampled numbers held at once: 8 MB an array, however many seeds or examples there are."""


def divided(a: NDArray[Any], b: NDArray[Any]) -> Floats:
    """a / b, NaN where b is 0."""
    return np.asarray(np.divide(a, b, out=np.full(np.broadcast_shapes(a.shape, b.shape), np.nan), where=b > 0))


def percentiles(values: ArrayLike, tails: tuple[float, float] = (0.025, 0.975)) -> tuple[float, float]:
    """The interval between two quantiles of resampled values; those that are undefined (NaN) are left out."""
    low, high = np.nanquantile(np.asarray(values, dtype=np.float64), tails)
    return float(low), float(high)


def bootstrap_interval(
    sample: Sample, statistic: Statistic = "mean", *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float] | None:
    """The interval of a mean or median over a sample, usually of one value a seed.

    None for a single value: one seed has no interval over seeds.

    >>> bootstrap_interval([3.0, 3.0, 3.0])
    (3.0, 3.0)
    """
    tails = _tails(level, resamples)
    resampled = _resample(sample, statistic, resamples, np.random.default_rng(seed))
    return percentiles(resampled, tails) if len(sample) > 1 else None


def bootstrap_difference(
    a: Sample, b: Sample, statistic: Statistic = "mean", *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float] | None:
    """The interval of ``statistic(a) - statistic(b)`` for two independent samples.

    None where either sample is a single value.

    >>> bootstrap_difference([3.0, 3.0], [1.0, 1.0, 1.0])
    (2.0, 2.0)
    """
    tails = _tails(level, resamples)
    generator = np.random.default_rng(seed)
    resampled_a = _resample(a, statistic, resamples, generator)
    resampled_b = _resample(b, statistic, resamples, generator)
    return percentiles(resampled_a - resampled_b, tails) if min(len(a), len(b)) > 1 else None


def _resample(sample: Sample, statistic: Statistic, resamples: int, generator: np.random.Generator) -> Floats:
    """The statistic of each resample: ``(resamples,)``."""
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise UsageError("A bootstrap interval needs a list of finite numbers, and not an empty one.")
    if statistic not in _STATISTICS:
        raise UsageError(f"There is no statistic {statistic!r}; statistics are {', '.join(_STATISTICS)}.")
    draws = _draws(len(values), resamples, generator)
    return np.concatenate([_STATISTICS[statistic](values[chosen], axis=1) for chosen in draws])


def _draws(n: int, resamples: int, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Which of ``n`` values each resample has, some resamples at a time: (some, n) each."""
    step = max(1, _CELLS // n)
    for start in range(0, resamples, step):
        yield generator.integers(n, size=(min(step, resamples - start), n))


def _tails(level: float, resamples: int) -> tuple[float, float]:
    if not 0 < level < 1:
        raise UsageError(f"A level of {level} is out of range; it lies between 0 and 1, such as 0.95.")
    if resamples < 1:
        raise UsageError(f"A bootstrap interval needs at least one resample, not {resamples}.")
    return (1 - level) / 2, (1 + level) / 2


@dataclass(frozen=True)
class Interval:
    """From ``low`` to ``high``, with the confidence ``level``, over what was drawn again."""

    low: float
    high: float
    level: float
    over: Over


def interval_over_examples(
    values: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The interval of the mean of ``values (rows,)``, one for each output word; NaN rows (undefined) are left out.

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
    values: ArrayLike, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """The interval of the mean of ``values (seeds,)``, one figure for each run. None for a single run."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1:
        raise UsageError(f"An interval over seeds needs one value a run, not an array of shape {table.shape}.")
    return _interval(table[:, None], None, level, resamples, seed, "seeds")


def grouped_sums(table: Floats, groups: ArrayLike | None) -> tuple[Floats, Floats]:
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
    table: Floats, groups: ArrayLike | None, level: float, resamples: int, seed: int, over: Over
) -> Interval | None:
    """The interval of the mean over a table ``(seeds, rows)`` of which one side is 1."""
    tails = _tails(level, resamples)
    sums, counts = (part.ravel() for part in grouped_sums(table, groups))  # (seeds or groups,)
    n = len(sums)
    if n == 1:
        return None
    draws = _draws(n, resamples, numpy_generator(seed, "bootstrap", over))
    # A resample may, very seldom, hold undefined rows alone.
    means = [divided(sums[drawn].sum(axis=1), counts[drawn].sum(axis=1)) for drawn in draws]
    return Interval(*percentiles(np.concatenate(means), tails), level, over)


def interval_over_pairs(matrix: Floats) -> tuple[float, float] | None:
    """The 95 % interval over seeds of a mean over pairs, from a symmetric ``matrix (seeds, seeds)``.

    Seeds are drawn again, not pairs, and pairs of a seed with itself left out. None for fewer than three seeds.

    >>> interval_over_pairs(np.full((3, 3), 0.5))
    (0.5, 0.5)
    """
    seeds = len(matrix)
    if seeds < 3:
        return None
    drawn = drawn_rows(seeds, "seeds of pairs")[1:]
    times = (drawn[:, :, None] == np.arange(seeds)).sum(axis=1).astype(np.float64)  # (resamples, seeds)
    between = np.where(np.eye(seeds, dtype=np.bool_), 0.0, matrix)
    total = np.einsum("ri,ij,rj->r", times, between, times)
    number = seeds**2 - (times**2).sum(axis=1)  # 0 where one seed alone was drawn
    return percentiles(total[number > 0] / number[number > 0])


def spread_over_pairs(matrix: Floats, *purpose: str) -> Floats | None:
    """The standard deviation over pairs of a symmetric ``matrix (seeds, seeds)``: (resamples + 1,), the first of all
    seeds, the others of seeds drawn again as in `interval_over_pairs`. None for fewer than three seeds.

    >>> float(spread_over_pairs(np.full((3, 3), 0.5))[0])
    0.0
    """
    seeds = len(matrix)
    if seeds < 3:
        return None
    drawn = drawn_rows(seeds, "spread over pairs", *purpose)
    times = (drawn[:, :, None] == np.arange(seeds)).sum(axis=1).astype(np.float64)  # (resamples + 1, seeds)
    weights = times[:, :, None] * times[:, None] * ~np.eye(seeds, dtype=np.bool_)
    number = weights.sum(axis=(1, 2))  # 0 where one seed alone was drawn
    means = divided((weights * matrix).sum(axis=(1, 2)), number)
    squares = divided((weights * (matrix - means[:, None, None]) ** 2).sum(axis=(1, 2)), number)
    return np.asarray(np.sqrt(squares))


def drawn_rows(n: int, *purpose: str, resamples: int = RESAMPLES) -> NDArray[np.int64]:
    """Which of ``n`` rows each resample has: (resamples + 1, n), the first being the rows themselves.

    ``purpose`` names the generator: the same purpose gives the same draws, so that differences are paired.

    >>> drawn_rows(1, "an example", resamples=2).tolist()
    [[0], [0], [0]]
    """
    drawn = numpy_generator(0, *purpose).integers(n, size=(resamples, n))
    return np.concatenate([np.arange(n)[None], drawn])


def resampled_rows(groups: Sequence[object], purpose: str, resamples: int = RESAMPLES) -> NDArray[np.int64]:
    """The same for rows that fall into groups, such as runs of several designs: every group keeps its size.

    ``groups``: the group of each row. A resample draws as many rows of a group as it has, with replacement.

    >>> resampled_rows(["a", "b"], "an example", resamples=2).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    rng = numpy_generator(0, "resampled rows", purpose)
    rows = np.tile(np.arange(len(groups)), (resamples + 1, 1))
    for group in dict.fromkeys(groups):
        members = np.array([place for place, one in enumerate(groups) if one == group])
        rows[1:, members] = members[rng.integers(len(members), size=(resamples, len(members)))]
    return rows


def value_and_interval(values: Floats) -> tuple[float, tuple[float, float]] | None:
    """The first value and the 95 % interval of the others that are defined; None where the first is not.

    >>> value_and_interval(np.array([2.0, 1.0, np.nan, 1.0]))
    (2.0, (1.0, 1.0))
    """
    if np.isnan(values[0]) or np.isnan(values[1:]).all():
        return None
    return float(values[0]), percentiles(values[1:])


def drawn_counts(n: int, *purpose: str, resamples: int = RESAMPLES) -> Floats:
    """How often each of ``n`` rows is drawn in every resample: (resamples, n)."""
    drawn = numpy_generator(0, *purpose).multinomial(n, np.full(n, 1 / n), size=resamples)
    return drawn.astype(np.float64)


def means_of_drawn(values: Floats, counts: Floats) -> Floats:
    """Means over the drawn rows: ``values (..., rows)`` to (resamples, ...). What is undefined (NaN) is left out."""
    defined = ~np.isnan(values)
    return np.asarray((counts @ np.where(defined, values, 0).T) / (counts @ defined.T))
