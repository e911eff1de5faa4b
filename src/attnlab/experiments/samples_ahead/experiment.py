"""Samples ahead: does what `attnlab samples` expects of more data come true? Ours.

Accuracy against n is measured on texts that had no part in choosing its curves; sizes are held back, and the intervals
expected there are compared with the trainings that were made there. These trainings take seconds and are no runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.samples_ahead.tasks import MOST, READERS, some, tasks
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.experiment import Experiment, Figures, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import missing
from attnlab.measures.samples import MODELS, REPEATS, SampleCurves, samples
from attnlab.pages.charts import INK, hue, inline, rounded, titled
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import percentiles
from attnlab.stats.learning_curve import extrapolate

# --- settings

TWICE, HALF = "twice the data", "the larger half held back"
WAYS = (TWICE, HALF)
FEWEST = 3
"""Sizes from which a curve goes on."""
LEAST_POINTS = 40
COVERED, WIDEST = 0.85, 0.10
RESAMPLES = 2000


class SamplesAhead(Experiment):
    """Intervals for more data against trainings with more data."""

    name = "samples-ahead"
    title = "Does what is expected of more data come true?"
    source = "ours"
    decides_at = ("reduced", "paper")

    # --- measures

    def measure(self, runs: Runs) -> None:  # noqa: ARG002 (nothing is trained in the store)
        curves = {name: samples(some(read())) for name, read in tasks(self.order.preset).items()}
        self.curves: dict[str, SampleCurves] = curves

    def seeds(self) -> dict[str, list[int]]:
        return {"trainings": list(range(REPEATS))}

    # --- rules

    @claim("expected-accuracy-covers", reads=("points",))
    def intervals_hold(self) -> Iterator[Part]:
        """The effects are the share of trainings inside, and the median width."""
        for way in WAYS:
            rows = self.record.rows("points", way=way)
            yield decided(f"{way}, inside", rows, inside, lambda share: share >= COVERED, "{:.0%} of trainings inside")
            yield decided(f"{way}, width", rows, width, lambda wide: wide <= WIDEST, "a median width of {:.3f}")

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        curves = self.curves
        return {
            "coverage": [row for way in WAYS for row in coverage(way, self._points(way))],
            "points": [row for way in WAYS for row in self._points(way)],
            "tasks": [
                {
                    "task": task,
                    "texts": curve.texts,
                    "classes": len(curve.classes),
                    "tested_on": curve.tests,
                    "attention_pays_from": curve.pays_from,
                    **{model: 1 - float(np.mean(curve.errors[model][max(curve.errors[model])])) for model in MODELS},
                }
                for task, curve in curves.items()
            ],
            "errors": [
                {"task": task, "model": model, "n": n, "training": k, "error": error}
                for task, curve in curves.items()
                for model, by_size in curve.errors.items()
                for n, values in sorted(by_size.items())
                for k, error in enumerate(values)
            ],
        }

    def _points(self, way: str) -> list[dict[str, Any]]:
        return [
            {"task": task, "model": model, "way": way, **row}
            for task, curve in self.curves.items()
            for model in MODELS
            for row in held_back(curve.errors[model], way)
        ]

    def figures(self) -> Figures:
        return {"points": points_chart([row for way in WAYS for row in self._points(way)])}

    def notes(self) -> list[str]:
        gone = [task for task in READERS if task not in self.curves]
        return [
            "The curves' form and constants were chosen on SMS, SST and AG News, and were committed before anything "
            "here was trained.",
            f"At most {MOST} texts of a task, {REPEATS} trainings at each size; sizes as `attnlab samples` takes them.",
            "An interval is for one training, so every training at a held-back size is compared with it.",
            *([f"Left out: {', '.join(gone)}."] if gone else []),
        ]


def held_back(errors: Mapping[int, Sequence[float]], way: str) -> Iterator[dict[str, Any]]:
    """What is expected at each held-back size, beside what was measured there."""
    sizes = sorted(errors)
    half = len(sizes) - len(sizes) // 2
    splits = [(k, sizes[k]) for k in range(FEWEST, len(sizes))] if way == TWICE else [(half, n) for n in sizes[half:]]
    for kept, n in splits:
        if kept < FEWEST:
            continue
        expected = extrapolate({size: errors[size] for size in sizes[:kept]}, n)
        values = errors[n]
        yield {
            "n": n,
            "from": sizes[kept - 1],
            "expected": expected.error,
            "low": expected.low,
            "high": expected.high,
            "error": float(np.mean(values)),
            "trainings": len(values),
            "inside": sum(expected.low <= value <= expected.high for value in values),
        }


Rows = Sequence[Mapping[str, Any]]


def inside(rows: Rows) -> float:
    """The share of trainings inside, averaged over points."""
    return float(np.mean([row["inside"] / row["trainings"] for row in rows]))


def width(rows: Rows) -> float:
    """The median width of the intervals."""
    return float(np.median([row["high"] - row["low"] for row in rows]))


def over_tasks(rows: Rows, statistic: Callable[[Rows], float]) -> tuple[float, float] | None:
    """The 95 % interval of a statistic over tasks drawn again with all their points; None for one task."""
    by_task: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_task.setdefault(row["task"], []).append(row)
    groups, generator = list(by_task.values()), numpy_generator(0, "samples ahead", "tasks")
    if len(groups) < 2:
        return None
    draws = generator.integers(len(groups), size=(RESAMPLES, len(groups)))
    return percentiles([statistic([row for k in drawn for row in groups[k]]) for drawn in draws])


def decided(
    name: str, rows: Rows, statistic: Callable[[Rows], float], good: Callable[[float], bool], said: str
) -> Part:
    """Holds if the statistic is good, fails if not; undecided with few points."""
    if not rows:
        return missing(name, "tasks", "No corpus is there.")
    value, interval = statistic(rows), over_tasks(rows, statistic)
    verdict: Verdict = "undecided" if len(rows) < LEAST_POINTS else "holds" if good(value) else "fails"
    tried = len({row["task"] for row in rows})
    detail = f"{name.rpartition(',')[0].capitalize()}: {said.format(value)}, over {len(rows)} points of {tried} tasks."
    return Part(name, verdict, value, interval, "tasks", detail)


def coverage(way: str, rows: Rows) -> Iterator[dict[str, Any]]:
    """Share inside and median width, over all points and by task, model and how far ahead."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        ahead = f"{round(row['n'] / row['from'])} times"
        for what in (("all", "all"), ("task", row["task"]), ("model", row["model"]), ("ahead", ahead)):
            groups.setdefault(what, []).append(row)
    for (by, name), group in groups.items():
        yield {"way": way, "by": by, "of": name, "points": len(group), "inside": inside(group), "width": width(group)}


def points_chart(rows: Table) -> alt.TopLevelMixin:
    """Expected against measured error, with the intervals, a panel for each way of holding back."""
    base = alt.Chart().encode(
        x=alt.X("error:Q", title="error measured", scale=alt.Scale(nice=False)), color=hue("model")
    )
    spans = base.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q"), y2="high:Q")
    dots = base.mark_point(filled=True, size=30).encode(
        y=alt.Y("expected:Q", title="error expected"), tooltip=["task:N", "n:Q", rounded("error"), rounded("expected")]
    )
    most = max((row["high"] for row in rows), default=1.0)
    ends = {"x": alt.datum(0.0), "y": alt.datum(0.0), "x2": alt.datum(most), "y2": alt.datum(most)}
    line = alt.Chart().mark_rule(strokeDash=[4, 3], color=INK).encode(**ends)
    chart: alt.TopLevelMixin = (
        alt.layer(spans, dots, line, data=inline(rows))
        .properties(width=320, height=300)
        .facet(facet=alt.Facet("way:N", title=None, sort=list(WAYS)), columns=2)
        .properties(title=titled("What was expected, and what came"))
    )
    return chart
