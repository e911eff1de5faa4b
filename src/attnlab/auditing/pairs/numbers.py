"""The numbers of an audit of sentence pairs: those of labelled texts, with a value for each output word.

Intervals are over sentences, whose output words are drawn together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from attnlab.auditing.numbers import (
    Compared,
    Floats,
    Number,
    Numbers,
    Pairs,
    TwinNumbers,
    concentration,
    counts_as_equal,
    erased_numbers,
)
from attnlab.auditing.pairs.reading import TranslatorFields
from attnlab.fields import ScoreField
from attnlab.measures.divergence import jensen_shannon
from attnlab.probes.translators_apart import Apart

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReadWords:
    """The output words that networks are read on: the ``right`` ones (words,), which ``pair`` each is in, and what the
    trigram says instead of the network (``trigram`` (words,)).
    """

    right: NDArray[np.int32]
    pair: Ints
    trigram: Ints


def measure_pairs(
    words: ReadWords,
    learned: Sequence[TranslatorFields],
    alignment: ScoreField,
    *,
    apart: Mapping[tuple[int, int], Apart],
    others: Mapping[str, ScoreField],
    accuracies: Mapping[str, float],
    twins: Mapping[float, tuple[TranslatorFields, Apart]],
) -> Numbers:
    """From the fields of translators of several seeds. ``apart``: their predictions, by two seeds. ``alignment``: IBM
    Model 1's. ``others``: lexicons such as beta_uf and beta_px. ``accuracies``: of other networks, by name.

    ``majority`` is the trigram's accuracy: what can be had without reading the input.
    """
    groups = words.pair
    alphas = [one.alpha for one in learned]
    right = [(one.predicted == words.right).astype(np.float64) for one in learned]
    unread = (words.trigram == words.right).astype(np.float64)
    pairs: dict[str, Pairs] = {
        "attention, lexical probe": [(one.alpha, one.gamma) for one in learned],
        "attention, influence": [(one.alpha, one.delta) for one in learned],
        "attention, alignment": [(alpha, alignment) for alpha in alphas],
        **{f"attention, {name}": [(alpha, field) for alpha in alphas] for name, field in others.items()},
    }
    seeds = range(len(learned))
    if len(learned) > 1:
        several = [(alphas[a], alphas[b]) for a, b in permutations(seeds, 2)]
        pairs["attention, attention of another seed"] = several
    tvd = jsd = None
    if apart:
        tvd = Number.of(np.mean([one.tvd for one in apart.values()], axis=0), groups=groups)
        moved = [jensen_shannon(alphas[a], alphas[b]) for a, b in combinations(seeds, 2)]
        jsd = Number.of(np.mean(moved, axis=0), groups=groups)
    return Numbers(
        majority=float(unread.mean()),
        accuracy=Number.of(np.mean(right, axis=0), float(unread.mean()), groups),
        gained=Number.of(np.mean(right, axis=0) - unread, 0.0, groups),
        accuracies={**{f"attention, seed {seed}": float(right[seed].mean()) for seed in seeds}, **accuracies},
        concentration=Number.of(np.mean([concentration(one) for one in alphas], axis=0), 0.0, groups),
        compared={name: Compared.of(name, fields, groups) for name, fields in pairs.items()},
        seeds_tvd=tvd,
        seeds_jsd=jsd,
        erased=erased_numbers([one.erased for one in learned]),
        twins=tuple(_twin(weight, words, learned[0], *twin, tvd) for weight, twin in twins.items()),
    )


def _twin(
    weight: float,
    words: ReadWords,
    original: TranslatorFields,
    twin: TranslatorFields,
    apart: Apart,
    seeds_tvd: Number | None,
) -> TwinNumbers:
    groups = words.pair
    own = Compared.of("own", [(twin.alpha, twin.delta)], groups)
    jsd: Floats = jensen_shannon(original.alpha, twin.alpha)
    first, second = (float((one.predicted == words.right).mean()) for one in (original, twin))
    return TwinNumbers(
        weight,
        second,
        Number.of(apart.tvd, groups=groups),
        Number.of(jsd, groups=groups),
        float(apart.same.mean()),
        own.top,
        own.tau,
        counts_as_equal(apart.tvd, seeds_tvd, first - second),
        against="influence",
    )
