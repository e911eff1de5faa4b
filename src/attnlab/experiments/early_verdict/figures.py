"""The early verdict's figures."""

from collections.abc import Sequence

import altair as alt

from attnlab.experiments.early_verdict.fit import Followed
from attnlab.experiments.early_verdict.measures import Judged
from attnlab.lab.experiment import Table
from attnlab.pages.charts import COLOURS, CONTRAST, INK, SIZE, curves, panels

ENDS = {True: "learned", False: "did not learn"}
FEWEST = 3
"""Areas of fewer runs of an outcome are not drawn."""


def chance_table(judged: Judged, runs: Sequence[Followed]) -> Table:
    """The chance of every run of the other half at every step."""
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
    """How well each feature set tells, step by step, as long as there are a few runs of either outcome."""
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
        .properties(title=_title("Does what was said come true? Dashed: exactly so"))
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
            title=_title("How much sooner than accuracy?"),
        )
    )
    return chart


def _title(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, anchor="start", fontSize=14, color=INK)
