"""Forecast-copying: does the forecast, made from data alone, say which copying tasks are learned, and how soon?

Twenty distributions of sequences, from permutations (nothing to go by) to independent words (a lot), are forecast from
a sample and then trained with P3's network. The measures and their thresholds were fixed before any run on the sixteen
distributions that are new here; how the four of the experiment copying end was known.
"""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import altair as alt
import numpy as np

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.families.copying.spec import (
    CopyingSpec,
    DistributionSpec,
    IndependentSpec,
    MixtureSpec,
    PermutationSetsSpec,
    PermutationsSpec,
    SelectionsSpec,
    ZipfSpec,
)
from attnlab.families.copying.success import EVERY, WITHIN
from attnlab.families.copying.task import random_permutation
from attnlab.lab.copying import network_on, task_of
from attnlab.lab.experiment import Experiment, Figures, Setting, Table
from attnlab.lab.outcomes import Outcome, Runs, estimate_of, learned_steps, mean, median, rate_of, rate_row
from attnlab.lab.rules import low_high
from attnlab.pages.charts import COLOURS, INK, headed, hue, inline, learned_at, rounded
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import drawn_rows
from attnlab.stats.ranks import area_under_curve, spearman
from attnlab.theory.forecast import LIKELY, MEASURES, WEAK, Forecast, Prospect, forecast

# --- settings

SAMPLE = 3000
"""Sequences that a forecast is made from."""
LATE = 1000
"""The step that runs of the experiment copying go on to; these do not."""


def setting(name: str, task: CopyingSpec | DistributionSpec, quick: int = 0) -> Setting:
    """P3's network on a distribution; a run ends once it has learned."""
    return network_on(name, task, (quick, 3, 5))


def few(share: float, other: DistributionSpec) -> MixtureSpec:
    """Permutations of 40 with a share of other sequences."""
    return MixtureSpec(parts=(PermutationsSpec(words=40), other), shares=(1 - share, share))


INDEPENDENT = IndependentSpec(length=40, words=40)
SUBSTITUTED = CopyingSpec(distribution=INDEPENDENT, substitution=random_permutation(40, seed=0))
KNOWN = ("permutations of 40", "40 of 60", "i.i.d. from 40", "i.i.d. from 40, substituted")
"""Distributions of the experiment copying, whose runs are shared: how they end was known."""


class ForecastCopying(Experiment):
    """Forecast against training, on copying."""

    name = "forecast-copying"
    title = "Can data alone say whether copying is learned?"
    source = "ours, after P3 3.3, 4"
    settings = (
        setting("permutations of 40", PermutationsSpec(words=40)),
        *(
            setting(f"40 of {n}", SelectionsSpec(length=40, words=n), 2 if n in (44, 60) else 0)
            for n in (41, 42, 44, 48, 52, 60, 80)
        ),
        setting("i.i.d. from 40", INDEPENDENT),
        setting("i.i.d. from 40, substituted", SUBSTITUTED),
        setting("permutations of either of two sets of 40", PermutationSetsSpec(size=40)),
        setting("permutations of 20", PermutationsSpec(words=20)),
        setting("20 of 30", SelectionsSpec(length=20, words=30)),
        setting("permutations of 10", PermutationsSpec(words=10), 2),
        setting("10 of 15", SelectionsSpec(length=10, words=15), 2),
        setting("Zipf, 40 from 60", ZipfSpec(length=40, words=60)),
        setting("Zipf, 40 different of 60", ZipfSpec(length=40, words=60, repeat=False)),
        setting("permutations of 40, 10 % 40 of 60", few(0.1, SelectionsSpec(length=40, words=60))),
        setting("permutations of 40, 10 % i.i.d.", few(0.1, INDEPENDENT)),
        setting("permutations of 40, 2 % i.i.d.", few(0.02, INDEPENDENT)),
    )
    recalls = True
    may_stop = True

    def measure(self, runs: Runs) -> None:
        groups = [(one, list(runs[one])) for one in self.settings if runs[one]]
        self.distributions = [distribution_row(one, group) for one, group in groups]
        named = ("distribution", "forecast", "gain")
        self.steps = [
            {**{name: row[name] for name in named}, **outcome.dot(k / len(group))}
            for row, (_, group) in zip(self.distributions, groups, strict=True)
            for k, outcome in enumerate(group)
        ]

    def tables(self) -> Mapping[str, Table]:
        return {
            "distributions": self.distributions,
            "verdicts": verdict_table(self.distributions),
            "measures": measure_table(self.distributions),
        }

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return outcome.late_row(LATE)

    def figures(self) -> Figures:
        return figures(self.distributions, self.steps)

    def summary(self) -> str:
        return in_words(verdict_table(self.distributions), measure_table(self.distributions))

    def notes(self) -> list[str]:
        return [
            f"The forecast is made from {SAMPLE} sequences without their end symbols; gain in bits, likely from "
            f"{LIKELY} on, no reason below {WEAK}.",
            f"A run ends once it has learned, or at step {WITHIN}; in steps to success failures count as "
            f"{WITHIN + EVERY}.",
            "Settings that the experiment copying has too share its runs; how these four end was known when measures "
            "and thresholds were fixed, how the others end was not.",
            "Learned means that copying is; attention_at_end says whether attention found the right position.",
            *self.at_preset(
                quick="quick: four distributions and two seeds each.",
                reduced="reduced: three seeds a distribution instead of five.",
            ),
        ]


