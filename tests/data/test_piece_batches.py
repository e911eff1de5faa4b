"""Sentence pairs with their marks, padded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pairs_in_pieces import drawn_split, split_of

from attnlab.data.piece_batches import pair_batch, sorted_batches
from attnlab.errors import UsageError


def test_marks_are_where_the_paper_counts_them():
    batch = pair_batch(split_of([[7, 8], [9]], [[5], [6, 4]]), np.array([1, 0]))
    assert batch.source.tolist() == [[2, 9, 3, 0], [2, 7, 8, 3]]
    assert batch.previous.tolist() == [[2, 6, 4], [2, 5, 0]]
    assert batch.target.tolist() == [[6, 4, 3], [5, 3, 0]]
    assert batch.source_lengths.tolist() == [3, 4] and batch.target_lengths.tolist() == [3, 2]
    assert batch.labels.tolist() == [[6, 4, 3], [5, 3, -1]]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=9), st.integers(1, 4))
def test_every_pair_is_in_one_batch_and_comes_out_as_it_went_in(lengths, pairs):
    split = drawn_split(lengths, 20, 1)
    seen = []
    longest = None
    for rows, batch in sorted_batches(split, pairs):
        assert len(rows) <= pairs
        for k, row in enumerate(rows.tolist()):
            source, target = (side.sentence(row).tolist() for side in (split.source, split.target))
            ends = int(batch.source_lengths[k]), int(batch.target_lengths[k])
            assert batch.source[k].tolist() == [2, *source, 3] + [0] * (batch.source.shape[1] - ends[0])
            assert batch.target[k].tolist() == [*target, 3] + [0] * (batch.target.shape[1] - ends[1])
            assert longest is None or len(target) <= longest
            longest = len(target)
        seen += rows.tolist()
    assert sorted(seen) == list(range(len(lengths)))


def test_an_empty_batch_is_refused():
    with pytest.raises(UsageError, match="at least one pair"):
        pair_batch(split_of([[5]], [[6]]), np.arange(0))
