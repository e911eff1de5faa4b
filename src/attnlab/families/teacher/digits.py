"""Noisy digits: a digit at a random place in a canvas of noise twice as wide, cut into patches that are the words.

The 2020 version of P2 had experiments on MNIST; this form of the task is ours. A patch of 4 x 4 pixels is a word of t =
16 numbers; a canvas of 28 x 28 has p = 49 of them, about a quarter of which see the digit.
"""

from functools import cache
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from attnlab.data.digits import Digits, load_digits
from attnlab.data.subsample import subsample
from attnlab.errors import UsageError
from attnlab.families.teacher.examples import Data, Examples, hold_out
from attnlab.seeds import numpy_generator

if TYPE_CHECKING:
    from attnlab.families.teacher.spec import DigitsSpec

PATCH = 4


@cache
def digits() -> Digits:
    """MNIST from the folder that ATTNLAB_DATA names, else scikit-learn's; read once a process."""
    named = environ.get("ATTNLAB_DATA")
    return load_digits(Path(named) if named else None)


def canvases(images: NDArray[np.float32], noise: float, generator: np.random.Generator) -> NDArray[np.float32]:
    """(digits, t, p): every digit somewhere on its canvas of noise, as patches in reading order, words as columns."""
    count, height, width = images.shape
    canvas = generator.normal(0, noise, (count, 2 * height, 2 * width)).astype(np.float32)
    rows, columns = generator.integers(0, height + 1, count), generator.integers(0, width + 1, count)
    each = np.arange(count)[:, None, None]
    canvas[each, rows[:, None, None] + np.arange(height)[:, None], columns[:, None, None] + np.arange(width)] += images
    down, across = 2 * height // PATCH, 2 * width // PATCH
    patches = canvas.reshape(count, down, PATCH, across, PATCH).transpose(0, 1, 3, 2, 4)
    return np.asarray(patches.reshape(count, down * across, PATCH * PATCH).transpose(0, 2, 1))


def digit_data(spec: "DigitsSpec", seed: int, dtype: torch.dtype) -> Data:
    """A subsample of the training digits for each problem; all are tested on the same canvases."""
    source = digits()
    if source.content != spec.content:
        raise UsageError(
            f"The digits are {source.name} with the content {source.content}; the run was planned for {spec.content}."
        )
    chosen = []
    for own in range(seed, seed + spec.problems):
        rows = subsample(source.train_labels, spec.samples, numpy_generator(own, "digits", "sample"))
        x = canvases(source.train[rows], spec.noise, numpy_generator(own, "digits", "canvas"))
        chosen.append((x, source.train_labels[rows]))
    sample = Examples(
        torch.from_numpy(np.stack([x for x, _ in chosen])), torch.from_numpy(np.stack([y for _, y in chosen]))
    )
    x = canvases(source.test[: spec.tests], spec.noise, numpy_generator(0, "digits", "test"))
    test = Examples(torch.from_numpy(x[None]), torch.from_numpy(source.test_labels[None, : spec.tests]))
    train, valid = hold_out(Examples(sample.x.to(dtype), sample.y))
    return Data(train, valid, Examples(test.x.to(dtype), test.y), torch.ones(spec.problems), classes=10)
