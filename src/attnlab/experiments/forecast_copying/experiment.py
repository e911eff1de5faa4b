"""Forecast-copying: does the forecast, made from data alone, say which copying tasks are learned, and how soon?

Twenty distributions of sequences, from permutations (nothing to go by) to independent words (a lot), are forecast from
a sample and then trained with P3's network. The measures and their thresholds were fixed before any run on the sixteen
distributions that are new here; how the four of the experiment copying end was known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from attnlab.families.copying.success import EVERY, LEARNED, WITHIN
from attnlab.families.copying.task import random_permutation
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Experiment, Figures, Setting, Table
from attnlab.lab.outcomes import Outcome, Runs, learned, learned_steps
from attnlab.pages.charts import COLOURS, INK, titled
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import value_and_interval
from attnlab.stats.ranks import area_under_curve, spearman
from attnlab.stats.rates import wilson
from attnlab.theory.forecast import LIKELY, WEAK, Forecast, Verdict, forecast

# --- settings

SAMPLE = 3000
"""Sequences that a forecast is made from."""
RESAMPLES = 2000
LATE = 1000
"""The step that runs of the experiment copying go on to; these do not."""
MEASURES = {
    "gain": "gain (the forecast)",
    "derivative_gain": "gain, chosen by the derivative",
    "information": "information of the alignment",
    "mutual_information": "mutual information of the table",
}
"""What is compared with training: the forecast's measure, and three others that were set down beside it."""


def setting(
    name: str, distribution: DistributionSpec, *, quick: int = 0, substitution: tuple[int, ...] | None = None
) -> Setting:
    """P3's network on a distribution; a run ends once it has learned."""
    task = CopyingSpec(distribution=distribution, substitution=substitution)
    return Setting(
        name,
        lambda seed: RunSpec(task=task, init_seed=seed, data_seed=seed),
        {"quick": quick, "reduced": 3, "paper": 5},
        Schedule.every(EVERY, steps=WITHIN, stop_at=LEARNED),
    )


def few(share: float, other: DistributionSpec) -> MixtureSpec:
    """Permutations of 40 with a share of other sequences."""
    return MixtureSpec(parts=(PermutationsSpec(words=40), other), shares=(1 - share, share))


INDEPENDENT = IndependentSpec(length=40, words=40)
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
            setting(f"40 of {n}", SelectionsSpec(length=40, words=n), quick=2 if n in (44, 60) else 0)
            for n in (41, 42, 44, 48, 52, 60, 80)
        ),
        setting("i.i.d. from 40", INDEPENDENT),
        setting("i.i.d. from 40, substituted", INDEPENDENT, substitution=random_permutation(40, seed=0)),
        setting("permutations of either of two sets of 40", PermutationSetsSpec(size=40)),
        setting("permutations of 20", PermutationsSpec(words=20)),
        setting("20 of 30", SelectionsSpec(length=20, words=30)),
        setting("permutations of 10", PermutationsSpec(words=10), quick=2),
        setting("10 of 15", SelectionsSpec(length=10, words=15), quick=2),
        setting("Zipf, 40 from 60", ZipfSpec(length=40, words=60)),
        setting("Zipf, 40 different of 60", ZipfSpec(length=40, words=60, repeat=False)),
        setting("permutations of 40, 10 % 40 of 60", few(0.1, SelectionsSpec(length=40, words=60))),
        setting("permutations of 40, 10 % i.i.d.", few(0.1, INDEPENDENT)),
        setting("permutations of 40, 2 % i.i.d.", few(0.02, INDEPENDENT)),
    )
    recalls = True
    may_stop = True

    def measure(self, runs: Runs) -> None:
        self.tried = [Tried(one.name, task_of(one), forecast_of(one), runs[one]) for one in self.settings if runs[one]]

    def tables(self) -> Mapping[str, Table]:
        return {
            "distributions": distribution_table(self.tried),
            "verdicts": verdict_table(self.tried),
            "measures": measure_table(self.tried),
        }

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return outcome.late_row(LATE)

    def figures(self) -> Figures:
        return figures(distribution_table(self.tried))

    def summary(self) -> str:
        return in_words(verdict_table(self.tried), measure_table(self.tried))

    def notes(self) -> list[str]:
        presets: dict[Preset, list[str]] = {
            "quick": ["quick: four distributions and two seeds each."],
            "reduced": ["reduced: three seeds a distribution instead of five."],
            "paper": [],
        }
        return [
            f"The forecast is made from {SAMPLE} sequences without their end symbols; gain in bits, likely from "
            f"{LIKELY} on, no reason below {WEAK}.",
            f"A run ends once it has learned, or at step {WITHIN}; in steps to success failures count as "
            f"{WITHIN + EVERY}.",
            "Settings that the experiment copying has too share its runs; how these four end was known when measures "
            "and thresholds were fixed, how the others end was not.",
            "Learned means that copying is; attention_at_end says whether attention found the right position.",
            *presets[self.order.preset],
        ]


