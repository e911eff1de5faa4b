"""Sample complexity (P2 3): how many samples does a fixed error take, with attention and without?

Students learn from teachers of their own kind, so that what is measured is estimation: where the baseline can express
the teacher too (``fixed``) it needs more data or it does not; where it cannot (``by input``, ``softmax``) no sample is
large enough, which is another matter. Teachers, sizes and training are ours.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import altair as alt

from attnlab.experiments.sample_complexity.grid import (
    BY_INPUT,
    FEATURES,
    FIXED,
    LAYERS,
    SOFTMAX,
    WORDS,
    WORDS_BY_INPUT,
    WORDS_FIXED,
    cells,
)
from attnlab.experiments.teacher.cells import LEAST, Cell, CellExperiment, Curve, compare, growth_row
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Figures, Table, claim
from attnlab.lab.rules import higher, missing
from attnlab.pages.charts import INK, headed, hue, inline, rounded, titled

# --- settings

LEVEL = 0.1
"""The error, as a share of the variance of the teacher's outputs, that students are to reach."""
EXPRESSED = {FIXED: "both express it", WORDS_FIXED: "both express it"} | dict.fromkeys(
    LAYERS.values(), "both express it"
)
"""Tasks on which the baseline lacks nothing but data."""
CENTRE = {"p": FEATURES.inputs, "s0": FEATURES.relevant, "d": FEATURES.hidden}
WORDS_CENTRE = {"p": WORDS.inputs, "s0": WORDS.relevant}
ARMS = (
    (FIXED, "baseline", "p", CENTRE),
    (FIXED, "known attention", "p", CENTRE),
    (FIXED, "baseline", "s0", CENTRE),
    (FIXED, "known attention", "s0", CENTRE),
    (FIXED, "baseline", "d", CENTRE),
    (FIXED, "known attention", "d", CENTRE),
    (WORDS_FIXED, "baseline", "p", WORDS_CENTRE),
    (WORDS_FIXED, "self-attention", "p", WORDS_CENTRE),
    (WORDS_FIXED, "self-attention, pooled", "p", WORDS_CENTRE),
    (WORDS_BY_INPUT, "self-attention", "s0", WORDS_CENTRE),
    (WORDS_BY_INPUT, "self-attention, pooled", "s0", WORDS_CENTRE),
)


