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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.fields import consecutive_rows

Ids = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CHUNK = 2**21
"""Most links of a chunk of sentences (a single pair may exceed it): about 60 MB while it is made."""
BLOCK = 2**18
"""Most entries that are worked on at a time (those of a single input word may exceed it): they stay near the
processor."""


class Words(NamedTuple):
    """The words of n entries, sorted: those of input word i are ``rows[i] : rows[i + 1]``; ``outputs (n,)``."""

    rows: NDArray[np.integer]
    outputs: Ids

    @property
    def inputs(self) -> Ids:
        """``(n,)``: the input word of each entry."""
        return np.repeat(np.arange(len(self.rows) - 1, dtype=np.int32), np.diff(self.rows))


@dataclass(frozen=True, eq=False)
class Chunk:
    """The links of some sentences, sorted by (input word, output word).

    ``tokens``: these sentences' part of ``pairs.target``. ``words``: those of each entry, which owns the links
    ``starts[e] : starts[e + 1]``. ``link_tokens (links,)``: their output tokens, numbered from 0 within the chunk;
    ``positions (links,)``: where their input tokens are in their sentences.
    """

    tokens: slice
    words: Words
    starts: Ids
    link_tokens: Ids
    positions: NDArray[np.integer]
    matrix: csr_array

    def per_entry(self, x: Floats) -> Floats:
        """``(n,)``: for each entry the sum over its links of ``x (the chunk's output tokens,)``."""
        return np.asarray(self.matrix @ x)

    def per_token(self, values: Floats) -> Floats:
        """``(the chunk's output tokens,)``: for each the sum over its links of the entries' ``values (n,)``."""
        return np.asarray(self.matrix.T @ values)

    def per_link(self, values: Floats) -> Floats:
        """``(links,)``: the entry's value for every link."""
        return np.repeat(values, np.diff(self.starts))


