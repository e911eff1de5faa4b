"""Every link of a corpus, grouped by the pair of words it joins: the structure under count tables and IBM Model 1.

A *link* joins an input token with an output token of the same sentence pair; pair m has L_m T_m of them. All links of
one input word i and one output word o share one entry of a table, so a sum over links of something that depends on
their tokens is a product with a sparse 0-1 matrix of shape (entries, output tokens), which has a one for each link.

Sorting millions of links by (i, o) would cost more than all else. Instead output tokens are put in the order of their
words, and the sparse matrix of output tokens by input words is transposed, which is a counting sort: linear time. It is
done for some sentences at a time, so that memory is bounded and everything stays near the processor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from attnlab.tasks.sentence_pairs import SentencePairs

Ids = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CHUNK = 2**21
"""Most links of a chunk of sentences (a single pair may exceed it): about 60 MB while it is made."""
PENDING = 2**24
"""Most keys that wait for being merged."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """The links of some sentences, sorted by (input word, output word).

    ``tokens``: these sentences' part of ``pairs.target``. ``inputs (n,)`` and ``outputs (n,)``: the words of each
    entry, which owns the links ``starts[e] : starts[e + 1]``. ``link_tokens (links,)``: their output tokens, numbered
    from 0 within the chunk; ``positions (links,)``: where their input tokens stand in their sentences.
    """

    tokens: slice
    inputs: Ids
    outputs: Ids
    starts: Ids
    link_tokens: Ids
    positions: NDArray[np.integer]
    matrix: csr_array

    def per_entry(self, x: Floats) -> Floats:
        """``(n,)``: for each entry the sum over its links of ``x (the chunk's output tokens,)``."""
        summed: Floats = self.matrix @ x
        return summed

    def per_token(self, values: Floats) -> Floats:
        """``(the chunk's output tokens,)``: for each the sum over its links of the entries' ``values (n,)``."""
        summed: Floats = self.matrix.T @ values
        return summed

    def per_link(self, values: Floats) -> Floats:
        """``(links,)``: the entry's value for every link."""
        return np.repeat(values, np.diff(self.starts))


class Links:
    """All links of ``pairs``; with ``null`` every input has one more token, the NULL word, behind the others.

    ``lengths (output tokens,)``: how many links each has, L_m or with NULL L_m + 1.
    """

    def __init__(self, pairs: SentencePairs, *, null: bool = False) -> None:
        self.pairs, self.null = pairs, null
        self.inputs = len(pairs.source_words) + null
        self.source, self.offsets = _with_null(pairs) if null else (pairs.source, pairs.source_offsets)
        self.lengths = np.repeat(np.diff(self.offsets), np.diff(pairs.target_offsets))

    @property
    def field_offsets(self) -> Ints:
        """Where each row of a score field over these pairs begins, and the end of the last."""
        return np.concatenate(([0], np.cumsum(self.lengths)))

    def chunks(self) -> Iterator[Chunk]:
        """The links, some sentences at a time; sentences without links are passed over."""
        links = np.cumsum(np.diff(self.offsets) * np.diff(self.pairs.target_offsets))
        ones = np.ones(0)
        first = before = 0
        while len(links) and before < links[-1]:
            last = max(first + 1, int(np.searchsorted(links, before + CHUNK, side="right")))
            size = int(links[last - 1]) - before
            if size > len(ones):
                ones = np.ones(size)
            if size:
                yield self._chunk(first, last, ones[:size])
            first, before = last, before + size

    def _chunk(self, first: int, last: int, ones: Floats) -> Chunk:
        """The links of sentences ``first`` to ``last`` - 1, as many as ``ones``."""
        begin, end = self.offsets[first], self.offsets[last]
        tokens = slice(*self.pairs.target_offsets[[first, last]].tolist())
        target, source = self.pairs.target[tokens], self.source[begin:end]
        by_output = counting_sort(target, len(self.pairs.target_words))
        starts = (self.offsets[first:last] - begin).astype(np.int32)
        counts = np.diff(self.pairs.target_offsets[first : last + 1])
        # Row k holds the input tokens of the sentence of output token by_output[k].
        lengths = self.lengths[tokens][by_output].astype(np.int32)
        ends = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.cumsum(lengths, out=ends[1:])
        positions = np.arange(len(ones), dtype=np.int32) - np.repeat(ends[:-1], lengths)
        taken = positions + np.repeat(np.repeat(starts, counts)[by_output], lengths)
        positions = positions.astype(np.min_scalar_type(int(lengths.max())))
        by_word = csr_array((positions, source[taken], ends), shape=(len(target), self.inputs)).tocsc()
        # Within an input word, links are now sorted by output word; an entry begins where either word changes.
        outputs = target[by_output][by_word.indices]
        new = np.empty(len(outputs), dtype=bool)
        new[0] = True
        np.not_equal(outputs[1:], outputs[:-1], out=new[1:])
        new[by_word.indptr[:-1][np.diff(by_word.indptr) > 0]] = True
        bounds = np.append(np.flatnonzero(new), len(outputs)).astype(np.int32)
        entries = np.diff(np.searchsorted(bounds[:-1], by_word.indptr))
        link_tokens = by_output[by_word.indices]
        return Chunk(
            tokens,
            np.repeat(np.arange(self.inputs, dtype=np.int32), entries),
            outputs[bounds[:-1]],
            bounds,
            link_tokens,
            by_word.data,
            csr_array((ones, link_tokens, bounds), shape=(len(bounds) - 1, len(target))),
        )


class Entries:
    """The distinct pairs of words among chunks of links, numbered by (input, output): the entries of their table.

    A pair of words is one number, its key: input * ``outputs`` + output.
    """

    def __init__(self, outputs: int) -> None:
        self.outputs = outputs
        self._keys: list[Ints] = []

    def key(self, inputs: Ids, outputs: Ids) -> Ints:
        """The keys of pairs of words."""
        return inputs.astype(np.int64) * self.outputs + outputs

    def add(self, chunk: Chunk) -> None:
        """Take in a chunk's entries."""
        self._keys.append(self.key(chunk.inputs, chunk.outputs))
        if sum(map(len, self._keys[1:])) > PENDING:
            self._merge()

    def _merge(self) -> None:
        if len(self._keys) > 1:
            self._keys = [distinct(self._keys)]

    @property
    def keys(self) -> Ints:
        """``(entries,)``, rising."""
        self._merge()
        return self._keys[0] if self._keys else np.zeros(0, dtype=np.int64)

    def numbers(self, chunk: Chunk) -> Ints | slice:
        """Which entries a chunk's are, rising."""
        keys = self.keys
        if len(keys) == len(chunk.inputs):
            return slice(None)
        return np.searchsorted(keys, self.key(chunk.inputs, chunk.outputs))

    def words(self) -> tuple[Ids, Ids]:
        """The input and the output word of each entry."""
        keys = self.keys
        count = int(keys[-1]) // self.outputs + 1 if len(keys) else 0
        bounds = np.arange(count + 1, dtype=np.int64) * self.outputs
        lengths = np.diff(np.searchsorted(keys, bounds))  # keys rise: no division of each is needed
        inputs = np.repeat(np.arange(count, dtype=np.int32), lengths)
        return inputs, (keys - np.repeat(bounds[:-1], lengths)).astype(np.int32)


def distinct(parts: Sequence[Ints]) -> Ints:
    """The different ones of all keys, rising. `np.unique` hashes, which takes forty times as long on sorted parts."""
    keys = np.concatenate(parts)
    keys.sort(kind="stable")
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys[new]


def counting_sort(ids: Ids, count: int) -> Ids:
    """The order that sorts ``ids``, all below ``count``, in linear time; equal ones keep their order."""
    row = csr_array((np.arange(len(ids), dtype=np.int32), ids, np.array([0, len(ids)])), shape=(1, count))
    order: Ids = row.tocsc().data
    return order


def _with_null(pairs: SentencePairs) -> tuple[Ids, Ints]:
    """The source tokens with NULL behind those of each sentence that has any, and the offsets."""
    there = np.diff(pairs.source_offsets) > 0
    tokens = np.insert(pairs.source, pairs.source_offsets[1:][there], np.int32(len(pairs.source_words)))
    return tokens, pairs.source_offsets + np.concatenate(([0], np.cumsum(there)))
