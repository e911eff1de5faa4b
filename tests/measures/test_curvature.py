"""Second derivatives written out, against automatic differentiation and against curvlinops' operator with SciPy."""

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import eigsh
from torch.func import grad, hessian

from attnlab.measures.curvature import attention_derivatives, input_products, two_layer_derivatives
from attnlab.models.self_attention import SelfAttention, TwoLayer, attend, softplus, vec

DOUBLE = torch.float64


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tau0", [1.0, 10.0])
def test_two_layers(shared: bool, tau0: float) -> None:
    network = TwoLayer(4, 3, seeds=range(2), dtype=DOUBLE, tau0=tau0)
    x, y = drawn(1 if shared else 2, 7, 4), drawn(1 if shared else 2, 7, seed=1)
    w1, w2 = network.w1.detach(), network.w2.detach().squeeze(-1)
    found = two_layer_derivatives(w1, w2, x, y, tau0, hessian=True, products=input_products(x))
    assert found.hessian is not None
    for k in range(2):
        own, target = x[k % len(x)], y[k % len(y)]

        def loss(row: torch.Tensor, own: torch.Tensor = own, target: torch.Tensor = target) -> torch.Tensor:
            return (softplus(own @ row[:12].view(4, 3), tau0) @ row[12:] - target).square().mean() / 2

        row = torch.cat([w1[k].flatten(), w2[k]])
        torch.testing.assert_close(found.loss[k], loss(row))
        torch.testing.assert_close(found.gradient[k], grad(loss)(row))
        torch.testing.assert_close(found.hessian[k], hessian(loss)(row))


@pytest.mark.parametrize("layers", [1, 2])
def test_self_attention(layers: int) -> None:
    network = SelfAttention(3, 4, 2, 2, 3, layers=layers, dtype=DOUBLE, tau0=3.0)
    x, y = drawn(1, 9, 4, 3), drawn(9, seed=1)
    theta = {name: value.detach()[0] for name, value in network.attention_parameters().items()}

    def features(values: dict[str, torch.Tensor]) -> torch.Tensor:
        alone = {name: value.unsqueeze(0) for name, value in values.items()}
        return vec(attend(alone, x, layers=layers, heads=1, divisor=network.divisor, mode="learned")[0])[0]

    def loss(row: torch.Tensor) -> torch.Tensor:
        parts = row.split([*(value.numel() for value in theta.values()), 18, 3])
        values = {name: part.view(value.shape) for (name, value), part in zip(theta.items(), parts, strict=False)}
        return (softplus(features(values) @ parts[-2].view(6, 3), 3.0) @ parts[-1] - y).square().mean() / 2

    w1, w2 = network.w1.detach()[0], network.w2.detach()[0].squeeze(-1)
    found = attention_derivatives(features, theta, w1, w2, y, 3.0, hessian=True)
    row = torch.cat([*(value.flatten() for value in theta.values()), w1.flatten(), w2])
    assert found.hessian is not None
    torch.testing.assert_close(found.gradient[0], grad(loss)(row))
    torch.testing.assert_close(found.hessian[0], hessian(loss)(row))


def test_the_smallest_eigenvalue_is_that_of_curvlinops() -> None:
    """The operator path: Hessian-vector products alone, for networks whose matrix would not fit."""
    curvlinops = pytest.importorskip("curvlinops")
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 5, bias=False),
        torch.nn.Softplus(beta=3.0, threshold=40.0),
        torch.nn.Linear(5, 1, bias=False),
    ).double()
    x, y = drawn(40, 6), drawn(40, 1, seed=1)
    operator = curvlinops.HessianLinearOperator(
        model, torch.nn.MSELoss(), [p for p in model.parameters() if p.requires_grad], [(x, y)]
    ).to_scipy()
    lowest = eigsh(operator, k=1, which="SA", return_eigenvectors=False)[0] / 2  # MSELoss has no half
    w1, w2 = (p.detach().T.unsqueeze(0) for p in model.parameters())
    ours = two_layer_derivatives(w1, w2.squeeze(-1), x.unsqueeze(0), y.T, 3.0, hessian=True)
    assert ours.hessian is not None
    assert np.linalg.eigvalsh(ours.hessian[0].numpy())[0] == pytest.approx(lowest, rel=1e-5)
