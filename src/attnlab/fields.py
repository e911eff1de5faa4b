"""Score fields: one number per input position for each output word (attention, probes, count tables, influence)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError


def ragged_rows(offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the values of some ``rows`` of a ragged array are, row after row, and the offsets they have then."""
    lengths = np.diff(offsets)[rows]
    moved = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    return np.arange(moved[-1]) + np.repeat(offsets[rows] - moved[:-1], lengths), moved


def first_largest(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each row of a ragged array, none of them empty, has its largest value for the first time: (rows,).

    >>> first_largest(np.array([3, 5, 5, 2, 1]), np.array([0, 3])).tolist()
    [1, 3]
    """
    lengths = np.diff(starts, append=len(values))
    hits = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, starts), lengths))
    return hits[np.searchsorted(hits, starts)]


def consecutive_rows(offsets: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows of a ragged array, begin and end, with at most so many values together, or of a single row."""
    begin = 0
    while begin < len(offsets) - 1:
        end = max(begin + 1, int(np.searchsorted(offsets, offsets[begin] + most, side="right")) - 1)
        yield begin, end
        begin = end


@dataclass(frozen=True, eq=False)
class ScoreField:
    """Rows of different lengths, one after the other.

    ``values (n,)``: all scores. ``offsets (rows + 1,)``: row k is ``values[offsets[k] : offsets[k + 1]]``, the scores
    of output word k over its input positions. A row may be empty.

    >>> field = ScoreField.from_rows([[0.5, 0.25], [1.0]])
    >>> len(field), field.lengths.tolist(), field.row(1).tolist()
    (2, [2, 1], [1.0])
    """

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        values, offsets = np.asarray(self.values, dtype=np.float64), np.asarray(self.offsets)
        if values.ndim != 1:
            raise UsageError(f"A score field's values are one flat array, not one of shape {values.shape}.")
        if offsets.ndim != 1 or len(offsets) == 0 or not np.issubdtype(offsets.dtype, np.integer):
            raise UsageError("A score field's offsets are a flat array of whole numbers, one more than it has rows.")
        falls = (np.diff(offsets) < 0).any()
        if offsets[0] != 0 or offsets[-1] != len(values) or falls:
            raise UsageError(
                f"A score field's offsets rise from 0 to the number of its values, {len(values)}; "
                f"these go from {offsets[0]} to {offsets[-1]}{' and fall in between' if falls else ''}."
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "offsets", offsets.astype(np.int64, copy=False))

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[float] | NDArray[np.float64]]) -> Self:
        """A field from one sequence of scores for each output word."""
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        parts = [np.asarray(row, dtype=np.float64) for row in rows]
        return cls(np.concatenate(parts) if parts else np.zeros(0), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """``(rows,)``: how many input positions each output word has."""
        return np.diff(self.offsets)

    def row(self, k: int) -> NDArray[np.float64]:
        """The scores of output word ``k``, by input position."""
        if not 0 <= k < len(self):
            raise UsageError(f"The score field has no row {k}; its rows are 0 to {len(self) - 1}.")
        return self.values[self.offsets[k] : self.offsets[k + 1]]

    def select(self, rows: NDArray[np.int64]) -> "ScoreField":
        """Some rows, in the order named.

        >>> ScoreField.from_rows([[1, 2], [3], [4, 5]]).select(np.array([2, 0])).values.tolist()
        [4.0, 5.0, 1.0, 2.0]
        """
        places, offsets = ragged_rows(self.offsets, rows)
        return ScoreField(self.values[places], offsets)
