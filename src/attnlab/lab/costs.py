"""What an order would cost, said within seconds: as a result that is there took, or from a moment of timing."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from attnlab.errors import AttnlabError
from attnlab.families.registry import build_problem
from attnlab.lab.claims import PRESETS, read_whole
from attnlab.lab.experiment import Experiment, Order
from attnlab.lab.recall import Recalled
from attnlab.lab.result import read_table
from attnlab.lab.stopping import Planner
from attnlab.runs.engine import Job
from attnlab.runs.environment import threads
from attnlab.runs.loop import Trained, finished
from attnlab.runs.store import RunStore

BUDGET = 1.5
"""Seconds that timing, or looking at networks, may go on before it begins with one more kind of run of a sort that it
has seen."""
TIMED_EXAMPLES = 64
"""Most examples of the evaluation that is timed."""
TIMED_HERE = "timed here"


@dataclass(frozen=True)
class Estimate:
    """What an order would cost: runs in all, runs still to be trained, updates left, CPU hours, bytes on disk.

    ``source``: where the hours come from, a result that took so long or `TIMED_HERE`; "" where nothing is left.
    """

    runs: int
    to_train: int
    updates: int
    cpu_hours: float
    bytes: int
    source: str = ""


@dataclass(frozen=True)
class Known:
    """Seconds that an update took in a result, evaluations included, and which result."""

    seconds: float
    source: str


@dataclass(frozen=True)
class Cost:
    """CPU seconds of an update and of an evaluation, and bytes of a checkpoint."""

    update: float
    evaluation: float
    size: int


def estimate(
    experiment: Experiment,
    order: Order,
    store: RunStore,
    recalled: Recalled | None = None,
    results: Sequence[Path] = (),
) -> Estimate:
    """The cost of ``order`` at most.

    Where one of the folders ``results`` has a result of the same experiment, updates take as long as they did there;
    else a few updates of each kind of run are timed on this machine, on one thread, as far as `BUDGET` goes.
    """
    planned, settled, done = _settled(experiment, order, store, recalled or Recalled())
    complete = all(job.spec.id in settled for job in planned)  # then what the plan might have become is known, too
    jobs = planned if complete else experiment.at_most(order, done)
    waiting = [job for job in jobs if job.spec.id not in settled]
    if not waiting:
        return Estimate(len(jobs), 0, 0, 0.0, 0)
    known = _known(experiment, order, results)
    costs = _costs(waiting, timed=known is None)
    updates, seconds, space = 0, 0.0, 0
    for job in waiting:
        cost = costs[job.spec.unseeded().id]
        reached = max(store.run(job.spec.id).steps(), default=0)
        left = max(job.schedule.steps - reached, 0)
        measured = sum(step >= reached for step in job.schedule.evaluations)
        updates += left
        seconds += left * known.seconds if known else left * cost.update + measured * cost.evaluation
        space += 2 * cost.size
    source = known.source if known else TIMED_HERE
    return Estimate(len(jobs), len(waiting), updates, seconds / 3600, space, source)


def _settled(
    experiment: Experiment, order: Order, store: RunStore, recalled: Recalled
) -> tuple[list[Job], set[str], dict[str, Trained]]:
    """The plan as far as it can be known now, those of its runs that are whole in the store or a result, and all runs
    the plan is known from: one that is to go on further was whole once.
    """
    done: dict[str, Trained] = {}
    planner = Planner(experiment, order)
    while True:
        jobs = planner.plan(done)
        known = {
            job.spec.id: run
            for job in jobs
            if (run := finished(job.spec, job.schedule, store) or recalled.find(job)) is not None
        }
        if all(done.get(id) == run for id, run in known.items()):  # nothing new
            return jobs, set(known), done
        done |= known


# --- as a result took


def _known(experiment: Experiment, order: Order, results: Sequence[Path]) -> Known | None:
    """From the result of this preset, or else of the next weaker or stronger one that is there."""
    own = PRESETS.index(order.preset)
    nearest = sorted(PRESETS, key=lambda preset: abs(PRESETS.index(preset) - own))
    for preset in nearest:
        for folder in results:
            path = folder / experiment.name / preset / order.row / "result.json"
            with suppress(AttnlabError, OSError, ValueError):  # a damaged result, or one of other runs, says nothing
                if path.is_file() and (known := _of_result(experiment, replace(order, preset=preset), path)):
                    return known
    return None


def _of_result(experiment: Experiment, order: Order, path: Path) -> Known | None:
    """Its seconds are shared among the runs that its table names, or all of the plan but those it recalled: a plan may
    have grown since.
    """
    document = json.loads(read_whole(path))
    recalled = {id for runs in document.get("recalled_runs", {}).values() for id in runs}
    named = {cells["run"] for _, cells in _runs_table(path.parent) if "run" in cells}
    whole = replace(order, seeds=None, stop_hopeless=False)
    trained = (job for job in experiment.at_most(whole, {}) if recalled.isdisjoint(job.spec.ids))
    ids = {job.spec.id: job.schedule.steps for job in trained}
    updates = sum(steps for id, steps in ids.items() if not named or id in named)
    seconds = float(document["training_seconds"])
    if updates <= 0 or seconds <= 0:
        return None
    return Known(seconds / updates, f"as the result at {order.preset} took")


def _runs_table(folder: Path) -> list[tuple[int, dict[str, str]]]:
    return list(read_table(folder, "runs")) if (folder / "tables" / "runs.csv").is_file() else []


# --- from a moment of timing


def _costs(jobs: Sequence[Job], *, timed: bool) -> dict[str, Cost]:
    """By kind of run; one of each sort of task and network is looked at in any case, and those that are left count as
    the mean of their sort: a proxy's update is no measure of a translator's.

    Those of most updates come first, and of kinds with as many some from all over the list: a grid begins with its
    smallest sizes.
    """
    weight: Counter[str] = Counter()
    one_of: dict[str, Job] = {}
    for job in jobs:
        kind = job.spec.unseeded().id
        weight[kind] += job.schedule.steps
        one_of.setdefault(kind, job)
    places = {kind: _spread(place) for place, kind in enumerate(weight)}
    kinds = sorted(weight, key=lambda kind: (-weight[kind], places[kind]))
    sorts = {kind: (one_of[kind].spec.task.kind, one_of[kind].spec.model.kind) for kind in kinds}
    needed = list({sorts[kind]: kind for kind in reversed(kinds)}.values())[::-1]
    rest = [kind for kind in kinds if kind not in needed]
    seen = dict(_looked_at([(kind, one_of[kind]) for kind in [*needed, *rest]], len(needed), timed))
    by_sort: dict[tuple[str, str], list[Cost]] = {}
    for kind, cost in seen.items():
        by_sort.setdefault(sorts[kind], []).append(cost)
    return {kind: seen.get(kind, _mean(by_sort[sorts[kind]])) for kind in weight}


def _mean(costs: Sequence[Cost]) -> Cost:
    sums = [sum(values) for values in zip(*((one.update, one.evaluation, one.size) for one in costs), strict=True)]
    return Cost(sums[0] / len(costs), sums[1] / len(costs), round(sums[2] / len(costs)))


def _spread(place: int) -> float:
    """A number from 0 to 1 (the golden ratio's multiples): the least of them come from places far apart.

    >>> sorted(range(8), key=_spread)
    [0, 5, 2, 7, 4, 1, 6, 3]
    """
    return place * (5**0.5 - 1) / 2 % 1


def _looked_at(kinds: Sequence[tuple[str, Job]], needed: int, timed: bool) -> Iterator[tuple[str, Cost]]:
    """The first ``needed`` ones, and the others as long as there is time."""
    began = time.monotonic()
    for number, (kind, job) in enumerate(kinds):
        if number >= needed and time.monotonic() - began > BUDGET:
            return
        yield kind, _timed(job) if timed else _sized(job)


def _sized(job: Job) -> Cost:
    problem = build_problem(job.spec)
    return Cost(0.0, 0.0, _size(dict(problem.model.named_parameters()), problem.trained_parameters()))


def _timed(job: Job) -> Cost:
    """An evaluation is timed on few examples and reckoned up, since one of long texts takes minutes. What else runs on
    the machine meanwhile does not count.
    """
    few = min(job.spec.evaluation_batch, TIMED_EXAMPLES)
    began = time.monotonic()
    with threads(1):
        problem = build_problem(job.spec.model_copy(update={"evaluation_batch": few}))
        optimiser = job.spec.optimiser.build(list(problem.trained_parameters().values()))
        clock: list[float] = []
        while len(clock) < 2 or (len(clock) < 4 and time.monotonic() - began < BUDGET / 2):
            started = time.process_time()
            optimiser.zero_grad()
            problem.loss(len(clock)).backward()
            optimiser.step()
            clock.append(time.process_time() - started)
        started = time.process_time()
        problem.evaluate(0)
        evaluation = (time.process_time() - started) * job.spec.evaluation_batch / few
    size = _size(dict(problem.model.named_parameters()), problem.trained_parameters())
    return Cost(min(clock[1:]), evaluation, size)


def _size(weights: Mapping[str, object], trained: Mapping[str, object]) -> int:
    """Bytes of the weights, and of two moments of those that are trained."""
    return sum(_bytes(one) for one in weights.values()) + 2 * sum(_bytes(one) for one in trained.values())


def _bytes(parameter: object) -> int:
    from torch import Tensor

    assert isinstance(parameter, Tensor)
    return parameter.numel() * parameter.element_size()
