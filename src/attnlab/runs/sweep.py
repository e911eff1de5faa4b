"""Sweeps: many runs at once, each trained at most once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attnlab.runs.engine import Engine, Event, Job
from attnlab.runs.loop import Trained, finished
from attnlab.runs.store import RunStore


@dataclass(frozen=True)
class Swept:
    """What came of a sweep: finished runs by run id, and for each failed one its label and the reason."""

    finished: dict[str, Trained]
    failed: dict[str, str]


def sweep(
    jobs: Sequence[Job], store: RunStore, engine: Engine, report: Callable[[Job, Event], None] | None = None
) -> Swept:
    """Train all ``jobs`` that the store does not have yet.

    A run that fails does not stop the others. An interrupt (Ctrl-C) ends the workers and is passed on; the same call
    later goes on where they were.
    """
    todo = pending(jobs, store)
    failed: dict[str, str] = {}

    def note(event: Event) -> None:
        if event.kind == "failed":
            failed[todo[event.job].label] = event.error
        if report:
            report(todo[event.job], event)

    if todo:
        engine.run(todo, str(store.root), note)
    done = {job.spec.id: run for job in jobs if (run := finished(job.spec, job.schedule, store))}
    for job in todo:
        if job.spec.id not in done:
            failed.setdefault(job.label, "It ended without all its evaluations.")
    return Swept(done, failed)


def pending(jobs: Sequence[Job], store: RunStore) -> list[Job]:
    """The jobs that the store does not have whole."""
    return [job for job in jobs if finished(job.spec, job.schedule, store) is None]
