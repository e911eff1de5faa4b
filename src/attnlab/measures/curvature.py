"""Exact second derivatives of the squared error of P2's networks, for many networks side by side.

L = 1/(2n) sum_i r_i^2 with r_i = y(x_i) - y_i, y = sum_k w2_k phi(h_k), h_k = <w1_k, u>, and u = u(theta) where
attention has parameters theta of its own. With g = dy/du, the Hessian of L is 1/n times

    w1_ck, w1_el    sum_i (w2_k phi'_k w2_l phi'_l + [k = l] r w2_k phi''_k) u_c u_e
    w1_ck, w2_l     sum_i (w2_k phi'_k phi_l + [k = l] r phi'_k) u_c
    w2_k,  w2_l     sum_i phi_k phi_l
    theta, w1_ck    sum_i (g u') w2_k phi'_k u_c + r w2_k (phi'_k u'_c + phi''_k u_c (w1_k u'))
    theta, w2_k     sum_i (g u') phi_k + r phi'_k (w1_k u')
    theta, theta    sum_i (g u')(g u')^T + r sum_k w2_k phi''_k (w1_k u')(w1_k u')^T + r g u''

The first block is all the work. It is symmetric twice, in hidden units and in inputs, so it is one product of
(n, d (d + 1) / 2) weights and (n, c (c + 1) / 2) products of inputs; starts that share their inputs share the latter.
Parameters are in one row in the order theta, w1 (input by input), w2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacfwd, jacrev

from attnlab.models.self_attention import SelfAttention, TwoLayer, first_layer

Network = TwoLayer | SelfAttention


@dataclass(frozen=True)
class Derivatives:
    """Of networks side by side: ``loss`` (together,) is L, ``gradient`` (together, P), ``hessian`` (together, P, P).

    ``hessian``: None unless asked for.
    """

    loss: Tensor
    gradient: Tensor
    hessian: Tensor | None


@dataclass(frozen=True)
class ReadOut:
    """The two layers of some networks at their inputs: u, phi and its first two derivatives, residuals r.

    ``u`` (together or 1, n, c); ``phi``, ``first``, ``second`` (together, n, d); ``r`` (together, n).
    """

    u: Tensor
    phi: Tensor
    first: Tensor
    second: Tensor
    r: Tensor


def read_out(u: Tensor, w1: Tensor, w2: Tensor, tau0: float, y: Tensor) -> ReadOut:
    """Softplus and its derivatives: phi' = sigmoid(tau0 h), phi'' = tau0 phi' (1 - phi')."""
    h = first_layer(u, w1)
    first = (tau0 * h).sigmoid()
    phi = torch.nn.functional.softplus(h, beta=tau0, threshold=40.0)
    return ReadOut(u, phi, first, tau0 * first * (1 - first), (phi @ w2.unsqueeze(-1)).squeeze(-1) - y)


def pairs(size: int) -> tuple[Tensor, Tensor]:
    """All pairs (a, b) of numbers below ``size`` with a <= b: two of (size (size + 1) / 2,)."""
    both = torch.triu_indices(size, size)
    return both[0], both[1]


def read_out_hessian(at: ReadOut, w2: Tensor, products: Tensor | None = None) -> Tensor:
    """n times the block of w1 and w2: (together, c d + d, c d + d). ``products``: those of `input_products`."""
    together, n, d = at.phi.shape
    c = at.u.shape[-1]
    k, j = pairs(d)
    slopes = w2.unsqueeze(1) * at.first  # (together, n, d) dy/dh
    weights = slopes[..., k] * slopes[..., j]  # (together, n, d (d + 1) / 2)
    weights[..., k == j] += at.r.unsqueeze(-1) * w2.unsqueeze(1) * at.second
    products = input_products(at.u) if products is None else products
    block = weights.transpose(1, 2) @ products  # (together, pairs of units, pairs of inputs)
    a, b = pairs(c)
    full = block.new_empty(together, d, d, c, c)
    rows = block.new_empty(together, len(k), c, c)
    rows[:, :, a, b] = block
    rows[:, :, b, a] = block
    full[:, k, j] = rows
    full[:, j, k] = rows
    size = c * d + d
    hessian = block.new_empty(together, size, size)
    hessian[:, : c * d, : c * d] = full.permute(0, 3, 1, 4, 2).reshape(together, c * d, c * d)
    # w1 with w2: (together, c, d of w1, d of w2)
    inputs = at.u.expand(together, n, c)
    mixed = (inputs.transpose(1, 2) @ (slopes.unsqueeze(-1) * at.phi.unsqueeze(-2)).flatten(2)).view(together, c, d, d)
    mixed.diagonal(dim1=-2, dim2=-1).add_(inputs.transpose(1, 2) @ (at.r.unsqueeze(-1) * at.first))
    hessian[:, : c * d, c * d :] = mixed.flatten(1, 2)
    hessian[:, c * d :, : c * d] = mixed.flatten(1, 2).transpose(1, 2)
    hessian[:, c * d :, c * d :] = at.phi.transpose(1, 2) @ at.phi
    return hessian


def input_products(u: Tensor) -> Tensor:
    """u_c u_e for c <= e: (together or 1, n, c (c + 1) / 2)."""
    a, b = pairs(u.shape[-1])
    return u[..., a] * u[..., b]


def two_layer_derivatives(
    w1: Tensor, w2: Tensor, u: Tensor, y: Tensor, tau0: float, *, hessian: bool, products: Tensor | None = None
) -> Derivatives:
    """Of networks without parameters below the read-out, ``w1`` (together, c, d) and ``w2`` (together, d)."""
    n = u.shape[-2]
    at = read_out(u, w1, w2, tau0, y)
    gradient = torch.cat([_first_gradient(at, w2).flatten(1), _second_gradient(at)], 1) / n
    full = read_out_hessian(at, w2, products) / n if hessian else None
    return Derivatives(at.r.square().mean(1) / 2, gradient, full)


def _first_gradient(at: ReadOut, w2: Tensor) -> Tensor:
    slopes = at.r.unsqueeze(-1) * w2.unsqueeze(1) * at.first
    return at.u.transpose(1, 2) @ slopes  # (together, c, d)


def _second_gradient(at: ReadOut) -> Tensor:
    return (at.r.unsqueeze(1) @ at.phi).squeeze(1)


Features = Callable[[Mapping[str, Tensor]], Tensor]
"""u (n, c) from the parameters below the read-out of one network."""


def attention_derivatives(
    features: Features, theta: Mapping[str, Tensor], w1: Tensor, w2: Tensor, y: Tensor, tau0: float, *, hessian: bool,
    curved: bool = True,
) -> Derivatives:  # fmt: skip
    """Of one network (no first dimension): ``theta`` by name, ``w1`` (c, d), ``w2`` (d,), ``y`` (n,).

    u' and u'' are taken by automatic differentiation, and there are few parameters below the read-out. ``curved``:
    False leaves out r g u'', the costliest term, and with it what makes the Hessian exact.
    """
    names, shapes = list(theta), [value.shape for value in theta.values()]
    flat = torch.cat([value.flatten() for value in theta.values()])

    def of_flat(values: Tensor) -> Tensor:
        parts = torch.split(values, [shape.numel() for shape in shapes])
        return features({name: part.view(shape) for name, part, shape in zip(names, parts, shapes, strict=True)})

    u = of_flat(flat)
    n, c, d, m = *u.shape, w1.shape[1], len(flat)
    at = read_out(u.unsqueeze(0), w1.unsqueeze(0), w2.unsqueeze(0), tau0, y.unsqueeze(0))
    phi, first, second, r = at.phi[0], at.first[0], at.second[0], at.r[0]
    slopes = w2 * first  # (n, d)
    g = slopes @ w1.T  # (n, c) dy/du
    weighted = r.unsqueeze(1) * g  # (n, c), held still below

    def first_order(values: Tensor) -> Tensor:
        return (weighted * of_flat(values)).sum()

    loss = r.square().mean().unsqueeze(0) / 2
    below = jacrev(first_order)(flat)
    own = [_first_gradient(at, w2.unsqueeze(0)).flatten(), _second_gradient(at).flatten()]
    gradient = torch.cat([below, *own]).unsqueeze(0) / n
    if not hessian:
        return Derivatives(loss, gradient, None)
    u1 = jacfwd(of_flat)(flat)  # (n, c, m)
    y1 = torch.einsum("nc,ncm->nm", g, u1)
    h1 = torch.einsum("cd,ncm->ndm", w1, u1)
    bent = r.unsqueeze(1) * w2 * second  # (n, d)
    full = u.new_empty(m + c * d + d, m + c * d + d)
    full[m:, m:] = read_out_hessian(at, w2.unsqueeze(0))[0]
    full[:m, :m] = y1.T @ y1 + torch.einsum("nd,ndm,ndk->mk", bent, h1, h1)
    if curved:
        full[:m, :m] += jacfwd(jacrev(first_order))(flat)
    mixed = torch.einsum("ncm,nd->mcd", u1, r.unsqueeze(1) * slopes)
    mixed += (
        (u.T @ (slopes.unsqueeze(-1) * y1.unsqueeze(1) + bent.unsqueeze(-1) * h1).flatten(1))
        .view(c, d, m)
        .permute(2, 0, 1)
    )
    full[:m, m : m + c * d] = mixed.flatten(1)
    full[m : m + c * d, :m] = mixed.flatten(1).T
    last = y1.T @ phi + torch.einsum("nd,ndm->md", r.unsqueeze(1) * first, h1)
    full[:m, m + c * d :] = last
    full[m + c * d :, :m] = last.T
    return Derivatives(loss, gradient, full.unsqueeze(0) / n)
