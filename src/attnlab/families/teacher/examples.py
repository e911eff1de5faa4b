"""Examples of students: inputs and targets, several problems side by side, in a part to train, choose and test on."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attnlab.errors import UsageError

HELD_OUT = 5
"""One example in so many is kept from training, to choose the step at which a student is best."""


@dataclass(frozen=True)
class Examples:
    """``x`` (problems, n, features) or (problems, n, t, p): words are columns. ``y`` (problems, n): numbers or classes.

    ``there`` (problems, n, p): which words there are, where texts differ in length.
    """

    x: Tensor
    y: Tensor
    there: Tensor | None = None

    @property
    def size(self) -> int:
        """n."""
        return self.y.shape[1]

    def rows(self, first: int, last: int) -> "Examples":
        """Those from ``first`` up to ``last``."""
        there = None if self.there is None else self.there[:, first:last]
        return Examples(self.x[:, first:last], self.y[:, first:last], there)

    def chosen(self, rows: Tensor) -> "Examples":
        """For each problem the ``rows`` (problems, batch) of its own."""
        problems = torch.arange(len(rows))[:, None]
        there = None if self.there is None else self.there[problems, rows]
        return Examples(self.x[problems, rows], self.y[problems, rows], there)


@dataclass(frozen=True)
class Data:
    """Training examples, those that choose the step, those to test on; ``spread`` (problems,): see `Teachers`.

    ``classes``: how many there are; None where targets are numbers.
    """

    train: Examples
    valid: Examples
    test: Examples
    spread: Tensor
    classes: int | None = None


def hold_out(examples: Examples, every: int = HELD_OUT) -> tuple[Examples, Examples]:
    """Training and validation examples: the sample of n is all there is, so the latter are taken from it."""
    if examples.size < 2:
        raise UsageError(f"A sample of {examples.size} cannot be trained on and chosen by; n = 2 is the least.")
    kept = max(examples.size // every, 1)
    return examples.rows(kept, examples.size), examples.rows(0, kept)
