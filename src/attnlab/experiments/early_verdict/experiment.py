"""Early verdict: how soon, and from what, can one tell whether a run will learn? (Ours, after P3 3.3.)

Runs of the other experiments on copying are followed from step 20 on. A logistic regression on what was measured so far
says how likely they are to have learned by step 200; it is fitted to half of the seeds and tried on the other half, and
on families of distributions that it never saw. What comes out is the verdict that training shows
(`attnlab.families.copying.early_verdict`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from attnlab.errors import UsageError
from attnlab.experiments.early_verdict.measures import (
    EARLIEST,
    EARLY,
    LEFT_OUT,
    OTHER_HALF,
    SURE,
    Estimate,
    Evidence,
    Judged,
    area,
    calibration_error,
    lead,
    make_judged,
    mean_area,
    spared,
    sure_at,
)
from attnlab.experiments.early_verdict.tables_and_figures import (
    all_tables,
    area_figure,
    chance_figure,
    lead_figure,
    reliability_figure,
)
from attnlab.families.copying.early_verdict import IN_A_ROW, chance_of
from attnlab.families.copying.spec import CopyingSpec, DistributionSpec, PermutationsSpec, SelectionsSpec
from attnlab.families.copying.success import EVERY, LEARNED, WITHIN
from attnlab.families.copying.verdict_fit import (
    FEATURE_SETS,
    PENALTY,
    Followed,
    judge_halves,
    judge_left_out,
    make_cases,
    make_verdict,
    stops,
)
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Figures, Order, Setting, Table, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.rules import Interval, above, higher, lower, missing
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import value_and_interval
from attnlab.stats.rates import wilson

# --- settings

BY: dict[Preset, int] = {"quick": 50, "reduced": WITHIN, "paper": WITHIN}
"""The step by which a run is to have learned."""
SOURCES: dict[Preset, dict[str, Preset]] = {
    "quick": {},
    "reduced": {"copying": "reduced", "forecast-copying": "reduced", "mixture": "reduced"},
    "paper": {"copying": "paper", "forecast-copying": "paper", "mixture": "paper", "symmetry": "reduced"},
}
"""Whose runs are followed at each preset, and at which of their own; at ``quick`` the experiment has its own."""
FAMILIES = {
    "permutations": "permutations, alone or with a share of others",
    "mixture": "permutations, alone or with a share of others",
    "selections": "k of n",
    "independent": "independent words",
    "zipf": "Zipf",
    "permutation-sets": "either of two sets",
}
"""By the kind of distribution."""
LEAST = 10
"""Fewest runs of either outcome with which a part is decided."""
AREA, ERROR, GAIN, RIGHT, WRONGLY_ENDED, SPARED = 0.8, 0.1, 0.01, 0.8, 0.05, 0.5
"""The bounds of the claims, in their order."""


def small(name: str, distribution: DistributionSpec, quick: int) -> Setting:
    """Runs on short sequences that are this experiment's own."""
    task = CopyingSpec(distribution=distribution)
    schedule = Schedule.every(EVERY, steps=BY["quick"], stop_at=LEARNED)
    return Setting(name, lambda seed: RunSpec(task=task, init_seed=seed, data_seed=seed), {"quick": quick}, schedule)


