"""The proxy's side of the experiment mixture: proxies really trained, and what their tables say about words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.copying.spec import CopyingSpec, PairProxySpec
from attnlab.families.copying.task import Distribution
from attnlab.families.copying.word_sets import Floats, SetMeasures, measure_sets
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Setting, Table
from attnlab.lab.outcomes import Outcome
from attnlab.lab.rules import above, below, within
from attnlab.pages.charts import COLOURS, panels
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule

STEPS: dict[Preset, int] = {"quick": 500, "reduced": 1000, "paper": 1000}
EVALUATIONS = (0, 10, 20, 50, 100, 200, 500, 1000)
SEEDS: dict[Preset, int] = {"quick": 2, "reduced": 20, "paper": 20}
FLAT = 0.01
"""Largest spread over positions, by the mean, that counts as none."""
POINTS = 0.02
"""Two points of accuracy: what counts as the same."""
SMALLEST = 1e-6
"""Smaller values of the probe are drawn here."""


def proxy_on(setting: Setting) -> Setting:
    """The proxy of P3 2.3 with 256 numbers a word, batches of 128 pairs, Adam at 1e-3; measured ever more seldom."""
    schedule: dict[Preset, Schedule] = {
        preset: Schedule(
            steps=steps, evaluations=tuple(step for step in EVALUATIONS if step <= steps), checkpoint_every=steps
        )
        for preset, steps in STEPS.items()
    }
    return Setting(
        f"proxy, {setting.name}",
        lambda seed: setting.spec(seed).model_copy(update={"model": PairProxySpec()}),
        SEEDS,
        schedule,
    )


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
        assert self.outcome.spec is not None
        assert isinstance(self.outcome.spec.task, CopyingSpec)
        return self.outcome.spec.task.distribution.build()

    @property
    def chance(self) -> float:
        """The share of output words whose own word would be the largest of its set by chance."""
        return self.sets / self.distribution.words


def read_fitted(outcome: Outcome, sets: int) -> Fitted:
    """A trained proxy and what its table says, against its start."""
    run = outcome.run
    return Fitted(outcome, sets, measure_sets(read_theta(run, 0), read_theta(run, run.step), sets))


def read_theta(run: Trained, step: int) -> Floats:
    """theta (inputs, outputs) as a run of the proxy kept it at an evaluation."""
    assert run.run is not None
    table = run.run.fields(step)
    return np.stack([np.asarray(table[name], dtype=np.float64) for name in table.column_names], 1)


# --- rules


def separates_sets(group: Sequence[Fitted]) -> Part:
    """Holds if the probe is higher at words of the right set than of the other: interval over seeds above 0."""
    apart = [one.measured.separation for one in group if one.measured.separation is not None]
    detail = f"The probe is {np.mean(apart or 0):.4f} higher at words of the right set."
    return above("the proxy separates the sets", apart, 0.0, detail)


def blind_inside_sets(group: Sequence[Fitted]) -> Part:
    """Holds if the right word is the largest of its set as often as by chance: interval within 2 points of it."""
    top, chance = [one.measured.top for one in group], group[0].chance if group else 0.0
    detail = (
        f"The right word is the largest of its set in {np.mean(top or 0):.2%} of the cases, by chance in {chance:.2%}."
    )
    return within("the proxy does not separate words", top, chance, POINTS, detail)


def flat(group: Sequence[Fitted]) -> tuple[Part, Part]:
    """Whether the proxy trained on permutations has the same probe at every position, its random start apart."""
    added, right = [one.measured.added for one in group], [one.measured.right for one in group]
    start = np.mean([one.measured.spread_start for one in group] or 0)
    detail = f"Its spread over positions is {np.mean(added or 0):.2%} of the mean; the random start has {start:.1%}."
    there = f"The probe there differs by {np.mean(right or 0):+.2%} from its mean over positions."
    return (
        below("what training adds", added, FLAT, detail),
        within("the right position", right, 0.0, FLAT, there),
    )


# --- tables, figure, words


def proxy_table(fitted: Sequence[Fitted]) -> Table:
    """A row for each distribution: what the proxy learned, mean over seeds."""
    table = []
    for name in dict.fromkeys(one.setting for one in fitted):
        group = [one for one in fitted if one.setting == name]
        seeds = [seed_row(one) for one in group]
        averages = {key: _mean([row[key] for row in seeds]) for key in seeds[0] if key not in ("setting", "seed")}
        table.append(
            {
                "setting": name,
                "seeds": len(group),
                "updates": group[0].outcome.run.step,
                "least_loss": log(group[0].distribution.length),  # each output word as likely
                "chance": group[0].chance,
                **averages,
            }
        )
    return table


def seed_row(one: Fitted) -> dict[str, Any]:
    """What one seed of the proxy learned."""
    measured = one.measured
    return {
        "setting": one.setting,
        "seed": one.outcome.seed,
        "loss": one.outcome.run.rows[-1]["loss"],
        **vars(measured),
        "right": measured.right,
        "separation": measured.separation,
    }


def _mean(values: Sequence[object]) -> float | None:
    known = [value for value in values if isinstance(value, float)]
    return float(np.mean(known)) if known else None


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
    rows: list[Mapping[str, object]] = [
        {"setting": one.setting, "seed": one.outcome.seed, "input word": kind, "probe": max(value, SMALLEST)}
        for one in fitted
        for kind, field in kinds.items()
        if (value := getattr(one.measured, field)) is not None
    ]
    layer = (
        alt.Chart()
        .mark_point(filled=True, size=50, opacity=0.6)
        .encode(
            x=alt.X(
                "input word:N",
                title="input word, seen from an output word",
                sort=list(kinds),
                axis=alt.Axis(labelAngle=-30),
            ),
            y=alt.Y(
                "probe:Q",
                title="the proxy's probe, mean over output words",
                scale=alt.Scale(type="log", domain=[SMALLEST, 1]),
                axis=alt.Axis(values=[10.0**power for power in range(-6, 1)], format="~e"),
            ),
            color=alt.Color("input word:N", legend=None, scale=alt.Scale(domain=list(kinds), range=list(COLOURS[:3]))),
            tooltip=["seed:N", alt.Tooltip("probe:Q", format=".5f")],
        )
        .properties(width=230, height=220)
    )
    return panels(rows, column="setting", layer=layer, title="What the trained proxy knows about pairs of words")
