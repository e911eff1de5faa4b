"""Does a lexicon trained under uniform attention stop resembling attention if it is trained on? (P3 A.7)

A(alpha, beta_uf(step)) is said to rise first and then to fall, which is why the paper reports its largest value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from attnlab.experiments.bitexts.corpora import ROWS as PAIR_ROWS
from attnlab.experiments.bitexts.corpora import CorpusExperiment
from attnlab.lab.claims import Part, verdict_of
from attnlab.lab.corpus_runs import curve_of
from attnlab.lab.experiment import Figures, Table, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import exceeds, in_words, low_high, over_examples
from attnlab.measures.checkpoints import first_half
from attnlab.measures.series import Groups, Series
from attnlab.stats.bootstrap import Floats

WHOLE, WHOLE_OF_PAIRS = 4000, 36_000
"""Updates of the paper's runs, on labelled texts and on Multi30k: only at their end has a curve that still rises had
its time to fall."""
AGREEMENT = "A(alpha, beta_uf)"


class UniformOvertraining(CorpusExperiment):
    """The agreement of attention and a uniform run's lexicon, followed over its training, one corpus at a time."""

    name = "uniform-overtraining"
    title = "Attention and the lexicon of uniform training, as that training goes on"
    source = "P3 A.7"
    roles = ("reference", "uniform")
    pair_roles = ("reference", "uniform")
    lead = (
        "How often the position that attention values most is among the top 5 % of the lexicon learned under uniform "
        "attention: at the start, at the peak (chosen on one half of the texts, read on the other) and at the end."
    )
    main = "peak"
    dots_title = "A(alpha, beta_uf) while the twin under uniform attention is trained"
    dots: ClassVar[Mapping[str, str]] = {
        "at the start": "start",
        "at the peak": "peak",
        "at the end": "end",
    }
    columns: ClassVar[Mapping[str, str]] = {
        name: name.replace("_", " ")
        for name in "start peak end peak_step last_step rise_low rise_high fall_low fall_high chance".split()  # noqa: SIM905
    }
    shown = ("pairs",)

    @property
    def whole(self) -> int:
        """Updates of the paper's runs on this row's kind of corpus."""
        return WHOLE_OF_PAIRS if self.order.row in PAIR_ROWS else WHOLE

    def measure(self, runs: Runs) -> None:
        super().measure(runs)
        self.follow(self.texts.follow(AGREEMENT, self.texts.alphas(), "uniform", "gamma"))

    def follow(self, series: Series) -> None:
        """The agreement over training and its peak."""
        self.series, self.peak = series, read_peak(series)

    @claim("uniform-rises-then-falls", reads=("peak",))
    def rises_then_falls(self) -> Part:
        """Holds if both the rise to the peak and the fall from it lie above 0; `claims.toml` says when it fails."""
        row = self.record.row("peak")
        rise, fall = self.found(row, "rise", "rise_"), self.found(row, "fall", "fall_")
        levels = f"{row['start']:.3f} at the start, {row['peak']:.3f} there, {row['end']:.3f} at the end"
        detail = f"The peak is at step {row['peak_step']} of {row['last_step']}: {levels}."
        rise_said = f" The rise is {rise.value:.3f} ({in_words(rise.interval)})."
        parts = [exceeds(self.order.row, found, 0, detail) for found in (rise, fall)]
        verdict = verdict_of(parts)
        if row["peak_step"] in (0, row["last_step"]):
            excess = self.found(row, "excess", "excess_")
            alone = exceeds(self.order.row, excess, 0, detail).verdict
            wrong = (row["peak_step"] == 0 or row["last_step"] >= self.whole) and alone == "holds"
            verdict = "fails" if wrong else "undecided"
            detail += f" It exceeds the best other step, {row['other_step']}, by {in_words(excess.interval)}."
        return replace(parts[1], verdict=verdict, detail=detail + rise_said)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"peak": [self.line()], "pairs": self.pair_table(), "curves": self.curve_table()}

    def line(self) -> dict[str, float | None]:
        """The corpus' line: levels, rise and fall with their intervals, and the accuracy of the uniform runs."""
        peak, steps = self.peak, self.series.steps
        accuracy = np.mean([curve_of(run) for run in self.texts.of("uniform")], axis=0)
        return {
            **peak.row(steps),
            "chance": self.texts.chance,
            "held_out_texts": len(peak.rise),
            "largest": self.series.value(),
            "accuracy_at_peak": float(accuracy[peak.place]),
            "accuracy_at_end": float(accuracy[-1]),
            "best_accuracy_step": steps[int(accuracy.argmax())],
        }

    def pair_table(self) -> Table:
        """Every pair of runs by itself, on all texts."""
        each = zip(self.texts.pairs("uniform"), self.series.curve(), self.series.best(), strict=True)
        return [
            {
                "reference_seed": one,
                "uniform_seed": other,
                "start": float(curve[0]),
                "largest": float(curve[best]),
                "end": float(curve[-1]),
                "best_step": self.series.steps[best],
            }
            for (one, other), curve, best in each
        ]

    def curve_table(self) -> Table:
        """The agreement of every pair, and the uniform runs' accuracy, at every evaluation."""
        table = self.texts.rows(self.series, "uniform")
        for name, metric in (("validation accuracy", "accuracy"), ("training accuracy", "train_accuracy")):
            table += [
                {"what": name, "seeds": str(outcome.seed), "step": int(row["step"]), "value": float(row[metric])}
                for outcome in self.texts.outcomes("uniform")
                for row in outcome.run.rows
            ]
        return table

    def figures(self) -> Figures:
        title = "training under uniform attention"
        return {"curves": self.over_training(self.curve_table(), title, "agreement, accuracy")}

    def summary(self) -> str:
        peak, steps = self.peak, self.series.steps
        return (
            f"On {self.order.row} {AGREEMENT} is {peak.levels()} (the peak, step {steps[peak.place]} of {steps[-1]}, "
            f"was chosen on one half of the {self.texts.examples} and all is read on the other). It rises by "
            f"{peak.rise.mean():.3f} "
            f"({in_words(over_examples(peak.rise, peak.groups))}) and falls by {peak.fall.mean():.3f} "
            f"({in_words(over_examples(peak.fall, peak.groups))}); intervals are 95 % over examples."
        )


