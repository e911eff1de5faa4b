"""All agreements of P3's Table 1 on one corpus, example by example, for every pair of runs and every evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from attnlab.fields import ScoreField
from attnlab.lab.corpus_runs import CorpusRuns, best_step, curve_of, steps_of
from attnlab.lab.experiment import Table
from attnlab.lab.rules import Estimate, estimate_row, over_examples
from attnlab.measures.series import Series, compared, mean_over_pairs
from attnlab.measures.xi import XiInterval, drawn_texts, xi_interval
from attnlab.stats.bootstrap import Floats, interval_over_seeds, means_of_drawn, percentiles
from attnlab.stats.ranks import spearman

COLUMNS = ("alpha, beta_uf", "beta_uf, beta_px", "delta, beta_uf", "alpha, beta")
"""The agreements that are the table's columns, each beside its xi."""
SEEDS_AGREE = "alpha, alpha(step)"
"""The agreement that xi is read off: a reference run's attention with a comparison run's."""


SHAPED = "A(alpha, beta) - A(alpha, beta_uf)"
RISES = "A(alpha, alpha(step)) and accuracy"
"""What learned attention adds to the agreement of uniform training; and what rises together, if the paper is right."""


@dataclass(frozen=True, eq=False)
class Agreements:
    """Everything that Table 1 has, over the texts of one split.

    ``chance`` (texts,): A's exact chance level. ``accuracy`` (comparison runs, steps): their performance.
    """

    split: str
    series: dict[str, Series]
    chance: Floats
    accuracy: Floats

    def seeds_agree(self, measure: str = "expected") -> Floats:
        """A(alpha, alpha(step)), mean over texts and references: (comparison runs, steps)."""
        series, runs = self.series[SEEDS_AGREE], len(self.accuracy)
        return np.asarray(series.curve(measure).reshape(-1, runs, len(series.steps)).mean(axis=0))

    def followed(self, measure: str = "expected") -> Floats:
        """A(alpha, alpha(step)) text by text, mean over all pairs of runs: (steps, texts)."""
        return mean_over_pairs(self.series[SEEDS_AGREE].values[measure])

    def rises_together(self) -> tuple[list[float], tuple[float, float] | None]:
        """Spearman's correlation of A(alpha, alpha(step)) and accuracy up to a comparison run's best evaluation.

        Of each run that has three evaluations up to there and a correlation; and the interval of their mean: over runs,
        or over examples where there is one run. None where there is one text, too.
        """
        values: list[float] = []
        for agree, accuracy in zip(self.seeds_agree(), self.accuracy, strict=True):
            upto = int(accuracy.argmax()) + 1
            if upto >= 3:
                values.append(float(spearmanr(agree[:upto], accuracy[:upto]).statistic))
        known = [value for value in values if np.isfinite(value)]
        if not known:
            return known, None
        if len(self.accuracy) > 1:
            interval = interval_over_seeds(known)
            return known, None if interval is None else (interval.low, interval.high)
        followed, (accuracy,) = self.followed(), self.accuracy
        texts, upto = followed.shape[1], int(accuracy.argmax()) + 1
        if texts == 1:
            return known, None
        drawn = drawn_texts(texts, "rises together", self.series[SEEDS_AGREE].groups)
        curves = means_of_drawn(followed[:upto], drawn)  # (resamples, steps)
        correlations = spearman(curves, np.broadcast_to(accuracy[:upto], curves.shape))
        return known, percentiles(np.nan_to_num(correlations))  # a constant curve does not rise

    def xi(self, name: str, measure: str, best: float) -> XiInterval:
        """An agreement read as performance; ``best``: xi*, which an agreement never exceeded is read as."""
        return xi_interval(
            self.series[SEEDS_AGREE].steps,
            self.seeds_agree(measure),
            self.accuracy,
            self.series[name].at_best(measure),
            self.followed(measure),
            best=best,
            name=name,
            groups=self.series[name].groups,
        )