class SampleComplexity(CellExperiment):
    """Test error against n for students and teachers of P2's kinds, and the samples that an error of 0.1 takes."""

    name = "sample-complexity"
    title = "How many samples attention saves"
    source = "P2 2, 3"
    problems: ClassVar[dict[Preset, int]] = {"quick": 4, "reduced": 20, "paper": 20}
    steps: ClassVar[dict[Preset, int]] = {"quick": 400, "reduced": 800, "paper": 800}

    def cells_at(self, preset: Preset) -> list[Cell]:
        return cells(preset)

    # --- rules

    @claim("attention-fewer-samples", reads=("errors",))
    def known_attention_needs_fewer(self) -> Iterator[Part]:
        """The effect is log2 of the ratio of samples needed."""
        for task in (FIXED, BY_INPUT, SOFTMAX):
            yield self._compared(task, "known attention")

    @claim("learned-attention-fewer-samples", reads=("errors",))
    def learned_attention_needs_fewer(self) -> Iterator[Part]:
        for task in (WORDS_FIXED, WORDS_BY_INPUT):
            yield self._compared(task, "self-attention")

    @claim("deeper-attention-fewer-samples", reads=("errors",))
    def deeper_attention_needs_fewer(self) -> Iterator[Part]:
        for task in LAYERS.values():
            yield self._compared(task, "self-attention")

    @claim("samples-grow-with-p", reads=("errors",))
    def only_the_baseline_grows_with_p(self) -> Iterator[Part]:
        """The effect is the exponent of p."""
        yield self._grows("without attention", (FIXED, "baseline", "p", CENTRE), above=0.5)
        yield self._grows("known attention", (FIXED, "known attention", "p", CENTRE), below=0.5)

    @claim("relevant-share-saves-samples", reads=("errors",))
    def fewer_relevant_words_need_more(self) -> Part:
        """The effect is the exponent of p / s0, at fixed p."""
        return self._grows(
            "self-attention", (WORDS_BY_INPUT, "self-attention", "s0", WORDS_CENTRE), above=0.0, inverse=True
        )

    def _compared(self, task: str, student: str) -> Part:
        without, attention = (self.recorded().get((task, one, ())) for one in ("baseline", student))
        note = EXPRESSED.get(task, "the baseline cannot express it")
        return compare(f"{task} ({note})", without, attention, LEVEL)

    def _grows(
        self, name: str, arm: tuple[str, str, str, Mapping[str, int]], *, above: float | None = None,
        below: float | None = None, inverse: bool = False,
    ) -> Part:  # fmt: skip
        row = self._growth(*arm)
        if row is None or any(curve.problems < LEAST for _, curve in self._arm(*arm)):
            return missing(name, "problems", "Too few sizes or problems at this preset.")
        sign = -1 if inverse else 1
        exponent = sign * row["exponent"]
        low, high = sorted((sign * row["low"], sign * row["high"]))
        verdict = higher((low, high), above) if above is not None else higher((-high, -low), -(below or 0.0))
        detail = f"Samples needed grow like the {'inverse share' if inverse else arm[2]} to the {exponent:.2f}."
        return Part(name, verdict, exponent, (low, high), "problems", detail)

    def _arm(self, task: str, student: str, what: str, centre: Mapping[str, int]) -> list[tuple[float, Curve]]:
        """The curves of a student with one size varied, the centre of the grid among them."""
        return [
            (float(dict(curve.at).get(what, centre[what])), curve)
            for key, curve in self.recorded().items()
            if key[:2] == (task, student) and set(dict(curve.at)) <= {what}
        ]

    def _growth(self, task: str, student: str, what: str, centre: Mapping[str, int]) -> dict[str, Any] | None:
        return growth_row(self._arm(task, student, what, centre), LEVEL)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        growths = [
            {"task": arm[0], "student": arm[1], "size": arm[2], **row} for arm in ARMS if (row := self._growth(*arm))
        ]
        return {
            "needed": [curve.needed_row(LEVEL) for curve in self.curves.values()],
            **({"growth": growths} if growths else {}),
            "means": [row for curve in self.curves.values() for row in curve.mean_rows()],
        }

    def figures(self) -> Figures:
        figures: dict[str, alt.TopLevelMixin] = {
            "errors": error_curves(
                [row for key, curve in self.curves.items() if not key[2] for row in curve.mean_rows()], LEVEL
            )
        }
        rows = [
            {"arm": f"{task}, {what}", "student": student, "size": size, **curve.needed_row(LEVEL)}
            for task, student, what, centre in ARMS
            for size, curve in self._arm(task, student, what, centre)
        ]
        rows = [row for row in rows if row["needed"] is not None]
        if any(row["size"] not in (*CENTRE.values(), *WORDS_CENTRE.values()) for row in rows):
            figures["growth"] = growth_chart(rows)
        return figures

    def notes(self) -> list[str]:
        preset = self.order.preset
        return [
            "Teachers, sizes, noise and training are ours: P2's theorems' rates and its experiments could not be had. "
            "The preset paper is therefore the same as reduced.",
            "Errors are squared distances from the teacher without noise, as a share of its outputs' variance. The "
            f"noise has a standard deviation of {FEATURES.noise} of theirs.",
            "A fifth of every sample chooses the step at which a student is tested; it counts among the n.",
            "Samples needed are read off each problem's curve by a straight line in log n and log error; a problem in "
            "which no size suffices counts with the largest one in ratios, which is too little.",
            "Pooled read-outs, uniform attention and values without attention are ours.",
            f"{preset}: {self.problems[preset]} problems (teacher, sample, start) for each curve, {self.steps[preset]} "
            "full-batch updates of Adam at 0.01.",
        ]


def error_curves(rows: Table, level: float | None = None) -> alt.TopLevelMixin:
    """Mean error against n by student, a panel for each task, both axes in logarithms; a level asked for dashed."""
    order = list(dict.fromkeys(row["task"] for row in rows))
    base = alt.Chart().encode(
        x=alt.X("n:Q", title="samples n", scale=alt.Scale(type="log")), color=hue("student", columns=4)
    )
    y = alt.Y("error:Q", title="test error", scale=alt.Scale(type="log"))
    lines = base.mark_line(point=True, strokeWidth=1.5).encode(y=y, tooltip=["student:N", "n:Q", rounded("error")])
    bands = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q")
    layers = [bands, lines]
    if level is not None:
        layers.append(alt.Chart().mark_rule(strokeDash=[4, 3], color=INK).encode(y=alt.datum(level)))
    chart: alt.TopLevelMixin = (
        alt.layer(*layers, data=inline(rows))
        .properties(width=230, height=190)
        .facet(facet=alt.Facet("task:N", title=None, sort=order), columns=3)
        .properties(title=titled("Test error against the sample size"))
    )
    return chart


def growth_chart(rows: Table) -> alt.TopLevelMixin:
    """Samples needed against the size that was varied, by student, a panel for each arm of the grid."""
    base = alt.Chart().encode(
        x=alt.X("size:Q", title="size", scale=alt.Scale(type="log", nice=False)), color=hue("student", columns=4)
    )
    y = alt.Y("needed:Q", title="samples needed", scale=alt.Scale(type="log"))
    lines = base.mark_line(point=True).encode(y=y, tooltip=["student:N", "size:Q", rounded("needed", ".0f")])
    bands = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q")
    faceted = alt.layer(bands, lines, data=inline(rows)).properties(width=230, height=170)
    return headed(
        faceted.facet(facet=alt.Facet("arm:N", title=None), columns=3).resolve_scale(x="independent"),
        "Samples needed for the error asked for",
    )
