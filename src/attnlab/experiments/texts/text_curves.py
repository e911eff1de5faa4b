"""Agreements followed over training, and best steps that are chosen on some texts and read on others (P3 A.7)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnlab.experiments.texts.text_agreement import Series
from attnlab.experiments.texts.text_runs import Floats, TextRuns
from attnlab.fields import ScoreField
from attnlab.measures.agreement import top_agreement
from attnlab.runs.loop import Trained
from attnlab.seeds import numpy_generator

Mask = NDArray[np.bool_]


def alphas(runs: TextRuns, split: str = "valid") -> list[ScoreField]:
    """The reference runs' attention at their best evaluations."""
    return [runs.field(run, runs.best_step(run), split, "alpha") for run in runs.of("reference")]


def follow(
    runs: TextRuns, name: str, fixed: Sequence[ScoreField], moving: Sequence[Trained], field: str, *, first: bool = True
) -> Series:
    """A(u, v(step)) of every field u in ``fixed`` and every run in ``moving``, whose ``field`` is v, on the validation
    texts; A(v(step), u) unless ``first``. Pairs are in the order of ``fixed``, then of the runs.
    """
    steps = tuple(runs.steps(moving[0]))
    texts = len(runs.texts["valid"])
    values = np.empty((len(fixed), len(moving), len(steps), texts))
    for number, run in enumerate(moving):
        for at, step in enumerate(steps):
            v = runs.field(run, step, "valid", field)
            for other, u in enumerate(fixed):
                values[other, number, at] = (top_agreement(u, v) if first else top_agreement(v, u)).expected
    return Series(name, steps, {"expected": values.reshape(-1, len(steps), texts)})


def first_half(texts: int) -> Mask:
    """Which of so many texts are the half that steps are chosen on: (texts,). Drawn, since files may have an order."""
    chosen = np.zeros(texts, dtype=np.bool_)
    chosen[numpy_generator(0, "half of the texts").permutation(texts)[: texts // 2]] = True
    return chosen


def best_steps(values: Floats, texts: Mask) -> NDArray[np.int64]:
    """Each pair's best evaluation on these texts: (pairs,) from (pairs, steps, texts)."""
    best: NDArray[np.int64] = values[:, :, texts].mean(axis=2).argmax(axis=1)
    return best


def at_steps(values: Floats, steps: NDArray[np.int64], texts: Mask) -> Floats:
    """These texts' values where each pair is read at its own step, mean over pairs: (texts,)."""
    read: Floats = values[np.arange(len(values)), steps][:, texts].mean(axis=0)
    return read


def held_out(values: Floats) -> Floats:
    """The second half's values at the steps that the first half chose: (texts of the second half,)."""
    half = first_half(values.shape[2])
    return at_steps(values, best_steps(values, half), ~half)


def cross_read(values: Floats) -> Floats:
    """Every text's value at the steps that the other half chose: (texts,)."""
    half, read = first_half(values.shape[2]), np.empty(values.shape[2])
    for texts in (half, ~half):
        read[texts] = at_steps(values, best_steps(values, ~texts), texts)
    return read
