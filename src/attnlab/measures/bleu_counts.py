"""BLEU from the counts of each sentence, so that sentences can be drawn again.

Corpus BLEU is made of sums over sentences: matching and all n-grams of the translations for n = 1 to 4, and the lengths
of both sides. sacrebleu counts; here they are summed, for the corpus itself and for many resamples of it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from attnlab.errors import UsageError
from attnlab.stats.bootstrap import Floats, drawn_counts, percentiles

ORDER = 4


def sentence_counts(translations: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """(sentences, 10): matching n-grams and n-grams for n = 1 to 4, the translation's and the reference's words."""
    if len(translations) != len(references) or not translations:
        raise UsageError(f"Every translation needs its reference: there are {len(translations)} and {len(references)}.")
    metric = BLEU(effective_order=True)
    scored = [metric.sentence_score(one, [other]) for one, other in zip(translations, references, strict=True)]
    rows = [[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in scored]
    return np.array(rows, dtype=np.int64)


def bleu_of(sums: NDArray[np.number]) -> Floats:
    """BLEU, 0 to 100, of summed counts (..., 10): (...).

    As sacrebleu's: where no n-gram of some length matches, its share is 1 / (2^k n-grams), k counting such lengths.
    """
    sums = np.asarray(sums, dtype=np.float64)
    right, all_of, ours, theirs = sums[..., :ORDER], sums[..., ORDER : 2 * ORDER], sums[..., -2], sums[..., -1]
    none = right == 0
    smoothed = np.where(none, 0.5 ** np.cumsum(none, axis=-1), right)
    shares = np.divide(smoothed, all_of, out=np.zeros_like(smoothed), where=all_of > 0)
    with np.errstate(divide="ignore"):
        mean = np.log(shares).mean(axis=-1)
        brief = np.where(ours < theirs, 1 - np.divide(theirs, ours, out=np.full_like(ours, np.inf), where=ours > 0), 0)
    score = 100 * np.exp(mean + brief)
    return np.asarray(np.where(right.any(axis=-1), score, 0.0))


def bleu_difference(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[float, tuple[float, float] | None]:
    """BLEU of ``one`` less that of ``other``, counts of the same sentences, and its 95 % interval over sentences.

    Both are drawn together: what is hard for one is mostly hard for the other. None for a single sentence.
    """
    if one.shape != other.shape:
        raise UsageError(f"Both translate the same sentences; these have {len(one)} and {len(other)}.")
    difference = float(bleu_of(one.sum(axis=0)) - bleu_of(other.sum(axis=0)))
    if len(one) < 2:
        return difference, None
    drawn = drawn_counts(len(one), "BLEU over sentences")
    return difference, percentiles(bleu_of(drawn @ one) - bleu_of(drawn @ other))
