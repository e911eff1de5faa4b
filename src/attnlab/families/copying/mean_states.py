"""How far mean encoder states of a copying run are bags of words: the blog's step from networks to co-occurrence."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlab.data.batch import POSITIONS
from attnlab.families.copying.task import CopyingTask, Independent
from attnlab.models.seq2seq import Seq2Seq
from attnlab.probes.mean_state import explained_share, order_share, word_shares
from attnlab.protocols import Row

ENOUGH = 600
"""Sequences of an evaluation below which nothing is said of mean states."""
FOR_EACH = 10
"""Sequences for each word below which no linear map from words to mean states is fitted."""


def mean_state_metrics(network: Seq2Seq, task: CopyingTask, source: Tensor, rng: np.random.Generator) -> Row:
    """What is measured of the mean encoder state over the positions of ``source`` (batch, length + 1), end included.

    ``mean_state``: how much of its variance a linear map of the mean embedding explains, fitted to two thirds of the
    sequences and tried on the rest; left out where all sequences hold the same words, as permutations do.
    ``mean_state_mixed``: the same over as many sequences whose words are drawn each on its own. ``mean_state_order``:
    the variance that a new order of the same words makes, by that over the latter. Nothing is measured of fewer than
    600 sequences, or of fewer than ten in the fit for each word.
    """
    fitted, symbols = 2 * len(source) // 3, task.distribution.words + 1
    if len(source) < ENOUGH or fitted < FOR_EACH * symbols:
        return {}
    words = source[:, :-1].cpu().numpy()
    mixed = _ended(Independent(words.shape[1], task.distribution.words).draw(len(words), rng), source)
    own, reordered, varied = (
        _means(network, tokens) for tokens in (source, _ended(rng.permuted(words, axis=1), source), mixed)
    )
    row = {}
    for name, tokens, means in (("mean_state", source, own), ("mean_state_mixed", mixed, varied)):
        shares = word_shares(tokens, task.vocabulary).cpu().numpy()
        if np.ptp(shares, axis=0).any():
            row[name] = explained_share(shares, means, fitted)
    return {**row, "mean_state_order": order_share(own, reordered, varied)}


def _ended(words: NDArray[np.int64], like: Tensor) -> Tensor:
    """``words`` (batch, length) with the end symbols of ``like``."""
    return torch.cat([torch.from_numpy(words).to(like.device), like[:, -1:]], 1)


def _means(network: Seq2Seq, source: Tensor) -> NDArray[np.float64]:
    """Mean encoder states (batch, size), in bounded memory."""
    block, parts = max(1, POSITIONS // source.shape[1]), []
    for first in range(0, len(source), block):
        rows = source[first : first + block]
        parts.append(network.encoder(rows, None, embedding=network.source_embedding).states.mean(1))
    return np.asarray(torch.cat(parts).double().cpu().numpy())
