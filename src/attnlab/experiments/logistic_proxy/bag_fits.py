"""What is fitted to a corpus' bags of words: logistic regressions, and the proxy as trained and fitted to the end."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnlab.experiments.texts.text_curves import first_half
from attnlab.experiments.texts.text_runs import Floats, TextRuns
from attnlab.lab.experiment import Table
from attnlab.models.fitted_proxy import FittedProxy, fit_proxy
from attnlab.models.logistic import Logistic, Sweep, counts, fit_logistic, sweep

LEAST_COUNT = 10
"""Occurrences in training that a word needs to be compared: the weight of a rarer one is mostly the penalty's."""
FITTED_SIZE = 32
"""Embedding size of the proxy that is fitted to the end. Its minimum is the same at every size; at the trained proxy's
256 its optimiser needs 2 GB on IMDB."""
SHOWN = 500
"""Words in table and picture: evenly spaced by rank of their weight."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Word by word, both without an intercept and with the same penalty: (words,) each."""

    logistic: Floats
    proxy: Floats

    @property
    def spread(self) -> float:
        """The standard deviation of the logistic weights."""
        return float(self.logistic.std())

    @property
    def apart(self) -> Floats:
        """The size of each word's difference."""
        return np.abs(self.proxy - self.logistic)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Logistic regressions at every C; the one at the best C without an intercept; the proxy fitted likewise.

    ``trained`` (words,): word scores of the proxy as P3 trains it. ``occurrences`` (words,): in the training texts.
    """

    swept: Sweep
    logistic: Logistic
    proxy: FittedProxy
    trained: Floats
    occurrences: NDArray[np.int64]

    @cached_property
    def common(self) -> NDArray[np.int64]:
        """Ids of the words that are compared."""
        return np.flatnonzero(self.occurrences >= LEAST_COUNT)

    @property
    def weights(self) -> Weights:
        """Both models' weights of these words."""
        return Weights(self.logistic.weights[0, self.common], self.proxy.scores[self.common])

    @property
    def converged(self) -> bool:
        """Whether both have found their minimum."""
        return self.logistic.converged and self.proxy.converged

    def words_table(self, runs: TextRuns) -> Table:
        """Some words, from the smallest weight to the largest."""
        order = self.common[self.logistic.weights[0, self.common].argsort(kind="stable")]
        places = np.unique(np.linspace(0, len(order) - 1, min(SHOWN, len(order))).round().astype(np.int64))
        return [
            {
                "word": runs.corpus.words[word],
                "occurrences": int(self.occurrences[word]),
                "logistic": float(self.logistic.weights[0, word]),
                "fitted_proxy": float(self.proxy.scores[word]),
                "logistic_with_intercept": float(self.swept.chosen.weights[0, word]),
                "trained_proxy": float(self.trained[word]),
            }
            for word in order[places]
        ]


def fit(runs: TextRuns) -> Fitted:
    """Everything that is fitted to the training texts; C is that of the best validation accuracy, as in the paper."""
    train, valid, words = runs.corpus.train, runs.texts["valid"], len(runs.corpus.words)
    features, labels = counts(train, words), train.labels.numpy()
    swept = sweep(features, labels, counts(valid, words), valid.labels.numpy())
    C = swept.chosen.C
    return Fitted(
        swept,
        fit_logistic(features, labels, C, intercept=False),
        fit_proxy(features, labels, C, size=FITTED_SIZE),
        runs.word_scores(runs.best_pass)[:, 0],
        np.bincount(train.words.numpy(), minlength=words),
    )


def proxy_accuracies(runs: TextRuns) -> tuple[float, float]:
    """The trained proxy's accuracy at the pass of lowest loss: chosen on all texts, and chosen on the other half."""
    (proxy,) = runs.of("proxy")
    texts = runs.texts["valid"]
    features, labels = counts(texts, len(runs.corpus.words)), texts.labels.numpy()
    logits = np.stack([features @ runs.word_scores(step)[:, 0] for step in runs.steps(proxy)])  # (passes, texts)
    return chosen_by_loss(logits, labels)


def chosen_by_loss(logits: Floats, labels: NDArray[np.int64]) -> tuple[float, float]:
    """Accuracy of the row of lowest loss, chosen on all texts and chosen on the half that is not read.

    ``logits`` (rows, texts) of the second of two classes; ``labels`` (texts,).
    """
    losses, right = np.logaddexp(0, -(2 * labels - 1) * logits), (logits > 0) == (labels == 1)
    half = first_half(len(labels))
    read = [right[losses[:, texts].mean(axis=1).argmin(), ~texts].mean() for texts in (half, ~half)]
    return float(right[losses.mean(axis=1).argmin()].mean()), float(np.mean(read))
