"""The translator on real Multi30k batches of 16: a step against PyTorch's own recurrences and against the machine,
minutes of training, seconds of reading all fields of a checkpoint and of beam search.

Ratios are of steps made in turns on the same batches; times are processor time on one thread, reckoned up.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from alignment import Figure
from networks import Training
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnlab.data.batch import PairBatch
from attnlab.data.bitext import Bitext, load_bitext
from attnlab.data.piece_batches import pair_batch
from attnlab.families.passes import rows_of_step
from attnlab.models.attention import padding
from attnlab.models.decoding import translate
from attnlab.models.recurrent import Recurrent
from attnlab.models.translator import Translator
from attnlab.probes.translation import translation_fields
from attnlab.runs.environment import keep_memory
from attnlab.seeds import numpy_generator

STEPS, BATCH = 36_000, 16
BATCHES = 8
"""Batches that are timed, the same for all."""
WARM = 60
"""Updates before fields are read and sentences translated: a network that has learned nothing never ends."""


class PlainTranslator(nn.Module):
    """The released shape as one writes it with PyTorch, with the weights of ours."""

    def __init__(self, ours: Translator) -> None:
        super().__init__()
        self.embedding = nn.Parameter(ours.embedding.detach().clone())
        self.encoder, self.decoder = _library(ours.encoder), _library(ours.decoder)
        assert ours.projection is not None
        assert ours.readout.hidden is not None
        self.query, self.projection = _copy(ours.query), _copy(ours.projection)
        self.hidden, self.output = _copy(ours.readout.hidden), _copy(ours.readout.output)

    def loss(self, batch: PairBatch) -> Tensor:
        """Mean negative log-likelihood of the output words; padding does not go through the output layer."""
        embedded = functional.embedding(batch.source, self.embedding)
        packed = pack_padded_sequence(embedded, batch.source_lengths, batch_first=True, enforce_sorted=False)
        states, final = self.encoder(packed)
        h, _ = pad_packed_sequence(states, batch_first=True)
        start = tuple(state.view(-1, 2, *state.shape[1:]).mean(1) for state in final)
        embedded = functional.embedding(batch.previous, self.embedding)
        packed = pack_padded_sequence(embedded, batch.target_lengths, batch_first=True, enforce_sorted=False)
        d, _ = pad_packed_sequence(self.decoder(packed, start)[0], batch_first=True)
        outside = padding(batch.source_lengths, h.shape[1])[:, None]
        alpha = (self.query(d) @ h.transpose(1, 2)).masked_fill(outside, float("-inf")).softmax(-1)
        there = batch.labels >= 0
        features = self.hidden(torch.cat([self.projection(alpha @ h), d], -1)[there]).relu()
        return functional.cross_entropy(self.output(features), batch.target[there])


def _library(ours: Recurrent) -> nn.LSTM:
    theirs = nn.LSTM(
        ours.input_size, ours.hidden_size, ours.layers, bidirectional=ours.directions == 2, batch_first=True
    )
    theirs.load_state_dict(ours.state_dict(), strict=True)
    return theirs


def _copy(ours: nn.Linear) -> nn.Linear:
    theirs = nn.Linear(ours.in_features, ours.out_features, device="meta").to_empty(device="cpu")
    theirs.load_state_dict(ours.state_dict(), strict=True)
    return theirs


def batches(bitext: Bitext) -> list[PairBatch]:
    """The first batches of a run."""
    return [pair_batch(bitext.train, rows_of_step(len(bitext.train), BATCH, 0, step)) for step in range(BATCHES)]


def our_loss(network: Translator, batch: PairBatch, step: int | None = None) -> Tensor:
    """The loss of a batch, with the dropout of ``step`` if it is given."""
    return network.loss(
        batch.source,
        batch.previous,
        batch.target,
        source_lengths=batch.source_lengths,
        target_lengths=batch.target_lengths,
        generator=None if step is None else numpy_generator(0, "dropout", step),
    )


def both(bitext: Bitext, batch: PairBatch) -> tuple[Training, Training]:
    """A step of ours on this batch, and the same on PyTorch's recurrences; without dropout, so that both are equal."""
    ours = Translator(len(bitext.pieces), dropout=0.0)
    return (
        Training.of(ours, lambda network: our_loss(network, batch)),
        Training.of(PlainTranslator(ours), lambda network: network.loss(batch)),
    )


def operations(batch: PairBatch, hidden: int = 256, words: int = 8000) -> int:
    """Floating-point operations of all matrix products in a step, after the tables of distinct words.

    Each product has two of the same size in the backward pass. The encoder's first steps need no recurrent product.
    """
    source, target = int(batch.source_lengths.sum()), int(batch.target_lengths.sum())
    square = hidden * hidden
    inputs, outputs = (len(np.unique(side.numpy())) for side in (batch.source, batch.previous))
    recurrent = (source - len(batch.source)) * 8 * square
    encoder = inputs * 8 * square + recurrent + source * 16 * square + recurrent
    decoder = outputs * 4 * square + target * 12 * square
    readout = target * (2 + 2 + 2) * square + target * hidden * words  # score, projection, hidden layer, words
    attention = 2 * int((batch.source_lengths * batch.target_lengths).sum()) * 2 * hidden
    return 3 * 2 * (encoder + decoder + readout + attention)


def seconds(work: Callable[[], object]) -> float:
    """Processor time."""
    started = time.process_time()
    work()
    return time.process_time() - started


def times(bitext: Bitext, steps: int = 60) -> list[Figure]:
    """Minutes of a whole run, seconds of all fields of the validation pairs and of translating them."""
    network = Translator(len(bitext.pieces))
    numbers = iter(range(WARM + steps))

    def loss(network: Translator) -> Tensor:
        step = next(numbers)
        rows = rows_of_step(len(bitext.train), BATCH, 0, step)
        return our_loss(network, pair_batch(bitext.train, rows), step)

    training = Training.of(network, loss)
    for _ in range(WARM):
        training.step()
    minutes = seconds(lambda: [training.step() for _ in range(steps)]) / steps * STEPS / 60
    pairs = bitext.validation
    read = seconds(lambda: translation_fields(network, pairs, influence=True))
    found = seconds(lambda: translate(network, bitext.pieces, pairs.source))
    return [
        Figure(f"{STEPS} steps of the translator", minutes, 110.0, "minutes on one core", "at most"),
        Figure("alpha, beta and delta of 1014 pairs", read, 60.0, "seconds on one core", "at most"),
        Figure("beam search over 1014 pairs", found, 60.0, "seconds on one core", "at most"),
    ]


def bitext() -> tuple[Bitext | None, list[str]]:
    """Multi30k, or why there is none."""
    root = os.environ.get("ATTNLAB_DATA")
    if not root or not (Path(root) / "multi30k").is_dir():
        return None, ["The translator: set ATTNLAB_DATA to a folder that holds multi30k."]
    keep_memory()  # as a sweep's workers do
    return load_bitext("multi30k/en-de"), []
