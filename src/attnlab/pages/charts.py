"""Charts: built from a result's own rows, drawn offline as SVG and PNG or live inside a page."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from attnlab.measures.profile import PROFILE

Rows = Sequence[Mapping[str, Any]]
Description = Mapping[str, Any]
"""A chart in Vega-Lite's own words, as ``name.vl.json`` holds it."""

CONTRAST = ("#d55e00", "#0072b2")
"""Two colours that are different for most eyes, with or without colour vision, and in print."""
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""More of them, in the order in which they are given away."""
INK = "#333333"
VEGA_LITE = ".".join(alt.VEGALITE_VERSION.split(".")[:2])
"""The version that charts are described in."""
SIZE = {"width": 210, "height": 190}


def inline(rows: Rows) -> alt.InlineData:
    """Rows as a chart's own data."""
    return alt.InlineData(values=[dict(row) for row in rows])


def titled(text: str) -> alt.TitleParams:
    """A chart's title as all charts have it."""
    return alt.TitleParams(text, anchor="start", fontSize=14, color=INK)


def headed(chart: Any, title: str, **size: float) -> alt.TopLevelMixin:
    """The chart under its title, of this width and height if they are given."""
    under: alt.TopLevelMixin = chart.properties(title=titled(title), **size)
    return under


def hue(field: str, colours: Sequence[str] = COLOURS, *, domain: Sequence[str] = (), **legend: Any) -> alt.Color:
    """A colour for each name in ``field``, as the legend above the chart says; ``domain``: which name has which."""
    scale = alt.Scale(domain=list(domain), range=list(colours)) if domain else alt.Scale(range=list(colours))
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=alt.Legend(**{"orient": "top", **legend}))


def shares(field: str, title: str) -> alt.Y:
    """An axis of shares from 0 to 1."""
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1]))


def rounded(field: str, digits: str = ".3f") -> alt.Tooltip:
    """A number as it is shown beside the pointer."""
    return alt.Tooltip(f"{field}:Q", format=digits)


# --- lines over training


def curves(
    *,
    y: str,
    y_title: str,
    x: str = "step",
    x_title: str = "updates",
    group: str = "seed",
    colour: str | None = None,
    colours: Sequence[str] = CONTRAST,
    scale: alt.Scale | None = None,
) -> alt.Chart:
    """One thin line for each value of ``group`` (and of ``colour``); data comes later.

    The y axis is one of shares from 0 to 1, unless ``scale`` says otherwise.
    """
    chart: alt.Chart = (
        alt.Chart()
        .mark_line(strokeWidth=1.2, opacity=0.55)
        .encode(
            x=alt.X(f"{x}:Q", title=x_title),
            y=shares(y, y_title) if scale is None else alt.Y(f"{y}:Q", title=y_title, scale=scale),
            detail=f"{group}:N",
            color=alt.value(colours[1]) if colour is None else hue(colour, colours),
            tooltip=[f"{group}:N", f"{x}:Q", rounded(y)],
        )
        .properties(**SIZE)
    )
    return chart


def panels(data: Rows, *, layer: Any, title: str, column: str = "setting") -> alt.FacetChart:
    """``layer`` drawn once for each value of ``column``, in the order of the data: up to four side by side, more in
    rows of three, which a page is wide enough for.
    """
    order = list(dict.fromkeys(row[column] for row in data))
    chart: alt.FacetChart = (
        layer.properties(data=inline(data))
        .facet(
            facet=alt.Facet(f"{column}:N", title=None, sort=order, header=alt.Header(labelFontSize=12)),
            columns=len(order) if len(order) <= 4 else 3,
        )
        .properties(title=titled(title))
    )
    return chart


def seed_curves(data: Rows, y: str, y_title: str, title: str, *, column: str = "setting", **how: Any) -> alt.FacetChart:
    """A line of every seed in a panel for each value of ``column``; ``how``: as in `curves`."""
    return panels(data, column=column, layer=curves(y=y, y_title=y_title, **how), title=title)


def metric_curves(
    data: Rows,
    metrics: Mapping[str, str],
    *,
    y_title: str,
    title: str,
    column: str = "setting",
    colours: Sequence[str] = CONTRAST,
) -> alt.FacetChart:
    """Several metrics of every seed against updates, a panel for each value of ``column``.

    ``metrics``: as in `by_metric`. Colours go to names in alphabetical order.
    """
    rows = by_metric(data, metrics, column)
    return seed_curves(rows, "share", y_title, title, column=column, colour="what", colours=colours)


def by_metric(
    data: Rows, metrics: Mapping[str, str], column: str = "setting", *, what: str = "what", value: str = "share"
) -> list[dict[str, Any]]:
    """A row for each of ``metrics``, the names they are shown under (``what``) and their columns (``value``)."""
    return [
        {column: row[column], "seed": row["seed"], "step": row["step"], what: name, value: row[metric]}
        for row in data
        for name, metric in metrics.items()
    ]


