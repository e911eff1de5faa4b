"""Kneser-Ney: the equations as loops over all strings, sums of 1, and what more text before a word is worth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.theory.ngrams import DISCOUNT, NGrams

WORDS, BEGIN = 6, 2
SENTENCES = st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=6), min_size=1, max_size=6)


def by_the_equations(sentences, order, context, word):
    """p(word | context) with every count found by looking through all strings."""
    padded = [[BEGIN] * (order - 1) + list(one) for one in sentences]
    whole = [tuple(one[k - order + 1 : k + 1]) for one in padded for k in range(order - 1, len(one))]

    def count(string):
        """Occurrences at the highest order, else different strings that are longer by one word to the left."""
        if len(string) == order:
            return whole.count(string)
        return len({one[-len(string) - 1 :] for one in longer(len(string) + 1) if one[1:] == string})

    def longer(size):
        return {one[-size:] for one in whole}

    def p(context, word):
        lower = 1 / WORDS if not context else p(context[1:], word)
        follow = {other: count((*context, other)) for other in range(WORDS)}
        total, different = sum(follow.values()), sum(value > 0 for value in follow.values())
        if not total:
            return 1 / WORDS if not context else lower
        return max(follow[word] - DISCOUNT, 0) / total + DISCOUNT * different / total * lower

    return p(tuple(context), word)


@given(SENTENCES, st.integers(1, 3), st.data())
def test_every_probability_is_the_equations(sentences, order, data):
    model = NGrams(sentences, WORDS, BEGIN, order)
    context = tuple(data.draw(st.lists(st.integers(0, WORDS - 1), min_size=order - 1, max_size=order - 1)))
    found = model.distribution(context)
    assert found.sum() == pytest.approx(1)
    assert found.tolist() == pytest.approx([by_the_equations(sentences, order, context, w) for w in range(WORDS)])


def test_words_are_read_with_what_is_before_them():
    sentences = [[3, 4, 5], [3, 4, 5], [4, 3, 5]]
    model = NGrams(sentences, WORDS, BEGIN, 3)
    log_p, likeliest = model.read([[3, 4, 5], [4]])
    contexts = [(2, 2), (2, 3), (3, 4), (2, 2)]
    expected = [math.log(model.distribution(one)[word]) for one, word in zip(contexts, (3, 4, 5, 4), strict=True)]
    assert log_p.tolist() == pytest.approx(expected)
    assert likeliest.tolist() == [3, 4, 5, 3]


def test_more_words_before_say_more_where_order_matters():
    rng = np.random.default_rng(0)
    sentences = [[(start + k) % WORDS for k in range(6)] for start in rng.integers(WORDS, size=50)]
    loss = [-NGrams(sentences, WORDS, BEGIN, order).read(sentences)[0].mean() for order in (1, 2)]
    assert loss[1] < 0.5 * loss[0]


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match="at least 1 of each"):
        NGrams([[1]], WORDS, BEGIN, 0)
    with pytest.raises(UsageError, match="at least one sentence"):
        NGrams([], WORDS, BEGIN)
