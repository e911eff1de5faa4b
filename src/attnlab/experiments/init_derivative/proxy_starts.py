"""Random starts of the proxy on small corpora, and what `init-derivative` measures of them.

The corpora are small enough for the embeddings' size d to become larger than their vocabularies.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata

from attnlab.data.sentence_pairs import SentencePairs, read_pairs
from attnlab.errors import UsageError
from attnlab.families.copying.task import Permutations, PermutationSets, Selections
from attnlab.lab.claims import Preset
from attnlab.models.proxy import Bags, Optimiser, Proxy, train
from attnlab.seeds import numpy_generator
from attnlab.theory.counts import count_table
from attnlab.theory.initial_derivative import (
    bag_tables,
    expected_distance,
    first_gradient,
    limit_logits,
    limit_probabilities,
    logits_derivative,
    probabilities_derivative,
    proxy_table,
)

Floats = NDArray[np.float64]

TRAINED_SIZE = 256
"""The proxy's size in P3's code."""
ADAM_RATE = 1e-3
FLOW_RATE = 0.05
"""Descent's rate in units of 1 / (largest singular value of C - row mean): small enough to follow the flow."""
PAIRS = 100
MULTI30K = "Multi30k, 50 pairs"
RANDOM_CORPORA = 20


def make_corpora(preset: Preset) -> dict[str, SentencePairs]:
    """Small corpora by name; Multi30k where ATTNLAB_DATA has it, and it must from reduced on."""
    rng = numpy_generator(0, "init-derivative")
    corpora = {"random pairs": random_pairs(rng, pairs=PAIRS, inputs=30, outputs=40)}
    for name, distribution in (
        ("permutations of 10", Permutations(10)),
        ("8 of 12", Selections(8, 12)),
        ("permutations of 8 or of 8 others", PermutationSets(8)),
    ):
        words = distribution.draw(PAIRS, rng)
        corpora[name] = SentencePairs.from_ids(words, words, distribution.words)
    folder = Path(os.environ.get("ATTNLAB_DATA", "")) / "multi30k"
    if "ATTNLAB_DATA" in os.environ and folder.is_dir():
        corpora[MULTI30K] = compact(read_pairs(folder / "train.de.gz", folder / "train.en.gz").first(50))
    elif preset != "quick":
        raise UsageError(
            f"init-derivative at {preset} needs Multi30k: set ATTNLAB_DATA to a folder that holds multi30k."
        )
    return corpora


def random_pairs(
    rng: np.random.Generator, *, pairs: int, inputs: int, outputs: int, longest: int = 12
) -> SentencePairs:
    """Pairs of different lengths, each side independent words of Zipf frequencies: no correspondence but chance."""
    lengths = rng.integers(1, longest + 1, size=(2, pairs))
    words = []
    for side, vocabulary in zip(lengths, (inputs, outputs), strict=True):
        frequency = 1 / np.arange(1, vocabulary + 1)
        words.append(rng.choice(vocabulary, size=side.sum(), p=frequency / frequency.sum()).astype(np.int32))
    offsets = [np.concatenate([[0], side.cumsum()]) for side in lengths]
    names = [[str(k) for k in range(n)] for n in (inputs, outputs)]
    return SentencePairs(words[0], offsets[0], words[1], offsets[1], *names)


def random_corpora() -> dict[str, SentencePairs]:
    """Corpora of random sizes for the comparison of tables."""
    rng = numpy_generator(0, "init-derivative", "tables")
    corpora = {}
    for number in range(RANDOM_CORPORA):
        pairs, inputs, outputs, longest = (int(n) for n in rng.integers(1, 60, size=4))
        corpora[f"random {number}"] = random_pairs(rng, pairs=pairs, inputs=inputs, outputs=outputs, longest=longest)
    return corpora


def compact(pairs: SentencePairs) -> SentencePairs:
    """The same pairs with only the words that occur in them."""
    source, renamed_source = np.unique(pairs.source, return_inverse=True)
    target, renamed_target = np.unique(pairs.target, return_inverse=True)
    return SentencePairs(
        renamed_source.astype(np.int32),
        pairs.source_offsets,
        renamed_target.astype(np.int32),
        pairs.target_offsets,
        [pairs.source_words[k] for k in source],
        [pairs.target_words[k] for k in target],
    )


def bags_of(pairs: SentencePairs) -> tuple[Bags, Bags]:
    """Input and output bags."""
    sides = ((pairs.source, pairs.source_offsets), (pairs.target, pairs.target_offsets))
    source, target = (Bags(torch.from_numpy(w.astype(np.int64)), torch.from_numpy(o)) for w, o in sides)
    return source, target


