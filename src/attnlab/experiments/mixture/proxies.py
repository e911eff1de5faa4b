"""The proxy's side of the experiment mixture: proxies really trained, and what their tables say about words."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.copying.spec import PairProxySpec
from attnlab.families.copying.task import Distribution
from attnlab.families.copying.word_sets import SetMeasures, measure_sets
from attnlab.lab.copying import task_of
from attnlab.lab.experiment import Setting, Table, by_preset
from attnlab.lab.outcomes import Outcome, mean
from attnlab.pages.charts import COLOURS, panels, rounded
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

STEPS = by_preset(500, 1000, 1000)
EVALUATIONS = (0, 10, 20, 50, 100, 200, 500, 1000)
SMALLEST = 1e-6
"""Smaller values of the probe are drawn here."""


def proxy_on(setting: Setting) -> Setting:
    """The proxy of P3 2.3 with 256 numbers a word, batches of 128 pairs, Adam at 1e-3; measured ever more seldom."""
    schedules = {
        preset: Schedule(
            steps=steps, evaluations=tuple(step for step in EVALUATIONS if step <= steps), checkpoint_every=steps
        )
        for preset, steps in STEPS.items()
    }

    def spec(seed: int) -> RunSpec:
        return setting.spec(seed).model_copy(update={"model": PairProxySpec()})

    return Setting(f"proxy, {setting.name}", spec, by_preset(2, 20, 20), schedules)


@dataclass(frozen=True)
class Fitted:
    """One seed of the proxy on a distribution whose words fall into ``sets`` sets, and what its table says."""

    outcome: Outcome
    sets: int
    measured: SetMeasures

    @property
    def setting(self) -> str:
        """The distribution's name."""
        return self.outcome.setting

    @property
    def distribution(self) -> Distribution:
        return task_of(self.outcome.spec).distribution.build()

    @property
    def chance(self) -> float:
        """The share of output words whose own word would be the largest of its set by chance."""
        return self.sets / self.distribution.words


def read_fitted(outcome: Outcome, sets: int) -> Fitted:
    """A trained proxy and what its table says, against its start."""
    run = outcome.run.run
    assert run is not None
    tables = [run.fields(step) for step in (0, outcome.run.step)]
    start, end = (np.stack([np.asarray(t[name], dtype=np.float64) for name in t.column_names], 1) for t in tables)
    return Fitted(outcome, sets, measure_sets(start, end, sets))  # of theta (inputs, outputs)


# --- tables, figure, words


def proxy_table(fitted: Sequence[Fitted]) -> Table:
    """A row for each distribution: what the proxy learned, mean over seeds."""
    table = []
    for name in dict.fromkeys(one.setting for one in fitted):
        group = [one for one in fitted if one.setting == name]
        seeds, first = [seed_row(one) for one in group], group[0]
        row = {"setting": name, "seeds": len(group), "updates": first.outcome.run.step}
        row |= {"least_loss": log(first.distribution.length), "chance": first.chance}  # each output word as likely
        table.append(row | {key: mean(row[key] for row in seeds) for key in seeds[0] if key not in row})
    return table


def seed_row(one: Fitted) -> dict[str, Any]:
    """What one seed of the proxy learned."""
    row = {"setting": one.setting, "seed": one.outcome.seed, "loss": one.outcome.run.rows[-1]["loss"]}
    return {**row, **vars(one.measured), "right": one.measured.right, "separation": one.measured.separation}


def proxies_in_words(table: Table) -> str:
    """What the proxies learned, as sentences."""
    sentences = []
    for row in table:
        sentence = (
            f"The proxy on {row['setting']}: an output word's own input word has the largest probe of its set in "
            f"{row['top']:.1%} of the cases (chance {row['chance']:.1%}), and there it is {compared(row['right'])}. "
            f"The random start scatters the probe by {row['spread_start']:.1%} of the mean of a set; training changed "
            f"these differences between words by {row['reshaped']:.2%}."
        )
        if row["other_set"] is not None:
            sentence += f" The probe is {row['set_mean']:.4f} at words of its set and {row['other_set']:.4f} at others."
        sentences.append(sentence)
    return " ".join(sentences)


def compared(right: float) -> str:
    """How the probe at the right word compares with the mean of its set, which it differs from by ``right`` of it."""
    if right > 1:
        return f"{1 + right:.0f} times the mean of its set"
    return f"{abs(right):.1%} {'above' if right >= 0 else 'below'} the mean of its set"


def proxy_figure(fitted: Sequence[Fitted]) -> alt.FacetChart:
    """A dot for each seed: the trained proxy's probe at the right word, at others of its set, at those of the other."""
    kinds = {"its own word": "own", "another word of its set": "same_set", "a word of the other set": "other_set"}
    rows = [
        {"setting": one.setting, "seed": one.outcome.seed, "input word": kind, "probe": max(value, SMALLEST)}
        for one in fitted
        for kind, field in kinds.items()
        if (value := getattr(one.measured, field)) is not None
    ]
    word, axis = "input word, seen from an output word", alt.Axis(labelAngle=-30)
    probe = alt.Y(
        "probe:Q",
        title="the proxy's probe, mean over output words",
        scale=alt.Scale(type="log", domain=[SMALLEST, 1]),
        axis=alt.Axis(values=[10.0**power for power in range(-6, 1)], format="~e"),
    )
    dots = alt.Chart().mark_point(filled=True, size=50, opacity=0.6).properties(width=230, height=220)
    layer = dots.encode(
        x=alt.X("input word:N", title=word, sort=list(kinds), axis=axis),
        y=probe,
        color=alt.Color("input word:N", legend=None, scale=alt.Scale(domain=list(kinds), range=list(COLOURS[:3]))),
        tooltip=["seed:N", rounded("probe", ".5f")],
    )
    return panels(rows, layer=layer, title="What the trained proxy knows about pairs of words")
