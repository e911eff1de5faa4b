"""Several heads (P3 5.2, Figure 2 right): they help by luck of initialisation, not by what they can express.

A start of a single head is good or bad: it learns permutations within 200 updates or it does not, whatever the data
seed. Networks of eight heads are put together from starts whose label is known, or from random ones.
"""

from collections.abc import Mapping

import altair as alt

from attnlab.experiments.multihead.figures import accuracy_curves, failures_by_heads, heads_alone
from attnlab.experiments.multihead.heads import (
    BODY,
    DATA_SEEDS,
    RELEASED,
    SAMPLES,
    SCALES,
    SCENARIOS,
    TEXT,
    Variant,
    combination_jobs,
    screen,
    screening_job,
    several,
)
from attnlab.experiments.multihead.heads_claims import (
    all_learn,
    as_accurate,
    falls_geometrically,
    keeps_accuracy,
    nearly_always,
    none_learns,
)
from attnlab.experiments.multihead.tables import (
    Group,
    failure_rows,
    head_row,
    pruning_rows,
    success_rows,
    tell,
)
from attnlab.lab.claims import Finding, Part
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.lab.smaller import undecided
from attnlab.lab.success import ALWAYS, WITHIN, Outcome, curve_table
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained

TEXT_COMBINATIONS = 10
"""Combinations of the text's variant on which "always" and "never" can be said to hold: half of the released one's."""


class Multihead(Experiment):
    """Figure 2 right, and failure against the number of heads."""

    name = "multihead"
    title = "Why several heads help: luck of initialisation"
    source = "P3 5.2, Figure 2 right"

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        jobs = []
        for variant in SAMPLES[order.preset]:
            found, combinations = _planned(order, variant, done)
            jobs += found
            jobs += combinations.values()
        return jobs

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """The plan of a variant whose heads are known; of the others as many heads screened as may be, and all of them
        confirmed: each may turn out neither good nor bad.
        """
        jobs = []
        scale = SCALES[order.preset]
        for variant, sample in SAMPLES[order.preset].items():
            found, combinations = _planned(order, variant, done)
            if combinations:
                jobs += [*found, *combinations.values()]
                continue
            for head in range(sample.limit):
                jobs += [screening_job(scale, variant, head, seed, whole=True) for seed in DATA_SEEDS]
            jobs += combination_jobs(order, variant, range(sample.bad), range(sample.good)).values()
        return jobs

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        groups = [_group(order, variant, done) for variant in SAMPLES[order.preset]]
        heads = SCALES[order.preset].heads
        pruning = [row for group in groups for row in pruning_rows(group)]
        failures = [row for group in groups for row in failure_rows(group, heads)]
        success = [row for group in groups for row in success_rows(group)]
        curves = [
            {"variant": group.variant.name, **row}
            for group in groups
            for outcomes in group.outcomes.values()
            for row in curve_table(outcomes)
        ]
        findings = decide(groups, pruning, heads)
        return Result(
            summary=tell(groups, success, pruning, heads),
            tables={
                "success": success,
                "failures": failures,
                "heads": [head_row(group, start) for group in groups for start in group.starts],
                "pruning": pruning,
                "curves": curves,
            },
            figures=figures(groups, curves, failures, pruning),
            findings=undecided(findings) if order.preset == "quick" else findings,
            notes=notes(order),
            seeds={
                f"{group.variant.name}, {label} heads": heads
                for group in groups
                for label, heads in (("good", group.good), ("bad", group.bad))
            },
        )


def _planned(
    order: Order, variant: Variant, done: Mapping[str, Trained]
) -> tuple[list[Job], dict[tuple[str, int], Job]]:
    """The jobs of screening, good heads taken on to step 200, and those of combinations once the heads are known."""
    scale, sample = SCALES[order.preset], SAMPLES[order.preset][variant]
    screened = screen(scale, variant, sample, done)
    if not screened.over:
        return screened.jobs, {}
    good, bad = screened.heads("good", sample.good), screened.heads("bad", sample.bad)
    whole = {job.spec.id: job for job in (screening_job(scale, variant, h, DATA_SEEDS[0], whole=True) for h in good)}
    jobs = [whole.get(job.spec.id, job) for job in screened.jobs]
    return jobs, combination_jobs(order, variant, bad, good)


