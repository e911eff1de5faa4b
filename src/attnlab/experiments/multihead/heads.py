"""Starting values of single heads, screened and put together (P3 5.2): the runs of the experiment `multihead`.

One body is shared by all networks (``BODY``); a head's start is named by a seed, so a head is never stored twice and
more of them can be screened at any time: the runs that are there stay what they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from attnlab.families.copying import starts
from attnlab.families.copying.pruning import Pruned, prune
from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec, Seq2SeqSpec
from attnlab.families.copying.success import EVERY, LEARNED, WITHIN, first_learned
from attnlab.families.registry import build_problem
from attnlab.lab.copying import task_of
from attnlab.lab.experiment import Order, by_preset
from attnlab.lab.outcomes import Outcome, rate_of
from attnlab.models.seq2seq import Seq2Seq
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.seeds import numpy_generator
from attnlab.stats.geometric import Geometric

BODY = 0
"""The seed of the body that all heads start with."""
DATA_SEEDS = (0, 1, 2)
"""A start is screened on the first and confirmed on the others."""
ROUND = 10
"""Heads screened at once when those so far do not hold enough good and bad ones."""
SEQUENCES = 100
"""Fresh sequences on which the best head is chosen, and as many others on which pruned networks are measured."""
RELEASED_STEP, RELEASED_BAD = 190, 0.6
"""The released code calls a start bad whose accuracy at its last evaluation is below this on every data seed."""

Label = Literal["good", "bad", "mixed"]
Scenario = Literal["all bad", "one good", "all random"]
SCENARIOS: tuple[Scenario, ...] = ("all bad", "one good", "all random")


@dataclass(frozen=True)
class Variant:
    """One way to build heads: its name and its network."""

    name: str
    title: str
    model: Seq2SeqSpec


RELEASED = Variant(
    "released",
    "released code: GRU, heads averaged",
    Seq2SeqSpec(cell="gru", shared_embedding=False, projected_context=True, combine="mean"),
)
TEXT = Variant("text", "text: LSTM, heads summed", Seq2SeqSpec())


@dataclass(frozen=True)
class Scale(starts.Scale):
    """How large task and network are, and how many heads a combination has."""

    heads: int = 8


@dataclass(frozen=True)
class Sample:
    """How many runs of a variant: ``singles`` heads screened at least, ``limit`` at most, until so many ``bad`` and
    ``good`` ones are known; ``combinations`` of each scenario; ``several``: networks with K random heads, by K.
    ``whole``: how many combinations of a scenario go on to step 200 when they have learned, all if None.
    """

    singles: int
    limit: int
    bad: int
    good: int
    combinations: int
    several: Mapping[int, int] = field(default_factory=dict)
    whole: Mapping[Scenario, int] | None = None


SCALES = by_preset(Scale(words=12, hidden=32, batch=64, learning_rate=5e-3, heads=3), Scale(), Scale())
SAMPLES = by_preset(
    {RELEASED: Sample(5, 10, 3, 1, 2, {2: 2}, {"all random": 2})},
    {RELEASED: Sample(20, 60, 10, 6, 20, {2: 20, 4: 20}, {"all random": 10})},
    {RELEASED: Sample(60, 90, 14, 8, 20, {2: 60, 4: 60}), TEXT: Sample(20, 80, 14, 8, 10)},
)


# --- runs


def make_spec(scale: Scale, variant: Variant, heads: Sequence[int], data_seed: int) -> RunSpec:
    """The variant's network, its heads starting from these seeds, on permutations."""
    task = CopyingSpec(distribution=PermutationsSpec(words=scale.words))
    own = {"hidden": scale.hidden, "heads": len(heads), "head_seeds": tuple(heads)}
    model, adam = variant.model.model_copy(update=own), AdamSpec(learning_rate=scale.learning_rate)
    return RunSpec(task=task, model=model, optimiser=adam, batch=scale.batch, init_seed=BODY, data_seed=data_seed)


def make_job(label: str, spec: RunSpec, *, whole: bool) -> Job:
    """200 updates, or only until it has learned unless it is to be ``whole``."""
    stop = None if whole else LEARNED
    return Job(label, spec, Schedule.every(EVERY, steps=WITHIN, stop_at=stop, checkpoint_every=WITHIN))


def screening_job(scale: Scale, variant: Variant, head: int, data_seed: int, *, whole: bool = False) -> Job:
    """One head alone."""
    spec = make_spec(scale, variant, [head], data_seed)
    return make_job(f"{variant.name}: head {head} alone, data seed {data_seed}", spec, whole=whole)


# --- screening


