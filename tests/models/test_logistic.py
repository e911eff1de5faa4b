"""Logistic regression on word counts: against its own definition minimised by SciPy, and the choice of C by hand."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.models.logistic import STRENGTHS, Logistic, beta_log, counts, fit_logistic, sweep
from attnlab.seeds import numpy_generator

WORDS = 15


def bags(texts, labels=None):
    lengths = [len(text) for text in texts]
    words = torch.tensor([word for text in texts for word in text], dtype=torch.int64)
    return Bags(words, torch.tensor([0, *np.cumsum(lengths)]), torch.tensor(labels or [0] * len(texts)))


def corpus(texts=80, classes=2, seed=0):
    """Random texts in which word k is commoner in class k."""
    rng = np.random.default_rng(seed)
    labels = [k % classes for k in range(texts)]
    made = [[y if rng.random() < 0.2 else int(rng.integers(WORDS)) for _ in range(rng.integers(2, 12))] for y in labels]
    return bags(made, labels)


@given(st.lists(st.lists(st.integers(0, WORDS - 1), max_size=8), min_size=1, max_size=6), st.booleans())
def test_counts_are_counts(texts, normalised):
    table = counts(bags(texts), WORDS, normalised=normalised).toarray()
    assert table.shape == (len(texts), WORDS)
    for text, row in zip(texts, table, strict=True):
        expected = [text.count(word) / (len(text) if normalised and text else 1) for word in range(WORDS)]
        np.testing.assert_allclose(row, expected, rtol=1e-12)


def test_the_strengths_are_the_papers():
    assert len(STRENGTHS) == 19
    assert (STRENGTHS[0], STRENGTHS[1], STRENGTHS[2], STRENGTHS[-2], STRENGTHS[-1]) == (1e-5, 5e-5, 1e-4, 5e3, 1e4)
    assert list(STRENGTHS) == sorted(STRENGTHS)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_fit_minimises_penalty_and_losses(classes, intercept, C):
    texts = corpus(classes=classes)
    features, y = counts(texts, WORDS), texts.labels.numpy()
    dense, rows = features.toarray(), 1 if classes == 2 else classes

    def objective(parameters):
        weights, bias = parameters[: rows * WORDS].reshape(rows, WORDS), parameters[rows * WORDS :]
        logits = dense @ weights.T + (bias if intercept else 0)
        if rows == 1:
            losses = np.logaddexp(0, -(2 * y - 1) * logits[:, 0])
        else:
            losses = np.logaddexp.reduce(logits, 1) - logits[np.arange(len(y)), y]
        return (weights**2).sum() / 2 + C * losses.sum()

    found = fit_logistic(features, y, C, intercept=intercept, tolerance=1e-8)
    least = minimize(objective, np.zeros(rows * (WORDS + 1)), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(found.weights, least.x[: rows * WORDS].reshape(rows, WORDS), atol=2e-4)
    told = objective(np.concatenate([found.weights.ravel(), found.bias]))
    assert told <= least.fun + 1e-8
    assert found.bias.any() == intercept
    assert found.converged and found.C == C


def test_rare_words_are_followed_in_a_large_corpus():
    """The mean loss hardly hangs on a word that stands in 2 of 4000 texts; its weight is found all the same."""
    texts = bags([[1, 2], [2, 1]] * 1998 + [[3, 2], [3, 2], [2, 1], [2, 1]], [0, 1] * 1998 + [1, 1, 0, 0])
    features = counts(texts, 4)
    usual, exact = (fit_logistic(features, texts.labels, 1.0, tolerance=t).weights[0, 3] for t in (1e-4, 1e-9))
    assert exact > 0.1
    assert usual == pytest.approx(exact, abs=1e-3)


def test_a_fit_that_does_not_converge_says_so_and_prints_nothing(capsys):
    rng = np.random.default_rng(0)
    features = csr_array(rng.random((200, 100)) * 10.0 ** -rng.integers(0, 4, 100))  # of very different sizes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not fit_logistic(features, rng.integers(2, size=200), 1e6).converged
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("classes", [2, 3])
def test_the_sweep_reads_its_two_figures_right(classes):
    train, valid = corpus(90, classes), corpus(61, classes, seed=1)
    features, held = counts(train, WORDS), counts(valid, WORDS)
    found = sweep(features, train.labels, held, valid.labels, strengths=[100.0, 0.01, 1.0], seed=3)
    assert [fit.C for fit in found.fits] == [0.01, 1.0, 100.0]
    right = []
    for fit, accuracy in zip(found.fits, found.accuracies, strict=True):
        logits = held.toarray() @ fit.weights.T + fit.bias
        classes_said = (logits[:, 0] > 0) if classes == 2 else logits.argmax(1)
        right.append(classes_said == valid.labels.numpy())
        assert accuracy == right[-1].mean() == fit.accuracy(held, valid.labels)
    assert found.comparable == max(found.accuracies)
    assert found.chosen is found.fits[int(np.argmax(found.accuracies))]
    assert found.unconverged == 0
    first, second = np.array_split(numpy_generator(3, "halves").permutation(61), 2)
    read = []
    for choosing, reading in ((first, second), (second, first)):
        best = max(range(3), key=lambda k: right[k][choosing].mean())
        read.append(right[best][reading].mean())
    assert found.clean == pytest.approx(np.mean(read), abs=1e-12)
    again = sweep(features, train.labels, held, valid.labels, strengths=[0.01, 1.0, 100.0], seed=3)
    assert again.clean == found.clean


def test_choosing_and_reading_on_the_same_texts_is_too_good():
    """With labels drawn at random no C is better than chance; the best of many C on the same texts seems to be."""
    rng = np.random.default_rng(0)
    comparable, clean = [], []
    for k in range(6):
        texts = bags(rng.integers(WORDS, size=(40, 4)).tolist(), rng.permutation([0, 1] * 20).tolist())
        train, valid = texts.select(torch.arange(20)), texts.select(torch.arange(20, 40))
        train.labels[:2] = torch.tensor([0, 1])
        found = sweep(
            counts(train, WORDS), train.labels, counts(valid, WORDS), valid.labels, strengths=STRENGTHS[6::2], seed=k
        )
        comparable.append(found.comparable)
        clean.append(found.clean)
    assert np.mean(clean) < np.mean(comparable) - 0.03


def test_beta_log_is_the_weight_for_the_right_class():
    weights = np.array([[0.0, 1.0, -2.0]])
    field = beta_log(Logistic(weights, np.zeros(1), 1.0, True), bags([[1, 2, 2], [1]], [0, 1]))
    assert field.row(0).tolist() == [-1, 2, 2] and field.row(1).tolist() == [1]
    other = beta_log(Logistic(weights, np.zeros(1), 1.0, True), bags([[1, 2]], [0]), torch.tensor([1]))
    assert other.row(0).tolist() == [1, -2]


def test_beta_log_of_more_classes_is_measured_against_the_mean_of_the_others():
    weights = np.array([[1.0, 0.0], [2.0, 0.0], [6.0, 3.0]])
    field = beta_log(Logistic(weights, np.zeros(3), 1.0, True), bags([[0, 1]], [2]))
    assert field.row(0).tolist() == [6 - 1.5, 3.0]


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_two_classes_by_one_row_or_by_two_order_words_alike(seed):
    w = np.random.default_rng(seed).normal(size=WORDS)
    texts = corpus(6, seed=seed)
    one = beta_log(Logistic(w[None], np.zeros(1), 1.0, True), texts)
    three = beta_log(Logistic(np.stack([-w, w, 0 * w]), np.zeros(3), 1.0, True), texts)
    np.testing.assert_allclose(three.values, 1.5 * one.values, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: counts(bags([[3]]), 3), "Words go from 3 to 3; from 0 to 2 is right"),
        (lambda: fit_logistic(counts(bags([[0], [1]]), 3), [0], 1.0), r"labels are \(1,\); \(2,\) is right"),
        (lambda: fit_logistic(counts(bags([[0], [1]]), 3), [0, 1], 0.0), "above 0, not 0.0"),
        (lambda: fit_logistic(counts(bags([[0], [1]]), 3), [0, 1], float("nan")), "above 0, not nan"),
        (lambda: fit_logistic(counts(bags([[0], [1]]), 3), [1, 1], 1.0), r"at least two.*these are \[1\]"),
        (lambda: fit_logistic(counts(bags([[0], [1]]), 3), [0, 2], 1.0), r"these are \[0, 2\]"),
        (lambda: fit_logistic(counts(bags([[0], [1]]), 3), [-1, 1], 1.0), r"these are \[-1, 1\]"),
        (lambda: sweep(counts(bags([[0], [1]]), 3), [0, 1], counts(bags([[1]]), 3), [1]), "one half.*there are 1"),
        (
            lambda: beta_log(Logistic(np.zeros((1, 3)), np.zeros(1), 1.0, True), bags([[0]], [2])),
            "Labels go from 2 to 2; from 0 to 1 is right for 2 classes",
        ),
    ],
    ids=["word", "labels", "C", "C nan", "one class", "a class without text", "below 0", "one text", "unknown class"],
)
def test_bad_input_is_refused_in_a_sentence(make, message):
    with pytest.raises(UsageError, match=message):
        make()
