"""IBM Model 1 (Brown et al. 1993; P3 4.2), trained by expectation maximisation: which input word made an output word.

The model says that output token y_t of pair m is made by one of the L_m input tokens, each as likely as the others, and
is then drawn from Trans(. | x_l). From a uniform table the first iteration's expected counts are the count table C, so
one iteration gives Trans of P3 equation 14; every further iteration spreads the counts by the table of the one before.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.fields import consecutive_rows
from attnlab.theory.counts import CountTable, Lookup, table_of
from attnlab.theory.links import BLOCK, Chunk, Entries, Floats, Ints, Links

UNALIGNED = -1
MOST_ITERATIONS = 10_000
MOST_LINKS_KEPT = 2**29
"""Links of which the structure is kept between iterations (5 bytes each); of a larger corpus it is made anew, in twice
the time."""


@dataclass(frozen=True, eq=False)
class Ibm1:
    """A trained model.

    ``table``: Trans(o|i), each row a distribution. ``log_likelihoods``: natural logarithm of the probability of all
    target tokens, before the first iteration and after each. ``converged``: whether the tolerance ended it.
    ``positions``: the `best_positions` of the pairs trained on, if they were asked for.
    """

    table: CountTable
    log_likelihoods: tuple[float, ...]
    converged: bool
    positions: NDArray[np.int32] | None = None

    @property
    def iterations(self) -> int:
        """How many iterations were made."""
        return len(self.log_likelihoods) - 1


def check_training(iterations: int, tolerance: float | None) -> None:
    """Refuse a number of iterations or a tolerance that nobody can mean."""
    if iterations < 1:
        raise UsageError(f"iterations: IBM Model 1 needs at least one iteration, not {iterations}.")
    if iterations > MOST_ITERATIONS:
        raise UsageError(
            f"iterations: IBM Model 1 makes at most {MOST_ITERATIONS} iterations; after some tens little "
            "changes, and a tolerance ends it there."
        )
    if tolerance is not None and not 0 <= tolerance < 1:
        raise UsageError(f"tolerance: it is a share, at least 0 and below 1, not {tolerance}.")


def train_ibm1(
    pairs: SentencePairs,
    *,
    iterations: int = 5,
    null: bool = False,
    tolerance: float | None = None,
    positions: bool = False,
    watch: Callable[[int, float], None] | None = None,
) -> Ibm1:
    """Train on ``pairs``, input the source, output the target.

    ``tolerance``: stop after an iteration that raised the log-likelihood by no more than this share of its size.
    ``positions``: also find the `best_positions`, which is faster here than later. ``watch``: called after each
    iteration with its number and the log-likelihood.

    >>> pairs = SentencePairs.from_tokens([["das", "Haus"], ["Haus"]], [["the", "house"], ["house"]])
    >>> train_ibm1(pairs, iterations=20).table.dense().round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_training(iterations, tolerance)
    if len(pairs.source) == 0:
        raise UsageError("There is no sentence pair with words on both sides, so there is nothing to count.")
    training = Training(Links(pairs, null=null))
    history = [-len(pairs.target) * math.log(len(pairs.target_words))]
    converged = False
    while len(history) <= iterations and not converged:
        training.update(last=len(history) == iterations)
        history.append(training.log_likelihood())
        if watch:
            watch(len(history) - 1, history[-1])
        converged = tolerance is not None and history[-1] - history[-2] <= tolerance * abs(history[-2])
    best = best_of(training.links, training.valued()) if positions else None
    return Ibm1(training.table(), tuple(history), converged, best)


