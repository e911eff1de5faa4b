"""Sentence pairs in pieces as batches: with their marks, side by side, padded.

The input is ``<s>`` pieces ``</s>``, so L counts both marks; the decoder reads ``<s>`` pieces and is to say pieces
``</s>``.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.data.batch import PairBatch
from attnlab.data.bitext import PieceSide, PieceSplit
from attnlab.data.pieces import BEGIN, END, PAD
from attnlab.errors import UsageError

Rows = NDArray[np.int64]


def pair_batch(split: PieceSplit, rows: Rows) -> PairBatch:
    """The pairs that ``rows`` (batch,) names, in its order."""
    if not len(rows):
        raise UsageError("A batch needs at least one pair.")
    source, source_lengths = marked(split.source, rows, before=True, after=True)
    previous, _ = marked(split.target, rows, before=True, after=False)
    target, target_lengths = marked(split.target, rows, before=False, after=True)
    return PairBatch(source, previous, target, source_lengths, target_lengths)


def marked(side: PieceSide, rows: Rows, *, before: bool, after: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences (batch, length) with ``<s>`` before and ``</s>`` after them if wanted, and their lengths (batch,)."""
    pieces = side.lengths[rows]
    lengths = pieces + before + after
    columns = np.arange(lengths.max(initial=0)) - before  # each column's piece
    at = side.offsets[rows][:, None] + columns
    inside = (columns >= 0) & (columns < pieces[:, None])
    tokens = np.where(inside, side.values[np.where(inside, at, 0)] if len(side.values) else PAD, PAD).astype(np.int64)
    if before:
        tokens[:, 0] = BEGIN
    if after:
        tokens[np.arange(len(rows)), lengths - 1] = END
    return torch.from_numpy(tokens), torch.from_numpy(lengths)


def sorted_batches(split: PieceSplit, pairs: int) -> Iterator[tuple[Rows, PairBatch]]:
    """All pairs, at most ``pairs`` at once, those of the longest outputs first; and which they are (batch,)."""
    order = np.lexsort((-split.source.lengths, -split.target.lengths)).astype(np.int64)
    for first in range(0, len(order), pairs):
        rows = order[first : first + pairs]
        yield rows, pair_batch(split, rows)