@dataclass(frozen=True)
class Start:
    """What is known of one head's start: its run on each data seed that it was trained on."""

    head: int
    runs: Mapping[int, Trained]

    @property
    def confirmed(self) -> bool:
        """Whether it was trained on every data seed."""
        return set(self.runs) == set(DATA_SEEDS)

    @property
    def label(self) -> Label:
        """good if it learns on every data seed it was trained on, bad if on none."""
        learned = {first_learned(run.rows) is not None for run in self.runs.values()}
        return "mixed" if len(learned) > 1 else "good" if learned == {True} else "bad"

    @property
    def released_label(self) -> Label:
        """The same by the released code's rule, under which failing is not yet bad."""
        if self.label == "good":
            return "good"
        ends = [{row["step"]: row["accuracy"] for row in run.rows} for run in self.runs.values()]
        return "bad" if all(end.get(RELEASED_STEP, 1.0) < RELEASED_BAD for end in ends) else "mixed"


def confirmed_heads(starts: Sequence[Start], label: Label, most: int) -> list[int]:
    """The first confirmed heads of a label."""
    return [start.head for start in starts if start.confirmed and start.label == label][:most]


@dataclass(frozen=True)
class Screened:
    """How far screening has come: its jobs so far, the starts, and whether it is over."""

    jobs: list[Job]
    starts: list[Start]
    over: bool


def screen(scale: Scale, variant: Variant, sample: Sample, done: Mapping[str, Trained]) -> Screened:
    """Screen heads in the order of their seeds until enough good and bad ones are confirmed, or ``limit`` is reached.

    Which heads are confirmed follows from how they did on the first data seed, in the same order; what is still to be
    trained is assumed to turn out as it began.
    """
    count = sample.singles
    confirming: list[Job] = []
    while True:
        screening = [screening_job(scale, variant, head, DATA_SEEDS[0]) for head in range(count)]
        if not all(job.spec.id in done for job in screening):
            return Screened(screening + confirming, [], over=False)  # what earlier rounds asked for stays asked for
        starts = []
        for head in range(count):
            runs = {seed: done.get(make_spec(scale, variant, [head], seed).id) for seed in DATA_SEEDS}
            starts.append(Start(head, {seed: run for seed, run in runs.items() if run is not None}))
        wanted = {"bad": sample.bad, "good": sample.good}
        confirming, waiting = [], False
        for start in starts:
            first = "good" if first_learned(start.runs[DATA_SEEDS[0]].rows) is not None else "bad"
            if wanted[first]:
                confirming += [screening_job(scale, variant, start.head, seed) for seed in DATA_SEEDS[1:]]
                waiting = waiting or not start.confirmed
                wanted[first] -= not start.confirmed or start.label == first
        if waiting or not any(wanted.values()) or count >= sample.limit:
            return Screened(screening + confirming, starts, over=not waiting)
        count = min(count + ROUND, sample.limit)


# --- combinations


def random_heads(count: int, run: int) -> list[int]:
    """Seeds of ``count`` heads that no other run has."""
    first = 10_000 * count + run * count
    return list(range(first, first + count))


def drawn_heads(
    scenario: Scenario, scale: Scale, variant: Variant, bad: Sequence[int], good: Sequence[int], run: int
) -> list[int] | None:
    """The heads of combination number ``run``, a good one last; None where there are too few such heads."""
    if scenario == "all random":
        return random_heads(scale.heads, run)
    goods = 1 if scenario == "one good" else 0
    if len(bad) < scale.heads - goods or len(good) < goods:
        return None
    generator = numpy_generator(BODY, "heads", variant.name, scenario, run)
    chosen = generator.choice(bad, scale.heads - goods, replace=False)
    return [*map(int, chosen), *map(int, generator.choice(good, goods, replace=False))]


def combination_jobs(
    order: Order, variant: Variant, sample: Sample, bad: Sequence[int], good: Sequence[int]
) -> dict[tuple[str, int], Job]:
    """The jobs of all combinations and of all networks with a few random heads, by setting and number."""
    scale = SCALES[order.preset]
    jobs: dict[tuple[str, int], Job] = {}

    def add(setting: str, run: int, heads: Sequence[int], *, whole: bool) -> None:
        # Every combination has data of its own, on which no head was screened.
        spec = make_spec(scale, variant, heads, len(DATA_SEEDS) + run)
        jobs[setting, run] = make_job(f"{variant.name}: {setting}, {run}", spec, whole=whole)

    for scenario in SCENARIOS:
        # Eight random heads go on when they have learned: what they reach is compared with one head.
        whole = sample.combinations if sample.whole is None else sample.whole.get(scenario, 0)
        for run in order.first(range(sample.combinations)):
            if (heads := drawn_heads(scenario, scale, variant, bad, good, run)) is not None:
                add(scenario, run, heads, whole=run < whole)
    for count, runs in sample.several.items():
        for run in order.first(range(runs)):
            add(several(count), run, random_heads(count, run), whole=False)
    return jobs


