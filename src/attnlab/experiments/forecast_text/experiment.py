"""Forecast-text: does the forecast, made from texts and labels alone, say how far attention will follow words?

Corpora are made harder in known ways, labels shuffled or keywords removed. Each variant is forecast from its training
texts and then trained on; measured is A(alpha, beta) less chance on the validation texts (P3 3.1). The forecast and the
rivals it is compared with were fixed before any of these runs; they are in `rivals`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import numpy as np

from attnlab.data.altered import keywords
from attnlab.experiments.forecast_text import rivals
from attnlab.experiments.texts import corpora as shared
from attnlab.families.texts.problem import evaluated
from attnlab.families.texts.reading import corpus_of
from attnlab.families.texts.spec import LabelledTextSpec
from attnlab.lab.claims import Preset
from attnlab.lab.corpus_runs import best_step, curve_of, steps_of
from attnlab.lab.experiment import Figures, Order, Table
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import low_high, over_examples
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.measures.series import Series, compared
from attnlab.measures.top import COMMON, common_share, common_words
from attnlab.pages.charts import COLOURS, INK, headed, inline, rounded
from attnlab.stats.bootstrap import Floats
from attnlab.theory.forecast import LIKELY, WEAK, prospect_of

# --- settings

COMMON_SHARES = ("alpha_common", "beta_common", "words_common")
NAMED = 10
"""How many of the removed words the table names."""


@dataclass(frozen=True)
class Size:
    """Which corpora, for how many updates, over how many validation texts, and with how many pairs of runs."""

    corpora: tuple[str, ...]
    steps: int
    texts: int
    pairs: int


SIZES: dict[Preset, Size] = {
    "quick": Size(("sst",), 150, 300, 1),
    "reduced": Size(("sst", "sms"), 1000, 4000, 2),
    "paper": Size(("sst", "sms", "ag_news"), 2000, 4000, 2),
}


@dataclass(frozen=True)
class Variant:
    """One way to alter a corpus."""

    name: str
    shuffled: float = 0.0
    without_keywords: int = 0

    def task(self, corpus: str, pair: int) -> LabelledTextSpec:
        """The altered corpus that a pair of runs is trained on; each pair has labels shuffled in its own way."""
        return LabelledTextSpec(
            corpus=corpus,
            content=corpus_of(corpus).content,
            shuffled=self.shuffled,
            shuffle_seed=pair if self.shuffled else 0,
            without_keywords=self.without_keywords,
        )

    def label(self, corpus: str) -> str:
        return f"{corpus}, {self.name},"

    def setting(self, corpus: str, role: shared.Role, pair: int, preset: Preset) -> shared.TextSetting:
        """A run of experiment agreement, on the altered corpus and for fewer updates."""
        size = SIZES[preset]
        base = shared.text_setting(corpus, role, preset, seeds=(shared.SEEDS[role][pair],), label=self.label(corpus))
        altered = {"task": self.task(corpus, pair), "evaluation_batch": size.texts}
        planned = base.schedule_at(preset)
        evaluations = tuple(step for step in planned.evaluations if step <= size.steps)
        schedule = planned.model_copy(update={"steps": size.steps, "evaluations": evaluations, "keep": False})
        return replace(base, spec=lambda seed: base.spec(seed).model_copy(update=altered), schedule=schedule)


VARIANTS = (
    Variant("as it is"),
    Variant("20 % shuffled", shuffled=0.2),
    Variant("40 % shuffled", shuffled=0.4),
    Variant("100 % shuffled", shuffled=1.0),
    Variant("200 keywords removed", without_keywords=200),
)


class ForecastText(shared.TextExperiment):
    """Forecast against training, on labelled texts."""

    name = "forecast-text"
    title = "Can texts and labels alone say how far attention will follow words?"
    source = "ours, after P3 3.1, 4"
    rows = ()
    roles = ("reference", "comparison")

    def settings_for(self, order: Order) -> list[shared.TextSetting]:
        size = SIZES[order.preset]
        return [
            variant.setting(corpus, role, pair, order.preset)
            for corpus in size.corpora
            for variant in VARIANTS
            for pair in order.first(range(size.pairs))
            for role in self.roles
        ]

    def measure(self, runs: Runs) -> None:
        preset = self.order.preset
        self.tried = [
            try_variant(variant, shared.TextRuns(corpus, preset, runs, variant.label(corpus)))
            for corpus in SIZES[preset].corpora
            for variant in VARIANTS
        ]
        self.variants = [one.line() for one in self.tried]
        self.measures = rivals.measure_table(self.variants)

    # --- tables, figures, words

    def tables(self) -> dict[str, Table]:
        return {
            "variants": self.variants,
            "verdicts": verdict_table(self.variants),
            "measures": self.measures,
            "pairs": [line for one in self.tried for line in one.pair_lines()],
            "keywords": keyword_table(SIZES[self.order.preset].corpora),
        }

    def figures(self) -> Figures:
        return {"forecast": forecast_figure(self.variants), "measures": rivals.measure_figure(self.measures)}

    def summary(self) -> str:
        said = []
        for corpus in dict.fromkeys(row["corpus"] for row in self.variants):
            ends = ", ".join(
                f"{row['excess']:.3f} {row['variant']} (gain {row['gain']:.3f})"
                for row in self.variants
                if row["corpus"] == corpus
            )
            said.append(f"A(alpha, beta) less chance on {corpus}: {ends}.")
        forecast, *others = [row for row in self.measures if (row["over"], row["read"]) == ("all", "best")]
        correlation = "undefined, as all are alike"
        if forecast["spearman"] is not None:
            correlation = f"{forecast['spearman']:.2f} (95 % interval {forecast['low']:.2f} to {forecast['high']:.2f})"
        said.append(f"The forecast's Spearman correlation with it over {forecast['variants']} variants: {correlation}.")
        beside = "; ".join(
            f"{row['title']} {'undefined' if row['spearman'] is None else format(row['spearman'], '.2f')}"
            for row in others
        )
        return " ".join([*said, f"Other measures: {beside}."])

    def notes(self) -> list[str]:
        preset, size = self.order.preset, SIZES[self.order.preset]
        notes = [
            "The settings are ours: the paper has no such experiment. Network, seeds and evaluations are those of "
            f"experiment agreement; {size.steps} updates, at most {size.texts} validation texts.",
            f"Gain in bits, likely from {LIKELY} on, no reason below {WEAK}. Logistic regression has C = "
            f"{rivals.STRENGTH:g} and is fitted to thirds of the training texts.",
            "Shuffled labels are permuted among themselves, so that a part of them stays right; validation labels stay "
            "true. Removed words are <unk> in both splits, and how many <unk> a text has may still say something.",
            "Intervals of A are over validation texts and say nothing about other seeds. The best evaluation is chosen "
            "on the same texts, which lifts A a little everywhere; the column held_out has it less chance without "
            "that. The column at_end has it with both networks as they ended.",
            "Eight measures are compared on few variants: that one of them is the best here may be luck.",
            f"alpha_common and beta_common: how often the largest value is at one of the {COMMON} commonest words, "
            "which words_common of all words are; looked at after the agreements were known, to find out what they are "
            "made of.",
        ]
        if preset != "paper":
            notes.append(f"{preset}: {' and '.join(size.corpora)} only, {size.steps} updates instead of 2000.")
        return notes

    def seeds(self) -> dict[str, list[int]]:
        return {role: self.tried[0].runs.seeds(role) for role in self.roles}


# --- measures


@dataclass(frozen=True, eq=False)
class Tried:
    """One variant of a corpus: what its texts said, pair by pair, and how its runs ended.

    ``series``: A(alpha, beta(step)) on the validation texts. ``last`` (pairs, texts): the same with both networks as
    they ended. ``chance`` (texts,). ``wrong`` (pairs,): the share of training labels that are not the true ones.
    ``common`` (pairs, 3): how often the largest alpha and the largest beta are at common words, where A is read, and
    how many of all words are common.
    """

    variant: Variant
    runs: shared.TextRuns
    measured: Sequence[rivals.Measured]
    series: Series
    last: Floats
    chance: Floats
    wrong: Sequence[float]
    common: Sequence[Sequence[float]]

    def line(self) -> dict[str, Any]:
        """What was measured, the forecast, and all other measures; a measure is the mean over the pairs' shufflings."""
        excess, chance = self.series.at_best() - self.chance, float(self.chance.mean())
        ended = [run.rows[-1]["train_accuracy"] for run in self.runs.of("reference")]
        # The verdict is from the interval of the gain; of several shufflings, from the mean ends of theirs.
        low, high = np.mean([one.forecast.interval for one in self.measured], axis=0).tolist()
        return {
            "corpus": self.runs.name,
            "variant": self.variant.name,
            "wrong_labels": float(np.mean(self.wrong)),
            "agreement": self.series.value(),
            "chance": chance,
            "excess": float(excess.mean()),
            **low_high(over_examples(excess)),
            "held_out": self.series.held_out() - chance,
            # Where labels are shuffled, validation accuracy is a poor guide to the evaluation alpha is read at: with
            # nothing to learn it may choose the untrained network.
            "at_end": float((self.last - self.chance).mean()),
            "accuracy": self.runs.accuracy("reference"),
            "train_accuracy": float(np.mean(ended)),
            "forecast": prospect_of((low, high)),
            **low_high((low, high), "gain_"),
            **dict(zip(COMMON_SHARES, np.mean(self.common, axis=0).tolist(), strict=True)),
            **{measure: float(np.mean([one.values[measure] for one in self.measured])) for measure in rivals.MEASURES},
        }

    def pair_lines(self) -> Table:
        """Each pair of runs: its agreement above chance, at which evaluations it was read, and its texts' gain."""
        best, curve = self.series.best(), self.series.curve()
        pairs = zip(self.runs.of("reference"), self.runs.of("comparison"), strict=True)
        return [
            {
                "corpus": self.runs.name,
                "variant": self.variant.name,
                "reference": reference.id,
                "comparison": comparison.id,
                "accuracy": float(curve_of(reference).max()),
                "alpha_step": best_step(reference),
                "beta_step": self.series.steps[best[pair]],
                "excess": float(curve[pair, best[pair]] - self.chance.mean()),
                "wrong_labels": self.wrong[pair],
                "gain": self.measured[pair].forecast.gain,
            }
            for pair, (reference, comparison) in enumerate(pairs)
        ]


