"""Figures of the experiment symmetry: success and its step against contrast, and the curves of all runs."""

import altair as alt
import numpy as np

from attnlab.experiments.symmetry.curve import Fits
from attnlab.lab.experiment import Table
from attnlab.pages.charts import CONTRAST, INK, curves, panels

LEFT = 1e-5
"""Where distributions without contrast are drawn: a logarithmic axis has no 0."""
SIZE = {"width": 460, "height": 260}

_SCALE = alt.Scale(type="log", domain=[LEFT, 0.5])


def success_figure(table: Table, fits: Fits) -> alt.LayerChart | alt.FacetChart:
    """The share of runs that learned, with its interval, the fitted curve and the best step."""
    x = _contrast()
    points = alt.Chart(_data(table)).encode(x=x, color=_family(), tooltip=_tooltip())
    rate = alt.Y("rate:Q", title="share of runs that learned, with its 95 % interval", scale=alt.Scale(domain=[0, 1]))
    at = np.geomspace(LEFT, 0.5, 200)
    lines = alt.InlineData(
        values=[
            {"shown": float(place), "p": float(value), "fit": name}
            for name, curve in (("fitted curve", fits.curve), ("best step", fits.step))
            for place, value in zip(at, curve.at(at), strict=True)
        ]
    )
    line = (
        alt.Chart(lines)
        .mark_line(color=INK, strokeWidth=1.2)
        .encode(
            x=x,
            y="p:Q",
            strokeDash=alt.StrokeDash(
                "fit:N",
                title=None,
                scale=alt.Scale(domain=["fitted curve", "best step"], range=[[1, 0], [4, 4]]),
                legend=alt.Legend(orient="top"),
            ),
        )
    )
    return alt.layer(
        line,
        points.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
        points.mark_point(filled=True, size=60).encode(y=rate),
    ).properties(title=_title("How much contrast does copying need? Leftmost: none at all"), **SIZE)


def steps_figure(table: Table) -> alt.Chart:
    """The mean step of success, failures counted as one evaluation behind the last."""
    chart: alt.Chart = (
        alt.Chart(_data(table))
        .mark_point(filled=True, size=60)
        .encode(
            x=_contrast(),
            y=alt.Y("mean_step:Q", title="mean step of success"),
            color=_family(),
            tooltip=_tooltip(),
        )
        .properties(title=_title("Contrast and speed; a failure counts as the last step and 10 more"), **SIZE)
    )
    return chart


def curve_figure(table: Table, family: str) -> alt.FacetChart:
    """Accuracy of every seed of one family of distributions."""
    layer = curves(x="step", y="accuracy", group="seed", x_title="updates", y_title="token accuracy")
    return panels(table, column="setting", layer=layer, title=f"Accuracy of every seed: {family}")


def _data(table: Table) -> alt.InlineData:
    families = list(dict.fromkeys(row["family"] for row in table))
    beside = {family: LEFT * 1.3**place for place, family in enumerate(families)}  # not on top of one another
    return alt.InlineData(values=[{**row, "shown": max(row["contrast"], beside[row["family"]])} for row in table])


def _contrast() -> alt.X:
    axis = alt.Axis(
        values=[LEFT, 1e-4, 1e-3, 1e-2, 1e-1],
        labelExpr=f"datum.value < {2 * LEFT} ? 'none' : format(datum.value, '~g')",
    )
    return alt.X("shown:Q", title="contrast of the count table", scale=_SCALE, axis=axis)


def _family() -> alt.Color:
    return alt.Color("family:N", title=None, scale=alt.Scale(range=list(CONTRAST)), legend=alt.Legend(orient="top"))


def _tooltip() -> list[str | alt.Tooltip]:
    return ["setting:N", alt.Tooltip("contrast:Q", format=".2g"), "learned:Q", "seeds:Q", "median_step:Q"]


def _title(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, anchor="start", fontSize=14, color=INK)
