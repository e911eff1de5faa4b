"""Can copying be learned with attention kept off the word that is copied? (Pruthi et al. 2020; slides)

The network of P3 2.1 copies 40 of 60 words. Beside the loss it goes down -lambda log(1 - m), m being the attention on
the right input position. Beside it: learned attention without that, and uniform attention.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from attnlab.families.copying.spec import CopyingSpec, OffPositionSpec, SelectionsSpec, Seq2SeqSpec
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import Estimate, as_good_as, in_words, low_high, lower
from attnlab.pages.charts import metric_curves
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.student import student_interval

WEIGHTS = (0.1, 1.0)
LEARNED, UNIFORM = "learned", "uniform"
STEPS = by_preset(60, 400, 400)
SEEDS = by_preset(2, 5, 5)
HIDDEN = by_preset(32, 256, 256)
LENGTH = by_preset((8, 12), (40, 60), (40, 60))
MARGIN, LITTLE = 0.02, 0.05
"""Accuracy within 2 points; less attention than this on the right word."""


def off(weight: float) -> str:
    """How a deceptive setting is called."""
    return f"kept off, lambda {weight:g}"


class DeceptiveCopying(Experiment):
    """Copying with attention learned, kept off the right word, and uniform."""

    name = "deceptive-copying"
    title = "Copying with attention kept off the word that is copied"
    source = "Pruthi et al. 2020"
    decides_at = ("reduced", "paper")

    def settings_at(self, preset: Preset) -> Sequence[Setting]:
        length, words = LENGTH[preset]
        task = CopyingSpec(distribution=SelectionsSpec(length=length, words=words))

        def setting(name: str, **changes: Any) -> Setting:
            model = Seq2SeqSpec(hidden=HIDDEN[preset], attention="uniform" if name == UNIFORM else "learned")

            def spec(seed: int) -> RunSpec:
                return RunSpec(task=task, model=model, init_seed=seed, data_seed=seed, **changes)

            return Setting(name, spec, SEEDS, Schedule.every(20, steps=STEPS[preset]))

        kept = [setting(off(weight), deception=OffPositionSpec(weight=weight)) for weight in WEIGHTS]
        return [setting(LEARNED), *kept, setting(UNIFORM)]

    def measure(self, runs: Runs) -> None:
        self.last = {
            name: {metric: np.array([one.run.rows[-1][metric] for one in group]) for metric in METRICS}
            for name, group in runs.items()
        }

    def paired(self) -> Table:
        """The largest lambda beside learned attention, seed by seed: what its accuracy gains, and what attention on the
        right word is left.
        """
        kept = self.last.get(off(WEIGHTS[-1]))
        if kept is None:
            return []
        values = {"accuracy": kept["accuracy"] - self.last[LEARNED]["accuracy"], "attention": kept["attention_mean"]}
        return [
            {"what": what, "value": float(one.mean()), **low_high(student_interval(one)), "seeds": len(one)}
            for what, one in values.items()
        ]

    @claim("deceptive-copying", reads=("paired",))
    def copies(self) -> Iterator[Part]:
        """Accuracy within the margin of the learned runs', and little attention where it counts."""
        for row in self.record.rows("paired"):
            found = Estimate.of(row, over="seeds")
            accuracy = row["what"] == "accuracy"
            verdict = as_good_as(found.interval, MARGIN) if accuracy else lower(found.interval, LITTLE)
            what = (
                "Accuracy differs from that of learned attention by" if accuracy else "Attention on the right word is"
            )
            detail = f"{what} {found.value:.4f} ({in_words(found.interval)}) over {row['seeds']} seeds."
            yield Part(row["what"], verdict, found.value, found.interval, "seeds", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "paired": self.paired(),
            "ends": [
                {
                    "setting": name,
                    "seeds": len(last["accuracy"]),
                    **{m: float(values.mean()) for m, values in last.items()},
                }
                for name, last in self.last.items()
            ],
        }

    def figures(self) -> Figures:
        metrics = {"accuracy": "accuracy", "attention on the right word": "attention_mean"}
        chart: alt.TopLevelMixin = metric_curves(
            self.runs.curves(), metrics, y_title="share", title="Copying, and where attention is meanwhile"
        )
        return {"curves": chart}

    def summary(self) -> str:
        said = [
            f"{line['setting']}: accuracy {line['accuracy']:.3f}, attention on the right word "
            f"{line['attention_mean']:.3f}"
            for line in self.tables()["ends"]
        ]
        return f"After {STEPS[self.order.preset]} updates, means over seeds. {'; '.join(said)}."

    def notes(self) -> list[str]:
        return [
            "A public reproduction of Pruthi et al. (another task of copying, another network) has: dot attention 100 "
            "% with mass 94 on the right word, deceptive 99.9 % with 0.02, uniform 81.8 %, no attention 83.8 %.",
            "The penalty is bounded: 1 % of its argument is kept from 0, so it is at most 4.6.",
            *self.at_preset(quick="At quick: 8 of 12 words, a network of 32, 60 updates."),
        ]


METRICS = ("accuracy", "attention_mean", "attention_accuracy")
