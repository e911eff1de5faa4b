"""Kendall's rank correlation tau-b of two score fields, row by row. (P3 appendix A.4)

    tau_b = (C - D) / sqrt((T - T_u) (T - T_v))

over the T = L (L - 1) / 2 pairs of positions: C pairs are ordered alike by u and v, D pairs the opposite way, T_u tie
in u and T_v in v. A row has no tau-b where u or v is constant, as it is with a single position: NaN, as in SciPy.

Sorting by u leaves D as the pairs that v puts in the wrong order. They are counted for many rows at once: within tiles
of neighbouring positions by comparing all pairs, between a tile and everything before it by running counts over ranks.
"""

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from attnlab.fields import ScoreField
from attnlab.measures.ragged import check_pair, pad, padded_blocks


def kendall_tau(u: ScoreField, v: ScoreField) -> NDArray[np.float64]:
    """Tau-b of each row, ``(rows,)``; NaN where it is undefined.

    >>> u, v = ScoreField.from_rows([[1, 2, 3, 4], [1, 1]]), ScoreField.from_rows([[1, 2, 4, 3], [1, 2]])
    >>> kendall_tau(u, v).round(4).tolist()
    [0.6667, nan]
    """
    check_pair(u, v)
    tau = np.full(len(u), np.nan)
    several = np.flatnonzero(u.lengths > 1)
    for block in padded_blocks(u.lengths[several]):
        rows = several[block]
        tau[rows] = _tau_of_padded(pad(u, rows, np.inf), pad(v, rows, np.inf), u.lengths[rows])
    return tau


def _tau_of_padded(u: NDArray[np.float64], v: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Tau-b of rows padded with infinity, ``(rows, width)`` each.

    Padding is last in both orders and ties only with itself: it adds nothing to D, and the same known number of ties to
    u, to v and to both.
    """
    width = u.shape[1]
    column = np.arange(width, dtype=np.int64)
    by_v = np.argsort(v, axis=1)
    sorted_v = np.take_along_axis(v, by_v, axis=1)
    v_runs = _run_starts(sorted_v[:, 1:] != sorted_v[:, :-1])
    by_u = np.argsort(u, axis=1)
    sorted_u = np.take_along_axis(u, by_u, axis=1)
    u_runs = _run_starts(sorted_u[:, 1:] != sorted_u[:, :-1])

    # Place in v's order of each position, read in u's order; where u ties, v's order decides, so that no such pair
    # looks discordant. One number holds both: sorting it only moves entries within a tie of u.
    place = np.empty_like(by_v)
    np.put_along_axis(place, by_v, np.broadcast_to(column, by_v.shape), axis=1)
    both = u_runs * width + np.take_along_axis(place, by_u, axis=1)
    both.sort(axis=1)
    place = both - u_runs * width
    rank = np.take_along_axis(v_runs, place, axis=1)  # equal where v ties

    tied_in_both = _run_starts((rank[:, 1:] != rank[:, :-1]) | (u_runs[:, 1:] != u_runs[:, :-1]))
    padding = (width - lengths) * (width - lengths - 1) // 2
    pairs = lengths * (lengths - 1) // 2
    ties_u, ties_v, ties_both = ((column - runs).sum(axis=1) - padding for runs in (u_runs, v_runs, tied_in_both))
    discordant = _discordant(place, rank)
    difference = pairs - ties_u - ties_v + ties_both - 2 * discordant  # C - D
    free_u, free_v = pairs - ties_u, pairs - ties_v
    defined = (free_u > 0) & (free_v > 0)
    tau = np.full(len(u), np.nan)
    np.divide(difference, np.sqrt(free_u) * np.sqrt(free_v), out=tau, where=defined)
    np.clip(tau, -1, 1, out=tau)  # rounding may pass 1 by the last digit; NaN stays NaN
    return tau


def _run_starts(changes: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each entry of a sorted row the place where its run of equal values starts, given where values change.

    The distances to these places add up to the number of tied pairs: t (t - 1) / 2 for each run of t.
    """
    rows, width = changes.shape[0], changes.shape[1] + 1
    starts = np.zeros((rows, width), dtype=np.int64)
    np.multiply(changes, np.arange(1, width), out=starts[:, 1:])
    return np.maximum.accumulate(starts, axis=1, out=starts)


def _discordant(place: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """D: pairs i < j with rank_i > rank_j, for each row.

    ``place`` numbers the entries of a row by v's order, 0 to width - 1; ``rank`` is the least place among equals.
    """
    # Comparing within tiles grows with their size, counting between tiles with their number: the best size grows with
    # the root of the width. Below 256 a tile's counts fit into a byte.
    width = rank.shape[1]
    tiles = -(-width // min(max(32, isqrt(4 * width)), 255))
    size = -(-width // tiles)
    return _within_tiles(rank, tiles, size) + _between_tiles(place, rank, size)


def _within_tiles(rank: NDArray[np.int64], tiles: int, size: int) -> NDArray[np.int64]:
    """Discordant pairs of positions in the same tile, by comparing each with all later ones of its tile."""
    rows, width = rank.shape
    # Narrow numbers are compared many at a time. The last tile is filled up with ranks that exceed none.
    full = np.full((rows, tiles * size), width, dtype=np.min_scalar_type(width))
    full[:, :width] = rank
    side_by_side = np.ascontiguousarray(full.reshape(rows * tiles, size).T)  # (position in the tile, rows * tiles)
    counts = np.zeros(rows * tiles, dtype=np.int64)
    for i in range(size - 1):
        greater = side_by_side[i] > side_by_side[i + 1 :]
        counts += np.add.reduce(greater.view(np.uint8), axis=0, dtype=np.uint8)
    return np.asarray(counts.reshape(rows, tiles).sum(axis=1))


def _between_tiles(place: NDArray[np.int64], rank: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Discordant pairs of positions in different tiles: for each position the later tiles' places below its rank."""
    rows, width = rank.shape
    counts = np.zeros(rows, dtype=np.int64)
    later = np.zeros((rows, width), dtype=np.uint8)  # by place: whether it is in a later tile
    below = np.zeros((rows, width + 1), dtype=np.int32)  # by rank: how many places of later tiles are smaller
    for start in range((width - 1) // size * size, 0, -size):
        np.put_along_axis(later, place[:, start : start + size], 1, axis=1)
        np.cumsum(later, axis=1, dtype=np.int32, out=below[:, 1:])
        counts += np.take_along_axis(below, rank[:, start - size : start], axis=1).sum(axis=1)
    return counts
