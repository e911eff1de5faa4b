"""Rescue (ours): what makes a start learn that would fail, and at what cost?

The same failing starts, permutations of 40 that a single head does not learn within 200 updates, are trained again with
one thing changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import altair as alt
import numpy as np

from attnlab.experiments.rescue.figures import all_curves, rates, shares_against_cost
from attnlab.experiments.rescue.remedies import (
    ANEW,
    FRESH_LATER,
    FRESH_START,
    LATE,
    NO_CHANGE,
    SAMPLES,
    SCALES,
    TRAINED,
    Scale,
    at_most,
    make_spec,
    planned,
    update_cost,
)
from attnlab.experiments.rescue.rules import (
    TIERS,
    Compared,
    against_fresh_start,
    against_no_change,
    decide,
    tiers,
)
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.lab.smaller import undecided
from attnlab.lab.success import WITHIN, Outcome
from attnlab.protocols import Row
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.rates import wilson


@dataclass(frozen=True)
class Tried:
    """One start with one remedy. ``before``: updates made before its run began, by another run that was given up.

    ``late``: whether it was to go on to step 600.
    """

    remedy: str
    seed: int
    run: Trained
    late: bool
    before: int = 0

    def learned(self, within: int) -> int | None:
        """The first evaluation at which it has learned, updates made before included, if ``within`` so many."""
        step = Outcome(self.remedy, self.seed, self.run).learned_within(within - self.before)
        return None if step is None else step + self.before

    def spent(self, within: int) -> int:
        """Updates until it has learned, or all of them."""
        step = self.learned(within)
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
    recalls = True

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        return planned(order, done)[0]

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        return at_most(order, done)

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        scale, sample = SCALES[order.preset], SAMPLES[order.preset]
        jobs, starts = planned(order, done)
        tried = collect(scale, starts, sample.late, done)
        costs = relative_costs(scale, starts[0]) if starts else {}
        learned = {name: [one.learned(WITHIN) is not None for one in group] for name, group in tried.items()}
        later = {name: [one.learned(LATE) is not None for one in group if one.late] for name, group in tried.items()}
        found = compare(learned) if starts else {}
        table = remedy_table(tried, costs, found, compare(later) if starts and sample.late else {})
        seeds = [job.spec.init_seed for job in jobs if job.spec.id == make_spec(scale, job.spec.data_seed).id]
        findings = decide(learned) if starts else ()
        return Result(
            summary=tell(table, len(starts), len(seeds)),
            tables={
                "remedies": table,
                "starts": [start_row(one, costs[one.remedy]) for group in tried.values() for one in group],
                "curves": curve_rows(tried),
            },
            figures=figures(table, tried, costs) if starts else {},
            findings=undecided(findings) if order.preset == "quick" else findings,
            notes=notes(order),
            seeds={"seeds tried": seeds, "failing starts": starts},
        )


def collect(scale: Scale, starts: Sequence[int], late: int, done: Mapping[str, Trained]) -> dict[str, list[Tried]]:
    """Every start with every remedy, by remedy; fresh at step 100 means no change up to there, then a fresh start."""
    tried = {
        remedy: [
            Tried(remedy, seed, done[make_spec(scale, seed, remedy).id], number < late)
            for number, seed in enumerate(starts)
        ]
        for remedy in TRAINED
    }
    tried[FRESH_LATER] = [replace(one, remedy=FRESH_LATER, before=ANEW) for one in tried[FRESH_START]]
    return tried


def relative_costs(scale: Scale, seed: int) -> dict[str, float]:
    """The cost of an update with each remedy, in updates without one."""
    plain = update_cost(make_spec(scale, seed))
    costs = {remedy: update_cost(make_spec(scale, seed, remedy)) / plain for remedy in TRAINED}
    return {**costs, FRESH_LATER: 1.0}


# --- tables


@dataclass(frozen=True)
class Found:
    """How a remedy compares with no change and with a fresh start, and its tier."""

    unchanged: Compared | None
    fresh: Compared | None
    tier: int | None


def compare(learned: Mapping[str, Sequence[bool]]) -> dict[str, Found]:
    """All comparisons, by remedy."""
    unchanged, fresh, tier = against_no_change(learned), against_fresh_start(learned), tiers(learned)
    return {name: Found(unchanged.get(name), fresh.get(name), tier.get(name)) for name in learned}


def remedy_table(
    tried: Mapping[str, Sequence[Tried]],
    costs: Mapping[str, float],
    found: Mapping[str, Found],
    later: Mapping[str, Found],
) -> Table:
    """A row for each remedy, by tier, then by success within 200 updates, then by cost.

    ``found``: how remedies compare within 200 updates, ``later``: within 600, on the starts that were taken there.
    """
    rows = []
    for name, compared in found.items():
        group = tried[name]
        late = [one for one in group if one.late]
        row: dict[str, object] = {"remedy": name, "tier": compared.tier}
        row |= _rate(group, WITHIN) | _rate(late, LATE)
        row["cost_of_update"] = costs[name]
        row[f"mean_cost_{WITHIN}"] = _mean_cost(group, WITHIN, costs[name])
        row[f"mean_cost_{LATE}"] = _mean_cost(late, LATE, costs[name])
        for control, one in (("no_change", compared.unchanged), ("fresh_start", compared.fresh)):
            row[f"p_{control}"] = None if one is None else one.p
            row[f"difference_{control}"] = None if one is None else one.difference
            row[f"low_{control}"], row[f"high_{control}"] = (None, None) if one is None else one.interval
        paired = later.get(name, Found(None, None, None))
        for control, one in (("no_change", paired.unchanged), ("fresh_start", paired.fresh)):
            row[f"p_{control}_{LATE}"] = None if one is None else one.p
        rows.append((compared.tier or 5, -sum(one.learned(WITHIN) is not None for one in group), costs[name], row))
    return [row for *_, row in sorted(rows, key=lambda entry: entry[:3])]


def _rate(group: Sequence[Tried], within: int) -> dict[str, object]:
    """How many learned, with a Wilson interval, and how many of these attend to the right position."""
    learners, n = [one for one in group if one.learned(within) is not None], len(group)
    names = ("starts", "learned", "rate", "low", "high", "attending")
    values: tuple[object, ...] = (n, *[None] * 5)
    if n:
        values = (n, len(learners), len(learners) / n, *wilson(len(learners), n), sum(one.attends for one in learners))
    return {f"{name}_{within}": value for name, value in zip(names, values, strict=True)}


def _mean_cost(group: Sequence[Tried], within: int, cost: float) -> float | None:
    """Updates until a start has learned, or all of them, in updates without a remedy."""
    return float(np.mean([one.spent(within) * cost for one in group])) if group else None


def start_row(one: Tried, cost: float) -> dict[str, object]:
    """How one start ended with one remedy."""
    step = one.learned(one.horizon)
    return {
        "remedy": one.remedy,
        "seed": one.seed,
        "step": step,
        "given_up_at": one.horizon if step is None else None,
        "cost": one.spent(one.horizon) * cost,
        "last_accuracy": one.last["accuracy"],
        "last_attention": one.last["attention_accuracy"],
        "run": one.run.id,
    }


def curve_rows(tried: Mapping[str, Sequence[Tried]]) -> Table:
    """Every measurement of every run."""
    return [
        {"remedy": one.remedy, "seed": one.seed, **row}
        for name, group in tried.items()
        if name != FRESH_LATER  # the runs of a fresh start once more
        for one in group
        for row in one.run.rows
    ]


# --- words


def tell(table: Table, starts: int, seeds: int) -> str:
    """The result in plain words."""
    if not starts:
        return f"None of {seeds} starts failed, so there was nothing to rescue."
    sentences = [
        f"{starts} failing starts among {seeds} seeds. With each remedy: how many learn within {WITHIN} updates (95 % "
        "interval), how many of these attend to the right position, and the mean cost in plain updates."
    ]
    for tier, group in groupby(table, key=lambda row: row["tier"]):
        told = [
            f"{row['remedy']}: {row[f'learned_{WITHIN}']} ({row[f'low_{WITHIN}']:.0%} to {row[f'high_{WITHIN}']:.0%}), "
            f"{row[f'attending_{WITHIN}']} attending, cost {row[f'mean_cost_{WITHIN}']:.0f}"
            for row in group
        ]
        words = f"Tier {tier}, {TIERS[tier]}" if tier else "What all are compared with"
        sentences.append(f"{words} – {'; '.join(told)}.")
    late = table[0][f"starts_{LATE}"]
    if late:
        reached = "; ".join(f"{row['remedy']}: {row[f'learned_{LATE}']}, {row[f'attending_{LATE}']}" for row in table)
        sentences.append(f"Of {late} starts that go on, so many learn within {LATE} updates, and attend: {reached}.")
    return " ".join(sentences)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        f"Starts are chosen because they fail within {WITHIN} updates, so no change has no success there by "
        "construction, and whatever draws anew succeeds on some of them. A fresh start is the fair comparison.",
        "Success is token accuracy, which a network can reach with attention anywhere but at the right position; those "
        "that attend to it are counted apart, and drawn as rings.",
        "Runs end once they have learned. A cost is a number of updates times the matrix products of one update, "
        "counted, in those of an update without a remedy; updates of a warm start count as whole ones.",
        f"Fresh attention at step {ANEW} is compared with a fresh start at step {ANEW}: no change up to there, then "
        "the fresh start's own run, both with the same total number of updates.",
        "A warm start uses k = three quarters of the task's own n words, shorter sequences in the same vocabulary: 40 "
        "of 60 would need other words, and so another start.",
        "On permutations every pair holds the same words, so IBM Model 1's table is exactly uniform and the loss "
        "towards it asks for uniform attention.",
        "The mirrored read-out came to the remedies last; how the failing starts among seeds 0 to 39 end with it was "
        "known from the experiment mirror, and no claim is about it.",
    ]
    if order.preset == "quick":
        told.append(
            f"quick: two failing starts on permutations of 12 words with 32 hidden units, none goes on behind step "
            f"{WITHIN}; it shows how the experiment goes and decides nothing."
        )
    if order.preset == "reduced":
        told.append(f"reduced: the first 4 failing starts go on to step {LATE}, the others end at step {WITHIN}.")
    return tuple(told)


def figures(
    table: Table, tried: Mapping[str, Sequence[Tried]], costs: Mapping[str, float]
) -> dict[str, alt.TopLevelMixin]:
    """Success by remedy, success against cost, and the curves of all runs."""
    within = LATE if all(one.late for one in tried[NO_CHANGE]) else WITHIN
    spent = [
        {
            "remedy": name,
            "cost": one.spent(within) * costs[name],
            "most": within * costs[name],
            "learned": one.learned(within) is not None,
        }
        for name, group in tried.items()
        for one in group
    ]
    return {
        "success": rates(table),
        "cost": shares_against_cost(spent, within),
        "curves": all_curves(curve_rows(tried)),
    }
