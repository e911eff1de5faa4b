"""Early verdict: how soon, and from what, can one tell whether a run will learn? (Ours, after P3 3.3.)

Runs of the other experiments on copying are followed from step 20 on. A logistic regression on what was measured so far
says how likely they are to have learned by step 200; it is fitted to half of the seeds and tried on the other half, and
on families of distributions that it never saw. What comes out is the verdict that training shows
(`attnlab.families.copying.early_verdict`).
"""

from collections.abc import Mapping, Sequence

from attnlab.errors import UsageError
from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.copying.experiment import make_spec
from attnlab.experiments.early_verdict.claims import LEAST, LEFT_OUT, OTHER_HALF, Evidence, decide
from attnlab.experiments.early_verdict.figures import (
    area_figure,
    chance_figure,
    chance_table,
    lead_figure,
    reliability_figure,
)
from attnlab.experiments.early_verdict.fit import (
    FEATURE_SETS,
    PENALTY,
    Followed,
    case_table,
    judge_halves,
    judge_left_out,
    make_cases,
    make_verdict,
)
from attnlab.experiments.early_verdict.measures import make_judged
from attnlab.experiments.early_verdict.tables import (
    area_table,
    calibration_table,
    coefficient_table,
    difference_table,
    family_table,
    reliability_table,
    run_table,
    stop_table,
)
from attnlab.experiments.forecast_copying import experiment as forecast_copying
from attnlab.experiments.mixture import experiment as mixture
from attnlab.experiments.symmetry import experiment as symmetry
from attnlab.families.copying.early_verdict import IN_A_ROW, Verdict, chance_of
from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec, SelectionsSpec
from attnlab.lab.claims import Finding, Preset
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.smaller import undecided
from attnlab.lab.success import EVERY, LEARNED, WITHIN, Setting, first_learned
from attnlab.protocols import Row
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule

BY: dict[Preset, int] = {"quick": 50, "reduced": WITHIN, "paper": WITHIN}
"""The step by which a run is to have learned."""

FAMILIES = {
    "permutations": "permutations, alone or with a share of others",
    "mixture": "permutations, alone or with a share of others",
    "selections": "k of n",
    "independent": "independent words",
    "zipf": "Zipf",
    "permutation-sets": "either of two sets",
}
"""By the kind of distribution."""

SMALL = (
    Setting("permutations of 10", CopyingSpec(distribution=PermutationsSpec(words=10)), {"quick": 6}),
    Setting("10 of 15", CopyingSpec(distribution=SelectionsSpec(length=10, words=15)), {"quick": 4}),
)
SOURCES: dict[Preset, tuple[tuple[tuple[Setting, ...], Preset], ...]] = {
    "quick": ((SMALL, "quick"),),
    "reduced": (
        (copying.SETTINGS, "reduced"),
        (forecast_copying.SETTINGS, "reduced"),
        (mixture.SETTINGS, "reduced"),
    ),
    "paper": (
        (copying.SETTINGS, "paper"),
        (forecast_copying.SETTINGS, "paper"),
        (mixture.SETTINGS, "paper"),
        (symmetry.SETTINGS, "reduced"),
    ),
}
"""Whose runs are followed at each preset, and at which of their own."""


class EarlyVerdict(Experiment):
    """Fitted to half of the runs, tried on the rest."""

    name = "early-verdict"
    title = "How early can one tell whether a run will learn?"
    source = "ours, after P3 3.3"
    recalls = True

    def jobs(self, order: Order) -> list[Job]:
        return [make_job(setting, seed, BY[order.preset]) for setting, seed in planned(order)]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        by = BY[order.preset]
        runs = [follow(setting, seed, done[make_spec(setting, seed).id].rows, by) for setting, seed in planned(order)]
        evidence = judge_all(runs, order.preset)
        areas, trusted = area_table(evidence), reliability_table(evidence)
        followed, chances = run_table(evidence), chance_table(evidence.judged[OTHER_HALF, "all"], runs)
        findings = decide(evidence)
        return Result(
            summary=tell(evidence, findings),
            tables={
                "areas": areas,
                "differences": difference_table(evidence),
                "calibration": calibration_table(evidence),
                "families": family_table(evidence),
                "reliability": trusted,
                "stops": stop_table(evidence),
                "runs": followed,
                "chances": chances,
                "coefficients": coefficient_table(evidence.verdict),
                "cases": case_table(evidence.cases),
            },
            figures={
                "areas": area_figure(areas),
                "chances": chance_figure(chances, by),
                "reliability": reliability_figure(trusted),
                "lead": lead_figure(followed),
            },
            findings=undecided(findings) if order.preset == "quick" else findings,
            notes=notes(order, evidence.verdict),
            seeds=seeds(order),
        )


