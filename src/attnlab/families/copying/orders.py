"""Orders in which the output of a copying task has the input's words: output t is input pi(t) (P3 6.2)."""

from collections.abc import Sequence

import numpy as np

from attnlab.families.copying.spec import CopyingSpec, SelectionsSpec
from attnlab.families.copying.task import random_permutation
from attnlab.seeds import numpy_generator

LENGTH, WORDS = 40, 60
RUNS_PER_ORDER = 2
"""Seeds that share a random order."""
FIRST_RANDOM = 100
"""The seed of the first random order; those of substitutions begin at 0."""

Indices = tuple[int, ...]


def task_in_order(pi: Indices | None) -> CopyingSpec:
    """40 of 60 words in the order ``pi``; None is the identity, plain copying."""
    return CopyingSpec(distribution=SelectionsSpec(length=LENGTH, words=WORDS), order=pi)


def shifted(by: int) -> Indices:
    """Output t is input t + ``by``; the last outputs are the first inputs.

    >>> shifted(1)[0], shifted(1)[-1]
    (1, 0)
    """
    return tuple((t + by) % LENGTH for t in range(LENGTH))


def even_steps(by: int) -> Indices:
    """Output t is input ``by`` · t, going round; ``by`` and the length have no divisor in common.

    >>> even_steps(3)[:3], even_steps(3)[14]
    ((0, 3, 6), 2)
    """
    return tuple(by * t % LENGTH for t in range(LENGTH))


def shuffled_blocks(size: int, seed: int) -> Indices:
    """Blocks of ``size`` positions, the order inside each random and fixed by ``seed``."""
    rng = numpy_generator(seed, "blocks", size)
    blocks = np.arange(LENGTH).reshape(-1, size)
    return tuple(int(position) for position in rng.permuted(blocks, axis=1).ravel())


def random_order(seed: int) -> Indices:
    """The random order that a seed's run has; two seeds share each."""
    return random_permutation(LENGTH, FIRST_RANDOM + seed // RUNS_PER_ORDER)


def distance(pi: Sequence[int] | None) -> float:
    """How far an order is from the identity: mean |pi(t) - t|.

    >>> distance(None), distance([1, 0])
    (0.0, 1.0)
    """
    return 0.0 if pi is None else float(np.abs(np.array(pi) - np.arange(len(pi))).mean())
