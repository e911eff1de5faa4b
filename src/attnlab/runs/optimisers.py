"""Optimisers: their specs, and plain gradient descent."""

from collections import defaultdict
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Discriminator, Field, Tag
from torch import Tensor, nn

from attnlab.records import Record, Share


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


class AdamSpec(Record):
    """Adam; the defaults are PyTorch's."""

    kind: Literal["adam"] = "adam"
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    betas: tuple[Share, Share] = (0.9, 0.999)
    epsilon: Annotated[float, Field(gt=0)] = 1e-8

    STATE: ClassVar = {"step": False, "exp_avg": True, "exp_avg_sq": True}
    """What it keeps of each parameter, and whether in the parameter's shape; else it is one number."""

    def build(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        # The fused kernel does the whole update in one pass over memory; it is exact and needs no GPU.
        return torch.optim.Adam(parameters, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, fused=True)


class SgdSpec(Record):
    """Plain gradient descent: no momentum, no decay."""

    kind: Literal["sgd"] = "sgd"
    learning_rate: Annotated[float, Field(gt=0)] = 0.1

    STATE: ClassVar[dict[str, bool]] = {}

    def build(self, parameters: list[torch.nn.Parameter]) -> Descent:
        return Descent(parameters, self.learning_rate)


def _kind(value: Any) -> Any:
    """The kind of an optimiser; values without one are Adam's."""
    return value.get("kind", "adam") if isinstance(value, dict) else getattr(value, "kind", None)


OptimiserSpec = Annotated[Annotated[AdamSpec, Tag("adam")] | Annotated[SgdSpec, Tag("sgd")], Discriminator(_kind)]
