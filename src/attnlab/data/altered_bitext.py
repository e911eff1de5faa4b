"""Parallel corpora made harder on purpose: fewer training pairs, or sentences paired with the wrong translation.

Pieces, validation and test pairs stay as they are, so that networks begin from the same weights and are asked the same.
"""

from dataclasses import replace

import numpy as np

from attnlab.data.bitext import Bitext
from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator


def shuffle_targets(bitext: Bitext, share: float, seed: int = 0) -> Bitext:
    """The target sentences of a ``share`` of the training pairs, drawn by ``seed``, are permuted among themselves.

    With the same seed a larger share draws all pairs that a smaller one draws. A drawn sentence may come back to its
    own place.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"The share of pairs to shuffle lies between 0 and 1; {share} does not.")
    train = bitext.train
    count = round(share * len(train))
    if not count:
        return bitext
    drawn = numpy_generator(seed, "pairs to shuffle").permutation(len(train))[:count]
    order = np.arange(len(train))
    order[drawn] = drawn[numpy_generator(seed, "shuffled pairs").permutation(count)]
    note = f"The target sentences of {count} of {len(train)} training pairs are permuted among them (seed {seed})."
    return replace(bitext, train=replace(train, target=train.target.select(order)), notes=(*bitext.notes, note))


def fewer_pairs(bitext: Bitext, count: int) -> Bitext:
    """The first ``count`` training pairs of a fixed random order, so that fewer are always among more."""
    if count < 1:
        raise UsageError(f"At least 1 training pair is needed, not {count}.")
    there = len(bitext.train)
    if count > there:
        raise UsageError(f"{bitext.name} has {there} training pairs, not {count}.")
    kept = np.sort(numpy_generator(0, "training pairs").permutation(there)[:count])
    note = f"{count} of {there} training pairs are used; the pieces are those of all of them."
    return replace(bitext, train=bitext.train.select(kept), notes=(*bitext.notes, note))
