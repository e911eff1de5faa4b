"""Copying (P3 3.3, Figure 2 left; blog; slides): the larger distribution is the easier one.

Permutations of 40 words all hold the same bag of words, so under uniform attention nothing tells which input word an
output word comes from. Sequences of 40 out of 60 words, or of 40 independent words, differ in their words, and that is
enough.
"""

from collections.abc import Mapping

import altair as alt
import numpy as np

from attnlab.families.copying.spec import CopyingSpec, IndependentSpec, PermutationsSpec, SelectionsSpec
from attnlab.families.copying.task import random_permutation
from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Order, Result, Table
from attnlab.lab.success import (
    EVERY,
    LEARNED,
    WITHIN,
    Outcome,
    Setting,
    always,
    by_setting,
    curve_table,
    first_learned,
    learns_more_often,
    often_fails,
    rate_row,
    seeds_of,
    two_curves,
)
from attnlab.pages.charts import curves, panels
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.intervals import bootstrap_difference

LATE = 1000
"""Runs that have not learned by then go on to here, whether or not they learn on the way."""

SUBSTITUTION = random_permutation(40, seed=0)

PERMUTATIONS = Setting(
    "permutations of 40",
    CopyingSpec(distribution=PermutationsSpec(words=40)),
    {"quick": 3, "reduced": 20, "paper": 40},
)
SELECTIONS = Setting(
    "40 of 60",
    CopyingSpec(distribution=SelectionsSpec(length=40, words=60)),
    {"quick": 3, "reduced": 20, "paper": 20},
)
SUBSTITUTED = Setting(
    "i.i.d. from 40, substituted",
    CopyingSpec(distribution=IndependentSpec(length=40, words=40), substitution=SUBSTITUTION),
    {"quick": 3, "reduced": 20, "paper": 20},
)
INDEPENDENT = Setting(
    "i.i.d. from 40",
    CopyingSpec(distribution=IndependentSpec(length=40, words=40)),
    {"quick": 0, "reduced": 20, "paper": 20},
    ends_when_learned=True,
)
SETTINGS = (PERMUTATIONS, SELECTIONS, SUBSTITUTED, INDEPENDENT)


class Copying:
    """Figure 2 left, and the slides' settings."""

    name = "copying"
    title = "When the larger distribution is the easier one"
    source = "P3 3.3, Figure 2 left; blog; slides"

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        jobs = []
        for setting in SETTINGS:
            for seed in seeds_of(setting, order):
                job = make_job(setting, seed, order.preset, late=False)
                run = done.get(job.spec.id)
                if order.preset == "paper" and run is not None and first_learned(run.rows) is None:
                    job = make_job(setting, seed, order.preset, late=True)
                jobs.append(job)
        return jobs

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:  # noqa: ARG002 (runs may end early)
        late = order.preset == "paper"
        return [
            make_job(setting, seed, order.preset, late=late and setting is PERMUTATIONS)
            for setting in SETTINGS
            for seed in seeds_of(setting, order)
        ]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        outcomes = [
            Outcome(setting.name, seed, done[make_spec(setting, seed).id])
            for setting in SETTINGS
            for seed in seeds_of(setting, order)
        ]
        success = success_table(outcomes)
        return Result(
            summary=tell(success),
            tables={
                "success": success,
                "seeds": [seed_row(outcome) for outcome in outcomes],
                "curves": curve_table(outcomes),
            },
            figures=figures(outcomes),
            findings=decide(outcomes),
            notes=notes(order),
            seeds={setting.name: seeds_of(setting, order) for setting in SETTINGS if seeds_of(setting, order)},
        )


def make_spec(setting: Setting, seed: int) -> RunSpec:
    """P3's network (batch 128, hidden 256, Adam 1e-3) on the setting's task; one seed for start and data."""
    return RunSpec(task=setting.task, init_seed=seed, data_seed=seed)


def make_job(setting: Setting, seed: int, preset: Preset, *, late: bool) -> Job:
    """One run of a setting; at ``quick`` it ends once it has learned; ``late`` takes it on to step 1000."""
    stop = LEARNED if (setting.ends_when_learned or preset == "quick") and not late else None
    schedule = Schedule.every(EVERY, steps=LATE if late else WITHIN, stop_at=stop)
    return Job(f"{setting.name}, seed {seed}", make_spec(setting, seed), schedule)


# --- tables


def success_table(outcomes: list[Outcome]) -> Table:
    """A row for each setting: how many seeds learned, with a Wilson interval, and how soon."""
    table = []
    for name, group in by_setting(outcomes).items():
        steps = [outcome.step for outcome in group if outcome.step is not None]
        late = [outcome for outcome in group if outcome.run.step > WITHIN]
        late_steps = [step for outcome in late if (step := outcome.learned_within(LATE)) is not None]
        attention = [outcome.at(LATE, "attention_accuracy") for outcome in late]
        table.append(
            {
                "setting": name,
                **rate_row(group),
                "first_step": min(steps, default=None),
                "median_step": float(np.median(steps)) if steps else None,
                "last_step": max(steps, default=None),
                "continued": len(late),
                f"learned_by_{LATE}": len(late_steps),
                "median_late_step": float(np.median(late_steps)) if late_steps else None,
                f"attending_at_{LATE}": sum(share is not None and share > 0.5 for share in attention),
            }
        )
    return table