@dataclass(frozen=True)
class Tried:
    """One distribution: what was forecast, and how its runs ended."""

    name: str
    task: CopyingSpec
    forecast: Forecast
    outcomes: Sequence[Outcome]

    @property
    def learned(self) -> list[bool]:
        """For each run, whether it learned within 200 updates."""
        return learned(self.outcomes)

    @property
    def rate(self) -> float:
        return float(np.mean(self.learned))

    @property
    def mean_step(self) -> float:
        """The mean step to success, failures counted as one evaluation after the last."""
        return float(np.mean([outcome.step_or_after() for outcome in self.outcomes]))

    def at_end(self, metric: str) -> float:
        """The mean of a metric at the last evaluations."""
        return float(np.mean([outcome.run.rows[-1][metric] for outcome in self.outcomes]))


def task_of(setting: Setting) -> CopyingSpec:
    """What a setting's runs are trained on."""
    task = setting.spec(0).task
    assert isinstance(task, CopyingSpec)
    return task


def forecast_of(setting: Setting) -> Forecast:
    """The forecast from a sample of the setting's sequences, without their end symbols."""
    task = task_of(setting).build()
    batch = task.batch(SAMPLE, numpy_generator(0, "forecast", setting.name))
    source, target = batch.source[:, :-1].numpy(), batch.target[:, :-1].numpy()
    return forecast(SentencePairs.from_ids(source, target, task.distribution.words))


# --- tables


def distribution_table(tried: Sequence[Tried]) -> Table:
    """A row for each distribution: forecast and outcome."""
    table = []
    for one in tried:
        distribution, steps = one.task.distribution.build(), learned_steps(one.outcomes)
        low, high = wilson(len(steps), len(one.outcomes))
        table.append(
            {
                "distribution": one.name,
                "length": distribution.length,
                "words": distribution.words,
                "gain": one.forecast.gain,
                "gain_low": one.forecast.interval[0],
                "gain_high": one.forecast.interval[1],
                "forecast": one.forecast.verdict,
                "derivative_gain": one.forecast.derivative_gain,
                "information": one.forecast.information,
                "mutual_information": one.forecast.mutual_information,
                "seeds": len(one.outcomes),
                "learned": len(steps),
                "rate": one.rate,
                "low": low,
                "high": high,
                "median_step": float(np.median(steps)) if steps else None,
                "mean_step": one.mean_step,
                "attention_at_end": one.at_end("attention_accuracy"),
                "probe_at_end": one.at_end("probe_accuracy"),
            }
        )
    return table


def verdict_table(tried: Sequence[Tried]) -> Table:
    """A row for each verdict of the forecast: how many of its runs learned."""
    table = []
    for verdict in dict.fromkeys(one.forecast.verdict for one in tried):
        group = [one for one in tried if one.forecast.verdict == verdict]
        runs, count = sum(len(one.outcomes) for one in group), sum(sum(one.learned) for one in group)
        low, high = wilson(count, runs)
        table.append(
            {
                "forecast": verdict,
                "distributions": len(group),
                "runs": runs,
                "learned": count,
                "rate": count / runs,
                "low": low,
                "high": high,
                "mean_step": float(np.mean([one.mean_step for one in group])),
            }
        )
    return table


