"""Carry out an experiment: plan, train what is missing, plan again with what was learned, analyse, write."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from altair.utils.schemapi import debug_mode

from attnlab.errors import RunFailed, StoreError
from attnlab.families.registry import build_problem
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.recall import Recalled
from attnlab.lab.replays import NAME, replay_of
from attnlab.lab.result import write_result
from attnlab.lab.stopping import Planner
from attnlab.runs.engine import Engine, Event, Job
from attnlab.runs.environment import threads
from attnlab.runs.loop import INEXACT, Trained, finished
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import pending, sweep

TIMED_EXAMPLES = 64
"""Most examples of the evaluation that an estimate times."""

Watch = Callable[[Sequence[Job]], Callable[[Job, Event], None]]
"""Told which jobs are about to be trained; answers with what listens to their events."""


@dataclass(frozen=True)
class Conducted:
    """A result, where it was written, and how long all of it took."""

    result: Result
    folder: Path
    seconds: float


def conduct(
    experiment: Experiment,
    order: Order,
    store: RunStore,
    engine: Engine,
    out: Path,
    *,
    command: str,
    watch: Watch | None = None,
    recalled: Recalled | None = None,
) -> Conducted:
    """Run ``experiment`` and write its result folder ``out/<experiment>/<preset>``, or below it that of its row.

    ``recalled``: what results have measured of runs; those are not trained unless the store has them anyway.
    """
    recalled = recalled or Recalled()
    started = time.monotonic()
    done: dict[str, Trained] = {}
    planner = Planner(experiment, order)
    while True:
        jobs = planner.plan(done)
        done = train_all(jobs, store, engine, watch, recalled)
        if planner.plan(done) != jobs:
            continue
        try:
            with debug_mode(False):  # Altair would check every part of a chart on its own; saving checks the whole
                result = planner.with_ended(experiment.analyse(order, done), done)
                if replay := replay_of(experiment, order, done):
                    result = replace(result, replays={NAME: replay})
            break
        except StoreError:  # damaged weights or fields: what can be made again is trained again
            if not sum(store.run(run_id).mend() for run_id in done):
                raise
    training_seconds = sum(store.run(run_id).timing().get("seconds", 0.0) for run_id in done)
    inexact = [run_id for run_id in done if (store.run(run_id).status() or {}).get("message", "").startswith(INEXACT)]
    seconds = time.monotonic() - started
    folder = write_result(
        result,
        out / experiment.name / order.folder / order.row,
        experiment=experiment,
        order=order,
        command=command,
        seconds=seconds,
        training_seconds=training_seconds,
        inexact_runs=inexact,
        recalled_runs=recalled.used(done),
    )
    return Conducted(result, folder, seconds)


def train_all(
    jobs: Sequence[Job], store: RunStore, engine: Engine, watch: Watch | None = None, recalled: Recalled | None = None
) -> dict[str, Trained]:
    """Train ``jobs`` but for those ``recalled``; all by run id, or one error that names every run that failed."""
    known = {job.spec.id: run for job in pending(jobs, store) if recalled and (run := recalled.find(job))}
    jobs = [job for job in jobs if job.spec.id not in known]
    waiting = pending(jobs, store)
    swept = sweep(jobs, store, engine, watch(waiting) if watch and waiting else None)
    if swept.failed:
        reasons = " ".join(f"{label}: {reason}" for label, reason in swept.failed.items())
        raise RunFailed(
            f"{len(swept.failed)} of {len(jobs)} runs failed, so there is no result; the others are kept. {reasons}"
        )
    return {**known, **swept.finished}


@dataclass(frozen=True)
class Estimate:
    """What an order would cost: runs in all, runs still to be trained, updates left, CPU hours, bytes on disk."""

    runs: int
    to_train: int
    updates: int
    cpu_hours: float
    bytes: int


def estimate(experiment: Experiment, order: Order, store: RunStore, recalled: Recalled | None = None) -> Estimate:
    """The cost of ``order`` at most, from a few updates of each kind of run timed on this machine, on one thread."""
    planned, settled, done = _settled(experiment, order, store, recalled or Recalled())
    complete = all(job.spec.id in settled for job in planned)  # then what the plan might have become is known, too
    jobs = planned if complete else experiment.at_most(order, done)
    costs: dict[str, tuple[float, float, int]] = {}
    updates, seconds, space, to_train = 0, 0.0, 0, 0
    for job in jobs:
        if job.spec.id in settled:
            continue
        to_train += 1
        kind = job.spec.unseeded().id
        if kind not in costs:
            costs[kind] = _timed(job)
        update, evaluation, size = costs[kind]
        reached = max(store.run(job.spec.id).steps(), default=0)
        left = max(job.schedule.steps - reached, 0)
        measured = sum(step >= reached for step in job.schedule.evaluations)
        updates += left
        seconds += left * update + measured * evaluation
        space += 2 * size
    return Estimate(len(jobs), to_train, updates, seconds / 3600, space)


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
        found = {
            job.spec.id: run
            for job in jobs
            if (run := finished(job.spec, job.schedule, store) or recalled.find(job)) is not None
        }
        if all(done.get(id) == run for id, run in found.items()):  # nothing new
            return jobs, set(found), done
        done |= found


def _timed(job: Job) -> tuple[float, float, int]:
    """CPU seconds of an update, CPU seconds of an evaluation, bytes of a checkpoint.

    An evaluation is timed on few examples and reckoned up, since one of long texts takes minutes. What else runs on
    the machine meanwhile does not count.
    """
    few = min(job.spec.evaluation_batch, TIMED_EXAMPLES)
    with threads(1):
        problem = build_problem(job.spec.model_copy(update={"evaluation_batch": few}))
        optimiser = job.spec.optimiser.build(list(problem.trained_parameters().values()))
        clock = []
        for step in range(4):
            started = time.process_time()
            optimiser.zero_grad()
            problem.loss(step).backward()
            optimiser.step()
            clock.append(time.process_time() - started)
        started = time.process_time()
        problem.evaluate(0)
        evaluation = (time.process_time() - started) * job.spec.evaluation_batch / few
    weights = sum(p.numel() * p.element_size() for p in problem.model.parameters())
    moments = 2 * sum(p.numel() * p.element_size() for p in problem.trained_parameters().values())
    return min(clock[1:]), evaluation, weights + moments
