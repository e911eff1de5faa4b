"""The entries of a table whose links come in chunks: which pairs of words there are, and which of them a chunk has."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array

from attnlab.theory.links import Ids, Ints, Words

BLOCK = 2**18
"""Most entries that are worked on at a time (those of a single input word may exceed it): they stay near the
processor."""


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
        for begin, end in blocks(ends):
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


def blocks(ends: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of input words, begin and end, that have at most `BLOCK` entries together, or are a single one.

    ``ends (input words + 1,)``: the entries before each word, and of all.
    """
    begin = 0
    while begin < len(ends) - 1:
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + BLOCK, side="right")) - 1)
        yield begin, end
        begin = end


def distinct(parts: Sequence[Ints]) -> Ints:
    """The different ones of all keys, rising. `np.unique` hashes, which takes forty times as long on sorted parts."""
    keys = np.concatenate(parts)
    keys.sort(kind="stable")
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys[new]
