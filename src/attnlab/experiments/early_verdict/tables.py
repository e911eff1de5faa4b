"""The early verdict's tables."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from attnlab.experiments.early_verdict.claims import EARLIEST, EARLY, LEFT_OUT, OTHER_HALF, Evidence
from attnlab.experiments.early_verdict.fit import THRESHOLDS, judge_folds, stops
from attnlab.experiments.early_verdict.measures import (
    area,
    brier,
    calibration_error,
    lead,
    make_judged,
    mean_area,
    reliability,
    stop_row,
    sure_at,
    told_estimate,
)
from attnlab.families.copying.early_verdict import Verdict
from attnlab.lab.experiment import Table
from attnlab.stats.bootstrap import value_and_interval


def area_table(evidence: Evidence) -> Table:
    """The area under the curve, for every way of judging, feature set and step, over all pairs and paired ones."""
    table = []
    for (way, features), judged in evidence.judged.items():
        for step in evidence.verdict.steps:
            for pairs, paired in (("all", False), ("of one distribution", True)):
                learned, failed = judged.outcomes(judged.at(step), paired=paired)
                found = told_estimate(value_and_interval(area(judged, step, paired=paired)))
                table.append(
                    {
                        "judged": way,
                        "features": features,
                        "step": step,
                        "pairs": pairs,
                        "learned": learned,
                        "failed": failed,
                        **found,
                    }
                )
    return table


def difference_table(evidence: Evidence) -> Table:
    """For every two feature sets how much larger the first one's area is, mean over steps 20, 30 and 40.

    Over all pairs of runs, and over those of one distribution, where telling easy distributions from hard ones is of no
    use.
    """
    table = []
    ways = dict.fromkeys(way for way, _ in evidence.judged)
    names = dict.fromkeys(features for _, features in evidence.judged)
    for way in ways:
        for pairs, paired in (("all", False), ("of one distribution", True)):
            areas = {name: mean_area(evidence.judged[way, name], EARLIEST, paired=paired) for name in names}
            table += [
                {
                    "judged": way,
                    "pairs": pairs,
                    "features": first,
                    "less": second,
                    **told_estimate(value_and_interval(areas[first] - areas[second])),
                }
                for first, second in combinations(names, 2)
            ]
    return table


def calibration_table(evidence: Evidence) -> Table:
    """Calibration error and Brier score of the verdict at step 30 and at all steps.

    ``brier_of_share``: the Brier score of giving every case the share that learned.
    """
    table = []
    for way in (OTHER_HALF, LEFT_OUT):
        judged = evidence.judged[way, "all"]
        for steps, chosen in {f"step {EARLY}": judged.at(EARLY), "all steps": judged.at()}.items():
            if not chosen.any():
                continue
            share = float(judged.cases.outcome()[chosen].mean())
            error, score = (told_estimate(value_and_interval(of(judged, chosen))) for of in (calibration_error, brier))
            table.append(
                {
                    "judged": way,
                    "steps": steps,
                    "cases": int(chosen.sum()),
                    "mean_chance": float(judged.chance[chosen].mean()),
                    "learned": share,
                    **{f"error_{name}": number for name, number in error.items()},
                    **{f"brier_{name}": number for name, number in score.items()},
                    "brier_of_share": share * (1 - share),
                }
            )
    return table


def reliability_table(evidence: Evidence) -> Table:
    """What was said and what came, in ten bins."""
    table = []
    for way in (OTHER_HALF, LEFT_OUT):
        judged = evidence.judged[way, "all"]
        for steps, chosen in {f"step {EARLY}": judged.at(EARLY), "all steps": judged.at()}.items():
            table += [{"judged": way, "steps": steps, **row} for row in reliability(judged, chosen)]
    return table


def family_table(evidence: Evidence) -> Table:
    """A row for each family and step up to 40, judged by fits that did not see it.

    ``other_seeds``: the area over those of its runs whose seed was not fitted to in any other family either.
    """
    judged = evidence.judged[LEFT_OUT, "all"]
    fitted_to = judged.cases.of(judged.cases.fitting)
    table = []
    for family in dict.fromkeys(evidence.cases.family):
        for step in EARLIEST:
            own = judged.cases.of(np.array([one == family for one in evidence.cases.family]))
            here = replace(judged, chance=np.where(own, judged.chance, np.nan))
            chosen = here.at(step)
            learned, failed = here.outcomes(chosen)
            elsewhere = replace(here, chance=np.where(fitted_to, np.nan, here.chance))
            table.append(
                {
                    "family": family,
                    "step": step,
                    "learned": learned,
                    "failed": failed,
                    "mean_chance": float(here.chance[chosen].mean()) if chosen.any() else None,
                    **told_estimate(value_and_interval(area(here, step))),
                    "other_seeds": told_estimate(value_and_interval(area(elsewhere, step)))["value"],
                }
            )
    return table


def stop_table(evidence: Evidence) -> Table:
    """What giving up does with every threshold: on the fitting half, where one is chosen, and on the others."""
    ways = {
        "the fitting half, by folds": make_judged(evidence.cases, judge_folds(evidence.cases)),
        **{way: evidence.judged[way, "all"] for way in (OTHER_HALF, LEFT_OUT)},
    }
    return [
        {
            "judged": way,
            "chosen": below == evidence.verdict.give_up_below,
            **stop_row(judged, below, evidence.verdict.by),
        }
        for way, judged in ways.items()
        for below in THRESHOLDS
    ]


def run_table(evidence: Evidence) -> Table:
    """A row for each run of the other half: how it ended, when the verdict was sure of it, when it is given up."""
    judged = evidence.judged[OTHER_HALF, "all"]
    sure, ended = sure_at(judged), stops(judged.cases, judged.chance, evidence.verdict.give_up_below)
    return [
        {
            "distribution": run.distribution,
            "family": run.family,
            "seed": run.seed,
            "learned_at": run.learned_at,
            "accuracy_at": run.accuracy_at,
            "sure_at": sure[place],
            "lead": lead(run, sure[place]),
            "given_up_at": ended[place],
        }
        for place, run in enumerate(evidence.runs)
        if place in sure
    ]


def coefficient_table(verdict: Verdict) -> Table:
    """The regression of the verdict, a row for each number in it."""
    regression = verdict.regression
    first, second = regression.time
    constants = {"intercept": regression.intercept, "time": first, "time_squared": second}
    return [
        *({"feature": name, "mean": None, "scale": None, "weight": weight} for name, weight in constants.items()),
        *(
            {"feature": feature.name, "mean": feature.mean, "scale": feature.scale, "weight": feature.weight}
            for feature in regression.features
        ),
    ]
