"""Does the forecast, made from sentence pairs alone, say whether and when a translator's attention is learned? (ours)

Eight corpora: Multi30k with its targets shuffled by 0, 20, 50 and 100 %, fewer of its pairs, a LibreOffice pair and the
sample of Europarl. Each is forecast from the words of its training pairs and then trained on. Attention counts as
learned at the first evaluation at which A(alpha, alpha_ibm) exceeds twice chance, alpha_ibm being IBM Model 1's on the
corpus as it is. Forecast and thresholds are those of `attnlab forecast`, fixed long before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import altair as alt
import numpy as np

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.families.translation.pieces import bitext_of, ibm1_field, task_of
from attnlab.families.translation.problem import evaluated
from attnlab.families.translation.reading import stored_field
from attnlab.families.translation.spec import TranslatorSpec
from attnlab.families.translation.task import BitextSpec
from attnlab.fields import ScoreField
from attnlab.lab.claims import Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import low_high, missing, over_examples
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.pages.charts import COLOURS, INK, SIZE, curves, headed, hue, inline, panels, rounded
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import Floats, drawn_rows, percentiles
from attnlab.stats.proportions import wilson
from attnlab.stats.ranks import spearman
from attnlab.theory.forecast import LIKELY, WEAK, Forecast, forecast

# --- settings

SEED, BATCH, PAIRS = 20, 16, 100
STEPS: Mapping[Preset, int] = {"quick": 200, "reduced": 1000, "paper": 2000}
EVERY: Mapping[Preset, int] = {"quick": 50, "reduced": 100, "paper": 100}
LEARNED = 2.0
"""Attention is learned once A exceeds chance so many times."""
LEAST_CORRELATION, SIGNIFICANT = 0.5, 0.05
LEAST_CELLS, WRONG = 4, 0.25
"""Fewest cells on which the verdicts are judged, and the share of wrong ones from which on they are refuted."""


@dataclass(frozen=True)
class Cell:
    """A corpus, altered or not."""

    name: str
    corpus: str = "multi30k/en-de"
    shuffled: float = 0.0
    training_pairs: int | None = None

    @property
    def task(self) -> BitextSpec:
        changes = {"shuffled": self.shuffled, "training_pairs": self.training_pairs}
        return task_of(self.corpus).model_copy(update=changes)

    def setting(self, preset: Preset) -> Setting:
        def spec(seed: int) -> RunSpec:
            seeds = {"init_seed": seed, "data_seed": seed}
            return RunSpec(task=self.task, model=TranslatorSpec(), batch=BATCH, evaluation_batch=PAIRS, **seeds)

        schedule = Schedule.every(EVERY[preset], steps=STEPS[preset], checkpoint_every=500)
        return Setting(self.name, spec, {preset: (SEED,)}, schedule)


CELLS = (
    Cell("Multi30k"),
    Cell("Multi30k, 20 % shuffled", shuffled=0.2),
    Cell("Multi30k, 50 % shuffled", shuffled=0.5),
    Cell("Multi30k, 100 % shuffled", shuffled=1.0),
    Cell("Multi30k, 5000 pairs", training_pairs=5000),
    Cell("Multi30k, 1000 pairs", training_pairs=1000),
    Cell("LibreOffice, English to Dutch", "libreoffice/en-nl"),
    Cell("Europarl, 5401 pairs", "europarl/en-es"),
)
BY_PRESET: Mapping[Preset, tuple[Cell, ...]] = {"quick": (CELLS[0], CELLS[3]), "reduced": CELLS, "paper": CELLS}


class ForecastTranslation(Experiment):
    """Forecast against training, on sentence pairs."""

    name = "forecast-translation"
    title = "Can sentence pairs alone say whether a translator's attention is learned?"
    source = "ours, after P3 3.1, 4"
    decides_at = ("reduced", "paper")

    def settings_at(self, preset: Preset) -> list[Setting]:
        return [cell.setting(preset) for cell in BY_PRESET[preset]]

    def measure(self, runs: Runs) -> None:
        aligned: dict[str, ScoreField] = {}
        self.tried = []
        for cell in BY_PRESET[self.order.preset]:
            if cell.corpus not in aligned:
                aligned[cell.corpus] = aligned_by_counts(cell.corpus)
            self.tried.append(try_cell(cell, runs[cell.name][0], aligned[cell.corpus]))

    # --- rules

    @claim("forecast-orders-translation", reads=("cells",))
    def orders(self) -> Part:
        """Holds if gain and agreement at the end are correlated over cells, by rank, with p below 0.05 (exact)."""
        rows = self.record.rows("cells")
        if len(rows) < LEAST_CELLS:
            return missing("eight corpora", "corpora", "Too few corpora.")
        gain, end = (np.array([[row[name] for row in rows]], dtype=np.float64) for name in ("gain", "excess"))
        value, p = float(spearman(gain, end)[0]), exact_p(gain[0], end[0])
        drawn = drawn_rows(len(rows), "cells of forecast-translation")
        again = spearman(gain[0][drawn], end[0][drawn])
        verdict: Verdict = "undecided"
        if value >= LEAST_CORRELATION and p < SIGNIFICANT:
            verdict = "holds"
        elif value <= 0:
            verdict = "fails"
        detail = f"Spearman's correlation {value:.2f} over {len(rows)} corpora (exact one-sided p = {p:.2g})."
        return Part("eight corpora", verdict, value, percentiles(again), "corpora", detail)

    @claim("forecast-verdict-translation", reads=("cells",))
    def says_right(self) -> Part:
        """Holds if every cell that is said to be likely learns and none that is said to have no reason does."""
        said = {"likely to be learned": True, "no reason to be learned": False}
        rows = [row for row in self.record.rows("cells") if row["forecast"] in said]
        if not rows:
            return missing("eight corpora", "corpora", "The forecast decides on none of them.")
        right = sum(said[row["forecast"]] == (row["learned_step"] is not None) for row in rows)
        verdict: Verdict = "undecided"
        if len(rows) >= LEAST_CELLS:
            share = right / len(rows)
            verdict = "holds" if share == 1 else "fails" if 1 - share > WRONG else "undecided"
        detail = f"{right} of {len(rows)} corpora that the forecast decides on come out as it says."
        return Part("eight corpora", verdict, right / len(rows), wilson(right, len(rows)), "corpora", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"cells": [one.row() for one in self.tried]}

    def run_tables(self) -> dict[str, Table]:
        runs = [self.run_row(outcome) for outcome in self.runs.all()]
        return {"runs": runs, "curves": [row for one in self.tried for row in one.rows()]}

    def figures(self) -> Figures:
        rows = [one.row() for one in self.tried]
        through = [
            {**row, "forecast": one.said.verdict, "learned": LEARNED * one.row()["chance"]}
            for one in self.tried
            for row in one.rows()
        ]
        return {"forecast": forecast_figure(rows), "curves": curve_figure(through)}

    def summary(self) -> str:
        said = [
            f"{row['cell']}: gain {row['gain']:.3f}, {row['forecast']}; attention "
            + ("is not learned" if row["learned_step"] is None else f"is learned at step {row['learned_step']}")
            + f" ({row['agreement']:.2f} against {row['chance']:.2f} by chance)"
            for row in (one.row() for one in self.tried)
        ]
        return f"{'. '.join(said)}."

    def notes(self) -> list[str]:
        return [
            f"One run of each corpus, {STEPS[self.order.preset]} updates of {BATCH} pairs, evaluated every "
            f"{EVERY[self.order.preset]} on {PAIRS} validation pairs; intervals of A are over sentences.",
            f"The forecast reads words between spaces. Gain in bits, likely from {LIKELY} on, no reason below {WEAK}. "
            "The network reads pieces.",
            "Shuffled targets are permuted among the drawn pairs; validation pairs stay true. Pieces are those of the "
            "whole corpus, also where fewer pairs are trained on.",
            "IBM Model 1 is trained on each corpus as it is, over pieces, five iterations: the same yardstick for all "
            "that is made of it.",
            *self.at_preset(quick="quick: two corpora, 200 updates.", reduced="reduced: 1000 updates, not 2000."),
        ]


# --- measures


@dataclass(frozen=True, eq=False)
class Tried:
    """One cell: its forecast, and A(alpha(step), alpha_ibm) (evaluations, words)."""

    cell: Cell
    outcome: Outcome
    said: Forecast
    agreement: Floats
    chance: Floats
    sentence: Any

    @property
    def steps(self) -> list[int]:
        return [int(row["step"]) for row in self.outcome.run.rows]

    @property
    def learned_step(self) -> int | None:
        """The first evaluation at which A exceeds twice chance."""
        beyond = self.agreement.mean(axis=1) > LEARNED * self.chance.mean()
        return self.steps[int(beyond.argmax())] if beyond.any() else None

    def row(self) -> dict[str, Any]:
        excess = self.agreement[-1] - self.chance
        return {
            "cell": self.cell.name,
            "pairs": self.said.sentences,
            "forecast": self.said.verdict,
            "gain": self.said.gain,
            **low_high(self.said.interval, "gain_"),
            "learned_step": self.learned_step,
            "agreement": float(self.agreement[-1].mean()),
            "chance": float(self.chance.mean()),
            "excess": float(excess.mean()),
            **low_high(over_examples(excess, self.sentence)),
            "accuracy": self.outcome.run.rows[-1]["accuracy"],
            "loss": self.outcome.run.rows[-1]["loss"],
            "last_step": self.steps[-1],
            "run": self.outcome.run.id,
        }

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"cell": self.cell.name, "seeds": str(SEED), "step": step, "value": float(values.mean())}
            for step, values in zip(self.steps, self.agreement, strict=True)
        ]


def aligned_by_counts(corpus: str) -> ScoreField:
    """IBM Model 1's Trans(y_t | x_l) of the validation pairs, from the corpus as it is; alpha_ibm orders the same."""
    bitext = bitext_of(corpus)
    return ibm1_field(bitext, evaluated(bitext, PAIRS)["valid"])


