"""A classifier's fields over many texts: attention alpha and the lexical probe, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.attention import padding
from attnlab.models.classifier import Classifier
from attnlab.probes.reading import check_texts, frozen

POSITIONS = 8192
"""About how many positions, padding included, are read at once: enough to keep the processor busy, and some 200 MB."""


@dataclass(frozen=True)
class TextBatch:
    """Texts of nearly one length, padded. ``rows`` (batch,): which they are. ``tokens`` (batch, source), ``lengths``
    (batch,), ``labels`` (batch,). ``places`` (tokens,): where their positions stand in a field of all texts, row after
    row.
    """

    rows: Tensor
    tokens: Tensor
    lengths: Tensor
    labels: Tensor
    places: Tensor

    @property
    def inside(self) -> Tensor:
        """Which positions are there: (batch, source)."""
        return ~padding(self.lengths, self.tokens.shape[1])


@dataclass(frozen=True, eq=False)
class TextFields:
    """``alpha`` and ``gamma`` of every text; ``log_probabilities`` (texts, classes) and the right ones' negative mean,
    ``loss``; ``accuracy``.
    """

    alpha: ScoreField
    gamma: ScoreField
    log_probabilities: NDArray[np.float64]
    loss: float
    accuracy: float

    @classmethod
    def of(cls, texts: Bags, alpha: Tensor, gamma: Tensor, log_probabilities: Tensor) -> Self:
        """From ``alpha`` and ``gamma`` (tokens,) and ``log_probabilities`` (texts, classes)."""
        offsets, told = texts.offsets.numpy(), log_probabilities.double()
        return cls(
            ScoreField(alpha.numpy(), offsets),
            ScoreField(gamma.numpy(), offsets),
            told.numpy(),
            loss=-float(told.gather(1, texts.labels[:, None]).mean()),
            accuracy=float((told.argmax(1) == texts.labels).double().mean()),
        )


def padded(texts: Bags, rows: Tensor) -> TextBatch:
    """The texts that ``rows`` (batch,) names, side by side, with word 0 behind the shorter ones' ends."""
    lengths = texts.lengths[rows]
    if not len(lengths):
        raise UsageError("A batch needs at least one text.")
    if not bool(lengths.all()):
        raise UsageError(f"Text {int(rows[lengths.argmin()])} has no words; a classifier reads at least one.")
    positions = torch.arange(int(lengths.max()))
    at = texts.offsets[rows][:, None] + positions
    inside = positions < lengths[:, None]
    tokens = torch.where(inside, texts.words[at.clamp(max=len(texts.words) - 1)], 0)
    return TextBatch(rows, tokens, lengths, texts.labels[rows], at[inside])


def batches(texts: Bags, positions: int = POSITIONS) -> Iterator[TextBatch]:
    """All texts, from the longest to the shortest, at most ``positions`` at once (or one text that is longer)."""
    order = texts.lengths.argsort(descending=True, stable=True)
    lengths = texts.lengths[order].tolist()
    start = 0
    while start < len(order):
        stop = start + max(1, positions // max(lengths[start], 1))
        yield padded(texts, order[start:stop])
        start = stop


def text_fields(model: Classifier, texts: Bags, positions: int = POSITIONS) -> TextFields:
    """Attention, lexical probe and prediction of every text."""
    check_texts(model, texts)
    alpha, gamma = torch.empty(2, len(texts.words), dtype=model.embedding.dtype)
    told = torch.empty(len(texts), model.classes, dtype=model.embedding.dtype)
    with frozen(model), torch.no_grad():
        for batch in batches(texts, positions):
            seen = model(batch.tokens, batch.lengths, labels=batch.labels)
            inside = batch.inside
            alpha[batch.places], gamma[batch.places] = seen.alpha[inside], seen.gamma[inside]
            told[batch.rows] = seen.log_probabilities
    return TextFields.of(texts, alpha, gamma, told)
