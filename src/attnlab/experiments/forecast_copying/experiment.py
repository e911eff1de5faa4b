"""Forecast-copying: does the forecast, made from data alone, say which copying tasks are learned, and how soon?

Twenty distributions of sequences, from permutations (nothing to go by) to independent words (a lot), are forecast from
a sample and then trained with P3's network. The measures and their thresholds were fixed before any run on the sixteen
distributions that are new here; how the four of the experiment copying end was known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.experiments.copying import experiment as copying
from attnlab.experiments.copying.experiment import make_job, make_spec
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
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.lab.success import EVERY, WITHIN, Outcome, Setting, curve_table, seeds_of
from attnlab.pages.charts import COLOURS, INK
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import drawn_rows, value_and_interval
from attnlab.stats.ranks import area_under_curve, spearman
from attnlab.stats.rates import wilson
from attnlab.theory.forecast import LIKELY, WEAK, Forecast, Verdict, forecast

Floats = NDArray[np.float64]

SAMPLE = 3000
"""Sequences that a forecast is made from."""
TOO_LATE = WITHIN + EVERY
"""The step that a run which has not learned is counted with: behind all that have."""
MEASURES = {
    "gain": "gain (the forecast)",
    "derivative_gain": "gain, chosen by the derivative",
    "information": "information of the alignment",
    "mutual_information": "mutual information of the table",
}
"""What is compared with training: the forecast's measure, and three others that were set down beside it."""


def _setting(name: str, distribution: DistributionSpec, *, quick: int = 0) -> Setting:
    return Setting(name, CopyingSpec(distribution=distribution), _seeds(quick), ends_when_learned=True)


def _seeds(quick: int = 0) -> dict[Preset, int]:
    return {"quick": quick, "reduced": 3, "paper": 5}


def _shared(setting: Setting, *, quick: int = 0) -> Setting:
    """A setting of the experiment copying: the same runs."""
    return replace(setting, seeds=_seeds(quick), ends_when_learned=True)


def _few(share: float, other: DistributionSpec) -> MixtureSpec:
    """Permutations of 40 with a share of other sequences."""
    return MixtureSpec(parts=(PermutationsSpec(words=40), other), shares=(1 - share, share))


SETTINGS = (
    _shared(copying.PERMUTATIONS),
    *(
        _setting(f"40 of {n}", SelectionsSpec(length=40, words=n), quick=2 if n == 44 else 0)
        for n in (41, 42, 44, 48, 52)
    ),
    _shared(copying.SELECTIONS, quick=2),
    _setting("40 of 80", SelectionsSpec(length=40, words=80)),
    _shared(copying.INDEPENDENT),
    _shared(copying.SUBSTITUTED),
    _setting("permutations of either of two sets of 40", PermutationSetsSpec(size=40)),
    _setting("permutations of 20", PermutationsSpec(words=20)),
    _setting("20 of 30", SelectionsSpec(length=20, words=30)),
    _setting("permutations of 10", PermutationsSpec(words=10), quick=2),
    _setting("10 of 15", SelectionsSpec(length=10, words=15), quick=2),
    _setting("Zipf, 40 from 60", ZipfSpec(length=40, words=60)),
    _setting("Zipf, 40 different of 60", ZipfSpec(length=40, words=60, repeat=False)),
    _setting("permutations of 40, 10 % 40 of 60", _few(0.1, SelectionsSpec(length=40, words=60))),
    _setting("permutations of 40, 10 % i.i.d.", _few(0.1, IndependentSpec(length=40, words=40))),
    _setting("permutations of 40, 2 % i.i.d.", _few(0.02, IndependentSpec(length=40, words=40))),
)


