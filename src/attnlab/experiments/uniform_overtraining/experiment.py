"""Does a lexicon trained under uniform attention stop resembling attention if it is trained on? (P3 A.7)

A(alpha, beta_uf(step)) is said to rise first and then to fall, which is why the paper reports its largest value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import numpy as np

from attnlab.experiments.texts.classification import Role, TextExperiment
from attnlab.experiments.texts.text_agreement import Series
from attnlab.experiments.texts.text_curves import alphas, first_half, follow
from attnlab.experiments.texts.text_notes import LEFT_OUT, left_out, text_notes
from attnlab.experiments.texts.text_parts import bounds, sign_of, told
from attnlab.experiments.texts.text_pictures import over_training
from attnlab.experiments.texts.text_report import write_text_report
from attnlab.experiments.texts.text_runs import Floats, TextRuns
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.experiment import Order, Result, Table
from attnlab.runs.loop import Trained

ROLES: tuple[Role, ...] = ("reference", "uniform")
WHOLE = 4000
"""Updates of the paper's runs: only at their end has a curve that still rises had its time to fall."""
AGREEMENT = "A(alpha, beta_uf)"
MAIN = ("start", "peak", "end", "peak_step", "last_step", "rise_low", "rise_high", "fall_low", "fall_high", "chance")
"""Columns of the page's main table."""


class UniformOvertraining(TextExperiment):
    """The agreement of attention and a uniform run's lexicon, followed over its training, one corpus at a time."""

    name = "uniform-overtraining"
    title = "Attention and the lexicon of uniform training, as that training goes on"
    source = "P3 A.7"
    roles = ROLES

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        runs = TextRuns(order, done)
        series = follow(runs, AGREEMENT, alphas(runs), runs.of("uniform"), "gamma")
        found = read_peak(series)
        curves = curve_table(runs, series)
        return Result(
            summary=tell(order.row, series, found),
            tables={"peak": peak_table(runs, series, found), "pairs": pair_table(runs, series), "curves": curves},
            figures=figures(order.row, curves, float(runs.chance("valid").mean())),
            findings=() if order.row in LEFT_OUT else (decide(order.row, series),),
            notes=(*text_notes(runs, ROLES), *left_out(order.row)),
            seeds={role: runs.seeds(role) for role in ROLES},
        )

    def report(self, folder: Path) -> Path:
        return write_text_report(
            folder,
            self.title,
            "How often the position that attention values most is among the top 5 % of the lexicon learned under "
            "uniform attention: at the start, at the peak (chosen on one half of the texts, read on the other) and at "
            "the end.",
            main="peak",
            columns={name: name.replace("_", " ") for name in MAIN},
            tables=("pairs",),
        )


@dataclass(frozen=True, eq=False)
class Peak:
    """The peak that one half of the texts chose, and the other half's values.

    ``peak``: its place among the steps; ``other``: that of the best other step. ``start``, ``top``, ``end``,
    ``second`` (texts,): values at the first step, the peak, the last step and the best other step.
    """

    peak: int
    other: int
    start: Floats
    top: Floats
    end: Floats
    second: Floats


def read_peak(series: Series) -> Peak:
    """The peak of the curve averaged over all pairs of runs."""
    values: Floats = series.values["expected"].mean(axis=0)  # (steps, texts)
    half = first_half(values.shape[1])
    order = values[:, half].mean(axis=1).argsort(kind="stable")[::-1]
    peak, other = int(order[0]), int(order[1])
    read = values[:, ~half]
    return Peak(peak, other, read[0], read[peak], read[-1], read[other])


def decide(row: str, series: Series) -> Finding:
    """Holds if both the rise to the peak and the fall from it lie above 0; `claims.toml` says when it fails."""
    found = read_peak(series)
    rise, fall = found.top - found.start, found.top - found.end
    signs = sign_of(bounds(rise)), sign_of(bounds(fall))
    last = len(series.steps) - 1
    verdict: Verdict = "undecided"
    detail = f"The peak is at step {series.steps[found.peak]} of {series.steps[-1]}: {levels(found)}."
    if found.peak in (0, last):
        lasting = found.peak == 0 or series.steps[-1] >= WHOLE
        excess = bounds(found.top - found.second)
        if lasting and sign_of(excess) > 0:
            verdict = "fails"
        detail += f" It exceeds the best other step, {series.steps[found.other]}, by {told(excess)}."
    elif signs == (1, 1):
        verdict = "holds"
    elif -1 in signs:
        verdict = "fails"
    detail += f" The rise is {rise.mean():.3f} ({told(bounds(rise))})."
    part = Part(row, verdict, float(fall.mean()), bounds(fall), "examples", detail)
    return Finding("uniform-rises-then-falls", (part,))