class EarlyVerdict(Experiment):
    """Fitted to half of the runs, tried on the rest."""

    name = "early-verdict"
    title = "How early can one tell whether a run will learn?"
    source = "ours, after P3 3.3"
    settings = (
        small("permutations of 10", PermutationsSpec(words=10), 6),
        small("10 of 15", SelectionsSpec(length=10, words=15), 4),
    )
    decides_at = ("reduced", "paper")
    recalls = True

    def jobs(self, order: Order) -> list[Job]:
        return [setting.job(seed, order.preset) for setting, seed in planned(order)]

    def outcomes(self, order: Order, done: Mapping[str, Trained]) -> Iterator[Outcome]:
        for setting, seed in planned(order):
            spec = setting.spec(seed)
            yield Outcome(setting.name, seed, done[spec.id], spec)

    # --- measures

    def measure(self, runs: Runs) -> None:
        by_id = {one.spec.id: one for one in runs.all() if one.spec is not None}
        ordered = [by_id[setting.spec(seed).id] for setting, seed in planned(self.order)]
        self.judge([follow(one, BY[self.order.preset]) for one in ordered])

    def judge(self, runs: Sequence[Followed]) -> None:
        """Fit every feature set, to the fitting half and without each family, and judge what a fit did not see."""
        self.evidence = judge_all(runs, self.order.preset)
        self.half, self.left_out = (self.evidence.judged[way, "all"] for way in (OTHER_HALF, LEFT_OUT))

    # --- rules

    @claim("verdict-tells-early")
    def known_early(self) -> Iterator[Part]:
        return areas(self.half)

    @claim("verdict-carries-over")
    def carries_over(self) -> Iterator[Part]:
        return areas(self.left_out)

    @claim("verdict-calibrated")
    def calibrated(self) -> Iterator[Part]:
        for name, chosen in ((f"step {EARLY}", self.half.at(EARLY)), ("all steps", self.half.at())):
            counts = self.half.outcomes(chosen)
            detail = f"{int(chosen.sum())} chances of {sum(counts)} runs, {counts[0]} of which learned."
            error = value_and_interval(calibration_error(self.half, chosen))
            yield decided(name, error, counts, detail, partial(lower, bound=ERROR))

    @claim("probe-adds-to-loss")
    def probe_adds(self) -> Iterator[Part]:
        for way in (OTHER_HALF, LEFT_OUT):
            pair = [self.evidence.judged[way, features] for features in ("with the probe", "loss and entropy")]
            yield adds(way, *pair)

    @claim("verdict-before-accuracy")
    def sure_before_accuracy(self) -> Iterator[Part]:
        return before_accuracy(self.half, self.evidence.runs)

    @claim("hopeless-runs-known")
    def hopeless_known(self) -> Iterator[Part]:
        return giving_up(self.half, self.evidence.verdict.give_up_below, self.evidence.verdict.by)

    # --- tables, figures, words

    @cached_property
    def own_tables(self) -> dict[str, Table]:
        """Made once: tables and figures show the same."""
        return all_tables(self.evidence)

    def tables(self) -> Mapping[str, Table]:
        return self.own_tables

    def run_tables(self) -> dict[str, Table]:
        """None beside its own: the runs are other experiments', whose results have their curves."""
        return {}

    def figures(self) -> Figures:
        tables = self.own_tables
        return {
            "areas": area_figure(tables["areas"]),
            "chances": chance_figure(tables["chances"], self.evidence.verdict.by),
            "reliability": reliability_figure(tables["reliability"]),
            "lead": lead_figure(tables["runs"]),
        }

    def summary(self) -> str:
        verdict, cases = self.evidence.verdict, self.evidence.cases
        sentences = [
            f"{len(self.evidence.runs)} runs of {len(set(cases.distribution))} distributions were followed, "
            f"{int(cases.learned.sum())} of which had learned to copy by step {verdict.by}."
        ]
        if min(self.half.outcomes(self.half.at())) < LEAST:
            return f"{sentences[0]} These are too few to say how good a verdict is; the tables show how it is made."
        wanted = {
            "verdict-tells-early": "Area under the curve at step 30 on the half of the seeds not fitted to, {name}",
            "verdict-carries-over": "On families of distributions that were left out, {name}",
            "probe-adds-to-loss": "What the probe adds to the area that loss and entropy have, {name}",
            "verdict-before-accuracy": "The verdict is sure before accuracy passes one half (updates; {name})",
            "hopeless-runs-known": "Giving up below a chance of " + f"{verdict.give_up_below:.1%}" + ", {name}",
        }
        for finding in self.findings():
            for part in finding.parts[:2]:
                if finding.claim in wanted and part.effect is not None and part.interval is not None:
                    low, high = part.interval
                    what = wanted[finding.claim].format(name=part.name)
                    sentences.append(f"{what}: {part.effect:.2f} (95 % interval {low:.2f} to {high:.2f}).")
        return " ".join(sentences)

    def notes(self) -> list[str]:
        verdict = self.evidence.verdict
        others = (
            "All runs are those of the experiments copying, forecast-copying, mixture and symmetry, as far as the "
            "preset has them. Distributions that every run learns are kept: a verdict must not find them hopeless."
        )
        presets: dict[Preset, list[str]] = {
            "quick": [
                "quick: runs of its own on short sequences, and whether they have learned by step 50 instead of 200: "
                "it shows how the experiment goes, and says nothing about the verdict that comes with attnlab."
            ],
            "reduced": [others, "reduced: the reduced runs of the others, and none of symmetry's."],
            "paper": [others, "paper: the others' runs at paper, those of symmetry at reduced."],
        }
        return [
            f"The regression: scikit-learn's, C = {PENALTY:g} on standardised features, one weight a feature for all "
            f"steps, and step and its square, on a logarithmic scale, beside them. Fitted to {verdict.runs} runs.",
            "Of seeds 0 and 1, 2 and 3, and so on one each, drawn once, belongs to the fitting half in all "
            "distributions.",
            "Judged at a step are the runs that have not learned by then, so those that are judged late are the hard "
            "ones.",
            f"A run is given up at {IN_A_ROW} evaluations in a row below a chance of {verdict.give_up_below:.1%}.",
            *presets[self.order.preset],
        ]


