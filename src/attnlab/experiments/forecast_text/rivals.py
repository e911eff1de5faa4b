"""The forecast and seven rivals: what texts and labels say by themselves about how far attention will follow words.

Each is one number from the training texts, before any training. All were fixed before any run was made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import altair as alt
import numpy as np
import torch

from attnlab.data.altered import shuffle_labels
from attnlab.data.labelled_text import Corpus
from attnlab.families.texts.reading import labelled_pairs
from attnlab.lab.experiment import Table
from attnlab.lab.rules import low_high
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.models.logistic import beta_log, counts, fit_logistic
from attnlab.pages.charts import COLOURS, INK, headed, inline
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import drawn_rows, value_and_interval
from attnlab.stats.ranks import spearman
from attnlab.theory.forecast import MEASURES as FORECASTS
from attnlab.theory.forecast import Forecast, forecast

MEASURES: Mapping[str, str] = {
    **FORECASTS,
    "gain_above_shuffled": "gain, less that of shuffled labels",
    "mutual_information_above_shuffled": "mutual information, less that of shuffled labels",
    "logistic_accuracy": "logistic regression: held-out accuracy, less the majority's",
    "logistic_agreement": "logistic regression: agreement of two fits, less chance",
}
"""The forecast's measure, the three that every forecast has beside it, and four that are tried here."""

SHUFFLES = (1000, 1001, 1002)
"""Seeds of the shufflings of all labels whose mean is a measure's level without any relation; no variant has them."""
STRENGTH = 100.0
"""C of logistic regression: of 1, 10 and 100 the best in held-out accuracy on every unaltered corpus."""


@dataclass(frozen=True)
class Measured:
    """The forecast, and the ``values`` of all `MEASURES` by name."""

    forecast: Forecast
    values: Mapping[str, float]


def measure_texts(corpus: Corpus) -> Measured:
    """All measures of a corpus's training texts; the validation texts are not looked at."""
    forecasted = _forecast(corpus)
    # The gain is a mean of logarithms, which chance in the tables lowers: with all labels shuffled it lies below 0.
    nothing = [_forecast(shuffle_labels(corpus, 1.0, seed)) for seed in SHUFFLES]
    accuracy, agreement = logistic_measures(corpus)
    values = {name: float(getattr(forecasted, name)) for name in FORECASTS}
    for name in ("gain", "mutual_information"):
        values[f"{name}_above_shuffled"] = values[name] - float(np.mean([getattr(other, name) for other in nothing]))
    return Measured(forecasted, {**values, "logistic_accuracy": accuracy, "logistic_agreement": agreement})


def logistic_measures(corpus: Corpus) -> tuple[float, float]:
    """Two measures from logistic regressions fitted to each third of the training texts, read on the others.

    Accuracy: the mean share of right classes on texts of another third, less the share of the commonest class.
    Agreement: A(beta_log, beta_log') of two thirds' fits on the texts of the last one, less chance, the mean over both
    orders and all thirds: A as the networks' is measured, with two regressions in place of two networks.
    """
    words = len(corpus.words)
    order = numpy_generator(0, "thirds of texts").permutation(len(corpus.train))
    thirds = [corpus.train.select(torch.from_numpy(np.sort(rows))) for rows in np.array_split(order, 3)]
    features = [counts(texts, words) for texts in thirds]
    fits = [fit_logistic(x, texts.labels, STRENGTH) for x, texts in zip(features, thirds, strict=True)]
    right, agreed = [], []
    for number, (x, texts) in enumerate(zip(features, thirds, strict=True)):
        others = (fits[number - 1], fits[number - 2])
        right += [fit.accuracy(x, texts.labels) for fit in others]
        first, second = (beta_log(fit, texts) for fit in others)
        chance = random_baseline(first.lengths)
        for u, v in ((first, second), (second, first)):
            agreed.append(float(np.mean(top_agreement(u, v).expected - chance)))
    majority = float(np.bincount(corpus.train.labels.numpy()).max() / len(corpus.train))
    return float(np.mean(right)) - majority, float(np.mean(agreed))


def _forecast(corpus: Corpus) -> Forecast:
    return forecast(labelled_pairs(corpus.train, corpus), kind="labels")


# --- compared with what was trained


def measure_table(variants: Table) -> Table:
    """Each measure's Spearman correlation with the agreement above chance at the ``best`` and the ``last`` evaluation.

    Over ``all`` variants of all corpora, with a 95 % bootstrap interval over them; within each of several corpora the
    variants are too few for one. ``variants``: a row for each, with all measures, ``excess`` and ``at_end``.
    """
    corpora = list(dict.fromkeys(row["corpus"] for row in variants))
    groups = {"all": list(variants)}
    if len(corpora) > 1:
        groups |= {name: [row for row in variants if row["corpus"] == name] for name in corpora}
    table = []
    reads = {"best": "excess", "last": "at_end"}
    for (measure, title), read, over in product(MEASURES.items(), reads, groups):
        group = groups[over]
        values, outcome = (np.array([row[name] for row in group]) for name in (measure, reads[read]))
        rows = drawn_rows(len(values), "forecast-text")
        value, interval = value_and_interval(spearman(values[rows], outcome[rows])) or (None, None)
        row = {"measure": measure, "title": title, "read": read, "over": over, "variants": len(group)}
        table.append({**row, "spearman": value, **low_high(interval if over == "all" else None)})
    return table


def measure_figure(measures: Table) -> alt.TopLevelMixin:
    """How well each measure orders the variants; within corpora as small points."""
    rows = [dict(row) for row in measures if row["read"] == "best" and row["spearman"] is not None]
    y = alt.Y("title:N", title=None, sort=list(MEASURES.values()), axis=alt.Axis(labelLimit=400))
    x = alt.X("spearman:Q", title="Spearman with A(alpha, beta) less chance", scale=alt.Scale(domain=[-1, 1]))
    corpora = list(dict.fromkeys(row["over"] for row in rows))
    scale = alt.Scale(domain=corpora, range=[INK, *COLOURS[: len(corpora) - 1]])
    colour = alt.Color("over:N", title=None, sort=corpora, scale=scale)
    whole = alt.Chart(inline([row for row in rows if row["over"] == "all"])).encode(y=y, color=colour)
    parts = alt.Chart(inline([row for row in rows if row["over"] != "all"])).encode(y=y, color=colour)
    layers = alt.layer(
        whole.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q"),
        whole.mark_point(filled=True, size=80).encode(x=x),
        parts.mark_point(size=45).encode(x=x),
    )
    title = "Eight measures; bar: 95 % interval over variants"
    return headed(layers, title, width=400, height=26 * len(MEASURES))
