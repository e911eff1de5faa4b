"""What a task hands to training."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PairBatch:
    """Pairs of input and output sequences, teacher forced.

    ``source``: (batch, source) input words x_l. ``previous``: (batch, target) the decoder's input, the output moved one
    to the right behind a start symbol. ``target``: (batch, target) output words y_t. Lengths: (batch,) or None where
    every sequence is full. ``position``: (target,) the input position each output word is made from, where the task
    knows it.
    """

    source: Tensor
    previous: Tensor
    target: Tensor
    source_lengths: Tensor | None = None
    target_lengths: Tensor | None = None
    position: Tensor | None = None

    def to(self, device: torch.device | str) -> "PairBatch":
        """The same batch on another device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if value is not None}
        return PairBatch(**moved)
