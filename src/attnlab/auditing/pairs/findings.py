"""What an audit says about a parallel corpus before anything is trained."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from attnlab.data.bitext import Bitext, PieceSide

FEWEST = 200
"""Pairs below which there is too little data for a verdict."""


@dataclass(frozen=True)
class PairFindings:
    """Counts over training and validation pairs together.

    ``duplicates``: pairs that were there before, both sides alike. ``copied``: pairs whose two sides are the same text.
    ``several``: source sentences with more than one translation. ``pieces``: mean pieces of a source and of a target
    sentence. ``too_little``: why there is too little data, empty where there is enough.
    """

    pairs: int
    validation: int
    duplicates: int
    copied: int
    several: int
    pieces: tuple[float, float]
    too_little: str
    notes: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """What a reader should know, a sentence each."""
        source, target = self.pieces
        said = [
            f"{self.pairs} sentence pairs can be used, {self.validation} of them to validate on; {source:.1f} pieces "
            f"of input and {target:.1f} of output each."
        ]
        if self.too_little:
            said.append(f"{self.too_little} That is too little data for a verdict; the numbers are given without one.")
        if self.duplicates:
            said.append(f"{self.duplicates} pairs repeat an earlier one.")
        if self.copied:
            said.append(f"In {self.copied} pairs both sides are the same text: there is nothing to translate.")
        if self.several:
            said.append(f"{self.several} source sentences have more than one translation.")
        return said


def find_in_pairs(bitext: Bitext) -> PairFindings:
    """Look through the sentences as the corpus has them."""
    splits = bitext.train, bitext.validation
    texts = [pair for split in splits for pair in zip(split.source.texts(), split.target.texts(), strict=True)]
    distinct = Counter(texts)
    translations = Counter(source for source, _ in distinct)
    count = len(texts)
    return PairFindings(
        pairs=count,
        validation=len(bitext.validation),
        duplicates=count - len(distinct),
        copied=sum(source == target for source, target in texts),
        several=sum(number > 1 for number in translations.values()),
        pieces=(_mean([split.source for split in splits]), _mean([split.target for split in splits])),
        too_little=f"There are {count} sentence pairs, fewer than {FEWEST}." if count < FEWEST else "",
        notes=bitext.notes,
    )


def _mean(sides: list[PieceSide]) -> float:
    """Pieces of a sentence."""
    return float(np.concatenate([side.lengths for side in sides]).mean())
