"""How good chances are: area under the curve, calibration, lead over accuracy, what giving up costs; and the tables.

All intervals are over runs. Areas and calibration are of (resamples + 1,) weightings of the runs, the first of which
gives every run the weight 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlab.families.copying.early_verdict import FittedVerdict
from attnlab.families.copying.verdict_fit import (
    THRESHOLDS,
    Cases,
    Floats,
    Followed,
    Mask,
    case_table,
    judge_folds,
    stops,
)
from attnlab.lab.experiment import Table
from attnlab.lab.outcomes import estimate_of, mean
from attnlab.lab.rules import low_high
from attnlab.stats.bootstrap import RESAMPLES, resampled_rows
from attnlab.stats.proportions import wilson

EARLY = 30
"""The step that the claims are about."""
EARLIEST = (20, 30, 40)
"""Those over which feature sets are compared."""
OTHER_HALF, LEFT_OUT = "the other half", "families left out"
"""The two ways in which runs are judged by a fit that did not see them."""
BINS = 10
PAIRS = {"all": False, "of one distribution": True}
"""Over which pairs of runs areas are, and whether that is paired."""
ENDS = {True: "learned", False: "did not learn"}
SURE = 0.9
"""From this chance on the verdict is sure of a run."""

Estimate = tuple[float, tuple[float, float]] | None
"""A value and its 95 % interval, where they are defined."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The cases that were judged, with their ``chance``, and ``weights`` (resamples + 1, runs) of all runs."""

    cases: Cases
    chance: Floats
    weights: Floats

    def at(self, *steps: int) -> Mask:
        """The judged cases at these steps, at all where none are named: (cases,)."""
        judged = ~np.isnan(self.chance)
        return judged & np.isin(self.cases.step, steps) if steps else judged

    def outcomes(self, chosen: Mask, *, paired: bool = False) -> tuple[int, int]:
        """How many runs of the cases learned, and how many did not; if ``paired`` only those of distributions that
        have both.
        """
        runs = {int(run) for run in self.cases.run[chosen]}
        learned, failed = ([run for run in runs if self.cases.learned[run] == outcome] for outcome in (True, False))
        if paired:
            names = [{self.cases.distribution[run] for run in group} for group in (learned, failed)]
            both = names[0] & names[1]
            learned, failed = ([r for r in group if self.cases.distribution[r] in both] for group in (learned, failed))
        return len(learned), len(failed)


@dataclass(frozen=True, eq=False)
class Evidence:
    """All runs and their cases; by way of judging and feature set the chances; the verdict that is shipped."""

    runs: Sequence[Followed]
    cases: Cases
    judged: Mapping[tuple[str, str], Judged]
    verdict: FittedVerdict


def make_judged(cases: Cases, chance: Floats) -> Judged:
    """Chances with resamples of the runs that they are of, within distributions."""
    runs = sorted({int(run) for run in cases.run[~np.isnan(chance)]})
    weights = np.zeros((RESAMPLES + 1, len(cases.learned)))
    if runs:
        drawn = resampled_rows([cases.distribution[run] for run in runs], "early verdict")
        np.add.at(weights, (np.arange(len(drawn))[:, None], np.array(runs)[drawn]), 1)
    return Judged(cases, chance, weights)


# --- how well it separates runs that learn from runs that do not


def area(judged: Judged, step: int, *, paired: bool = False) -> Floats:
    """The chance that of a run that learned and one that did not the former has the higher chance, ties counted half.

    Over the cases at ``step``; if ``paired``, over pairs of one distribution. (resamples + 1,), nan without pairs.
    """
    chosen = judged.at(step)
    chance, run, learned = judged.chance[chosen], judged.cases.run[chosen], judged.cases.outcome()[chosen]
    weights = judged.weights[:, run]
    higher = (np.sign(chance[learned][:, None] - chance[~learned][None]) + 1) / 2  # (learned, failed)
    counted = np.ones_like(higher)
    if paired:
        names = np.array(judged.cases.distribution, dtype=object)[run]
        counted = (names[learned][:, None] == names[~learned][None]).astype(np.float64)
    won, pairs = (
        ((weights[:, learned] @ table) * weights[:, ~learned]).sum(1) for table in (higher * counted, counted)
    )
    return _ratio(won, pairs)


def mean_area(judged: Judged, steps: Sequence[int], *, paired: bool = False) -> Floats:
    """The mean of the areas at these steps: (resamples + 1,)."""
    areas: Floats = np.mean([area(judged, step, paired=paired) for step in steps], axis=0)
    return areas


# --- whether chances can be taken at their word


def calibration_error(judged: Judged, chosen: Mask) -> Floats:
    """The expected calibration error: the bins' mean of |mean chance - share that learned|, by their weight."""
    chance = judged.chance[chosen]
    weights = judged.weights[:, judged.cases.run[chosen]]
    excess = chance - judged.cases.outcome()[chosen]
    in_bin = _bins(chance)[:, None] == np.arange(BINS)  # (cases, bins)
    return _ratio(np.abs(weights @ (excess[:, None] * in_bin)).sum(1), weights.sum(1))


