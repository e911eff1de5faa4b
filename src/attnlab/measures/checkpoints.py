"""The agreement of the best checkpoint, and how much of it is luck. (P3 appendix A.7)

The paper reports the largest agreement over checkpoints, chosen on the examples it is measured on. The largest of many
noisy figures is too large. Choosing on one half of the examples and reading on the other is not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnlab.errors import UsageError
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import divided, grouped_sums


@dataclass(frozen=True)
class BestCheckpoint:
    """``maximum``: the largest mean over checkpoints, that of checkpoint number ``best``. ``held_out``: the mean where
    the checkpoint was chosen on other examples.
    """

    best: int
    maximum: float
    held_out: float


def best_checkpoint(
    values: ArrayLike, *, groups: ArrayLike | None = None, splits: int = 20, seed: int = 0
) -> BestCheckpoint:
    """The best of several checkpoints by ``values (checkpoints, rows)``, each row an output word's agreement.

    Rows (or groups of rows that belong together) are split in half at random ``splits`` times. Each half chooses a
    checkpoint that is read on the other, and all readings are averaged. A half chooses a little worse than the whole
    would, so the held-out figure is a little too small, where the maximum is too large. NaN rows are left out.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise UsageError(f"Choosing a checkpoint needs (checkpoints, rows), not an array of shape {table.shape}.")
    if splits < 1:
        raise UsageError(f"A held-out figure needs at least one split, not {splits}.")
    sums, counts = grouped_sums(table, groups)
    size = sums.shape[1]
    if size < 2:
        raise UsageError("Choosing a checkpoint on a held part needs at least two rows or groups.")
    means = divided(sums.sum(axis=1), counts.sum(axis=1))
    best = int(np.nanargmax(means))

    order = np.argsort(numpy_generator(seed, "halves").random((splits, size)), axis=1)
    one = (order < size // 2).astype(np.float64)  # (splits, groups): exactly half of them
    halves = [divided(half @ sums.T, half @ counts.T) for half in (one, 1 - one)]  # (splits, checkpoints) each
    readings = np.concatenate([_read(*halves), _read(*halves[::-1])])
    if np.isnan(readings).all():
        raise UsageError("No half of the rows has a defined agreement at the checkpoint that the other half chose.")
    return BestCheckpoint(best, float(means[best]), float(np.nanmean(readings)))


def _read(choosing: NDArray[np.float64], reading: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each split the reading of the checkpoint that its other half likes best: ``(splits,)``."""
    chosen = np.where(np.isnan(choosing), -np.inf, choosing).argmax(axis=1)
    return np.asarray(reading[np.arange(len(reading)), chosen])


def first_half(texts: int, groups: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """Which of so many texts are the half that steps are chosen on: (texts,). Drawn, since files may have an order.

    ``groups`` (texts,): which rows belong together, such as the output words of one sentence; half of the groups is
    drawn then.

    >>> half = first_half(4, np.array([7, 7, 9, 9]))
    >>> bool(half[0] == half[1] != half[2] == half[3])
    True
    """
    if groups is not None:
        names, group = np.unique(groups, return_inverse=True)
        return np.asarray(first_half(len(names))[group])
    chosen = np.zeros(texts, dtype=np.bool_)
    chosen[numpy_generator(0, "half of the texts").permutation(texts)[: texts // 2]] = True
    return chosen


def best_steps(values: NDArray[np.float64], texts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Each pair's best evaluation on these texts: (pairs,) from (pairs, steps, texts)."""
    return np.asarray(values[:, :, texts].mean(axis=2).argmax(axis=1))


def at_steps(values: NDArray[np.float64], steps: NDArray[np.int64], texts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """These texts' values where each pair is read at its own step, mean over pairs: (texts,)."""
    return np.asarray(values[np.arange(len(values)), steps][:, texts].mean(axis=0))


def read_on_second_half(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The second half's values at the steps that the first half chose: (texts of the second half,)."""
    half = first_half(values.shape[2])
    return at_steps(values, best_steps(values, half), ~half)


def read_crosswise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every text's value at the steps that the other half chose: (texts,)."""
    half, read = first_half(values.shape[2]), np.empty(values.shape[2])
    for texts in (half, ~half):
        read[texts] = at_steps(values, best_steps(values, ~texts), texts)
    return read
