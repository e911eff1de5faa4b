"""Products of a batch's rows with a layer's weights, x W^T + b, by the faster of the two libraries in PyTorch.

On CPU `torch.mm` hands 32-bit products to MKL, which leaves the widest registers of processors not made by Intel
unused; oneDNN, which PyTorch hands convolutions and half-precision products to, uses them: on such a machine every
product of the translator takes less than half of the time. PyTorch's operation for it is not part of its public
interface, so it is tried once, and where it is missing or wrong `torch.addmm` does the work. Which library it is
follows from processor and versions alone, and those are in a run's `environment.json`.
"""

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional

ROUND, SMALL, LARGE = 16, 128, 2048
"""oneDNN makes a program for every size of product and keeps a thousand of them. How many words a batch has differs
from update to update, so sizes from `SMALL` to `LARGE` are rounded up to multiples of `ROUND`: a fourth of the time
went into programs before. Smaller sizes are few, and for larger ones a program is cheap beside what it does."""
FEW = 2
"""`torch.mm` is faster with so few rows or outputs."""
LITTLE = 2**19
"""So many multiplications take as long as oneDNN's call alone, some ten microseconds."""
_USUAL: ContextVar[bool] = ContextVar("usual products", default=False)


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


@contextmanager
def usual_products() -> Iterator[None]:
    """All products by `torch.mm`, for what has to be the same on every machine, such as counting operations."""
    before = _USUAL.set(True)
    try:
        yield
    finally:
        _USUAL.reset(before)


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """x W^T + b for ``x`` (rows, in) and ``weight`` (out, in), either also the view of a transposed table; written into
    ``out`` if it is given. Autograd does not see it: it is for forward and backward passes written by hand.
    """
    if not _suits(x, weight):
        return torch.mm(x, weight.t(), out=out) if bias is None else torch.addmm(bias, x, weight.t(), out=out)
    rows, x = len(x), rounded(x, columns=True)
    result = _wide(x, _dense(weight, x.shape[1]), bias).resize_(rows, len(weight))  # a slice would be autograd's view
    return result if out is None else out.copy_(result)


def adder(weight: Tensor, rows: int) -> Callable[[Tensor, Tensor], object]:
    """What adds x W^T to a place (rows, out), for some ten products or more with one ``weight`` and about so many rows
    each: the weight is laid out once as they read it.
    """
    if not _suits(weight.new_empty(rows, weight.shape[1]), weight):
        copied = weight.t().contiguous()
        return lambda place, x: place.addmm_(x, copied)
    packed = _packed(weight, rows)

    def add(place: Tensor, x: Tensor) -> object:
        return place.add_(_wide(x, packed, None)) if len(x) > FEW else place.addmm_(x, weight.t())

    return add


def rounded(x: Tensor, *, columns: bool = False) -> Tensor:
    """``x`` with rows of zeros up to the next size that has a program, with ``columns`` those too."""
    more_rows, more_columns = _more(len(x)), _more(x.shape[1]) if columns else 0
    return functional.pad(x, (0, more_columns, 0, more_rows)) if more_rows or more_columns else x


def _more(size: int) -> int:
    return -size % ROUND if SMALL < size < LARGE else 0


def _dense(weight: Tensor, columns: int) -> Tensor:
    """``weight`` (out, in) as a whole table or a whole table transposed, with zeros up to ``columns``: oneDNN reads a
    part of a wider one number by number, a hundred times as slowly.
    """
    transposed, more = weight.t().is_contiguous(), columns - weight.shape[1]
    if more:
        return functional.pad(weight.t(), (0, 0, 0, more)).t() if transposed else functional.pad(weight, (0, more))
    return weight if transposed or weight.is_contiguous() else weight.contiguous()


def _suits(x: Tensor, weight: Tensor) -> bool:
    if min(len(x), len(weight)) <= FEW or len(x) * weight.numel() <= LITTLE or _USUAL.get():
        return False
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
    rows = x.reshape(-1, x.shape[-1])
    if not _suits(rows, weight):
        return functional.linear(x, weight, bias)
    result: Tensor = _Linear.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    return result.view(*x.shape[:-1], -1)


class WideLinear(nn.Linear):
    """``nn.Linear`` with these products."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)
