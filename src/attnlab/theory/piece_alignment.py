"""A translator's score fields as word alignments: pieces joined to words, every target word linked to one source word.

A field has a row for each target piece and one for ``</s>``, and in it a column for ``<s>``, each source piece and
``</s>``. A source word's score is the sum over its pieces (of attention, which is a share) or the largest of them (of
anything else); a target word's row is the mean over its pieces. What it is linked to is compared with hand alignments.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnlab.data.bitext import Bitext, PieceSide, PieceSplit
from attnlab.data.bitexts import known_bitext
from attnlab.data.corpora import data_folder
from attnlab.data.pieces import Pieces
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.fields import ScoreField, ragged_rows
from attnlab.theory.alignment import Coverage, Gold, Score, read_gold, score
from attnlab.theory.links import Floats, Ints
from attnlab.theory.symmetrise import Alignment, from_positions

Join = Literal["sum", "largest"]


@dataclass(frozen=True, eq=False)
class PieceWords:
    """The words of some sentence pairs, and which of them each piece belongs to.

    ``source (pieces,)``, ``target (pieces,)``: the word's place in its sentence, pieces in the order of the split.
    """

    pairs: SentencePairs
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    source_offsets: Ints
    target_offsets: Ints


@dataclass(frozen=True, eq=False)
class GoldWords:
    """Sentence pairs with hand-made links. ``known``: how many of their words are in the training text."""

    words: PieceWords
    gold: Gold
    known: Coverage

    def score(self, alignment: Alignment) -> Score | None:
        """Links against the hand-made ones; None where the training text has too few of the words to say anything."""
        return score(alignment, self.gold) if self.known.enough else None


def piece_words(pieces: Pieces, split: PieceSplit) -> PieceWords:
    """The words of a split's pairs, which are between white space, and where its pieces belong."""
    texts = split.source.texts(), split.target.texts()
    maps = []
    for name, side, lines in zip(("source", "target"), (split.source, split.target), texts, strict=True):
        encoded = pieces.encode(lines)
        cut = np.flatnonzero(np.diff(encoded.offsets) != side.lengths)
        if len(cut):
            line = split.rows[cut[0]]
            raise UsageError(f"The {name} sentence of line {line} is cut, so its pieces cannot be joined to words.")
        maps.append(encoded.words)
    pairs = SentencePairs.from_tokens(*([line.split(" ") for line in lines] for lines in texts))
    return PieceWords(pairs, maps[0], maps[1], split.source.offsets, split.target.offsets)


def gold_words(bitext: Bitext, root: Path | None = None) -> GoldWords:
    """The validation pairs of a bitext that has hand alignments, with these.

    They know words of the training pairs that are in ``bitext``, which may be fewer than the corpus has.
    """
    known, source, target = known_bitext(bitext.name)
    if known.gold is None:
        raise UsageError(f"{bitext.name} has no hand alignments; hansards and europarl have.")
    gold = read_gold(data_folder(root) / known.gold)
    if (source, target) not in known.pairs:
        gold = replace(gold, source=gold.target, target=gold.source)
    split = bitext.validation
    if not np.array_equal(split.rows, np.arange(1, len(split) + 1)):
        raise UsageError(f"{bitext.name} lacks some of its sentences aligned by hand; the links number all of them.")
    words = piece_words(bitext.pieces, split)
    gold.keys(words.pairs)  # a link outside its sentence is refused
    sides = (bitext.train.source, split.source), (bitext.train.target, split.target)
    return GoldWords(words, gold, Coverage(*(_coverage(train, held_out) for train, held_out in sides)))