def informative(table: Floats) -> bool:
    """Whether some row of C ranks output words at all; no row of permutations does."""
    return bool(np.abs(limit_logits(table)).max() > 1e-9 * table.max())


@dataclass(frozen=True)
class RandomStart:
    """The derivative at one random start.

    ``logits`` and ``probabilities``: distances to their limits. ``limit``: size of the logits' limit, 0 for
    permutations. ``expected``: the distance that the theory expects for the logits. ``factor``: fitted between
    dtheta/dtau and 2(C - row mean), times |O|: 1 by the chain rule, |O| by the paper's equation 12.
    """

    corpus: str
    size: int
    seed: int
    limit: float
    logits: float
    expected: float
    probabilities: float
    factor: float | None


def start(corpus: str, pairs: SentencePairs, size: int, seed: int) -> RandomStart:
    """The derivative of logits and probabilities under gradient flow at a random start."""
    table = proxy_table(pairs)
    inputs, outputs = table.shape
    model = Proxy(inputs, outputs, size, seed=seed, dtype=torch.float64)
    derivative = logits_derivative(model.loss(*bags_of(pairs)), model.embedding, model.weight)
    with torch.no_grad():
        theta = probabilities_derivative(model.embedding @ model.weight.T, derivative).numpy()
    limit = limit_logits(table) if informative(table) else np.zeros_like(table)
    square = float((limit**2).sum())
    return RandomStart(
        corpus=corpus,
        size=size,
        seed=seed,
        limit=square**0.5,
        logits=float(np.linalg.norm(derivative.numpy() - limit)),
        expected=expected_distance(pairs, size),
        probabilities=float(np.linalg.norm(theta - limit_probabilities(table))),
        factor=float((theta * limit).sum() / square * outputs) if square else None,
    )


def compare_tables(corpus: str, pairs: SentencePairs) -> dict[str, Any]:
    """Largest distance between the proxy's table and IBM Model 1's, relative to the largest entry.

    The proxy's comes twice: as X^T Y, and from the gradient of the loss, which gives C less its row means.
    """
    counted = count_table(pairs).dense()
    x, y = bag_tables(pairs)
    mean = (x * y.sum(1, keepdims=True)).sum(0) / y.shape[1]
    largest = counted.max()
    return {
        "corpus": corpus,
        "inputs": counted.shape[0],
        "outputs": counted.shape[1],
        "equation_13": float(np.abs(proxy_table(pairs) - counted).max() / largest),
        "gradient": float(np.abs(first_gradient(pairs) + mean[:, None] - counted).max() / largest),
    }


def follow(corpus: str, pairs: SentencePairs, optimiser: Optimiser, seed: int, steps: int) -> list[dict[str, Any]]:
    """How C ranks output words against how theta does, through training: a row for each measured step."""
    table = proxy_table(pairs)
    source, target = bags_of(pairs)
    model = Proxy(table.shape[0], table.shape[1], TRAINED_SIZE, seed=seed)
    rate = ADAM_RATE
    if optimiser == "sgd":
        rate = FLOW_RATE * len(pairs.target) / float(np.linalg.norm(limit_logits(table) / 2, 2))
    wanted = set(np.unique(np.geomspace(1, steps, 24).round().astype(int)).tolist()) | {0}
    rows = []
    for step, loss in train(model, source, target, optimiser=optimiser, rate=rate, steps=steps):
        if step in wanted:
            theta = model.theta().detach().numpy()
            correlation, first, chance = ranking(theta, table)
            run = {"corpus": corpus, "optimiser": optimiser, "seed": seed, "step": step, "loss": loss}
            rows.append(run | {"correlation": correlation, "top": first, "chance": chance})
    return rows


def ranking(theta: NDArray[np.floating[Any]], table: Floats) -> tuple[float, float, float]:
    """How well C predicts theta's ranking, mean over input words whose row of C is not constant.

    The rank correlation is Spearman's relative to the highest that C's ties allow, so that it is 1 where theta orders
    words as C does wherever C orders them. Then: how often theta's first word is C's (or one of C's), and by chance.
    """
    spread = np.ptp(table, axis=1) > 1e-9 * table.max()
    theta, table = theta[spread], table[spread]
    ours, theirs = (rankdata(values, axis=1) - (values.shape[1] + 1) / 2 for values in (theta, table))
    correlation = (ours * theirs).sum(1) / (theirs**2).sum(1)
    best = table >= table.max(1, keepdims=True) * (1 - 1e-9)
    hit = np.take_along_axis(best, theta.argmax(1)[:, None], 1)
    return float(correlation.mean()), float(hit.mean()), float(best.mean(1).mean())
