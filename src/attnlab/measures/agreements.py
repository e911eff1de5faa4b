"""All agreements over the examples of one split, example by example, and what is read off them together (P3 3.2)."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from attnlab.measures.series import Series, mean_over_pairs
from attnlab.measures.xi import XiInterval, drawn_texts, xi_interval
from attnlab.stats.bootstrap import Floats, interval_over_seeds, means_of_drawn, percentiles
from attnlab.stats.ranks import spearman

SEEDS_AGREE = "alpha, alpha(step)"
"""The agreement that xi is read off: a reference run's attention with a comparison run's."""


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