def planned(order: Order) -> list[tuple[Setting, int]]:
    """Every run, once, under the name of the first experiment that has it."""
    if order.seeds == 1:
        raise UsageError("early-verdict is fitted to one half of the seeds and tried on the other; --seeds 2 is least.")
    found: dict[str, tuple[Setting, int]] = {}
    for settings, preset in SOURCES[order.preset]:
        for setting in settings:
            for seed in order.first(range(setting.seeds[preset])):
                found.setdefault(make_spec(setting, seed).id, (setting, seed))
    return list(found.values())


def make_job(setting: Setting, seed: int, by: int) -> Job:
    """One run, which may end once it has learned; where another experiment went on with it that changes nothing."""
    schedule = Schedule.every(EVERY, steps=by, stop_at=LEARNED)
    return Job(f"{setting.name}, seed {seed}", make_spec(setting, seed), schedule)


def follow(setting: Setting, seed: int, rows: Sequence[Row], by: int) -> Followed:
    """One run with what it is called, and how it ended."""
    chance = chance_of(make_spec(setting, seed))
    assert chance is not None
    family = FAMILIES[setting.task.distribution.kind]
    return Followed(
        setting.name, family, seed, chance, {int(row["step"]): row for row in rows}, first_learned(rows, by)
    )


def judge_all(runs: Sequence[Followed], preset: Preset) -> Evidence:
    """Fit every feature set, to the fitting half and without each family, and judge what a fit did not see."""
    cases = make_cases(runs, BY[preset])
    fitting = cases.of(cases.fitting)
    chances = {}
    for name, measures in FEATURE_SETS.items():
        chances[OTHER_HALF, name] = judge_halves(cases, measures)
        chances[LEFT_OUT, name] = judge_left_out(cases, cases.family, fitting, measures)
    judged = {way: make_judged(cases, chance) for way, chance in chances.items()}
    return Evidence(runs, cases, judged, make_verdict(cases, preset=preset, by=BY[preset]))


def seeds(order: Order) -> dict[str, list[int]]:
    """The seeds of every distribution."""
    found: dict[str, list[int]] = {}
    for setting, seed in planned(order):
        found.setdefault(setting.name, []).append(seed)
    return {name: sorted(set(those)) for name, those in found.items()}


# --- words


def tell(evidence: Evidence, findings: Sequence[Finding]) -> str:
    """The result in plain words."""
    verdict, learned = evidence.verdict, int(evidence.cases.learned.sum())
    sentences = [
        f"{len(evidence.runs)} runs of {len(set(evidence.cases.distribution))} distributions were followed, {learned} "
        f"of which had learned to copy by step {verdict.by}."
    ]
    half = evidence.judged[OTHER_HALF, "all"]
    if min(half.outcomes(half.at())) < LEAST:
        return f"{sentences[0]} These are too few to say how good a verdict is; the tables show how it is made."
    wanted = {
        "verdict-tells-early": "Area under the curve at step 30 on the half of the seeds not fitted to, {name}",
        "verdict-carries-over": "On families of distributions that were left out, {name}",
        "probe-adds-to-loss": "What the probe adds to the area that loss and entropy have, {name}",
        "verdict-before-accuracy": "The verdict is sure before accuracy passes one half (updates; {name})",
        "hopeless-runs-known": "Giving up below a chance of " + f"{verdict.give_up_below:.1%}" + ", {name}",
    }
    for finding in findings:
        for part in finding.parts[:2]:
            if finding.claim in wanted and part.effect is not None and part.interval is not None:
                low, high = part.interval
                told = wanted[finding.claim].format(name=part.name)
                sentences.append(f"{told}: {part.effect:.2f} (95 % interval {low:.2f} to {high:.2f}).")
    return " ".join(sentences)


def notes(order: Order, verdict: Verdict) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        f"The regression: scikit-learn's, C = {PENALTY:g} on standardised features, one weight a feature for all "
        f"steps, and step and its square, on a logarithmic scale, beside them. Fitted to {verdict.runs} runs.",
        "Of seeds 0 and 1, 2 and 3, and so on one each, drawn once, belongs to the fitting half in all distributions.",
        "Judged at a step are the runs that have not learned by then, so those that are judged late are the hard ones.",
        f"A run is given up at {IN_A_ROW} evaluations in a row below a chance of {verdict.give_up_below:.1%}.",
        "All runs are those of the experiments copying, forecast-copying, mixture and symmetry, as far as the preset "
        "has them. Distributions that every run learns are kept: a verdict must not find them hopeless.",
    ]
    if order.preset == "quick":
        told[-1] = (
            "quick: runs of its own on short sequences, and whether they have learned by step 50 instead of 200: it "
            "shows how the experiment goes, and says nothing about the verdict that comes with attnlab."
        )
    if order.preset == "reduced":
        told.append("reduced: the reduced runs of the others, and none of symmetry's.")
    if order.preset == "paper":
        told.append("paper: the others' runs at paper, those of symmetry at reduced.")
    return tuple(told)
