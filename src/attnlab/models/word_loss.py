"""The output layer and its loss in one: mean negative log-likelihood of words out of a large vocabulary.

    logits = W z + b,   loss = 1/n sum over rows of logsumexp(logits) - logits_y

With thousands of words this layer is the dearest of a translator, and its logits the largest table. Here they are made
once and turned into their own gradient in place; the library's way makes three tables more.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from attnlab.models.products import product, rounded


class WordLoss(Function):
    """The mean loss (a scalar) of ``features`` z (rows, size) and the right words ``targets`` (rows,).

    ``weight`` (words, size), ``bias`` (words,) or None. The gradient of the logits is scale * (e - s * 1[o = y]) with
    e = exp(logits - max), s = sum e and scale = 1 / (s n). Only e - s * 1[o = y] is a table; the scale is put on the
    small factors of the products.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
        right, count = targets.unsqueeze(1), len(targets)
        features = rounded(features)  # (rows and more, size)
        logits = product(features, weight, bias)
        picked = logits[:count].gather(1, right)
        largest = logits.amax(1, keepdim=True)
        table = logits.sub_(largest).exp_()
        total = table.sum(1, keepdim=True)
        loss = (total.log() + largest)[:count].sub_(picked).mean()
        if any(ctx.needs_input_grad):
            table[:count].scatter_add_(1, right, -total[:count])
            table[count:] = 0
            ctx.has_bias = bias is not None
            ctx.count = count
            ctx.save_for_backward(features, weight, table, 1 / (total * count))
        return loss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        features, weight, table, scale = ctx.saved_tensors
        scale = scale * gradient
        of_features, of_weight, of_bias = ctx.needs_input_grad[:3]
        return (
            product(table, weight.t()).mul_(scale)[: ctx.count] if of_features else None,
            product(table.t(), (features * scale).t()) if of_weight else None,
            torch.mv(table.t(), scale.squeeze(1)) if of_bias and ctx.has_bias else None,
            None,
        )


word_loss: Callable[[Tensor, Tensor, Tensor | None, Tensor], Tensor] = WordLoss.apply
