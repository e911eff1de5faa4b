"""The count table C of P3 4.2, Trans(o|i), and the score fields beta_ibm and alpha_ibm.

C says how often an input word and an output word are in the same pair, each output token spreading a count of one
evenly over its pair's L input positions. It is what a network whose attention is still uniform learns from (P3 4.1),
and the first step of IBM Model 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.theory.links import Chunk, Entries, Floats, Ids, Links

NULL = ""
"""The name of the NULL word. No word of a text is empty, so it cannot be mistaken for one."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """A sparse table with a row for each input word and a column for each output word.

    ``inputs (n,)``, ``outputs (n,)``, ``values (n,)``: the entries that are there, sorted by (input, output). With a
    NULL word it is the last input word.
    """

    inputs: Ids
    outputs: Ids
    values: Floats
    input_words: list[str]
    output_words: list[str]

    @property
    def shape(self) -> tuple[int, int]:
        """Input words, output words."""
        return len(self.input_words), len(self.output_words)

    @property
    def null(self) -> bool:
        """Whether the last input word is the NULL word."""
        return bool(self.input_words) and self.input_words[-1] == NULL

    def dense(self) -> Floats:
        """``(input words, output words)``, zero where there is no entry; for small corpora."""
        table = np.zeros(self.shape)
        table[self.inputs, self.outputs] = self.values
        return table

    def normalised(self) -> "CountTable":
        """Trans(o|i) = C[i, o] / sum over o' of C[i, o']: every row that has entries sums to 1 (P3 equation 14)."""
        totals = np.bincount(self.inputs, weights=self.values, minlength=self.shape[0])
        return replace(self, values=self.values / totals[self.inputs])

    def lookup(self, inputs: NDArray[np.integer], outputs: NDArray[np.integer]) -> Floats:
        """The values at pairs of ids, 0 where there is no entry; an id of -1 means a word that is not there."""
        inputs, outputs = np.broadcast_arrays(np.asarray(inputs, dtype=np.int64), np.asarray(outputs, dtype=np.int64))
        wanted = inputs * self.shape[1] + outputs
        if len(self._keys) == 0:
            return np.zeros(wanted.shape)
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        there = (self._keys[at] == wanted) & (inputs >= 0) & (outputs >= 0)
        return np.where(there, self.values[at], 0.0)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return self.inputs.astype(np.int64) * self.shape[1] + self.outputs


def count_table(pairs: SentencePairs, *, null: bool = False) -> CountTable:
    """C of P3 equation 13, with x the input (source) and y the output (target) of pair m:

        C[i, o] = sum over m, l = 1..L_m, t = 1..T_m of 1[x_l = i] 1[y_t = o] / L_m

    With ``null`` every input has one more word, so that L_m is larger by one.

    >>> pairs = SentencePairs.from_tokens([["das", "Haus"], ["Haus"]], [["the", "house"], ["house"]])
    >>> count_table(pairs).dense().tolist()
    [[0.5, 0.5], [0.5, 1.5]]
    """
    links = Links(pairs, null=null)
    parts = [(chunk.words, chunk.per_entry(1 / links.lengths[chunk.tokens])) for chunk in links.chunks()]
    entries = Entries([words for words, _ in parts], len(pairs.target_words))
    values = np.zeros(len(entries.outputs))
    for numbers, (_, counts) in zip(entries.numbers, parts, strict=True):
        values[numbers] += counts
    return table_of(entries.inputs, entries.outputs, values, pairs, null=null)


def table_of(inputs: Ids, outputs: Ids, values: Floats, pairs: SentencePairs, *, null: bool) -> CountTable:
    """The table of ``pairs`` with these entries."""
    words = [*pairs.source_words, NULL] if null else pairs.source_words
    return CountTable(inputs, outputs, values, words, pairs.target_words)


def beta_ibm(table: CountTable, pairs: SentencePairs) -> ScoreField:
    """beta_ibm[t, l] = Trans(y_t | x_l) (P3 equation 15): a row for each target token, a value for each source
    position.

    ``table``: Trans, or counts, which are normalised first. ``pairs`` may be other text than the table was made from;
    words it does not have get 0. The NULL word has no position: it is left out.
    """
    trans, links = table.normalised(), Links(pairs)
    offsets = links.field_offsets
    values = np.empty(offsets[-1])
    known = Lookup(trans, pairs)
    for chunk in links.chunks():
        rows = offsets[chunk.tokens][chunk.link_tokens]
        values[rows + chunk.positions] = chunk.per_link(known.of(chunk))
    return ScoreField(values, offsets)


def alpha_ibm(table: CountTable, pairs: SentencePairs) -> ScoreField:
    """alpha_ibm[t, l] = beta_ibm[t, l] / sum over l' of beta_ibm[t, l'] (P3 equation 16).

    A row in which every beta is 0, that of an unknown word, stays 0. If the table has a NULL word, its share is part of
    the sum, so that a row says what is left for the words.
    """
    beta = beta_ibm(table, pairs)
    filled = beta.lengths > 0
    totals = np.add.reduceat(beta.values, beta.offsets[:-1][filled]) if filled.any() else np.zeros(0)
    if table.null:
        totals = totals + Lookup(table.normalised(), pairs).null(pairs.target)[filled]
    shared = np.repeat(totals, beta.lengths[filled])
    values = np.divide(beta.values, shared, out=np.zeros_like(beta.values), where=shared > 0)
    return ScoreField(values, beta.offsets)


class Lookup:
    """Looks up the values of a table for the words of a corpus, which may number them differently."""

    def __init__(self, table: CountTable, pairs: SentencePairs) -> None:
        self.table = table
        self.inputs = translated(pairs.source_words, table.input_words)
        self.outputs = translated(pairs.target_words, table.output_words)

    def of(self, chunk: Chunk) -> Floats:
        """The values of a chunk's entries."""
        inputs = np.append(self.inputs, self.table.shape[0] - 1)  # the id after those of all words is NULL's
        return self.table.lookup(inputs[chunk.words.inputs], self.outputs[chunk.words.outputs])

    def null(self, targets: Ids) -> Floats:
        """What the NULL word gives to target tokens."""
        null = np.full(len(targets), self.table.shape[0] - 1)
        return self.table.lookup(null, self.outputs[targets])


def translated(words: Sequence[str], other: Sequence[str]) -> NDArray[np.int64]:
    """For each of ``words`` its id among ``other``, -1 where it is not there."""
    if words is other:
        return np.arange(len(words))
    ids: Mapping[str, int] = {word: k for k, word in enumerate(other)}
    return np.fromiter((ids.get(word, -1) for word in words), dtype=np.int64, count=len(words))


def check_table(table: CountTable) -> CountTable:
    """``table`` if its entries are in range, sorted, distinct, finite and not negative; else a UsageError."""
    sides = zip((table.inputs, table.outputs), table.shape, strict=True)
    if any(((ids < 0) | (ids >= words)).any() for ids, words in sides):
        raise UsageError("A table's entries must name words that it has.")
    if (np.diff(table._keys) <= 0).any():
        raise UsageError("A table's entries must be sorted by (input, output), each there once.")
    if not np.isfinite(table.values).all() or (table.values < 0).any():
        raise UsageError("A table's values must be finite and not negative.")
    return table
