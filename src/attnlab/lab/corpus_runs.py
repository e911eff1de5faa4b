"""Finished runs on one corpus, by role: what experiments on real corpora ask of them, labelled texts and pairs alike.

Roles of runs: the *reference* runs' attention is alpha; *comparison* runs are the same from other seeds; *uniform* runs
have attention fixed at 1/L, and their probe is beta_uf. A field has a row for each example: a text with its label, or
an output word of a sentence.
"""

from collections.abc import Mapping, Sequence, Sized
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from attnlab.fields import ScoreField
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.measures.series import Groups, Series
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import Floats


class CorpusRuns:
    """The runs of all roles; fields are read when they are asked for and not kept: there are many.

    ``label``: what the names of the settings begin with; the role follows. What a kind of corpus has to add: `stored`,
    `lengths`, `delta`, `beta_px`, `beta_ibm`, and `groups` where examples hang together.
    """

    examples = "texts"
    """What the rows of a field are, in words."""

    def __init__(self, label: str, runs: Runs) -> None:
        self._runs, self._label = runs, label
        self._last: tuple[tuple[str, int], pa.Table] | None = None

    # --- what a kind of corpus says

    @property
    def texts(self) -> Mapping[str, Sized]:
        """The texts, or pairs, that fields are over, by split: ``valid`` and ``train``."""
        raise NotImplementedError

    def stored(self, table: pa.Table, split: str, name: str) -> ScoreField:
        """A field of a split from what an evaluation keeps; ``gamma``: the lexical probe."""
        raise NotImplementedError

    def lengths(self, split: str) -> NDArray[np.int64]:
        """(examples,): the input positions of each."""
        raise NotImplementedError

    def groups(self, split: str) -> Groups | None:  # noqa: ARG002 (texts are independent)
        """(examples,): which hang together and are drawn together; None where each stands for itself."""
        return None

    def delta(self, run: Trained, step: int, split: str) -> ScoreField:
        """Gradient influence of every position at an evaluation whose weights are kept."""
        raise NotImplementedError

    def beta_px(self, split: str) -> ScoreField:
        """The proxy's probe at its best evaluation."""
        raise NotImplementedError

    def beta_ibm(self, split: str) -> ScoreField:
        """Trans(y | x_l) from the training part's count table (P3 4.2); alpha_ibm orders positions in the same way."""
        raise NotImplementedError

    @property
    def majority(self) -> float:
        """The accuracy of always saying the commonest class, or output word, on the validation part."""
        raise NotImplementedError

    # --- runs

    def outcomes(self, role: str) -> Sequence[Outcome]:
        """The runs of a role and their seeds."""
        return self._runs[f"{self._label} {role}"]

    def of(self, role: str) -> list[Trained]:
        """The runs of a role, in the order of their seeds."""
        return [outcome.run for outcome in self.outcomes(role)]

    def seeds(self, role: str) -> list[int]:
        return [outcome.seed for outcome in self.outcomes(role)]

    def accuracy(self, role: str, metric: str = "accuracy") -> float:
        """The best accuracy of a role's runs, mean over them."""
        return float(np.mean([curve_of(run, metric).max() for run in self.of(role)]))

    # --- fields and agreements

    def kept(self, run: Trained, step: int) -> pa.Table:
        """What an evaluation kept; the table read last is not read again, as several fields follow each other."""
        assert run.run is not None
        if self._last is None or self._last[0] != (run.id, step):
            self._last = (run.id, step), run.run.fields(step)
        return self._last[1]

    def field(self, run: Trained, step: int, split: str, name: str) -> ScoreField:
        """``alpha`` or ``gamma`` at an evaluation."""
        return self.stored(self.kept(run, step), split, name)

    def alphas(self, split: str = "valid", metric: str = "accuracy") -> list[ScoreField]:
        """The reference runs' attention at their best evaluations."""
        return [self.field(run, best_step(run, metric), split, "alpha") for run in self.of("reference")]

    def follow(self, name: str, fixed: Sequence[ScoreField], role: str, field: str, *, first: bool = True) -> Series:
        """A(u, v(step)) of every field u in ``fixed`` and every run of a role, whose ``field`` is v, on the validation
        part; A(v(step), u) unless ``first``. Pairs are in the order of ``fixed``, then of the runs.
        """
        moving, groups = self.of(role), self.groups("valid")
        steps, examples = steps_of(moving[0]), len(self.lengths("valid"))
        values = np.empty((len(fixed), len(moving), len(steps), examples))
        for number, run in enumerate(moving):
            for at, step in enumerate(steps):
                v = self.field(run, step, "valid", field)
                for other, u in enumerate(fixed):
                    values[other, number, at] = (top_agreement(u, v) if first else top_agreement(v, u)).expected
        return Series(name, steps, {"expected": values.reshape(-1, len(steps), examples)}, groups)

    def pairs(self, role: str) -> list[tuple[int, int]]:
        """The seeds of every pair of a reference run and one of another role, in the order of `follow`."""
        return [(one, other) for one in self.seeds("reference") for other in self.seeds(role)]

    def rows(self, series: Series, role: str) -> list[dict[str, Any]]:
        """The curve of every such pair as rows of a table."""
        return series.rows(series.name, [f"{one}, {other}" for one, other in self.pairs(role)])

    def chances(self, split: str = "valid") -> Floats:
        """The exact chance level of A in every example: (examples,)."""
        return random_baseline(self.lengths(split))

    @property
    def chance(self) -> float:
        """Its mean over the validation part."""
        return float(self.chances().mean())


def steps_of(run: Trained) -> tuple[int, ...]:
    """The steps of a run's evaluations."""
    return tuple(int(row["step"]) for row in run.rows)


def best_step(run: Trained, metric: str = "accuracy") -> int:
    """The first evaluation of highest validation accuracy: where a reference run's attention is alpha."""
    return int(max(run.rows, key=lambda row: row[metric])["step"])


def curve_of(run: Trained, metric: str = "accuracy") -> Floats:
    """A metric at every evaluation: (steps,)."""
    return np.array([row[metric] for row in run.rows], dtype=np.float64)
