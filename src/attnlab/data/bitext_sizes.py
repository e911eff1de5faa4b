"""How large a parallel corpus is: pairs of each split, and lengths of both sides in pieces (P3 Table 8)."""

from dataclasses import dataclass

import numpy as np

from attnlab.data.bitext import Bitext, PieceSide, SplitName
from attnlab.data.pieces import UNKNOWN

NEAR = 0.02
"""How far our count of pieces may be from the paper's: models of one size, of which P3 names none, differ by 1 %."""


@dataclass(frozen=True)
class SideSizes:
    """Lengths of one side in pieces, without marks, but for ``scored``: all its pieces with one ``</s>`` a sentence.

    That is how many output words a model of these targets is asked for. ``unknown``: the share of ``<unk>``.
    """

    mean: float
    median: float
    longest: int
    scored: int
    unknown: float


@dataclass(frozen=True)
class SplitSizes:
    """Pairs of a split and the sizes of both sides."""

    pairs: int
    source: SideSizes
    target: SideSizes


def bitext_sizes(bitext: Bitext) -> dict[SplitName, SplitSizes]:
    """What the arrays say, by split."""
    return {
        name: SplitSizes(len(split), _side(split.source), _side(split.target)) for name, split in bitext.splits.items()
    }


def count_sentence(bitext: Bitext, scored: int) -> str:
    """Which direction the paper's count of validation target pieces fits, as both are counted here."""
    sizes = bitext_sizes(bitext)["validation"]
    counts = {bitext.source_language: sizes.source.scored, bitext.target_language: sizes.target.scored}
    here = " and ".join(f"{count:,} in {language}" for language, count in sorted(counts.items()))
    nearer = min(counts, key=lambda language: abs(counts[language] - scored))
    fits = nearer if abs(counts[nearer] / scored - 1) <= NEAR else "neither"
    return f"The paper scored {scored:,} validation target pieces, </s> included; here there are {here}: {fits} fits."


def _side(side: PieceSide) -> SideSizes:
    lengths = side.lengths
    return SideSizes(
        mean=float(lengths.mean()),
        median=float(np.median(lengths)),
        longest=int(lengths.max()),
        scored=int(lengths.sum()) + len(lengths),
        unknown=float((side.values == UNKNOWN).mean()),
    )
