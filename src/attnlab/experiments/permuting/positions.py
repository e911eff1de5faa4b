"""How well each output position of a copying run was learned, read from the run's last weights."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.families.copying.spec import CopyingSpec, Seq2SeqSpec
from attnlab.runs.environment import threads
from attnlab.runs.loop import Trained
from attnlab.runs.spec import RunSpec
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]

SEQUENCES = 100
"""Fresh sequences that positions are measured on."""


@dataclass(frozen=True)
class Positions:
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
        distance: NDArray[np.int64] = np.abs(self.right - np.arange(len(self.right)))
        return distance


def measure_positions(spec: RunSpec, run: Trained) -> Positions:
    """Measure a run's network as it was at its end.

    Where the run has since gone on and dropped those weights, the first that are kept behind its end are taken.
    """
    assert isinstance(spec.task, CopyingSpec)
    assert isinstance(spec.model, Seq2SeqSpec)
    assert run.run is not None
    task = spec.task.build()
    network = spec.model.build(task.vocabulary, task.vocabulary, spec.init_seed)
    step = min(step for step in run.run.steps() if step >= run.step)
    tensors = run.run.load(step).tensors
    network.load_state_dict(
        {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    )
    network.eval()
    batch = task.batch(SEQUENCES, numpy_generator(spec.data_seed, "positions"))
    with torch.no_grad(), threads(1):
        seen = network(batch.source, batch.previous)
    assert batch.position is not None  # a copying task knows them
    hits = (seen.log_probabilities.argmax(-1) == batch.target).double().mean(0)
    alpha, right = seen.alpha.double().mean(0).numpy(), batch.position.numpy()
    return from_attention(alpha[:-1], right[:-1], hits.numpy()[:-1], step)


def from_attention(alpha: Floats, right: NDArray[np.int64], accuracy: Floats, step: int) -> Positions:
    """Positions from mean attention ``alpha`` (output, input), the right positions and the accuracy at each output.

    >>> uniform = np.full((2, 2), 0.5)
    >>> from_attention(uniform, np.array([1, 0]), np.zeros(2), step=0).lift.tolist()
    [1.0, 1.0]
    """
    attention = alpha[np.arange(len(right)), right]
    return Positions(right, accuracy, attention, attention / alpha.mean(0)[right], step)
