"""The gain: how much more the best word of a sentence tells about an output word than its average word does.

Early training sees sentences as bags of words (P3 2.3), so all it can learn is the count table C (P3 4.1) and what
follows from it, Trans(o | i). Attention has a direction to go in only where Trans(y_t | x_l) differs between the
positions l of one sentence. The gain of an output word y_t is

    gain_t = log2( Trans(y_t | x_best) / mean_l Trans(y_t | x_l) ),

in bits: 0 where all positions are alike, log2 L where one position has it all. Chance must not look like knowledge, so
three disjoint thirds of the sentences play three parts: the table of one says which position is best, that of the
second says by how much, and both are read on the sentences of the last. What is chance in the first is not there in the
second. Equal sentences are in one third together: else a sentence would be read by a table that was made from it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.fields import first_largest, ragged_rows
from attnlab.seeds import numpy_generator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Watch = Callable[[str], None]
"""Called with what is done next."""

FOLDS = 3
FEWEST = 12
"""Fewest different sentences to forecast from: four for each third."""
MOST_CELLS = 10_000_000
"""Most pairs of an output word and an input position that are read; of a larger corpus a random part is."""
HUGE = 10
"""Times the median sentence, beyond which a sentence is set aside where not all can be read (`_huge`)."""
DENSE = 4_000_000
"""Most entries a table may have to be kept whole, zeros and all."""
ROUNDING = 1e-9
"""Positions whose Trans differ by less, relatively, are alike: rounding is not information."""


@dataclass(frozen=True)
class Gains:
    """What was read on every output word, in the order of ``pairs`` (which were shuffled, and perhaps thinned).

    ``order``: (sentences,) where each was in the data. ``group``: (sentences,) rising; equal sentences have the same.
    ``huge``: sentences of the data that were set aside. ``thinned``: whether others were left out, drawn at random.

    All (rows,), a row for each output word: ``gain`` and ``derivative_gain`` in bits, the mean of both ways round; the
    second chooses the best position by P3's derivative at initialisation, C - row mean, instead of by Trans.
    ``information``: log2 L - H(alpha_ibm), from the whole table, uncorrected. ``output``: the word. ``pair``: its
    sentence. ``partner``: (rows, 2), the input words chosen. ``fold``: the third it was read in.
    ``input_gain``: (input words,) how much more than its sentences' average each input word tells, in bits, over
    ``occurrences`` (input words,) held-out cells. ``mutual_information``: of the whole table, in bits.
    ``together``: (rows,) bits that all words of the sentence, each with the same weight, say beyond the word's share.
    """

    pairs: SentencePairs
    order: Ints
    group: Ints
    huge: Ints
    thinned: bool
    gain: Floats
    derivative_gain: Floats
    information: Floats
    output: Ints
    pair: Ints
    partner: Ints
    fold: Ints
    input_gain: Floats
    occurrences: Ints
    mutual_information: float
    together: Floats

    @property
    def mean(self) -> float:
        """The mean gain over all output words."""
        return float(self.gain.mean())


class Read(NamedTuple):
    """What was read on ordered sentences: the parts of `Gains` that have a row for each output word, by name; the sums
    behind ``input_gain`` and ``occurrences`` (input words,); the mutual information of the whole table.
    """

    rows: dict[str, NDArray[Any]]
    input_gain: Floats
    occurrences: Floats
    mutual_information: float


class Reader(Protocol):
    """Reads the gains of ordered sentences, here or elsewhere. ``most_cells``: as many as it can read."""

    @property
    def most_cells(self) -> int: ...

    def read(self, pairs: SentencePairs, bounds: list[int], watch: Watch) -> Read:
        """``bounds``: where the thirds begin, and the end of the last, in sentences."""
        ...


class ReadHere:
    """Reads in this process, all cells at once."""

    @property
    def most_cells(self) -> int:
        return MOST_CELLS

    def read(self, pairs: SentencePairs, bounds: list[int], watch: Watch) -> Read:
        cells = Cells.of(pairs)
        blocks = [cells.block(pairs, low, high) for low, high in pairwise(bounds)]
        tables = [table_of(cells, block) for block in blocks]
        whole = Table(*(sum(parts) for parts in zip(*tables, strict=True)))
        read = []
        for fold, block in enumerate(blocks):
            watch(f"reading third {fold + 1} of {FOLDS}")
            read.append(read_block(cells, block, tables[fold - 1], tables[fold - 2], whole, fold))
        return joined(read, mutual_information(cells, whole))


def joined(read: list[dict[str, Any]], information: float) -> Read:
    """What was read on consecutive blocks of sentences as one."""
    input_gain, occurrences = (
        np.sum([part.pop(name) for part in read], axis=0) for name in ("input_gain", "occurrences")
    )
    rows = {name: np.concatenate([part[name] for part in read]) for name in read[0]}
    return Read(rows, input_gain, occurrences, information)


def read_gains(
    pairs: SentencePairs, *, seed: int = 0, watch: Watch = lambda _: None, reader: Reader | None = None
) -> Gains:
    """The gain of every output word; ``seed`` decides which sentences are in which third."""
    watch("counting which words occur together")
    reader = reader or ReadHere()
    huge = _huge(pairs, reader.most_cells)
    order, thinned = _shuffled(pairs, huge, seed, reader.most_cells)
    order, group = _grouped(pairs, order, len(huge))
    pairs = pairs.select(order)
    bounds = np.searchsorted(group, [(group[-1] + 1) * fold // FOLDS for fold in range(FOLDS + 1)]).tolist()
    read = reader.read(pairs, bounds, watch)
    gain, occurrences = read.input_gain, read.occurrences
    return Gains(
        pairs=pairs,
        order=order,
        group=group,
        huge=huge,
        thinned=thinned,
        input_gain=np.divide(gain, occurrences, out=np.zeros_like(gain), where=occurrences > 0),
        occurrences=occurrences.astype(np.int64),
        mutual_information=read.mutual_information,
        **read.rows,
    )


# --- cells: all pairs of an output word and an input position of its sentence


@dataclass(frozen=True)
class Block:
    """Consecutive sentences: their rows (output words) and cells."""

    rows: slice
    cells: slice
    starts: Ints  # (rows,) where each row's cells begin, within the block
    lengths: Ints  # (rows,) cells of each row


@dataclass(frozen=True)
class Cells:
    """``input``, ``output``, ``entry``: (cells,) the words of a cell and the table entry they share."""

    pair: Ints  # (rows,)
    row_output: Ints  # (rows,)
    lengths: Ints  # (rows,) the input's length L
    starts: Ints  # (rows + 1,)
    input: Ints
    output: Ints
    entry: Ints
    entry_input: Ints  # (entries,)
    entry_output: Ints
    shape: tuple[int, int]

    @classmethod
    def of(cls, pairs: SentencePairs, dense: int = DENSE) -> "Cells":
        """All cells of ``pairs``; a table of at most ``dense`` entries has one for every two words."""
        pair = np.repeat(np.arange(len(pairs)), np.diff(pairs.target_offsets))
        position, starts = ragged_rows(pairs.source_offsets, pair)
        lengths = np.diff(starts)
        inputs, row_output = pairs.source[position].astype(np.int64), pairs.target.astype(np.int64)
        outputs = np.repeat(row_output, lengths)
        shape = (len(pairs.source_words), len(pairs.target_words))
        entry = inputs * shape[1] + outputs
        if shape[0] * shape[1] <= dense:
            keys = np.arange(shape[0] * shape[1])
        else:
            keys, entry = np.unique(entry, return_inverse=True)
        return cls(pair, row_output, lengths, starts, inputs, outputs, entry, keys // shape[1], keys % shape[1], shape)

    def block(self, pairs: SentencePairs, low: int, high: int) -> Block:
        """The sentences from ``low`` up to ``high``."""
        rows = slice(int(pairs.target_offsets[low]), int(pairs.target_offsets[high]))
        first, last = self.starts[rows.start], self.starts[rows.stop]
        return Block(rows, slice(int(first), int(last)), self.starts[rows] - first, self.lengths[rows])


# --- tables: C of some sentences, and Trans smoothed


class Table(NamedTuple):
    """C (entries,), its sums over outputs (input words,) and inputs (output words,), and the input tokens counted."""

    counts: Floats
    inputs: Floats
    outputs: Floats
    tokens: Any

    def trans(self, cells: Cells, where: slice) -> Floats:
        """Trans(o | i) of cells, as if every input word had occurred once more beside the corpus' average output.

        Without that, a word seen once would seem to say everything. It leaves alike what is alike.
        """
        once = self.outputs / self.tokens  # (output words,) what one average occurrence adds; sums to kappa
        added = float(once.sum())
        inputs, outputs = cells.input[where], cells.output[where]
        smoothed: Floats = (self.counts[cells.entry[where]] + once[outputs]) / (self.inputs[inputs] + added)
        return smoothed

    def derivative(self, cells: Cells, where: slice) -> Floats:
        """C - row mean of cells: half of P3's derivative at initialisation (4.1)."""
        row_mean = self.inputs[cells.input[where]] / cells.shape[1]
        return self.counts[cells.entry[where]] - row_mean