def compare_runs(runs: CorpusRuns, split: str, metric: str = "accuracy") -> Agreements:
    """Read the fields of all runs and compare them; each field is read once, since they are large.

    ``metric``: what a reference run's best evaluation is chosen by, and what counts as performance.
    """
    references, uniforms, comparisons = (runs.of(role) for role in ("reference", "uniform", "comparison"))
    alphas, groups = runs.alphas(split, metric), runs.groups(split)
    deltas = [runs.delta(run, best_step(run, metric), split) for run in references]
    # The released code turns the sign of delta round.
    turned = [ScoreField(-delta.values, delta.offsets) for delta in deltas]
    px, ibm = runs.beta_px(split), runs.beta_ibm(split)
    steps = steps_of(uniforms[0])
    values: dict[str, dict[int, list[dict[str, Floats]]]] = {}  # by name, pair of runs, step

    def compare(name: str, pair: int, u: ScoreField, v: ScoreField) -> None:
        values.setdefault(name, {}).setdefault(pair, []).append(compared(u, v))

    for number, run in enumerate(uniforms):
        for step in steps:
            beta_uf = runs.field(run, step, split, "gamma")
            for other in range(len(references)):
                pair = other * len(uniforms) + number
                compare("alpha, beta_uf", pair, alphas[other], beta_uf)
                compare("delta, beta_uf", pair, deltas[other], beta_uf)
                compare("-delta, beta_uf", pair, turned[other], beta_uf)
            compare("beta_uf, beta_px", number, beta_uf, px)
            compare("beta_px, beta_uf", number, px, beta_uf)
            compare("beta_uf, beta_ibm", number, beta_uf, ibm)
    for number, run in enumerate(comparisons):
        for step in steps:
            alpha, beta = (runs.field(run, step, split, name) for name in ("alpha", "gamma"))
            for other in range(len(references)):
                pair = other * len(comparisons) + number
                compare("alpha, beta", pair, alphas[other], beta)
                compare(SEEDS_AGREE, pair, alphas[other], alpha)
    for other, alpha in enumerate(alphas):
        compare("alpha, alpha_ibm", other, alpha, ibm)
    compare("beta_px, beta_ibm", 0, px, ibm)
    stacked = {
        name: Series.stacked(name, [pairs[k] for k in sorted(pairs)], steps, groups) for name, pairs in values.items()
    }
    return Agreements(split, stacked, runs.chances(split), performances(runs, split, metric))


def performances(runs: CorpusRuns, split: str, metric: str) -> Floats:
    """The comparison runs' performance on a split, from 0 to 1: (comparison runs, steps)."""
    name = metric if split == "valid" else f"train_{metric}"
    return np.stack([curve_of(run, name) for run in runs.of("comparison")]) / (100 if metric == "bleu" else 1)


def by_bleu(runs: CorpusRuns, by_accuracy: Agreements) -> Agreements:
    """The same with BLEU as performance, from 0 to 1; compared again only where it chooses another evaluation."""
    split = by_accuracy.split
    if all(best_step(run) == best_step(run, "bleu") for run in runs.of("reference")):
        return replace(by_accuracy, accuracy=performances(runs, split, "bleu"))
    return compare_runs(runs, split, "bleu")


def estimates(valid: Agreements, xis: Mapping[str, XiInterval], untrained: float, best: float) -> Table:
    """Values with their intervals that no other table has: a difference of two agreements, each xi above the untrained
    performance, and how agreement and performance rise together. ``whole_way``: from untrained to best performance.
    """
    learned, uniform = valid.series["alpha, beta"], valid.series.get("alpha, beta_uf")
    table: list[dict[str, Any]] = []
    if uniform is not None:
        differences = learned.at_best() - uniform.at_best()
        interval = over_examples(differences, learned.groups)
        detail = f"{learned.value():.3f} against {uniform.value():.3f}." if interval else "One text has no interval."
        found = Estimate(float(differences.mean()), interval)
        table.append(estimate_row(SHAPED, found, "examples", detail, whole_way=None))
    for name, xi in xis.items():
        read = f"{xi.first.performance:.3f}" if xi.first else "never exceeded, read as the best"
        detail = f"xi {read}; untrained {untrained:.3f}, best {best:.3f}."
        detail += " One comparison run." if xi.over == "examples" else ""
        detail += "" if xi.interval else " One text has no interval."
        interval = None if xi.interval is None else (xi.interval[0] - untrained, xi.interval[1] - untrained)
        found = Estimate(xi.value - untrained, interval)
        table.append(estimate_row(f"xi({name})", found, xi.over, detail, whole_way=best - untrained))
    over = "comparison seeds" if len(valid.accuracy) > 1 else "examples"
    values, interval = valid.rises_together()
    n, value = len(values), float(np.mean(values)) if values else None
    detail = "No run has three evaluations up to its best."
    if value is not None:
        detail = f"Spearman's correlation {value:.2f}, mean over {n} comparison run{'s' * (n > 1)}."
        detail += "" if interval else f" One of the {over} has no interval."
    rises = None if value is None else Estimate(value, interval)
    return [*table, estimate_row(RISES, rises, over, detail, whole_way=None)]
