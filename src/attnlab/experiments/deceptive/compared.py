"""Networks and their deceptive twins side by side: predictions, attention and influence, text by text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attnlab.fields import ScoreField
from attnlab.lab.experiment import Table
from attnlab.lab.rules import low_high, over_examples
from attnlab.measures.agreement import random_baseline, top_agreement
from attnlab.measures.divergence import jensen_shannon, total_variation
from attnlab.measures.series import mean_over_pairs
from attnlab.measures.tau import kendall_tau
from attnlab.pages.charts import INK, SIZE, headed, hue, inline, rounded
from attnlab.probes.texts import TextFields
from attnlab.stats.bootstrap import Floats


@dataclass(frozen=True, eq=False)
class Read:
    """What is read of one network: ``fields`` and ``right`` (texts,) on all texts, ``loo`` and ``delta`` on the
    sample.
    """

    fields: TextFields
    right: NDArray[np.bool_]
    loo: ScoreField
    delta: ScoreField


@dataclass(frozen=True, eq=False)
class Compared:
    """Networks Q beside networks P, pair by pair.

    (texts,), means over pairs: ``tvd``, ``jsd`` in bits, ``gained`` accuracy of Q over P. (sample,): ``top``, A of Q's
    attention and its own leave-one-out, and ``tau``; the same with P's; A's ``chance``. ``tvds``, ``jsds``: of each
    pair, over texts.
    """

    tvd: Floats
    jsd: Floats
    gained: Floats
    accuracy: float
    top: Floats
    top_standard: Floats
    tau: Floats
    tau_standard: Floats
    chance: Floats
    tvds: list[float]
    jsds: list[float]

    @classmethod
    def of(cls, standard: Sequence[Read], own: Sequence[Read], sample: NDArray[np.int64]) -> "Compared":
        pairs = list(zip(standard, own, strict=True))
        tvd = [
            total_variation(np.exp(p.fields.log_probabilities), np.exp(q.fields.log_probabilities)) for p, q in pairs
        ]
        jsd = [jensen_shannon(p.fields.alpha, q.fields.alpha) for p, q in pairs]
        alphas = [q.fields.alpha.select(sample) for q in own]
        loo = {"own": [q.loo for q in own], "standard": [p.loo for p in standard]}

        def tops(whose: str) -> Floats:
            tops = [top_agreement(a, b).expected for a, b in zip(alphas, loo[whose], strict=True)]
            return np.asarray(np.mean(tops, axis=0))

        def taus(whose: str) -> Floats:
            return mean_over_pairs(np.stack([kendall_tau(a, b) for a, b in zip(alphas, loo[whose], strict=True)]))

        return cls(
            np.mean(tvd, axis=0),
            np.mean(jsd, axis=0),
            np.mean([q.right.astype(float) - p.right for p, q in pairs], axis=0),
            float(np.mean([q.right.mean() for q in own])),
            tops("own"),
            tops("standard"),
            taus("own"),
            taus("standard"),
            random_baseline(alphas[0].lengths),
            [float(one.mean()) for one in tvd],
            [float(one.mean()) for one in jsd],
        )

    def line(self) -> dict[str, Any]:
        """The figures in a table."""
        return {
            "accuracy": self.accuracy,
            "gained": float(self.gained.mean()),
            **low_high(over_examples(self.gained), "gained_"),
            "tvd": float(self.tvd.mean()),
            "jsd": float(self.jsd.mean()),
            **low_high(over_examples(self.jsd), "jsd_"),
            "A": float(self.top.mean()),
            **low_high(over_examples(self.top), "A_"),
            "A_standard": float(self.top_standard.mean()),
            "chance": float(self.chance.mean()),
            "tau": float(np.nanmean(self.tau)),
            **low_high(over_examples(defined(self.tau)), "tau_"),
            "tau_standard": float(np.nanmean(self.tau_standard)),
            **low_high(over_examples(defined(self.tau_standard)), "tau_standard_"),
        }


def defined(values: Floats) -> Floats:
    """Without what is undefined (NaN)."""
    return values[~np.isnan(values)]


def seeds_apart(standard: Sequence[Read]) -> dict[str, float] | None:
    """How far apart two standard networks are, mean over pairs: what another seed does by itself."""
    pairs = [(one, other) for place, one in enumerate(standard) for other in standard[place + 1 :]]
    if not pairs:
        return None
    tvd = [total_variation(*(np.exp(one.fields.log_probabilities) for one in pair)).mean() for pair in pairs]
    jsd = [jensen_shannon(one.fields.alpha, other.fields.alpha).mean() for one, other in pairs]
    return {"tvd": float(np.mean(tvd)), "jsd": float(np.mean(jsd))}


PUBLIC = {"imdb": (0.44, 0.34), "sst": (0.35, 0.29), "ag_news": (0.39, 0.37), "20newsgroups": (0.13, 0.12)}
"""Kendall's tau of attention with gradients and with leave-one-out in Jain and Wallace's public results."""


def without_a_word(read: Read, sample: NDArray[np.int64]) -> ScoreField:
    """|p - p_{-l}| of each word: how far the prediction moves without it. loo is in log-odds of the right
    class, and of two classes both probabilities move by the same.
    """
    right = read.fields.log_probabilities[sample].max(1)  # of either class: |p - p'| is the same
    sign = np.where(read.right[sample], 1.0, -1.0)
    odds = sign * (right - np.log1p(-np.exp(np.minimum(right, -1e-12))))  # the right class's log-odds
    whole = np.repeat(odds, read.loo.lengths)
    apart = np.abs(expit(whole) - expit(whole - read.loo.values))
    return ScoreField(apart, read.loo.offsets)


def beside_public(row: str, standard: Sequence[Read], sample: NDArray[np.int64]) -> Table:
    """Our tau of attention with influence, signed and by magnitude, beside Jain and Wallace's."""
    alphas = [one.fields.alpha.select(sample) for one in standard]
    deltas = [one.delta for one in standard]
    fields = {
        "gradient": (deltas, [ScoreField(np.abs(one.values), one.offsets) for one in deltas]),
        "leave-one-out": ([one.loo for one in standard], [without_a_word(one, sample) for one in standard]),
    }
    theirs = dict(zip(fields, PUBLIC.get(row, (None, None)), strict=True))
    table = []
    for name, (signed, magnitude) in fields.items():
        taus = [
            defined(mean_over_pairs(np.stack([kendall_tau(a, b) for a, b in zip(alphas, other, strict=True)])))
            for other in (signed, magnitude)
        ]
        table.append(
            {
                "influence": name,
                "tau_signed": float(taus[0].mean()),
                **low_high(over_examples(taus[0]), "signed_"),
                "tau_magnitude": float(taus[1].mean()),
                **low_high(over_examples(taus[1]), "magnitude_"),
                "jain_wallace": theirs[name],
                "texts": len(taus[0]),
            }
        )
    return table