class Training:
    """The table between iterations: ``values (entries,)``, and which of them each chunk of links has.

    ``denominators (output tokens,)``: sum over l of Trans(y_t | x_l). ``sums (entries,)``: sum over an entry's links of
    1 / denominator, which makes the next iteration's counts.
    """

    def __init__(self, links: Links) -> None:
        self.links = links
        kept = int(links.lengths.sum()) <= MOST_LINKS_KEPT
        self._chunks: list[Chunk] | None = list(links.chunks()) if kept else None
        entries = Entries([chunk.words for chunk in self.chunks()], len(links.pairs.target_words))
        self.entries, self.numbers = entries, entries.numbers
        # An input word's entries are together. Of the words that have any: how many, and where they begin and end.
        self.row_lengths = entries.lengths[entries.lengths > 0]
        self.row_ends = np.concatenate(([0], np.cumsum(self.row_lengths)))
        self.denominators = links.lengths.astype(np.float64)
        self.logarithms = np.log(self.denominators)
        self.log_lengths = float(self.logarithms.sum())
        self.values = np.ones(len(entries.outputs))
        self.sums = np.zeros(len(entries.outputs))
        for chunk, numbers in self._numbered():
            self._add(chunk, numbers)

    def chunks(self) -> Iterable[Chunk]:
        return self.links.chunks() if self._chunks is None else self._chunks

    def update(self, *, last: bool) -> None:
        """One iteration: expected counts by the table so far, then the table under which they are likeliest.

        ``last``: no other will follow, so that nothing has to be summed for it.
        """
        self.normalise()
        self.read(last=last)

    def normalise(self, elsewhere: Floats | None = None) -> Floats:
        """Make the table from the sums; the totals of the rows that have entries: (rows,).

        ``elsewhere (rows,)``: what is to be added to the totals, from entries that are not here.
        """
        every = np.empty(len(self.row_lengths))
        for begin, end in consecutive_rows(self.row_ends, BLOCK):
            entries = slice(*self.row_ends[[begin, end]].tolist())
            counts = self.sums[entries]
            counts *= self.values[entries]
            totals = every[begin:end]
            np.add.reduceat(counts, self.row_ends[begin:end] - entries.start, out=totals)
            if elsewhere is not None:
                totals += elsewhere[begin:end]
            counts /= np.repeat(totals, self.row_lengths[begin:end])
        self.values, self.sums = self.sums, self.values  # they change places: new memory costs more than sums
        return every

    def read(self, *, last: bool) -> None:
        """What the table says about the output tokens, and unless this is the ``last`` time the sums that follow."""
        self.sums.fill(0)
        for chunk, numbers in self._numbered():
            self.denominators[chunk.tokens] = chunk.per_token(self.values[numbers])
            if not last:
                self._add(chunk, numbers)  # while the chunk is near the processor

    def valued(self) -> Iterator[tuple[Chunk, Floats]]:
        """The chunks with the values of their entries."""
        for chunk, numbers in self._numbered():
            yield chunk, self.values[numbers]

    def _numbered(self) -> Iterator[tuple[Chunk, Ints | slice]]:
        return zip(self.chunks(), self.numbers, strict=True)

    def _add(self, chunk: Chunk, numbers: Ints | slice) -> None:
        """Add to ``sums`` those of a chunk."""
        sums = chunk.per_entry(1 / self.denominators[chunk.tokens])
        if isinstance(numbers, slice):
            self.sums[numbers] += sums
        else:
            np.add.at(self.sums, numbers, sums)  # reads each number once, and `+=` twice

    def log_likelihood(self) -> float:
        """sum over m, t of log(sum over l of Trans(y_t | x_l) / L_m)."""
        return float(np.log(self.denominators, out=self.logarithms).sum()) - self.log_lengths

    def table(self) -> CountTable:
        entries = self.entries
        return table_of(entries.inputs, entries.outputs, self.values, self.links.pairs, null=self.links.null)


def best_positions(table: CountTable, pairs: SentencePairs) -> NDArray[np.int32]:
    """``(target tokens,)``: for each the source position of largest Trans(y_t | x_l), the first of several.

    -1 (unaligned) where the table has no entry for any of them, and where the NULL word has a larger one.
    """
    links, known = Links(pairs, null=table.null), Lookup(table, pairs)
    return best_of(links, ((chunk, known.of(chunk)) for chunk in links.chunks()))


def best_of(links: Links, valued: Iterable[tuple[Chunk, Floats]]) -> NDArray[np.int32]:
    """The best position of every output token; ``valued``: the chunks with their entries' values."""
    positions = links.lengths.astype(np.int32)
    for chunk, values in valued:
        part = chunk.per_link(values)
        tokens = chunk.link_tokens.astype(np.intp)
        best = np.full(chunk.tokens.stop - chunk.tokens.start, np.nextafter(0.0, 1.0))  # 0 wins nothing
        np.maximum.at(best, tokens, part)
        won = np.flatnonzero(part == best.take(tokens))
        np.minimum.at(positions[chunk.tokens], tokens[won], chunk.positions[won].astype(np.int32))
    # NULL comes after all words, so that it wins no tie.
    positions[positions >= links.lengths - links.null] = UNALIGNED
    return positions