def seed_row(outcome: Outcome) -> dict[str, object]:
    """How one seed ended."""
    return {
        "setting": outcome.setting,
        "seed": outcome.seed,
        "learned": outcome.step is not None,
        "step": outcome.step,
        "late_step": outcome.learned_within(LATE),
        f"accuracy_{WITHIN}": outcome.at(WITHIN, "accuracy"),
        f"accuracy_{LATE}": outcome.at(LATE, "accuracy"),
        f"attention_{LATE}": outcome.at(LATE, "attention_accuracy"),
        f"probe_{LATE}": outcome.at(LATE, "probe_accuracy"),
        "last_step": int(outcome.run.rows[-1]["step"]),
        "last_accuracy": outcome.run.rows[-1]["accuracy"],
        "run": outcome.run.id,
    }


def tell(success: Table) -> str:
    """The result in plain words."""
    sentences = []
    for row in success:
        sentence = (
            f"{row['setting']}: {row['learned']} of {row['seeds']} runs learned to copy within {WITHIN} updates "
            f"({row['rate']:.0%}, 95 % interval {row['low']:.0%} to {row['high']:.0%}"
        )
        sentence += f"; median step {row['median_step']:.0f})." if row["learned"] else ")."
        if row["continued"]:
            sentence += f" Of the {row['continued']} others, {row[f'learned_by_{LATE}']} had learned by step {LATE}"
            sentence += f" (median step {row['median_late_step']:.0f});" if row["median_late_step"] else ";"
            sentence += (
                f" at step {LATE} {row[f'attending_at_{LATE}']} of them attended to the right position in more than "
                f"half of the cases."
            )
        sentences.append(sentence)
    return " ".join(sentences)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "Source and target both close with an end symbol; accuracy is over all 41 output symbols of 50 fresh "
        "sequences, teacher forced.",
        "The score is s_t^T W h_l without a bias, as in the text.",
    ]
    if order.preset == "quick":
        told.append("quick: three seeds a setting, a run ends once it has learned, none goes on behind step 200.")
    if order.preset == "reduced":
        told.append("reduced: 20 seeds a setting instead of 40 for permutations, none goes on behind step 200.")
    if order.preset == "paper":
        told.append(
            "Runs on plain i.i.d. sequences end once they have learned; all others run to step 200 at least. Those "
            "that have not learned by then go on to step 1000."
        )
    return tuple(told)


# --- claims


def decide(outcomes: list[Outcome]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    groups = by_setting(outcomes)
    permutations, selections = groups.get(PERMUTATIONS.name, []), groups.get(SELECTIONS.name, [])
    return (
        Finding("copy-k-of-n-learns", (always(SELECTIONS.name, selections),)),
        Finding(
            "copy-permutations-fail", (often_fails(permutations, selections), learns_later(permutations, selections))
        ),
        Finding(
            "copy-iid-learns",
            tuple(always(s.name, groups.get(s.name, [])) for s in (SUBSTITUTED, INDEPENDENT)),
        ),
        Finding(
            "copy-support-paradox",
            tuple(
                learns_more_often(f"{s.name} against {PERMUTATIONS.name}", groups.get(s.name, []), permutations)
                for s in (SELECTIONS, SUBSTITUTED)
            ),
        ),
    )


def learns_later(group: list[Outcome], control: list[Outcome]) -> Part:
    """Holds if the median step of those that learn lies above the control's: the interval of the difference above 0."""
    steps = [outcome.step for outcome in group if outcome.step is not None]
    control_steps = [outcome.step for outcome in control if outcome.step is not None]
    if min(len(steps), len(control_steps)) < 5:
        detail = f"Only {len(steps)} and {len(control_steps)} seeds learned; at least 5 each are needed."
        return Part("later when learned", "undecided", None, None, "seeds", detail)
    difference = float(np.median(steps) - np.median(control_steps))
    interval = bootstrap_difference(steps, control_steps, "median")
    assert interval is not None  # five values have one
    verdict: Verdict = "holds" if interval[0] > 0 else "fails" if interval[1] < 0 else "undecided"
    detail = f"Median step {np.median(steps):.0f} of {len(steps)} against {np.median(control_steps):.0f}."
    return Part("later when learned", verdict, difference, interval, "seeds", detail)


# --- figures


def figures(outcomes: list[Outcome]) -> dict[str, alt.TopLevelMixin]:
    """Curves of all seeds: accuracy, lexical probe against attention, and the continued runs if there are any."""
    table = curve_table(outcomes)
    early = [row for row in table if row["step"] <= WITHIN]
    drawn: dict[str, alt.TopLevelMixin] = {
        "curves": panels(
            early,
            column="setting",
            layer=curves(x="step", y="accuracy", group="seed", x_title="updates", y_title="token accuracy"),
            title="Accuracy of every seed",
        ),
        "knowledge": two_curves(
            early,
            {"lexical probe": "probe_accuracy", "attention": "attention_accuracy"},
            y_title="right position is the largest",
            title="Where lexical knowledge and attention point",
        ),
    }
    continued = {(row["setting"], row["seed"]) for row in table if row["step"] > WITHIN}
    if continued:
        drawn["continued"] = two_curves(
            [row for row in table if (row["setting"], row["seed"]) in continued],
            {"token accuracy": "accuracy", "attention at the right position": "attention_accuracy"},
            y_title="share of the outputs",
            title=f"Seeds that had not learned by step {WITHIN}, continued to step {LATE}",
        )
    return drawn