def try_variant(variant: Variant, runs: shared.TextRuns) -> Tried:
    """Measure the texts, and read the runs' fields."""
    measured: list[rivals.Measured] = []
    curves, wrong, last, common = [], [], [], []
    for pair, (reference, comparison) in enumerate(zip(runs.of("reference"), runs.of("comparison"), strict=True)):
        altered = variant.task(runs.name, pair).build()
        # Where nothing is shuffled all pairs have the same texts and labels.
        measured.append(measured[0] if measured and not variant.shuffled else rivals.measure_texts(altered))
        wrong.append(float((altered.train.labels != runs.corpus.train.labels).double().mean()))
        steps, alpha = steps_of(comparison), runs.field(reference, best_step(reference), "valid", "alpha")
        curves.append([compared(alpha, runs.field(comparison, step, "valid", "gamma")) for step in steps])
        ended = runs.field(reference, steps[-1], "valid", "alpha")
        last.append(top_agreement(ended, runs.field(comparison, steps[-1], "valid", "gamma")).expected)
        best = max(range(len(steps)), key=lambda place: curves[-1][place]["expected"].mean())
        beta = runs.field(comparison, steps[best], "valid", "gamma")
        texts, these = evaluated(altered, len(alpha))["valid"], common_words(altered.train, len(altered.words))
        shares = [common_share(field, texts, these) for field in (alpha, beta)]
        common.append([*shares, float(these[texts.words.numpy()].mean())])
    series, chance = Series.stacked("alpha, beta", curves, steps), random_baseline(alpha.lengths)
    return Tried(variant, runs, measured, series, np.stack(last), chance, wrong, common)


