"""Logistic regression on word counts, the proxy that P3 A.10 puts in place of the embedding one; and that one fitted.

    p = sigmoid( b + sum_i w_i c_i / L )          beta_log_l = (2y - 1) w_{x_l}

c_i: how often word i is in the text, L: the text's length. w minimises 1/2 sum_i w_i^2 + C * sum of the texts'
losses; the bias b is free.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit
from torch import Tensor

from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.initial import check_sizes
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]

STRENGTHS = tuple(round(m * 10.0**e, 5) for e in range(-5, 5) for m in (1, 5))[:-1]
"""The 19 values of C that the paper chooses among: 1e-5, 5e-5, 1e-4, ... 5e3, 1e4."""

TOLERANCE = 1e-4
"""The largest derivative of the *summed* loss (plus its penalty over C) at which a fit has converged."""


@dataclass(frozen=True, eq=False)
class Logistic:
    """``weights`` (1, words) of the second of two classes or (classes, words), ``bias`` (1 or classes,), the ``C`` they
    were fitted with, and whether the fit ``converged``.
    """

    weights: Floats
    bias: Floats
    C: float
    converged: bool

    def classes(self, features: csr_array) -> NDArray[np.int64]:
        """The most probable class of each text: (texts,)."""
        logits: Floats = features @ self.weights.T + self.bias
        return (logits[:, 0] > 0).astype(np.int64) if logits.shape[1] == 1 else logits.argmax(1)

    def accuracy(self, features: csr_array, labels: ArrayLike) -> float:
        """The share of texts whose most probable class is the right one."""
        return float((self.classes(features) == np.asarray(labels)).mean())


@dataclass(frozen=True, eq=False)
class Sweep:
    """Fits with every C. ``accuracies`` (values of C,) are on all validation texts.

    ``comparable``: the best of them, as the paper reads it, which is too good, because the same texts chose C.
    ``clean``: C chosen on one half of the validation texts and read on the other, the mean of both ways. ``chosen``:
    the fit that ``comparable`` is of. ``unconverged``: how many fits stopped before they had converged.
    """

    fits: tuple[Logistic, ...]
    accuracies: Floats
    chosen: Logistic
    comparable: float
    clean: float
    unconverged: int


def counts(texts: Bags, words: int, *, normalised: bool = True) -> csr_array:
    """How often each of ``words`` words is in each text, divided by the text's length: (texts, words)."""
    if len(texts.words) and not 0 <= int(texts.words.min()) <= int(texts.words.max()) < words:
        raise UsageError(
            f"Words go from {int(texts.words.min())} to {int(texts.words.max())}; from 0 to {words - 1} is right."
        )
    lengths = texts.lengths.numpy()
    values = np.repeat(1 / np.maximum(lengths, 1), lengths) if normalised else np.ones(len(texts.words))
    # int32 is what scikit-learn's solvers read
    indices, offsets = (x.numpy().astype(np.int32) for x in (texts.words, texts.offsets))
    table = csr_array((values, indices, offsets), shape=(len(texts), words))
    table.sum_duplicates()
    return table


def fit_logistic(
    features: csr_array, labels: ArrayLike, C: float, *, intercept: bool = True, tolerance: float = TOLERANCE
) -> Logistic:
    """The logistic regression of classes 0, 1, ... on features (texts, words), by scikit-learn."""
    from sklearn.exceptions import ConvergenceWarning  # half a second that `attnlab --help` need not wait for
    from sklearn.linear_model import LogisticRegression

    y = checked_labels(features, labels, C)
    # scikit-learn now compares its tolerance with the mean loss, in the paper's days it did so with the sum: in the
    # mean over thousands of texts the derivative of a rare word is below any usual tolerance from the start.
    model = LogisticRegression(C=C, max_iter=1000, tol=tolerance / len(y), fit_intercept=intercept)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(features, y)
    converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return Logistic(model.coef_, np.zeros(len(model.coef_)) + model.intercept_, C, converged)


def sweep(
    train: csr_array,
    train_labels: ArrayLike,
    valid: csr_array,
    valid_labels: ArrayLike,
    *,
    strengths: Sequence[float] = STRENGTHS,
    seed: int = 0,
) -> Sweep:
    """A fit with each C, and the two figures of `Sweep`.

    Where several C are best the smallest is chosen. ``seed`` draws the halves.
    """
    y = np.asarray(valid_labels)
    if len(y) < 2:
        raise UsageError(f"C is chosen on one half of the validation texts and read on the other; there are {len(y)}.")
    fits = tuple(fit_logistic(train, train_labels, C) for C in sorted(strengths))
    right = np.stack([fit.classes(valid) == y for fit in fits])  # (values of C, texts)
    accuracies = right.mean(1)
    first, second = np.array_split(numpy_generator(seed, "halves").permutation(len(y)), 2)
    halves = ((first, second), (second, first))
    read = [right[right[:, choose].mean(1).argmax(), rest].mean() for choose, rest in halves]
    return Sweep(
        fits,
        accuracies,
        chosen=fits[int(accuracies.argmax())],
        comparable=float(accuracies.max()),
        clean=float(np.mean(read)),
        unconverged=sum(not fit.converged for fit in fits),
    )