class Links:
    """All links of ``pairs``; with ``null`` every input has one more token, the NULL word, after the others.

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
        workspace = _Workspace.of(0)
        first = before = 0
        while len(links) and before < links[-1]:
            last = max(first + 1, int(np.searchsorted(links, before + CHUNK, side="right")))
            size = int(links[last - 1]) - before
            if size > len(workspace.ones):
                workspace = _Workspace.of(max(size, min(CHUNK, int(links[-1]))))
            if size:
                yield self._chunk(first, last, workspace.part(size))
            first, before = last, before + size

    def _chunk(self, first: int, last: int, use: "_Workspace") -> Chunk:
        """The links of sentences ``first`` to ``last`` - 1, as many as ``use`` is large."""
        begin, end = self.offsets[first], self.offsets[last]
        tokens = slice(*self.pairs.target_offsets[[first, last]].tolist())
        target, source = self.pairs.target[tokens], self.source[begin:end]
        by_output = counting_sort(target, len(self.pairs.target_words))
        target = target[by_output]
        starts = self.offsets[first:last] - begin
        sentence_lengths = np.diff(self.offsets[first : last + 1])
        # Row k holds the input tokens of the sentence of output token by_output[k].
        row_starts = np.repeat(starts, np.diff(self.pairs.target_offsets[first : last + 1]))[by_output]
        lengths = self.lengths[tokens][by_output]
        ends = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.cumsum(lengths, out=ends[1:])
        # Which input token each link has: one more than the link before, but where a row begins.
        taken = use.indices
        taken.fill(1)
        taken[0] = row_starts[0]
        taken[ends[1:-1]] = row_starts[1:] - (row_starts[:-1] + lengths[:-1] - 1)
        np.cumsum(taken, out=taken)
        places = np.arange(len(source)) - np.repeat(starts, sentence_lengths)
        places = places.astype(np.min_scalar_type(int(sentence_lengths.max())))
        # No index is out of range: "clip" only spares looking for one.
        inputs = source.take(taken, out=use.words, mode="clip")
        positions = places.take(taken, mode="clip")
        by_word = csr_array((positions, inputs, ends), shape=(len(target), self.inputs)).tocsc()
        # Within an input word, links are now sorted by output word; an entry begins where either word changes.
        rows, indices = by_word.indptr, use.indices
        indices[:] = by_word.indices
        outputs = target.take(indices, out=use.words, mode="clip")
        new = use.new
        new[0] = True
        np.not_equal(outputs[1:], outputs[:-1], out=new[1:])
        new[rows[:-1][np.diff(rows) > 0]] = True
        first_links = np.flatnonzero(new)
        bounds = np.full(len(first_links) + 1, len(outputs), dtype=np.int32)
        bounds[:-1] = first_links
        link_tokens = by_output.take(indices, out=by_word.indices, mode="clip")
        return Chunk(
            tokens,
            Words(np.searchsorted(bounds[:-1], rows), outputs[bounds[:-1]]),
            bounds,
            link_tokens,
            by_word.data,
            csr_array((use.ones, link_tokens, bounds), shape=(len(bounds) - 1, len(target))),
        )


class _Workspace(NamedTuple):
    """Arrays of as many numbers as a chunk has links, used for one chunk after the other: new memory costs more than
    what is done in it."""

    ones: Floats
    indices: Ints
    words: Ids
    new: NDArray[np.bool_]

    @classmethod
    def of(cls, size: int) -> "_Workspace":
        return cls(np.ones(size), np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size, np.bool_))

    def part(self, size: int) -> "_Workspace":
        """The first ``size`` numbers of each."""
        return _Workspace(self.ones[:size], self.indices[:size], self.words[:size], self.new[:size])


def counting_sort(ids: Ids, count: int) -> Ids:
    """The order that sorts ``ids``, all below ``count``, in linear time; equal ones keep their order."""
    row = csr_array((np.arange(len(ids), dtype=np.int32), ids, np.array([0, len(ids)])), shape=(1, count))
    return np.asarray(row.tocsc().data)


def _with_null(pairs: SentencePairs) -> tuple[Ids, Ints]:
    """The source tokens with NULL after those of each sentence that has any, and the offsets."""
    there = np.diff(pairs.source_offsets) > 0
    tokens = np.insert(pairs.source, pairs.source_offsets[1:][there], np.int32(len(pairs.source_words)))
    return tokens, pairs.source_offsets + np.concatenate(([0], np.cumsum(there)))


class Entries:
    """The distinct pairs of words among ``chunks`` of links, sorted by (input, output): the entries of their table.

    ``lengths (input words,)``: how many entries each input word has. ``outputs (entries,)``: the output word of each.
    ``numbers``: for each chunk, which entries its own are, rising; a slice if they are all.

    Chunks are merged for some input words at a time, whose entries are together in each of them. There an entry of a
    chunk is one number, (input * output words + output) * 2^bits + chunk, so that sorting brings equal pairs of words
    together and keeps the order of every chunk.
    """

    def __init__(self, chunks: Sequence[Words], output_words: int) -> None:
        self.numbers: list[Ints | slice]
        if len(chunks) == 1:
            self.lengths, self.outputs, self.numbers = np.diff(chunks[0].rows), chunks[0].outputs, [slice(None)]
            return
        numbers = [np.empty(len(chunk.outputs), dtype=np.int64) for chunk in chunks]
        lengths = np.zeros(len(chunks[0].rows) - 1 if chunks else 0, dtype=np.int64)  # of each input word's entries
        bits = len(chunks).bit_length()
        outputs: list[Ids] = [np.zeros(0, dtype=np.int32)]
        count = 0
        ends = sum((chunk.rows.astype(np.int64) for chunk in chunks), start=np.zeros(1, dtype=np.int64))
        for begin, end in consecutive_rows(ends, BLOCK):
            bounds = [chunk.rows[begin : end + 1] for chunk in chunks]
            firsts = np.arange(end - begin + 1) * output_words  # what the keys of each input word begin with
            keys = np.concatenate(
                [
                    ((np.repeat(firsts[:-1], np.diff(rows)) + chunk.outputs[rows[0] : rows[-1]]) << bits) + k
                    for k, (chunk, rows) in enumerate(zip(chunks, bounds, strict=True))
                ]
            )
            keys.sort(kind="stable")  # merges what is sorted already
            of_chunk = (keys & (2**bits - 1)).astype(np.int32)
            keys >>= bits
            new = np.ones(len(keys), dtype=bool)
            np.not_equal(keys[1:], keys[:-1], out=new[1:])
            number = np.cumsum(new)
            number += count - 1
            by_chunk = csr_array((number, of_chunk, np.array([0, len(keys)])), shape=(1, len(chunks))).tocsc()
            for k, rows in enumerate(bounds):
                numbers[k][rows[0] : rows[-1]] = by_chunk.data[by_chunk.indptr[k] : by_chunk.indptr[k + 1]]
            keys = keys[new]
            count += len(keys)
            lengths[begin:end] = np.diff(np.searchsorted(keys, firsts))
            outputs.append((keys - np.repeat(firsts[:-1], lengths[begin:end])).astype(np.int32))
        self.lengths, self.outputs = lengths, np.concatenate(outputs)
        self.numbers = [*numbers]

    @property
    def inputs(self) -> Ids:
        """``(entries,)``: the input word of each."""
        return np.repeat(np.arange(len(self.lengths), dtype=np.int32), self.lengths)


def distinct(parts: Sequence[Ints]) -> Ints:
    """The different ones of all keys, rising. `np.unique` hashes, which takes forty times as long on sorted parts."""
    keys = np.concatenate(parts)
    keys.sort(kind="stable")
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys[new]
