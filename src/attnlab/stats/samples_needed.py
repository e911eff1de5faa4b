"""How many samples a fixed error takes, read off a curve of error against n; what lies outside of it is kept apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log2
from typing import Literal

import numpy as np

from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import percentiles

Where = Literal["inside", "below", "above"]


@dataclass(frozen=True)
class Needed:
    """``samples`` needed. ``where``: ``inside`` the sizes measured; ``below``: no more than the smallest of them, which
    ``samples`` then is; ``above``: more than the largest.
    """

    samples: float
    where: Where


def samples_needed(sizes: Sequence[int], errors: Sequence[float], level: float) -> Needed:
    """The size from which on the error is at most ``level``, between sizes by a straight line in log n and log error.

    >>> samples_needed([100, 200, 400], [0.4, 0.2, 0.05], 0.1)
    Needed(samples=282.84..., where='inside')
    >>> samples_needed([100, 200], [0.4, 0.2], 0.1).where, samples_needed([100, 200], [0.05, 0.01], 0.1).where
    ('above', 'below')
    """
    if len(sizes) != len(errors) or not sizes or list(sizes) != sorted(set(sizes)):
        raise UsageError("A curve needs different sizes in rising order, and an error for each of them.")
    if not level > 0 or not np.isfinite(errors).all():
        raise UsageError(f"Errors are finite and the error asked for is above 0, not {level}.")
    good = [error <= level for error in errors]
    if not good[-1]:
        return Needed(float(sizes[-1]), "above")
    first = max((place for place, fine in enumerate(good) if not fine), default=-1) + 1
    if first == 0:
        return Needed(float(sizes[0]), "below")
    (low, high), (before, after) = sizes[first - 1 : first + 1], errors[first - 1 : first + 1]
    after = max(after, 1e-300)
    share = log(before / level) / log(before / after)
    return Needed(exp(log(low) + share * log(high / low)), "inside")


def log_ratio(without: Needed, with_attention: Needed) -> float | None:
    """log2 of how many times as many samples the first needs; None where the curves do not say.

    One that lies outside its sizes counts as the outermost of them: too little rather than too much where the first
    needs more than was measured. Two that lie outside on the same side say nothing.
    """
    if without.where == with_attention.where != "inside":
        return None
    return log2(without.samples / with_attention.samples)


def growth(
    sizes: Sequence[float], needed: Sequence[Sequence[float]], *, resamples: int = 2000
) -> tuple[float, float, float]:
    """The exponent b of samples ~ size^b with its 95 % interval over seeds.

    ``needed[size][seed]``: the samples needed; the slope is that of the mean log over seeds, and seeds of each size are
    drawn again on their own, since their teachers differ.
    """
    if len(sizes) < 2 or any(len(row) < 1 for row in needed):
        raise UsageError("A growth needs two sizes or more, and samples needed at each of them.")
    logs, x = [np.log(np.asarray(row, np.float64)) for row in needed], np.log(np.asarray(sizes, np.float64))
    generator = numpy_generator(0, "growth")
    drawn = [
        [row.mean()] + [row[generator.integers(len(row), size=len(row))].mean() for _ in range(resamples)]
        for row in logs
    ]
    slopes = np.polyfit(x, np.array(drawn), 1)[0]
    return float(slopes[0]), *percentiles(slopes[1:])