def over_training(
    table: Rows, *, title: str, chance: float | None = None, y_title: str = "agreement"
) -> alt.TopLevelMixin:
    """A thin line for each pair of runs, by ``what``, ``seeds``, ``step`` and ``value``, early updates drawn wide;
    chance dashed.
    """
    ticks = alt.Axis(values=[0, 10, 50, 100, 250, 500, 1000, 2000, 4000])
    layers = [
        alt.Chart(inline(table))
        .mark_line(strokeWidth=1.4, opacity=0.7)
        .encode(
            x=alt.X("step:Q", title="updates", scale=alt.Scale(type="symlog", constant=50, nice=False), axis=ticks),
            y=shares("value", y_title),
            color=hue("what", labelLimit=400, columns=2).sort(list(dict.fromkeys(row["what"] for row in table))),
            detail="seeds:N",
            tooltip=["what:N", "seeds:N", "step:Q", rounded("value")],
        )
    ]
    if chance is not None:
        level = alt.Chart(inline([{"value": chance, "what": "exact chance"}]))
        layers.append(level.mark_rule(strokeDash=[4, 3], color=INK).encode(y="value:Q", tooltip=["what:N", "value:Q"]))
    size = {"width": 2 * SIZE["width"], "height": 1.3 * SIZE["height"]}
    return headed(alt.layer(*layers), title, **size)


def accuracy_curves(data: Rows, title: str, column: str = "setting") -> alt.FacetChart:
    """Token accuracy of every seed against updates, a panel for each setting."""
    return seed_curves(data, "accuracy", "token accuracy", title, column=column)


def pointing_curves(data: Rows, *, one_after: bool = False) -> alt.FacetChart:
    """How often the lexical probe and attention are largest at the right position, for every seed.

    ``one_after``: also how often attention is largest at the position after the right one.
    """
    metrics = {"lexical probe": "probe_accuracy", "attention": "attention_accuracy"}
    title = "Where lexical knowledge and attention point"
    if not one_after:
        return metric_curves(data, metrics, y_title="right position is the largest", title=title)
    metrics["attention, one after the right position"] = "attention_one_after"
    colours = (CONTRAST[0], COLOURS[2], CONTRAST[1])
    return metric_curves(data, metrics, y_title="position is the largest", title=title, colours=colours)


def attention_profiles(data: Rows, column: str = "setting") -> dict[str, alt.FacetChart]:
    """Attention by its distance from the right position at the end of every run, as the figure ``profile``; none where
    the runs are of before it was measured.
    """
    ends = {(row[column], row["seed"]): row for row in data}  # the last row of each run stays
    rows = [
        {column: name, "seed": seed, "distance": distance, "share": row[metric]}
        for (name, seed), row in ends.items()
        if row.get(PROFILE[1]) is not None
        for distance, metric in PROFILE.items()
    ]
    if not rows:
        return {}
    layer = curves(x="distance", x_title="positions after the right one", y="share", y_title="attention")
    return {"profile": panels(rows, column=column, layer=layer, title="Where attention is at the end")}


def continued_curves(data: Rows, title: str) -> alt.FacetChart:
    """Token accuracy and attention at the right position, of runs that went on."""
    metrics = {"token accuracy": "accuracy", "attention at the right position": "attention_accuracy"}
    return metric_curves(data, metrics, y_title="share of the outputs", title=title)


# --- dots and cells


def not_learned(first: float, last: float, words: str) -> Any:
    """A band of the y axis for runs that did not learn, with its ``words``: they have no step of success."""
    band = alt.Chart(inline([{"first": first, "last": last, "words": words}]))
    area = band.mark_rect(opacity=0.15, color=COLOURS[0]).encode(y="first:Q", y2="last:Q")
    text = band.mark_text(align="left", baseline="bottom", dy=-3, fontSize=12, color=INK)
    return alt.layer(area, text.encode(x=alt.value(4), y="last:Q", text="words:N"))


def learned_at(dots: alt.Chart, *, updates: int, every: int) -> Any:
    """Dots by the ``step`` at which each run learned; those that did not within ``updates`` are in a band above."""
    top = updates + 5 * every
    step = alt.Y(
        "step:Q",
        title="update at which it had learned",
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(values=list(range(0, updates + 1, 50))),
    )
    band = not_learned(updates + every / 2, top, f"not learned within {updates} updates")
    return alt.layer(band, dots.encode(y=step))


def seed_dots(data: Rows, *, x: alt.X, colour: str, title: str, height: int, order: Sequence[str]) -> Any:
    """A dot for every row, beside each other by their ``setting`` in the given ``order``."""
    dots = alt.Chart(inline(data)).mark_point(filled=True, size=45, opacity=0.7)
    dots = dots.encode(x=x, y=alt.Y("setting:N", title=None, sort=list(order)), color=hue(colour))
    return headed(dots, title, width=420, height=height)


