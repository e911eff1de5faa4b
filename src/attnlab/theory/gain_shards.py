"""The gain over several workers: each reads some sentences, and owns the count tables' rows of some input words.

A worker counts its own sentences, third by third, sends the counts to the owners of the words and gets back those of
all sentences, of the entries that it needs. So nobody holds a whole table. Input word i is owned by worker i mod the
number of workers. What goes in or out is bytes, texts and numbers.
"""

import json
from itertools import pairwise

import numpy as np

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.theory.gain import FOLDS, Cells, Floats, Ints, Table, read_block, table_of
from attnlab.theory.links import distinct

ROWS = ("gain", "derivative_gain", "together", "information", "output", "pair", "partner", "fold")
"""What is read of each output word."""


class GainShard:
    """One worker's sentences, and the rows that it owns: counts of each third (entries, thirds)."""

    def __init__(self, number: int) -> None:
        self.number = number

    def load(self, source: bytes, starts: bytes, target: bytes, target_starts: bytes, sizes: str, bounds: str) -> None:
        """Sentences in all workers' numbers of words. ``sizes``: of input and output words; ``bounds``: where the
        thirds begin and the last ends, among these sentences.
        """
        words = [[str(number) for number in range(size)] for size in json.loads(sizes)]
        self.pairs = SentencePairs(
            np.frombuffer(source, np.int32),
            np.frombuffer(starts, np.int64),
            np.frombuffer(target, np.int32),
            np.frombuffer(target_starts, np.int64),
            words[0],
            words[1],
        )
        self.cells = Cells.of(self.pairs, dense=0)
        limits = json.loads(bounds)
        self.blocks = [self.cells.block(self.pairs, low, high) for low, high in pairwise(limits)]
        self.tables = [table_of(self.cells, block) for block in self.blocks]

    def sums(self) -> tuple[bytes, bytes, bytes]:
        """Of each third the sums over inputs and outputs and the input tokens: (thirds, words), (thirds,)."""
        inputs, outputs = (np.stack([getattr(table, name) for table in self.tables]) for name in ("inputs", "outputs"))
        tokens = np.array([float(table.tokens) for table in self.tables])
        return inputs.tobytes(), outputs.tobytes(), tokens.tobytes()

    def counts_out(self, workers: int) -> list[bytes]:
        """For each worker the entries here of words that it owns, and their counts in each third."""
        keys = self.cells.entry_input * self.cells.shape[1] + self.cells.entry_output
        counts = np.stack([table.counts for table in self.tables], axis=1)  # (entries, thirds)
        self.sent = [np.flatnonzero(self.cells.entry_input % workers == worker) for worker in range(workers)]
        return [keys[places].tobytes() + counts[places].tobytes() for places in self.sent]

    def counts_in(self, *parts: bytes) -> None:
        """Add up what all have counted of the words owned here."""
        read = []
        for part in parts:
            count = len(part) // (8 * (1 + FOLDS))
            read.append((np.frombuffer(part, np.int64, count), np.frombuffer(part, np.float64, offset=8 * count)))
        self.keys: Ints = distinct([keys for keys, _ in read])
        self.owned: Floats = np.zeros((len(self.keys), FOLDS))
        self.received = [np.searchsorted(self.keys, keys) for keys, _ in read]
        for places, (_, counts) in zip(self.received, read, strict=True):
            self.owned[places] += counts.reshape(-1, FOLDS)

    def totals_out(self) -> list[bytes]:
        """For each worker all counts of the entries that it sent."""
        return [self.owned[places].tobytes() for places in self.received]

    def totals_in(self, *parts: bytes) -> None:
        """All workers' counts of the entries here."""
        counts = np.empty((len(self.cells.entry_input), FOLDS))
        for places, part in zip(self.sent, parts, strict=True):
            counts[places] = np.frombuffer(part).reshape(-1, FOLDS)
        self.tables = [table._replace(counts=np.ascontiguousarray(counts[:, k])) for k, table in enumerate(self.tables)]

    def read(self, inputs: bytes, outputs: bytes, tokens: bytes) -> tuple[list[bytes], bytes, bytes, float]:
        """Read all sentences here, with all workers' sums: `ROWS`, then the sums of each input word's gains and of its
        occurrences, and this worker's part of the mutual information.
        """
        sums = [np.frombuffer(part).reshape(FOLDS, -1) for part in (inputs, outputs, tokens)]
        tables = [
            Table(table.counts, sums[0][k], sums[1][k], float(sums[2][k, 0])) for k, table in enumerate(self.tables)
        ]
        whole = Table(*(sum(parts) for parts in zip(*tables, strict=True)))
        made = [
            read_block(self.cells, block, tables[fold - 1], tables[fold - 2], whole, fold)
            for fold, block in enumerate(self.blocks)
            if len(block.lengths)
        ]
        rows = [np.concatenate([part[name] for part in made]).tobytes() for name in ROWS]
        gains, occurrences = (np.sum([part[name] for part in made], axis=0) for name in ("input_gain", "occurrences"))
        return rows, gains.tobytes(), occurrences.tobytes(), self._information(whole)

    def _information(self, whole: Table) -> float:
        """Of the rows owned here, their part of the sum over entries."""
        total = float(whole.inputs.sum())
        counts = self.owned.sum(axis=1)
        there = np.flatnonzero(counts)
        word, output = np.divmod(self.keys[there], self.cells.shape[1])
        joint = counts[there] / total
        apart = whole.inputs[word] * whole.outputs[output] / total**2
        return float((joint * np.log2(joint / apart)).sum())