def try_cell(cell: Cell, outcome: Outcome, aligned: ScoreField) -> Tried:
    """Forecast the training pairs, and read the run's attention."""
    bitext, run = cell.task.build(), outcome.run.run
    assert run is not None
    alphas = (stored_field(run.fields(int(row["step"])), "valid", "alpha") for row in outcome.run.rows)
    agreement = np.stack([top_agreement(alpha, aligned).expected for alpha in alphas])
    outputs = evaluated(bitext, PAIRS)["valid"].target.lengths + 1
    sentence = np.repeat(np.arange(len(outputs)), outputs)
    words = ([text.split() for text in side.texts()] for side in (bitext.train.source, bitext.train.target))
    said = forecast(SentencePairs.from_tokens(next(words), next(words)))
    return Tried(cell, outcome, said, agreement, random_baseline(aligned.lengths), sentence)


def exact_p(one: Floats, other: Floats) -> float:
    """The share of all orders of ``other`` whose rank correlation with ``one`` is at least as high.

    >>> round(exact_p(np.arange(4.0), np.arange(4.0)), 4)
    0.0417
    """
    orders = np.array(list(permutations(range(len(other)))))
    found = float(spearman(one[None], other[None])[0])
    every = spearman(np.broadcast_to(one, orders.shape), other[orders])
    return float((every >= found - 1e-12).mean())


