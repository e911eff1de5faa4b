"""Pictures of remedies: how often, at what cost, and the curves of all runs."""

import altair as alt

from attnlab.experiments.rescue.rules import TIERS
from attnlab.lab.experiment import Table
from attnlab.lab.success import WITHIN
from attnlab.pages.charts import COLOURS, INK, SIZE, curves

COMPARED_WITH = "what all are compared with"


def rates(table: Table) -> alt.TopLevelMixin:
    """The share of starts that learned with each remedy, with its interval, coloured by tier.

    A ring: the share that learned and attends to the right position.
    """
    tiers = {tier: f"tier {tier}: {words}" for tier, words in TIERS.items()}
    rows = [
        {
            "remedy": row["remedy"],
            "tier": tiers.get(row["tier"], COMPARED_WITH),
            **{name: row[f"{name}_{WITHIN}"] for name in ("rate", "low", "high")},
            "attending": row[f"attending_{WITHIN}"] / row[f"starts_{WITHIN}"],
        }
        for row in table
    ]
    domain = [*tiers.values(), COMPARED_WITH]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("remedy:N", title=None, sort=[row["remedy"] for row in table], axis=alt.Axis(labelLimit=260)),
        color=alt.Color(
            "tier:N",
            title=None,
            scale=alt.Scale(domain=domain, range=[COLOURS[2], COLOURS[1], COLOURS[4], COLOURS[0], INK]),
            legend=alt.Legend(orient="bottom", columns=1, labelLimit=420),
        ),
    )
    share = alt.Scale(domain=[0, 1])
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=share, title=f"share of the failing starts that learn within {WITHIN} updates"),
        x2="high:Q",
    )
    points = base.mark_point(filled=True, size=70).encode(x="rate:Q", tooltip=["remedy:N", "rate:Q", "low:Q", "high:Q"])
    rings = base.mark_point(filled=False, size=190, strokeWidth=1.5).encode(x="attending:Q")
    title = "What makes failing starts learn (dot, 95 % interval) and attend to the right position (ring)"
    chart: alt.LayerChart = (bars + points + rings).properties(width=460, height=26 * len(rows), title=_title(title))
    return chart


def shares_against_cost(spent: Table, within: int) -> alt.TopLevelMixin:
    """How many starts have learned by a cost, remedy by remedy, in runs of at most so many updates.

    ``spent``: a row a start; ``cost`` until it ``learned``, ``most`` being that of all updates.
    """
    rows = []
    names = list(dict.fromkeys(row["remedy"] for row in spent))
    for name in names:
        group = [row for row in spent if row["remedy"] == name]
        costs = sorted(row["cost"] for row in group if row["learned"])
        steps = [(0.0, 0.0), *((cost, (n + 1) / len(group)) for n, cost in enumerate(costs))]
        rows += [
            {"remedy": name, "cost": cost, "share": share} for cost, share in [*steps, (group[0]["most"], steps[-1][1])]
        ]
    layer = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after", color=COLOURS[1])
        .encode(
            x=alt.X("cost:Q", title="cost in plain updates"),
            y=alt.Y("share:Q", title="share that has learned", scale=alt.Scale(domain=[0, 1])),
        )
        .properties(**SIZE)
    )
    return _wrapped(layer, names, f"Success within {within} updates against what it costs")


def all_curves(rows: Table) -> alt.TopLevelMixin:
    """Accuracy of every start, a panel for each remedy."""
    names = list(dict.fromkeys(row["remedy"] for row in rows))
    values = [{name: row[name] for name in ("remedy", "seed", "step", "accuracy")} for row in rows]
    layer = curves(x="step", y="accuracy", group="seed", x_title="updates", y_title="token accuracy")
    return _wrapped(
        layer.properties(data=alt.InlineData(values=values)), names, "Accuracy of every failing start with each remedy"
    )


def _wrapped(layer: alt.Chart, names: list[str], title: str) -> alt.FacetChart:
    """``layer`` once for each remedy, three side by side: as many as fit a page."""
    facet = alt.Facet("remedy:N", title=None, sort=names, header=alt.Header(labelFontSize=12))
    chart: alt.FacetChart = layer.facet(facet=facet, columns=3).properties(title=_title(title))
    return chart


def _title(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, anchor="start", fontSize=14, color=INK)
