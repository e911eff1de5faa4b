"""Output relevance under uniform attention: the slides' classification of two sentences, by descent and by formula.

"This movie is great" is positive, "This movie is bad" negative. Under uniform attention a sentence's logit is the mean
relevance r of its words. The three shared words are in both sentences and are pulled both ways.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, lambertw

WORDS = ("This", "movie", "is", "great", "bad")
POSITIVE, NEGATIVE = np.array([1, 1, 1, 1, 0]) / 4, np.array([1, 1, 1, 0, 1]) / 4
"""The two sentences under uniform attention: how much of each word's relevance the logit holds."""
RATE, STEPS, EVERY = 0.1, 5000, 50


@dataclass(frozen=True)
class Descent:
    """Relevance r (times, words) of the words at ``times`` (times,) of the gradient flow."""

    times: NDArray[np.float64]
    relevance: NDArray[np.float64]

    @property
    def change(self) -> NDArray[np.float64]:
        """From the first to the last: (words,)."""
        return np.asarray(self.relevance[-1] - self.relevance[0])


def descend(start: NDArray[np.float64], *, rate: float = RATE, steps: int = STEPS, every: int = EVERY) -> Descent:
    """Gradient descent on -log sigmoid(y_p) - log sigmoid(-y_n), y the mean relevance of a sentence's words."""
    r, kept = start.astype(np.float64), [start.astype(np.float64)]
    for step in range(1, steps + 1):
        r = r + rate * (expit(-POSITIVE @ r) * POSITIVE - expit(NEGATIVE @ r) * NEGATIVE)
        if step % every == 0:
            kept.append(r)
    return Descent(np.arange(len(kept), dtype=np.float64) * (rate * every), np.array(kept))


def closed_form(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relevance of the class word, from 0: (times,).

    Shared words then stay at 0, r_great = -r_bad = 4z with dz/dt = (1/16) / (1 + e^z), so that z + e^z = 1 + t/16 = c
    and z = c - W(e^c), W being Lambert's function.
    """
    c = 1 + times / 16
    return np.asarray(4 * (c - lambertw(np.exp(c)).real))
