"""The words that a forecast names, and the part of the table that shows them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from attnlab.theory.gain import Floats, Gains, Ints
from attnlab.theory.reasons import OFTEN

NAMED = 15
"""How many of each are named."""
FLOOR = -3.0
"""The least that the picture shows: words that never occur together would else be as loud as those that always do."""


@dataclass(frozen=True)
class WordForecast:
    """One word: its gain in bits, how often it was read, and what goes with it.

    For pairs an output word, with the input word that was chosen for it most often. For labels an input word, with the
    label it occurs with more often than others do.
    """

    word: str
    partner: str
    tokens: int
    gain: float


@dataclass(frozen=True)
class Picture:
    """A part of the table: ``values[i][o]`` = log2(Trans(o | i) / share of o), -3 or less shown as -3."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


def named_words(gains: Gains, of_labels: bool, least: float) -> dict[str, Any]:
    """The words that say the most in all, the most frequent ones with less than ``least`` bits, the former's table."""
    ranked = _labelled_words(gains) if of_labels else _paired_words(gains)
    strong, weak = ([word for word in ranked if (word.gain >= least) is side] for side in (True, False))
    strongest = sorted(strong, key=lambda word: -word.gain * word.tokens)[:NAMED]
    hopeless = sorted(weak, key=lambda word: -word.tokens)[:NAMED]
    inputs = dict.fromkeys((word.word if of_labels else word.partner) for word in strongest)
    labels = sorted({gains.pairs.target_words[i] for i in np.unique(gains.output)})[:NAMED]
    outputs = labels if of_labels else [word.word for word in strongest]
    return {
        "strongest": tuple(strongest),
        "hopeless": tuple(hopeless),
        "picture": _picture(gains, list(inputs), list(outputs)),
    }


def _paired_words(gains: Gains) -> list[WordForecast]:
    """Every output word that was read often enough."""
    outputs, size = gains.pairs.target_words, len(gains.pairs.source_words)
    tokens = np.bincount(gains.output, minlength=len(outputs))
    total = np.bincount(gains.output, gains.gain, minlength=len(outputs))
    chosen, times = np.unique(np.repeat(gains.output, 2) * size + gains.partner.ravel(), return_counts=True)
    order = np.lexsort((chosen, -times))  # most often chosen first
    word, first = np.unique(chosen[order] // size, return_index=True)
    partner = dict(zip(word.tolist(), (chosen[order][first] % size).tolist(), strict=True))
    return [
        WordForecast(outputs[o], gains.pairs.source_words[partner[o]], int(tokens[o]), float(total[o] / tokens[o]))
        for o in np.flatnonzero(tokens >= OFTEN).tolist()
    ]


def _labelled_words(gains: Gains) -> list[WordForecast]:
    """Every input word that was read often enough: how much more than its texts' average it tells about labels."""
    often = np.flatnonzero(gains.occurrences >= OFTEN)
    labels = np.unique(gains.output)
    ratios = _ratios(gains, often, labels)
    return [
        WordForecast(
            gains.pairs.source_words[i],
            gains.pairs.target_words[labels[ratio.argmax()]],
            int(gains.occurrences[i]),
            float(gains.input_gain[i]),
        )
        for i, ratio in zip(often.tolist(), ratios, strict=True)
    ]


def _picture(gains: Gains, inputs: list[str], outputs: list[str]) -> Picture:
    sides = ((inputs, gains.pairs.source_words), (outputs, gains.pairs.target_words))
    values = _ratios(gains, *(np.array([words.index(name) for name in names], np.int64) for names, words in sides))
    return Picture(tuple(inputs), tuple(outputs), tuple(tuple(map(float, row)) for row in values))


def _ratios(gains: Gains, inputs: Ints, outputs: Ints) -> Floats:
    """log2(Trans(o | i) / share of o), (inputs, outputs), at least `FLOOR`; with half an occurrence against log 0."""
    pairs = gains.pairs
    lengths, target_lengths = np.diff(pairs.source_offsets), np.diff(pairs.target_offsets)
    of_source, of_target = (np.repeat(np.arange(len(pairs)), length) for length in (lengths, target_lengths))
    source = sparse.csr_matrix(
        (1 / lengths[of_source], (of_source, pairs.source)), shape=(len(pairs), len(pairs.source_words))
    )[:, inputs]
    target = sparse.csr_matrix(
        (np.ones(len(of_target)), (of_target, pairs.target)), shape=(len(pairs), len(pairs.target_words))
    )[:, outputs]
    counts = (source.T @ target).toarray()  # C_io
    mass = (source.T @ target_lengths)[:, None]  # sum over o of C_io
    share = np.bincount(pairs.target, minlength=len(pairs.target_words))[outputs] / len(pairs.target)
    half = 0.5 * len(pairs.target) / len(pairs.source)
    ratios: Floats = np.log2((counts + half * share) / (mass + half) / share)
    return np.maximum(ratios, FLOOR)
