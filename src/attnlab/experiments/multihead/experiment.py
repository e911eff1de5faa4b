"""Several heads (P3 5.2, Figure 2 right): they help by luck of initialisation, not by what they can express.

A start of a single head is good or bad: it learns permutations within 200 updates or it does not, whatever the data
seed. Networks of eight heads are put together from starts whose label is known, or from random ones. Which runs these
are is in `heads`, tables and figures are in `report`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.multihead import heads, report
from attnlab.experiments.multihead.heads import (
    DATA_SEEDS,
    RELEASED,
    SAMPLES,
    SCALES,
    TEXT,
    Group,
    Start,
    Variant,
    several,
)
from attnlab.families.copying.pruning import Pruned, prune
from attnlab.families.registry import build_problem
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.copying import task_of
from attnlab.lab.experiment import Experiment, Figures, Order, Table, claim
from attnlab.lab.outcomes import Outcome, Runs, curve_table, learned
from attnlab.lab.rules import LEAST, all_of, between, higher, lower, missing, none_of
from attnlab.models.seq2seq import Seq2Seq
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import bootstrap_difference, bootstrap_interval
from attnlab.stats.geometric import Geometric, fit_geometric
from attnlab.stats.rates import wilson

COMBINATIONS = {RELEASED: LEAST, TEXT: 10}
"""Combinations of a variant on which "always" and "never" can be said to hold."""
NEARLY_ALWAYS = 0.8
MARGIN = 0.02
"""Accuracies that differ by no more than this are the same."""
FEWEST = 5
"""Fewest networks on each side when accuracies are compared."""
SEQUENCES = 100
"""Fresh sequences on which the best head is chosen, and as many others on which pruned networks are measured."""


class Multihead(Experiment):
    """Figure 2 right, and failure against the number of heads."""

    name = "multihead"
    title = "Why several heads help: luck of initialisation"
    source = "P3 5.2, Figure 2 right"
    decides_at = ("reduced", "paper")

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        plans = [heads.planned(order, variant, done) for variant in SAMPLES[order.preset]]
        return [job for screened, combined in plans for job in (*screened.jobs, *combined.values())]

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """The plan of a variant whose heads are known; of the others as many heads screened as may be, and all of them
        confirmed: each may turn out neither good nor bad.
        """
        jobs, scale = [], SCALES[order.preset]
        for variant, sample in SAMPLES[order.preset].items():
            screened, combined = heads.planned(order, variant, done)
            alone = screened.jobs
            if not combined:
                pairs = [(head, seed) for head in range(sample.limit) for seed in DATA_SEEDS]
                alone = [heads.screening_job(scale, variant, head, seed, whole=True) for head, seed in pairs]
                combined = heads.combination_jobs(order, variant, range(sample.bad), range(sample.good))
            jobs += [*alone, *combined.values()]
        return jobs

    def outcomes(self, order: Order, done: Mapping[str, Trained]) -> Iterator[Outcome]:
        """Heads alone on each data seed, then combinations; settings are named as in `setting_of`."""
        for variant in SAMPLES[order.preset]:
            screened, combined = heads.planned(order, variant, done)
            for start in screened.starts:
                for seed, run in start.runs.items():
                    spec = heads.make_spec(SCALES[order.preset], variant, [start.head], seed)
                    yield Outcome(setting_of(variant, seed), start.head, run, spec)
            for (setting, number), job in combined.items():
                yield Outcome(setting_of(variant, setting), number, done[job.spec.id], job.spec)

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.groups = [self.group(variant, runs) for variant in SAMPLES[self.order.preset]]
        self.pruning = [row for group in self.groups for row in pruning_rows(group)]

    def group(self, variant: Variant, runs: Runs) -> Group:
        """What the runs of a variant say."""
        sample, most = SAMPLES[self.order.preset][variant], SCALES[self.order.preset].heads
        alone = {seed: {one.seed: one for one in runs[setting_of(variant, seed)]} for seed in DATA_SEEDS}
        starts = [
            Start(head, {seed: group[head].run for seed, group in alone.items() if head in group})
            for head in alone[DATA_SEEDS[0]]
        ]
        # A sample of fixed size: heads screened beyond it were screened because of what came before.
        singles = [replace(one, setting=several(1)) for one in alone[DATA_SEEDS[0]].values()][: sample.singles]
        outcomes = {several(1): singles} | {
            name: [replace(one, setting=name) for one in runs[setting_of(variant, name)]]
            for name in (*map(several, sample.several), *heads.SCENARIOS)
        }
        random = {several(k): k for k in range(1, most)} | {"all random": most}
        failures = {
            k: (len(group) - sum(learned(group)), len(group))
            for name, k in random.items()
            if (group := outcomes.get(name))
        }
        good, bad = heads.confirmed_heads(starts, "good", sample.good), heads.confirmed_heads(starts, "bad", sample.bad)
        return Group(variant, starts, good, bad, outcomes, failures, fit_geometric(failures) if failures else None)

    # --- rules

    @claim("heads-all-bad")
    def bad_heads_fail(self) -> Iterator[Part]:
        for group in self.groups:
            least = COMBINATIONS[group.variant]
            yield none_of(group.name, learned(group.outcomes["all bad"]), least=least, over="combinations")

    @claim("heads-one-good")
    def one_good_head_suffices(self) -> Iterator[Part]:
        for group in self.groups:
            least = COMBINATIONS[group.variant]
            yield all_of(group.name, learned(group.outcomes["one good"]), least=least, over="combinations")

    @claim("heads-random")
    def random_heads_learn(self) -> Iterator[Part]:
        for group in self.groups:
            if group.variant is RELEASED:
                yield nearly_always("eight random heads learn", learned(group.outcomes["all random"]))
                yield falls_geometrically("failure falls off as q^K", group.failures, group.law)

    @claim("heads-not-expressiveness")
    def one_head_is_as_accurate(self) -> Iterator[Part]:
        """Good heads alone against random heads together, both at step 200."""
        for group in self.groups:
            ours, theirs = group.alone_at_end(), group.together_at_end()
            if min(len(ours), len(theirs)) < FEWEST:
                few = f"{len(ours)} and {len(theirs)} networks; at least {FEWEST} each are needed."
                yield missing(group.name, "networks", few)
                continue
            interval = bootstrap_difference(ours, theirs)
            detail = f"Mean accuracy {np.mean(ours):.4f} of {len(ours)} against {np.mean(theirs):.4f} of {len(theirs)}."
            difference = float(np.mean(ours) - np.mean(theirs))
            yield Part(group.name, same(interval), difference, interval, "networks", detail)

    @claim("heads-prunable")
    def best_head_alone_is_as_accurate(self) -> Iterator[Part]:
        """Each network pruned to its best head against itself whole."""
        for group in self.groups:
            best = [row for row in self.pruning if row["variant"] == group.name and row["best"]]
            if len(best) < FEWEST:
                few = f"{len(best)} networks have learned; at least {FEWEST} are needed."
                yield missing(group.name, "networks", few)
                continue
            pruned, whole = ([row[name] for row in best] for name in ("best_accuracy", "whole"))
            lost = np.subtract(pruned, whole)
            detail = (
                f"Mean accuracy {np.mean(pruned):.3f} with the best head alone against {np.mean(whole):.3f} of the "
                f"same {len(pruned)} networks whole."
            )
            interval = bootstrap_interval(lost)
            yield Part(group.name, same(interval), float(lost.mean()), interval, "networks", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        pairs = [(group.name, *pair) for group in self.groups for pair in group.outcomes.items() if pair[1]]
        return {
            "success": [report.success_row(*pair) for pair in pairs],
            "failures": [row for group in self.groups for row in report.failure_rows(group)],
            "heads": [report.head_row(group.name, start) for group in self.groups for start in group.starts],
            "pruning": self.pruning,
        }

    def run_tables(self) -> dict[str, Table]:
        """``curves``: every measurement of networks with random heads and of combinations."""
        return {
            "curves": [
                {"variant": group.name, **row}
                for group in self.groups
                for outcomes in group.outcomes.values()
                for row in curve_table(outcomes)
            ]
        }

    def figures(self) -> Figures:
        """The paper's curves, failure against the number of heads, and heads alone."""
        titles = {group.name: group.variant.title for group in self.groups}
        drawn: dict[str, alt.TopLevelMixin] = {"curves": report.combination_curves(self.run_tables()["curves"], titles)}
        if failures := self.tables()["failures"]:
            drawn["failures"] = report.failures_by_heads(failures, titles)
        if self.pruning:
            drawn["pruning"] = report.heads_alone(self.pruning)
        return drawn

    def summary(self) -> str:
        success = self.tables()["success"]
        return " ".join(sentence for group in self.groups for sentence in report.in_words(group, success, self.pruning))

    def notes(self) -> list[str]:
        return [
            f"One body (seed {heads.BODY}) is shared by all networks, so intervals are over heads and data, for this "
            "body.",
            "Every combination has data of its own, on which no head was screened; the released code trains all of "
            "them on the data of its first screening.",
            "A head's score and projection have no bias here; in the released code they have one.",
            "Accuracy is measured on 50 fresh sequences at every evaluation; in the released code on 400 fixed ones.",
            "A single random head is one of the first screened, on the first data seed.",
            "Pruned networks are measured on 100 fresh sequences; head and size of context are chosen on 100 others. A "
            "head alone contributes to the context what it did before, or, for all, so many times that as there were "
            "heads.",
            *self.at_preset(
                quick="quick: permutations of 12 words, 32 hidden units, combinations of three heads; it shows how the "
                "experiment goes and decides nothing.",
                reduced="reduced: the released variant alone, without the text's; 10 bad and 6 good heads instead of "
                "14 and 8; 20 runs instead of 60 with 1, 2 and 4 heads; networks with one good head, and those with "
                "random heads from the eleventh on, end once they have learned.",
                paper="Single heads, and networks with 2 or 4 random heads, end once they have learned.",
            ),
        ]

    def seeds(self) -> dict[str, list[int]]:
        return {
            f"{group.name}, {label} heads": chosen
            for group in self.groups
            for label, chosen in (("good", group.good), ("bad", group.bad))
        }


