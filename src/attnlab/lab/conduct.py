"""Carry out an experiment: plan, train what is missing, plan again with what was learned, analyse, write."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from altair.utils.schemapi import debug_mode

from attnlab.errors import RunFailed, StoreError
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.recall import Recalled, note_of_earlier
from attnlab.lab.replays import NAME, replay_of
from attnlab.lab.result import write_result
from attnlab.lab.stopping import Planner
from attnlab.runs.engine import Engine, Event, Job
from attnlab.runs.loop import INEXACT, Trained
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import pending, sweep

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
                result = replace(result, notes=(*result.notes, *note_of_earlier(done)))
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