def planned(order: Order) -> list[tuple[Setting, int]]:
    """Every run, once, under the name of the first experiment that has it.

    It may end once it has learned; where another experiment went on with it that changes nothing.
    """
    if order.seeds == 1:
        raise UsageError("early-verdict is fitted to one half of the seeds and tried on the other; --seeds 2 is least.")
    if order.preset == "quick":
        return [(setting, seed) for setting in EarlyVerdict.settings for seed in setting.seeds_at(order)]
    schedule = Schedule.every(EVERY, steps=BY[order.preset], stop_at=LEARNED)
    runs: dict[str, tuple[Setting, int]] = {}
    for name, preset in SOURCES[order.preset].items():
        for setting in EXPERIMENTS[name].settings:
            for seed in setting.seeds_at(replace(order, preset=preset)):
                spec = setting.spec(seed)
                if chance_of(spec) is not None:  # mixture has proxies, which the verdict is not about
                    runs.setdefault(spec.id, (replace(setting, schedule=schedule), seed))
    return list(runs.values())


def follow(outcome: Outcome, by: int) -> Followed:
    """One run with what it is called, and how it ended."""
    assert outcome.spec is not None
    task, chance = outcome.spec.task, chance_of(outcome.spec)
    assert isinstance(task, CopyingSpec)
    assert chance is not None
    rows = {int(row["step"]): row for row in outcome.run.rows}
    family = FAMILIES[task.distribution.kind]
    return Followed(outcome.setting, family, outcome.seed, chance, rows, outcome.learned_within(by))


def judge_all(runs: Sequence[Followed], preset: Preset) -> Evidence:
    """Every feature set fitted, to the fitting half and without each family, and what each fit says of other runs."""
    cases = make_cases(runs, BY[preset])
    fitting = cases.of(cases.fitting)
    chances = {}
    for name, measures in FEATURE_SETS.items():
        chances[OTHER_HALF, name] = judge_halves(cases, measures)
        chances[LEFT_OUT, name] = judge_left_out(cases, cases.family, fitting, measures)
    judged = {way: make_judged(cases, chance) for way, chance in chances.items()}
    return Evidence(runs, cases, judged, make_verdict(cases, preset=preset, by=BY[preset]))


# --- parts of claims


def areas(judged: Judged) -> Iterator[Part]:
    """The area under the curve at step 30, over all pairs and over those of one distribution."""
    for name, paired in (("all pairs of runs", False), ("pairs of one distribution", True)):
        counts = judged.outcomes(judged.at(EARLY), paired=paired)
        detail = f"At step {EARLY}, {counts[0]} runs that learned against {counts[1]} that did not."
        estimate = value_and_interval(area(judged, EARLY, paired=paired))
        yield decided(name, estimate, counts, detail, partial(higher, bound=AREA))


