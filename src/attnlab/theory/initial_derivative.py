"""The proxy's first movement (P3 4.1, A.2): under gradient flow from a random start it writes down the count table C.

With gamma_{i,o} = W_o . e_i and theta = softmax(gamma), as the size d of the embeddings grows,

    dgamma_{i,o}/dtau  ->  2 (C_{i,o} - mean_o' C_{i,o'})
    dtheta_{i,o}/dtau  ->  2/|O| (C_{i,o} - mean_o' C_{i,o'})

The paper's equation 12 has the first limit for theta: it leaves out the 1/|O| of the softmax at a uniform start.
Derivation, rate and constant of the convergence: docs/theory.md.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlab.data.sentence_pairs import SentencePairs

Floats = NDArray[np.float64]


def bag_tables(pairs: SentencePairs) -> tuple[Floats, Floats]:
    """X (pairs, inputs), the share of each word in the input, count / L; Y (pairs, outputs), counts in the output."""
    x = _counts(pairs.source, pairs.source_offsets, len(pairs.source_words))
    y = _counts(pairs.target, pairs.target_offsets, len(pairs.target_words))
    return x / np.maximum(x.sum(1, keepdims=True), 1), y


def proxy_table(pairs: SentencePairs) -> Floats:
    """C of equation 13, (inputs, outputs), as the gradient makes it: X^T Y of the dense `bag_tables`."""
    x, y = bag_tables(pairs)
    return np.asarray(x.T @ y)


def first_gradient(pairs: SentencePairs) -> Floats:
    """-dL/dgamma, (inputs, outputs), at gamma = 0 where gamma is itself the parameter: exactly C - row mean.

    By automatic differentiation; it knows nothing of counts.
    """
    x, y = (torch.from_numpy(table) for table in bag_tables(pairs))
    gamma = torch.zeros(x.shape[1], y.shape[1], dtype=torch.float64, requires_grad=True)
    loss = -(torch.log_softmax(x @ gamma, 1) * y).sum()
    (gradient,) = torch.autograd.grad(loss, gamma)
    return np.asarray(-gradient.numpy())


def limit_logits(table: Floats) -> Floats:
    """2 (C - row mean): what dgamma/dtau tends to, (inputs, outputs)."""
    return np.asarray(2 * (table - table.mean(1, keepdims=True)))


def limit_probabilities(table: Floats) -> Floats:
    """2/|O| (C - row mean): what dtheta/dtau tends to, (inputs, outputs)."""
    return np.asarray(limit_logits(table) / table.shape[1])


def logits_derivative(loss: Tensor, embedding: Tensor, weight: Tensor) -> Tensor:
    """d(e W^T)/dtau = -dL/de W^T - e (dL/dW)^T under gradient flow on ``loss``, by automatic differentiation.

    ``embedding (inputs, d)`` and ``weight (outputs, d)`` are the leaves that ``loss`` was computed from.
    """
    by_embedding, by_weight = torch.autograd.grad(loss, (embedding, weight))
    with torch.no_grad():
        return -(by_embedding @ weight.T + embedding @ by_weight.T)


def probabilities_derivative(logits: Tensor, derivative: Tensor) -> Tensor:
    """dtheta/dtau from dgamma/dtau by the chain rule of the softmax, both (inputs, outputs)."""
    theta = torch.softmax(logits, 1)
    return theta * (derivative - (theta * derivative).sum(1, keepdim=True))


def expected_distance(pairs: SentencePairs, size: int) -> float:
    """About how far (Frobenius) dgamma/dtau of one random start lies from its limit 2R, R = C - row mean:

        sqrt( (|I| + |O| + 2) ||R||^2 + 4 (|O| - 1) / |O|^2 ||A||^2 ) / sqrt(d),      A = X^T diag(T) X

    The first term is that rows of W, and of e, are not quite orthogonal; the second that p is not quite uniform.
    """
    x, y = bag_tables(pairs)
    inputs, outputs = x.shape[1], y.shape[1]
    table = x.T @ y
    together = x.T @ (y.sum(1, keepdims=True) * x)
    crossed = (inputs + outputs + 2) * ((table - table.mean(1, keepdims=True)) ** 2).sum()
    uneven = 4 * (outputs - 1) / outputs**2 * (together**2).sum()
    return float(np.sqrt((crossed + uneven) / size))


def _counts(words: NDArray[np.integer[Any]], offsets: NDArray[np.integer[Any]], vocabulary: int) -> Floats:
    """How often each word is in each sentence: (sentences, vocabulary)."""
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    flat = np.bincount(sentence * vocabulary + words, minlength=(len(offsets) - 1) * vocabulary)
    return flat.reshape(-1, vocabulary).astype(np.float64)
