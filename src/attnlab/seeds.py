"""Random generators of our own, made from what they are for.

A generator is named by a key such as ``(data_seed, "training", step)``. The same key gives the same numbers on every
machine, whatever was drawn before, so a run that goes on from a checkpoint needs no generator state: the step says it
all. The global generators of Python, NumPy and PyTorch are never touched.
"""

from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from attnlab.errors import UsageError

if TYPE_CHECKING:
    import torch


def _sequence(key: tuple[int | str, ...]) -> np.random.SeedSequence:
    numbers = []
    for part in key:
        if isinstance(part, str):
            numbers.append(int.from_bytes(sha256(part.encode()).digest()[:8], "big"))
        elif part < 0:
            raise UsageError(f"A seed is a whole number from 0 upwards, not {part}.")
        else:
            numbers.append(part)
    return np.random.SeedSequence(numbers)


def numpy_generator(*key: int | str) -> np.random.Generator:
    """A NumPy generator that depends on ``key`` alone.

    >>> int(numpy_generator(3, "training", 0).integers(100)) == int(numpy_generator(3, "training", 0).integers(100))
    True
    """
    return np.random.Generator(np.random.PCG64(_sequence(key)))


def torch_generator(*key: int | str) -> "torch.Generator":
    """A PyTorch CPU generator that depends on ``key`` alone."""
    import torch  # takes seconds to load, and a forecast or a statistic needs none of it

    generator = torch.Generator()
    generator.manual_seed(int(_sequence(key).generate_state(1, np.uint64)[0] >> 1))
    return generator
