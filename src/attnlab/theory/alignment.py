"""How good an alignment is: hand alignments, precision, recall and alignment error rate (Och and Ney 2003).

Gold files have one link a line: sentence, source position, target position, all from 1, and optionally S (sure) or P
(possible). Without a mark a link is sure. A sure link is possible, too.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnlab.data.reading import read_lines
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.theory.lexicon import Lexicon
from attnlab.theory.links import Ints
from attnlab.theory.symmetrise import Alignment

_POSITION = re.compile(r"0*[1-9][0-9]{0,17}")  # more digits than any text has words, and no more than 64 bits hold
ENOUGH = 0.95
"""Share of the gold text's tokens that a table must know for an error rate to say something about the alignment."""


@dataclass(frozen=True, eq=False)
class Gold:
    """Hand-made links of some sentences, positions from 0; ``lines``: where each is in the file ``path``."""

    path: Path
    sentences: Ints
    source: Ints
    target: Ints
    sure: NDArray[np.bool_]
    lines: Ints

    def keys(self, pairs: SentencePairs) -> Ints:
        """The links as an `Alignment` of ``pairs`` numbers them; a UsageError if one does not lie in its sentence."""
        known = self.sentences < len(pairs)
        safe = np.where(known, self.sentences, 0)
        for side, offsets, places in (
            ("source", pairs.source_offsets, self.source),
            ("target", pairs.target_offsets, self.target),
        ):
            lengths = np.diff(offsets)[safe]
            wrong = np.flatnonzero(~known | (places >= lengths))
            if len(wrong):
                first = wrong[0]
                where = f"{self.path}, line {self.lines[first]} names sentence {self.sentences[first] + 1}"
                if not known[first]:
                    raise UsageError(f"{where}, but the text has {len(pairs)} sentences.")
                raise UsageError(
                    f"{where}, {side} word {places[first] + 1}, but that sentence has {lengths[first]} {side} words."
                )
        source = pairs.source_offsets[self.sentences] + self.source
        return (pairs.target_offsets[self.sentences] + self.target) * (len(pairs.source) + 1) + source


def read_gold(path: Path) -> Gold:
    """A gold file: ``sentence source target`` or ``sentence source target S|P``, separated by blanks."""
    rows, marks, lines = [], [], []
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if not fields:
            continue
        numbers, mark = fields[:3], fields[3:]
        if len(numbers) < 3 or not all(_POSITION.fullmatch(n) for n in numbers) or len(mark) > 1:
            raise UsageError(
                f"{path}, line {number} is no link such as `1 2 3` or `1 2 3 S` (sentence, source and target position, "
                f"from 1, at most 18 digits): {line[:40]!r}."
            )
        if mark and mark[0] not in ("S", "P"):
            raise UsageError(f"{path}, line {number} marks a link {mark[0]!r}; marks are S (sure) and P (possible).")
        rows.append([int(n) - 1 for n in numbers])
        marks.append(mark != ["P"])
        lines.append(number)
    if not rows:
        raise UsageError(f"{path} has no link.")
    columns = np.array(rows, dtype=np.int64).T
    return Gold(Path(path), columns[0], columns[1], columns[2], np.array(marks), np.array(lines))


@dataclass(frozen=True)
class Score:
    """Over the sentences that the gold names: numbers of links, and the three measures (None: nothing to divide by)."""

    sentences: int
    links: int
    sure: int
    possible: int
    right_sure: int
    right_possible: int

    @property
    def precision(self) -> float | None:
        """Share of the alignment's links that are possible."""
        return self.right_possible / self.links if self.links else None

    @property
    def recall(self) -> float | None:
        """Share of the sure links that the alignment has."""
        return self.right_sure / self.sure if self.sure else None

    @property
    def aer(self) -> float:
        """1 - (|A and S| + |A and P|) / (|A| + |S|)."""
        total = self.links + self.sure
        return 1 - (self.right_sure + self.right_possible) / total if total else 0.0


def score(alignment: Alignment, gold: Gold) -> Score:
    """Compare an alignment with the gold, on the sentences that the gold names."""
    tallies = scores_by_sentence(alignment, gold)
    return Score(len(tallies), *tallies.sum(axis=0).tolist())


def scores_by_sentence(alignment: Alignment, gold: Gold) -> Ints:
    """``(sentences that the gold names, 5)``: links, sure, possible, right and sure, right and possible links."""
    pairs = alignment.pairs
    keys = gold.keys(pairs)
    possible, sure = (np.unique(keys[taken]) for taken in (slice(None), gold.sure))
    links = alignment.keys
    groups = (links, sure, possible, np.intersect1d(links, sure, True), np.intersect1d(links, possible, True))
    counts = [np.bincount(alignment.with_keys(group).sentences(), minlength=len(pairs)) for group in groups]
    return np.stack(counts, axis=1)[np.unique(gold.sentences)]


@dataclass(frozen=True)
class Coverage:
    """The share of a text's tokens, on each side, that a table has words for."""

    source: float
    target: float

    @property
    def enough(self) -> bool:
        """Whether both reach 95 %."""
        return min(self.source, self.target) >= ENOUGH


def coverage(lexicon: Lexicon, pairs: SentencePairs) -> Coverage:
    """How much of ``pairs`` the tables know. Below 95 % an error rate would measure spelling, not alignment."""
    if len(pairs.source) == 0:
        raise UsageError("The text to be scored has no words.")
    sides = ((pairs.source, pairs.source_words), (pairs.target, pairs.target_words))
    return Coverage(
        *(
            float(np.array([word in known for word in words])[ids].mean())
            for known, (ids, words) in zip(lexicon.known_words(), sides, strict=True)
        )
    )