def adds(way: str, more: Judged, less: Judged) -> Part:
    """Whether the probe adds to loss and entropy."""
    with_it, without = (mean_area(judged, EARLIEST) for judged in (more, less))
    estimate = value_and_interval(with_it - without)
    inside = value_and_interval(np.subtract(*(mean_area(judged, EARLIEST, paired=True) for judged in (more, less))))
    at_steps = [more.outcomes(more.at(step)) for step in EARLIEST]
    counts = min(learned for learned, _ in at_steps), min(failed for _, failed in at_steps)
    detail = f"Area {with_it[0]:.3f} with the probe, {without[0]:.3f} with loss and entropy alone."
    if inside is not None:
        detail += f" Over pairs of one distribution it adds {inside[0]:.3f} ({inside[1][0]:.3f} to {inside[1][1]:.3f})."

    def verdict(interval: Interval) -> Verdict:
        if estimate is not None and interval[0] > 0 and estimate[0] >= GAIN:
            return "holds"
        return "fails" if interval[1] < GAIN else "undecided"

    return decided(way, estimate, counts, detail, verdict)


def before_accuracy(judged: Judged, runs: Sequence[Followed]) -> Iterator[Part]:
    """How long before accuracy the verdict is sure, and how often it is right."""
    sure = sure_at(judged)
    leads = {run: by for run, step in sure.items() if (by := lead(runs[run], step)) is not None}
    doubtful = {run.distribution for run in runs if run.learned_at is None}
    groups = {
        "all that learn": list(leads.values()),
        "distributions of which some fail": [by for run, by in leads.items() if runs[run].distribution in doubtful],
    }
    for name, values in groups.items():
        detail = f"Median {np.median(values):.0f} updates, {len(values)} runs." if values else ""
        yield above(name, values, 0.0, detail, least=LEAST, over="runs")
    trusted = [runs[run].learned_at is not None for run, step in sure.items() if step is not None]
    yield rate("sure is right", trusted, f"from a chance of {SURE:.0%} on", partial(higher, bound=RIGHT))


def giving_up(judged: Judged, below: float, by: int) -> Iterator[Part]:
    """Whether runs that learn are kept, and how much is spared on those that do not."""
    ended = stops(judged.cases, judged.chance, below)
    wrong = [step is not None for run, step in ended.items() if judged.cases.learned[run]]
    saved = [spared(step, by) for run, step in ended.items() if not judged.cases.learned[run]]
    rule = partial(lower, bound=WRONGLY_ENDED)
    yield rate("runs that learn and are ended", wrong, f"below {below:.1%}", rule, LEAST)
    detail = f"Ended below {below:.1%}; {sum(part > 0 for part in saved)} of {len(saved)} runs that fail were."
    yield above("share spared of runs that fail", saved, SPARED, detail, least=LEAST, over="runs")


def decided(
    name: str, estimate: Estimate, counts: tuple[int, int], detail: str, rule: Callable[[Interval], Verdict]
) -> Part:
    """A part decided by an interval over runs, if enough of them learned and enough did not."""
    if estimate is None:
        return missing(name, "runs", "All runs ended alike.")
    value, interval = estimate
    if min(counts) < LEAST:
        detail += f" At least {LEAST} runs of either outcome are needed, not {counts[0]} and {counts[1]}."
    return Part(name, rule(interval) if min(counts) >= LEAST else "undecided", value, interval, "runs", detail)


def rate(name: str, happened: Sequence[bool], detail: str, rule: Callable[[Interval], Verdict], least: int = 1) -> Part:
    """A part decided by Wilson's interval of how often something happened."""
    if not happened:
        return missing(name, "runs", "No such run.")
    count, n = sum(happened), len(happened)
    interval = wilson(count, n)
    verdict = rule(interval) if n >= least else "undecided"
    return Part(name, verdict, count / n, interval, "runs", f"{count} of {n} runs, {detail}.")
