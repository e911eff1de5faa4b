"""Agreement over training: A(u, v) of pairs of runs, evaluation by evaluation and text by text. (P3 3.1, A.7)

The paper reports the largest agreement over evaluations, so every pair of runs has a best evaluation of its own. Of
translations every output word is a row of its own, where a text with a label is one; the words of a sentence are drawn
together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnlab.fields import ScoreField
from attnlab.measures.agreement import top_agreement
from attnlab.measures.checkpoints import best_checkpoint
from attnlab.measures.tau import kendall_tau
from attnlab.stats.bootstrap import Floats, divided, interval_over_examples, interval_over_seeds

Groups: TypeAlias = NDArray[np.int64]
MEASURES = ("expected", "released", "tau")
"""A with ties broken at random, A by the released code's rule, Kendall's tau-b."""


@dataclass(frozen=True, eq=False)
class Series:
    """One agreement such as A(alpha, beta_uf): ``values[measure]`` (pairs of runs, steps, texts).

    ``steps``: the evaluations of the run that is followed; a single -1 where nothing is. ``groups`` (texts,): which
    rows are drawn together, such as the output words of one sentence; None where each is a text of its own.
    """

    name: str
    steps: tuple[int, ...]
    values: dict[str, Floats]
    groups: Groups | None = None

    @classmethod
    def stacked(
        cls,
        name: str,
        pairs: Sequence[Sequence[dict[str, Floats]]],
        steps: Sequence[int],
        groups: Groups | None = None,
    ) -> "Series":
        """From the measures, as `compared` gives them, of every pair at every step."""
        followed = tuple(steps) if len(pairs[0]) > 1 else (-1,)
        values = {m: np.array([[at[m] for at in pair] for pair in pairs]) for m in MEASURES}
        return cls(name, followed, values, groups)

    def curve(self, measure: str = "expected") -> Floats:
        """Mean over texts: (pairs, steps)."""
        return np.asarray(np.nanmean(self.values[measure], axis=2))

    def best(self, measure: str = "expected") -> list[int]:
        """Which evaluation is each pair's best: the paper reports the largest agreement over evaluations (A.7)."""
        return [int(step) for step in self.curve(measure).argmax(axis=1)]

    def at_best(self, measure: str = "expected") -> Floats:
        """Each text's value at the pair's best evaluation, mean over pairs: (texts,)."""
        values = self.values[measure]
        return mean_over_pairs(values[np.arange(len(values)), self.best(measure)])

    def value(self, measure: str = "expected") -> float:
        """The paper's figure: the largest over evaluations, mean over pairs."""
        return float(np.nanmean(self.at_best(measure)))

    def interval(self, measure: str = "expected") -> tuple[float, float] | None:
        """The 95 % interval of that figure over examples; None for a single one."""
        interval = interval_over_examples(self.at_best(measure), groups=self.groups)
        return None if interval is None else (interval.low, interval.high)

    def seed_interval(self, measure: str = "expected") -> tuple[float, float] | None:
        """The same over the pairs of runs; None for a single one."""
        interval = interval_over_seeds(self.curve(measure).max(axis=1))
        return None if interval is None else (interval.low, interval.high)

    def held_out(self, measure: str = "expected") -> float:
        """The figure where the evaluation was chosen on other texts, mean over pairs."""
        if len(self.steps) == 1:
            return self.value(measure)
        read = [best_checkpoint(values, groups=self.groups).held_out for values in self.values[measure]]
        return float(np.mean(read))

    def rows(self, what: str, seeds: Sequence[str]) -> list[dict[str, Any]]:
        """The curve as rows of a table; ``seeds`` names each pair of runs."""
        return [
            {"what": what, "seeds": pair, "step": step, "value": float(value)}
            for pair, curve in zip(seeds, self.curve(), strict=True)
            for step, value in zip(self.steps, curve, strict=True)
        ]


def compared(u: ScoreField, v: ScoreField) -> dict[str, Floats]:
    """All measures of A(u, v), text by text: (texts,) each."""
    top = top_agreement(u, v)
    return {"expected": top.expected, "released": top.released, "tau": kendall_tau(u, v)}


def mean_over_pairs(values: Floats) -> Floats:
    """``(pairs, ...)`` to (...): the mean of what is defined, NaN where nothing is."""
    defined = ~np.isnan(values)
    return divided(np.where(defined, values, 0).sum(0), defined.sum(0))
