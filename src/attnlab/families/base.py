"""What families share: a problem of few surprises, and checks of settings that several of them have."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from torch import Tensor, nn

from attnlab.protocols import Optimiser, RunSettings


class BaseProblem:
    """A problem (`attnlab.protocols.Problem`) without its loss and evaluation: it keeps no fields and has no remedy."""

    model: nn.Module

    def __init__(self, spec: RunSettings, device: str) -> None:
        self.spec, self.device = spec, device

    def trained_parameters(self) -> dict[str, nn.Parameter]:
        """All parameters that are not frozen, by name."""
        return {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}

    def before_update(self, step: int, optimiser: Optimiser) -> None:
        """Change nothing."""

    def fields(self) -> pa.Table | None:
        """Nothing."""
        return None


def watched_table(
    inputs: Sequence[str], outputs: Sequence[str], predicted: Sequence[str], alpha: Tensor, beta: Tensor
) -> pa.Table:
    """What `attnlab.protocols.Watchable` keeps of an example; ``alpha`` and ``beta``: (outputs, inputs)."""
    lists = pa.list_(pa.float32())
    return pa.table(
        {
            "output": pa.array(outputs, pa.string()),
            "predicted": pa.array(predicted, pa.string()),
            "inputs": pa.array([list(inputs)] * len(outputs), pa.list_(pa.string())),
            "alpha": pa.array(alpha.float().cpu().tolist(), lists),
            "beta": pa.array(beta.float().cpu().tolist(), lists),
        }
    )


def check_batch(spec: RunSettings) -> None:
    """A ValueError where a task that draws its examples anew is to show all of them at once."""
    if spec.batch is None:
        raise ValueError(
            f"batch = null, all examples at once, needs a task with a training set; {spec.task.kind} has none"
        )


def check_attention(spec: RunSettings) -> None:
    """A ValueError where a run has no attention of its own to train, or waits for weights that nobody gives."""
    model: Any = spec.model
    if not hasattr(model, "attention"):
        if spec.train != "all":
            raise ValueError(f"train = {spec.train} needs a model with attention; the proxy has none")
        return
    if spec.train == "attention-only" and (model.attention != "learned" or model.score == "dot"):
        raise ValueError(
            "train = attention-only needs learned attention with a score of its own: there is nothing else to train"
        )
    if model.attention == "given":
        raise ValueError("attention = given needs weights from a caller; a run knows learned and uniform")
