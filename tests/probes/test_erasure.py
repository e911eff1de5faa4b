"""Words taken out by a field's order, against models read word by word."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.classifier import Classifier
from attnlab.probes.erasure import erasure, random_field, top_words


def bags(rows, labels=None):
    offsets = np.append(0, np.cumsum([len(row) for row in rows]))
    words = torch.tensor([word for row in rows for word in row])
    return Bags(words, torch.from_numpy(offsets), torch.tensor(labels or [0] * len(rows)))


def read(model, words):
    with torch.no_grad():
        return model(torch.tensor([words]), torch.tensor([len(words)])).log_probabilities[0].double().exp()


@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_lost_is_what_reading_shortened_texts_says(classes):
    model = Classifier(9, classes, embedding_size=5, hidden=4, seed=3).double()
    rows = [[1, 2, 3, 4, 5], [6, 7], [8], [2, 2, 7, 1, 5, 4, 3, 8, 6, 1]]
    field = ScoreField.from_rows([[0.1, 0.9, 0.3, 0.2, 0.0], [2, 1], [1], list(range(10))])
    got = erasure(model, bags(rows), field, share=0.2)
    top = [[1], [0], None, [9, 8]]  # a fifth of the words, at least one
    for k, (row, chosen) in enumerate(zip(rows, top, strict=True)):
        if chosen is None:
            assert np.isnan(got.comprehensiveness[k]) and np.isnan(got.sufficiency[k])
            continue
        whole = read(model, row)
        y = int(whole.argmax())
        without = read(model, [word for place, word in enumerate(row) if place not in chosen])
        alone = read(model, [word for place, word in enumerate(row) if place in chosen])
        assert got.comprehensiveness[k] == pytest.approx(float(whole[y] - without[y]), abs=1e-9)
        assert got.sufficiency[k] == pytest.approx(float(whole[y] - alone[y]), abs=1e-9)


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=9), min_size=1, max_size=5), st.floats(0.05, 0.95))
def test_the_top_words_are_the_highest_the_earlier_first(rows, share):
    field = ScoreField.from_rows([[float(value) for value in row] for row in rows])
    got = iter(top_words(field, share).tolist())
    for row in rows:
        count = min(max(round(share * len(row)), 1), len(row) - 1)
        order = sorted(range(len(row)), key=lambda place: (-row[place], place))
        assert [next(got) for _ in row] == [place in order[:count] for place in range(len(row))]


def test_random_fields_are_the_same_each_time_and_bad_ones_are_refused():
    texts = bags([[1, 2, 3], [4, 5]])
    np.testing.assert_array_equal(random_field(texts).values, random_field(texts).values)
    model = Classifier(9, embedding_size=4, hidden=3)
    with pytest.raises(UsageError, match="between 0 and 1"):
        erasure(model, texts, random_field(texts), share=1.0)
    with pytest.raises(UsageError, match="for each word"):
        erasure(model, texts, ScoreField.from_rows([[1, 2], [3, 4]]))
    assert np.isnan(erasure(model, bags([[1], [2]]), ScoreField.from_rows([[1], [1]])).sufficiency).all()
