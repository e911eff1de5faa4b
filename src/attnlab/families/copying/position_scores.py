"""How well a network that copies has learned each output position: attention and accuracy, position by position."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.families.copying.task import CopyingTask
from attnlab.models.seq2seq import Seq2Seq
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]

SEQUENCES = 100
"""Fresh sequences that positions are measured on."""


@dataclass(frozen=True)
class PositionScores:
    """Of every output position t but the end symbol's, each (L,), after ``step`` updates.

    ``right``: pi(t), the input position it is made from. ``accuracy``: share of sequences whose word t is predicted.
    ``attention``: mean weight at the right position. ``lift``: that by the mean weight which all outputs give to the
    same input position; 1 where output t looks there no more than the others do.
    """

    right: NDArray[np.int64]
    accuracy: Floats
    attention: Floats
    lift: Floats
    step: int

    @property
    def distance(self) -> NDArray[np.int64]:
        """|pi(t) - t|."""
        return np.abs(np.asarray(self.right - np.arange(len(self.right))))


def score_positions(network: Seq2Seq, task: CopyingTask, seed: int, step: int) -> PositionScores:
    """Measure a network, as it is after ``step`` updates, on sequences drawn with ``seed``."""
    batch = task.batch(SEQUENCES, numpy_generator(seed, "positions"))
    with torch.no_grad():
        seen = network.eval()(batch.source, batch.previous)
    assert batch.position is not None  # a copying task knows them
    hits = (seen.log_probabilities.argmax(-1) == batch.target).double().mean(0)
    alpha, right = seen.alpha.double().mean(0).numpy(), batch.position.numpy()
    return from_attention(alpha[:-1], right[:-1], hits.numpy()[:-1], step)


def from_attention(alpha: Floats, right: NDArray[np.int64], accuracy: Floats, step: int) -> PositionScores:
    """Scores from mean attention ``alpha`` (output, input), the right positions and the accuracy at each output.

    >>> uniform = np.full((2, 2), 0.5)
    >>> from_attention(uniform, np.array([1, 0]), np.zeros(2), step=0).lift.tolist()
    [1.0, 1.0]
    """
    attention = alpha[np.arange(len(right)), right]
    return PositionScores(right, accuracy, attention, attention / alpha.mean(0)[right], step)
