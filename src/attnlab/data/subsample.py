"""Subsamples of labelled examples that keep every class."""

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError


def subsample(labels: NDArray[np.int64], size: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """``size`` different places of ``labels`` (examples,) in random order, with every class among them.

    One of each class comes last, so that a part held out at the beginning takes no class away. A larger subsample from
    a generator of the same key begins otherwise, but is drawn from the same examples.

    >>> labels = np.array([0, 0, 0, 0, 1])
    >>> sorted(labels[subsample(labels, 2, np.random.default_rng(0))].tolist())
    [0, 1]
    """
    classes = np.unique(labels)
    if size > len(labels):
        raise UsageError(f"A sample of {size} cannot be drawn from {len(labels)} examples.")
    if size < len(classes):
        raise UsageError(f"A sample of {size} cannot keep all {len(classes)} classes; each needs one example.")
    order = generator.permutation(len(labels))
    _, first = np.unique(labels[order], return_index=True)
    kept = order[first]
    others = np.delete(order, first)[: size - len(kept)]
    return np.concatenate([others, kept])