def setting_of(variant: Variant, setting: str | int) -> str:
    """What a setting of a variant is called; a number means single heads on that data seed."""
    return f"{variant.name}: {setting if isinstance(setting, str) else f'heads alone, data seed {setting}'}"


# --- verdicts


def nearly_always(name: str, group: Sequence[bool]) -> Part:
    """Holds if the success rate's lower bound is above 0.8; fails if its upper bound is below."""
    count, n = sum(group), len(group)
    if not n:
        return missing(name, "combinations")
    detail, interval = f"{count} of {n} combinations learned.", wilson(count, n)
    return Part(name, higher(interval, NEARLY_ALWAYS), count / n, interval, "combinations", detail)


def falls_geometrically(name: str, failures: Mapping[int, tuple[int, int]], law: Geometric | None) -> Part:
    """Holds if the fit is not rejected, every failure rate's interval holds q^K, and q is neither 0 nor 1.

    Needs at least three numbers of heads with at least 20 runs each; fails where the fit is rejected.
    """
    if law is None:
        return missing(name, "runs")
    intervals = {k: wilson(*pair) for k, pair in failures.items()}
    met = all(low <= law.q**k <= high for k, (low, high) in intervals.items())
    verdict: Verdict = "undecided"
    if len(failures) >= 3 and all(n >= LEAST for _, n in failures.values()):
        if law.goodness < 0.05:
            verdict = "fails"
        elif met and law.interval[0] > 0 and law.interval[1] < 1:
            verdict = "holds"
    counts = ", ".join(f"{failed} of {n} at K = {k}" for k, (failed, n) in failures.items())
    detail = f"Failures: {counts}; q = {law.q:.2f}, goodness of fit p = {law.goodness:.2g}."
    return Part(name, verdict, law.q, law.interval, "runs", detail)


def same(interval: tuple[float, float] | None) -> Verdict:
    """Holds if the whole interval lies within 2 points of 0; fails if it lies below -2."""
    inside = between(interval, -MARGIN, MARGIN)
    return inside if inside == "holds" else "fails" if lower(interval, -MARGIN) == "holds" else "undecided"


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
    checkpoint = run.load(steps[-1])  # and none before it: where these are damaged, the run is trained again
    spec, task = outcome.spec, task_of(outcome.spec).build()
    assert spec is not None
    network = build_problem(spec).model
    assert isinstance(network, Seq2Seq)
    network.load_state_dict(
        {name.removeprefix("model."): value for name, value in checkpoint.tensors.items() if name.startswith("model.")}
    )
    purposes = ("choosing", "measuring")
    return prune(network, *(task.batch(SEQUENCES, numpy_generator(spec.data_seed, "pruning", one)) for one in purposes))
