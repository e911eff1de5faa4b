"""Students side by side against one after the other, starts to stationarity, and `attnlab samples`."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.data.texts import LabelledTexts
from attnlab.families.registry import build_problem
from attnlab.families.teacher.spec import StudentSpec, TeacherSpec
from attnlab.measures.samples import samples
from attnlab.runs.optimisers import AdamSpec, SgdSpec
from attnlab.runs.spec import RunSpec

STARTS = 50
UPDATES = 10
SAME = 1e-4


def spec(samples: int, *, starts: int, seed: int = 0) -> RunSpec:
    """The baseline on p = 50 features with d = 10, full batch."""
    return RunSpec(
        task=TeacherSpec(inputs=50, hidden=10, samples=samples),
        model=StudentSpec(starts=starts),
        optimiser=AdamSpec(learning_rate=0.01),
        batch=None,
        init_seed=seed,
        data_seed=0,
    )


def trained(wanted: RunSpec) -> tuple[Callable[[], object], Callable[[], list[float]]]:
    """A few updates of a run, to be timed, and its students' test errors afterwards."""
    problem = build_problem(wanted)
    optimiser = wanted.optimiser.build(list(problem.trained_parameters().values()))

    def work() -> None:
        for step in range(UPDATES):
            optimiser.zero_grad()
            problem.loss(step).backward()
            optimiser.step()

    def errors() -> list[float]:
        row = problem.evaluate(0)
        return [float(row[f"test_{k}"]) for k in range(wanted.model.starts)]

    return work, errors


def starts(samples: int) -> tuple[Callable[[], object], Callable[[], object], Callable[[], bool]]:
    """Starts side by side, the same one after the other, and whether both end with the same test errors within 1e-4.

    They do not end with the same bits: Adam divides a gradient that is nothing but rounding by its own size, so that
    in single precision one start of 50 ends with outputs that differ by a thousandth of the largest (n = 2000, 30
    updates), and test errors by 2e-5. In double precision these differ by 1e-14.
    """
    together, errors = trained(spec(samples, starts=STARTS))
    each = [trained(spec(samples, starts=1, seed=seed).model_copy(update={"data_seed": 0})) for seed in range(STARTS)]

    def in_turn() -> None:
        for work, _ in each:
            work()

    def same() -> bool:
        alone = [error for _, one in each for error in one()]
        return bool(np.abs(np.subtract(errors(), alone)).max() <= SAME)

    return together, in_turn, same


def stationarity(starts: int = 200, samples: int = 2000) -> tuple[float, int]:
    """Processor seconds until all starts of a known-attention model with d = 20 have arrived, and how many do."""
    task = TeacherSpec(inputs=20, relevant=4, hidden=5, samples=samples)
    model = StudentSpec(network="known", hidden=20, starts=starts, steps="newton", precision="double", ridge=1e-3)
    wanted = RunSpec(task=task, model=model, optimiser=SgdSpec(learning_rate=1.0), batch=None, init_seed=0, data_seed=0)
    problem = build_problem(wanted)
    optimiser = wanted.optimiser.build(list(problem.trained_parameters().values()))
    started = time.process_time()
    for step in range(150):
        optimiser.zero_grad()
        problem.loss(step).backward()
        optimiser.step()
    seconds = time.process_time() - started
    at = problem.derivatives(problem.flat(), torch.arange(starts), hessian=False)
    return seconds, int((at.gradient.norm(dim=1) <= 1e-6).sum())


def own_texts(texts: int = 5000, words: int = 100, vocabulary: int = 20_000) -> float:
    """Processor seconds of `attnlab samples` on random texts of two classes."""
    generator = np.random.default_rng(0)
    labels = np.arange(texts, dtype=np.int32) % 2
    drawn = np.minimum(generator.zipf(1.2, (texts, words)) - 1, vocabulary - 3)
    drawn[:, 0] = vocabulary - 2 + labels  # one word of each text says its class
    offsets = np.arange(texts + 1, dtype=np.int64)
    pairs = SentencePairs(
        drawn.astype(np.int32).ravel(),
        offsets * words,
        labels,
        offsets,
        [f"w{k}" for k in range(vocabulary)],
        ["a", "b"],
    )
    started = time.process_time()
    samples(LabelledTexts(pairs, (), Path("random.csv")))
    return time.process_time() - started
