"""BLEU from counts: sacrebleu's own corpus score, on real-looking text, on hopeless text, and on resamples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from attnlab.errors import UsageError
from attnlab.measures.bleu_counts import bleu_difference, bleu_of, sentence_counts

WORDS = ["a", "dog", "runs", "over", "the", "green", "grass", ".", "Two", "men", "don't"]
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=8))
def test_summed_counts_give_sacrebleus_corpus_score(pairs):
    ours, theirs = (list(side) for side in zip(*pairs, strict=True))
    sums = sentence_counts(ours, theirs).sum(axis=0)
    assert float(bleu_of(sums)) == pytest.approx(BLEU().corpus_score(ours, [theirs]).score, abs=1e-6)


def test_a_translation_that_is_the_reference_has_100_and_nothing_in_common_has_0():
    same = sentence_counts(["a dog runs over the grass ."], ["a dog runs over the grass ."])
    assert float(bleu_of(same.sum(axis=0))) == pytest.approx(100)
    apart = sentence_counts(["Two men"], ["a dog runs over the grass ."])
    assert float(bleu_of(apart.sum(axis=0))) == 0


def test_a_difference_is_drawn_over_sentences_of_both():
    rng = np.random.default_rng(0)
    right = [" ".join(rng.choice(WORDS, 10)) for _ in range(200)]
    worse = [" ".join(rng.permutation(one.split())) if k % 4 == 0 else one for k, one in enumerate(right)]
    good, bad = sentence_counts(right, right), sentence_counts(worse, right)
    value, (low, high) = bleu_difference(good, bad)
    assert 0 < low < value < high
    assert bleu_difference(good, good) == (0.0, (0.0, 0.0))
    _, wide = bleu_difference(good[:40], bad[:40])
    assert wide[1] - wide[0] > high - low
    assert bleu_difference(good[:1], bad[:1])[1] is None


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match="there are 1 and 2"):
        sentence_counts(["a"], ["a", "b"])
    with pytest.raises(UsageError, match="have 1 and 2"):
        bleu_difference(np.ones((1, 10), int), np.ones((2, 10), int))
