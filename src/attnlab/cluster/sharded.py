"""Word alignment of a corpus that is spread over workers: see `attnlab.theory.shards`. The driver holds the words,
and of the table no more than a part at a time.

Where a worker dies its sentences are read again by another, and all begin again what they had done: nothing is copied
for this, the work is minutes long, and the same sums in the same order give the same table.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from attnlab.cluster.crew import Crew, RayCrew, WorkerDied
from attnlab.data.conventions import Conventions
from attnlab.data.many_files import Block, blocks
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.files import sha256
from attnlab.theory.aligner import Watch
from attnlab.theory.counts import NULL, CountTable, translated
from attnlab.theory.ibm1 import check_training
from attnlab.theory.lexicon import Lexicon
from attnlab.theory.shards import Shard
from attnlab.theory.symmetrise import check_direction

PARTS = 4
"""Parts for each worker in which a table comes to the driver, to be written."""
Made = TypeVar("Made")


@dataclass
class _Words:
    """One side's words: all of them, and for each worker which of them its own are and how many tokens they have."""

    words: list[str] = field(default_factory=list)
    ids: list[NDArray[np.int64]] = field(default_factory=list)
    counts: list[NDArray[np.int64]] = field(default_factory=list)

    @classmethod
    def of(cls, parts: Sequence[tuple[bytes, bytes]]) -> "_Words":
        numbers: dict[str, int] = {}
        made = cls()
        for joined, counts in parts:
            words = joined.decode().split("\n") if joined else []
            ids = np.fromiter((numbers.setdefault(word, len(numbers)) for word in words), np.int64, len(words))
            made.ids.append(ids)
            made.counts.append(np.frombuffer(counts, np.int64))
        made.words = list(numbers)
        return made

    def owners(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Of each word the worker that has most of its tokens, the first of several, and whether others have it too."""
        most, owner = np.zeros(len(self.words), np.int64), np.zeros(len(self.words), np.int32)
        having = np.zeros(len(self.words), np.int32)
        for worker, (ids, counts) in enumerate(zip(self.ids, self.counts, strict=True)):
            more = counts > most[ids]
            most[ids[more]], owner[ids[more]] = counts[more], worker
            having[ids] += 1
        return owner, having > 1


class ShardedCorpus:
    """Sentence pairs that the workers of ``crew`` (`attnlab.theory.shards.Shard`) hold between them.

    ``blocks``: gives all of them, each time it is called: a worker that takes a dead one's place needs its part again.
    """

    def __init__(self, crew: Crew, blocks: Callable[[], Iterable[Block]]) -> None:
        self.crew, self.blocks, self.shares = crew, blocks, crew.size
        self._past: list[Callable[[], object]] = []  # what was done in the workers, in order
        self._empty = set(range(crew.size))  # workers that have no sentences yet
        self._digests: dict[int, str] = {}
        parts = self._safely(self._fill)
        filled = [number for number, part in enumerate(parts) if part[0]]  # some have words, some empty lines alone
        if not filled:
            raise UsageError("There is no sentence pair with words on both sides.")
        while parts[-1][4] == 0:  # so many workers were not needed
            parts.pop()
        crew.keep(len(parts))
        self.source, self.target = (_Words.of([part[at : at + 2] for part in parts]) for at in (0, 2))
        before = np.cumsum([0, *(part[4] for part in parts)])
        self.pairs = int(before[-1])
        self.empty = [
            int(number + first) + 1
            for part, first in zip(parts, before[:-1], strict=True)
            for number in np.frombuffer(part[5], np.int64)
        ]
        self.first = filled[0]

    # --- workers that die

    def _safely(self, work: Callable[[], Made]) -> Made:
        """What ``work`` gives. Where a worker dies meanwhile, all that was done is done again, and then ``work``."""
        died = False
        while True:
            try:
                if died:
                    self._empty.update(self.crew.replace())
                    if self._digests:  # else this is the first time, and is done again as it is
                        self._fill()
                    for done in self._past:
                        done()
                return work()
            except WorkerDied:
                died = True

    def _lasting(self, work: Callable[[], Made]) -> Made:
        """The same for ``work`` that leaves something in the workers."""
        made = self._safely(work)
        self._past.append(work)
        return made

    def _fill(self) -> list[tuple[Any, ...]]:
        """Give the workers that have none their sentences; what each of them says of its words."""
        crew, wanted, reached = self.crew, sorted(self._empty), 0
        for number in wanted:
            crew.call(number, "clear")
        for block in self.blocks() if wanted else ():
            # Consecutive lines stay together: parts of a corpus that have words of their own then have one owner.
            reached = max(reached, min(int(block.place * self.shares), self.shares - 1))
            if reached > wanted[-1]:
                break
            if reached in self._empty:
                crew.call(reached, "add", block.source, block.target, block.where, block.first)
        if wrong := [sentence for sentence in crew.answers() if sentence]:
            raise UsageError(wrong[0])
        for number in wanted:
            crew.call(number, "words")
        parts: list[tuple[Any, ...]] = crew.answers()
        for number, part in zip(wanted, parts, strict=True):
            digest = sha256(b" ".join(one if isinstance(one, bytes) else b"%d" % one for one in part))
            if self._digests.setdefault(number, digest) != digest:
                raise UsageError("The sentences have changed since they were first read; call again.")
        self._empty.clear()
        return parts

    # --- training

    def begin(self, direction: str, null: bool) -> float:
        """Count in all workers; how many output tokens there are."""
        inputs, outputs = (self.source, self.target) if direction == "forward" else (self.target, self.source)
        owner, shared = inputs.owners()
        sizes = f"{len(inputs.words)} {len(outputs.words)}"
        each = [
            [ids.tobytes(), owner[ids].tobytes(), shared[ids].tobytes(), others.tobytes(), sizes]
            for ids, others in zip(inputs.ids, outputs.ids, strict=True)
        ]
        null_owner = self.first if null else -1
        tokens = self.crew.ask("begin", direction, each=[[*values, null_owner] for values in each])
        self.crew.exchange("keys_out", "keys_in", self.crew.size)
        return float(sum(tokens))

    def train(
        self, direction: str, *, iterations: int, null: bool, tolerance: float | None, keep: bool, watch: Watch | None
    ) -> tuple[tuple[float, ...], bool]:
        """IBM Model 1 in one direction: the log-likelihoods, and whether the tolerance ended it."""
        crew, said = self.crew, 0
        outputs = self.target if direction == "forward" else self.source

        def work() -> tuple[tuple[float, ...], bool]:
            nonlocal said
            tokens = self.begin(direction, null)
            history, converged = [-tokens * math.log(len(outputs.words))], False
            while len(history) <= iterations and not converged:
                crew.exchange("sums_out", "sums_in")
                crew.exchange("values_out", "values_in")
                history.append(math.fsum(crew.ask("read", int(len(history) == iterations))))
                if watch and len(history) - 1 > said:  # an iteration that is done again is not said again
                    said = len(history) - 1
                    watch(direction, said, history[-1])
                converged = tolerance is not None and history[-1] - history[-2] <= tolerance * abs(history[-2])
            crew.ask("end", int(keep))
            return tuple(history), converged

        return self._lasting(work)

    def count(self, direction: str = "forward", null: bool = False) -> None:
        """Make the count table C, each worker the rows of its own words."""

        def work() -> None:
            self.begin(direction, null)
            self.crew.exchange("sums_out", "gather")
            self.crew.ask("end", 1, 1)

        self._lasting(work)

    # --- results

    def lines(self, direction: str) -> list[tuple[bytes, int]]:
        """Of each worker the links of its sentences, and how many there are."""
        return self._safely(lambda: self.crew.ask("lines", direction))

    def parts(self, directions: Sequence[str], null: bool) -> Iterator[pa.Table]:
        """All rows, in the order of a lexical table's file, some source words at a time."""
        most = len(self.source.words) + 1  # NULL is after the words
        step = max(1, -(-most // (PARTS * self.crew.size)))
        for low in range(0, most, step):
            made = self._rows(directions, low, min(low + step, most))
            if made:
                yield self._lexicon(made, null).rows()

    def _rows(self, directions: Sequence[str], low: int, high: int) -> dict[str, list[tuple[bytes, bytes, bytes]]]:
        """Of each direction the rows that there are of these source words; none at all if there are none."""
        made = self._safely(lambda: {name: self.crew.ask("rows", name, low, high) for name in directions})
        return made if any(part[0] for parts in made.values() for part in parts) else {}

    def known(self, pairs: SentencePairs, directions: Sequence[str], null: bool) -> Lexicon:
        """The tables' entries between words of ``pairs``, which are few: a gold standard's."""
        sides = []
        for own, all_words in ((pairs.source_words, self.source.words), (pairs.target_words, self.target.words)):
            ids = translated(own, all_words)
            sides.append(np.sort(np.append(ids[ids >= 0], len(all_words))).tobytes())  # NULL is after the words
        wanted = {name: sides if name == "forward" else sides[::-1] for name in directions}
        parts = self._safely(lambda: {name: self.crew.ask("rows_of", name, *ids) for name, ids in wanted.items()})
        return self._lexicon(parts, null)

    def _lexicon(self, parts: dict[str, list[tuple[bytes, bytes, bytes]]], null: bool) -> Lexicon:
        made: dict[str, CountTable | None] = {"forward": None, "reverse": None}
        for name, rows in parts.items():
            inputs, outputs = (self.source, self.target) if name == "forward" else (self.target, self.source)
            kinds = (np.int32, np.int32, np.float64)
            columns = [np.concatenate([np.frombuffer(row[at], kind) for row in rows]) for at, kind in enumerate(kinds)]
            order = np.lexsort((columns[1], columns[0]))
            words = [*inputs.words, NULL] if null else inputs.words
            made[name] = CountTable(columns[0][order], columns[1][order], columns[2][order], words, outputs.words)
        return Lexicon(made["forward"], made["reverse"])


@dataclass(frozen=True)
class ShardedAlignment:
    """What came of it: the lines of links and how many links, the log-likelihoods by direction, the corpus."""

    corpus: ShardedCorpus
    links: int
    models: dict[str, tuple[tuple[float, ...], bool]]
    lines: list[bytes]


def align_sharded(
    corpus: ShardedCorpus,
    *,
    direction: str = "grow-diag-final-and",
    iterations: int = 5,
    null: bool = True,
    tolerance: float | None = None,
    keep: bool = False,
    watch: Watch | None = None,
) -> ShardedAlignment:
    """As `attnlab.theory.aligner.align`. ``keep``: the workers keep the tables, to be read part by part."""
    chosen = check_direction(direction)
    check_training(iterations, tolerance)
    names = [chosen] if chosen in ("forward", "reverse") else ["forward", "reverse"]
    how: dict[str, Any] = {"iterations": iterations, "null": null, "tolerance": tolerance, "keep": keep, "watch": watch}
    models = {name: corpus.train(name, **how) for name in names}
    made = corpus.lines(chosen)
    return ShardedAlignment(corpus, sum(links for _, links in made), models, [lines for lines, _ in made])


@contextmanager
def on_ray(
    files: Sequence[tuple[Path, Path]] | Sequence[Path],
    rules: Sequence[Conventions | None] = (None, None),
    address: str | None = None,
    workers: int | None = None,
) -> Iterator[ShardedCorpus]:
    """The sentence pairs of these files, on so many workers of a cluster (None: as there is room for)."""
    with RayCrew(Shard, workers, address) as crew:
        yield ShardedCorpus(crew, lambda: blocks(files, rules))