# --- figures


def forecast_figure(rows: Table) -> alt.TopLevelMixin:
    """What was forecast against how far attention came; a name stands left of its point where it would run into the
    next one."""
    placed = [
        {
            **row,
            "left": any(
                0 < other["gain"] - row["gain"] < 0.4 and abs(other["excess"] - row["excess"]) < 0.02 for other in rows
            ),
        }
        for row in rows
    ]
    base = alt.Chart(inline(placed)).encode(color=hue("forecast", COLOURS))
    limits = alt.Chart(inline([{"gain": WEAK}, {"gain": LIKELY}])).mark_rule(strokeDash=[4, 4], color=INK, opacity=0.5)
    scale = alt.Scale(domain=[min(row["gain"] for row in rows) - 0.1, max(row["gain"] for row in rows) + 0.8])
    name = base.encode(x="gain:Q", y="excess:Q", text="cell:N")
    layers = alt.layer(
        limits.encode(x="gain:Q"),
        base.mark_rule(opacity=0.5).encode(x="gain_low:Q", x2="gain_high:Q", y="excess:Q"),
        base.mark_rule(opacity=0.5).encode(x="gain:Q", y="low:Q", y2="high:Q"),
        base.mark_point(filled=True, size=90).encode(
            x=alt.X("gain:Q", title="gain, bits, with its 95 % interval", scale=scale, axis=alt.Axis(tickCount=8)),
            y=alt.Y("excess:Q", title="A(alpha, alpha_ibm) less chance, at the end"),
            tooltip=["cell:N", "forecast:N", rounded("gain"), rounded("excess"), "learned_step:Q"],
        ),
        name.transform_filter("!datum.left").mark_text(align="left", dx=8, fontSize=11),
        name.transform_filter("datum.left").mark_text(align="right", dx=-8, fontSize=11),
    )
    return headed(layers, "Forecast, and how far attention came; dashed: the thresholds", width=520, height=320)


def curve_figure(rows: Table) -> alt.TopLevelMixin:
    """A panel for each corpus: how attention agrees with counting as it is trained, in the colour of its forecast."""
    lines = curves(y="value", y_title="A(alpha, alpha_ibm)", group="seeds", colour="forecast", colours=COLOURS)
    level = alt.Chart().mark_rule(strokeDash=[4, 3], color=INK).encode(y="learned:Q", size=alt.value(1))
    layer = alt.layer(lines.mark_line(strokeWidth=2), level).properties(**SIZE)
    return panels(
        rows, layer=layer, column="cell", title="Attention as each translator is trained; dashed: counts as learned"
    )
