"""``--stop-hopeless``: an experiment whose runs are ended once the early verdict gives them up."""

from collections.abc import Mapping
from dataclasses import replace

from attnlab.errors import UsageError
from attnlab.families.copying.early_verdict import BY, IN_A_ROW, giving_up, may_give_up, shipped
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.replays import watching
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained, gave_up


class Planner:
    """The plans of an experiment one after another; where the order says so, hopeless runs end in them.

    A run that was given up stays so: what a later plan wants of it, such as going on, it does not get.
    """

    def __init__(self, experiment: Experiment, order: Order) -> None:
        self.experiment, self.order = experiment, order
        self.jobs: list[Job] = []
        self.given_up: dict[str, Job] = {}

    def plan(self, done: Mapping[str, Trained]) -> list[Job]:
        """What is to be trained, as far as ``done`` lets it be known."""
        jobs = watching(self.experiment.plan(self.order, done), self.experiment, self.order)
        if not self.order.stop_hopeless:
            return jobs
        ended = {job.spec.id: job for job in self.jobs if job.spec.id in done}
        self.given_up |= {id: job for id, job in ended.items() if gave_up(done[id].rows, job.schedule) is not None}
        hopeless_end = [
            replace(job, schedule=giving_up(job.spec, job.schedule)) if may_give_up(job.spec, job.schedule) else job
            for job in jobs
        ]
        self.jobs = [self.given_up.get(job.spec.id, job) for job in hopeless_end]
        return self.jobs

    def with_ended(self, result: Result, done: Mapping[str, Trained]) -> Result:
        """The result, with the runs that were given up and what that means."""
        if not self.order.stop_hopeless:
            return result
        given_up = {id: job for id, job in self.given_up.items() if id in done}
        ended = [{"run": id, "label": job.label, "ended_at": done[id].step} for id, job in given_up.items()]
        note = (
            f"--stop-hopeless: {len(ended)} of {len(done)} runs were ended early and count as not learned, because the "
            f"early verdict gave them a chance below {shipped().give_up_below:.1%} to learn by step {BY} at {IN_A_ROW} "
            "evaluations in a row. The result is not comparable to one of the preset without that option, and decides "
            "no claim."
        )
        return replace(result, tables={**result.tables, "ended_early": ended}, notes=(*result.notes, note))


def check_stoppable(experiment: Experiment, order: Order) -> None:
    """A UsageError where ``--stop-hopeless`` has nothing to end."""
    if not experiment.may_stop:
        others = ", ".join(name for name, other in EXPERIMENTS.items() if other.may_stop)
        raise UsageError(
            f"--stop-hopeless ends runs by whether they will have learned to copy by step {BY}, which is not what "
            f"{experiment.name} asks; it is for {others}."
        )
    if not any(may_give_up(job.spec, job.schedule) for job in experiment.plan(order, {})):
        raise UsageError(
            f"--stop-hopeless has nothing to end: at {order.preset} no run of {experiment.name} goes on to step {BY}."
        )
