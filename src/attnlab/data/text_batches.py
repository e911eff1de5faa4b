"""Labelled texts side by side: padded batches of nearly one length, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from attnlab.data.batch import Bags
from attnlab.errors import UsageError

POSITIONS = 8192
"""About how many positions, padding included, are read at once: enough to keep the processor busy, and some 200 MB."""


@dataclass(frozen=True)
class TextBatch:
    """Texts of nearly one length, padded. ``rows`` (batch,): which they are. ``tokens`` (batch, source), ``lengths``
    (batch,), ``labels`` (batch,).
    """

    rows: Tensor
    tokens: Tensor
    lengths: Tensor
    labels: Tensor

    @property
    def inside(self) -> Tensor:
        """Which positions are there: (batch, source)."""
        return torch.arange(self.tokens.shape[1], device=self.lengths.device) < self.lengths[:, None]

    def to(self, device: torch.device | str) -> "TextBatch":
        """The same batch on another device."""
        return TextBatch(*(value.to(device) for value in vars(self).values()))


def padded(texts: Bags, rows: Tensor) -> TextBatch:
    """The texts that ``rows`` (batch,) names, side by side, with word 0 after the shorter ones' ends.

    >>> texts = Bags(torch.tensor([7, 8, 9, 5]), torch.tensor([0, 3, 4]), torch.tensor([1, 0]))
    >>> padded(texts, torch.tensor([1, 0])).tokens.tolist()
    [[5, 0, 0], [7, 8, 9]]
    """
    lengths = texts.lengths[rows]
    if not len(lengths):
        raise UsageError("A batch needs at least one text.")
    if not bool(lengths.all()):
        raise UsageError(f"Text {int(rows[lengths.argmin()])} has no words; a classifier reads at least one.")
    positions = torch.arange(int(lengths.max()))
    at = texts.offsets[rows][:, None] + positions
    tokens = torch.where(positions < lengths[:, None], texts.words[at.clamp(max=len(texts.words) - 1)], 0)
    return TextBatch(rows, tokens, lengths, texts.labels[rows])


def batches(texts: Bags, positions: int = POSITIONS) -> Iterator[TextBatch]:
    """All texts, from the longest to the shortest, at most ``positions`` at once (or one text that is longer)."""
    order = texts.lengths.argsort(descending=True, stable=True)
    lengths = texts.lengths[order].tolist()
    start = 0
    while start < len(order):
        stop = start + max(1, positions // max(lengths[start], 1))
        yield padded(texts, order[start:stop])
        start = stop
