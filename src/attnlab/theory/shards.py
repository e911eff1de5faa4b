"""IBM Model 1 over several workers: each has some sentences, and owns the table's rows of some input words.

A worker counts in its own sentences and needs, of the table, the entries of the words in them. Those of words that
others own it sends as sums, and gets back as values; those of its own words that only other workers' sentences have it
keeps after its own entries (``extras``). So nobody holds the whole table, and what is sent grows with the entries of
words that several workers have. A word's owner is the worker that has most of its tokens.

Everything that goes in or out is bytes, texts and numbers, since Ray's transport pickles.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import MOST_LINKS, SentencePairs, Side, as_lines
from attnlab.theory.aligner import pharaoh
from attnlab.theory.ibm1 import Training, best_of
from attnlab.theory.links import Floats, Ids, Ints, Links, distinct
from attnlab.theory.symmetrise import check_direction, from_positions, from_reverse_positions, symmetrised


class Shard:
    """One worker's part. Its words have numbers of its own; `meet` says which they are among all workers' words."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.clear()

    # --- the sentences

    def clear(self) -> None:
        """Let go of everything."""
        self.sides = _Growing(), _Growing()
        self.pairs: SentencePairs | None = None
        self.positions: dict[str, NDArray[np.int32]] = {}
        self.tables: dict[str, tuple[Ids, Ids, Floats]] = {}
        self._drop()

    def add(self, source: bytes, target: bytes, where: str, first: int) -> str:
        """More sentences, as lines; ``where`` and at which line they begin there. What is wrong with them, or nothing.

        Of a pair with words on one side alone the words are left out; the pair keeps its place.
        """
        sides = [Side.of_lines(as_lines(text)) for text in (source, target)]
        long = np.flatnonzero(sides[0].lengths * sides[1].lengths > MOST_LINKS)
        if len(long):
            return f"Line {first + int(long[0])} of {where} has {MOST_LINKS} pairs of words; is a line break missing?"
        half = (sides[0].lengths == 0) != (sides[1].lengths == 0)
        for side, growing in zip(sides, self.sides, strict=True):
            growing.add(side.without(half) if half.any() else side)
        return ""

    def words(self) -> tuple[bytes, bytes, bytes, bytes, int, bytes]:
        """Source words and how many tokens of each, target words and theirs, how many pairs, which are empty."""
        source, target = (side.joined() for side in self.sides)
        self.sides = _Growing(), _Growing()
        self.pairs = SentencePairs(source.ids, source.offsets, target.ids, target.offsets, source.words, target.words)
        counts = [np.bincount(side.ids, minlength=len(side.words)).astype(np.int64) for side in (source, target)]
        joined = ["\n".join(side.words).encode() for side in (source, target)]
        return joined[0], counts[0].tobytes(), joined[1], counts[1].tobytes(), len(self.pairs), self.empty()

    def empty(self) -> bytes:
        assert self.pairs is not None
        return self.pairs.empty.tobytes()

    # --- training

    def begin(
        self, direction: str, inputs: bytes, owners: bytes, shared: bytes, outputs: bytes, sizes: str, null: int
    ) -> float:
        """Count. ``inputs``, ``outputs``: the numbers of this worker's words among all. ``owners``: of each input word.
        ``shared``: whether others have it too. ``sizes``: all workers' input and output words. ``null``: the owner of
        the NULL word, -1 if there is none. How many output tokens there are.
        """
        assert self.pairs is not None
        self._drop()  # where all begins again after another worker died
        self.tables.pop(direction, None)
        pairs = self.pairs if direction == "forward" else self.pairs.swapped()
        self.direction, self.null = direction, null >= 0
        self.training = Training(Links(pairs, null=self.null))
        every_input, self.width = (int(size) for size in sizes.split())
        self.inputs, self.outputs = np.frombuffer(inputs, np.int64), np.frombuffer(outputs, np.int64)
        self.owners, self.shared = np.frombuffer(owners, np.int32), np.frombuffer(shared, np.bool_)
        if self.null:
            self.inputs = np.append(self.inputs, every_input)
            self.owners, self.shared = np.append(self.owners, np.int32(null)), np.append(self.shared, True)
        training = self.training
        if not len(training.entries.lengths):  # all sentences here are empty
            self.inputs, self.owners, self.shared = self.inputs[:0], self.owners[:0], self.shared[:0]
        self.count = len(training.values)
        training.numbers = [slice(0, self.count) if isinstance(one, slice) else one for one in training.numbers]
        self.extra_rows: Ints = np.zeros(0, np.int64)
        self.extra_keys: Ints = np.zeros(0, np.int64)
        return float(len(pairs.target))

    def keys_out(self, workers: int) -> list[bytes]:
        """For each worker the entries here of words that it owns."""
        starts = np.concatenate(([0], np.cumsum(self.training.entries.lengths)))
        self.sent: list[Ints] = []
        keys = []
        for worker in range(workers):
            rows = np.flatnonzero(self.shared & (self.owners == worker) & (worker != self.number))
            self.sent.append(_ranges(starts[rows], starts[rows + 1]))
            keys.append(self._keys(self.sent[-1], rows).tobytes())
        return keys

    def keys_in(self, *keys: bytes) -> int:
        """Where the entries that others send belong: among those here, or as extras. How many of these there are."""
        starts = np.concatenate(([0], np.cumsum(self.training.entries.lengths)))
        rows = np.flatnonzero(self.shared & (self.owners == self.number))
        places = _ranges(starts[rows], starts[rows + 1])
        own = self._keys(places, rows)
        order = np.argsort(own, kind="stable")
        own, places = own[order], places[order]
        theirs = [np.frombuffer(part, np.int64) for part in keys]
        matches = [_find(own, part) for part in theirs]
        self.extra_keys = distinct([part[at < 0] for part, at in zip(theirs, matches, strict=True)] or [own[:0]])
        self.received: list[Ints] = []
        for part, at in zip(theirs, matches, strict=True):
            here = np.where(at >= 0, places[at] if len(places) else 0, 0)
            missing = at < 0
            here[missing] = self.count + np.searchsorted(self.extra_keys, part[missing])
            self.received.append(here)
        if len(self.extra_keys):
            training, more = self.training, np.zeros(len(self.extra_keys))
            training.values = np.concatenate([training.values, more + 1])
            training.sums = np.concatenate([training.sums, more])
            number = {int(word): row for row, word in enumerate(self._rows())}
            inputs = self.extra_keys // self.width
            self.extra_rows = np.fromiter((number[int(word)] for word in inputs), np.int64, len(inputs))
        return len(self.extra_keys)

    def sums_out(self) -> list[bytes]:
        """For each worker the sums of the entries of its words."""
        return [self.training.sums[places].tobytes() for places in self.sent]

    def sums_in(self, *parts: bytes) -> None:
        """Add the sums that others have of words owned here, and make the table of these words."""
        self.gather(*parts)
        training, count = self.training, self.count
        if len(self.extra_rows):
            counts = training.sums[count:] * training.values[count:]
            elsewhere: Floats = np.bincount(self.extra_rows, counts, len(training.row_lengths)).astype(np.float64)
            totals = training.normalise(elsewhere)
            training.values[count:] = counts / totals[self.extra_rows]
        else:
            training.normalise()

    def gather(self, *parts: bytes) -> None:
        """Add the sums that others have of words owned here: before the first iteration that makes the count table."""
        for places, part in zip(self.received, parts, strict=True):
            self.training.sums[places] += np.frombuffer(part)

    def values_out(self) -> list[bytes]:
        """For each worker the values of the entries that it sent."""
        return [self.training.values[places].tobytes() for places in self.received]

    def values_in(self, *parts: bytes) -> None:
        """The values of entries whose words others own."""
        for places, part in zip(self.sent, parts, strict=True):
            self.training.values[places] = np.frombuffer(part)

    def read(self, last: int) -> float:
        """What the table says about the sentences here: their log-likelihood."""
        self.training.read(last=bool(last))
        return self.training.log_likelihood()

    def end(self, keep: int, counts: int = 0) -> None:
        """Find the best positions; ``keep`` the rows owned here (``counts``: those of C); let go of the rest."""
        training, count = self.training, self.count
        if not counts:
            self.positions[self.direction] = best_of(training.links, training.valued())
        if keep:
            values = training.sums if counts else training.values
            inputs = training.entries.inputs
            owned = np.flatnonzero(self.owners[inputs] == self.number)
            ids = [self.inputs[inputs[owned]], self.outputs[training.entries.outputs[owned]]]
            ids = [
                np.concatenate([one, more])
                for one, more in zip(ids, np.divmod(self.extra_keys, self.width), strict=True)
            ]
            kept = np.concatenate([values[owned], values[count:]])
            self.tables[self.direction] = ids[0].astype(np.int32), ids[1].astype(np.int32), kept
        self._drop()

    def _drop(self) -> None:
        """Let go of what a training needs."""
        for name in ("training", "sent", "received"):
            self.__dict__.pop(name, None)

    def _keys(self, places: Ints, rows: Ints) -> Ints:
        """One number for the words of each entry at ``places``, those of ``rows``, by all workers' numbers."""
        lengths = self.training.entries.lengths[rows]
        keys: Ints = np.repeat(self.inputs[rows], lengths) * self.width
        return keys + self.outputs[self.training.entries.outputs[places]]

    def _rows(self) -> Ints:
        """The input words that have entries, in order."""
        return self.inputs[np.flatnonzero(self.training.entries.lengths > 0)]

    # --- results

    def lines(self, direction: str) -> tuple[bytes, int]:
        """The links of the sentences here, a line a pair, and how many there are."""
        assert self.pairs is not None
        forward, reverse = (self.positions.get(name) for name in ("forward", "reverse"))
        alignment = symmetrised(
            check_direction(direction),
            None if forward is None else from_positions(self.pairs, forward),
            None if reverse is None else from_reverse_positions(self.pairs, reverse),
        )
        return bytes(pharaoh(alignment)), len(alignment)

    def rows(self, direction: str, low: int, high: int) -> tuple[bytes, bytes, bytes]:
        """Inputs, outputs and values of the entries here whose source word is from ``low`` up to ``high``."""
        inputs, outputs, _ = self.tables[direction]
        source = inputs if direction == "forward" else outputs
        return _packed(self.tables[direction], (source >= low) & (source < high))

    def rows_of(self, direction: str, inputs: bytes, outputs: bytes) -> tuple[bytes, bytes, bytes]:
        """Those of the entries here whose words are both among these, which rise."""
        table = self.tables[direction]
        wanted = [np.frombuffer(part, np.int64) for part in (inputs, outputs)]
        return _packed(table, np.isin(table[0], wanted[0]) & np.isin(table[1], wanted[1]))

    def spent(self) -> float:
        """Seconds of processor time that this process has used."""
        return time.process_time()

    def memory(self) -> float:
        """The most bytes that this process has had at once, by the kernel's own mark; 0 where it has none."""
        status = Path("/proc/self/status")
        lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else []
        return sum(1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


class _Growing:
    """One side's sentences as they come, with one numbering of words."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.ids: list[NDArray[np.int32]] = []
        self.lengths: list[Ints] = []

    def add(self, side: Side) -> None:
        known = self.numbers
        numbers = np.fromiter((known.setdefault(word, len(known)) for word in side.words), np.int32, len(side.words))
        self.ids.append(numbers[side.ids] if len(side.words) else np.zeros(0, np.int32))
        self.lengths.append(side.lengths)

    def joined(self) -> Side:
        ids = np.concatenate([np.zeros(0, np.int32), *self.ids])
        lengths = np.concatenate([np.zeros(0, np.int64), *self.lengths])
        return Side(ids, np.concatenate(([0], np.cumsum(lengths))), list(self.numbers))


def _ranges(begins: NDArray[np.integer], ends: NDArray[np.integer]) -> Ints:
    """The numbers from each begin up to its end, one range after the other."""
    lengths = ends - begins
    offsets = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    return np.arange(int(lengths.sum()), dtype=np.int64) + np.repeat(begins - offsets, lengths)


def _find(keys: Ints, wanted: Ints) -> Ints:
    """Where each of ``wanted`` is among ``keys``, which rise; -1 where it is not."""
    if not len(keys):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def _packed(table: Sequence[NDArray[Any]], chosen: NDArray[np.bool_]) -> tuple[bytes, bytes, bytes]:
    inputs, outputs, values = (part[chosen].tobytes() for part in table)
    return inputs, outputs, values