def dot_rows(points: Rows, *, title: str, x_title: str = "agreement") -> alt.TopLevelMixin:
    """A row for each ``corpus``: a dot for each ``what`` with its interval (``low``, ``high``), hollow where ``runs``
    are reduced, a tick for ``chance``, a diamond for what the ``authors`` have.
    """
    order, labels = (list(dict.fromkeys(point[key] for point in points)) for key in ("corpus", "what"))
    colour = hue("what", domain=labels, colours=COLOURS[: len(labels)])
    y = alt.Y("corpus:N", title=None, sort=order)
    offset = alt.YOffset("what:N", sort=labels)
    base = alt.Chart(inline(points)).encode(y=y, yOffset=offset, color=colour)
    x = alt.X("value:Q", title=x_title, scale=alt.Scale(domain=[0, 1]))
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=x_title), x2="high:Q")
    tooltip = ["corpus:N", "what:N", rounded("value"), rounded("chance"), rounded("authors"), "runs:N"]
    reduced = alt.condition("datum.runs == 'reduced'", alt.value(0), alt.value(1))
    points_drawn = base.mark_point(size=70, strokeWidth=2).encode(
        x=x, fill=hue("what", domain=labels, colours=COLOURS[: len(labels)]), fillOpacity=reduced, tooltip=tooltip
    )
    ticks = base.mark_tick(color=INK, thickness=2, height=14).encode(x="chance:Q", color=alt.value(INK))
    theirs = base.mark_point(shape="diamond", size=90, strokeWidth=2).encode(x="authors:Q", color=alt.value(INK))
    height = max(120, 17 * len(labels) * len(order))
    return headed(alt.layer(bars, ticks, points_drawn, theirs), title, width=480, height=height)


def heat_map(
    values: Sequence[Sequence[float]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    row_title: str = "",
    column_title: str = "",
    digits: int = 2,
    diverging: bool = False,
    darkest: float | None = None,
) -> alt.LayerChart:
    """A table as coloured cells with their numbers; ``values[row][column]``.

    Colours run from 0 to the ``darkest`` value, by default the largest, or, if ``diverging``, both ways from 0.
    """
    cells = [
        {"row": row, "column": column, "value": float(value)}
        for row, line in zip(rows, values, strict=True)
        for column, value in zip(columns, line, strict=True)
    ]
    most = darkest or max((abs(float(value)) for line in values for value in line), default=0.0) or 1.0
    both, one = alt.Scale(scheme="purpleorange", domain=[-most, most]), alt.Scale(scheme="blues", domain=[0, most])
    angle = -45 if max((len(str(name)) for name in columns), default=1) > 6 else 0
    base = alt.Chart(inline(cells)).encode(
        x=alt.X(
            "column:N", title=column_title or None, sort=list(columns), axis=alt.Axis(orient="top", labelAngle=angle)
        ),
        y=alt.Y("row:N", title=row_title or None, sort=list(rows)),
    )
    squares = base.mark_rect(stroke="white").encode(
        color=alt.Color("value:Q", legend=None, scale=both if diverging else one),
        tooltip=["row:N", "column:N", rounded("value", ".4f")],
    )
    dark = f"abs(datum.value) > {0.6 * most}"
    numbers = base.mark_text(fontSize=11).encode(
        text=alt.Text("value:Q", format=f".{digits}f"), color=alt.condition(dark, alt.value("white"), alt.value(INK))
    )
    small = alt.TitleParams(title, anchor="start", fontSize=12, color=INK)
    chart: alt.LayerChart = (squares + numbers).properties(width=44 * len(columns), height=28 * len(rows), title=small)
    return chart


# --- files


def describe(chart: alt.TopLevelMixin) -> Description:
    """The chart in Vega-Lite's words."""
    description: Description = json.loads(_described(chart))
    return description


def _described(chart: alt.TopLevelMixin) -> str:
    # Not held against the schema, which takes seconds where data has thousands of rows: parts were when they were made.
    return chart.to_json(indent=None, validate=False)


def save(chart: alt.TopLevelMixin, folder: Path, name: str) -> list[Path]:
    """Write ``name.svg``, ``name.png`` and the chart's own description ``name.vl.json`` into ``folder``."""
    paths = [folder / f"{name}.{ending}" for ending in ("svg", "png", "vl.json")]
    # Described once and drawn once: the chart's own `save` would do both for every form.
    description = _described(chart)
    drawing = vl_convert.vegalite_to_svg(description, vl_version=VEGA_LITE)
    paths[0].write_text(drawing, encoding="utf-8")
    paths[1].write_bytes(vl_convert.svg_to_png(drawing, scale=2))
    paths[2].write_text(description, encoding="utf-8")
    return paths
