"""What a page says beside a result's own figures: its question, and the paper's figure drawn from our runs.

The words and readings are in the ``page.toml`` of the experiment's folder.
Ours shows the same quantities as the paper's figure in the same
colours, every seed a line; black marks are what can be read off the original. Of most only the text is known.
"""

import tomllib
from importlib import resources
from math import isfinite

import altair as alt
from pydantic import BaseModel, ConfigDict

from attnlab.errors import UsageError
from attnlab.lab.claims import Finding
from attnlab.lab.written import WrittenResult
from attnlab.pages.charts import hue, inline, rounded, titled
from attnlab.pages.page import Section


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Mark(_Record):
    """A reading: from ``x`` to ``x2`` and from ``y`` to ``y2``, a point where these are left out."""

    x: float
    y: float
    x2: float | None = None
    y2: float | None = None


class Series(_Record):
    """The lines of one colour: column ``y`` of the table's lines that have the values ``where``, one line a seed."""

    label: str
    colour: str
    where: dict[str, str]
    y: str
    marks: tuple[Mark, ...] = ()


class PaperFigure(_Record):
    """A figure of a paper: what it ``shows`` in our words, and how to draw it from a result's ``table``."""

    name: str
    shows: str
    table: str
    x_end: float
    x_title: str
    y_title: str
    y_domain: tuple[float, float] | None = None
    series: tuple[Series, ...]

    def section(self, result: WrittenResult) -> Section:
        """What the paper's figure shows, and ours in the same axes, as far as these are known."""
        marked = any(series.marks for series in self.series)
        known = (
            "Black marks are what can be read off the original."
            if marked
            else "No values of the original could be had, nor how far its axes go: only ours is drawn."
        )
        caption = f"Lines: our runs {result.name}, every seed. {known}"
        return Section(f"{self.name}, drawn from our runs", [self.shows], chart=self.chart(result), caption=caption)

    def chart(self, result: WrittenResult) -> alt.LayerChart:
        """Lines of every seed up to the figure's end, and the original's marks."""
        table = result.lines(self.table)
        try:
            rows = [
                {"seed": line.get("seed", ""), "series": series.label, "x": step, "y": float(line[series.y])}
                for series in self.series
                for line in table
                if all(line[column] == value for column, value in series.where.items())
                and line[series.y]
                and isfinite(float(line[series.y]))
                and 0 <= (step := float(line["step"])) <= self.x_end
            ]
        except (KeyError, ValueError) as error:
            place = result.folder / "tables" / f"{self.table}.csv"
            raise UsageError(
                f"{place} is not what {self.name} is drawn from ({error}); run the experiment again."
            ) from None
        x = alt.X("x:Q", title=self.x_title, scale=alt.Scale(domain=[0, self.x_end]))
        y = alt.Y("y:Q", title=self.y_title, scale=alt.Scale(domain=self.y_domain) if self.y_domain else alt.Scale())
        labels, colours = [series.label for series in self.series], [series.colour for series in self.series]
        lines = alt.Chart(inline(rows)).mark_line(strokeWidth=1.2, opacity=0.55)
        lines = lines.encode(
            x=x,
            y=y,
            detail="seed:N",
            color=hue("series", colours, domain=labels, labelLimit=260),
            tooltip=["series:N", "seed:N", alt.Tooltip("x:Q", title="step"), rounded("y")],
        )
        read_off = [(series.label, mark) for series in self.series for mark in series.marks]
        layers = [lines, *(_drawn(label, mark, x, y) for label, mark in read_off)]
        return alt.LayerChart(layer=layers, width=420, height=280, title=titled(self.name))


def _drawn(label: str, mark: Mark, x: alt.X, y: alt.Y) -> alt.Chart:
    """A reading of the series ``label``: a black diamond, or a rule where it is a range."""
    read = mark.model_dump(exclude_none=True)
    data = alt.InlineData(values=[{"series": label, **read}])
    chart: alt.Chart = alt.Chart(data).encode(x=x, y=y, tooltip=["series:N", *(f"{name}:Q" for name in read)])
    if mark.x2 is None and mark.y2 is None:
        chart = chart.mark_point(color="black", shape="diamond", filled=True, size=45, opacity=1)
    else:
        ends = {name: f"{name}:Q" for name in ("x2", "y2") if getattr(mark, name) is not None}
        chart = chart.mark_rule(color="black", strokeWidth=2.5).encode(**ends)
    return chart


class PageWords(_Record):
    """What the page of an experiment's result says of itself.

    ``answer``: two sentences; numbers are filled in from the result: ``{claim_id.effect:.0%}``, ``{claim_id.low}``,
    ``{claim_id.high}``, or of one part ``{claim_id[0].effect}``, with underscores for the id's hyphens. ``name`` and
    ``detail`` are a part's own words.
    ``captions``: what each figure shows, by its name, in the order in which they are to be read; ``first`` names
    the one that answers the question, if that is another than the first.
    """

    question: str = ""
    answer: str = ""
    captions: dict[str, str] = {}
    first: str = ""
    figure: PaperFigure | None = None

    def answer_for(self, result: WrittenResult) -> str:
        """The answer with this result's numbers; "" for a result that lacks one, and for a few runs at ``quick``.

        An answer is written for what many seeds have shown, so it must not be read off a few.
        """
        numbers = {entry.claim.replace("-", "_"): Numbers(entry) for entry in result.findings() if entry.parts}
        try:
            return "" if result.preset == "quick" else self.answer.format(**numbers)
        except (KeyError, IndexError, TypeError):  # no such claim, no such part, or an effect or interval that is None
            return ""


class Numbers:
    """The numbers of a finding as an answer's placeholders name them: of the part that decides, or of part ``[k]``."""

    def __init__(self, finding: Finding) -> None:
        self.finding, self.verdict = finding, finding.verdict
        deciding = next((part for part in finding.parts if part.verdict == finding.verdict), finding.parts[0])
        self.part = deciding
        self.effect, self.name, self.detail = deciding.effect, deciding.name, deciding.detail
        self.low, self.high = deciding.interval or (deciding.effect, deciding.effect)

    def __getitem__(self, k: int) -> "Numbers":
        return Numbers(Finding(self.finding.claim, (self.finding.parts[k],)))


def page_words(experiment: str) -> PageWords:
    """Those of ``experiment``; empty for one that has no ``page.toml``, such as a user's own."""
    file = resources.files("attnlab.experiments").joinpath(experiment.replace("-", "_"), "page.toml")
    return PageWords.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))) if file.is_file() else PageWords()