def forecast_of(setting: Setting) -> Forecast:
    """The forecast from a sample of the setting's sequences, without their end symbols."""
    task = task_of(setting.spec(0)).build()
    batch = task.batch(SAMPLE, numpy_generator(0, "forecast", setting.name))
    source, target = batch.source[:, :-1].numpy(), batch.target[:, :-1].numpy()
    return forecast(SentencePairs.from_ids(source, target, task.distribution.words))


# --- tables


def distribution_row(setting: Setting, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """A distribution's forecast and outcome; ``mean_step``: failures counted as one evaluation after the last."""
    distribution, made = task_of(setting.spec(0)).distribution.build(), forecast_of(setting)
    row = {"distribution": setting.name, "length": distribution.length, "words": distribution.words}
    row |= {"gain": made.gain, **low_high(made.interval, "gain_"), "forecast": made.verdict}
    row |= {measure: getattr(made, measure) for measure in MEASURES}
    row |= {**rate_row(outcomes), "median_step": median(learned_steps(outcomes))}
    row["mean_step"] = mean(outcome.step_or_after() for outcome in outcomes)
    for what in ("attention", "probe"):
        row[f"{what}_at_end"] = mean(outcome.run.rows[-1][f"{what}_accuracy"] for outcome in outcomes)
    return row


def verdict_table(distributions: Table) -> Table:
    """A row for each verdict of the forecast: how many of its runs learned."""
    table = []
    for verdict in dict.fromkeys(row["forecast"] for row in distributions):
        group = [row for row in distributions if row["forecast"] == verdict]
        runs, count = (sum(row[name] for row in group) for name in ("seeds", "learned"))
        row = {"forecast": verdict, "distributions": len(group), "runs": runs, "learned": count, **rate_of(count, runs)}
        table.append({**row, "mean_step": mean(row["mean_step"] for row in group)})
    return table


def measure_table(distributions: Table) -> Table:
    """A row for each measure and comparison, with a 95 % bootstrap interval over distributions.

    Over ``all`` of them, and over the ``new`` ones alone, whose outcome nobody knew when the measures were fixed.
    """
    new = [row for row in distributions if row["distribution"] not in KNOWN]
    groups = (("all", distributions), ("new", new))
    return [{**row, "over": over} for over, group in groups for row in comparisons(group)]


def comparisons(distributions: Table) -> Table:
    """A row for each measure and what it is compared with."""
    rows = drawn_rows(len(distributions), "forecast-copying")  # (resamples + 1, distributions)
    rate, step, count, runs = (
        np.array([row[name] for row in distributions], dtype=np.float64)[rows]
        for name in ("rate", "mean_step", "learned", "seeds")
    )
    table = []
    for measure, title in MEASURES.items():
        values = np.array([row[measure] for row in distributions])[rows]
        compared = {
            "Spearman with success rate": spearman(values, rate),
            "Spearman with steps to success": spearman(values, step),
            "area under the curve of success": area_under_curve(values, count, runs - count),
        }
        for comparison, resampled in compared.items():
            row = {"measure": measure, "title": title, "comparison": comparison, **estimate_of(resampled)}
            table.append({**row, "distributions": len(distributions)})
    return table


# --- words and figures


def in_words(verdicts: Table, measures: Table) -> str:
    """The result as sentences."""
    sentences = [
        f"Where the forecast was '{row['forecast']}' ({row['distributions']} distributions), {row['learned']} of "
        f"{row['runs']} runs learned within {WITHIN} updates ({row['rate']:.0%}, 95 % interval {row['low']:.0%} to "
        f"{row['high']:.0%})."
        for row in verdicts
    ]
    for row in measures:
        if row["measure"] == "gain":
            value = "undefined, as all runs ended alike"
            if row["value"] is not None:
                value = f"{row['value']:.2f} (95 % interval over distributions {row['low']:.2f} to {row['high']:.2f})"
            over = "" if row["over"] == "all" else f" over the {row['distributions']} new distributions alone"
            sentences.append(f"The gain's {row['comparison']}{over}: {value}.")
    return " ".join(sentences)


def figures(distributions: Table, runs: Table) -> Figures:
    """How often each distribution was learned, in the order of the forecast; gain against success and, run by run,
    against steps.
    """
    gain = alt.X(
        "gain:Q",
        title="gain, bits",
        scale=alt.Scale(type="symlog", constant=0.01, domain=[0, 1.2]),
        axis=alt.Axis(values=[0, WEAK, 0.03, LIKELY, 0.3, 1], format="~g"),
    )
    order = get_args(Prospect)
    shown = [verdict for verdict in order if any(row["forecast"] == verdict for row in distributions)]
    colours = [COLOURS[order.index(verdict)] for verdict in shown]
    base = alt.Chart(inline([{**row, "order": -row["gain"]} for row in distributions]))
    colour = hue("forecast", colours, domain=shown, labelLimit=300)
    base = base.encode(color=colour)
    tooltip = ["distribution:N", rounded("gain", ".4f"), "learned:Q", "seeds:Q", "median_step:Q"]
    points = base.mark_point(filled=True, size=60, opacity=0.8).encode(tooltip=tooltip)
    rate = "share of runs that learned, with its 95 % interval"
    thresholds = alt.Chart(inline([{"gain": WEAK}, {"gain": LIKELY}])).encode(x="gain:Q")
    thresholds = thresholds.mark_rule(strokeDash=[4, 4], color=INK, opacity=0.5)
    name = alt.Y("distribution:N", title=None, sort=alt.SortField("order"), axis=alt.Axis(labelLimit=300))
    by_name = alt.layer(
        base.mark_rule(opacity=0.5).encode(x=alt.X("low:Q", title=rate), x2="high:Q", y=name),
        points.encode(x="rate:Q", y=name),
    )
    success = alt.layer(
        thresholds,
        base.mark_rule(opacity=0.4).encode(x=gain, y=alt.Y("low:Q", title=rate), y2="high:Q"),
        points.encode(x=gain, y="rate:Q"),
    )
    dots = alt.Chart(inline(runs)).mark_point(filled=True, size=45, opacity=0.6).encode(x=gain, color=colour)
    dots = dots.encode(tooltip=["distribution:N", "seed:N", "learned:N", rounded("gain", ".4f")])
    steps = alt.layer(thresholds, learned_at(dots, updates=WITHIN, every=EVERY))
    size, speed = {"width": 460, "height": 260}, "Forecast and speed, run by run"
    return {
        "distributions": headed(
            by_name, "From the strongest forecast to none", width=360, height=16 * len(distributions)
        ),
        "success": headed(success, "Forecast and success; dashed: thresholds set beforehand", **size),
        "steps": headed(steps, speed, **size),
    }
