"""Topic limits (ours, after P1 3): the identity of score and norm with a small dictionary, and with large steps.

P1 assumes |Theta| >> |T| and gradient flow. Here the dictionary shrinks until it is as small as the set of topic words,
and the rate grows until a handful of updates is all of training. Scores keep their sum, so in a small dictionary the
other words' scores fall as the topic words' rise; the identity can be mended for that.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from attnlab.experiments.topics.runs import EPOCHS, FC, TopicExperiment, below_bound, course_of, setting
from attnlab.families.topics.spec import TopicsSpec
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Figures, Setting, Table, by_preset, claim
from attnlab.lab.outcomes import Outcome, mean
from attnlab.lab.rules import above, low_high, missing
from attnlab.pages.charts import seed_dots
from attnlab.stats.bootstrap import bootstrap_interval

# --- settings

SEEDS = by_preset(1, 3, 5)
RATE = 0.1
"""P1's."""
RATES = (1.0, 10.0, 50.0)
FEWEST_EPOCHS = 100
"""Epochs of a run at a large rate, where P1's 5000 at 0.1 would be fewer."""
TOPIC_WORDS = 8
DICTIONARIES = (5000, 500, 50, TOPIC_WORDS)
"""P1's, and smaller ones down to as many words as there are topic words."""
OFF = 0.05
"""Norms that deviate by less are on the identity, as in topic-words."""


def sized(dictionary: int) -> str:
    """How a setting with another dictionary is called."""
    return f"dictionary of {dictionary}"


def paced(rate: float) -> str:
    """How a setting with another rate is called."""
    return f"rate {rate:g}"


def faster(rate: float) -> Setting:
    """P1's task at a larger rate, for as long in time steps x rate, measured at every epoch."""
    epochs = max(FEWEST_EPOCHS, round(EPOCHS * RATE / rate))
    return setting(paced(rate), FC, SEEDS, rate=rate, epochs=epochs, evaluations=range(epochs))


class TopicLimits(TopicExperiment):
    """P1's fixed classifier on dictionaries of 5000 to 8 words at its rate, and on 5000 words at rates up to 50."""

    name = "topic-limits"
    title = "The identity of score and norm with few words and large steps"
    source = "ours, after P1 3"
    settings = (
        *(setting(sized(size), FC, SEEDS, task=TopicsSpec(dictionary=size), rate=RATE) for size in DICTIONARIES),
        *(faster(rate) for rate in RATES),
    )

    # --- rules

    @claim("identity-needs-large-dictionary", reads=("runs",))
    def small_dictionary_breaks(self) -> Part:
        return above_bound(sized(TOPIC_WORDS), self.column(sized(TOPIC_WORDS), "largest_deviation"))

    @claim("identity-mended-for-dictionary", reads=("runs",))
    def mended(self) -> Iterator[Part]:
        for size in DICTIONARIES[2:]:
            values = self.column(sized(size), "mended_deviation")
            yield below_bound(sized(size), values, OFF, "largest relative deviation from the mended identity")

    @claim("identity-needs-small-steps", reads=("runs",))
    def large_steps_break(self) -> Iterator[Part]:
        """Ten times P1's rate is small still, five hundred times is not."""
        first, last = paced(RATES[0]), paced(RATES[-1])
        yield below_bound(first, self.column(first, "largest_deviation"), OFF, "largest relative deviation")
        yield above_bound(last, self.column(last, "largest_deviation"))

    def column(self, name: str, measure: str) -> list[float | None]:
        """One measure of every run of a setting."""
        return [row[measure] for row in self.record.rows("runs", setting=name)]

    # --- tables, figures, words

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        """Beside what every topic run has: how far it is from the mended identity, and how far other words fell."""
        course, fall = course_of(outcome), fall_of(outcome)
        known = {"mended_deviation": course.largest_deviation(fall), "fall": fall}
        return {**super().run_row(outcome), **known, "other_score": course.end("other_score_50")}

    def tables(self) -> Mapping[str, Table]:
        return {"deviations": self.deviations()}

    def deviations(self) -> list[dict[str, Any]]:
        """For each setting: largest deviations from the identity as it is and mended, means over seeds."""
        table = []
        for name in self.courses:
            rows = [self.run_row(outcome) for outcome in self.runs[name]]
            largest = [row["largest_deviation"] for row in rows if row["largest_deviation"] is not None]
            table.append(
                {
                    "setting": name,
                    "seeds": len(rows),
                    "seen": len(largest),
                    "largest_deviation": mean(largest),
                    **low_high(bootstrap_interval(largest) if largest else None),
                    **{what: mean(row[what] for row in rows) for what in MEANS},
                }
            )
        return table

    def figures(self) -> Figures:
        names = {"largest_deviation": "the identity", "mended_deviation": "mended"}
        rows = [
            {"setting": row["setting"], "seed": row["seed"], "from": names[what], "deviation": row[what]}
            for outcome in self.runs.all()
            for row in [self.run_row(outcome)]
            for what in names
            if row[what] is not None
        ]
        x = alt.X("deviation:Q", title="largest relative deviation", scale=alt.Scale(type="log"))
        title = "How far norms deviate from the identity, every seed"
        return {"deviations": seed_dots(rows, x=x, colour="from", title=title, height=240, order=list(self.courses))}

    def summary(self) -> str:
        return " ".join(
            f"{row['setting']}: no topic word's score exceeds 0.05."
            if row["largest_deviation"] is None
            else f"{row['setting']}: norms deviate from the identity by at most {row['largest_deviation']:.2%} on "
            f"average over {row['seen']} seeds, from the mended one by {row['mended_deviation']:.2%}."
            for row in self.deviations()
        )

    def notes(self) -> list[str]:
        return [
            "Deviations are relative, of the embedding's norm, where the score exceeds 0.05.",
            "Mended: the other words' scores are taken to fall by |T| / |Theta| of the topic words' rise.",
            f"At a large rate a run has {EPOCHS} epochs times {RATE:g} by the rate, at least {FEWEST_EPOCHS}, and is "
            "measured at every one.",
            *self.at_preset(quick="quick: one seed of each setting.", reduced="reduced: three seeds of each setting."),
        ]


MEANS = ("mended_deviation", "median_deviation", "final_score", "other_score", "final_loss")


def fall_of(outcome: Outcome) -> float:
    """|T| / |Theta| of a run's task."""
    assert outcome.spec is not None
    assert isinstance(outcome.spec.task, TopicsSpec)
    return TOPIC_WORDS / outcome.spec.task.dictionary


def above_bound(name: str, values: list[float | None]) -> Part:
    """Holds if the mean over seeds of the largest deviation has a lower 95 % bound above 0.05."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return missing(name, detail=f"{len(values) - len(known)} of {len(values)} seeds have no deviation.")
    detail = f"largest relative deviation {mean(known):.3g} on average over {len(known)} seeds; the bound is {OFF}."
    return above(name, known, OFF, detail, least=1)
