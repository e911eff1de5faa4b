"""One variant of a corpus, tried: what its texts say beforehand, and what its runs show."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attnlab.experiments.forecast_text.common_words import common_share, common_words
from attnlab.experiments.forecast_text.text_measures import Measured, measure_texts
from attnlab.experiments.forecast_text.text_variants import ROLES, Variant, pairs_in
from attnlab.experiments.texts.classification import corpus_of
from attnlab.experiments.texts.text_agreement import Series, compared, stacked
from attnlab.experiments.texts.text_runs import Floats, TextRuns
from attnlab.families.texts.problem import evaluated
from attnlab.lab.experiment import Order
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.runs.loop import Trained
from attnlab.theory.forecast import Verdict, verdict_of


@dataclass(frozen=True, eq=False)
class Tried:
    """One variant of a corpus: what its texts said, pair by pair, and how its runs ended.

    ``series``: A(alpha, beta(step)) on the validation texts. ``last`` (pairs, texts): the same with both networks as
    they ended. ``chance`` (texts,). ``wrong`` (pairs,): the share of training labels that are not the true ones.
    ``runs``: (reference, comparison) of each pair. ``common``: how often the largest alpha and the largest beta are at
    common words, where A is read, mean over pairs; and how many of all words are common.
    """

    corpus: str
    variant: Variant
    measured: tuple[Measured, ...]
    series: Series
    last: Floats
    chance: Floats
    wrong: tuple[float, ...]
    runs: tuple[tuple[Trained, Trained], ...]
    common: tuple[float, float, float]

    @property
    def excess(self) -> Floats:
        """A at each pair's best evaluation less chance, mean over pairs: (texts,)."""
        excess: Floats = self.series.at_best() - self.chance
        return excess

    @property
    def outcomes(self) -> dict[str, float]:
        """The agreement above chance by which evaluation it is read at.

        Where labels are shuffled, validation accuracy is a poor guide to the evaluation alpha is read at: with nothing
        to learn it may choose the untrained network.
        """
        return {"best": float(self.excess.mean()), "last": float((self.last - self.chance).mean())}

    @property
    def verdict(self) -> Verdict:
        """The forecast's, from its interval; of several shufflings, from the mean ends of theirs."""
        return verdict_of(self.gain_interval)

    @property
    def gain_interval(self) -> tuple[float, float]:
        low, high = np.mean([told.forecast.interval for told in self.measured], axis=0)
        return float(low), float(high)

    def value(self, measure: str) -> float:
        """A measure of the texts, mean over the pairs' shufflings."""
        return float(np.mean([told.values[measure] for told in self.measured]))


def try_variant(corpus: str, variant: Variant, order: Order, done: Mapping[str, Trained]) -> Tried:
    """Measure the texts, and read the runs' fields."""
    fields = TextRuns(Order(order.preset, row=corpus), done)
    truth = corpus_of(corpus).train.labels
    measured: list[Measured] = []
    runs, curves, wrong, last, common = [], [], [], [], []
    for pair in pairs_in(order):
        altered = variant.task(corpus, pair).build()
        # Where nothing is shuffled all pairs have the same texts and labels.
        measured.append(measured[0] if measured and not variant.shuffled else measure_texts(altered))
        wrong.append(float((altered.train.labels != truth).double().mean()))
        reference, comparison = (done[variant.job(corpus, role, pair, order.preset).spec.id] for role in ROLES)
        alpha = fields.field(reference, fields.best_step(reference), "valid", "alpha")
        steps = tuple(fields.steps(comparison))
        curves.append([compared(alpha, fields.field(comparison, step, "valid", "gamma")) for step in steps])
        ended = fields.field(reference, steps[-1], "valid", "alpha")
        last.append(top_agreement(ended, fields.field(comparison, steps[-1], "valid", "gamma")).expected)
        runs.append((reference, comparison))
        texts = evaluated(altered, len(alpha))["valid"]
        best = max(range(len(steps)), key=lambda place: curves[-1][place]["expected"].mean())
        beta = fields.field(comparison, steps[best], "valid", "gamma")
        these = common_words(altered.train, len(altered.words))
        shares = [common_share(field, texts, these) for field in (alpha, beta)]
        common.append((*shares, float(these[texts.words.numpy()].mean())))
    series, chance = stacked("alpha, beta", curves, steps), random_baseline(alpha.lengths)
    alpha_common, beta_common, all_common = np.mean(common, axis=0).tolist()
    return Tried(
        corpus,
        variant,
        tuple(measured),
        series,
        np.stack(last),
        chance,
        tuple(wrong),
        tuple(runs),
        (alpha_common, beta_common, all_common),
    )
