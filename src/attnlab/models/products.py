"""Products of a batch's rows with a layer's weights, x W^T + b, by the faster of the two libraries in PyTorch.

On CPU `torch.mm` hands 32-bit products to MKL, which leaves the widest registers of processors not made by Intel
unused; oneDNN, which PyTorch hands convolutions and half-precision products to, uses them: on such a machine every
product of the translator takes less than half of the time. PyTorch's operation for it is not part of its public
interface, so it is tried once, and where it is missing or wrong `torch.addmm` does the work. Which library it is
follows from processor and versions alone, and those are in a run's `environment.json`.
"""

import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional

ROUND = 16
"""oneDNN makes a program for every size of product and keeps a thousand of them. How many words a batch has differs
from update to update, so these sizes are rounded up; a fourth of the time went into programs before."""


@cache
def wide_products() -> bool:
    """Whether oneDNN's product is there and right, on a processor that it was written for."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    x, weight, bias = (torch.arange(n, dtype=torch.float32) for n in (6, 12, 4))
    x, weight = x.view(2, 3), weight.view(4, 3)
    try:
        found, packed = _wide(x, weight, bias), _wide(x, _packed(weight, len(x)), bias)
    except (AttributeError, RuntimeError):
        return False
    right = torch.addmm(bias, x, weight.t())
    return torch.equal(found, right) and torch.equal(packed, right)


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b for ``x`` (rows, in) and ``weight`` (out, in), either also the view of a transposed table; ``weight``
    may be one that `packed` has made. Autograd does not see it: it is for forward and backward passes written by hand.
    """
    if _suits(x, weight) and x.numel():
        rows = len(x)
        if not weight.is_mkldnn:
            x = rounded(x, columns=True)
            weight = _dense(weight, x.shape[1])
        return _wide(x, weight, bias).resize_(rows, len(weight))  # a slice would be a view, and is written into later
    return torch.mm(x, weight.t()) if bias is None else torch.addmm(bias, x, weight.t())


def packed(weight: Tensor, rows: int) -> Tensor:
    """``weight`` in the order in which products with about so many rows read it; pays off after some ten of them."""
    if _suits(weight, weight):
        return _packed(weight, rows)
    return weight.t().contiguous().t()  # in which order `torch.mm` reads it fastest


def rounded(x: Tensor, *, columns: bool = False) -> Tensor:
    """``x`` with rows of zeros up to the next multiple of `ROUND` (but none to a few), with ``columns`` those too."""
    more_rows = -len(x) % ROUND if len(x) > ROUND else 0
    more_columns = -x.shape[1] % ROUND if columns else 0
    return functional.pad(x, (0, more_columns, 0, more_rows)) if more_rows or more_columns else x


def _dense(weight: Tensor, columns: int) -> Tensor:
    """``weight`` (out, in) as a whole table or a whole table transposed, with zeros up to ``columns``: oneDNN reads a
    part of a wider one number by number, a hundred times as slowly.
    """
    transposed, more = weight.t().is_contiguous(), columns - weight.shape[1]
    if more:
        return functional.pad(weight.t(), (0, 0, 0, more)).t() if transposed else functional.pad(weight, (0, more))
    return weight if transposed or weight.is_contiguous() else weight.contiguous()


def _suits(x: Tensor, weight: Tensor) -> bool:
    return x.dtype is torch.float32 and weight.device.type == x.device.type == "cpu" and wide_products()


def _wide(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return result


def _packed(weight: Tensor, rows: int) -> Tensor:
    result: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
    return result


class _Linear(Function):
    """`torch.nn.functional.linear` on rows (rows, in), its three products by `product`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        if torch.is_grad_enabled():  # this pass is to be differentiated itself
            times: Callable[[Tensor, Tensor], Tensor] = functional.linear
        else:
            times = product
        return (
            times(gradient, weight.t()) if of_x else None,
            times(gradient.t(), x.t()) if of_weight else None,
            gradient.sum(0) if of_bias and ctx.has_bias else None,
        )


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`torch.nn.functional.linear`, to rounding: (..., in) to (..., out).

    >>> linear(torch.ones(2, 5, 3), torch.ones(4, 3), torch.ones(4)).shape
    torch.Size([2, 5, 4])
    """
    if not _suits(x, weight):
        return functional.linear(x, weight, bias)
    rows: Tensor = _Linear.apply(x.reshape(-1, x.shape[-1]), weight, bias)  # type: ignore[no-untyped-call]
    return rows.view(*x.shape[:-1], -1)


class WideLinear(nn.Linear):
    """``nn.Linear`` with these products."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)
