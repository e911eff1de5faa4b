"""The count table's contrast: what distinguishes an output word's own input word from the other words of its sequence.

For copying without repeated words the count table C of P3 4.2 has a closed form: C[i, o] = P(i and o are in a
sequence) / L. The contrast of a distribution is

    contrast = L ( E C[y, y] - E C[x, y] )

with y a word of a random sequence and x another word of the same sequence. It is 0 for permutations, where all entries
are equal, and (k/n) (n - k)/(n - 1) for k of n words. By P3 4.1 the proxy's logits W e change by 2 (C - row mean) at
the start of training; the row means cancel in the difference, so the contrast says how much faster the score of an
output word rises at its own input word than at another one.
"""

import numpy as np
from numpy.typing import NDArray

from attnlab.errors import UsageError
from attnlab.families.copying.task import Distribution, Mixture, Permutations, PermutationSets, Selections

Floats = NDArray[np.float64]


def contrast(distribution: Distribution) -> float:
    """The contrast of a distribution of sequences that are copied, exactly.

    >>> contrast(Permutations(40)), round(contrast(Selections(40, 41)) * 41, 12)
    (0.0, 1.0)
    """
    length = distribution.length
    if length < 2:
        raise UsageError("Contrast compares words of one sequence, so sequences of at least two words are needed.")
    together = presence(distribution)
    own = np.diagonal(together)  # P(i)
    # A word of a random sequence is i with probability P(i) / L, a pair of them (i, j) with P(i, j) / (L (L - 1)).
    right = (own**2).sum() / length
    others = ((together**2).sum() - (own**2).sum()) / (length * (length - 1))
    return float(right - others)


def presence(distribution: Distribution) -> Floats:
    """P(i and j are in a sequence): (words, words), P(i) on the diagonal; L times the expected count table."""
    if isinstance(distribution, Permutations):
        return np.ones((distribution.words, distribution.words))
    if isinstance(distribution, Selections):
        k, n = distribution.length, distribution.words
        both = k * (k - 1) / (n * (n - 1)) if n > 1 else 1.0
        together = np.full((n, n), both)
        np.fill_diagonal(together, k / n)
        return together
    if isinstance(distribution, PermutationSets):
        return np.kron(np.eye(distribution.sets), np.ones((distribution.size, distribution.size))) / distribution.sets
    if isinstance(distribution, Mixture):
        together = np.zeros((distribution.words, distribution.words))
        for part, share in zip(distribution.parts, distribution.shares, strict=True):
            together[: part.words, : part.words] += share * presence(part)
        return together
    raise UsageError(
        f"{type(distribution).__name__} has no closed form of its count table here; Permutations, Selections, "
        "PermutationSets and mixtures of them have."
    )
