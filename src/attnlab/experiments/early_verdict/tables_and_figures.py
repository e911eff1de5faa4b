"""The tables and figures of the experiment early-verdict."""

from dataclasses import replace
from itertools import combinations

import altair as alt
import numpy as np

from attnlab.experiments.early_verdict.measures import (
    EARLIEST,
    EARLY,
    LEFT_OUT,
    OTHER_HALF,
    Evidence,
    area,
    brier,
    calibration_error,
    estimate_row,
    lead,
    make_judged,
    mean_area,
    reliability,
    stop_row,
    sure_at,
)
from attnlab.families.copying.early_verdict import Verdict
from attnlab.families.copying.verdict_fit import THRESHOLDS, case_table, judge_folds, stops
from attnlab.lab.experiment import Table
from attnlab.pages.charts import COLOURS, CONTRAST, INK, SIZE, curves, panels, titled
from attnlab.stats.bootstrap import value_and_interval

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
            for pairs, paired in (("all", False), ("of one distribution", True)):
                learned, failed = judged.outcomes(judged.at(step), paired=paired)
                estimate = estimate_row(value_and_interval(area(judged, step, paired=paired)))
                table.append(
                    {
                        "judged": way,
                        "features": features,
                        "step": step,
                        "pairs": pairs,
                        "learned": learned,
                        "failed": failed,
                        **estimate,
                    }
                )
    return table


def difference_table(evidence: Evidence) -> Table:
    """For every two feature sets how much larger the first one's area is, mean over steps 20, 30 and 40.

    Over all pairs of runs, and over those of one distribution, where knowing easy distributions from hard ones is of no
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
                    **estimate_row(value_and_interval(areas[first] - areas[second])),
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
            error, score = (estimate_row(value_and_interval(of(judged, chosen))) for of in (calibration_error, brier))
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
                    **estimate_row(value_and_interval(area(here, step))),
                    "other_seeds": estimate_row(value_and_interval(area(elsewhere, step)))["value"],
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


def chance_table(evidence: Evidence) -> Table:
    """The chance of every run of the other half at every step."""
    judged, runs = evidence.judged[OTHER_HALF, "all"], evidence.runs
    chosen = judged.at()
    return [
        {
            "distribution": runs[run].distribution,
            "seed": runs[run].seed,
            "step": int(step),
            "chance": float(chance),
            "outcome": ENDS[runs[run].learned_at is not None],
        }
        for run, step, chance in zip(
            judged.cases.run[chosen], judged.cases.step[chosen], judged.chance[chosen], strict=True
        )
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


# --- figures


def chance_figure(table: Table, by: int) -> alt.FacetChart:
    """A line for each run of the other half, in a panel for each outcome."""
    rows = [{**row, "run": f"{row['distribution']}, seed {row['seed']}"} for row in table]
    layer = curves(
        x="step", y="chance", group="run", x_title="updates", y_title=f"chance to learn by step {by}", colour=None
    )
    return panels(
        sorted(rows, key=lambda row: row["outcome"], reverse=True),
        column="outcome",
        layer=layer,
        title="The verdict on runs it was not fitted to, as long as they have not learned",
    )


def area_figure(areas: Table) -> alt.FacetChart:
    """How well each feature set predicts, step by step, as long as there are a few runs of either outcome."""
    rows = [
        {**row, "area": row["value"]}
        for row in areas
        if row["pairs"] == "all" and min(row["learned"], row["failed"]) >= FEWEST
    ]
    names = list(dict.fromkeys(row["features"] for row in rows))
    lines = (
        alt.Chart()
        .mark_line(point=True, strokeWidth=1.5)
        .encode(
            x=alt.X("step:Q", title="updates so far"),
            y=alt.Y("area:Q", title="area under the curve", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "features:N",
                title=None,
                scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])),
                legend=alt.Legend(orient="right"),
            ),
            tooltip=["features:N", "step:Q", alt.Tooltip("area:Q", format=".3f"), "learned:Q", "failed:Q"],
        )
    )
    return panels(
        rows,
        column="judged",
        layer=lines.properties(width=300, height=220),
        title="How often the run that learns is told from the one that does not; 0.5 is guessing",
    )


def reliability_figure(table: Table) -> alt.FacetChart:
    """What was said against what came, at step 30 and at all steps."""
    rows = [row for row in table if row["judged"] == table[0]["judged"]]
    order = list(dict.fromkeys(row["steps"] for row in rows))
    base = alt.Chart()
    exact = base.mark_rule(color=INK, opacity=0.5, strokeDash=[4, 4]).encode(
        x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1)
    )
    chance = alt.X("chance:Q", title="chance that was given", scale=alt.Scale(domain=[0, 1]))
    bars = base.mark_rule(color=CONTRAST[1], opacity=0.5).encode(
        x=chance, y=alt.Y("low:Q", title="share that learned", scale=alt.Scale(domain=[0, 1])), y2="high:Q"
    )
    points = base.mark_point(filled=True, color=CONTRAST[1], opacity=0.9).encode(
        x=chance,
        y="learned:Q",
        size=alt.Size("cases:Q", legend=None, scale=alt.Scale(range=[20, 200])),
        tooltip=["cases:Q", alt.Tooltip("chance:Q", format=".2f"), alt.Tooltip("learned:Q", format=".2f")],
    )
    chart: alt.FacetChart = (
        alt.layer(exact, bars, points, data=alt.InlineData(values=[dict(row) for row in rows]))
        .properties(**SIZE)
        .facet(column=alt.Column("steps:N", title=None, sort=order, header=alt.Header(labelFontSize=12)))
        .properties(title=titled("Does what was said come true? Dashed: exactly so"))
    )
    return chart


def lead_figure(table: Table) -> alt.Chart:
    """How many runs the verdict was sure of so many updates before accuracy passed one half."""
    rows = [row for row in table if row["lead"] is not None]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))
        .mark_bar(color=CONTRAST[1], size=14)
        .encode(
            x=alt.X("lead:Q", title="updates from a chance of 90 % to an accuracy of one half"),
            y=alt.Y("count():Q", title="runs that learned", axis=alt.Axis(tickMinStep=1)),
            tooltip=["lead:Q", "count():Q"],
        )
        .properties(
            width=320,
            height=200,
            title=titled("How much sooner than accuracy?"),
        )
    )
    return chart
