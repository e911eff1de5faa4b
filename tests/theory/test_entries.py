import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.theory import links as entries
from attnlab.theory.links import Entries, Words

INPUTS, OUTPUTS = 6, 5


def words(pairs):
    """The words of a chunk that has these (input, output) pairs."""
    table = sorted(pairs)
    rows = np.searchsorted([i for i, _ in table], range(INPUTS + 1))
    return Words(rows, np.array([o for _, o in table], dtype=np.int32))


chunks = st.lists(
    st.sets(st.tuples(st.integers(0, INPUTS - 1), st.integers(0, OUTPUTS - 1)), min_size=1), min_size=1, max_size=9
)


@given(chunks, st.sampled_from([1, 3, 10, 2**18]))
def test_entries_are_the_pairs_of_words_of_all_chunks_and_know_whose_they_are(pairs, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "BLOCK", block)
        found = Entries([words(chunk) for chunk in pairs], OUTPUTS)
    every = sorted(set().union(*pairs))
    assert list(zip(found.inputs.tolist(), found.outputs.tolist(), strict=True)) == every
    for chunk, numbers in zip(pairs, found.numbers, strict=True):
        assert np.arange(len(every))[numbers].tolist() == [every.index(pair) for pair in sorted(chunk)]


def test_no_chunks_have_no_entries():
    found = Entries([], OUTPUTS)
    assert len(found.inputs) == len(found.outputs) == len(found.numbers) == 0