def measure_table(tried: Sequence[Tried]) -> Table:
    """A row for each measure and comparison, with a 95 % bootstrap interval over distributions.

    Over ``all`` of them, and over the ``new`` ones alone, whose outcome nobody knew when the measures were fixed.
    """
    new = [one for one in tried if one.name not in KNOWN]
    return [{**row, "over": over} for over, group in (("all", tried), ("new", new)) for row in comparisons(group)]


def comparisons(tried: Sequence[Tried]) -> Table:
    """A row for each measure and what it is compared with."""
    drawn = numpy_generator(0, "forecast-copying").integers(len(tried), size=(RESAMPLES, len(tried)))
    rows = np.concatenate([np.arange(len(tried))[None], drawn])  # first the sample itself
    rate, step, count, runs = np.array(
        [(one.rate, one.mean_step, sum(one.learned), len(one.learned)) for one in tried], dtype=np.float64
    ).T[:, rows]  # each (resamples + 1, distributions)
    table = []
    for measure, title in MEASURES.items():
        values = np.array([getattr(one.forecast, measure) for one in tried])[rows]
        compared = {
            "Spearman with success rate": spearman(values, rate),
            "Spearman with steps to success": spearman(values, step),
            "area under the curve of success": area_under_curve(values, count, runs - count),
        }
        for comparison, resampled in compared.items():
            value, (low, high) = value_and_interval(resampled) or (None, (None, None))
            row = {"measure": measure, "title": title, "comparison": comparison, "value": value}
            table.append({**row, "low": low, "high": high, "distributions": len(tried)})
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


def figures(distributions: Table) -> Figures:
    """How often each distribution was learned, in the order of the forecast; gain against success and against steps."""
    data = alt.InlineData(values=[{**row, "order": -row["gain"]} for row in distributions])
    gain = alt.X(
        "gain:Q",
        title="gain, bits",
        scale=alt.Scale(type="symlog", constant=0.01, domain=[0, 1.2]),
        axis=alt.Axis(values=[0, WEAK, 0.03, LIKELY, 0.3, 1], format="~g"),
    )
    order = get_args(Verdict)
    shown = [verdict for verdict in order if any(row["forecast"] == verdict for row in distributions)]
    colour = alt.Color(
        "forecast:N",
        title=None,
        scale=alt.Scale(domain=shown, range=[COLOURS[order.index(verdict)] for verdict in shown]),
        legend=alt.Legend(orient="top", labelLimit=300),
    )
    rate = "share of runs that learned, with its 95 % interval"
    tooltip = ["distribution:N", alt.Tooltip("gain:Q", format=".4f"), "learned:Q", "seeds:Q", "median_step:Q"]
    points = alt.Chart(data).mark_point(filled=True, size=60, opacity=0.8)
    thresholds = (
        alt.Chart(alt.InlineData(values=[{"gain": WEAK}, {"gain": LIKELY}]))
        .mark_rule(strokeDash=[4, 4], color=INK, opacity=0.5)
        .encode(x="gain:Q")
    )
    name = alt.Y("distribution:N", title=None, sort=alt.SortField("order"), axis=alt.Axis(labelLimit=300))
    size = {"width": 460, "height": 260}
    return {
        "distributions": alt.layer(
            alt.Chart(data)
            .mark_rule(opacity=0.5)
            .encode(x=alt.X("low:Q", title=rate), x2="high:Q", y=name, color=colour),
            points.encode(x="rate:Q", y=name, color=colour, tooltip=tooltip),
        ).properties(title=titled("From the strongest forecast to none"), width=360, height=16 * len(distributions)),
        "success": alt.layer(
            thresholds,
            alt.Chart(data)
            .mark_rule(opacity=0.4)
            .encode(x=gain, y=alt.Y("low:Q", title=rate), y2="high:Q", color=colour),
            points.encode(x=gain, y="rate:Q", color=colour, tooltip=tooltip),
        ).properties(title=titled("Forecast and success; dashed: thresholds set beforehand"), **size),
        "steps": alt.layer(
            thresholds,
            points.encode(x=gain, y=alt.Y("mean_step:Q", title="mean step to success"), color=colour, tooltip=tooltip),
        ).properties(title=titled(f"Forecast and speed; a failure counts as {WITHIN + EVERY}"), **size),
    }
