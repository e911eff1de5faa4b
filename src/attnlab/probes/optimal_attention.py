"""Optimal attention (P3 A.1): the attention that minimises the loss when the read-out is linear.

With logits gamma_l of every position and gamma_s of the decoder, p = softmax(sum_l alpha_l gamma_l + gamma_s), and

    loss(alpha) = logsumexp_o(sum_l alpha_l gamma_{l,o} + gamma_{s,o}) - (sum_l alpha_l gamma_{l,y} + gamma_{s,y})

is convex in alpha. It is log(1 + e^h) with the log-odds of being wrong

    h(alpha) = logsumexp_{o != y}( sum_l alpha_l (gamma_{l,o} - gamma_{l,y}) + gamma_{s,o} - gamma_{s,y} )

which is convex too, has the same minimum, and still distinguishes positions where the loss is all but 0. A primal-dual
interior-point method minimises it over the simplex for a whole batch at once. How far it may be off is not guessed:
the Frank-Wolfe gap max_l <grad h, alpha - e_l> bounds h, and so the loss, above its minimum.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.models.classifier import log_odds

_CENTRE = 0.1
"""Each step aims at a tenth of the present mean complementarity."""
_BOUNDARY = 0.995
"""Share of the way to the boundary that a step may go."""
_ROUNDED = (1e-1, 1e-2, 1e-3, 1e-4)
"""Weights below such a share of the largest are tried without, the sparsest first."""
_BACKTRACKS = 40
_RIDGE = 1e-13
"""Added to the Newton system, relative to its trace: keeps it positive definite where rounding would not."""
_NEIGHBOURHOOD = 1e4
"""Each alpha * dual stays within this factor of its target."""


@dataclass(frozen=True)
class OptimalAttention:
    """The solution for each row.

    ``alpha (batch, length)``: 0 where masked. ``loss (batch,)`` of it. ``gap (batch,)``: at least how far the loss lies
    above the minimum, both absolutely and relatively to it. ``reached (batch,)``: whether the gap is within what was
    asked for. ``iterations`` of the slowest row.
    """

    alpha: Tensor
    loss: Tensor
    gap: Tensor
    reached: Tensor
    iterations: int


def attention_loss(alpha: Tensor, gamma: Tensor, gold: Tensor, gamma_s: Tensor | None = None) -> Tensor:
    """The loss (batch,) of attention ``alpha (batch, length)`` over logits ``gamma (batch, length, outputs)``.

    ``gold (batch,)``: the right output. ``gamma_s (batch, outputs)``: the decoder's term, 0 if left out.
    """
    logits = torch.einsum("bl,blo->bo", alpha, gamma)
    if gamma_s is not None:
        logits = logits + gamma_s
    return torch.logsumexp(logits, 1) - logits.gather(1, gold[:, None])[:, 0]


def lexical_log_odds(gamma: Tensor, gold: Tensor, gamma_s: Tensor | None = None) -> Tensor:
    """logit(beta_l), (batch, length): it still ranks positions whose beta is 1 to the last digit."""
    logits = gamma if gamma_s is None else gamma + gamma_s[:, None]
    return log_odds(logits, gold[:, None].expand(logits.shape[:2]))


def lexical_beta(gamma: Tensor, gold: Tensor, gamma_s: Tensor | None = None) -> Tensor:
    """beta_l = softmax(gamma_l + gamma_s) at the right output: (batch, length)."""
    return torch.sigmoid(lexical_log_odds(gamma, gold, gamma_s))


def optimal_attention(
    gamma: Tensor,
    gold: Tensor,
    gamma_s: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 200,
) -> OptimalAttention:
    """The attention of least loss for every row of a batch, to a gap of at most ``tolerance``.

    ``gamma (batch, length, outputs)``, ``gold (batch,)``, ``gamma_s (batch, outputs)`` or 0, ``mask (batch, length)``:
    True where a row has a position. Computed in double precision. A row that has not reached the tolerance within
    ``max_iterations`` is returned as it is, with ``reached`` False.

    >>> gamma = torch.tensor([[[0.0, 0, 0], [0, -10, 5], [0, 5, -10]]])
    >>> best = optimal_attention(gamma, torch.tensor([0]))
    >>> best.alpha.round(decimals=3).tolist(), bool(best.reached)
    ([[0.0, 0.5, 0.5]], True)
    """
    there = _checked(gamma, gold, gamma_s, mask)
    if not tolerance > 0 or max_iterations < 1:
        raise UsageError(
            f"The tolerance must be above 0 and max_iterations at least 1, not {tolerance} and {max_iterations}."
        )
    logits = gamma.detach().double()
    right = gold[:, None]
    shift = logits.gather(2, right[:, :, None].expand(-1, logits.shape[1], 1))
    ahead = (logits - shift).where(there[:, :, None], 0.0)  # G = gamma_l,o - gamma_l,y
    offset = torch.zeros_like(logits[:, 0]) if gamma_s is None else gamma_s.detach().double()
    offset = (offset - offset.gather(1, right)).scatter(1, right, -torch.inf)  # the right output is no wrong one

    # Each row starts in the middle of its simplex.
    alpha = there.double() / there.sum(1, keepdim=True)
    _, gradient, _ = _evaluate(alpha, ahead, offset)
    dual = torch.where(there, gradient - _least(gradient, there) + _spread(gradient, there), 1.0)
    active = torch.arange(len(alpha), device=gamma.device)
    gap = _gap(alpha, gradient, there)
    iterations = 0
    while iterations < max_iterations:
        active = active[gap[active] > tolerance]
        if not len(active):
            break
        iterations += 1
        part = (ahead[active], offset[active], there[active])
        alpha[active], dual[active], gap[active] = _step(alpha[active], dual[active], *part)
    alpha, gap = _round(alpha, gap, ahead, offset, there, tolerance)
    odds, _, _ = _evaluate(alpha, ahead, offset)
    return OptimalAttention(alpha, functional.softplus(odds), gap, gap <= tolerance, iterations)


def _evaluate(alpha: Tensor, ahead: Tensor, offset: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """h (batch,), its gradient (batch, length) and p (batch, outputs), each wrong output's share among all wrong."""
    z = torch.einsum("bl,blo->bo", alpha, ahead) + offset
    normaliser = torch.logsumexp(z, 1)
    p = torch.exp(z - normaliser[:, None])
    return normaliser, torch.einsum("blo,bo->bl", ahead, p), p


