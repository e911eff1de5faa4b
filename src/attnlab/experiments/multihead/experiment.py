"""Several heads (P3 5.2, Figure 2 right): they help by luck of initialisation, not by what they can express.

A start of a single head is good or bad: it learns permutations within 200 updates or it does not, whatever the data
seed. Networks of eight heads are put together from starts whose label is known, or from random ones. Which runs these
are, and how they are pruned, is in `heads`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import altair as alt
import numpy as np

from attnlab.experiments.multihead import heads
from attnlab.experiments.multihead.heads import DATA_SEEDS, RELEASED, SAMPLES, SCALES, Group, Sample, Start, Variant
from attnlab.families.copying.success import WITHIN
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Figures, Order, Table, claim
from attnlab.lab.outcomes import Outcome, Runs, curve_table, learned, learned_steps, median, rate_of, rates_in_words
from attnlab.lab.rules import (
    LEAST,
    Estimate,
    all_of,
    as_good_as,
    directed,
    estimate_row,
    higher,
    lower,
    missing,
    none_of,
    of_rate,
)
from attnlab.pages.charts import COLOURS, INK, SIZE, attention_profiles, curves, hue, panels, rounded, shares
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import bootstrap_difference, bootstrap_interval
from attnlab.stats.geometric import Geometric, fit_geometric
from attnlab.stats.proportions import wilson

COMBINATIONS = {RELEASED: LEAST, heads.TEXT: 10}
"""Combinations of a variant on which "always" and "never" can be said to hold."""
MOSTLY = 0.5
VARIANTS = {variant.name: variant for variant in COMBINATIONS}
NEARLY_ALWAYS = 0.8
MARGIN = 0.02
"""Accuracies that differ by no more than this are the same."""
FEWEST = 5
"""Fewest networks on each side when accuracies are compared."""


class Multihead(Experiment):
    """Figure 2 right, and failure against the number of heads."""

    name = "multihead"
    title = "Why several heads help: luck of initialisation"
    source = "P3 5.2, Figure 2 right"
    decides_at = ("reduced", "paper")
    samples: ClassVar[Mapping[Preset, Mapping[Variant, Sample]]] = SAMPLES
    """Its variants and how many runs of each, by preset."""

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        plans = [heads.planned(order, *pair, done) for pair in self.samples[order.preset].items()]
        return [job for screened, combined in plans for job in (*screened.jobs, *combined.values())]

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """The plan of a variant whose heads are known; of the others as many heads screened as may be, and all of them
        confirmed: each may turn out neither good nor bad.
        """
        jobs, scale = [], SCALES[order.preset]
        for variant, sample in self.samples[order.preset].items():
            screened, combined = heads.planned(order, variant, sample, done)
            alone = screened.jobs
            if not combined:
                pairs = [(head, seed) for head in range(sample.limit) for seed in DATA_SEEDS]
                alone = [heads.screening_job(scale, variant, head, seed, whole=True) for head, seed in pairs]
                combined = heads.combination_jobs(order, variant, sample, range(sample.bad), range(sample.good))
            jobs += [*alone, *combined.values()]
        return jobs

    def outcomes(self, order: Order, done: Mapping[str, Trained]) -> Iterator[Outcome]:
        """Heads alone on each data seed, then combinations; settings are named as in `setting_of`."""
        for variant, sample in self.samples[order.preset].items():
            screened, combined = heads.planned(order, variant, sample, done)
            for start in screened.starts:
                for seed, run in start.runs.items():
                    spec = heads.make_spec(SCALES[order.preset], variant, [start.head], seed)
                    yield Outcome(setting_of(variant, seed), start.head, run, spec)
            for (setting, number), job in combined.items():
                yield Outcome(setting_of(variant, setting), number, done[job.spec.id], job.spec)

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.groups = [self.group(*pair, runs) for pair in self.samples[self.order.preset].items()]
        self.pruning = [row for group in self.groups for row in heads.pruning_rows(group)]

    def group(self, variant: Variant, sample: Sample, runs: Runs) -> Group:
        """What the runs of a variant say."""
        most = SCALES[self.order.preset].heads
        alone = {seed: {one.seed: one for one in runs[setting_of(variant, seed)]} for seed in DATA_SEEDS}
        starts = [
            Start(head, {seed: group[head].run for seed, group in alone.items() if head in group})
            for head in alone[DATA_SEEDS[0]]
        ]
        # A sample of fixed size: heads screened beyond it were screened because of what came before.
        singles = [replace(one, setting=heads.several(1)) for one in alone[DATA_SEEDS[0]].values()][: sample.singles]
        outcomes = {heads.several(1): singles} | {
            name: [replace(one, setting=name) for one in runs[setting_of(variant, name)]]
            for name in (*map(heads.several, sample.several), *heads.SCENARIOS)
        }
        random = {heads.several(k): k for k in range(1, most)} | {"all random": most}
        failures = {
            k: (len(group) - sum(learned(group)), len(group))
            for name, k in random.items()
            if (group := outcomes.get(name))
        }
        good, bad = heads.confirmed_heads(starts, "good", sample.good), heads.confirmed_heads(starts, "bad", sample.bad)
        return Group(variant, starts, good, bad, outcomes, failures, fit_geometric(failures) if failures else None)

    # --- rules

    def combinations(self, setting: str) -> Iterator[tuple[str, int, list[bool]]]:
        """By the table of successes: each variant, how many combinations it needs, and which of them learned."""
        for name in dict.fromkeys(row["variant"] for row in self.record.rows("success")):
            rows = self.record.rows("success", variant=name, setting=setting)
            each = [[True] * row["learned"] + [False] * (row["runs"] - row["learned"]) for row in rows]
            yield name, COMBINATIONS[VARIANTS[name]], each[0] if each else []

    @claim("heads-all-bad", reads=("success",))
    def bad_heads_fail(self) -> Iterator[Part]:
        """The caption's words: likely to fail, more often than not. With our margin: always."""
        for name, least, group in self.combinations("all bad"):
            part = none_of(name, group, least=least, over="combinations")
            yield directed(part, lower(wilson(sum(group), len(group)), MOSTLY) if group else "undecided")

    @claim("heads-one-good", reads=("success",))
    def one_good_head_suffices(self) -> Iterator[Part]:
        """The caption's words: likely to learn, more often than not. With our margin: always."""
        for name, least, group in self.combinations("one good"):
            part = all_of(name, group, least=least, over="combinations")
            yield directed(part, higher(wilson(sum(group), len(group)), MOSTLY) if group else "undecided")

    @claim("heads-random", reads=("success", "failures"))
    def random_heads_learn(self) -> Iterator[Part]:
        for name, _, random in self.combinations("all random"):
            if name == RELEASED.name:
                rule = partial(higher, bound=NEARLY_ALWAYS)
                yield of_rate("eight random heads learn", random, rule, " learned", over="combinations")
                rows = self.record.rows("failures", variant=name)
                failures = {row["heads"]: (row["failed"], row["runs"]) for row in rows}
                law = fit_geometric(failures) if failures else None
                yield falls_geometrically("failure falls off as q^K", failures, law)

    @claim("heads-not-expressiveness", reads=("accuracies",))
    def one_head_is_as_accurate(self) -> Iterator[Part]:
        """Good heads alone against random heads together, both at step 200."""
        for row in self.record.rows("accuracies"):
            if row["value"] is None:
                yield missing(row["what"], row["over"], row["detail"])
                continue
            found = Estimate.of(row, over=row["over"])
            verdict = as_good_as(found.interval, MARGIN)
            yield Part(row["what"], verdict, found.value, found.interval, found.over, row["detail"])

    @claim("heads-prunable", reads=("success", "pruning"))
    def best_head_alone_is_as_accurate(self) -> Iterator[Part]:
        """Each network pruned to its best head against itself whole."""
        for name in dict.fromkeys(row["variant"] for row in self.record.rows("success")):
            best = self.record.rows("pruning", variant=name, best=True)
            if len(best) < FEWEST:
                few = f"{len(best)} networks have learned; at least {FEWEST} are needed."
                yield missing(name, "networks", few)
                continue
            pruned, whole = ([row[name] for row in best] for name in ("best_accuracy", "whole"))
            lost = np.subtract(pruned, whole)
            detail = (
                f"Mean accuracy {np.mean(pruned):.3f} with the best head alone against {np.mean(whole):.3f} of the "
                f"same {len(pruned)} networks whole."
            )
            interval = bootstrap_interval(lost)
            yield Part(name, as_good_as(interval, MARGIN), float(lost.mean()), interval, "networks", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        pairs = [(group.name, *pair) for group in self.groups for pair in group.outcomes.items() if pair[1]]
        return {
            "success": [success_row(*pair) for pair in pairs],
            "failures": [row for group in self.groups for row in heads.failure_rows(group)],
            "heads": [heads.head_row(group.name, start) for group in self.groups for start in group.starts],
            "accuracies": [accuracy_row(group) for group in self.groups],
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
        drawn: dict[str, alt.TopLevelMixin] = {"curves": combination_curves(self.run_tables()["curves"], titles)}
        if failures := self.tables()["failures"]:
            drawn["failures"] = failures_by_heads(failures, titles)
        if self.pruning:
            drawn["pruning"] = heads_alone(self.pruning)
        combined = [
            {**row, "setting": f"{titles[row['variant']]}: {row['setting']}"}
            for row in self.run_tables()["curves"]
            if row["setting"] in heads.SCENARIOS
        ]
        return drawn | attention_profiles(combined)

    def summary(self) -> str:
        success = self.tables()["success"]
        return " ".join(sentence for group in self.groups for sentence in in_words(group, success, self.pruning))

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


# --- tables and words


def accuracy_row(group: Group) -> dict[str, Any]:
    """How much more accurate good heads alone are than random heads together that have learned, both at step 200."""
    ours, theirs = group.at_end()
    if min(len(ours), len(theirs)) < FEWEST:
        few = f"{len(ours)} and {len(theirs)} networks; at least {FEWEST} each are needed."
        return estimate_row(group.name, None, "networks", few)
    estimate = Estimate(float(np.mean(ours) - np.mean(theirs)), bootstrap_difference(ours, theirs))
    detail = f"Mean accuracy {np.mean(ours):.4f} of {len(ours)} against {np.mean(theirs):.4f} of {len(theirs)}."
    return estimate_row(group.name, estimate, "networks", detail)


def success_row(variant: str, setting: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many networks learned, with a Wilson interval, and how soon."""
    steps, n = learned_steps(outcomes), len(outcomes)
    row = {"variant": variant, "setting": setting, "runs": n, "learned": len(steps)}
    return {**row, **rate_of(len(steps), n), "median_step": median(steps)}


def in_words(group: Group, success: Table, pruning: Table) -> Iterator[str]:
    """A variant in plain sentences."""
    confirmed = [start for start in group.starts if start.confirmed]
    alike = sum(start.label != "mixed" for start in confirmed)
    released = sum(start.released_label == "bad" for start in confirmed)
    bad = sum(start.label == "bad" for start in confirmed)
    yield (
        f"{group.variant.title[0].upper()}{group.variant.title[1:]}. {len(group.starts)} heads were screened and "
        f"{len(confirmed)} confirmed; {alike} of these do the same on all three data seeds. {bad} are bad; by the "
        f"released rule (accuracy below 0.6) {released} are."
    )
    for row in success:
        if row["variant"] == group.name:
            yield rates_in_words([row], what="networks learned")
    if group.law is not None and len(group.failures) > 1:
        yield (
            f"Failures with K random heads fit q^K with q = {group.law.q:.2f} ({group.law.interval[0]:.2f} to "
            f"{group.law.interval[1]:.2f}); goodness of fit p = {group.law.goodness:.2g}."
        )
    best = [row for row in pruning if row["variant"] == group.name and row["best"]]
    if best:
        yield (
            f"{len(best)} networks that have learned, pruned to their best head: mean accuracy "
            f"{np.mean([row['best_accuracy'] for row in best]):.2f} against "
            f"{np.mean([row['whole'] for row in best]):.2f} whole."
        )
    if right := [row for row in best if row["setting"] == "one good"]:
        count = sum(row["good"] for row in right)
        yield f"The best head is the one that started good in {count} of {len(right)} of them."


# --- figures


def combination_curves(rows: Table, titles: Mapping[str, str]) -> alt.TopLevelMixin:
    """Accuracy of every combination, in the axes and colours of the paper's Figure 2 right, a panel a variant."""
    shown = [
        {"variant": titles[row["variant"]], "scenario": row["setting"], "combination": row["seed"]}
        | {name: row[name] for name in ("step", "accuracy")}
        for row in rows
        if row["setting"] in heads.SCENARIOS and row["step"] <= WITHIN
    ]
    layer = curves(y="accuracy", group="combination", y_title="token accuracy")
    layer = layer.encode(color=hue("scenario", COLOURS[:3], domain=heads.SCENARIOS))
    return panels(shown, column="variant", layer=layer, title="Accuracy of every combination of heads")


def failures_by_heads(rows: Table, titles: Mapping[str, str]) -> alt.TopLevelMixin:
    """How many networks of K random heads fail, with 95 % intervals, and the fitted law q^K with its own."""
    shown = [{**row, "variant": titles[row["variant"]]} for row in rows]
    for row in rows:
        if row["heads"] == 1:  # where the law gives q itself, and its interval
            law = {name: row[name] for name in ("fitted", "fitted_low", "fitted_high")}
            most = max(other["heads"] for other in rows if other["variant"] == row["variant"])
            shown += [
                {"variant": titles[row["variant"]], "heads": k, **{name: value**k for name, value in law.items()}}
                for k in np.arange(1, most, 0.25).tolist()
            ]
    scale, axis = alt.Scale(domainMin=0), alt.Axis(tickMinStep=1)
    base = alt.Chart().encode(x=alt.X("heads:Q", title="random heads K", scale=scale, axis=axis))
    band = base.mark_area(opacity=0.2, color=COLOURS[1])
    points = base.mark_point(filled=True, size=60, color=COLOURS[0])
    layers = alt.layer(
        band.encode(y=shares("fitted_low", "share of networks that fail"), y2="fitted_high:Q"),
        base.mark_line(color=COLOURS[1]).encode(y="fitted:Q"),
        base.mark_rule(color=COLOURS[0]).encode(y="low:Q", y2="high:Q"),
        points.encode(y="rate:Q", tooltip=["heads:Q", "failed:Q", "runs:Q", "fitted:Q"]),
    )
    title = "Failures within 200 updates (points) and the law q^K (line)"
    return panels(shown, column="variant", layer=layers.properties(**SIZE), title=title)


def heads_alone(rows: Table) -> alt.TopLevelMixin:
    """Accuracy of trained networks whole, with their best head alone, and with any other of their heads alone."""
    order = ["all heads", "best head alone", "any other head alone"]
    shown = []
    for row in rows:
        other = max(row["alone"], row["for_all"])
        values = (row["whole"], row["best_accuracy"], None) if row["best"] else (None, None, other)
        of_row = {"panel": f"{row['variant']}, {row['setting']}", "combination": row["combination"]}
        shown += [
            {**of_row, "what": what, "accuracy": value}
            for what, value in zip(order, values, strict=True)
            if value is not None
        ]
    ticks = alt.Chart().mark_tick(thickness=1.5, opacity=0.6).properties(**SIZE)
    layer = ticks.encode(
        x=alt.X("what:N", title=None, sort=order, axis=alt.Axis(labelAngle=-30)),
        y=shares("accuracy", "token accuracy"),
        color=alt.Color("what:N", legend=None, scale=alt.Scale(domain=order, range=[INK, *COLOURS[:2]])),
        tooltip=["combination:Q", "what:N", rounded("accuracy")],
    )
    title = "Trained networks pruned to one head, without more training"
    return panels(shown, column="panel", layer=layer, title=title)
