"""Success against contrast: a logistic curve, a step as its sharp limit, and how wide the rise is.

    p = low + (high - low) / (1 + exp(-b (log10 contrast - a)))          p = low at contrast 0

``width`` = 2 ln 9 / b is the number of decades of contrast between a tenth and nine tenths of the rise; a step has
width 0. The fit is by maximum likelihood over a grid, so that thousands of resamples are fitted alike and at once.
"""

from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIDDLES = np.arange(-5.0, -0.5, 0.2)
"""Values of a tried: where the rise is half done, log10 of contrast; from 1e-5 to that of 40 of 80."""
WIDTHS = np.concatenate([np.arange(0.0, 2.0, 0.25), np.arange(2.0, 6.01, 0.5)])
LOWS = np.arange(0.0, 1.0, 0.04)
HIGHS = np.array([0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999])
LEAST = 1e-6
"""Probabilities are kept this far from 0 and 1, so that one surprise does not rule a curve out."""
NONE = 1e-12
"""Contrasts up to this are rounding, and mean none."""
_CHUNK = 40
"""Resamples fitted at once: a grid of likelihoods of each is held."""


@dataclass(frozen=True)
class Curve:
    """A fitted curve and its log-likelihood."""

    low: float
    high: float
    middle: float
    width: float
    log_likelihood: float

    def at(self, contrasts: Floats) -> Floats:
        """The probability of success at these contrasts."""
        return self.low + (self.high - self.low) * rise(contrasts, self.middle, self.width)


@dataclass(frozen=True)
class Fits:
    """Curves fitted to the data and to resamples of them; of each (resamples + 1,), the data first.

    ``width``: decades of contrast between a tenth and nine tenths of the rise. ``height``: how much p rises from no
    contrast to the largest that was tried. ``aic_gain``: AIC of the best step minus that of the best curve, which has
    one parameter more: how much worse the step fits.
    """

    curve: Curve
    step: Curve
    width: Floats
    height: Floats
    aic_gain: Floats


def rise(contrasts: Floats, middle: float, width: float) -> Floats:
    """How much of the rise is done at these contrasts, from 0 to 1."""
    position = np.log10(np.maximum(contrasts, 1e-300)) - middle
    if width == 0:
        done = (position >= 0).astype(np.float64)
    else:
        done = 1 / (1 + np.exp(np.clip(-2 * log(9) / width * position, -700, 700)))
    return np.where(contrasts <= NONE, 0.0, done)


def fit_curves(contrasts: Floats, learned: Floats, runs: Floats) -> Fits:
    """Fit curve and step to how many of so many ``runs`` (distributions,) learned.

    ``learned``: (resamples + 1, distributions), the data first. ``contrasts``: (distributions,).
    """
    shapes = list(product(WIDTHS, MIDDLES))
    done = np.array([rise(contrasts, middle, width) for width, middle in shapes])  # (shapes, distributions)
    ends = np.array([(low, high) for low, high in product(LOWS, HIGHS) if low <= high])
    low, high = ends[:, 0, None, None], ends[:, 1, None, None]
    p = np.clip(low + (high - low) * done, LEAST, 1 - LEAST)  # (ends, shapes, distributions)
    p = p.reshape(-1, len(contrasts))
    of_shape = np.tile(np.arange(len(shapes)), len(ends))
    of_ends = np.repeat(np.arange(len(ends)), len(shapes))
    is_step = np.array([shapes[shape][0] == 0 for shape in range(len(shapes))])[of_shape]
    log_p, log_q = np.log(p), np.log1p(-p)

    best, best_step, likelihoods = [], [], []
    for first in range(0, len(learned), _CHUNK):
        counts = learned[first : first + _CHUNK]
        likelihood = counts @ log_p.T + (runs - counts) @ log_q.T  # (chunk, grid)
        best.append(likelihood.argmax(1))
        steps = np.where(is_step, likelihood, -np.inf)
        best_step.append(steps.argmax(1))
        likelihoods.append(np.stack([likelihood.max(1), steps.max(1)], 1))
    chosen, chosen_step = np.concatenate(best), np.concatenate(best_step)
    best_likelihood = np.concatenate(likelihoods)

    def curve(place: int, value: float) -> Curve:
        width, middle = shapes[of_shape[place]]
        low, high = ends[of_ends[place]]
        return Curve(float(low), float(high), float(middle), float(width), float(value))

    widths = np.array([width for width, _ in shapes])[of_shape[chosen]]
    reached = done[of_shape[chosen], int(contrasts.argmax())]
    heights = (ends[of_ends[chosen], 1] - ends[of_ends[chosen], 0]) * reached
    return Fits(
        curve=curve(chosen[0], best_likelihood[0, 0]),
        step=curve(chosen_step[0], best_likelihood[0, 1]),
        width=widths,
        height=heights,
        aic_gain=2 * (best_likelihood[:, 0] - best_likelihood[:, 1]) - 2,
    )