def beta_log(logistic: Logistic, texts: Bags, labels: Tensor | None = None) -> ScoreField:
    """The weight of every position's word for the right class, or for the class that ``labels`` (texts,) name.

    With two classes (2y - 1) w_i; with more the weight for that class minus the mean of those for the others.
    """
    y = np.repeat((texts.labels if labels is None else labels).numpy(), texts.lengths.numpy())
    classes = 2 if len(logistic.weights) == 1 else len(logistic.weights)
    if len(y) and not 0 <= y.min() <= y.max() < classes:
        raise UsageError(
            f"Labels go from {y.min()} to {y.max()}; from 0 to {classes - 1} is right for {classes} classes."
        )
    words = texts.words.numpy()
    if classes == 2:
        values = logistic.weights[0, words] * (2 * y - 1)
    else:
        right, total = logistic.weights[y, words], logistic.weights.sum(0)[words]
        values = right - (total - right) / (classes - 1)
    return ScoreField(values, texts.offsets.numpy())


def checked_labels(features: csr_array, labels: ArrayLike, C: float) -> NDArray[np.int64]:
    """The labels as an array, after a check that they and ``C`` can be fitted."""
    y = np.asarray(labels, dtype=np.int64)
    if y.shape != (features.shape[0],):
        raise UsageError(f"The labels are {y.shape}; ({features.shape[0]},) is right, one a text.")
    if not (np.isfinite(C) and C > 0):
        raise UsageError(f"C is a number above 0, not {C}.")
    texts = np.bincount(y) if len(y) and y.min() >= 0 else np.zeros(1)
    if len(texts) < 2 or not texts.all():
        raise UsageError(
            "Classes are 0, 1 and so on, at least two, each with a text to learn from; "
            f"these are {np.unique(y).tolist()}."
        )
    return y


@dataclass(frozen=True, eq=False)
class FittedProxy:
    """The bag-of-words embedding proxy fitted to the end, regularised as the logistic regression is:

        p = sigmoid( 1/L sum_l w^T e_{x_l} )          minimise  1/2 sum_i u_i^2 + C * sum of the texts' losses

    with the word scores u_i = w^T e_i. Only u reaches its output and its penalty, so wherever w is not 0 a minimum in
    (e, w) is the minimum in u: the logistic regression without an intercept.

    ``embedding`` e (words, size), ``weight`` w (size,), the ``C`` they were fitted with; whether the largest derivative
    to a word score, over C, got below the tolerance: ``converged``.
    """

    embedding: Floats
    weight: Floats
    C: float
    converged: bool

    @property
    def scores(self) -> Floats:
        """u_i = w^T e_i of every word: (words,)."""
        return self.embedding @ self.weight


def fit_proxy(
    features: csr_array,
    labels: ArrayLike,
    C: float,
    *,
    size: int = 256,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    iterations: int = 5000,
) -> FittedProxy:
    """Fit the proxy of two classes to features (texts, words), word counts over length, by full-batch L-BFGS.

    All entries of e and w start from N(0, 1/size). Memory is some 180 bytes for each of words * size entries.
    """
    y = checked_labels(features, labels, C)
    if y.max() > 1:
        raise UsageError(f"The fitted proxy is for two classes; these are {y.max() + 1}.")
    check_sizes("The proxy", size=size)
    words = features.shape[1]
    transposed = features.T.tocsr()

    def by_scores(u: Floats) -> tuple[float, Floats]:
        """The objective over C and its derivative to u."""
        logits = features @ u
        loss = np.logaddexp(0, -(2 * y - 1) * logits).sum()
        return loss + u @ u / (2 * C), transposed @ (expit(logits) - y) + u / C

    largest = np.inf

    def objective(parameters: Floats) -> tuple[float, Floats]:
        e, w = parameters[size:].reshape(words, size), parameters[:size]
        nonlocal largest
        value, to_u = by_scores(e @ w)
        largest = np.abs(to_u).max()
        gradient = np.empty_like(parameters)
        gradient[:size] = to_u @ e
        np.multiply.outer(to_u, w, out=gradient[size:].reshape(words, size))
        return value, gradient

    def stop_when_converged(_: Floats) -> None:
        if largest <= tolerance:
            raise StopIteration

    start = numpy_generator(seed, "fitted proxy").normal(0, size**-0.5, (words + 1) * size)
    solved = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=stop_when_converged,
        # Its own criteria are about e and w, ours is about u.
        options={"maxiter": iterations, "maxfun": 2 * iterations, "gtol": 0.0, "ftol": 0.0},
    )
    e, w = solved.x[size:].reshape(words, size), solved.x[:size]
    return FittedProxy(e, w, C, bool(np.abs(by_scores(e @ w)[1]).max() <= tolerance))
