"""The fitted proxy: word by word it is the logistic regression without an intercept."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from attnlab.errors import UsageError
from attnlab.models.logistic import fit_logistic, fit_proxy

WORDS = 30


def corpus(texts=120, seed=0):
    """Word shares (texts, WORDS) of random texts, and labels that hang on the first words; the last never occurs."""
    rng = np.random.default_rng(seed)
    weights = np.where(np.arange(WORDS) < 8, rng.normal(0, 4, WORDS), 0)
    counts = np.stack(
        [rng.multinomial(rng.integers(3, 15), [1 / (WORDS - 1)] * (WORDS - 1) + [0]) for _ in range(texts)]
    )
    features = counts / counts.sum(1, keepdims=True)
    return csr_array(features), (features @ weights + rng.normal(0, 0.3, texts) > 0).astype(int)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("size", [1, 16])
def test_its_word_scores_are_the_logistic_regressions_weights(C, size):
    features, labels = corpus()
    logistic = fit_logistic(features, labels, C, intercept=False, tolerance=1e-8)
    proxy = fit_proxy(features, labels, C, size=size, seed=1)
    assert proxy.converged
    spread = np.ptp(logistic.weights)
    assert np.abs(proxy.scores - logistic.weights[0]).max() < 1e-3 * spread
    assert spread > 0.1


def test_two_starts_find_the_same_scores_by_different_vectors():
    features, labels = corpus()
    first, second, again = (fit_proxy(features, labels, 10.0, size=8, seed=seed) for seed in (0, 1, 0))
    np.testing.assert_allclose(first.scores, second.scores, atol=1e-3)
    assert np.abs(first.embedding - second.embedding).max() > 0.1
    assert np.array_equal(first.embedding, again.embedding)
    assert first.embedding.shape == (WORDS, 8) and first.weight.shape == (8,)


def test_a_word_without_texts_scores_nothing():
    features, labels = corpus()
    assert abs(fit_proxy(features, labels, 10.0, size=8).scores[-1]) < 1e-2


def test_a_fit_cut_short_says_so():
    features, labels = corpus()
    assert not fit_proxy(features, labels, 10.0, size=8, iterations=3).converged


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": -1.0}, "above 0, not -1.0"),
        ({"size": 0}, "size of at least 1, not 0"),
        ({"labels": [0, 1, 2] * 40}, "for two classes; these are 3"),
        ({"labels": [1] * 120}, "at least two"),
    ],
    ids=["C", "size", "three classes", "one class"],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    features, labels = corpus()
    with pytest.raises(UsageError, match=message):
        fit_proxy(**({"features": features, "labels": labels, "C": 1.0} | change))
