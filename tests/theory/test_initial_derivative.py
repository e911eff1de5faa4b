"""The derivative at initialisation: rational counts, directional derivatives, and a step of descent as oracles."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.families.copying.task import Permutations, Selections
from attnlab.models.proxy import Bags, Proxy
from attnlab.theory.counts import count_table
from attnlab.theory.initial_derivative import (
    bag_tables,
    expected_distance,
    first_gradient,
    limit_logits,
    limit_probabilities,
    logits_derivative,
    probabilities_derivative,
    proxy_table,
)

SIDE = st.lists(st.sampled_from("abcde"), min_size=1, max_size=7)
CORPORA = st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=8)


def pairs_of(corpus):
    return SentencePairs.from_tokens([source for source, _ in corpus], [target for _, target in corpus])


def rational_table(corpus, pairs):
    """C in exact fractions, token by token as equation 13 has it."""
    table = {}
    for source, target in corpus:
        for i in source:
            for o in target:
                table[i, o] = table.get((i, o), Fraction(0)) + Fraction(1, len(source))
    return [[table.get((i, o), Fraction(0)) for o in pairs.target_words] for i in pairs.source_words]


def bags_of(pairs):
    sides = ((pairs.source, pairs.source_offsets), (pairs.target, pairs.target_offsets))
    return tuple(Bags(torch.from_numpy(words.astype(np.int64)), torch.from_numpy(offsets)) for words, offsets in sides)


def copies(distribution, count, seed=0):
    words = distribution.draw(count, np.random.default_rng(seed))
    return SentencePairs.from_ids(words, words, distribution.words)


@given(CORPORA)
def test_all_ways_to_the_table_agree_with_fractions(corpus):
    pairs = pairs_of(corpus)
    exact = np.array([[float(value) for value in row] for row in rational_table(corpus, pairs)])
    for table in (proxy_table(pairs), count_table(pairs).dense()):
        np.testing.assert_allclose(table, exact, rtol=1e-13, atol=0)
    np.testing.assert_allclose(first_gradient(pairs), exact - exact.mean(1, keepdims=True), atol=1e-12)


@given(st.lists(st.tuples(st.lists(st.sampled_from("abc"), min_size=4, max_size=4), SIDE), min_size=1, max_size=8))
def test_where_lengths_are_powers_of_two_the_tables_are_equal_to_the_last_bit(corpus):
    pairs = pairs_of(corpus)
    exact = rational_table(corpus, pairs)
    for table in (proxy_table(pairs), count_table(pairs).dense()):
        assert [[Fraction(value) for value in row] for row in table.tolist()] == exact


def test_limits():
    table = np.array([[1.0, 3.0], [2.0, 2.0]])
    assert limit_logits(table).tolist() == [[-2, 2], [0, 0]]
    assert limit_probabilities(table).tolist() == [[-1, 1], [0, 0]]
    assert np.abs(limit_logits(proxy_table(copies(Permutations(6), 20)))).max() < 1e-12


def measured(pairs, size, seed=0):
    model = Proxy(len(pairs.source_words), len(pairs.target_words), size, seed=seed, dtype=torch.float64)
    return model, logits_derivative(model.loss(*bags_of(pairs)), model.embedding, model.weight)


@settings(max_examples=20)
@given(CORPORA, st.integers(0, 1000))
def test_both_derivatives_are_directional_derivatives_along_the_flow(corpus, seed):
    """By differentiating e W^T and its softmax along minus the gradient of a loss written down anew."""
    pairs = pairs_of(corpus)
    model, derivative = measured(pairs, 12, seed)
    start = tuple(parameter.detach().clone().requires_grad_() for parameter in (model.embedding, model.weight))
    x, y = (torch.from_numpy(table) for table in bag_tables(pairs))

    def loss(embedding, weight):
        return -(y * torch.log_softmax(x @ embedding @ weight.T, 1)).sum()

    flow = tuple(-gradient for gradient in torch.autograd.grad(loss(*start), start))
    logits, along = torch.autograd.functional.jvp(lambda e, w: e @ w.T, start, flow)
    torch.testing.assert_close(derivative, along)
    _, theta = torch.autograd.functional.jvp(lambda e, w: torch.softmax(e @ w.T, 1), start, flow)
    torch.testing.assert_close(probabilities_derivative(logits, derivative), theta)


def test_a_tiny_step_of_descent_moves_theta_by_the_derivative():
    pairs = copies(Selections(3, 5), 12)
    model, derivative = measured(pairs, 32)
    with torch.no_grad():
        expected = probabilities_derivative(model.embedding @ model.weight.T, derivative)
        before = model.theta()
    rate = 1e-6
    gradients = torch.autograd.grad(model.loss(*bags_of(pairs)), list(model.parameters()))
    with torch.no_grad():
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter -= rate * gradient
        moved = (model.theta() - before) / rate
    torch.testing.assert_close(moved, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("distribution", [Selections(4, 7), Permutations(5)])
def test_the_distance_to_the_limit_is_the_expected_one_and_falls_with_the_root_of_d(distribution):
    pairs = copies(distribution, 40)
    limit = limit_logits(proxy_table(pairs))
    squares = []
    for size in (256, 4096):
        distances = [np.linalg.norm(measured(pairs, size, seed)[1].numpy() - limit) for seed in range(20)]
        squares.append(np.mean(np.square(distances)))
        assert squares[-1] ** 0.5 == pytest.approx(expected_distance(pairs, size), rel=0.25)
    assert (squares[0] / squares[1]) ** 0.5 == pytest.approx(4, rel=0.35)


def test_the_probabilities_have_the_factor_that_the_paper_leaves_out():
    pairs = copies(Selections(4, 7), 40)
    model, derivative = measured(pairs, 16_384)
    theta = probabilities_derivative((model.embedding @ model.weight.T).detach(), derivative).numpy()
    table = proxy_table(pairs)
    error, paper = (np.linalg.norm(theta - limit(table)) for limit in (limit_probabilities, limit_logits))
    assert error < 0.05 * np.linalg.norm(limit_probabilities(table)) < paper
