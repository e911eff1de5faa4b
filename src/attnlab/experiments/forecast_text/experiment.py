"""Forecast-text: does the forecast, made from texts and labels alone, say how far attention will follow words?

Corpora are made harder in known ways, labels shuffled or keywords removed. Each variant is forecast from its training
texts and then trained on; measured is A(alpha, beta) less chance on the validation texts (P3 3.1). All measures were
fixed before any of these runs; they are in `attnlab.experiments.forecast_text.text_measures`.
"""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np

from attnlab.data.altered import keywords
from attnlab.experiments.forecast_text.common_words import COMMON
from attnlab.experiments.forecast_text.text_measures import MEASURES, STRENGTH
from attnlab.experiments.forecast_text.text_variants import ROLES, SIZES, VARIANTS, pairs_in
from attnlab.experiments.forecast_text.tried_texts import Tried, try_variant
from attnlab.experiments.texts.classification import SEEDS, corpus_of
from attnlab.experiments.texts.text_parts import bounds
from attnlab.experiments.texts.text_pictures import heading
from attnlab.experiments.texts.text_runs import Floats
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, INK
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import drawn_rows, value_and_interval
from attnlab.stats.ranks import spearman
from attnlab.theory.forecast import LIKELY, WEAK

NAMED = 10
"""How many of the removed words the table names."""


class ForecastText(Experiment):
    """Forecast against training, on labelled texts."""

    name = "forecast-text"
    title = "Can texts and labels alone say how far attention will follow words?"
    source = "ours, after P3 3.1, 4"

    def jobs(self, order: Order) -> list[Job]:
        return [
            variant.job(corpus, role, pair, order.preset)
            for corpus in SIZES[order.preset].corpora
            for variant in VARIANTS
            for pair in pairs_in(order)
            for role in ROLES
        ]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        tried = [
            try_variant(corpus, variant, order, done) for corpus in SIZES[order.preset].corpora for variant in VARIANTS
        ]
        variants, verdicts, measures = variant_table(tried), verdict_table(tried), measure_table(tried)
        return Result(
            summary=tell(variants, measures),
            tables={
                "variants": variants,
                "verdicts": verdicts,
                "measures": measures,
                "pairs": pair_table(tried),
                "keywords": keyword_table(order),
            },
            figures={"forecast": forecast_figure(variants), "measures": measure_figure(measures)},
            findings=(),
            notes=notes(order),
            seeds={role: [SEEDS[role][pair] for pair in pairs_in(order)] for role in ROLES},
        )


# --- tables


def variant_table(tried: Sequence[Tried]) -> Table:
    """A row for each variant of a corpus: what was measured, the forecast, and all other measures."""
    table = []
    for one in tried:
        interval, gain = bounds(one.excess), one.gain_interval
        references = [reference for reference, _ in one.runs]
        table.append(
            {
                "corpus": one.corpus,
                "variant": one.variant.name,
                "wrong_labels": float(np.mean(one.wrong)),
                "agreement": one.series.value(),
                "chance": float(one.chance.mean()),
                "excess": one.outcomes["best"],
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
                "held_out": one.series.held_out() - float(one.chance.mean()),
                "at_end": one.outcomes["last"],
                "accuracy": float(np.mean([max(row["accuracy"] for row in run.rows) for run in references])),
                "train_accuracy": float(np.mean([run.rows[-1]["train_accuracy"] for run in references])),
                "forecast": one.verdict,
                "gain_low": gain[0],
                "gain_high": gain[1],
                **dict(zip(("alpha_common", "beta_common", "words_common"), one.common, strict=True)),
                **{measure: one.value(measure) for measure in MEASURES},
            }
        )
    return table


def verdict_table(tried: Sequence[Tried]) -> Table:
    """A row for each verdict of the forecast: the agreement above chance that its variants ended with."""
    table = []
    for verdict in dict.fromkeys(one.verdict for one in tried):
        group = [one.outcomes["best"] for one in tried if one.verdict == verdict]
        table.append(
            {
                "forecast": verdict,
                "variants": len(group),
                "least": min(group),
                "mean": float(np.mean(group)),
                "most": max(group),
            }
        )
    return table


