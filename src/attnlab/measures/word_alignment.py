"""A translator's fields as word alignments: pieces joined to words, and each output word linked to one input word.

An output word is linked to the input word of the largest joined value. Over the pieces of an input word a field is
summed (attention, of which they share one amount) or its largest is taken (probabilities, which they do not share).
Over those of an output word it is averaged. The marks at both ends take no part: every word is linked.
"""

import re
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnlab.data.bitext import PieceSide, PieceSplit
from attnlab.data.pieces import Pieces
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.fields import ScoreField

Join = Literal["sum", "max"]
_WORD = re.compile(r"[^ \t\n\r\f\v]+")  # as pieces cut them: what is between the white space of ASCII
UNALIGNED = -1


def word_pairs(split: PieceSplit) -> SentencePairs:
    """The pairs as words, as they are in the corpus."""
    sides = ([_WORD.findall(text) for text in side.texts()] for side in (split.source, split.target))
    return SentencePairs.from_tokens(next(sides), next(sides))


def piece_words(side: PieceSide, pieces: Pieces) -> list[NDArray[np.int64]]:
    """For each sentence the word of every piece that is kept, from 0."""
    encoded = pieces.encode(side.texts())
    found = [
        encoded.words[start : start + length].astype(np.int64)
        for start, length in zip(encoded.offsets[:-1].tolist(), side.lengths.tolist(), strict=True)
    ]
    same = [encoded.values[s : s + n] for s, n in zip(encoded.offsets[:-1], side.lengths, strict=True)]
    if not all(np.array_equal(one, side.sentence(k)) for k, one in enumerate(same)):
        raise UsageError("These pieces are not those that the sentences were cut by.")
    return found


def joined(
    values: NDArray[np.float64], source: NDArray[np.int64], target: NDArray[np.int64], how: Join
) -> NDArray[np.float64]:
    """``values`` (output pieces, input pieces) by words: (output words, input words), NaN for a word without a piece.

    ``source`` and ``target``: the word of every piece.

    >>> pieces = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
    >>> joined(pieces, np.array([0, 0, 1]), np.array([0, 0]), "sum").tolist()
    [[0.5, 0.5]]
    """
    columns = np.full((len(values), int(source.max(initial=-1)) + 1), -np.inf if how == "max" else 0.0)
    (np.maximum if how == "max" else np.add).at(columns.T, source, values.T)
    columns[:, np.bincount(source, minlength=columns.shape[1]) == 0] = np.nan
    sums = np.zeros((int(target.max(initial=-1)) + 1, columns.shape[1]))
    np.add.at(sums, target, columns)
    counts = np.bincount(target, minlength=len(sums))[:, None]
    return np.asarray(np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0))


def best_words(field: ScoreField, split: PieceSplit, pieces: Pieces, how: Join) -> NDArray[np.int64]:
    """(output words of all pairs,): the input word each is linked to, the first of several; -1 for one without pieces.

    ``field``: a row for each output piece and end mark, over ``<s>`` pieces ``</s>``.
    """
    rows = np.append(0, np.cumsum(split.target.lengths + 1))
    if len(field) != rows[-1]:
        raise UsageError(f"The field has {len(field)} rows; the pairs have {rows[-1]} output pieces and end marks.")
    words = word_pairs(split)
    best = np.full(len(words.target), UNALIGNED, dtype=np.int64)
    sides = zip(piece_words(split.source, pieces), piece_words(split.target, pieces), strict=True)
    for k, (source, target) in enumerate(sides):
        values = field.values[field.offsets[rows[k]] : field.offsets[rows[k + 1]]]
        inner = values.reshape(len(target) + 1, len(source) + 2)[:-1, 1:-1]
        table = joined(inner, source, target, how)
        known = ~np.isnan(table).all(axis=1)
        start = words.target_offsets[k]
        best[start + np.flatnonzero(known)] = np.nanargmax(table[known], axis=1) if known.any() else UNALIGNED
    return best


def diagonal(words: SentencePairs) -> NDArray[np.int64]:
    """(output words,): the input word at the same share of the way through the sentence, which knows no words."""
    best = np.zeros(len(words.target), dtype=np.int64)
    for k in range(len(words)):
        source, target = (int(np.diff(side[k : k + 2])[0]) for side in (words.source_offsets, words.target_offsets))
        if target:
            start = words.target_offsets[k]
            best[start : start + target] = ((np.arange(target) + 0.5) * source / target).astype(np.int64)
    return best
