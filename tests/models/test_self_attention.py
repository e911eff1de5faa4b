"""The networks of P2 2 against their equations written out word by word, and their parameters against the formulas."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.models.self_attention import (
    SelfAttention,
    TwoLayer,
    fixed_weights,
    parameter_count,
    softmax_weights,
    softplus,
    top_weights,
)

DOUBLE = torch.float64
sizes = st.integers(1, 5)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


def phi(h: float, tau0: float) -> float:
    return math.log1p(math.exp(-abs(tau0 * h))) / tau0 + max(h, 0.0)


def read_out(network: TwoLayer | SelfAttention, which: int, u: np.ndarray, tau0: float) -> float:
    """w2^T phi(<w1, u>), number by number."""
    w1, w2 = (value[which].detach().numpy() for value in (network.w1, network.w2))
    hidden = [phi(sum(w1[j, k] * u[j] for j in range(len(u))), tau0) for k in range(w1.shape[1])]
    return sum(w2[k, 0] * hidden[k] for k in range(len(hidden)))


@settings(max_examples=20, deadline=None)
@given(p=sizes, d=sizes, tau0=st.floats(0.5, 20))
def test_the_baseline_is_the_equation(p: int, d: int, tau0: float) -> None:
    network, x = TwoLayer(p, d, tau0=tau0, seeds=range(2), dtype=DOUBLE), drawn(2, 3, p)
    for which in range(2):
        for i in range(3):
            expected = read_out(network, which, x[which, i].numpy(), tau0)
            assert network(x)[which, i, 0].item() == pytest.approx(expected, abs=1e-12)


def test_known_attention_weighs_element_by_element() -> None:
    network, x = TwoLayer(6, 4, weigh=top_weights(2), seeds=range(1), dtype=DOUBLE), drawn(1, 5, 6)
    for i in range(5):
        values = x[0, i].numpy()
        largest = set(np.argsort(-np.abs(values))[:2])
        u = np.array([value if j in largest else 0.0 for j, value in enumerate(values)])
        assert network(x)[0, i, 0].item() == pytest.approx(read_out(network, 0, u, 10.0), abs=1e-12)


def test_networks_that_share_their_input_answer_as_alone() -> None:
    network, x = TwoLayer(6, 4, seeds=range(3), dtype=DOUBLE), drawn(1, 5, 6)
    for seed in range(3):
        alone = TwoLayer(6, 4, seeds=range(seed, seed + 1), dtype=DOUBLE)
        torch.testing.assert_close(network(x)[seed], alone(x)[0])


@settings(max_examples=20, deadline=None)
@given(p=sizes, t=sizes, d_q=sizes, d_v=sizes, layers=st.integers(1, 3), root=st.booleans())
def test_self_attention_is_the_equation(p: int, t: int, d_q: int, d_v: int, layers: int, root: bool) -> None:
    """a^(z) = softmax(Q_z K^T / d_q), V_z = V a^(z), vec column by column: P2 2, with loops."""
    network = SelfAttention(
        p, t, d_q, d_v, 3, layers=layers, scale="root" if root else "d_q", seeds=range(2), dtype=DOUBLE
    )
    inputs = drawn(2, 2, t, p)
    divisor = math.sqrt(d_q) if root else d_q
    for which in range(2):
        x = inputs[which, 0].numpy()  # t x p
        for layer in range(layers):
            w_q, w_k, w_v = (
                getattr(network, f"{name}_{layer}")[which].detach().numpy() for name in ("query", "key", "value")
            )
            keys, values = (w_k @ x).T, w_v @ x  # p x d_q, d_v x p
            columns = []
            for z in range(p):
                products = keys @ (w_q @ x[:, z]) / divisor
                a = np.exp(products - products.max())
                columns.append(values @ (a / a.sum()))
            x = np.stack(columns, 1)  # d_v x p
        expected = read_out(network, which, x.flatten(order="F"), 10.0)
        assert network(inputs)[which, 0, 0].item() == pytest.approx(expected, abs=1e-10)


def test_attention_is_that_of_pytorch() -> None:
    network, x = SelfAttention(7, 5, 3, 4, 2, scale="root", dtype=DOUBLE), drawn(1, 6, 5, 7)
    rows = x[0].transpose(1, 2)
    q, k, v = (rows @ getattr(network, f"{name}_0")[0].T for name in ("query", "key", "value"))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(network.features(x)[0], expected.flatten(1))


def test_heads_are_attentions_of_their_own() -> None:
    network, x = SelfAttention(7, 5, 3, 4, 2, heads=2, dtype=DOUBLE), drawn(1, 6, 5, 7)
    parts = []
    for head in range(2):
        alone = SelfAttention(7, 5, 3, 2, 2, dtype=DOUBLE)
        with torch.no_grad():
            for name, size in (("query", 3), ("key", 3), ("value", 2)):
                rows = getattr(network, f"{name}_0")[:, head * size : (head + 1) * size]
                getattr(alone, f"{name}_0").copy_(rows)
        parts.append(alone.features(x).unflatten(-1, (7, 2)))
    torch.testing.assert_close(network.features(x), torch.cat(parts, -1).flatten(-2))


def test_words_that_are_not_there_change_nothing() -> None:
    network, x = SelfAttention(6, 5, 3, 4, 2, layers=2, readout="pooled", dtype=DOUBLE), drawn(1, 3, 5, 6)
    there = torch.ones(1, 3, 6, dtype=torch.bool)
    there[..., 4:] = False
    other = x.clone()
    other[..., 4:] = 100.0
    torch.testing.assert_close(network(x, there), network(other, there))
    torch.testing.assert_close(network(x, there), network(x[..., :4]))
    assert all(a[..., 4:].abs().max().item() == 0.0 for a in network.weights(x, there))


@pytest.mark.parametrize("mode", ["uniform", "own"])
def test_uniform_and_own_weights(mode: str) -> None:
    network, x = SelfAttention(6, 5, 3, 4, 2, attention=mode, dtype=DOUBLE), drawn(1, 3, 5, 6)  # type: ignore[arg-type]
    values = (network.value_0[0] @ x[0]).transpose(1, 2)  # type: ignore[operator, index]
    expected = values.mean(1, keepdim=True).expand_as(values) if mode == "uniform" else values
    torch.testing.assert_close(network.features(x)[0], expected.flatten(1))
    assert "query_0" not in dict(network.named_parameters())


@settings(max_examples=30, deadline=None)
@given(p=sizes, t=sizes, d_q=sizes, d_v=sizes, d=sizes, layers=st.integers(1, 3))
def test_parameter_counts(p: int, t: int, d_q: int, d_v: int, d: int, layers: int) -> None:
    """2 d_q t + d_v t + p d_v d + d; each further layer 2 d_q d_v + d_v^2; pooled d_v d + d; the baseline t p d + d."""
    below = 2 * d_q * t + d_v * t + (layers - 1) * (2 * d_q * d_v + d_v**2)
    assert parameter_count(SelfAttention(p, t, d_q, d_v, d, layers=layers)) == below + p * d_v * d + d
    pooled = SelfAttention(p, t, d_q, d_v, d, layers=layers, readout="pooled")
    assert parameter_count(pooled) == below + d_v * d + d
    assert parameter_count(TwoLayer(t * p, d, seeds=range(3))) == t * p * d + d


def test_softplus_tends_to_relu() -> None:
    h = torch.linspace(-3, 3, 601, dtype=DOUBLE)
    distances = [float((softplus(h, tau0) - h.relu()).abs().max()) for tau0 in (1.0, 10.0, 100.0)]
    assert distances == pytest.approx([math.log(2) / tau0 for tau0 in (1.0, 10.0, 100.0)])
    assert torch.equal(softplus(h, None), h.relu())


def test_known_functions() -> None:
    x = drawn(4, 9)
    assert fixed_weights(3, 9)(x).tolist() == [1.0] * 3 + [0.0] * 6
    assert top_weights(3)(x).sum(-1).tolist() == [3.0] * 4
    weights = softmax_weights()(x)
    torch.testing.assert_close(weights.mean(-1), torch.ones(4, dtype=DOUBLE))
    assert float(weights.min()) > 0


def test_starts_side_by_side_are_the_starts_of_each() -> None:
    several, alone = SelfAttention(4, 3, 2, 2, 2, seeds=range(5, 8)), SelfAttention(4, 3, 2, 2, 2, seeds=range(6, 7))
    for name, value in alone.named_parameters():
        assert torch.equal(dict(several.named_parameters())[name][1], value[0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TwoLayer(0, 3), "inputs of at least 1"),
        (lambda: TwoLayer(3, 3, tau0=0.0), "above 0"),
        (lambda: SelfAttention(3, 3, 2, 3, 3, heads=2), "2 heads"),
        (lambda: fixed_weights(4, 3), "s0 = 4"),
        (lambda: TwoLayer(3, 3, seeds=range(0)), "At least one network"),
    ],
)
def test_bad_sizes_are_refused(make: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()  # type: ignore[operator]