def measure_table(tried: Sequence[Tried]) -> Table:
    """Each measure's Spearman correlation with the agreement above chance at the ``best`` and the ``last`` evaluation.

    Over ``all`` variants of all corpora, with a 95 % bootstrap interval over them; within each of several corpora the
    variants are too few for one.
    """
    corpora = list(dict.fromkeys(one.corpus for one in tried))
    groups = {"all": list(tried)}
    if len(corpora) > 1:
        groups |= {name: [one for one in tried if one.corpus == name] for name in corpora}
    table = []
    for measure, title in MEASURES.items():
        for read in ("best", "last"):
            for over, group in groups.items():
                values = np.array([one.value(measure) for one in group])
                outcome = np.array([one.outcomes[read] for one in group])
                found, low, high = correlated(values, outcome)
                table.append(
                    {
                        "measure": measure,
                        "title": title,
                        "read": read,
                        "over": over,
                        "variants": len(group),
                        "spearman": found,
                        "low": low if over == "all" else None,
                        "high": high if over == "all" else None,
                    }
                )
    return table


def correlated(values: Floats, outcome: Floats) -> tuple[float | None, float | None, float | None]:
    """Spearman's correlation and its 95 % percentile interval over variants; None where one side is constant."""
    rows = drawn_rows(len(values), "forecast-text")
    estimate = value_and_interval(spearman(values[rows], outcome[rows]))
    return (None, None, None) if estimate is None else (estimate[0], *estimate[1])


def pair_table(tried: Sequence[Tried]) -> Table:
    """Each pair of runs: its agreement above chance, at which evaluations it was read, and its texts' gain."""
    table = []
    for one in tried:
        best, curve = one.series.best(), one.series.curve()
        for pair, (reference, comparison) in enumerate(one.runs):
            chosen = max(reference.rows, key=lambda row: row["accuracy"])
            table.append(
                {
                    "corpus": one.corpus,
                    "variant": one.variant.name,
                    "reference": reference.id,
                    "comparison": comparison.id,
                    "accuracy": chosen["accuracy"],
                    "alpha_step": int(chosen["step"]),
                    "beta_step": one.series.steps[best[pair]],
                    "excess": float(curve[pair, best[pair]] - one.chance.mean()),
                    "wrong_labels": one.wrong[pair],
                    "gain": one.measured[pair].forecast.gain,
                }
            )
    return table


def keyword_table(order: Order) -> Table:
    """The first of the words that are removed, and the share of training tokens that all of them are."""
    table = []
    for name in SIZES[order.preset].corpora:
        corpus = corpus_of(name)
        for variant in VARIANTS:
            if variant.without_keywords:
                removed = keywords(corpus)[: variant.without_keywords]
                table.append(
                    {
                        "corpus": name,
                        "removed": len(removed),
                        "share_of_tokens": float(np.isin(corpus.train.words.numpy(), removed).mean()),
                        "first": " ".join(corpus.words[word] for word in removed[:NAMED]),
                    }
                )
    return table


# --- words and pictures


def tell(variants: Table, measures: Table) -> str:
    """The result in plain words."""
    told = []
    for corpus in dict.fromkeys(row["corpus"] for row in variants):
        ends = ", ".join(
            f"{row['excess']:.3f} {row['variant']} (gain {row['gain']:.3f})"
            for row in variants
            if row["corpus"] == corpus
        )
        told.append(f"A(alpha, beta) less chance on {corpus}: {ends}.")
    forecast, *others = [row for row in measures if (row["over"], row["read"]) == ("all", "best")]
    found = "undefined, as all are alike"
    if forecast["spearman"] is not None:
        found = f"{forecast['spearman']:.2f} (95 % interval {forecast['low']:.2f} to {forecast['high']:.2f})"
    told.append(f"The forecast's Spearman correlation with it over {forecast['variants']} variants: {found}.")
    beside = "; ".join(
        f"{row['title']} {'undefined' if row['spearman'] is None else format(row['spearman'], '.2f')}" for row in others
    )
    return " ".join([*told, f"Other measures: {beside}."])


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    size = SIZES[order.preset]
    told = [
        "The settings are ours: the paper has no such experiment. Network, seeds and evaluations are those of "
        f"experiment agreement; {size.steps} updates, at most {size.texts} validation texts.",
        f"Gain in bits, likely from {LIKELY} on, no reason below {WEAK}. Logistic regression has C = {STRENGTH:g} and "
        "is fitted to thirds of the training texts.",
        "Shuffled labels are permuted among themselves, so that a part of them stays right; validation labels stay "
        "true. Removed words are <unk> in both splits, and how many <unk> a text has may still tell something.",
        "Intervals of A are over validation texts and say nothing about other seeds. The best evaluation is chosen on "
        "the same texts, which lifts A a little everywhere; the column held_out has it less chance without that. The "
        "column at_end has it with both networks as they ended.",
        "Eight measures are compared on few variants: that one of them is the best here may be luck.",
        f"alpha_common and beta_common: how often the largest value stands at one of the {COMMON} commonest words, "
        "which words_common of all words are; looked at after the agreements were known, to find out what they are "
        "made of.",
    ]
    if order.preset != "paper":
        told.append(f"{order.preset}: {' and '.join(size.corpora)} only, {size.steps} updates instead of 2000.")
    return tuple(told)


