"""What a task hands to training: pairs of sequences, and labelled texts, ragged or side by side in padded batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from attnlab.errors import UsageError

POSITIONS = 8192
"""About how many positions, padding included, are read at once: enough to keep the processor busy, and some 200 MB."""


@dataclass(frozen=True)
class PairBatch:
    """Pairs of input and output sequences, teacher forced.

    ``source``: (batch, source) input words x_l. ``previous``: (batch, target) the decoder's input, the output moved one
    to the right after a start symbol. ``target``: (batch, target) output words y_t. Lengths: (batch,) or None where
    every sequence is full. ``position``: (target,) the input position each output word is made from, where the task
    knows it.
    """

    source: Tensor
    previous: Tensor
    target: Tensor
    source_lengths: Tensor | None = None
    target_lengths: Tensor | None = None
    position: Tensor | None = None

    @property
    def inside(self) -> Tensor:
        """Which input positions are there: (batch, source)."""
        if self.source_lengths is None:
            return torch.ones_like(self.source, dtype=torch.bool)
        return torch.arange(self.source.shape[1], device=self.source.device) < self.source_lengths[:, None]

    @property
    def labels(self) -> Tensor:
        """The output words (batch, target), -1 after an output's end."""
        if self.target_lengths is None:
            return self.target
        positions = torch.arange(self.target.shape[1], device=self.target.device)
        return self.target.where(positions < self.target_lengths[:, None], -1)

    def to(self, device: torch.device | str) -> "PairBatch":
        """The same batch on another device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if value is not None}
        return PairBatch(**moved)


class PairTask(Protocol):
    """A source of pairs without end."""

    @property
    def vocabulary(self) -> int:
        """Number of symbols, of input and output alike."""
        ...

    def batch(self, count: int, rng: np.random.Generator) -> PairBatch:
        """``count`` pairs that depend on the generator alone."""
        ...


@dataclass(frozen=True)
class Bags:
    """Labelled sentences, each a bag of words, stored ragged.

    ``words``: (tokens,) word ids, sentence after sentence. ``offsets``: (sentences + 1,) where each sentence begins,
    and at last where they all end. ``labels``: (sentences,) the classes y.
    """

    words: Tensor
    offsets: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Tensor:
        """Words of each sentence: (sentences,)."""
        return self.offsets.diff()

    @property
    def sentence(self) -> Tensor:
        """The sentence each word is in: (tokens,)."""
        return torch.repeat_interleave(torch.arange(len(self), device=self.words.device), self.lengths)

    def select(self, rows: Tensor) -> "Bags":
        """The sentences that ``rows`` names, in its order."""
        lengths = self.lengths[rows]
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        shift = torch.repeat_interleave(self.offsets[rows] - offsets[:-1], lengths)
        return Bags(self.words[torch.arange(len(shift), device=shift.device) + shift], offsets, self.labels[rows])

    def to(self, device: torch.device | str) -> "Bags":
        """The same sentences on another device."""
        return Bags(self.words.to(device), self.offsets.to(device), self.labels.to(device))


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