class ForecastCopying(Experiment):
    """Forecast against training, on copying."""

    name = "forecast-copying"
    title = "Can data alone say whether copying is learned?"
    source = "ours, after P3 3.3, 4"
    recalls = True
    may_stop = True

    def jobs(self, order: Order) -> list[Job]:
        return [
            make_job(setting, seed, order.preset, late=False)
            for setting in SETTINGS
            for seed in seeds_of(setting, order)
        ]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        settings = [setting for setting in SETTINGS if seeds_of(setting, order)]
        tried = [
            Tried(
                setting,
                forecast_setting(setting),
                tuple(
                    Outcome(setting.name, seed, done[make_spec(setting, seed).id]) for seed in seeds_of(setting, order)
                ),
            )
            for setting in settings
        ]
        distributions, verdicts, measures = distribution_table(tried), verdict_table(tried), measure_table(tried)
        return Result(
            summary=tell(verdicts, measures),
            tables={
                "distributions": distributions,
                "verdicts": verdicts,
                "measures": measures,
                "runs": [copying.seed_row(outcome) for one in tried for outcome in one.outcomes],
                "curves": curve_table(outcome for one in tried for outcome in one.outcomes),
            },
            figures=figures(distributions),
            findings=(),
            notes=notes(order),
            seeds={setting.name: seeds_of(setting, order) for setting in settings},
        )


@dataclass(frozen=True)
class Tried:
    """One distribution: what was forecast, and how its runs ended."""

    setting: Setting
    forecast: Forecast
    outcomes: tuple[Outcome, ...]

    @property
    def learned(self) -> list[bool]:
        """For each run, whether it learned within 200 updates."""
        return [outcome.step is not None for outcome in self.outcomes]

    @property
    def rate(self) -> float:
        return float(np.mean(self.learned))

    @property
    def mean_step(self) -> float:
        """The mean step to success, failures counted as one evaluation behind the last."""
        return float(np.mean([TOO_LATE if outcome.step is None else outcome.step for outcome in self.outcomes]))


def forecast_setting(setting: Setting) -> Forecast:
    """The forecast from a sample of the setting's sequences, without their end symbols."""
    batch = setting.task.build().batch(SAMPLE, numpy_generator(0, "forecast", setting.name))
    words = setting.task.distribution.build().words
    source, target = batch.source[:, :-1].numpy(), batch.target[:, :-1].numpy()
    return forecast(SentencePairs.from_ids(source, target, words))


# --- tables


def distribution_table(tried: Sequence[Tried]) -> Table:
    """A row for each distribution: forecast and outcome."""
    table = []
    for one in tried:
        task, told = one.setting.task.distribution.build(), one.forecast
        steps = [outcome.step for outcome in one.outcomes if outcome.step is not None]
        low, high = wilson(len(steps), len(one.outcomes))
        table.append(
            {
                "distribution": one.setting.name,
                "length": task.length,
                "words": task.words,
                "gain": told.gain,
                "gain_low": told.interval[0],
                "gain_high": told.interval[1],
                "forecast": told.verdict,
                "derivative_gain": told.derivative_gain,
                "information": told.information,
                "mutual_information": told.mutual_information,
                "seeds": len(one.outcomes),
                "learned": len(steps),
                "rate": one.rate,
                "low": low,
                "high": high,
                "median_step": float(np.median(steps)) if steps else None,
                "mean_step": one.mean_step,
                "attention_at_end": float(np.mean([o.run.rows[-1]["attention_accuracy"] for o in one.outcomes])),
                "probe_at_end": float(np.mean([o.run.rows[-1]["probe_accuracy"] for o in one.outcomes])),
            }
        )
    return table


