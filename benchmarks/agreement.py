"""Agreement measures beside the same figures from SciPy, row by row, at the lengths of real corpora.

Each function gives two pieces of work that compute the same, ours and the loop; they are compared before they are
returned. The ratio of their times is the figure.
"""

from collections.abc import Callable
from math import ceil
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata

from attnlab.fields import ScoreField
from attnlab.measures.agreement import top_agreement
from attnlab.measures.tau import kendall_tau
from attnlab.seeds import numpy_generator

Pair: TypeAlias = tuple[Callable[[], object], Callable[[], object]]


def sst_lengths(rows: int = 1821) -> NDArray[np.int64]:
    """Lengths of film review sentences: 19 positions in the mean, 2 to 52. As many rows as SST has to validate on."""
    drawn = numpy_generator(0, "SST lengths").gamma(4.4, 4.35, size=rows)
    return np.clip(np.round(drawn), 2, 52).astype(np.int64)


def imdb_lengths(rows: int = 4000) -> NDArray[np.int64]:
    """Lengths of film reviews: about 230 positions in the mean, some beyond 1000, as IMDB's validation set has them."""
    drawn = numpy_generator(0, "IMDB lengths").lognormal(5.22, 0.66, size=rows)
    return np.clip(np.round(drawn), 10, 2500).astype(np.int64)


def correlated_fields(lengths: NDArray[np.int64]) -> tuple[ScoreField, ScoreField]:
    """Two fields that agree in part. Every seventh row of v is rounded so that it ties, as counts do."""
    generator = numpy_generator(0, "scores")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    u = generator.random(offsets[-1])
    v = u + generator.random(offsets[-1])
    tying = np.repeat(np.arange(len(lengths)) % 7 == 0, lengths)
    v[tying] = v[tying].round(1)
    return ScoreField(u, offsets), ScoreField(v, offsets)


def top_pair(lengths: NDArray[np.int64]) -> Pair:
    """A(u, v) of every row, ours and by ranks from SciPy; equal exactly."""
    u, v = correlated_fields(lengths)

    def loop() -> NDArray[np.float64]:
        return np.array([_top_of_row(u.row(k), v.row(k)) for k in range(len(u))])

    if not np.array_equal(top_agreement(u, v).expected, loop()):
        raise SystemExit("A differs from the loop over rows: their times cannot be compared.")
    return lambda: top_agreement(u, v), loop


def tau_pair(lengths: NDArray[np.int64]) -> Pair:
    """Tau-b of every row, ours and SciPy's; equal within 1e-9."""
    u, v = correlated_fields(lengths)

    def loop() -> NDArray[np.float64]:
        return np.array([kendalltau(u.row(k), v.row(k)).statistic for k in range(len(u))])

    if not np.allclose(kendall_tau(u, v), loop(), rtol=0, atol=1e-9, equal_nan=True):
        raise SystemExit("tau differs from SciPy's: their times cannot be compared.")
    return lambda: kendall_tau(u, v), loop


def _top_of_row(u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
    """The chance that u's highest position is among the top 5 % of v, by one ranking."""
    rank = rankdata(-v, "min")  # 1 + how many are greater
    there = rank[u == u.max()]
    equal = (rank == there[:, None]).sum(axis=1)
    return float((np.clip(ceil(0.05 * len(v)) + 1 - there, 0, equal) / equal).mean())