def align_words(field: ScoreField, words: PieceWords, join: Join, *, marks: bool = False) -> Alignment:
    """Every target word linked to the source word of its largest joined score, the first of several.

    ``marks``: ``<s>`` and ``</s>`` compete with the words, and a target word that they win has no link. A word without
    pieces has none either.
    """
    targets = np.diff(words.target_offsets)
    rows, columns = targets + 1, np.diff(words.source_offsets) + 2
    if len(field) != rows.sum() or not np.array_equal(field.lengths, np.repeat(columns, rows)):
        raise UsageError(
            f"The field's rows are not those of the {len(words.pairs)} pairs: a row for each target piece and the end "
            "mark, a column for each source piece and both marks."
        )
    groups = _Groups.of(words)
    pair = np.repeat(np.arange(len(targets)), rows)
    joined, offsets, owners = groups.reduce(field, pair, join)
    # The mean over a target word's pieces; rows of end marks belong to no word.
    number = _numbers(words, rows)
    kept = number >= 0
    places, moved = ragged_rows(offsets, np.flatnonzero(kept))
    return from_positions(words.pairs, _best(joined[places], owners[places], moved, number[kept], words, marks))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Columns of a pair's rows that belong together: ``<s>``, each source word that has pieces, ``</s>``.

    ``starts (groups,)``: the first column of each. ``owners (groups,)``: its word, -1 for marks. ``offsets (pairs +
    1,)``: where each pair's groups are.
    """

    starts: Ints
    owners: Ints
    offsets: Ints

    @classmethod
    def of(cls, words: PieceWords) -> "_Groups":
        starts, owners, counts = [], [], []
        for begin, end in zip(words.source_offsets[:-1].tolist(), words.source_offsets[1:].tolist(), strict=True):
            present, first = np.unique(words.source[begin:end], return_index=True)
            starts.append(np.concatenate(([0], first + 1, [end - begin + 1])))
            owners.append(np.concatenate(([-1], present, [-1])))
            counts.append(len(present) + 2)
        offsets = np.append(0, np.cumsum(counts, dtype=np.int64))
        return cls(np.concatenate(starts), np.concatenate(owners), offsets.astype(np.int64))

    def reduce(self, field: ScoreField, pair: Ints, join: Join) -> tuple[Floats, Ints, Ints]:
        """``field``'s columns joined by group: values, offsets of the rows, and whose each value is."""
        places, offsets = ragged_rows(self.offsets, pair)
        starts = np.repeat(field.offsets[:-1], np.diff(offsets)) + self.starts[places]
        together = np.add if join == "sum" else np.maximum
        return together.reduceat(field.values, starts), offsets, self.owners[places]


def _numbers(words: PieceWords, rows: Ints) -> Ints:
    """``(rows of the field,)``: the target word of each, numbered through the corpus; -1 for end marks."""
    ends = np.cumsum(rows) - 1
    starts = np.repeat(words.pairs.target_offsets[:-1], np.diff(words.target_offsets))
    numbers = np.full(int(rows.sum()), -1, np.int64)
    numbers[np.delete(np.arange(len(numbers)), ends)] = starts + words.target
    return numbers


def _best(
    values: Floats, owners: Ints, offsets: Ints, number: Ints, words: PieceWords, marks: bool
) -> NDArray[np.int64]:
    """``(target words,)``: the source word of the largest mean over rows with the same word's ``number``; -1 if none.

    All rows of a word are as long as each other and follow each other.
    """
    best = np.full(len(words.pairs.target), -1, np.int64)
    first = np.flatnonzero(np.diff(number, prepend=-1))
    ends = np.append(first[1:], len(number))
    for begin, end in zip(first.tolist(), ends.tolist(), strict=True):
        block = values[offsets[begin] : offsets[end]].reshape(end - begin, -1).mean(0)
        owner = owners[offsets[begin] : offsets[begin + 1]]
        if not marks:
            block, owner = block[owner >= 0], owner[owner >= 0]
        if len(owner):
            best[number[begin]] = owner[int(block.argmax())]
    return best


def _coverage(train: PieceSide, held_out: PieceSide) -> float:
    """The share of ``held_out``'s words that ``train`` has."""
    known = {word for line in train.texts() for word in line.split(" ")}
    words = [word for line in held_out.texts() for word in line.split(" ")]
    return sum(word in known for word in words) / len(words)
