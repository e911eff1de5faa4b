"""Rows of different lengths, computed many at a time in bounded memory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError
from attnlab.fields import ScoreField

# Numbers computed with at once, 512 kB: they stay in a processor's cache from one operation to the next and in the
# memory that the process already holds, which is twice as fast as more at a time. A field of any size needs no more.
BLOCK = 1 << 16


def check_pair(u: ScoreField, v: ScoreField) -> None:
    """Refuse two fields that cannot be compared: rows that differ, or scores that are not finite."""
    check_rows(u, v)
    check_finite(u, "u")
    check_finite(v, "v")


def check_rows(u: ScoreField, v: ScoreField) -> None:
    """Refuse two fields whose rows differ."""
    if len(u) != len(v):
        raise UsageError(f"Agreement compares row by row, but u has {len(u)} rows and v has {len(v)}.")
    differing = np.flatnonzero(u.lengths != v.lengths)
    if len(differing):
        k = int(differing[0])
        raise UsageError(
            f"Agreement compares position by position, but row {k} has {u.lengths[k]} positions in u and "
            f"{v.lengths[k]} in v."
        )


def check_finite(field: ScoreField, name: str) -> None:
    """Refuse a field with NaN or an infinity, naming the first row that has one."""
    if surely_finite(field.values):
        return
    for start in range(0, len(field.values), BLOCK):
        finite = np.isfinite(field.values[start : start + BLOCK])
        if not finite.all():
            at = start + int(np.argmin(finite))
            row = int(np.searchsorted(field.offsets, at, side="right")) - 1
            raise UsageError(
                f"Scores are finite numbers, but row {row} of {name} has {field.values[at]} at position "
                f"{at - field.offsets[row]}."
            )


def surely_finite(values: NDArray[np.float64]) -> bool:
    """Whether all are finite, by the cheapest pass there is; False also where finite ones add up to an infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))  # whatever is not finite would have spoiled the sum


def padded_blocks(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Rows of nearly equal length, shortest first: padding them to the longest of a block adds at most a quarter.

    Each block is a list of row numbers, with about `BLOCK` values or one row that is longer.
    """
    order = np.argsort(lengths, kind="stable")
    ascending = lengths[order]
    start = 0
    while start < len(order):
        longest = int(ascending[start]) * 5 // 4
        stop = int(np.searchsorted(ascending, longest, side="right"))
        stop = min(stop, start + max(1, BLOCK // max(longest, 1)))
        yield order[start:stop]
        start = stop


def pad(field: ScoreField, rows: NDArray[np.int64], padding: float) -> NDArray[np.float64]:
    """The scores of these rows side by side: ``(rows, longest of them)``, with ``padding`` after the shorter ones."""
    lengths = field.lengths[rows]
    column = np.arange(lengths.max(initial=0))
    at = field.offsets[rows][:, None] + column
    inside = column < lengths[:, None]
    if inside.all():
        return field.values[at]
    return np.where(inside, field.values[np.where(inside, at, 0)], padding)
