"""How often a field is largest at a common word."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.measures.top import COMMON, common_share, common_words


def bags(texts):
    words = torch.tensor([word for text in texts for word in text])
    offsets = torch.tensor([0, *np.cumsum([len(text) for text in texts])])
    return Bags(words, offsets, torch.zeros(len(texts), dtype=torch.int64))


@given(
    texts=st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=6), min_size=1),
    common=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_ties_share_as_if_broken_at_random(texts, common):
    field = ScoreField.from_rows([[float(value) for _, value in text] for text in texts])
    wanted = []
    for text in texts:
        most = max(value for _, value in text)
        tied = [common[word] for word, value in text if value == most]
        wanted.append(sum(tied) / len(tied))
    words = bags([[word for word, _ in text] for text in texts])
    assert common_share(field, words, np.array(common)) == pytest.approx(np.mean(wanted))


def test_the_commonest_words_are_those_of_the_training_texts():
    often = [[word] * (3 if word % 2 else 1) for word in range(2 * COMMON)]
    assert common_words(bags(often), 2 * COMMON + 5).nonzero()[0].tolist() == list(range(1, 2 * COMMON, 2))
    assert common_words(bags([[0, 1]]), 3).all(), "fewer words than that are all common"


def test_a_field_over_other_texts_is_refused():
    with pytest.raises(UsageError, match="lengths"):
        common_share(ScoreField.from_rows([[1.0, 2.0]]), bags([[0]]), np.array([True]))
