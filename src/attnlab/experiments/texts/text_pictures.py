"""Pictures that several experiments on labelled texts draw."""

from collections.abc import Sequence

import altair as alt

from attnlab.lab.experiment import Table
from attnlab.pages.charts import COLOURS, INK, SIZE


def heading(text: str) -> alt.TitleParams:
    """A chart's title."""
    return alt.TitleParams(text, anchor="start", fontSize=14, color=INK)


def over_training(
    table: Table,
    *,
    title: str,
    chance: float | None = None,
    y_title: str = "agreement",
    colours: Sequence[str] = COLOURS,
) -> alt.TopLevelMixin:
    """A thin line for each pair of runs, by ``what``, ``seeds``, ``step`` and ``value``; chance dashed."""
    lines = (
        alt.Chart(alt.InlineData(values=[dict(row) for row in table]))
        .mark_line(strokeWidth=1.4, opacity=0.7)
        .encode(
            x=alt.X(
                "step:Q",
                title="updates",
                scale=alt.Scale(type="symlog", constant=50, nice=False),
                axis=alt.Axis(values=[0, 10, 50, 100, 250, 500, 1000, 2000, 4000]),
            ),
            y=alt.Y("value:Q", title=y_title, scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(range=list(colours)),
                sort=list(dict.fromkeys(row["what"] for row in table)),
                legend=alt.Legend(orient="top", labelLimit=400, columns=2),
            ),
            detail="seeds:N",
            tooltip=["what:N", "seeds:N", "step:Q", alt.Tooltip("value:Q", format=".3f")],
        )
    )
    layers = [lines]
    if chance is not None:
        level = alt.Chart(alt.InlineData(values=[{"value": chance, "what": "exact chance"}]))
        layers.append(level.mark_rule(strokeDash=[4, 3], color=INK).encode(y="value:Q", tooltip=["what:N", "value:Q"]))
    return alt.layer(*layers).properties(width=2 * SIZE["width"], height=1.3 * SIZE["height"], title=heading(title))
