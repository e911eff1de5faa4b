"""How linear mean states are: maps whose share is known, and inputs that cannot tell."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.probes.mean_state import explained_share, word_shares


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
