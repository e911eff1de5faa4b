"""Sample complexity on real data (P2 abstract, 6): noisy digits, and texts as fixed word vectors.

P2's self-attention with its two-layer read-out against its two-layer baseline, and against mean pooling, which is ours.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from os import environ
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from attnlab.data.corpora import KNOWN
from attnlab.data.vectors import vector_files
from attnlab.experiments.sample_complexity.experiment import error_curves
from attnlab.experiments.teacher.cells import Cell, CellExperiment, Curve, compare
from attnlab.families.teacher.spec import DigitsSpec, StudentSpec, WordVectorsSpec
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Figures, Table, claim
from attnlab.lab.rules import missing
from attnlab.records import Spec
from attnlab.stats.bootstrap import bootstrap_interval

# --- settings

SIZES: dict[Preset, tuple[int, ...]] = {
    "quick": (100, 400),
    "reduced": (50, 100, 200, 400, 800, 1600),
    "paper": (50, 100, 200, 400, 800, 1600),
}
DIGITS = "noisy digits"
TEXTS = {"SST": "sst", "IMDB": "imdb", "SMS": "sms"}
LEAST = 10
"""Subsamples from which on the claim is decided."""
STUDENTS = {
    "baseline": StudentSpec(network="baseline", hidden=20),
    "self-attention": StudentSpec(network="attention", hidden=20, query_size=8, value_size=8),
    "mean pooling": StudentSpec(network="attention", hidden=20, value_size=8, attention="uniform", readout="pooled"),
}
RATE, BATCH = 0.003, 32


def digits_task(samples: int, problems: int) -> Spec:
    """Noisy digits."""
    from attnlab.families.teacher.digits import digits

    return DigitsSpec(content=digits().content, samples=samples, problems=problems, tests=500)


def text_task(corpus: str, samples: int, problems: int) -> Spec:
    """Texts of a corpus."""
    from attnlab.families.teacher.word_vectors import corpus_of

    return WordVectorsSpec(
        corpus=corpus, content=corpus_of(corpus).content, samples=samples, problems=problems, tests=500
    )


def tasks(preset: Preset) -> dict[str, Callable[[int, int], Spec]]:
    """Those whose files are there; `quick` has the digits and the smallest corpus."""
    builders: dict[str, Callable[[int, int], Spec]] = {DIGITS: digits_task}
    root = environ.get("ATTNLAB_DATA")
    if root and Path(root).is_dir() and vector_files(Path(root)):
        for name, corpus in TEXTS.items():
            if KNOWN[corpus].find(Path(root)) is not None and (preset != "quick" or name == "SMS"):
                builders[name] = partial(text_task, corpus)
    return builders


class SampleComplexityReal(CellExperiment):
    """Share of wrong answers against n on noisy digits and texts."""

    name = "sample-complexity-real"
    title = "How many samples attention saves on real data"
    source = "P2 abstract, 6"
    problems: ClassVar[dict[Preset, int]] = {"quick": 3, "reduced": 10, "paper": 10}
    steps: ClassVar[dict[Preset, int]] = {"quick": 200, "reduced": 600, "paper": 600}

    def cells_at(self, preset: Preset) -> list[Cell]:
        return [
            Cell(task, student, n, make, model, rate=RATE, batch=BATCH)
            for task, make in tasks(preset).items()
            for student, model in STUDENTS.items()
            for n in SIZES[preset]
        ]

    # --- rules

    @claim("attention-fewer-samples-real", reads=("errors",))
    def attention_needs_fewer(self) -> Iterator[Part]:
        """The effect is log2 of the ratio of samples needed."""
        for task in (DIGITS, *TEXTS):
            without, attention = (self.recorded().get((task, one, ())) for one in ("baseline", "self-attention"))
            if without is None or attention is None:
                yield missing(task, "subsamples", "Its files were not there.")
                continue
            level = max(last_mean(without), last_mean(attention))
            yield compare(task, without, attention, level, least=LEAST)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "crossing": self.crossings(),
            "means": [row for curve in self.curves.values() for row in curve.mean_rows()],
        }

    def crossings(self) -> list[dict[str, Any]]:
        """From which n on self-attention makes fewer mistakes than another student, by the difference's interval."""
        table = []
        for task in dict.fromkeys(curve.task for curve in self.curves.values()):
            attention = self.curves[task, "self-attention", ()]
            for other in ("mean pooling", "baseline"):
                better = []
                for n, errors in sorted(attention.errors.items()):
                    gains = np.subtract(self.curves[task, other, ()].errors[n], errors)
                    interval = bootstrap_interval(gains)
                    better.append((n, interval is not None and interval[0] > 0, float(gains.mean())))
                last_worse = max((place for place, row in enumerate(better) if not row[1]), default=-1)
                start = better[last_worse + 1][0] if last_worse + 1 < len(better) else None
                table.append({"task": task, "against": other, "better_from": start, "gain_at_largest": better[-1][2]})
        return table

    def figures(self) -> Figures:
        return {"errors": error_curves([row for curve in self.curves.values() for row in curve.mean_rows()])}

    def notes(self) -> list[str]:
        preset = self.order.preset
        gone = [task for task in TEXTS if task not in {curve.task for curve in self.curves.values()}]
        return [
            "The task of noisy digits, sizes and training are ours: P2's experiments could not be had. The preset "
            "paper is therefore the same as reduced.",
            "A fifth of every subsample chooses the step at which a student is tested; it counts among the n. All "
            "subsamples of a data set are tested on the same 500 examples.",
            "Mean pooling (uniform weights, pooled read-out) is ours.",
            f"{preset}: {self.problems[preset]} subsamples, {self.steps[preset]} updates of Adam at {RATE} with "
            f"batches of {BATCH}.",
            *([f"Left out: {', '.join(gone)}."] if gone else []),
        ]


def last_mean(curve: Curve) -> float:
    """The mean error at the largest n."""
    return float(np.mean(curve.errors[max(curve.errors)]))