def moved(row: str, points: Table) -> alt.TopLevelMixin:
    """Predictions apart against attention apart, a point for each twin."""
    order = list(dict.fromkeys(point["training"] for point in points))
    dots = alt.Chart(inline(points)).mark_point(filled=True, size=70, opacity=0.8)
    dots = dots.encode(
        x=alt.X("jsd:Q", title="attention apart (Jensen-Shannon, bits)", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("tvd:Q", title="predictions apart (total variation)", scale=alt.Scale(domainMin=0)),
        color=hue("training", columns=2).sort(order),
        tooltip=["training:N", "seed:N", rounded("jsd"), rounded("tvd")],
    )
    return headed(dots, f"{row}: what moving attention costs", width=2 * SIZE["width"], height=1.3 * SIZE["height"])


def influences(row: str, table: Table) -> alt.TopLevelMixin:
    """Kendall's tau of attention with leave-one-out influence, with its interval."""
    order = [line["training"] for line in table]
    shown = [
        {
            "training": line["training"],
            "influence": name,
            "tau": line[key],
            "low": line[f"{key}_low"],
            "high": line[f"{key}_high"],
        }
        for line in table
        for key, name in (("tau", "the network's own"), ("tau_standard", "the standard network's"))
    ]
    y, beside = alt.Y("training:N", title=None, sort=order), alt.YOffset("influence:N")
    base = alt.Chart(inline(shown)).encode(y=y, yOffset=beside, color=hue("influence"))
    x = alt.X("low:Q", title="tau of attention with leave-one-out, 95 % interval over texts")
    bars, points = (
        base.mark_rule(strokeWidth=3, opacity=0.6).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, size=50),
    )
    points = points.encode(x="tau:Q", tooltip=["training:N", "influence:N", rounded("tau")])
    zero = alt.Chart(inline([{"tau": 0}])).mark_rule(strokeDash=[4, 3], color=INK).encode(x="tau:Q")
    title = f"{row}: attention and influence"
    return headed(alt.layer(zero, bars, points), title, width=2 * SIZE["width"], height=30 * len(order))
