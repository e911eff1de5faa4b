"""How linear mean states are: maps whose share is known, and inputs that cannot tell."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.probes.mean_state import explained_share, order_share, word_shares


@given(seed=st.integers(0, 1000), noise=st.floats(0, 2))
def test_noise_takes_its_share_of_the_variance(seed, noise):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(900, 4))
    image = inputs @ rng.normal(size=(4, 30)) + rng.normal(size=30)
    outputs = image + noise * image.std(axis=0) * rng.normal(size=image.shape)
    assert explained_share(inputs, outputs, 600) == pytest.approx(1 / (1 + noise**2), abs=0.06)


def test_outputs_that_have_nothing_to_do_with_inputs_are_not_explained():
    rng = np.random.default_rng(0)
    share = explained_share(rng.normal(size=(300, 20)), rng.normal(size=(300, 5)), 200)
    assert -0.4 < share < 0.05, "fitted texts would have shown a tenth"


def test_inputs_that_depend_on_each_other_are_no_obstacle():
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(5), size=60)  # each adds up to 1, as the constant does
    assert explained_share(shares, shares @ rng.normal(size=(5, 3)), 40) == pytest.approx(1)


def test_outputs_without_variance_have_no_share():
    assert np.isnan(explained_share(np.arange(6.0)[:, None], np.ones((6, 2)), 4))


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=5))
def test_shares_count_words(texts):
    shares = word_shares(torch.tensor(texts), 5)
    assert shares.tolist() == [[text.count(word) / 3 for word in range(5)] for text in texts]


@pytest.mark.parametrize(("texts", "outputs", "fitted"), [(5, 4, 2), (5, 5, 5), (5, 5, 1), (0, 0, 0)])
def test_too_few_texts_are_refused(texts, outputs, fitted):
    with pytest.raises(UsageError, match="fitted to at least 2 texts"):
        explained_share(np.zeros((texts, 2)), np.zeros((outputs, 3)), fitted)


@given(seed=st.integers(0, 1000), order=st.floats(0, 3))
def test_a_new_order_has_the_share_of_the_variance_that_it_was_given(seed, order):
    """Mean states that are a function of the bag, plus noise of the order: 20,000 numbers on either side."""
    rng = np.random.default_rng(seed)
    bags, others = rng.normal(size=(2, 1000, 20))
    first, second = (bags + order * rng.normal(size=bags.shape) for _ in range(2))
    assert order_share(first, second, others) == pytest.approx(order**2, rel=0.1, abs=1e-12)


def test_over_permutations_of_one_bag_it_is_the_variance_over_them():
    rng = np.random.default_rng(2)
    first, second, others = rng.normal(size=(3, 4000, 5)) * np.array([0.5, 0.5, 1])[:, None, None]
    assert order_share(first, second, others) == pytest.approx(first.var(0).sum() / others.var(0).sum(), rel=0.05)


def test_an_order_needs_the_same_texts_twice_and_others_that_differ():
    with pytest.raises(UsageError, match="4 texts, 3 reordered ones and 4 others"):
        order_share(np.ones((4, 2)), np.ones((3, 2)), np.ones((4, 2)))
    assert np.isnan(order_share(np.ones((4, 2)), np.ones((4, 2)), np.ones((4, 2))))
