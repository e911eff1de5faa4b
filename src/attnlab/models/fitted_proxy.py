"""The bag-of-words embedding proxy fitted to the end, regularised as a logistic regression is (P3 A.10).

    p = sigmoid( 1/L sum_l w^T e_{x_l} )          minimise  1/2 sum_i u_i^2 + C * sum of the texts' losses

with the word scores u_i = w^T e_i. The network has a vector for every word where logistic regression has a number, but
only u reaches its output and its penalty. So wherever w is not 0 a minimum in (e, w) is the minimum in u, and that is
the logistic regression without an intercept.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from attnlab.errors import UsageError
from attnlab.models.logistic import TOLERANCE, checked_labels
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedProxy:
    """``embedding`` e (words, size), ``weight`` w (size,), the ``C`` they were fitted with; whether the largest
    derivative to a word score, over C, got below the tolerance: ``converged``.
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
    if size < 1:
        raise UsageError(f"The proxy needs size of at least 1, not {size}.")
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
