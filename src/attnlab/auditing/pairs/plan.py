"""The runs of an audit of sentence pairs: translators of several seeds, a uniform twin, the proxy, deceptive twins."""

from collections.abc import Mapping
from dataclasses import dataclass

from attnlab.auditing.budget import EVALUATIONS, PATIENCE, PairBudget
from attnlab.auditing.plan import TWIN_SEED, AuditRuns, Watch, best_step, train_all
from attnlab.auditing.training_pairs import BATCH
from attnlab.data.bitext import Bitext
from attnlab.families.texts.stopping import NoImprovement
from attnlab.families.translation.deception import PairTwinSpec
from attnlab.families.translation.spec import TranslationProxySpec, TranslatorSpec
from attnlab.families.translation.task import BitextSpec
from attnlab.runs.engine import Engine, Job
from attnlab.runs.loop import Trained
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

PROXY_BATCH, PROXY_PASSES = 64, 10


@dataclass(frozen=True)
class PairPlan:
    """What is trained for these pairs."""

    task: BitextSpec
    bitext: Bitext
    budget: PairBudget
    seeds: int

    def translator(self, seed: int, attention: str = "learned") -> RunSpec:
        """The papers' translator, as large as the budget says."""
        values = {"attention": attention, "hidden": self.budget.hidden, "layers": self.budget.layers}
        return RunSpec(
            task=self.task,
            model=TranslatorSpec.model_validate(values),
            optimiser=AdamSpec(learning_rate=self.budget.learning_rate),
            batch=BATCH,
            evaluation_batch=self.budget.pairs,
            init_seed=seed,
            data_seed=seed,
        )

    def first(self) -> list[Job]:
        """All but the twins: the translators with attention first, seed by seed."""
        steps = self.budget.steps
        every = max(steps // EVALUATIONS, 1)
        rule = NoImprovement(patience=PATIENCE)
        schedule = Schedule.every(every, steps=steps, checkpoint_every=every, keep="best", give_up=rule)
        learned = [Job(f"attention, seed {seed}", self.translator(seed), schedule) for seed in range(self.seeds)]
        return [*learned, Job("uniform twin", self.translator(0, "uniform"), schedule), self._proxy()]

    def _proxy(self) -> Job:
        proxy = {"model": TranslationProxySpec(), "optimiser": AdamSpec(), "batch": PROXY_BATCH}
        spec = self.translator(0).model_copy(update=proxy)
        a_pass = -(-len(self.bitext.train) // PROXY_BATCH)
        steps = min(a_pass * PROXY_PASSES, self.budget.steps)
        every = max(min(a_pass, steps // EVALUATIONS), 1)
        rule = NoImprovement(patience=PATIENCE)
        return Job("proxy", spec, Schedule.every(every, steps=steps, checkpoint_every=steps, give_up=rule))

    def twins(self, original: Trained) -> dict[float, Job]:
        """The twins of the first translator, at the step whose weights are kept, by lambda."""
        step, steps = best_step(original), self.budget.twin_steps
        every = max(steps // 4, 1)
        schedule = Schedule.every(every, steps=steps, checkpoint_every=every)
        plain = self.translator(0).model_copy(update={"init_seed": TWIN_SEED, "data_seed": TWIN_SEED})
        specs: Mapping[float, RunSpec] = {
            weight: plain.model_copy(update={"deception": PairTwinSpec(run=original.id, step=step, weight=weight)})
            for weight in self.budget.weights
        }
        return {weight: Job(f"deceptive twin, lambda {weight:g}", spec, schedule) for weight, spec in specs.items()}

    def train(self, store: RunStore, engine: Engine, watch: Watch | None = None) -> AuditRuns:
        """Train what the store does not have."""
        return train_all(self, store, engine, watch)
