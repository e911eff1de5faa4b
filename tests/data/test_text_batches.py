"""Texts in padded batches: every text once, as it is."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.batch import Bags, batches, padded

LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=12)


def numbered(lengths):
    """Texts whose words are all different, so that each tells where it came from."""
    return Bags(torch.arange(sum(lengths)) + 1, torch.tensor([0, *np.cumsum(lengths)]), torch.arange(len(lengths)) % 2)


@given(LENGTHS, st.integers(1, 60))
def test_batches_hold_every_text_once_longest_first_and_within_bounds(lengths, positions):
    texts = numbered(lengths)
    found = list(batches(texts, positions))
    assert sorted(torch.cat([batch.rows for batch in found]).tolist()) == list(range(len(lengths)))
    read = torch.cat([batch.lengths for batch in found])
    assert (read.diff() <= 0).all()
    for batch in found:
        assert batch.tokens.numel() <= positions or len(batch.rows) == 1
        assert torch.equal(batch.lengths, texts.lengths[batch.rows])
        assert torch.equal(batch.labels, texts.labels[batch.rows])
        assert torch.equal(batch.tokens[batch.inside], texts.select(batch.rows).words)
        assert (batch.tokens[~batch.inside] == 0).all()


@given(LENGTHS, st.data())
def test_padded_gives_the_rows_asked_for_in_that_order(lengths, data):
    texts = numbered(lengths)
    rows = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=6))
    batch = padded(texts, torch.tensor(rows))
    for row, tokens, length in zip(rows, batch.tokens, batch.lengths, strict=True):
        start, end = texts.offsets[row], texts.offsets[row + 1]
        assert torch.equal(tokens[:length], texts.words[start:end])
        assert not tokens[length:].any()