def table_of(cells: Cells, block: Block) -> Table:
    """C of P3 4.2: whenever i and o occur together in a sentence, 1 / L is added to C_io."""
    weights = np.repeat(1 / block.lengths, block.lengths)
    counts = _sum_by(cells.entry[block.cells], weights, len(cells.entry_input))
    inputs = _sum_by(cells.input[block.cells], weights, cells.shape[0])
    outputs = _sum_by(cells.row_output[block.rows], None, cells.shape[1])
    sentence_begins = np.flatnonzero(np.diff(cells.pair[block.rows], prepend=-1))
    return Table(counts, inputs, outputs, float(block.lengths[sentence_begins].sum()))


def _sum_by(group: Ints, weights: Floats | None, size: int) -> Floats:
    """The sum of weights (of ones) of each group: (size,)."""
    return np.bincount(group, weights, minlength=size).astype(np.float64, copy=False)


def mutual_information(cells: Cells, table: Table) -> float:
    """Of input and output word under the table, in bits."""
    total = table.counts.sum()
    there = np.flatnonzero(table.counts)
    joint = table.counts[there] / total
    apart = table.inputs[cells.entry_input[there]] * table.outputs[cells.entry_output[there]] / total**2
    return max(0.0, float((joint * np.log2(joint / apart)).sum()))


