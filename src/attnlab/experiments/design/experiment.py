"""Design: what each choice in an attention model costs in samples. Ours, after the promise of P2's abstract (5).

One choice at a time differs from the default; the samples needed are those of sample-complexity.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import altair as alt
import numpy as np

from attnlab.experiments.sample_complexity.experiment import LEVEL
from attnlab.experiments.sample_complexity.grid import ATTENTION, FEATURES, KNOWN, SIZES, WORDS, WORDS_FIXED, drawn
from attnlab.experiments.teacher.cells import LEAST, Cell, CellExperiment, Curve, growth_row
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Figures, Table, claim
from attnlab.lab.rules import higher, missing
from attnlab.pages.charts import CONTRAST, INK, headed, inline, rounded
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.stats.samples_needed import log_ratio

# --- settings

DEFAULT = "default"
CHOICES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "d_q = 1": {"query_size": 1},
    "d_q = 16": {"query_size": 16},
    "d_v = 2": {"value_size": 2},
    "d_v = 12": {"value_size": 12},
    "2 heads": {"heads": 2},
    "4 heads": {"heads": 4},
    "2 layers": {"layers": 2},
    "root scale": {"scale": "root"},
    "root scale, d_q = 16": {"scale": "root", "query_size": 16},
    "pooled read-out": {"readout": "pooled"},
    "values alone": {"attention": "own"},
}
"""Changes to one layer and one head with d_q = d_v = 4, the scale d_q and P2's read-out."""
KEPT = (5, 10, 25, 50)
"""Features that the student's f keeps; the teacher's 5 are among them."""
SPARSITY = "features, fixed"
LARGEST: dict[Preset, int] = {"quick": 400, "reduced": 1600, "paper": 1600}


class Design(CellExperiment):
    """Samples needed under each choice, against the default."""

    name = "design"
    title = "What each choice in an attention model costs in samples"
    source = "ours, after P2 5"
    problems: ClassVar[dict[Preset, int]] = {"quick": 3, "reduced": 20, "paper": 20}
    steps: ClassVar[dict[Preset, int]] = {"quick": 300, "reduced": 800, "paper": 800}

    def cells_at(self, preset: Preset) -> list[Cell]:
        choices = CHOICES if preset != "quick" else {name: CHOICES[name] for name in (DEFAULT, "pooled read-out")}
        words = [n for n in SIZES[preset] if 100 <= n <= LARGEST[preset]]
        grid = [
            Cell(
                WORDS_FIXED,
                "self-attention",
                n,
                partial(drawn, WORDS),
                ATTENTION.model_copy(update=changes),
                at=_at(name),
            )
            for name, changes in choices.items()
            for n in words
        ]
        for kept in KEPT if preset != "quick" else KEPT[:2]:
            model = KNOWN.model_copy(update={"kept": kept})
            at = (("option", f"keeps {kept}"),)
            grid += [
                Cell(SPARSITY, "known attention", n, partial(drawn, FEATURES), model, at=at) for n in SIZES[preset]
            ]
        return grid

    # --- rules

    @claim("sparse-attention-saves-samples", reads=("errors",))
    def sparser_is_cheaper(self) -> Part:
        """The effect is the exponent of the number of features kept."""
        arm = self._sparsity()
        row = growth_row(arm, LEVEL)
        if row is None or any(curve.problems < LEAST for _, curve in arm):
            return missing("known attention", "problems", "Too few sizes or problems at this preset.")
        interval = (row["low"], row["high"])
        detail = f"Samples needed grow like the number of features kept to the {row['exponent']:.2f}."
        return Part("known attention", higher(interval, 0.0), row["exponent"], interval, "problems", detail)

    def _sparsity(self) -> list[tuple[float, Curve]]:
        curves = self.recorded()
        keys = {kept: (SPARSITY, "known attention", (("option", f"keeps {kept}"),)) for kept in KEPT}
        return [(float(kept), curves[key]) for kept, key in keys.items() if key in curves]

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"advice": list(self.advice()), "needed": [curve.needed_row(LEVEL) for curve in self.curves.values()]}

    def advice(self) -> Iterator[dict[str, Any]]:
        """Each choice's samples needed over the default's, problem by problem, with the interval."""
        default, sparse = self.curves[WORDS_FIXED, "self-attention", _at(DEFAULT)], self._sparsity()[0][1]
        for curve in self.curves.values():
            base = default if curve.task == WORDS_FIXED else sparse
            pairs = zip(curve.needed(LEVEL), base.needed(LEVEL), strict=True)
            ratios = [ratio for pair in pairs if (ratio := log_ratio(*pair)) is not None]
            interval = bootstrap_interval(ratios) if ratios else None
            low, high = (2 ** interval[0], 2 ** interval[1]) if interval else (None, None)
            needed = curve.needed_row(LEVEL)
            yield {
                "task": curve.task,
                "choice": dict(curve.at).get("option", DEFAULT),
                "needed": needed["needed"],
                "problems": len(ratios),
                "times": float(2 ** np.mean(ratios)) if ratios else None,
                "low": low,
                "high": high,
                "advice": in_words(low, high),
            }

    def figures(self) -> Figures:
        rows = [row for row in self.advice() if row["times"] is not None]
        y = alt.Y("choice:N", title=None, sort=[row["choice"] for row in rows])
        base = alt.Chart(inline(rows)).encode(y=y)
        title = "times the samples of the default"
        x = alt.X("times:Q", title=title, scale=alt.Scale(type="log"))
        dots = base.mark_point(filled=True, size=60, color=CONTRAST[1], opacity=1)
        dots = dots.encode(x=x, tooltip=["choice:N", rounded("times", ".2f")])
        spans = base.mark_rule(color=CONTRAST[1], strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q")
        one = alt.Chart().mark_rule(strokeDash=[4, 3], color=INK).encode(x=alt.datum(1.0))
        chart = alt.layer(spans, dots, one, data=inline(rows))
        return {"advice": headed(chart, "Samples needed by each choice", width=420, height=24 * len(rows))}

    def summary(self) -> str:
        return " ".join(
            f"{row['choice']}: "
            + (f"{row['times']:.2f} times the samples ({row['advice']})." if row["times"] else "open.")
            for row in self.advice()
        )

    def notes(self) -> list[str]:
        return [
            "All of it is ours: P2's guidelines could not be had.",
            "Where a choice never reaches the error it counts with the largest n, which is too little.",
            f"{self.problems[self.order.preset]} problems for each choice, {self.steps[self.order.preset]} updates.",
        ]


def _at(name: str) -> tuple[tuple[str, int | str], ...]:
    return (("option", name),)


def in_words(low: float | None, high: float | None) -> str:
    """What an interval of the ratio says about a choice.

    >>> in_words(1.2, 1.5), in_words(0.5, 0.8), in_words(0.9, 1.2)
    ('costs samples', 'saves samples', 'no difference shown')
    """
    if low is None or high is None:
        return "not measured"
    return "costs samples" if low > 1 else "saves samples" if high < 1 else "no difference shown"