def brier(judged: Judged, chosen: Mask) -> Floats:
    """The mean squared difference of chance and outcome: (resamples + 1,)."""
    missed = (judged.chance[chosen] - judged.cases.outcome()[chosen]) ** 2
    weights = judged.weights[:, judged.cases.run[chosen]]
    return _ratio(weights @ missed, weights.sum(1))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """nan where there is no whole."""
    ratio: Floats = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return ratio


def reliability(judged: Judged, chosen: Mask) -> Table:
    """A row for each bin that has cases: their mean chance and the share of them that learned.

    The interval is Wilson's as if every case were a run of its own, which holds at a single step only.
    """
    chance, learned, place = judged.chance[chosen], judged.cases.outcome()[chosen], _bins(judged.chance[chosen])
    table = []
    for number in range(BINS):
        inside = place == number
        if inside.any():
            count, n = int(learned[inside].sum()), int(inside.sum())
            row: dict[str, object] = {"from": number / BINS, "to": (number + 1) / BINS, "cases": n}
            row["chance"] = float(chance[inside].mean())
            table.append(row | {"learned": count / n, **low_high(wilson(count, n))})
    return table


def _bins(chance: Floats) -> NDArray[np.int64]:
    return np.minimum((chance * BINS).astype(np.int64), BINS - 1)


# --- how much sooner than accuracy, and what giving up does


def sure_at(judged: Judged) -> dict[int, int | None]:
    """For each judged run the first step at which the verdict is sure that it will learn, or None."""
    first: dict[int, int | None] = {int(run): None for run in judged.cases.run[judged.at()]}
    for place in np.flatnonzero(judged.at() & (np.nan_to_num(judged.chance) >= SURE)):
        run = int(judged.cases.run[place])
        first[run] = first[run] or int(judged.cases.step[place])
    return first


def lead(run: Followed, sure: int | None) -> int | None:
    """By how many updates the verdict was sure before accuracy passed one half, of a run that learned."""
    if run.learned_at is None or run.accuracy_at is None:
        return None
    return run.accuracy_at - (run.learned_at if sure is None else sure)


def spared(ended: int | None, by: int) -> float:
    """The share of a run's updates that is spared."""
    return 0.0 if ended is None else 1 - ended / by


def stop_row(judged: Judged, below: float, by: int) -> dict[str, object]:
    """What giving up below a chance does to the judged runs."""
    ended = stops(judged.cases, judged.chance, below)
    learned = [step for run, step in ended.items() if judged.cases.learned[run]]
    failed = [step for run, step in ended.items() if not judged.cases.learned[run]]
    wrong, right = (sum(step is not None for step in group) for group in (learned, failed))
    row: dict[str, object] = {"below": below, "learned": len(learned), "learned_ended": wrong}
    row |= low_high(wilson(wrong, len(learned)) if learned else None)
    row |= {"failed": len(failed), "failed_ended": right}
    return row | {"failed_spared": mean(spared(step, by) for step in failed)}


# --- tables


def all_tables(evidence: Evidence) -> dict[str, Table]:
    """Every table by its name."""
    return {
        "areas": area_table(evidence),
        "differences": difference_table(evidence),
        "calibration": calibration_table(evidence),
        "families": family_table(evidence),
        "reliability": reliability_table(evidence),
        "stops": stop_table(evidence),
        "runs": run_table(evidence),
        "chances": chance_table(evidence),
        "coefficients": coefficient_table(evidence.verdict),
        "cases": case_table(evidence.cases),
    }


def area_table(evidence: Evidence) -> Table:
    """The area under the curve, for every way of judging, feature set and step, over all pairs and paired ones."""
    table = []
    for (way, features), judged in evidence.judged.items():
        for step in evidence.verdict.steps:
            for pairs, paired in PAIRS.items():
                row: dict[str, Any] = {"judged": way, "features": features, "step": step, "pairs": pairs}
                row["learned"], row["failed"] = judged.outcomes(judged.at(step), paired=paired)
                table.append(row | estimate_of(area(judged, step, paired=paired)))
    return table


def difference_table(evidence: Evidence) -> Table:
    """For every two feature sets how much larger the first one's area is, mean over steps 20, 30 and 40.

    Over all pairs of runs, and over those of one distribution, where knowing easy distributions from hard ones is of no
    use.
    """
    table = []
    ways = dict.fromkeys(way for way, _ in evidence.judged)
    names = dict.fromkeys(features for _, features in evidence.judged)
    for way, (pairs, paired) in product(ways, PAIRS.items()):
        areas = {name: mean_area(evidence.judged[way, name], EARLIEST, paired=paired) for name in names}
        for first, second in combinations(names, 2):
            row = {"judged": way, "pairs": pairs, "features": first, "less": second}
            table.append(row | estimate_of(areas[first] - areas[second]))
    return table


