"""How far two translators of the same pieces are apart, output word by output word."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlab.data.batch import PairBatch
from attnlab.data.bitext import PieceSplit
from attnlab.data.piece_batches import sorted_batches
from attnlab.errors import UsageError
from attnlab.models.deception import bounded_divergence, total_variation
from attnlab.models.translator import Translator
from attnlab.probes.reading import frozen

Floats = NDArray[np.float64]
PAIRS = 32
"""Sentence pairs read at once: both networks' distributions over all pieces are held for as many."""


@dataclass(frozen=True, eq=False)
class Apart:
    """A value for each output word, end marks included, pair after pair: (words,) each.

    ``tvd``: of the two predictions, 0 to 1. ``same``: whether their likeliest words are one. ``kl``: the divergence of
    the second's attention from the first's, bounded by ``floor`` (`attnlab.models.deception`).
    """

    tvd: Floats
    same: NDArray[np.bool_]
    kl: Floats


@dataclass(frozen=True)
class WordsRead:
    """What a translator says of a batch's output words that are there: ``p`` (words, pieces), ``alpha`` and
    ``inside`` (words, source).
    """

    p: Tensor
    alpha: Tensor
    inside: Tensor


def read_words(model: Translator, batch: PairBatch) -> WordsRead:
    """Read a batch without dropout; gradients flow where they are on."""
    model.eval()
    lengths = {"source_lengths": batch.source_lengths, "target_lengths": batch.target_lengths}
    seen = model(batch.source, batch.previous, **lengths)
    there = batch.labels >= 0  # (batch, target)
    inside = batch.inside[:, None, :].expand(-1, there.shape[1], -1)
    return WordsRead(seen.log_probabilities[there].exp(), seen.alpha[there], inside[there])


def translators_apart(first: Translator, second: Translator, split: PieceSplit, *, floor: float = 0.01) -> Apart:
    """Both read ``split``'s pairs with the right words before each output word."""
    if first.words != second.words:
        raise UsageError(
            f"The translators know {first.words} and {second.words} pieces; only the same can be compared."
        )
    if not len(split):
        raise UsageError("There are no sentence pairs to read.")
    with frozen(first), frozen(second), torch.no_grad():
        parts = list(_parts(first, second, split, floor))
    pair, tvd, same, kl = (torch.cat(column) for column in zip(*parts, strict=True))
    order = pair.argsort(stable=True)
    return Apart(tvd[order].double().numpy(), same[order].numpy(), kl[order].double().numpy())


def _parts(first: Translator, second: Translator, split: PieceSplit, floor: float) -> Iterator[tuple[Tensor, ...]]:
    device = first.embedding.device
    for numbers, on_cpu in sorted_batches(split, PAIRS):
        batch = on_cpu.to(device)
        one, other = read_words(first, batch), read_words(second, batch)
        tvd = total_variation(one.p, other.p)
        kl = bounded_divergence(one.alpha, other.alpha, one.inside, floor)
        same = one.p.argmax(1) == other.p.argmax(1)
        outputs = (batch.labels >= 0).sum(1).cpu()
        yield torch.from_numpy(numbers).repeat_interleave(outputs), tvd.cpu(), same.cpu(), kl.cpu()
