"""Forecasts read by the workers of a cluster: see `attnlab.theory.gain_shards`."""

import json
import math

import numpy as np

from attnlab.cluster.crew import Crew, WorkerDied
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.theory.gain import MOST_CELLS, Read, Watch
from attnlab.theory.gain_shards import ROWS


class ReadByCrew:
    """A reader for `attnlab.theory.forecast.forecast` whose ``crew`` (of `GainShard`) reads as much each as one process
    alone would.
    """

    def __init__(self, crew: Crew) -> None:
        self.crew, self.most_cells = crew, MOST_CELLS * crew.size

    def read(self, pairs: SentencePairs, bounds: list[int], watch: Watch) -> Read:
        """Where a worker dies, all is read again: that takes no longer than the first time."""
        crew = self.crew
        cells = np.cumsum(np.diff(pairs.source_offsets) * np.diff(pairs.target_offsets))
        shares = [round(cells[-1] * number / crew.size) for number in range(1, crew.size)]
        cuts = np.unique([0, *np.searchsorted(cells, shares, side="right").tolist(), len(pairs)]).tolist()
        crew.keep(len(cuts) - 1)
        while True:
            try:
                return self._read(pairs, bounds, cuts, watch)
            except WorkerDied:
                crew.replace()

    def _read(self, pairs: SentencePairs, bounds: list[int], cuts: list[int], watch: Watch) -> Read:
        crew = self.crew
        sizes = json.dumps([len(pairs.source_words), len(pairs.target_words)])
        for worker in range(crew.size):
            low, high = cuts[worker], cuts[worker + 1]
            sides = []
            for ids, offsets in ((pairs.source, pairs.source_offsets), (pairs.target, pairs.target_offsets)):
                sides += [
                    ids[offsets[low] : offsets[high]].tobytes(),
                    (offsets[low : high + 1] - offsets[low]).tobytes(),
                ]
            limits = json.dumps([min(max(bound, low), high) - low for bound in bounds])
            crew.call(worker, "load", *sides, sizes, limits)
        crew.answers()
        sums = [
            np.sum([np.frombuffer(part) for part in parts], axis=0) for parts in zip(*crew.ask("sums"), strict=True)
        ]
        crew.exchange("counts_out", "counts_in", crew.size)
        crew.exchange("totals_out", "totals_in")
        watch("reading the three thirds")
        made = crew.ask("read", *(part.tobytes() for part in sums))
        return _joined(made, cuts)


def _joined(made: list[tuple[list[bytes], bytes, bytes, float]], cuts: list[int]) -> Read:
    kinds = {"output": np.int64, "pair": np.int64, "partner": np.int64, "fold": np.int64}
    rows = {
        name: np.concatenate([np.frombuffer(part[0][at], kinds.get(name, np.float64)) for part in made])
        for at, name in enumerate(ROWS)
    }
    counts = [len(part[0][ROWS.index("fold")]) // 8 for part in made]
    rows["pair"] = rows["pair"] + np.repeat(cuts[:-1], counts)
    rows["partner"] = rows["partner"].reshape(-1, 2)
    gains = np.sum([np.frombuffer(part[1]) for part in made], axis=0)
    occurrences = np.sum([np.frombuffer(part[2]) for part in made], axis=0)
    return Read(rows, gains, occurrences, max(0.0, math.fsum(part[3] for part in made)))
