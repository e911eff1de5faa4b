"""The bag-of-words proxy: against a plain loop over sentences, and learning what bags can and cannot tell."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.models.proxy import Bags, Proxy, train

SENTENCES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=6)


def bags(sentences):
    offsets = np.cumsum([0, *(len(sentence) for sentence in sentences)])
    return Bags(torch.tensor([word for sentence in sentences for word in sentence]), torch.from_numpy(offsets))


@settings(max_examples=30)
@given(SENTENCES, st.integers(0, 100))
def test_the_loss_is_that_of_a_loop_over_sentences(sentences, seed):
    model = Proxy(6, 7, 5, seed=seed, dtype=torch.float64)
    targets = [[word + 1 for word in sentence] for sentence in sentences]
    total = 0.0
    for words, outputs in zip(sentences, targets, strict=True):
        logits = sum(model.weight @ model.embedding[word] for word in words) / len(words)
        total -= sum(float((logits - logits.logsumexp(0)).detach()[output]) for output in outputs)
    assert model.loss(bags(sentences), bags(targets)).item() == pytest.approx(total, rel=1e-9)


def test_probabilities_and_theta():
    model = Proxy(6, 4, 5, seed=1)
    log_probabilities = model(bags([[2], [2, 2], [0, 5]]))
    torch.testing.assert_close(log_probabilities.exp().sum(1), torch.ones(3))
    torch.testing.assert_close(log_probabilities[0].exp(), model.theta()[2])
    torch.testing.assert_close(log_probabilities[0], log_probabilities[1])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30))
def test_beta_is_theta_at_pairs(pairs):
    model = Proxy(6, 4, 5, seed=2)
    inputs, outputs = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    torch.testing.assert_close(model.beta(inputs, outputs), model.theta().detach()[inputs, outputs])


def test_beta_in_small_pieces_is_the_same(monkeypatch):
    model = Proxy(50, 40, 8, seed=3)
    rng = np.random.default_rng(0)
    inputs, outputs = torch.from_numpy(rng.integers(40, size=(2, 300)))
    monkeypatch.setattr("attnlab.models.proxy._CHUNK", 100)
    torch.testing.assert_close(model.beta(inputs, outputs), model.theta().detach()[inputs, outputs])


def test_rows_start_with_norm_one_and_seeds_differ():
    model = Proxy(200, 300, 4096, seed=0)
    for table in (model.embedding, model.weight):
        norms = table.detach().norm(dim=1)
        assert norms.mean().item() == pytest.approx(1, abs=0.01) and norms.std().item() == pytest.approx(
            (1 / 8192) ** 0.5, rel=0.2
        )
    before = torch.get_rng_state()
    again, other = Proxy(3, 4, 5, seed=0), Proxy(3, 4, 5, seed=1)
    assert torch.equal(Proxy(3, 4, 5, seed=0).embedding, again.embedding)
    assert not torch.equal(other.embedding, again.embedding)
    assert torch.equal(torch.get_rng_state(), before), "the global generator was touched"


@pytest.mark.parametrize(("optimiser", "rate"), [("sgd", 5.0), ("adam", 0.02)])
def test_it_learns_which_word_goes_with_which_where_bags_differ(optimiser, rate):
    sentences = bags([[0, 1], [1, 2], [0, 2], [3, 1], [3, 0], [2, 3]])
    model = Proxy(4, 4, 16, seed=0)
    losses = dict(train(model, sentences, sentences, optimiser=optimiser, rate=rate, steps=200))
    assert list(losses) == list(range(201))
    assert losses[200] < losses[0] - 0.5
    assert model.theta().argmax(1).tolist() == [0, 1, 2, 3]


def test_permutations_teach_it_nothing():
    sentences = bags([[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    model = Proxy(3, 3, 16, seed=0)
    losses = [loss for _, loss in train(model, sentences, sentences, optimiser="adam", rate=0.02, steps=100)]
    assert losses[-1] == pytest.approx(np.log(3), abs=1e-3)


def test_an_empty_pair_changes_nothing():
    model = Proxy(3, 3, 4, seed=0)
    whole = model.loss(bags([[0, 1], [], [2]]), bags([[1], [], [2, 2]]))
    torch.testing.assert_close(whole, model.loss(bags([[0, 1], [2]]), bags([[1], [2, 2]])))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Proxy(0, 3, 4), "inputs of at least 1, not 0"),
        (lambda: Bags(torch.tensor([1, 2]), torch.tensor([0, 1])), "number of words, 2"),
        (lambda: Bags(torch.tensor([1, 2]), torch.tensor([0, 2, 1, 2])), "must rise"),
        (lambda: Proxy(3, 3, 4).loss(bags([[0]]), bags([[0], [1]])), "there are 1 and 2"),
        (
            lambda: next(train(Proxy(3, 3, 4), bags([[0]]), bags([[]]), optimiser="sgd", rate=1.0, steps=1)),
            "at least one",
        ),
        (
            lambda: next(train(Proxy(3, 3, 4), bags([[0]]), bags([[0]]), optimiser="lamb", rate=1.0, steps=1)),
            "no optimiser",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make, named):
    with pytest.raises(UsageError, match=named):
        make()
