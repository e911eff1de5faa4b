"""How far the mean hidden state of a text is a linear image of its mean word embedding (blog).

The blog's step from networks to bags of words assumes just that: under uniform attention a network reads nothing but
the mean state, and if that is linear in the mean embedding, word order and neighbours do not matter.

The mean embedding of a text is E^T n / L, where n counts its words. Where the embeddings E (words, size) are linearly
independent, linear maps of it are the linear maps of the word shares n / L, and those are what is fitted here: fewer
numbers, and the same answer. There is no penalty, so nothing but the map is assumed.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlab.errors import UsageError


def word_shares(tokens: Tensor, words: int) -> Tensor:
    """n / L of each text: (batch, words) from ``tokens`` (batch, length).

    >>> word_shares(torch.tensor([[0, 2, 2, 1]]), 3).tolist()
    [[0.25, 0.25, 0.5]]
    """
    ones = torch.ones(tokens.shape, dtype=torch.float64, device=tokens.device)
    counts = torch.zeros(len(tokens), words, dtype=torch.float64, device=tokens.device).scatter_add_(1, tokens, ones)
    return counts / tokens.shape[1]


def explained_share(inputs: NDArray[np.float64], outputs: NDArray[np.float64], fitted: int) -> float:
    """R^2, on texts it was not fitted to, of the least-squares map with a constant from ``inputs`` to ``outputs``.

    ``inputs`` (texts, k), ``outputs`` (texts, d): the first ``fitted`` texts are fitted, the rest decide. 1 minus the
    squared error of all outputs together by their squared distance to the fitted texts' mean: a map that does no
    better than that mean has 0, and one that does worse is below it.

    >>> x = np.linspace(-1, 1, 12)[:, None]
    >>> round(explained_share(x, 3 * x + 2, fitted=6), 9)
    1.0
    """
    if len(inputs) != len(outputs) or not 2 <= fitted < len(inputs):
        raise UsageError(
            f"A map is fitted to at least 2 texts and tried on others: {len(inputs)} inputs, {len(outputs)} outputs "
            f"and {fitted} to fit are not enough."
        )
    design = np.column_stack([np.ones(len(inputs)), inputs])
    # The shares add up to 1, so the constant is theirs already; the solver takes the shortest of the equal solutions.
    weights, *_ = np.linalg.lstsq(design[:fitted], outputs[:fitted], rcond=None)
    tried = outputs[fitted:]
    error = float(((tried - design[fitted:] @ weights) ** 2).sum())
    spread = float(((tried - outputs[:fitted].mean(axis=0)) ** 2).sum())
    return 1 - error / spread if spread else float("nan")


def order_share(means: NDArray[np.float64], reordered: NDArray[np.float64], varied: NDArray[np.float64]) -> float:
    """How much of what other words do to the mean state a new order of the same words does: variance by variance.

    ``means`` (texts, d): mean states; ``reordered``: those of the same texts with their words in another order, drawn
    at random; ``varied`` (others, d): those of texts with other words. Half the mean squared distance of the first two
    is the variance over orders of one bag of words. 0: the mean state is a function of the bag; 1: it is all order.

    >>> bag, order = np.array([[0.0], [4.0]]), np.array([[1.0], [-1.0]])
    >>> order_share(bag + order, bag - order, bag)
    0.25
    """
    if means.shape != reordered.shape or len(varied) < 2:
        raise UsageError(
            f"Mean states of {len(means)} texts, {len(reordered)} reordered ones and {len(varied)} others cannot be "
            "compared: the first two are of the same texts, and the others are at least 2."
        )
    within = float(((means - reordered) ** 2).sum(axis=1).mean() / 2)
    spread = float(varied.var(axis=0, ddof=1).sum())
    return within / spread if spread else float("nan")
