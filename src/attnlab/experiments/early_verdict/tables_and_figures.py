"""The tables and figures of the experiment early-verdict."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.early_verdict import measures
from attnlab.experiments.early_verdict.measures import EARLIEST, EARLY, LEFT_OUT, OTHER_HALF, Evidence, Judged
from attnlab.families.copying.early_verdict import Verdict
from attnlab.families.copying.verdict_fit import THRESHOLDS, Mask, case_table, judge_folds, stops
from attnlab.lab.experiment import Table
from attnlab.lab.outcomes import estimate_of, mean
from attnlab.pages.charts import COLOURS, CONTRAST, INK, SIZE, headed, hue, inline, panels, rounded, seed_curves, shares

PAIRS = {"all": False, "of one distribution": True}
"""Over which pairs of runs areas are, and whether that is paired."""
ENDS = {True: "learned", False: "did not learn"}
FEWEST = 3
"""Areas of fewer runs of an outcome are not drawn."""


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
                row = {"judged": way, "features": features, "step": step, "pairs": pairs}
                row |= counted(judged.outcomes(judged.at(step), paired=paired))
                table.append(row | estimate_of(measures.area(judged, step, paired=paired)))
    return table


def counted(outcomes: tuple[int, int]) -> dict[str, Any]:
    """How many runs learned, and how many did not, as columns."""
    return {"learned": outcomes[0], "failed": outcomes[1]}


def difference_table(evidence: Evidence) -> Table:
    """For every two feature sets how much larger the first one's area is, mean over steps 20, 30 and 40.

    Over all pairs of runs, and over those of one distribution, where knowing easy distributions from hard ones is of no
    use.
    """
    table = []
    ways = dict.fromkeys(way for way, _ in evidence.judged)
    names = dict.fromkeys(features for _, features in evidence.judged)
    for way, (pairs, paired) in product(ways, PAIRS.items()):
        areas = {name: measures.mean_area(evidence.judged[way, name], EARLIEST, paired=paired) for name in names}
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
        for what, measure in (("error", measures.calibration_error), ("brier", measures.brier)):
            row |= {f"{what}_{name}": number for name, number in estimate_of(measure(judged, chosen)).items()}
        table.append(row | {"brier_of_share": share * (1 - share)})
    return table


def reliability_table(evidence: Evidence) -> Table:
    """What was said and what came, in ten bins."""
    return [
        {**names, **row}
        for names, judged, chosen in calibrated(evidence)
        for row in measures.reliability(judged, chosen)
    ]


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
        row = {"family": family, "step": step, **counted(here.outcomes(chosen))}
        row |= {"mean_chance": mean(here.chance[chosen]), **estimate_of(measures.area(here, step))}
        table.append(row | {"other_seeds": estimate_of(measures.area(elsewhere, step))["value"]})
    return table


def stop_table(evidence: Evidence) -> Table:
    """What giving up does with every threshold: on the fitting half, where one is chosen, and on the others."""
    verdict = evidence.verdict
    ways = {"the fitting half, by folds": measures.make_judged(evidence.cases, judge_folds(evidence.cases))}
    ways |= {way: evidence.judged[way, "all"] for way in (OTHER_HALF, LEFT_OUT)}
    return [
        {"judged": way, "chosen": below == verdict.give_up_below, **measures.stop_row(judged, below, verdict.by)}
        for way, judged in ways.items()
        for below in THRESHOLDS
    ]


def run_table(evidence: Evidence) -> Table:
    """A row for each run of the other half: how it ended, when the verdict was sure of it, when it is given up."""
    judged, names = evidence.judged[OTHER_HALF, "all"], ("distribution", "family", "seed", "learned_at", "accuracy_at")
    sure, ended = measures.sure_at(judged), stops(judged.cases, judged.chance, evidence.verdict.give_up_below)
    return [
        {name: getattr(run, name) for name in names}
        | {"sure_at": sure[place], "lead": measures.lead(run, sure[place]), "given_up_at": ended[place]}
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


def coefficient_table(verdict: Verdict) -> Table:
    """The regression of the verdict, a row for each number in it."""
    regression = verdict.regression
    first, second = regression.time
    constants = {"intercept": regression.intercept, "time": first, "time_squared": second}
    table = [{"feature": name, "mean": None, "scale": None, "weight": weight} for name, weight in constants.items()]
    return table + [
        {"feature": feature.name, "mean": feature.mean, "scale": feature.scale, "weight": feature.weight}
        for feature in regression.features
    ]


# --- figures


def chance_figure(table: Table, by: int) -> alt.TopLevelMixin:
    """A line for each run of the other half, in a panel for each outcome."""
    rows = [{**row, "run": f"{row['distribution']}, seed {row['seed']}"} for row in table]
    rows.sort(key=lambda row: str(row["outcome"]), reverse=True)
    y_title = f"chance to learn by step {by}"
    title = "The verdict on runs it was not fitted to, as long as they have not learned"
    return seed_curves(rows, "chance", y_title, title, column="outcome", group="run")


def area_figure(areas: Table) -> alt.TopLevelMixin:
    """How well each feature set predicts, step by step, as long as there are a few runs of either outcome."""
    rows = [
        {**row, "area": row["value"]}
        for row in areas
        if row["pairs"] == "all" and min(row["learned"], row["failed"]) >= FEWEST
    ]
    names = list(dict.fromkeys(row["features"] for row in rows))
    lines = alt.Chart().mark_line(point=True, strokeWidth=1.5).properties(width=300, height=220)
    layer = lines.encode(
        x=alt.X("step:Q", title="updates so far"),
        y=shares("area", "area under the curve"),
        color=hue("features", COLOURS[: len(names)], domain=names, orient="right"),
        tooltip=["features:N", "step:Q", rounded("area"), "learned:Q", "failed:Q"],
    )
    title = "How often the run that learns is told from the one that does not; 0.5 is guessing"
    return panels(rows, column="judged", layer=layer, title=title)


def reliability_figure(table: Table) -> alt.TopLevelMixin:
    """What was said against what came, at step 30 and at all steps."""
    rows = [row for row in table if row["judged"] == table[0]["judged"]]
    order = list(dict.fromkeys(row["steps"] for row in rows))
    base = alt.Chart()
    exact = base.mark_rule(color=INK, opacity=0.5, strokeDash=[4, 4]).encode(
        x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1)
    )
    chance = alt.X("chance:Q", title="chance that was given", scale=alt.Scale(domain=[0, 1]))
    bars = base.mark_rule(color=CONTRAST[1], opacity=0.5)
    bars = bars.encode(x=chance, y=shares("low", "share that learned"), y2="high:Q")
    points = base.mark_point(filled=True, color=CONTRAST[1], opacity=0.9).encode(
        x=chance,
        y="learned:Q",
        size=alt.Size("cases:Q", legend=None, scale=alt.Scale(range=[20, 200])),
        tooltip=["cases:Q", rounded("chance", ".2f"), rounded("learned", ".2f")],
    )
    column = alt.Column("steps:N", title=None, sort=order, header=alt.Header(labelFontSize=12))
    layers = alt.layer(exact, bars, points, data=inline(rows)).properties(**SIZE)
    return headed(layers.facet(column=column), "Does what was said come true? Dashed: exactly so")


def lead_figure(table: Table) -> alt.TopLevelMixin:
    """How many runs the verdict was sure of so many updates before accuracy passed one half."""
    bars = alt.Chart(inline([row for row in table if row["lead"] is not None])).mark_bar(color=CONTRAST[1], size=14)
    bars = bars.encode(
        x=alt.X("lead:Q", title="updates from a chance of 90 % to an accuracy of one half"),
        y=alt.Y("count():Q", title="runs that learned", axis=alt.Axis(tickMinStep=1)),
        tooltip=["lead:Q", "count():Q"],
    )
    return headed(bars, "How much sooner than accuracy?", width=320, height=200)
