"""Plain gradient descent."""

from collections import defaultdict
from typing import Protocol

import torch
from torch import Tensor, nn


class Optimiser(Protocol):
    """What the loop asks of an optimiser: those of ``torch.optim`` are some."""

    @property
    def state(self) -> defaultdict[Tensor, dict[str, Tensor]]:
        """What it remembers of each parameter: saved with a checkpoint."""
        ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...

    def step(self) -> object: ...


class Descent:
    """theta <- theta - rate x gradient, to the same bits as ``torch.optim.SGD``.

    The library's bookkeeping costs more than this arithmetic, and a process that needs no other optimiser is spared the
    two seconds in which ``torch.optim`` loads PyTorch's compiler.
    """

    def __init__(self, parameters: list[nn.Parameter], rate: float) -> None:
        self.parameters, self.rate = parameters, rate
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)  # stays empty

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: ARG002 (always)
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.add_(parameter.grad, alpha=-self.rate)