def forecast_figure(variants: Table) -> alt.TopLevelMixin:
    """What was forecast against what was measured."""
    data = alt.InlineData(values=[dict(row) for row in variants])
    colour = alt.Color(
        "variant:N",
        title=None,
        sort=[variant.name for variant in VARIANTS],
        scale=alt.Scale(domain=[variant.name for variant in VARIANTS], range=list(COLOURS)),
        legend=alt.Legend(orient="right"),
    )
    x = alt.X("gain:Q", title="gain, bits, with its 95 % interval", scale=alt.Scale(zero=True))
    y = alt.Y("excess:Q", title="A(alpha, beta) less chance")
    base = alt.Chart(data).encode(color=colour)
    thresholds = alt.Chart(alt.InlineData(values=[{"gain": WEAK}, {"gain": LIKELY}])).mark_rule(
        strokeDash=[4, 4], color=INK, opacity=0.5
    )
    return alt.layer(
        thresholds.encode(x="gain:Q"),
        alt.Chart(alt.InlineData(values=[{"excess": 0}])).mark_rule(color=INK, opacity=0.5).encode(y="excess:Q"),
        base.mark_rule(opacity=0.5).encode(x=alt.X("gain_low:Q"), x2="gain_high:Q", y="excess:Q"),
        base.mark_rule(opacity=0.5).encode(x="gain:Q", y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=True, size=90).encode(
            x=x,
            y=y,
            shape=alt.Shape("corpus:N", title=None),
            tooltip=["corpus:N", "variant:N", "forecast:N", alt.Tooltip("gain:Q", format=".3f"), "excess:Q"],
        ),
    ).properties(width=460, height=300, title=heading("Forecast and measured agreement; dashed: the thresholds"))


def measure_figure(measures: Table) -> alt.TopLevelMixin:
    """How well each measure orders the variants; within corpora as small points."""
    rows = [dict(row) for row in measures if row["read"] == "best" and row["spearman"] is not None]
    y = alt.Y("title:N", title=None, sort=list(MEASURES.values()), axis=alt.Axis(labelLimit=400))
    x = alt.X("spearman:Q", title="Spearman with A(alpha, beta) less chance", scale=alt.Scale(domain=[-1, 1]))
    corpora = list(dict.fromkeys(row["over"] for row in rows))
    colour = alt.Color(
        "over:N", title=None, sort=corpora, scale=alt.Scale(domain=corpora, range=[INK, *COLOURS[: len(corpora) - 1]])
    )
    whole = alt.InlineData(values=[row for row in rows if row["over"] == "all"])
    parts = alt.InlineData(values=[row for row in rows if row["over"] != "all"])
    return alt.layer(
        alt.Chart(whole).mark_rule(strokeWidth=2).encode(y=y, x=alt.X("low:Q"), x2="high:Q", color=colour),
        alt.Chart(whole).mark_point(filled=True, size=80).encode(y=y, x=x, color=colour),
        alt.Chart(parts).mark_point(size=45).encode(y=y, x=x, color=colour),
    ).properties(
        width=400, height=26 * len(MEASURES), title=heading("Eight measures; bar: 95 % interval over variants")
    )
