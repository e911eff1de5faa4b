"""Which examples of a training set each update sees: a function of seed and step alone."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from attnlab.seeds import numpy_generator


def rows_of_step(examples: int, batch: int, seed: int, step: int) -> NDArray[np.int64]:
    """The examples of update number ``step``: the next of an order drawn anew for every pass over all of them."""
    a_pass = -(-examples // batch)
    first = step % a_pass * batch
    return _order(examples, seed, step // a_pass)[first : first + batch]


def sample(examples: int, count: int, purpose: str) -> NDArray[np.int64]:
    """``count`` of the examples in their order, the same in every run: fields are compared between runs."""
    return np.sort(numpy_generator(0, purpose).permutation(examples)[:count])


@lru_cache(maxsize=2)
def _order(examples: int, seed: int, number: int) -> NDArray[np.int64]:
    return numpy_generator(seed, "pass", number).permutation(examples)