def levels(found: Peak) -> str:
    """The three levels in words."""
    return f"{found.start.mean():.3f} at the start, {found.top.mean():.3f} there, {found.end.mean():.3f} at the end"


def peak_table(runs: TextRuns, series: Series, found: Peak) -> Table:
    """The corpus' line: levels, rise and fall with their intervals, and the accuracy of the uniform runs."""
    rise, fall = found.top - found.start, found.top - found.end
    rise_interval, fall_interval = bounds(rise), bounds(fall)
    accuracy = np.mean([runs.curve(run) for run in runs.of("uniform")], axis=0)
    return [
        {
            "start": float(found.start.mean()),
            "peak": float(found.top.mean()),
            "end": float(found.end.mean()),
            "peak_step": series.steps[found.peak],
            "last_step": series.steps[-1],
            "rise": float(rise.mean()),
            "rise_low": rise_interval[0] if rise_interval else None,
            "rise_high": rise_interval[1] if rise_interval else None,
            "fall": float(fall.mean()),
            "fall_low": fall_interval[0] if fall_interval else None,
            "fall_high": fall_interval[1] if fall_interval else None,
            "chance": float(runs.chance("valid").mean()),
            "held_out_texts": len(rise),
            "largest": series.value(),
            "accuracy_at_peak": float(accuracy[found.peak]),
            "accuracy_at_end": float(accuracy[-1]),
            "best_accuracy_step": series.steps[int(accuracy.argmax())],
        }
    ]


def pair_table(runs: TextRuns, series: Series) -> Table:
    """Every pair of runs by itself, on all texts."""
    pairs = [(one, other) for one in runs.seeds("reference") for other in runs.seeds("uniform")]
    return [
        {
            "reference_seed": one,
            "uniform_seed": other,
            "start": float(curve[0]),
            "largest": float(curve[best]),
            "end": float(curve[-1]),
            "best_step": series.steps[best],
        }
        for (one, other), curve, best in zip(pairs, series.curve(), series.best(), strict=True)
    ]


def curve_table(runs: TextRuns, series: Series) -> Table:
    """The agreement of every pair, and the uniform runs' accuracy, at every evaluation."""
    pairs = [f"{one}, {other}" for one in runs.seeds("reference") for other in runs.seeds("uniform")]
    table = [
        {"what": AGREEMENT, "seeds": pair, "step": step, "value": float(value)}
        for pair, curve in zip(pairs, series.curve(), strict=True)
        for step, value in zip(series.steps, curve, strict=True)
    ]
    for name, metric in (("validation accuracy", "accuracy"), ("training accuracy", "train_accuracy")):
        table += [
            {"what": name, "seeds": str(seed), "step": step, "value": float(value)}
            for seed, run in zip(runs.seeds("uniform"), runs.of("uniform"), strict=True)
            for step, value in zip(runs.steps(run), runs.curve(run, metric), strict=True)
        ]
    return table


def tell(row: str, series: Series, found: Peak) -> str:
    """The result in plain words."""
    rise, fall = found.top - found.start, found.top - found.end
    return (
        f"On {row} {AGREEMENT} is {levels(found)} (the peak, step {series.steps[found.peak]} of {series.steps[-1]}, "
        f"was chosen on one half of the texts and all is read on the other). It rises by {rise.mean():.3f} "
        f"({told(bounds(rise))}) and falls by {fall.mean():.3f} ({told(bounds(fall))}); intervals are 95 % over texts."
    )


def figures(row: str, curves: Table, chance: float) -> dict[str, alt.TopLevelMixin]:
    """Agreement and accuracies over training."""
    return {
        "curves": over_training(
            curves,
            title=f"{row}: training under uniform attention",
            chance=chance,
            y_title="agreement, accuracy",
        )
    }