def calibrated(evidence: Evidence) -> Iterator[tuple[dict[str, Any], Judged, Mask]]:
    """Both ways of judging with all features, at step 30 and at all steps: names, chances and which cases."""
    for way in (OTHER_HALF, LEFT_OUT):
        judged = evidence.judged[way, "all"]
        for steps, chosen in {f"step {EARLY}": judged.at(EARLY), "all steps": judged.at()}.items():
            yield {"judged": way, "steps": steps}, judged, chosen


def calibration_table(evidence: Evidence) -> Table:
    """Calibration error and Brier score of the verdict at step 30 and at all steps.

    ``brier_of_share``: the Brier score of giving every case the share that learned.
    """
    table = []
    for row, judged, chosen in calibrated(evidence):
        if not chosen.any():
            continue
        share = float(judged.cases.outcome()[chosen].mean())
        row |= {"cases": int(chosen.sum()), "mean_chance": float(judged.chance[chosen].mean()), "learned": share}
        for what, measure in (("error", calibration_error), ("brier", brier)):
            row |= {f"{what}_{name}": number for name, number in estimate_of(measure(judged, chosen)).items()}
        table.append(row | {"brier_of_share": share * (1 - share)})
    return table


def reliability_table(evidence: Evidence) -> Table:
    """What was said and what came, in ten bins."""
    return [{**names, **row} for names, judged, chosen in calibrated(evidence) for row in reliability(judged, chosen)]


def family_table(evidence: Evidence) -> Table:
    """A row for each family and step up to 40, judged by fits that did not see it.

    ``other_seeds``: the area over those of its runs whose seed was not fitted to in any other family either.
    """
    judged = evidence.judged[LEFT_OUT, "all"]
    fitted_to = judged.cases.of(judged.cases.fitting)
    table = []
    for family, step in product(dict.fromkeys(evidence.cases.family), EARLIEST):
        own = judged.cases.of(np.array([one == family for one in evidence.cases.family]))
        here = replace(judged, chance=np.where(own, judged.chance, np.nan))
        chosen = here.at(step)
        elsewhere = replace(here, chance=np.where(fitted_to, np.nan, here.chance))
        row: dict[str, Any] = {"family": family, "step": step}
        row["learned"], row["failed"] = here.outcomes(chosen)
        row |= {"mean_chance": mean(here.chance[chosen]), **estimate_of(area(here, step))}
        table.append(row | {"other_seeds": estimate_of(area(elsewhere, step))["value"]})
    return table


def stop_table(evidence: Evidence) -> Table:
    """What giving up does with every threshold: on the fitting half, where one is chosen, and on the others."""
    verdict = evidence.verdict
    ways = {"the fitting half, by folds": make_judged(evidence.cases, judge_folds(evidence.cases))}
    ways |= {way: evidence.judged[way, "all"] for way in (OTHER_HALF, LEFT_OUT)}
    return [
        {"judged": way, "chosen": below == verdict.give_up_below, **stop_row(judged, below, verdict.by)}
        for way, judged in ways.items()
        for below in THRESHOLDS
    ]


def run_table(evidence: Evidence) -> Table:
    """A row for each run of the other half: how it ended, when the verdict was sure of it, when it is given up."""
    judged, names = evidence.judged[OTHER_HALF, "all"], ("distribution", "family", "seed", "learned_at", "accuracy_at")
    sure, ended = sure_at(judged), stops(judged.cases, judged.chance, evidence.verdict.give_up_below)
    return [
        {name: getattr(run, name) for name in names}
        | {"sure_at": sure[place], "lead": lead(run, sure[place]), "given_up_at": ended[place]}
        for place, run in enumerate(evidence.runs)
        if place in sure
    ]


def chance_table(evidence: Evidence) -> Table:
    """The chance of every run of the other half at every step."""
    judged = evidence.judged[OTHER_HALF, "all"]
    chosen = judged.at()
    columns = (judged.cases.run[chosen], judged.cases.step[chosen], judged.chance[chosen])
    return [
        {"distribution": run.distribution, "seed": run.seed, "step": int(step), "chance": float(chance)}
        | {"outcome": ENDS[run.learned_at is not None]}
        for place, step, chance in zip(*columns, strict=True)
        for run in [evidence.runs[place]]
    ]


def coefficient_table(verdict: FittedVerdict) -> Table:
    """The regression of the verdict, a row for each number in it."""
    regression = verdict.regression
    first, second = regression.time
    constants = {"intercept": regression.intercept, "time": first, "time_squared": second}
    table = [{"feature": name, "mean": None, "scale": None, "weight": weight} for name, weight in constants.items()]
    return table + [
        {"feature": feature.name, "mean": feature.mean, "scale": feature.scale, "weight": feature.weight}
        for feature in regression.features
    ]
