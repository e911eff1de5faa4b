"""How often a field is largest at the right position, or at one of the commonest words: what two fields can share
without knowing anything.
"""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField

COMMON = 100
"""So many of the training texts' words are called common."""


def top_share(field: Tensor, position: Tensor) -> Tensor:
    """For each output word, 1 if ``position`` has the largest value of ``field``, 0 if not: (batch, target).

    Positions that tie for the largest value share the 1, which is what breaking ties at random gives on average: a
    uniform field scores 1/L. A position outside the input scores 0. ``field``: (batch, target, source), ``position``:
    (target,), or (batch, target) where it differs between examples.
    """
    source = field.shape[-1]
    largest = field == field.amax(-1, keepdim=True)
    known = (position >= 0) & (position < source)
    at = position.clamp(0, source - 1).expand(field.shape[:2]).unsqueeze(-1)
    hit = largest.gather(-1, at).squeeze(-1) & known
    return hit.double() / largest.sum(-1)


def common_words(texts: Bags, words: int) -> NDArray[np.bool_]:
    """(words,): whether a word is one of the `COMMON` that occur most often in ``texts``."""
    counts = np.bincount(texts.words.numpy(), minlength=words)
    common = np.zeros(words, dtype=bool)
    common[np.argsort(-counts, kind="stable")[:COMMON]] = True
    return common


def common_share(field: ScoreField, texts: Bags, common: NDArray[np.bool_]) -> float:
    """Share of ``texts`` whose largest value of ``field`` is at a ``common`` word; places that tie share it.

    >>> import torch
    >>> texts = Bags(torch.tensor([0, 1, 2, 1]), torch.tensor([0, 2, 4]), torch.tensor([0, 0]))
    >>> common_share(ScoreField.from_rows([[0.9, 0.1], [0.5, 0.5]]), texts, np.array([True, False, False]))
    0.5
    """
    if not np.array_equal(field.lengths, texts.lengths.numpy()):
        raise UsageError("The field and the texts differ in their lengths; a field over these texts is needed.")
    largest = np.maximum.reduceat(field.values, field.offsets[:-1])
    hits = field.values == np.repeat(largest, field.lengths)
    right = hits & common[texts.words.numpy()]
    counted = np.add.reduceat(np.stack([right, hits]).astype(np.int64), field.offsets[:-1], axis=1)
    return float((counted[0] / counted[1]).mean())