@dataclass(frozen=True, eq=False)
class Peak:
    """The peak that one half of the texts chose, and the other half's values.

    ``place``: its place among the steps; ``other``: that of the best other step. ``start``, ``top``, ``end``,
    ``second`` (texts,): values at the first step, the peak, the last step and the best other step. ``rise`` and
    ``fall`` (texts,): from the first step to the peak, and from there to the last step. ``groups`` (texts,): which are
    drawn together; None where each stands for itself.
    """

    place: int
    other: int
    start: Floats
    top: Floats
    end: Floats
    second: Floats
    rise: Floats
    fall: Floats
    groups: Groups | None = None

    def row(self, steps: Sequence[int]) -> dict[str, float | None]:
        """What the rule decides from: levels, rise and fall, and what the peak is above the best other step."""
        excess = self.top - self.second
        return {
            "start": float(self.start.mean()),
            "peak": float(self.top.mean()),
            "end": float(self.end.mean()),
            "peak_step": steps[self.place],
            "other_step": steps[self.other],
            "last_step": steps[-1],
            "rise": float(self.rise.mean()),
            **low_high(over_examples(self.rise, self.groups), "rise_"),
            "fall": float(self.fall.mean()),
            **low_high(over_examples(self.fall, self.groups), "fall_"),
            "excess": float(excess.mean()),
            **low_high(over_examples(excess, self.groups), "excess_"),
        }

    def levels(self) -> str:
        """The three levels in words."""
        return f"{self.start.mean():.3f} at the start, {self.top.mean():.3f} there, {self.end.mean():.3f} at the end"


def read_peak(series: Series) -> Peak:
    """The peak of the curve averaged over all pairs of runs."""
    values: Floats = series.values["expected"].mean(axis=0)  # (steps, texts)
    half = first_half(values.shape[1], series.groups)
    order = values[:, half].mean(axis=1).argsort(kind="stable")[::-1]
    place, other = int(order[0]), int(order[1])
    read = values[:, ~half]
    start, top, end = read[0], read[place], read[-1]
    groups = None if series.groups is None else series.groups[~half]
    return Peak(place, other, start, top, end, read[other], top - start, top - end, groups)