# --- reading


def read_block(cells: Cells, block: Block, first: Table, second: Table, whole: Table, fold: int) -> dict[str, Any]:
    """What the tables of the two other thirds say about this third's output words."""
    inputs = cells.input[block.cells]
    gain, derivative_gain = np.zeros(len(block.lengths)), np.zeros(len(block.lengths))
    together = sum(_together(table, cells, block) for table in (first, second)) / 2
    input_gain = np.zeros(cells.shape[0])
    partners = []
    contrasts = [_contrast(table.trans(cells, block.cells), block) for table in (first, second)]
    for chooser, contrast in ((first, contrasts[1]), (second, contrasts[0])):
        best = first_largest(chooser.trans(cells, block.cells), block.starts)
        gain += contrast[best] / 2
        derivative_gain += contrast[first_largest(chooser.derivative(cells, block.cells), block.starts)] / 2
        input_gain += np.bincount(inputs, contrast, minlength=cells.shape[0]) / 2
        partners.append(inputs[best])
    alpha = whole.trans(cells, block.cells)
    alpha /= np.repeat(np.add.reduceat(alpha, block.starts), block.lengths)
    entropy = -np.add.reduceat(alpha * np.log2(alpha), block.starts)
    return {
        "gain": gain,
        "derivative_gain": derivative_gain,
        "together": together,
        "information": np.maximum(0.0, np.log2(block.lengths) - entropy),
        "output": cells.row_output[block.rows],
        "pair": cells.pair[block.rows],
        "partner": np.stack(partners, axis=1),
        "fold": np.full(len(gain), fold),
        "input_gain": input_gain,
        "occurrences": np.bincount(inputs, minlength=cells.shape[0]).astype(np.float64),
    }


