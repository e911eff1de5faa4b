"""Starting values, drawn from a generator of our own instead of PyTorch's global one.

The distributions are PyTorch's defaults, which the papers' code relies on.
"""

from math import sqrt

import torch
from torch import Tensor, nn

from attnlab.errors import UsageError


def uniform(*shape: int, bound: float, generator: torch.Generator | None) -> nn.Parameter:
    """A parameter with entries uniform in (-bound, bound)."""
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


def check_sizes(what: str, least: int = 1, **sizes: int) -> None:
    """Refuse a size below ``least``."""
    for name, size in sizes.items():
        if size < least:
            raise UsageError(f"{what} needs {name} of at least {least}, not {size}.")


def linear(
    inputs: int,
    outputs: int,
    *,
    bias: bool = True,
    generator: torch.Generator | None,
    kind: type[nn.Linear] = nn.Linear,
) -> nn.Linear:
    """``nn.Linear``, or a ``kind`` of it, with its usual start: weight and bias uniform in +-1/sqrt(inputs)."""
    layer = kind(inputs, outputs, bias=bias, device="meta")  # no values yet, so nothing is drawn
    layer.weight = uniform(outputs, inputs, bound=1 / sqrt(inputs), generator=generator)
    if bias:
        layer.bias = uniform(outputs, bound=1 / sqrt(inputs), generator=generator)
    return layer


def embedding(words: int, size: int, *, generator: torch.Generator | None) -> Tensor:
    """Embedding table (words, size) with standard normal entries, as in ``nn.Embedding``."""
    return nn.Parameter(torch.empty(words, size).normal_(generator=generator))
