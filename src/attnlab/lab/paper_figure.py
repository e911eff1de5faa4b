"""The papers beside us: what a figure or table of theirs shows in our words, and the same drawn from our runs.

Ours has the same quantities on the same axes, every seed a line or a dot; diamonds and thick bars are what can be read
off the original. Of most figures only the text is known, and then a page says so.
"""

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Literal

import altair as alt
from pydantic import BaseModel, ConfigDict

from attnlab.errors import UsageError
from attnlab.lab.written import WrittenResult
from attnlab.pages.charts import hue, inline, rounded, titled
from attnlab.pages.page import Section

READ_OFF = "Diamonds and thick bars are what can be read off the original."
NOT_HAD = "No values of the original could be had, nor how far its axes go: only ours is drawn."


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Mark(_Record):
    """A reading: from ``x`` to ``x2`` and from ``y`` to ``y2``, a point where these are left out. Among dots it has no
    ``y``: its row is its series.
    """

    x: float
    y: float | None = None
    x2: float | None = None
    y2: float | None = None


class Series(_Record):
    """What has one colour: column ``y`` of the table's lines that have the values ``where``, one line a seed."""

    label: str
    colour: str
    where: dict[str, str] = {}
    y: str
    marks: tuple[Mark, ...] = ()


class Value(_Record):
    """A number: ``what`` it is, as the text has it (``theirs``), and as we measured it: a pattern like an answer's."""

    what: str
    theirs: str
    ours: str


class PaperFigure(_Record):
    """A figure, table or statement of a text: what it ``shows`` in our words, numbers side by side (``values``), and
    how to draw it from a result's ``table``, if it can be.

    ``row``: on which corpus, of an experiment with rows. ``kind``: lines over ``x``, or a row of dots for each series,
    at its column ``y``. ``lines``: the columns that name a line beside its series.
    """

    name: str
    shows: str
    row: str = ""
    values: tuple[Value, ...] = ()
    table: str = ""
    kind: Literal["lines", "dots"] = "lines"
    lines: tuple[str, ...] = ("seed",)
    x: str = "step"
    x_end: float = 0
    x_title: str = ""
    y_title: str = ""
    y_domain: tuple[float, float] | None = None
    series: tuple[Series, ...] = ()

    def section(self, result: WrittenResult, filled: Callable[[str], str] | None = None) -> Section:
        """What the original shows, and ours beside it; ``filled`` puts a result's numbers into a pattern."""
        ours = f"ours, {result.name}"
        table = []
        if filled is not None:
            table = [
                {"what": one.what, "in the text": one.theirs, ours: filled(one.ours) or "not measured"}
                for one in self.values
            ]
        if not self.series:
            return Section(f"In the text: {self.name}", [self.shows], table=table)
        known = READ_OFF if any(series.marks for series in self.series) else NOT_HAD
        caption = f"{'Lines' if self.kind == 'lines' else 'Dots'}: our runs {result.name}, every seed. {known}"
        heading = f"{self.name}, drawn from our runs"
        return Section(heading, [self.shows], chart=self.chart(result), caption=caption, table=table)

    def chart(self, result: WrittenResult) -> alt.LayerChart:
        """Every seed up to the figure's end, and the original's marks."""
        try:
            rows = list(self._rows(result))
        except (KeyError, ValueError) as error:
            place = result.folder / "tables" / f"{self.table}.csv"
            raise UsageError(
                f"{place} is not what {self.name} is drawn from ({error}); run the experiment again."
            ) from None
        labels, colours = [series.label for series in self.series], [series.colour for series in self.series]
        x = alt.X("x:Q", title=self.x_title, scale=alt.Scale(domain=[0, self.x_end]))
        seen = [
            "series:N",
            "seed:N",
            alt.Tooltip("x:Q", title=self.x_title),
            *([] if self.kind == "dots" else [rounded("y")]),
        ]
        if self.kind == "dots":
            y = alt.Y("series:N", title=None, sort=labels)
            drawn = alt.Chart(inline(rows)).mark_point(filled=True, size=45, opacity=0.7)
            colour = alt.Color("series:N", scale=alt.Scale(domain=labels, range=colours), legend=None)
            height = 34 * len(labels)
        else:
            y = alt.Y(
                "y:Q", title=self.y_title, scale=alt.Scale(domain=self.y_domain) if self.y_domain else alt.Scale()
            )
            drawn = alt.Chart(inline(rows)).mark_line(strokeWidth=1.2, opacity=0.55).encode(detail="seed:N")
            colour, height = hue("series", colours, domain=labels, labelLimit=260), 280
        drawn = drawn.encode(x=x, y=y, color=colour, tooltip=seen)
        marks = [_drawn(series, mark, x, y) for series in self.series for mark in series.marks]
        return alt.LayerChart(layer=[drawn, *marks], width=420, height=height, title=titled(self.name))

    def _rows(self, result: WrittenResult) -> Iterator[dict[str, str | float]]:
        table = result.lines(self.table)
        for series in self.series:
            for line in table:
                if any(line[column] != value for column, value in series.where.items()) or not line[series.y]:
                    continue
                measured, seed = float(line[series.y]), ", ".join(line.get(name, "") for name in self.lines)
                if not isfinite(measured):
                    continue
                if self.kind == "dots":
                    yield {"seed": seed, "series": series.label, "x": measured}
                elif 0 <= (x := float(line[self.x])) <= self.x_end:
                    yield {"seed": seed, "series": series.label, "x": x, "y": measured}


def _drawn(series: Series, mark: Mark, x: alt.X, y: alt.Y) -> alt.Chart:
    """A reading of a series: a diamond in its colour with a dark edge, or a thick bar where it is a range."""
    read = mark.model_dump(exclude_none=True)
    data = alt.InlineData(values=[{"series": series.label, **read}])
    chart: alt.Chart = alt.Chart(data).encode(x=x, y=y, tooltip=["series:N", *(f"{name}:Q" for name in read)])
    if mark.x2 is None and mark.y2 is None:
        chart = chart.mark_point(
            fill=series.colour, stroke="black", strokeWidth=1.5, shape="diamond", size=80, opacity=1
        )
    else:
        ends = {name: f"{name}:Q" for name in ("x2", "y2") if getattr(mark, name) is not None}
        chart = chart.mark_rule(color="black", strokeWidth=2.5).encode(**ends)
    return chart