def _step(alpha: Tensor, dual: Tensor, ahead: Tensor, offset: Tensor, there: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One step towards gradient = dual + nu, alpha * dual = mu, sum alpha = 1; the new alpha, dual and gap.

    The position of largest weight, j, takes up what the others give or take, so only differences to it are computed.
    With D^2 = alpha / dual the Newton system of the others is (I + D H D) (D^-1 move) = D right: positive definite.
    """
    value, gradient, p = _evaluate(alpha, ahead, offset)
    mu = _CENTRE * (alpha * dual * there).sum(1) / there.sum(1)
    barrier = torch.where(there, mu[:, None] / alpha.clamp_min(1e-300), 0.0)
    basic = alpha.argmax(1, keepdim=True)
    beside = ahead - ahead.gather(1, basic[:, :, None].expand(-1, 1, ahead.shape[2]))  # G_l - G_j
    slope = torch.einsum("blo,bo->bl", beside, p)
    right = barrier - barrier.gather(1, basic) - slope
    # H = A A^T: the columns A = (G_l - G_j - their mean) sqrt(p) of the loss, and one for the barrier at j.
    columns = (beside - slope[:, :, None]) * p.sqrt()[:, None]
    last = (dual / alpha.clamp_min(1e-300)).gather(1, basic).sqrt().expand(-1, alpha.shape[1])
    scale = torch.where(there, (alpha / dual).sqrt(), 0.0).scatter(1, basic, 0.0)  # D
    scaled = torch.cat([columns, last[:, :, None]], 2) * scale[:, :, None]
    system = scaled @ scaled.transpose(1, 2)
    diagonal = system.diagonal(dim1=1, dim2=2)
    diagonal.add_(1.0 + _RIDGE * diagonal.sum(1, keepdim=True))
    solved = torch.cholesky_solve((scale * right)[:, :, None], torch.linalg.cholesky(system))[:, :, 0]
    move = scale * solved
    move = move.scatter(1, basic, -move.sum(1, keepdim=True))
    dual_move = torch.where(there, barrier - dual - dual / alpha.clamp_min(1e-300) * move, 0.0)

    step = _to_boundary(alpha, move)
    falls = -(right * move).sum(1)
    step = _backtrack(alpha, move, step, falls, value, mu, ahead, offset, there)
    moved = alpha + step[:, None] * move
    alpha = moved / moved.sum(1, keepdim=True)
    dual = dual + _to_boundary(dual, dual_move)[:, None] * dual_move
    centre = torch.where(there, mu[:, None] / alpha.clamp_min(1e-300), 1.0)
    dual = torch.minimum(torch.maximum(dual, centre / _NEIGHBOURHOOD), centre * _NEIGHBOURHOOD)
    _, gradient, _ = _evaluate(alpha, ahead, offset)
    return alpha, dual, _gap(alpha, gradient, there)


def _to_boundary(values: Tensor, move: Tensor) -> Tensor:
    """The largest step (batch,), at most 1, that keeps ``values`` positive."""
    ratio = torch.where(move < 0, -values / move.clamp_max(-1e-300), torch.inf)
    return (_BOUNDARY * ratio.amin(1)).clamp_max(1.0)


def _backtrack(
    alpha: Tensor,
    move: Tensor,
    step: Tensor,
    falls: Tensor,
    value: Tensor,
    mu: Tensor,
    ahead: Tensor,
    offset: Tensor,
    there: Tensor,
) -> Tensor:
    """Halve steps (batch,) until h with its barrier, h - mu sum log alpha, has fallen by its due share."""

    def barrier(weights: Tensor) -> Tensor:
        return -mu * torch.where(there, weights.clamp_min(1e-300).log(), 0.0).sum(1)

    before = value + barrier(alpha)
    slack = 1e-13 * (1 + value.abs())  # what rounding may hide
    for _ in range(_BACKTRACKS):
        tried = alpha + step[:, None] * move
        after = _evaluate(tried, ahead, offset)[0] + barrier(tried)
        refused = after > before + 1e-4 * step * falls + slack
        if not refused.any():
            break
        step = torch.where(refused, step / 2, step)
    return step


def _round(
    alpha: Tensor, gap: Tensor, ahead: Tensor, offset: Tensor, there: Tensor, tolerance: float
) -> tuple[Tensor, Tensor]:
    """Small weights set to 0 where the gap stays within the tolerance: interior points never quite reach a face."""
    open_rows = torch.ones_like(gap, dtype=torch.bool)
    for share in _ROUNDED:
        kept = torch.where(alpha < share * alpha.amax(1, keepdim=True), 0.0, alpha)
        kept = kept / kept.sum(1, keepdim=True)
        _, gradient, _ = _evaluate(kept, ahead, offset)
        rounded = _gap(kept, gradient, there)
        good = (rounded <= tolerance) & open_rows
        alpha, gap = torch.where(good[:, None], kept, alpha), torch.where(good, rounded, gap)
        open_rows &= ~good
    return alpha, gap


def _least(values: Tensor, there: Tensor) -> Tensor:
    return torch.where(there, values, torch.inf).amin(1, keepdim=True)


def _spread(values: Tensor, there: Tensor) -> Tensor:
    """The range of a row's values (batch, 1), or 1 if it has none."""
    spread = torch.where(there, values, -torch.inf).amax(1, keepdim=True) - _least(values, there)
    return torch.where(spread > 0, spread, 1.0)


def _gap(alpha: Tensor, gradient: Tensor, there: Tensor) -> Tensor:
    """<gradient, alpha> - min_l gradient_l: at least h above its minimum."""
    return ((alpha * gradient).sum(1) - _least(gradient, there)[:, 0]).clamp_min(0.0)


def _checked(gamma: Tensor, gold: Tensor, gamma_s: Tensor | None, mask: Tensor | None) -> Tensor:
    """The mask, after a check that everything fits together."""
    if gamma.ndim != 3 or gamma.shape[1] < 1 or gamma.shape[2] < 2:
        raise UsageError(
            f"Logits come as (batch, length, outputs), at least one position and two outputs, not {tuple(gamma.shape)}."
        )
    batch, length, outputs = gamma.shape
    if gold.shape != (batch,) or (gamma_s is not None and gamma_s.shape != (batch, outputs)):
        shapes = f"{tuple(gold.shape)}" + (f" and {tuple(gamma_s.shape)}" if gamma_s is not None else "")
        raise UsageError(
            f"The right outputs come as ({batch},) and the decoder's logits as ({batch}, {outputs}), not {shapes}."
        )
    if batch and (int(gold.min()) < 0 or int(gold.max()) >= outputs):
        raise UsageError(f"Right outputs lie between 0 and {outputs - 1}; these have {gold.min()} to {gold.max()}.")
    there = torch.ones(batch, length, dtype=torch.bool, device=gamma.device) if mask is None else mask
    if there.shape != (batch, length) or there.dtype != torch.bool:
        raise UsageError(f"The mask is a boolean ({batch}, {length}), not {there.dtype} {tuple(there.shape)}.")
    if not there.any(1).all():
        raise UsageError(f"Row {int((~there.any(1)).nonzero()[0, 0])} of the batch has no position to attend to.")
    finite = torch.isfinite(gamma).all(2) | ~there
    if not finite.all() or (gamma_s is not None and not torch.isfinite(gamma_s).all()):
        raise UsageError("Logits must be finite numbers; some are not.")
    return there
