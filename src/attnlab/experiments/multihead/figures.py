"""Pictures of networks with several heads."""

from collections.abc import Mapping

import altair as alt
import numpy as np

from attnlab.experiments.multihead.heads import SCENARIOS
from attnlab.lab.experiment import Table
from attnlab.lab.success import WITHIN
from attnlab.pages.charts import COLOURS, INK, SIZE, curves, panels


def accuracy_curves(rows: Table, titles: Mapping[str, str]) -> alt.TopLevelMixin:
    """Accuracy of every combination, in the axes and colours of the paper's Figure 2 right, a panel a variant."""
    shown = [
        {
            "variant": titles[row["variant"]],
            "scenario": row["setting"],
            "combination": row["seed"],
            "step": row["step"],
            "accuracy": row["accuracy"],
        }
        for row in rows
        if row["setting"] in SCENARIOS and row["step"] <= WITHIN
    ]
    colour = alt.Color(
        "scenario:N",
        title=None,
        scale=alt.Scale(domain=list(SCENARIOS), range=list(COLOURS[:3])),
        legend=alt.Legend(orient="top"),
    )
    layer = curves(x="step", y="accuracy", group="combination", x_title="updates", y_title="token accuracy")
    return panels(
        shown,
        column="variant",
        layer=layer.encode(color=colour),
        title="Accuracy of every combination of heads",
    )


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
    heads = alt.X("heads:Q", title="random heads K", scale=alt.Scale(domainMin=0), axis=alt.Axis(tickMinStep=1))
    share = alt.Scale(domain=[0, 1])
    base = alt.Chart().encode(x=heads)
    band = base.mark_area(opacity=0.2, color=COLOURS[1]).encode(
        y=alt.Y("fitted_low:Q", title="share of networks that fail", scale=share), y2="fitted_high:Q"
    )
    line = base.mark_line(color=COLOURS[1]).encode(y="fitted:Q")
    bars = base.mark_rule(color=COLOURS[0]).encode(y="low:Q", y2="high:Q")
    points = base.mark_point(filled=True, size=60, color=COLOURS[0]).encode(
        y="rate:Q", tooltip=["heads:Q", "failed:Q", "runs:Q", "fitted:Q"]
    )
    chart: alt.FacetChart = (
        alt.layer(band, line, bars, points, data=alt.InlineData(values=shown))
        .properties(**SIZE)
        .facet(column=alt.Column("variant:N", title=None, header=alt.Header(labelFontSize=12)))
        .properties(
            title=alt.TitleParams(
                "Failures within 200 updates (points) and the law q^K (line)", anchor="start", fontSize=14, color=INK
            )
        )
    )
    return chart


def heads_alone(rows: Table) -> alt.TopLevelMixin:
    """Accuracy of trained networks whole, with their best head alone, and with any other of their heads alone."""
    shown = []
    for row in rows:
        name = f"{row['variant']}, {row['setting']}"
        best = {"panel": name, "combination": row["combination"]}
        if row["best"]:
            shown.append({**best, "what": "all heads", "accuracy": row["whole"]})
            shown.append({**best, "what": "best head alone", "accuracy": row["best_accuracy"]})
        else:
            shown.append({**best, "what": "any other head alone", "accuracy": max(row["alone"], row["for_all"])})
    order = ["all heads", "best head alone", "any other head alone"]
    layer = (
        alt.Chart()
        .mark_tick(thickness=1.5, opacity=0.6)
        .encode(
            x=alt.X("what:N", title=None, sort=order, axis=alt.Axis(labelAngle=-30)),
            y=alt.Y("accuracy:Q", title="token accuracy", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("what:N", legend=None, scale=alt.Scale(domain=order, range=[INK, *COLOURS[:2]])),
            tooltip=["combination:Q", "what:N", alt.Tooltip("accuracy:Q", format=".3f")],
        )
        .properties(**SIZE)
    )
    return panels(
        shown, column="panel", layer=layer, title="Trained networks pruned to one head, without more training"
    )
