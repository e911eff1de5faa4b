"""Do the two stages overlap on the keyword task, too? (blog) At a tenth of the learning rate they can be told apart.

At the usual rate the keyword task is learned within five updates: the lexical probe has ended where attention begins,
or the two differ by less than one evaluation. Everything else is as in `knowledge_first`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from attnlab.experiments.knowledge_first import stages
from attnlab.experiments.knowledge_first.experiment import (
    BLOGS,
    GATED,
    KEYWORD,
    P3S,
    POINTING,
    POSITIONS,
    in_words,
    overlapping,
    seed_row,
    setting_row,
)
from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.pages.charts import metric_curves
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec

# --- settings

RATE = 1e-4
CLOSE = (*range(81), *range(85, 201, 5))
"""Evaluations: every update up to 80, then every 5 to 200."""
SEEDS = by_preset(1, 5, 5)


def slowly(fast: Setting, model: ClassifierSpec) -> Setting:
    """A setting of the keyword task at a tenth of its learning rate."""

    def spec(seed: int) -> RunSpec:
        how: dict[str, Any] = {"batch": 32, "evaluation_batch": 400, "init_seed": seed, "data_seed": seed}
        return RunSpec(task=KeywordSpec(), model=model, optimiser=AdamSpec(learning_rate=RATE), **how)

    return Setting(f"{fast.name}, rate 1e-4", spec, SEEDS, Schedule(steps=CLOSE[-1], evaluations=CLOSE))


SLOW = {KEYWORD.name: slowly(KEYWORD, P3S), GATED.name: slowly(GATED, BLOGS)}
"""By the name of the setting that each slows down."""


class SlowStages(Experiment):
    """The keyword task with P3's classifier and with the blog's gated LSTM, at a rate of 1e-4."""

    name = "slow-stages"
    title = "Do the two stages overlap on the keyword task?"
    source = "blog"
    settings = tuple(SLOW.values())

    # --- measures

    def measure(self, runs: Runs) -> None:
        self.courses = {
            slow.name: [stages.row_course(one, POSITIONS[fast]) for one in runs[slow]] for fast, slow in SLOW.items()
        }
        self.curves = [row for group in self.courses.values() for course in group for row in course.rows()]

    # --- rules

    @claim("stages-overlap", reads=("runs",))
    def stages_overlap(self) -> Iterator[Part]:
        for setting in self.settings:
            yield overlapping(setting.name, self.record.rows("runs", setting=setting.name))

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"settings": [setting_row(name, group) for name, group in self.courses.items() if group]}

    def run_tables(self) -> dict[str, Table]:
        """``curves``: both fields at every evaluation."""
        return {"runs": [seed_row(one) for group in self.courses.values() for one in group], "curves": self.curves}

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return next(seed_row(one) for one in self.courses[outcome.setting] if one.seed == outcome.seed)

    def figures(self) -> Figures:
        largest, where = "right position is the largest", "Where words and attention point, at a tenth of the rate"
        return {"knowledge": metric_curves(self.curves, POINTING, y_title=largest, title=where)}

    def summary(self) -> str:
        return " ".join(in_words(setting_row(name, group)) for name, group in self.courses.items() if group)

    def notes(self) -> list[str]:
        return [
            "A field gets there once the keyword's position is its largest in at least half of the positive sequences.",
            "The learning rate is 1e-4 instead of 1e-3; batches, sizes and data are those of knowledge-first.",
            *self.at_preset(quick="quick: one seed of each network; it decides nothing."),
        ]
