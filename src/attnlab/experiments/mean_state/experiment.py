"""Mean state (ours, after the blog): on copying, is the mean encoder state a bag of words while attention is uniform?

The blog supposes, for simplicity, that the average LSTM state is similar to the average word embedding: then a network
with uniform attention reads nothing but the bag of words, and all permutations look the same to it. locality measured
that on the keyword task; here it is measured where the blog needs it.
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from attnlab.families.copying.spec import CopyingSpec, DistributionSpec, PermutationsSpec, SelectionsSpec
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, mean
from attnlab.lab.rules import above, low_high
from attnlab.pages.charts import COLOURS, curves, panels
from attnlab.protocols import Row
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import bootstrap_interval

# --- settings

EVALUATED = 960
"""Fresh sequences an evaluation: two thirds fit the linear map, ten for each of 61 symbols."""
EVALUATIONS = (0, 5, 10, 15, 20, 30, 40, 60, 80, 100)
STEPS = by_preset(10, 100, 100)
SEEDS = by_preset(1, 5, 10)
POSITIONS = 41
"""Of an input: 40 words and the end."""
NEAR_UNIFORM = 0.95
"""Share of the largest entropy above which attention is near uniform, as in knowledge-first."""
CLOSE = 0.9
"""Share of the variance that a good description explains, as in locality."""
FEWEST = 5
"""Seeds below which nothing is decided."""


def copying(name: str, distribution: DistributionSpec) -> Setting:
    """P3's network on a task; one seed for start and data."""
    task = CopyingSpec(distribution=distribution)
    schedules = {
        preset: Schedule(steps=steps, evaluations=tuple(step for step in EVALUATIONS if step <= steps))
        for preset, steps in STEPS.items()
    }
    return Setting(
        name,
        lambda seed: RunSpec(task=task, evaluation_batch=EVALUATED, init_seed=seed, data_seed=seed),
        SEEDS,
        schedules,
    )


SELECTIONS = copying("40 of 60", SelectionsSpec(length=40, words=60))
PERMUTATIONS = copying("permutations of 40", PermutationsSpec(words=40))


class MeanState(Experiment):
    """Copying 40 of 60 and permutations of 40, their mean states at every evaluation."""

    name = "mean-state"
    title = "Is the mean state of a copying network a bag of words?"
    source = "ours, after the blog"
    settings = (SELECTIONS, PERMUTATIONS)
    decides_at = ("reduced", "paper")
    recalls = True

    # --- rules

    @claim("mean-state-is-a-bag-copying", reads=("runs",))
    def mean_state_is_a_bag(self) -> Sequence[Part]:
        return [self.part(setting) for setting in self.settings]

    def part(self, setting: Setting) -> Part:
        """The share that the bag of words explains while attention is near uniform."""
        group = self.record.rows("runs", setting=setting.name)
        values = [row["bag_uniform"] for row in group if row["bag_uniform"] is not None]
        detail = ""
        if values:
            detail = (
                f"{mean(values):.3f} of the variance while attention is near uniform, over {len(values)} of "
                f"{len(group)} seeds; {mean(row['bag_last'] for row in group):.3f} at the last evaluation."
            )
        return above(setting.name, values, CLOSE, detail, least=FEWEST)

    # --- tables, figures, words

    def run_row(self, outcome: Outcome) -> Mapping[str, Any]:
        """What the bag explains early and at the end, and how long early is."""
        early, last = uniform_rows(outcome.run.rows), outcome.run.rows[-1]
        line: dict[str, Any] = {"setting": outcome.setting, "seed": outcome.seed}
        line |= {"bag_uniform": mean(bag(row) for row in early), "bag_last": bag(last)}
        line["mixed_uniform"] = mean(row["mean_state_mixed"] for row in early)
        line["uniform_until"] = int(early[-1]["step"]) if early else None
        return {**line, "accuracy": last["accuracy"], "last_step": int(last["step"]), "run": outcome.run.id}

    def tables(self) -> Mapping[str, Table]:
        return {"shares": [self.share_row(name, group) for name, group in self.runs.items()]}

    def share_row(self, name: str, group: Sequence[Outcome]) -> dict[str, Any]:
        """A task's means over seeds."""
        rows = [self.run_row(outcome) for outcome in group]
        values = [row["bag_uniform"] for row in rows if row["bag_uniform"] is not None]
        line = {"setting": name, "seeds": len(rows), "bag_uniform": mean(values)}
        line |= low_high(bootstrap_interval(values) if values else None)
        return line | {what: mean(row[what] for row in rows) for what in ("mixed_uniform", "bag_last", "uniform_until")}

    def figures(self) -> Figures:
        rows = [
            {"setting": one.setting, "seed": one.seed, "step": int(row["step"]), "what": what, "share": value}
            for one in self.runs.all()
            for row in one.run.rows
            for what, value in (
                ("mean state explained", bag(row)),
                ("attention's entropy", row["attention_entropy"] / log(POSITIONS)),
                ("accuracy", row["accuracy"]),
            )
        ]
        lines = curves(y="share", y_title="share", colour="what", colours=COLOURS[:3])
        return {"bag": panels(rows, layer=lines, title="How much of the mean state the words explain, every seed")}

    def notes(self) -> Sequence[str]:
        return [
            "40 of 60: the variance of mean states that a linear map of the mean embedding explains, on sequences it "
            "was not fitted to.",
            "Permutations all have the same mean embedding, so no map can be fitted to them. There it is 1 minus the "
            "variance over permutations, as a share of that over sequences of 40 words drawn each on its own.",
            "mixed_uniform: the linear map on sequences of words drawn each on its own, for both tasks.",
            *self.at_preset(quick="quick: one seed of each, 10 updates.", reduced="reduced: 5 seeds instead of 10."),
        ]


def bag(row: Row) -> float:
    """The share of the mean state's variance that its words explain."""
    return row["mean_state"] if "mean_state" in row else 1 - row["mean_state_order"]


def uniform_rows(rows: Sequence[Row]) -> list[Row]:
    """The evaluations before the first at which attention is no longer near uniform."""
    least = NEAR_UNIFORM * log(POSITIONS)
    left = next((row["step"] for row in rows if row["attention_entropy"] < least), float("inf"))
    return [row for row in rows if row["step"] < left]
