"""Figures of the experiment permuting beside the curves of all runs."""

from collections.abc import Sequence

import altair as alt

from attnlab.experiments.permuting.rules import step_or_behind
from attnlab.lab.experiment import Table
from attnlab.lab.success import Outcome, curve_table
from attnlab.pages.charts import COLOURS, CONTRAST, INK, curves

LEAST_LIFT = 0.01
"""Smaller lifts are drawn here."""


def uniform_figure(uniform: Sequence[Outcome]) -> alt.Chart:
    """The probe under uniform attention, copying against random orders, in one panel."""
    layer = curves(
        x="step",
        y="probe_accuracy",
        group="seed",
        colour="setting",
        colours=CONTRAST,
        x_title="updates",
        y_title="right position is the largest",
    )
    chart: alt.Chart = layer.properties(
        data=alt.InlineData(values=[dict(row) for row in curve_table(uniform)]),
        width=320,
        height=240,
        title=_title("The lexical probe under uniform attention, two orders"),
    )
    return chart


def distance_figure(runs: Sequence[tuple[Outcome, float]], within: int) -> alt.Chart:
    """A dot for each run: how far its order is from the identity, and when it learned."""
    kinds = list(dict.fromkeys(one.setting for one, _ in runs))
    rows = [
        {"order": one.setting, "seed": one.seed, "distance": distance, "step": step_or_behind(one, within)}
        for one, distance in runs
    ]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=60, opacity=0.5)
        .encode(
            x=alt.X("distance:Q", title="how far the order is from the identity: mean of |π(t) − t|"),
            y=alt.Y("step:Q", title="step of success", scale=alt.Scale(domain=[0, within + 20])),
            color=alt.Color("order:N", title=None, sort=kinds, scale=alt.Scale(range=list(COLOURS))),
            tooltip=["order:N", "seed:N", alt.Tooltip("distance:Q", format=".1f"), "step:Q"],
        )
        .properties(
            width=420,
            height=260,
            title=_title(f"Distance from the identity and learning; {within + 10}: not learned within {within}"),
        )
    )
    return chart


def position_figure(table: Table) -> alt.HConcatChart:
    """Every position of every run on a random order, and the median for each distance: attention's lift, accuracy."""
    data = alt.InlineData(values=[{**row, "lift": max(row["lift"], LEAST_LIFT)} for row in table])
    x = alt.X("distance:Q", title="distance |π(t) − t| of an output from its input position")

    def panel(measure: str, title: str, scale: alt.Scale, ticks: Sequence[float]) -> alt.LayerChart | alt.FacetChart:
        y = alt.Y(f"{measure}:Q", title=title, scale=scale, axis=alt.Axis(values=list(ticks), format="~g"))
        dots = (
            alt.Chart(data)
            .mark_point(filled=True, size=18, opacity=0.25, color=CONTRAST[1])
            .encode(x=x, y=y, tooltip=["order:N", "seed:N", "output:Q", "input:Q", "distance:Q", f"{measure}:Q"])
        )
        line = alt.Chart(data).mark_line(color=CONTRAST[0]).encode(x=x, y=alt.Y(f"median({measure}):Q", scale=scale))
        return alt.layer(dots, line).properties(width=360, height=260)

    chart: alt.HConcatChart = alt.hconcat(
        panel(
            "lift",
            "attention's lift at the right position",
            alt.Scale(type="log", domain=[LEAST_LIFT, 40]),
            (LEAST_LIFT, 0.1, 1, 10, 40),
        ),
        panel("accuracy", "token accuracy", alt.Scale(domain=[0, 1]), (0, 0.2, 0.4, 0.6, 0.8, 1)),
    ).properties(title=_title("Random orders, position by position, at the end; line: median for each distance"))
    return chart


def _title(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, anchor="start", fontSize=14, color=INK)
