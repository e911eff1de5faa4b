"""The remedies that the experiment `rescue` tries on failing starts, and what an update costs with each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from attnlab.families.copying.spec import (
    AlignmentLossSpec,
    CopyingSpec,
    FreshAttentionSpec,
    MirroredReadoutSpec,
    PermutationsSpec,
    SelectionsSpec,
    Seq2SeqSpec,
    WarmStartSpec,
    WarmUpSpec,
)
from attnlab.families.registry import build_problem
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Order
from attnlab.lab.success import EVERY, LEARNED, WITHIN, first_learned
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

LATE = 600
"""Updates after which a run that has not learned is given up."""
ANEW = 100
"""The step at which attention starts anew."""
FRESH = 10_000
"""Added to a start's seed for a fresh one."""


@dataclass(frozen=True)
class Scale:
    """How large task and network are; as they stand, those of the experiment `copying`."""

    words: int = 40
    hidden: int = 256
    batch: int = 128
    learning_rate: float = 1e-3

    @property
    def fewer(self) -> SelectionsSpec:
        """k of n words, k being three quarters: 30 of 40, in the task's own vocabulary."""
        return SelectionsSpec(length=self.words * 3 // 4, words=self.words)


@dataclass(frozen=True)
class Sample:
    """``starts`` failing ones among at most ``limit`` seeds: ``first`` are tried at once, then ``step`` more at a time.

    The first ``late`` of them are trained on to step 600.
    """

    starts: int
    late: int
    first: int
    step: int
    limit: int


SCALES: dict[Preset, Scale] = {
    "quick": Scale(words=12, hidden=32, batch=32, learning_rate=5e-3),
    "reduced": Scale(),
    "paper": Scale(),
}
SAMPLES: dict[Preset, Sample] = {
    "quick": Sample(starts=2, late=0, first=5, step=5, limit=10),
    "reduced": Sample(starts=24, late=4, first=40, step=10, limit=80),
    "paper": Sample(starts=24, late=24, first=40, step=10, limit=80),
}


NO_CHANGE, FRESH_START, FRESH_LATER = "no change", "fresh start", "fresh start at step 100"
HEADS, BATCH, WARM_UP, WARM_START = "8 heads", "twice the batch", "learning-rate warm-up", "warm start on k of n"
IBM_OWN, IBM_FEWER, FRESH_ATTENTION = "IBM-1 loss, same data", "IBM-1 loss, k of n", "fresh attention at step 100"
MIRRORED = "mirrored read-out"
TRAINED = (NO_CHANGE, FRESH_START, HEADS, BATCH, WARM_UP, WARM_START, IBM_OWN, IBM_FEWER, FRESH_ATTENTION, MIRRORED)
"""Controls and remedies that have runs; a fresh start at step 100 is put together from the runs of two of them."""


def make_spec(scale: Scale, seed: int, remedy: str = NO_CHANGE) -> RunSpec:
    """A start and what is done about it.

    Without a change it is P3's network on permutations, one seed for start and data: a run of the experiment `copying`.
    """
    changes: dict[str, dict[str, Any]] = {
        NO_CHANGE: {},
        FRESH_START: {"init_seed": FRESH + seed},
        HEADS: {"model": Seq2SeqSpec(hidden=scale.hidden, heads=8)},  # head 0 starts as the failing one does
        BATCH: {"batch": 2 * scale.batch},
        WARM_UP: {"remedy": WarmUpSpec(updates=50)},
        WARM_START: {"remedy": WarmStartSpec(distribution=scale.fewer, updates=30)},
        IBM_OWN: {"remedy": AlignmentLossSpec()},
        IBM_FEWER: {"remedy": AlignmentLossSpec(distribution=scale.fewer)},
        FRESH_ATTENTION: {"remedy": FreshAttentionSpec(step=ANEW, seed=FRESH + seed)},
        MIRRORED: {"remedy": MirroredReadoutSpec()},
    }
    plain = {
        "task": CopyingSpec(distribution=PermutationsSpec(words=scale.words)),
        "model": Seq2SeqSpec(hidden=scale.hidden),
        "optimiser": AdamSpec(learning_rate=scale.learning_rate),
        "batch": scale.batch,
        "init_seed": seed,
        "data_seed": seed,
    }
    return RunSpec(**{**plain, **changes[remedy]})


def make_job(scale: Scale, seed: int, remedy: str, steps: int) -> Job:
    """A run that ends once it has learned, or after so many ``steps``."""
    schedule = Schedule.every(EVERY, steps=steps, stop_at=LEARNED, checkpoint_every=WITHIN)
    return Job(f"{remedy}, seed {seed}", make_spec(scale, seed, remedy), schedule)


def planned(order: Order, done: Mapping[str, Trained]) -> tuple[list[Job], list[int]]:
    """The jobs as far as they are known, and, once enough failing starts are found, these.

    Seeds are tried in order; what is tried follows from what came before alone, so the plan only grows.
    """
    scale, sample = SCALES[order.preset], SAMPLES[order.preset]
    wanted = order.first(range(sample.starts))
    count = sample.first
    while True:
        tried = [make_job(scale, seed, NO_CHANGE, WITHIN) for seed in range(count)]
        if not all(job.spec.id in done for job in tried):
            return tried, []
        failing = [seed for seed in range(count) if first_learned(done[tried[seed].spec.id].rows) is None]
        if len(failing) >= len(wanted) or count >= sample.limit:
            return _with_remedies(scale, sample, tried, failing[: len(wanted)])
        count = min(count + sample.step, sample.limit)


def _with_remedies(scale: Scale, sample: Sample, tried: list[Job], starts: list[int]) -> tuple[list[Job], list[int]]:
    steps = {seed: LATE if number < sample.late else WITHIN for number, seed in enumerate(starts)}
    # Start by start, so that a sweep that is cut short has whole starts, and `--seeds` of them make a result.
    jobs = {(remedy, seed): make_job(scale, seed, remedy, steps[seed]) for seed in starts for remedy in TRAINED}
    unchanged = {seed: jobs.pop((NO_CHANGE, seed)) for seed in starts}
    return [unchanged.get(seed, job) for seed, job in enumerate(tried)] + list(jobs.values()), starts


def at_most(order: Order, done: Mapping[str, Trained]) -> list[Job]:
    """The plan once the failing starts are known; before, as many seeds as may be tried, and as many starts of them."""
    jobs, starts = planned(order, done)
    if starts:
        return jobs
    scale, sample = SCALES[order.preset], SAMPLES[order.preset]
    tried = [make_job(scale, seed, NO_CHANGE, WITHIN) for seed in range(sample.limit)]
    return _with_remedies(scale, sample, tried, order.first(range(sample.starts)))[0]


def update_cost(spec: RunSpec) -> int:
    """Multiplications and additions in the matrix products of one update, counted on one."""
    problem = build_problem(spec)
    counter = FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: _product})
    with counter:
        problem.loss(WITHIN).backward()
    return counter.get_total_flops()


def _product(_: Any, left: tuple[int, int], right: tuple[int, int], **__: Any) -> int:
    """Of a product added in place, which the counter does not know; matrices come as their shapes."""
    return 2 * left[0] * left[1] * right[1]
