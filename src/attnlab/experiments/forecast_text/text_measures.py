"""What labelled training texts say by themselves about how far attention will follow words: the forecast, and rivals.

Each is one number from texts and labels, before any training; experiment forecast-text compares them with training.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from attnlab.data.altered import shuffle_labels
from attnlab.data.labelled_text import Corpus
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.models.logistic import beta_log, counts, fit_logistic
from attnlab.seeds import numpy_generator
from attnlab.theory.forecast import Forecast, forecast

MEASURES: Mapping[str, str] = {
    "gain": "gain (the forecast)",
    "derivative_gain": "gain, chosen by the derivative",
    "information": "information of the alignment",
    "mutual_information": "mutual information of the table",
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
    told = _forecast(corpus)
    # The gain is a mean of logarithms, which chance in the tables lowers: with all labels shuffled it lies below 0.
    nothing = [_forecast(shuffle_labels(corpus, 1.0, seed)) for seed in SHUFFLES]
    accuracy, agreement = logistic_measures(corpus)
    values = {name: float(getattr(told, name)) for name in list(MEASURES)[:4]}
    for name in ("gain", "mutual_information"):
        values[f"{name}_above_shuffled"] = values[name] - float(np.mean([getattr(other, name) for other in nothing]))
    return Measured(told, {**values, "logistic_accuracy": accuracy, "logistic_agreement": agreement})


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


def pairs_of(corpus: Corpus) -> SentencePairs:
    """Training texts and their classes as sentence pairs with an output of one word (P3 2.4)."""
    texts = corpus.train
    return SentencePairs(
        texts.words.numpy().astype(np.int32),
        texts.offsets.numpy(),
        texts.labels.numpy().astype(np.int32),
        np.arange(len(texts) + 1, dtype=np.int64),
        list(corpus.words),
        list(corpus.classes),
    )


def _forecast(corpus: Corpus) -> Forecast:
    return forecast(pairs_of(corpus), kind="labels")