def verdict_table(tried: Sequence[Tried]) -> Table:
    """A row for each verdict of the forecast: how many of its runs learned."""
    table = []
    for verdict in dict.fromkeys(one.forecast.verdict for one in tried):
        group = [one for one in tried if one.forecast.verdict == verdict]
        runs, learned = sum(len(one.outcomes) for one in group), sum(sum(one.learned) for one in group)
        low, high = wilson(learned, runs)
        table.append(
            {
                "forecast": verdict,
                "distributions": len(group),
                "runs": runs,
                "learned": learned,
                "rate": learned / runs,
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
    known = {setting.name for setting in copying.SETTINGS}
    new = [one for one in tried if one.setting.name not in known]
    return [{**row, "over": over} for over, group in (("all", tried), ("new", new)) for row in _compared(group)]


def _compared(tried: Sequence[Tried]) -> Table:
    chosen = drawn_rows(len(tried), "forecast-copying")
    rate, step, learned, runs = (
        np.array([of(one) for one in tried], dtype=np.float64)[chosen]
        for of in (
            lambda one: one.rate,
            lambda one: one.mean_step,
            lambda one: sum(one.learned),
            lambda one: len(one.learned),
        )
    )
    table = []
    for measure, title in MEASURES.items():
        values = np.array([getattr(one.forecast, measure) for one in tried])[chosen]
        compared = {
            "Spearman with success rate": spearman(values, rate),
            "Spearman with steps to success": spearman(values, step),
            "area under the curve of success": area_under_curve(values, learned, runs - learned),
        }
        for comparison, resampled in compared.items():
            estimate = value_and_interval(resampled)
            value, low, high = (None, None, None) if estimate is None else (estimate[0], *estimate[1])
            table.append(
                {
                    "measure": measure,
                    "title": title,
                    "comparison": comparison,
                    "value": value,
                    "low": low,
                    "high": high,
                    "distributions": len(tried),
                }
            )
    return table


# --- words and figures


def tell(verdicts: Table, measures: Table) -> str:
    """The result in plain words."""
    sentences = [
        f"Where the forecast was '{row['forecast']}' ({row['distributions']} distributions), {row['learned']} of "
        f"{row['runs']} runs learned within {WITHIN} updates ({row['rate']:.0%}, 95 % interval {row['low']:.0%} to "
        f"{row['high']:.0%})."
        for row in verdicts
    ]
    for row in measures:
        if row["measure"] == "gain":
            found = "undefined, as all runs ended alike"
            if row["value"] is not None:
                found = f"{row['value']:.2f} (95 % interval over distributions {row['low']:.2f} to {row['high']:.2f})"
            over = "" if row["over"] == "all" else f" over the {row['distributions']} new distributions alone"
            sentences.append(f"The gain's {row['comparison']}{over}: {found}.")
    return " ".join(sentences)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        f"The forecast is made from {SAMPLE} sequences without their end symbols; gain in bits, likely from {LIKELY} "
        f"on, no reason below {WEAK}.",
        f"A run ends once it has learned, or at step {WITHIN}; in steps to success failures count as {TOO_LATE}.",
        "Settings that the experiment copying has too share its runs; how these four end was known when measures and "
        "thresholds were fixed, how the others end was not.",
        "Learned means that copying is; attention_at_end says whether attention found the right position.",
    ]
    if order.preset == "quick":
        told.append("quick: four distributions and two seeds each.")
    if order.preset == "reduced":
        told.append("reduced: three seeds a distribution instead of five.")
    return tuple(told)


def figures(distributions: Table) -> dict[str, alt.TopLevelMixin]:
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
        ).properties(title=_title("From the strongest forecast to none"), width=360, height=16 * len(distributions)),
        "success": alt.layer(
            thresholds,
            alt.Chart(data)
            .mark_rule(opacity=0.4)
            .encode(x=gain, y=alt.Y("low:Q", title=rate), y2="high:Q", color=colour),
            points.encode(x=gain, y="rate:Q", color=colour, tooltip=tooltip),
        ).properties(title=_title("Forecast and success; dashed: thresholds set beforehand"), **size),
        "steps": alt.layer(
            thresholds,
            points.encode(x=gain, y=alt.Y("mean_step:Q", title="mean step to success"), color=colour, tooltip=tooltip),
        ).properties(title=_title(f"Forecast and speed; a failure counts as {TOO_LATE}"), **size),
    }


def _title(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, anchor="start", fontSize=14, color=INK)
