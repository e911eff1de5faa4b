"""All agreements of P3's Table 1 on one corpus, text by text, for every pair of runs and every evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attnlab.experiments.texts.text_runs import Floats, TextRuns
from attnlab.fields import ScoreField
from attnlab.measures.agreement import top_agreement
from attnlab.measures.checkpoints import best_checkpoint
from attnlab.measures.tau import kendall_tau
from attnlab.probes.influence import influence
from attnlab.stats.bootstrap import Interval, interval_over_examples, interval_over_seeds

MEASURES = ("expected", "released", "tau")
"""A with ties broken at random, A by the released code's rule, Kendall's tau-b."""


@dataclass(frozen=True, eq=False)
class Series:
    """One agreement such as A(alpha, beta_uf): ``values[measure]`` (pairs of runs, steps, texts).

    ``steps``: the evaluations of the run that is followed; a single -1 where nothing is.
    """

    name: str
    steps: tuple[int, ...]
    values: dict[str, Floats]

    def curve(self, measure: str = "expected") -> Floats:
        """Mean over texts: (pairs, steps)."""
        curve: Floats = np.nanmean(self.values[measure], axis=2)
        return curve

    def best(self, measure: str = "expected") -> list[int]:
        """Which evaluation is each pair's best: the paper reports the largest agreement over evaluations (A.7)."""
        return [int(step) for step in self.curve(measure).argmax(axis=1)]

    def at_best(self, measure: str = "expected") -> Floats:
        """Each text's value at the pair's best evaluation, mean over pairs: (texts,)."""
        values = self.values[measure]
        chosen = values[np.arange(len(values)), self.best(measure)]
        return mean_over_pairs(chosen)

    def value(self, measure: str = "expected") -> float:
        """The paper's figure: the largest over evaluations, mean over pairs."""
        return float(np.nanmean(self.at_best(measure)))

    def interval(self, measure: str = "expected") -> Interval | None:
        """Of that figure, over examples."""
        return interval_over_examples(self.at_best(measure))

    def seed_interval(self, measure: str = "expected") -> Interval | None:
        """Of that figure, over the pairs of runs; None for a single one."""
        return interval_over_seeds(self.curve(measure).max(axis=1))

    def held_out(self, measure: str = "expected") -> float:
        """The figure where the evaluation was chosen on other texts, mean over pairs."""
        if len(self.steps) == 1:
            return self.value(measure)
        return float(np.mean([best_checkpoint(values).held_out for values in self.values[measure]]))


@dataclass(frozen=True, eq=False)
class Agreements:
    """Everything that Table 1 has, over the texts of one split.

    ``chance`` (texts,): A's exact chance level. ``accuracy`` (comparison runs, steps): their performance.
    """

    split: str
    series: dict[str, Series]
    chance: Floats
    accuracy: Floats

    @cached_property
    def seeds_agree(self) -> dict[str, Floats]:
        """A(alpha, alpha(step)), mean over references: for each measure (comparison runs, steps)."""
        series = self.series["alpha, alpha(step)"]
        runs = len(self.accuracy)
        return {m: series.curve(m).reshape(-1, runs, len(series.steps)).mean(axis=0) for m in MEASURES}

    def followed(self, measure: str) -> Floats:
        """A(alpha, alpha(step)) text by text, mean over all pairs of runs: (steps, texts)."""
        return mean_over_pairs(self.series["alpha, alpha(step)"].values[measure])


def measure(runs: TextRuns, split: str) -> Agreements:
    """Read the fields of all runs and compare them."""
    references, uniforms, comparisons = (runs.of(role) for role in ("reference", "uniform", "comparison"))
    texts = runs.texts[split]
    alphas = [runs.field(run, runs.best_step(run), split, "alpha") for run in references]
    deltas = [influence(runs.model(run), texts) for run in references]
    against = [ScoreField(-delta.values, delta.offsets) for delta in deltas]
    px, ibm = runs.beta_px(split), runs.beta_ibm(split)
    steps = tuple(runs.steps(uniforms[0]))
    found: dict[str, list[list[dict[str, Floats]]]] = {}  # by name: pairs, steps, measures of all texts

    def note(name: str, pair: int, u: ScoreField, v: ScoreField) -> None:
        pairs = found.setdefault(name, [])
        while len(pairs) <= pair:
            pairs.append([])
        pairs[pair].append(compared(u, v))

    for number, run in enumerate(uniforms):
        for step in steps:
            beta_uf = runs.field(run, step, split, "gamma")
            for other in range(len(references)):
                pair = other * len(uniforms) + number
                note("alpha, beta_uf", pair, alphas[other], beta_uf)
                note("delta, beta_uf", pair, deltas[other], beta_uf)
                note("-delta, beta_uf", pair, against[other], beta_uf)
            note("beta_uf, beta_px", number, beta_uf, px)
            note("beta_px, beta_uf", number, px, beta_uf)
            note("beta_uf, beta_ibm", number, beta_uf, ibm)
    for number, run in enumerate(comparisons):
        for step in steps:
            alpha, beta = (runs.field(run, step, split, name) for name in ("alpha", "gamma"))
            for other in range(len(references)):
                pair = other * len(comparisons) + number
                note("alpha, beta", pair, alphas[other], beta)
                note("alpha, alpha(step)", pair, alphas[other], alpha)
    for other, alpha in enumerate(alphas):
        note("alpha, alpha_ibm", other, alpha, ibm)
    note("beta_px, beta_ibm", 0, px, ibm)
    performance = "accuracy" if split == "valid" else "train_accuracy"
    return Agreements(
        split,
        {name: stacked(name, pairs, steps) for name, pairs in found.items()},
        runs.chance(split),
        np.stack([runs.curve(run, performance) for run in comparisons]),
    )


def mean_over_pairs(values: Floats) -> Floats:
    """``(pairs, ...)`` to (...): the mean of what is defined, NaN where nothing is."""
    defined = ~np.isnan(values)
    mean: Floats = np.full(values.shape[1:], np.nan)
    np.divide(np.where(defined, values, 0).sum(0), defined.sum(0), out=mean, where=defined.any(axis=0))
    return mean


def compared(u: ScoreField, v: ScoreField) -> dict[str, Floats]:
    """All measures of A(u, v), text by text."""
    top = top_agreement(u, v)
    return {"expected": top.expected, "released": top.released, "tau": kendall_tau(u, v)}


def stacked(name: str, pairs: Sequence[Sequence[dict[str, Floats]]], steps: tuple[int, ...]) -> Series:
    """The measures of all pairs and steps side by side."""
    followed = steps if len(pairs[0]) > 1 else (-1,)
    values = {m: np.array([[at[m] for at in pair] for pair in pairs]) for m in MEASURES}
    return Series(name, followed, values)
