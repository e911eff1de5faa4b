"""Rescue (ours): what makes a start learn that would fail, and at what cost?

The same failing starts, permutations of 40 that a single head does not learn within 200 updates, are trained again with
one thing changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import altair as alt

from attnlab.experiments.rescue.tiers import FRESH_LATER, TIERS, against_fresh_start, against_no_change, rates, tier
from attnlab.families.copying import starts
from attnlab.families.copying.starts import FRESH_START, NO_CHANGE, REMEDIES, SCALES, Scale
from attnlab.families.copying.success import EVERY, LEARNED, WITHIN, first_learned
from attnlab.families.registry import build_problem
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Figures, Order, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs, learned, mean, rate_of
from attnlab.lab.rules import LEAST, none_of
from attnlab.pages.charts import COLOURS, SIZE, accuracy_curves, attention_profiles, panels, shares
from attnlab.protocols import Row
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

# --- settings

LATE = 600
"""Updates after which a run that has not learned is given up."""
SEEDS_TRIED = "seeds tried"


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


SAMPLES = by_preset(
    Sample(starts=2, late=0, first=5, step=5, limit=10),
    Sample(starts=24, late=4, first=40, step=10, limit=80),
    Sample(starts=24, late=24, first=40, step=10, limit=80),
)


def make_job(scale: Scale, seed: int, remedy: str = NO_CHANGE, steps: int = WITHIN) -> Job:
    """A run that ends once it has learned, or after so many ``steps``."""
    schedule = Schedule.every(EVERY, steps=steps, stop_at=LEARNED, checkpoint_every=WITHIN)
    return Job(f"{remedy}, seed {seed}", RunSpec(**starts.start(scale, seed, remedy)), schedule)


def planned(order: Order, done: Mapping[str, Trained]) -> tuple[list[Job], list[int], list[Job]]:
    """The runs of seeds that are tried, the failing starts once enough are known, and the runs of their remedies.

    Seeds are tried in order; what is tried follows from what came before alone, so the plan only grows.
    """
    scale, sample = SCALES[order.preset], SAMPLES[order.preset]
    wanted = order.first(range(sample.starts))
    count = sample.first
    while True:
        tried = [make_job(scale, seed) for seed in range(count)]
        if not all(job.spec.id in done for job in tried):
            return tried, [], []
        failing = [seed for seed in range(count) if first_learned(done[tried[seed].spec.id].rows) is None]
        if len(failing) >= len(wanted) or count >= sample.limit:
            return with_remedies(order.preset, tried, failing[: len(wanted)])
        count = min(count + sample.step, sample.limit)


def with_remedies(preset: Preset, tried: list[Job], failing: list[int]) -> tuple[list[Job], list[int], list[Job]]:
    """The same runs, those of the first ``failing`` taken on to step 600, and the runs of all remedies."""
    scale, late = SCALES[preset], failing[: SAMPLES[preset].late]
    steps = {seed: LATE if seed in late else WITHIN for seed in failing}
    unchanged = {seed: make_job(scale, seed, steps=steps[seed]) for seed in failing}
    # Start by start, so that a sweep that is cut short has whole starts, and `--seeds` of them make a result.
    others = [make_job(scale, seed, remedy, steps[seed]) for seed in failing for remedy in REMEDIES[1:]]
    return [unchanged.get(seed, job) for seed, job in enumerate(tried)], failing, others


@dataclass(frozen=True)
class Tried(Outcome):
    """One start with one remedy, the setting. ``late``: whether it was to go on to step 600.

    ``before``: updates made before its run began, by another run that was given up.
    """

    late: bool = False
    before: int = 0

    def learned_within(self, updates: int) -> int | None:
        """The first evaluation at which it has learned, updates made before included, if within so many."""
        step = first_learned(self.run.rows, updates - self.before)
        return None if step is None else step + self.before

    def spent(self, within: int) -> int:
        """Updates until it has learned, or all of them."""
        step = self.learned_within(within)
        return within if step is None else step

    @property
    def horizon(self) -> int:
        """The updates after which it is given up."""
        return LATE if self.late else WITHIN

    @property
    def last(self) -> Row:
        """The last evaluation before it is given up; a run that began late may have been trained further."""
        return [row for row in self.run.rows if row["step"] <= self.horizon - self.before][-1]

    @property
    def attends(self) -> bool:
        """Whether attention is largest at the right position in more than half of the cases at its last evaluation."""
        return self.last["attention_accuracy"] > 0.5


class Rescue(Experiment):
    """What makes failing starts learn."""

    name = "rescue"
    title = "What rescues a failing start"
    source = "attnlab (ours), after P3 3.3 and 5.2"
    decides_at = ("reduced", "paper")
    recalls = True

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        tried, _, others = planned(order, done)
        return tried + others

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """Before the failing starts are known: as many seeds as may be tried, and as many starts of them."""
        tried, failing, others = planned(order, done)
        if not failing:
            scale, sample = SCALES[order.preset], SAMPLES[order.preset]
            tried = [make_job(scale, seed) for seed in range(sample.limit)]
            tried, _, others = with_remedies(order.preset, tried, order.first(range(sample.starts)))
        return tried + others

    def outcomes(self, order: Order, done: Mapping[str, Trained]) -> Iterator[Outcome]:
        """All seeds that were tried, then every start with every remedy.

        Fresh at step 100 means no change up to there, then a fresh start.
        """
        tried, failing, _ = planned(order, done)
        for job in tried:
            yield Outcome(SEEDS_TRIED, job.spec.data_seed, done[job.spec.id])
        scale, late = SCALES[order.preset], SAMPLES[order.preset].late
        for remedy in (*REMEDIES, FRESH_LATER):
            for number, seed in enumerate(failing):
                spec = RunSpec(**starts.start(scale, seed, FRESH_START if remedy == FRESH_LATER else remedy))
                before = starts.ANEW if remedy == FRESH_LATER else 0
                yield Tried(remedy, seed, done[spec.id], spec, late=number < late, before=before)

    # --- measures

    def measure(self, runs: Runs) -> None:
        others = {name: group for name, group in runs.items() if name != SEEDS_TRIED}
        self.tried = {name: [one for one in group if isinstance(one, Tried)] for name, group in others.items()}
        self.late = {name: [one for one in group if one.late] for name, group in self.tried.items()}
        self.learned = {name: learned(group) for name, group in self.tried.items()}
        self.unchanged, self.fresh = against_no_change(self.learned), against_fresh_start(self.learned)
        costs = {name: cost_of(group[0]) for name, group in self.tried.items()}
        self.costs = {name: cost / costs[NO_CHANGE] for name, cost in costs.items()}
        self.remedies = self.remedy_table()

    # --- rules

    @claim("rescue-informative-data", reads=("starts",))
    def informative_data(self) -> Iterator[Part]:
        yield from self.against_fresh(starts.WARM_START, starts.IBM_FEWER, more="holds", fewer="fails")

    def rescued(self) -> dict[str, list[bool]]:
        """By remedy, which starts learned within 200 updates, by the table of starts."""
        learned: dict[str, list[bool]] = {}
        for row in self.record.rows("starts"):
            learned.setdefault(row["remedy"], []).append(row["step"] is not None and row["step"] <= WITHIN)
        return learned

    @claim("rescue-blind-alignment", reads=("starts",))
    def blind_alignment(self) -> Iterator[Part]:
        if group := self.rescued().get(starts.IBM_OWN):
            yield none_of(starts.IBM_OWN, group, over="starts")

    @claim("rescue-more-heads", reads=("starts",))
    def more_heads(self) -> Iterator[Part]:
        yield from self.against_fresh(starts.HEADS, more="holds", fewer="fails")

    @claim("rescue-optimiser", reads=("starts",))
    def optimiser(self) -> Iterator[Part]:
        yield from self.against_fresh(starts.BATCH, starts.WARM_UP, more="fails", fewer="holds")

    @claim("rescue-fresh-attention", reads=("starts",))
    def fresh_attention(self) -> Iterator[Part]:
        yield from self.against_fresh(starts.FRESH_ATTENTION, more="fails", fewer="holds")

    def against_fresh(self, *remedies: str, more: Verdict, fewer: Verdict) -> Iterator[Part]:
        """The verdicts where remedies rescue more, or fewer, starts than a fresh start, by the corrected test."""
        learned = self.rescued()
        fresh = against_fresh_start(learned)
        for name in remedies if learned else ():
            one, group = fresh[name], learned[name]
            verdict: Verdict = more if one.sign > 0 else fewer if one.sign < 0 else "undecided"
            detail = (
                f"{sum(group)} of {len(group)} starts learned, {sum(learned[one.against])} with a {one.against} "
                f"(paired exact test, corrected: p = {one.p:.2g})."
            )
            decided = verdict if len(group) >= LEAST else "undecided"
            yield Part(name, decided, one.difference, one.interval, "starts", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"remedies": self.remedies}

    def remedy_table(self) -> list[dict[str, Any]]:
        """A row for each remedy, by tier, then by success within 200 updates, then by cost."""
        by_late = {name: learned(group, LATE) for name, group in self.late.items() if group}
        paired = {"no_change": against_no_change(by_late), "fresh_start": against_fresh_start(by_late)}
        rows = []
        for name, group in self.tried.items():
            cost = self.costs[name]
            row: dict[str, Any] = {"remedy": name, "tier": tier(self.unchanged.get(name), self.fresh.get(name))}
            horizons = {WITHIN: group, LATE: self.late[name]}
            row |= rate(group, WITHIN) | rate(self.late[name], LATE) | {"cost_of_update": cost}
            row |= {f"mean_cost_{by}": mean(one.spent(by) * cost for one in some) for by, some in horizons.items()}
            for control, compared in (("no_change", self.unchanged), ("fresh_start", self.fresh)):
                one = compared.get(name)
                row[f"p_{control}"] = one and one.p
                row[f"difference_{control}"] = one and one.difference
                row[f"low_{control}"], row[f"high_{control}"] = one.interval if one else (None, None)
            for control, compared in paired.items():
                row[f"p_{control}_{LATE}"] = compared[name].p if name in compared else None
            rows.append(row)
        return sorted(rows, key=lambda row: (row["tier"] or 5, -row[f"learned_{WITHIN}"], row["cost_of_update"]))

    def run_tables(self) -> dict[str, Table]:
        """``starts``: how each start ended with each remedy; ``curves``: every measurement of every run."""
        return {
            "starts": [start_row(one, self.costs[name]) for name, group in self.tried.items() for one in group],
            "curves": [
                {"remedy": one.setting, "seed": one.seed, **row}
                for name, group in self.tried.items()
                if name != FRESH_LATER  # the runs of a fresh start once more
                for one in group
                for row in one.run.rows
            ],
        }

    def figures(self) -> Figures:
        """Success by remedy, success against cost, the curves of all runs and where attention is at their ends."""
        if not self.tried:
            return {}
        names = ("remedy", "seed", "step", "accuracy")
        every = self.run_tables()["curves"]
        rows = [{name: row[name] for name in names} for row in every]
        return {
            "success": rates(self.remedies),
            "cost": shares_against_cost(self.tried, self.costs),
            "curves": accuracy_curves(rows, "Accuracy of every failing start with each remedy", "remedy"),
            **attention_profiles(every, "remedy"),
        }

    def seeds(self) -> dict[str, list[int]]:
        roles = {SEEDS_TRIED: SEEDS_TRIED, "failing starts": NO_CHANGE}
        return {role: [one.seed for one in self.runs[name]] for role, name in roles.items()}

    def summary(self) -> str:
        return in_words(self.remedies, len(self.runs[NO_CHANGE]), len(self.runs[SEEDS_TRIED]))

    def notes(self) -> list[str]:
        return [
            f"Starts are chosen because they fail within {WITHIN} updates, so no change has no success there by "
            "construction, and whatever draws anew succeeds on some of them. A fresh start is the fair comparison.",
            "Success is token accuracy, which a network can reach with attention anywhere but at the right position; "
            "those that attend to it are counted apart, and drawn as rings.",
            "Runs end once they have learned. A cost is a number of updates times the matrix products of one update, "
            "counted, in those of an update without a remedy; updates of a warm start count as whole ones.",
            f"Fresh attention at step {starts.ANEW} is compared with a fresh start at step {starts.ANEW}: no change up "
            "to there, then the fresh start's own run, both with the same total number of updates.",
            "A warm start uses k = three quarters of the task's own n words, shorter sequences in the same vocabulary: "
            "40 of 60 would need other words, and so another start.",
            "On permutations every pair holds the same words, so IBM Model 1's table is exactly uniform and the loss "
            "towards it asks for uniform attention.",
            "The mirrored read-out came to the remedies last; how the failing starts among seeds 0 to 39 end with it "
            "was known from the experiment mirror, and no claim is about it.",
            *self.at_preset(
                quick="quick: two failing starts on permutations of 12 words with 32 hidden units, none goes on after "
                f"step {WITHIN}; it shows how the experiment goes and decides nothing.",
                reduced=f"reduced: the first 4 failing starts go on to step {LATE}, the others end at step {WITHIN}.",
            ),
        ]


def cost_of(one: Tried) -> int:
    """The matrix products of one update of a run, after any warm start."""
    assert one.spec is not None
    problem = build_problem(one.spec)
    return starts.update_cost(lambda: problem.loss(WITHIN).backward())


def rate(group: Sequence[Tried], within: int) -> dict[str, Any]:
    """How many learned, with a Wilson interval, and how many of these attend to the right position."""
    learners, n = [one for one in group if one.learned_within(within) is not None], len(group)
    row = {"starts": n, "learned": len(learners) if n else None, **rate_of(len(learners), n)}
    row["attending"] = sum(one.attends for one in learners) if n else None
    return {f"{name}_{within}": value for name, value in row.items()}


def start_row(one: Tried, cost: float) -> dict[str, Any]:
    """How one start ended with one remedy."""
    step, last = one.learned_within(one.horizon), one.last
    row = {"remedy": one.setting, "seed": one.seed, "step": step, "given_up_at": one.horizon if step is None else None}
    row |= {"cost": one.spent(one.horizon) * cost, "last_accuracy": last["accuracy"]}
    return row | {"last_attention": last["attention_accuracy"], "run": one.run.id}


def in_words(table: Table, failing: int, seeds: int) -> str:
    """The remedies as sentences, tier by tier."""
    if not failing:
        return f"None of {seeds} starts failed, so there was nothing to rescue."
    sentences = [
        f"{failing} failing starts among {seeds} seeds. With each remedy: how many learn within {WITHIN} updates (95 % "
        "interval), how many of these attend to the right position, and the mean cost in plain updates."
    ]
    for number, group in groupby(table, key=lambda row: row["tier"]):
        each = [
            f"{row['remedy']}: {row[f'learned_{WITHIN}']} ({row[f'low_{WITHIN}']:.0%} to {row[f'high_{WITHIN}']:.0%}), "
            f"{row[f'attending_{WITHIN}']} attending, cost {row[f'mean_cost_{WITHIN}']:.0f}"
            for row in group
        ]
        words = f"Tier {number}, {TIERS[number]}" if number else "What all are compared with"
        sentences.append(f"{words} – {'; '.join(each)}.")
    late = table[0][f"starts_{LATE}"]
    if late:
        reached = "; ".join(f"{row['remedy']}: {row[f'learned_{LATE}']}, {row[f'attending_{LATE}']}" for row in table)
        sentences.append(f"Of {late} starts that go on, so many learn within {LATE} updates, and attend: {reached}.")
    return " ".join(sentences)


def shares_against_cost(tried: Mapping[str, Sequence[Tried]], costs: Mapping[str, float]) -> alt.FacetChart:
    """How many starts have learned by a cost, a panel for each remedy, in runs of at most so many updates."""
    within = LATE if all(one.late for one in tried[NO_CHANGE]) else WITHIN
    rows = []
    for name, group in tried.items():
        spent = sorted(one.spent(within) * costs[name] for one in group if one.learned_within(within) is not None)
        steps = [(0.0, 0.0), *((cost, (n + 1) / len(group)) for n, cost in enumerate(spent))]
        steps.append((within * costs[name], steps[-1][1]))
        rows += [{"remedy": name, "cost": cost, "share": share} for cost, share in steps]
    layer = alt.Chart().mark_line(interpolate="step-after", color=COLOURS[1]).properties(**SIZE)
    layer = layer.encode(x=alt.X("cost:Q", title="cost in plain updates"), y=shares("share", "share that has learned"))
    return panels(rows, column="remedy", layer=layer, title=f"Success within {within} updates against what it costs")
