"""The runs of an audit: networks with attention from several seeds, a uniform twin, the proxy, and deceptive twins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from attnlab.auditing.budget import EVALUATIONS, PATIENCE, Budget
from attnlab.auditing.training import BATCH
from attnlab.data.labelled_text import Corpus
from attnlab.errors import RunFailed
from attnlab.families.texts.deception import TwinSpec
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, ProxySpec
from attnlab.families.texts.stopping import NoImprovement
from attnlab.runs.engine import Engine, Event, Job
from attnlab.runs.loop import Trained
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import pending, sweep

Watch = Callable[[Sequence[Job]], Callable[[Job, Event], None]]
PROXY_BATCH, PROXY_PASSES = 64, 20
TWIN_SEED = 1000
"""Added to the seed of a twin's original."""


@dataclass(frozen=True)
class AuditRuns:
    """Finished runs: of each seed, under uniform attention, the proxy, and the twin for each lambda."""

    learned: tuple[Trained, ...]
    uniform: Trained
    proxy: Trained
    twins: Mapping[float, Trained]


@dataclass(frozen=True)
class Plan:
    """What is trained for these texts."""

    task: LabelledTextSpec
    corpus: Corpus
    budget: Budget
    seeds: int

    def _classifier(self, seed: int, attention: str = "learned") -> RunSpec:
        budget = self.budget
        values = {"attention": attention, "hidden": budget.hidden, "embedding_size": budget.embedding}
        model = ClassifierSpec.model_validate(values)
        return RunSpec(
            task=self.task,
            model=model,
            batch=BATCH,
            evaluation_batch=budget.texts,
            init_seed=seed,
            data_seed=seed,
        )

    def _schedule(self, steps: int, metric: str = "loss") -> Schedule:
        every = max(steps // EVALUATIONS, 1)
        rule = NoImprovement(metric=metric, patience=PATIENCE)
        return Schedule.every(every, steps=steps, checkpoint_every=every, keep="best", give_up=rule)

    def first(self) -> list[Job]:
        """All but the twins: the networks with attention first, seed by seed."""
        schedule = self._schedule(self.budget.steps)
        learned = [Job(f"attention, seed {seed}", self._classifier(seed), schedule) for seed in range(self.seeds)]
        uniform = Job("uniform twin", self._classifier(0, "uniform"), schedule)
        return [*learned, uniform, self._proxy()]

    def _proxy(self) -> Job:
        spec = RunSpec(
            task=self.task,
            model=ProxySpec(),
            optimiser=AdamSpec(),
            batch=PROXY_BATCH,
            evaluation_batch=self.budget.texts,
            init_seed=0,
            data_seed=0,
        )
        a_pass = -(-len(self.corpus.train) // PROXY_BATCH)
        steps = min(a_pass * PROXY_PASSES, self.budget.steps)
        every = max(min(a_pass, steps // EVALUATIONS), 1)
        rule = NoImprovement(patience=PATIENCE)
        return Job("proxy", spec, Schedule.every(every, steps=steps, checkpoint_every=steps, give_up=rule))

    def twins(self, original: Trained) -> dict[float, Job]:
        """The twins of the first network, at the step whose weights are kept, by lambda."""
        step = best_step(original)
        schedule = Schedule.every(
            max(self.budget.twin_steps // 4, 1),
            steps=self.budget.twin_steps,
            checkpoint_every=self.budget.twin_steps // 4,
        )
        plain = self._classifier(0).model_copy(update={"init_seed": TWIN_SEED, "data_seed": TWIN_SEED})
        specs = {
            weight: plain.model_copy(update={"deception": TwinSpec(run=original.id, step=step, weight=weight)})
            for weight in self.budget.weights
        }
        return {weight: Job(f"deceptive twin, lambda {weight:g}", spec, schedule) for weight, spec in specs.items()}

    def train(self, store: RunStore, engine: Engine, watch: Watch | None = None) -> AuditRuns:
        """Train what the store does not have."""
        return train_all(self, store, engine, watch)


class AuditPlan(Protocol):
    """What an audit trains: first all but the twins (the networks with attention, the uniform twin, the proxy), then
    the twins of the first network, by lambda.
    """

    def first(self) -> list[Job]: ...

    def twins(self, original: Trained) -> dict[float, Job]: ...


def train_all(plan: AuditPlan, store: RunStore, engine: Engine, watch: Watch | None = None) -> AuditRuns:
    """Train what the store does not have of a plan."""
    jobs = plan.first()
    done = _trained(jobs, store, engine, watch)
    *learned, uniform, proxy = (done[job.spec.id] for job in jobs)
    twins = plan.twins(learned[0])
    deceived = _trained(list(twins.values()), store, engine, watch)
    return AuditRuns(tuple(learned), uniform, proxy, {weight: deceived[job.spec.id] for weight, job in twins.items()})


def best_step(run: Trained) -> int:
    """The first evaluation of highest validation accuracy, whose weights are kept."""
    return int(max(run.rows, key=lambda row: row["accuracy"])["step"])


def _trained(jobs: Sequence[Job], store: RunStore, engine: Engine, watch: Watch | None) -> dict[str, Trained]:
    waiting = pending(jobs, store)
    swept = sweep(jobs, store, engine, watch(waiting) if watch and waiting else None)
    if swept.failed:
        reasons = " ".join(f"{label}: {reason}" for label, reason in swept.failed.items())
        raise RunFailed(f"{len(swept.failed)} of {len(jobs)} runs failed, so there is no audit. {reasons}")
    return swept.finished
