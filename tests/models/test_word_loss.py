"""The output layer and its loss in one, against PyTorch's cross-entropy."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from attnlab.models.word_loss import word_loss


@given(st.integers(1, 6), st.integers(1, 4), st.integers(2, 9), st.booleans(), st.integers(0, 2**32))
def test_value_and_gradients_are_those_of_cross_entropy(rows, size, words, biased, seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    features, weight, bias = normal(rows, size), normal(words, size), normal(words) if biased else None
    targets = torch.randint(words, (rows,), generator=generator)
    leaves = [one for one in (features, weight, bias) if one is not None]
    ours = word_loss(features, weight, bias, targets)
    theirs = functional.cross_entropy(functional.linear(features, weight, bias), targets)
    torch.testing.assert_close(ours, theirs)
    for mine, other in zip(torch.autograd.grad(3 * ours, leaves), torch.autograd.grad(3 * theirs, leaves), strict=True):
        torch.testing.assert_close(mine, other)


def test_logits_of_any_size_give_a_finite_loss():
    features = torch.tensor([[1.0], [-1.0]], requires_grad=True)
    weight = torch.tensor([[3000.0], [-3000.0]], requires_grad=True)
    loss = word_loss(features, weight, None, torch.tensor([1, 1]))
    assert float(loss.detach()) == pytest.approx(3000.0)  # (6000 + 0) / 2
    loss.backward()
    assert torch.isfinite(weight.grad).all() and torch.isfinite(features.grad).all()


def test_what_is_frozen_gets_no_gradient():
    features = torch.ones(2, 3, requires_grad=True)
    weight, bias = torch.ones(4, 3), torch.zeros(4, requires_grad=True)
    word_loss(features, weight, bias, torch.tensor([0, 3])).backward()
    assert weight.grad is None and features.grad is not None and bias.grad is not None