def _contrast(trans: Floats, block: Block) -> Floats:
    """log2 of each cell's Trans over its row's mean; 0 where they are alike or the table lacks the output word."""
    mean = np.repeat(np.add.reduceat(trans, block.starts) / block.lengths, block.lengths)
    ratio = np.divide(trans, mean, out=np.ones_like(trans), where=mean > 0)
    ratio[np.abs(ratio - 1) < ROUNDING] = 1.0
    return np.log2(ratio)


def _together(table: Table, cells: Cells, block: Block) -> Floats:
    """log2 of each row's mean Trans over the output word's share; 0 where the table lacks the word: (rows,)."""
    mean = np.add.reduceat(table.trans(cells, block.cells), block.starts) / block.lengths
    share = (table.outputs / table.outputs.sum())[cells.row_output[block.rows]]
    bits: Floats = np.log2(np.divide(mean, share, out=np.ones_like(mean), where=share > 0))
    return bits


# --- which sentences


def _huge(pairs: SentencePairs, most_cells: int) -> Ints:
    """The sentences to set aside: where not all can be read, one must not take the place of hundreds of others."""
    cells = np.diff(pairs.source_offsets) * np.diff(pairs.target_offsets)
    if cells.sum() <= most_cells:
        return np.zeros(0, np.int64)
    most = max(most_cells // 100, HUGE * float(np.median(cells[cells > 0])))
    return np.flatnonzero(cells > min(most, most_cells // FEWEST))


def _shuffled(pairs: SentencePairs, huge: Ints, seed: int, most_cells: int) -> tuple[Ints, bool]:
    """The sentences that have words on both sides, in random order; only as many as may be read. Whether more are."""
    cells = np.diff(pairs.source_offsets) * np.diff(pairs.target_offsets)
    order = numpy_generator(seed, "forecast").permutation(np.setdiff1d(np.flatnonzero(cells), huge))
    read = order[np.cumsum(cells[order]) <= most_cells]
    return read, len(read) < len(order)


def _grouped(pairs: SentencePairs, order: Ints, huge: int) -> tuple[Ints, Ints]:
    """``order`` with equal sentences beside each other, and for each the number of its group, rising: (sentences,).

    A group is where its sentence that comes first in the data is. So large groups are not early, and without equal
    sentences the order stays as it is. Texts that share one label each are equal by their words alone: a text under
    two labels is still the same text.
    """
    by_source = (np.diff(pairs.target_offsets) <= 1).all()
    firsts: dict[bytes, int] = {}
    leader = np.empty(len(order), np.int64)
    for place in np.argsort(order).tolist():
        k = order[place]
        key = pairs.source[pairs.source_offsets[k] : pairs.source_offsets[k + 1]].tobytes()
        if not by_source:
            key += b"|" + pairs.target[pairs.target_offsets[k] : pairs.target_offsets[k + 1]].tobytes()
        leader[place] = firsts.setdefault(key, place)
    if len(firsts) < FEWEST:
        repeated = f" among {len(order)}" if len(firsts) < len(order) else ""
        different = "different sentences" if repeated else "sentences"
        long = f", and {huge} too long to be read" if huge else ""
        raise UsageError(
            f"A forecast needs at least {FEWEST} {different} with words on both sides; there are "
            f"{len(firsts)}{repeated}{long}."
        )
    together = np.argsort(leader, kind="stable")
    return order[together], np.unique(leader[together], return_inverse=True)[1]