def several(count: int) -> str:
    """What networks with so many random heads are called."""
    return "1 random head" if count == 1 else f"{count} random heads"


def planned(
    order: Order, variant: Variant, sample: Sample, done: Mapping[str, Trained]
) -> tuple[Screened, dict[tuple[str, int], Job]]:
    """Screening, good heads taken on to step 200, and the jobs of combinations once the heads are known."""
    scale = SCALES[order.preset]
    screened = screen(scale, variant, sample, done)
    if not screened.over:
        return screened, {}
    good = confirmed_heads(screened.starts, "good", sample.good)
    bad = confirmed_heads(screened.starts, "bad", sample.bad)
    whole = {job.spec.id: job for job in (screening_job(scale, variant, h, DATA_SEEDS[0], whole=True) for h in good)}
    jobs = [whole.get(job.spec.id, job) for job in screened.jobs]
    return Screened(jobs, screened.starts, over=True), combination_jobs(order, variant, sample, bad, good)


# --- what became of them


@dataclass(frozen=True)
class Group:
    """All runs of one variant: the starts screened, and outcomes by setting, single random heads first.

    ``failures``: how many networks of K random heads failed of how many, by K; ``law``: q^K, fitted to them.
    """

    variant: Variant
    starts: list[Start]
    good: list[int]
    bad: list[int]
    outcomes: dict[str, list[Outcome]]
    failures: dict[int, tuple[int, int]]
    law: Geometric | None

    @property
    def name(self) -> str:
        return self.variant.name

    def at_end(self) -> tuple[list[float], list[float]]:
        """Accuracy at step 200 of the good heads alone, and of the combinations of random heads that have learned."""
        alone = [Outcome("", one.head, one.runs[DATA_SEEDS[0]]) for one in self.starts if one.head in self.good]
        together = [outcome for outcome in self.outcomes["all random"] if outcome.step is not None]
        good, random = ([one.at(WITHIN, "accuracy") for one in group] for group in (alone, together))
        return [one for one in good if one is not None], [one for one in random if one is not None]


# --- pruning


def pruning_rows(group: Group) -> list[dict[str, Any]]:
    """A row for each combination that learned, and has weights in the store, and each of its heads alone."""
    rows = []
    for outcome in (*group.outcomes["one good"], *group.outcomes["all random"]):
        if outcome.step is None or (one := prune_run(outcome)) is None:
            continue
        rows += [
            {"variant": group.name, "setting": outcome.setting, "combination": outcome.seed, "head": k}
            | {"good": outcome.setting == "one good" and k == len(one.alone) - 1}
            | {"whole": one.whole, "alone": one.alone[k], "for_all": one.for_all[k], "best": k == one.best_head}
            | {"best_accuracy": one.best, "best_for_all": one.best_for_all}
            for k in range(len(one.alone))
        ]
    return rows


def prune_run(outcome: Outcome) -> Pruned | None:
    """The newest weights that the store has of a run, pruned to each of its heads; None where it has none."""
    run = outcome.run.run
    if run is None or not (steps := run.steps()):
        return None
    spec, task = outcome.spec, task_of(outcome.spec).build()
    assert spec is not None
    network = build_problem(spec).model
    assert isinstance(network, Seq2Seq)
    run.load_into(network, steps[-1])  # and none before: where these are damaged, the run is trained again
    purposes = ("choosing", "measuring")
    return prune(network, *(task.batch(SEQUENCES, numpy_generator(spec.data_seed, "pruning", one)) for one in purposes))


# --- rows of tables


def failure_rows(group: Group) -> list[dict[str, Any]]:
    """Failures of networks with K random heads against the fitted law q^K."""
    law = group.law
    if law is None:
        return []
    rows = []
    for k, (failed, n) in group.failures.items():
        row = {"variant": group.name, "heads": k, "runs": n, "failed": failed, **rate_of(failed, n)}
        fitted = {"fitted": law.q**k, "fitted_low": law.interval[0] ** k, "fitted_high": law.interval[1] ** k}
        rows.append({**row, **fitted, "goodness": law.goodness})
    return rows


def head_row(variant: str, start: Start) -> dict[str, Any]:
    """What is known of one start; a label counts where the start was trained on all three data seeds."""
    labels = (start.label, start.released_label) if start.confirmed else (None, None)
    row: dict[str, Any] = {"variant": variant, "head": start.head, "confirmed": start.confirmed}
    row |= {"label": labels[0], "released_label": labels[1]}
    for seed in DATA_SEEDS:
        run = start.runs.get(seed)
        row[f"step_{seed}"] = run and first_learned(run.rows)
        row[f"last_accuracy_{seed}"] = run and run.rows[-1]["accuracy"]
        row[f"run_{seed}"] = run and run.id
    return row