# --- tables and figures


def verdict_table(variants: Table) -> Table:
    """A row for each verdict of the forecast: the agreement above chance that its variants ended with."""
    groups: dict[str, list[float]] = {}
    for row in variants:
        groups.setdefault(row["forecast"], []).append(row["excess"])
    return [
        {"forecast": name, "variants": len(of), "least": min(of), "mean": float(np.mean(of)), "most": max(of)}
        for name, of in groups.items()
    ]


def keyword_table(corpora: Sequence[str]) -> Table:
    """The first of the words that are removed, and the share of training tokens that all of them are."""
    counts = [variant.without_keywords for variant in VARIANTS if variant.without_keywords]
    return [
        {
            "corpus": corpus.name,
            "removed": len(removed),
            "share_of_tokens": float(np.isin(corpus.train.words.numpy(), removed).mean()),
            "first": " ".join(corpus.words[word] for word in removed[:NAMED]),
        }
        for corpus in map(corpus_of, corpora)
        for count in counts
        for removed in [keywords(corpus)[:count]]
    ]


def forecast_figure(variants: Table) -> alt.TopLevelMixin:
    """What was forecast against what was measured."""
    names = [variant.name for variant in VARIANTS]
    scale, legend = alt.Scale(domain=names, range=list(COLOURS)), alt.Legend(orient="right")
    colour = alt.Color("variant:N", title=None, sort=names, scale=scale, legend=legend)
    base = alt.Chart(inline(variants)).encode(color=colour)
    bars = base.mark_rule(opacity=0.5)
    limits = alt.Chart(inline([{"gain": WEAK}, {"gain": LIKELY}])).mark_rule(strokeDash=[4, 4], color=INK, opacity=0.5)
    layers = alt.layer(
        limits.encode(x="gain:Q"),
        alt.Chart(inline([{"excess": 0}])).mark_rule(color=INK, opacity=0.5).encode(y="excess:Q"),
        bars.encode(x=alt.X("gain_low:Q"), x2="gain_high:Q", y="excess:Q"),
        bars.encode(x="gain:Q", y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=True, size=90).encode(
            x=alt.X("gain:Q", title="gain, bits, with its 95 % interval", scale=alt.Scale(zero=True)),
            y=alt.Y("excess:Q", title="A(alpha, beta) less chance"),
            shape=alt.Shape("corpus:N", title=None),
            tooltip=["corpus:N", "variant:N", "forecast:N", rounded("gain"), "excess:Q"],
        ),
    )
    return headed(layers, "Forecast and measured agreement; dashed: the thresholds", width=460, height=300)
