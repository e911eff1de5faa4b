"""A(u, v): is the highest-valued position of u among the highest-valued 5 % of v? (P3 section 3.1)

For one output word with L input positions the paper's text says

    A(u, v) := 1[ #{j : v_j > v_argmax(u)} < 5 % L ]

and #{...} < 5 % L is #{...} < ceil(5 % L), since the left side is a whole number. Two things are left open: which
position is the argmax where several are highest, and what "among the top" means where v ties at the border. The
`expected` figure breaks both ties at random and gives the exact expected value; the `released` one does what the
paper's released code does.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError
from attnlab.fields import ScoreField, consecutive_rows
from attnlab.measures.ragged import BLOCK, check_finite, check_pair, check_rows, pad, padded_blocks, surely_finite
from attnlab.stats.bootstrap import divided


@dataclass(frozen=True, eq=False)
class TopAgreement:
    """A(u, v) of each row; NaN for a row without positions, which has no highest one.

    ``expected (rows,)``: the chance that a highest position of u, drawn at random, is among the top of v, whose ties
    are broken at random. ``released (rows,)``: 1 or 0 by the released rule.
    """

    expected: NDArray[np.float64]
    released: NDArray[np.float64]


def top_agreement(u: ScoreField, v: ScoreField, share: float = 0.05) -> TopAgreement:
    """A(u, v) for each row: how u's highest position is ranked by v.

    >>> u, v = ScoreField.from_rows([[3, 1, 2], [1, 1]]), ScoreField.from_rows([[0.5, 0.2, 0.3], [0.9, 0.1]])
    >>> measured = top_agreement(u, v)
    >>> measured.expected.tolist(), measured.released.tolist()
    ([1.0, 0.5], [1.0, 1.0])
    """
    check_rows(u, v)
    expected, released = np.full(len(u), np.nan), np.full(len(u), np.nan)
    # Rows without positions own no values, so the others still follow each other.
    rows = np.flatnonzero(u.lengths)
    lengths = u.lengths[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    several = np.zeros(len(rows), dtype=np.bool_)  # whether more than one position of u is highest
    greater, at_least = np.empty((2, len(rows)), dtype=np.int64)  # positions of v compared with the first of them
    count = np.uint16 if lengths.max(initial=0) < 1 << 16 else np.uint32  # the narrower, the faster they are summed
    for begin, end in consecutive_rows(offsets, BLOCK):
        block, values = slice(begin, end), slice(offsets[begin], offsets[end])
        starts = offsets[block] - offsets[begin]
        scores, others = u.values[values], v.values[values]
        if not surely_finite(scores):  # here, and that of v below: each is then read from the cache
            check_pair(u, v)
        first, several[block] = _highest(scores, starts, lengths[block])
        if not surely_finite(others):
            check_pair(u, v)
        there = np.repeat(others[first], lengths[block])
        greater[block] = np.add.reduceat((others > there).view(np.uint8), starts, dtype=count)
        at_least[block] = np.add.reduceat((others >= there).view(np.uint8), starts, dtype=count)
    top, equal = top_count(lengths, share), at_least - greater
    left = top - greater  # places in the top for the `equal` positions that tie with this one
    released[rows] = left > 0
    expected[rows] = np.clip(left, 0, equal) / equal
    expected[rows[several]] = _several_highest(u, v, rows[several], top[several])
    return TopAgreement(expected, released)


def top_count(lengths: NDArray[np.int64], share: float = 0.05) -> NDArray[np.int64]:
    """How many positions are the top ``share`` of each row: ceil(share L), ``(rows,)``.

    >>> top_count(np.array([1, 20, 21, 100]))
    array([1, 1, 2, 5])
    """
    if not 0 < share <= 1:
        raise UsageError(f"A share of {share} is out of range; it lies above 0 and at most at 1, such as 0.05.")
    # A share such as 0.07 is not exact in binary: 0.07 * 100 lies just above 7 and would be rounded up to 8.
    return np.ceil(np.round(share * lengths, 9)).astype(np.int64)


def random_baseline(lengths: NDArray[np.int64], share: float = 0.05) -> NDArray[np.float64]:
    """The expected value of A(u, v) if v were shuffled: ceil(share L) / L for each row, ``(rows,)``.

    Shuffling puts every position at every rank equally often, whatever ties there are, so nothing has to be drawn.
    NaN for a row without positions.
    """
    return divided(top_count(lengths, share), lengths)


def released_baseline(v: ScoreField, share: float = 0.05) -> NDArray[np.float64]:
    """The same for the released rule: the share of v's positions that it counts as top, ``(rows,)``.

    The rule lets in every position with fewer than k = ceil(share L) greater ones: all that reach the k-th largest
    value. Those are k without ties and more with ties at the border, which is why its baseline is higher there.
    """
    check_finite(v, "v")
    top, baseline = top_count(v.lengths, share), np.full(len(v), np.nan)
    occupied = np.flatnonzero(v.lengths)
    for block in padded_blocks(v.lengths[occupied]):
        rows = occupied[block]
        values = pad(v, rows, -np.inf)
        baseline[rows] = (values >= _border(values, top[rows])).sum(axis=1) / v.lengths[rows]
    return baseline


def _highest(
    u: NDArray[np.float64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Of each row the first position with its highest value, and whether there are more."""
    positions = np.flatnonzero(u == np.repeat(np.maximum.reduceat(u, starts), lengths))
    if len(positions) == len(starts):
        return positions, np.zeros(len(starts), dtype=np.bool_)
    begin = np.searchsorted(positions, starts)
    return positions[begin], np.diff(begin, append=len(positions)) > 1


def _several_highest(
    u: ScoreField, v: ScoreField, rows: NDArray[np.int64], top: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The expected value for rows in which several positions of u are highest: the mean over them, in one division."""
    expected = np.empty(len(rows))
    for block in padded_blocks(u.lengths[rows]):
        scores, values = pad(u, rows[block], -np.inf), pad(v, rows[block], -np.inf)
        border = _border(values, top[block])
        above, at_border = values > border, values == border
        # Positions above the border are inside; those at it share the places that are left.
        left, sharing = top[block] - above.sum(axis=1), at_border.sum(axis=1)
        highest = scores == scores.max(axis=1, keepdims=True)
        certain, perhaps = (highest & above).sum(axis=1), (highest & at_border).sum(axis=1)
        expected[block] = (certain * sharing + left * perhaps) / (highest.sum(axis=1) * sharing)
    return expected


def _border(values: NDArray[np.float64], top: NDArray[np.int64]) -> NDArray[np.float64]:
    """The ``top``-th largest value of each padded row: ``(rows, 1)``."""
    ascending = np.sort(values, axis=1)
    border: NDArray[np.float64] = ascending[np.arange(len(values)), values.shape[1] - top]
    return border[:, None]