def _group(order: Order, variant: Variant, done: Mapping[str, Trained]) -> Group:
    scale, sample = SCALES[order.preset], SAMPLES[order.preset][variant]
    screened = screen(scale, variant, sample, done)
    good, bad = screened.heads("good", sample.good), screened.heads("bad", sample.bad)
    jobs = combination_jobs(order, variant, bad, good)
    outcomes: dict[str, list[Outcome]] = {several(1): [], **{several(k): [] for k in sample.several}}
    outcomes |= {scenario: [] for scenario in SCENARIOS}
    # A sample of fixed size: heads screened beyond it were screened because of what came before.
    for start in screened.starts[: sample.singles]:
        outcomes[several(1)].append(Outcome(several(1), start.head, start.runs[DATA_SEEDS[0]]))
    for (setting, run), job in jobs.items():
        outcomes[setting].append(Outcome(setting, run, done[job.spec.id]))
    return Group(variant, screened.starts, good, bad, outcomes, jobs)


# --- words and claims


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        f"One body (seed {BODY}) is shared by all networks, so intervals are over heads and data, for this body.",
        "Every combination has data of its own, on which no head was screened; the released code trains all of them on "
        "the data of its first screening.",
        "A head's score and projection have no bias here; in the released code they have one.",
        "Accuracy is measured on 50 fresh sequences at every evaluation; in the released code on 400 fixed ones.",
        "A single random head is one of the first screened, on the first data seed.",
        "Pruned networks are measured on 100 fresh sequences; head and size of context are chosen on 100 others. A "
        "head alone contributes to the context what it did before, or, for all, so many times that as there were "
        "heads.",
    ]
    if order.preset == "quick":
        told.append(
            "quick: permutations of 12 words, 32 hidden units, combinations of three heads; it shows how the "
            "experiment goes and decides nothing."
        )
    if order.preset == "reduced":
        told.append(
            "reduced: the released variant alone, without the text's; 10 bad and 6 good heads instead of 14 and 8; 20 "
            "runs instead of 60 with 1, 2 and 4 heads; networks with one good head, and those with random heads from "
            "the eleventh on, end once they have learned."
        )
    if order.preset == "paper":
        told.append("Single heads, and networks with 2 or 4 random heads, end once they have learned.")
    return tuple(told)


def decide(groups: list[Group], pruning: Table, heads: int) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    least = {RELEASED: ALWAYS, TEXT: TEXT_COMBINATIONS}
    parts: dict[str, list[Part]] = {}
    for group in groups:
        name, outcomes = group.variant.name, group.outcomes
        parts.setdefault("heads-all-bad", []).append(none_learns(name, outcomes["all bad"], least[group.variant]))
        parts.setdefault("heads-one-good", []).append(all_learn(name, outcomes["one good"], least[group.variant]))
        if group.variant is RELEASED:
            parts["heads-random"] = [
                nearly_always("eight random heads learn", outcomes["all random"]),
                falls_geometrically("failure falls off as q^K", group.failures(heads), ALWAYS),
            ]
        parts.setdefault("heads-not-expressiveness", []).append(
            as_accurate(name, _alone_at_end(group), _together_at_end(group))
        )
        best = [row for row in pruning if row["variant"] == name and row["best"]]
        parts.setdefault("heads-prunable", []).append(
            keeps_accuracy(name, [row["best_accuracy"] for row in best], [row["whole"] for row in best])
        )
    return tuple(Finding(claim, tuple(found)) for claim, found in parts.items())


def _alone_at_end(group: Group) -> list[float]:
    """Accuracy at step 200 of the good heads alone."""
    runs = [Outcome("", start.head, start.runs[DATA_SEEDS[0]]) for start in group.starts if start.head in group.good]
    return [accuracy for run in runs if (accuracy := run.at(WITHIN, "accuracy")) is not None]


def _together_at_end(group: Group) -> list[float]:
    """Accuracy at step 200 of the combinations of random heads that have learned."""
    learners = [outcome for outcome in group.outcomes["all random"] if outcome.step is not None]
    return [accuracy for outcome in learners if (accuracy := outcome.at(WITHIN, "accuracy")) is not None]


# --- figures


def figures(groups: list[Group], curves: Table, failures: Table, pruning: Table) -> dict[str, alt.TopLevelMixin]:
    """The paper's curves, failure against the number of heads, and heads alone."""
    titles = {group.variant.name: group.variant.title for group in groups}
    drawn: dict[str, alt.TopLevelMixin] = {"curves": accuracy_curves(curves, titles)}
    if failures:
        drawn["failures"] = failures_by_heads(failures, titles)
    if pruning:
        drawn["pruning"] = heads_alone(pruning)
    return drawn
