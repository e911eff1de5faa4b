"""Topic capacity (P1 5): the more a classifier can do by itself, the less attention has to."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.topics.runs import FC, TC, TL, TopicExperiment, course_of, setting
from attnlab.families.topics.course import TopicCourse, curve_table, ranges
from attnlab.families.topics.spec import TopicModelSpec
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Figures, Table, claim
from attnlab.lab.outcomes import Outcome, mean
from attnlab.lab.rules import above, low_high
from attnlab.pages.charts import seed_curves, seed_dots
from attnlab.stats.bootstrap import bootstrap_interval

# --- settings

SEEDS: dict[Preset, int] = {"quick": 2, "reduced": 5, "paper": 5}
EQUAL_LOSS = 0.1
"""The loss at which scores are compared too: classifiers that start later are then not called weaker."""


def layers(*hidden: int) -> TopicModelSpec:
    """A classifier with ReLU layers of these widths."""
    return TL.model_copy(update={"hidden": hidden})


MODELS = {
    "FC": FC,
    "TC": TC,
    "TL, width 5": layers(5),
    "TL": TL,
    "TL, width 50": layers(50),
    "TL, width 200": layers(200),
    "TL, depth 2": layers(10, 10),
    "TL, depth 3": layers(10, 10, 10),
}


class TopicCapacity(TopicExperiment):
    """Fixed linear, trained linear, two layers of growing width, and more layers."""

    name = "topic-capacity"
    title = "A weaker classifier gives attention a stronger signal"
    source = "P1 1, 5"
    settings = tuple(setting(name, model, SEEDS) for name, model in MODELS.items())

    @claim("capacity-weakens-attention", reads=("runs",))
    def weaker_is_stronger(self) -> Iterator[Part]:
        for weak, strong in pairwise(("FC", "TC", "TL")):
            other, scores = (
                {row["seed"]: row["final_score"] for row in self.record.rows("runs", setting=setting)}
                for setting in (strong, weak)
            )
            differences = [score - other[seed] for seed, score in scores.items()]
            detail = (
                f"Mean final score {np.mean(list(scores.values())):.3f} with {weak} and "
                f"{np.mean(list(other.values())):.3f} with {strong}, over {len(scores)} seeds."
            )
            yield above(f"{weak} above {strong}", differences, 0, detail, least=1)

    # --- tables, figures, words

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        return {**super().run_row(outcome), "score_at_loss_0.1": score_at(course_of(outcome))}

    def tables(self) -> Mapping[str, Table]:
        return {"ranges": ranges(self.all_courses()), "capacity": self.capacity()}

    def capacity(self) -> list[dict[str, Any]]:
        """For each classifier: its layers, and means over seeds of what attention ends with."""
        table = []
        for name, group in self.courses.items():
            model = MODELS[name]
            reached = [score for course in group if (score := score_at(course)) is not None]
            final = [course.final_score() for course in group]
            table.append(
                {
                    "setting": name,
                    "hidden": " ".join(map(str, model.hidden)) if model.classifier == "layers" else "",
                    "seeds": len(group),
                    "final_score": float(np.mean(final)),
                    **low_high(bootstrap_interval(final)),
                    "final_weight": mean(course.end("weight_mean") for course in group),
                    "final_loss": mean(course.end("loss") for course in group),
                    "reached_loss_0.1": len(reached),
                    "score_at_loss_0.1": mean(reached),
                }
            )
        return table

    def figures(self) -> Figures:
        rows = [
            {"setting": course.setting, "seed": course.seed, "score": score, "when": when}
            for course in self.all_courses()
            for when, score in (("at the end", course.final_score()), ("at loss 0.1", score_at(course)))
            if score is not None
        ]
        what, title = "mean score of topic words", "Score of topic words through training"
        curves = curve_table(self.all_courses(), ("loss",), every=50)
        return {
            "capacity": seed_dots(
                rows,
                x=alt.X("score:Q", title=what),
                colour="when",
                title="Score by classifier, every seed",
                height=220,
                order=list(MODELS),
            ),
            "score": seed_curves(curves, "score", what, title, x_title="epochs", scale=alt.Scale(zero=True)),
        }

    def summary(self) -> str:
        sentences = []
        for row in self.capacity():
            sentence = f"{row['setting']}: topic words end with a mean score of {row['final_score']:.2f}"
            if row["score_at_loss_0.1"] is not None:
                sentence += f", and have {row['score_at_loss_0.1']:.2f} where the loss falls below {EQUAL_LOSS}"
            if row["reached_loss_0.1"] < row["seeds"]:
                sentence += f" ({row['reached_loss_0.1']} of {row['seeds']} seeds reach it)"
            sentences.append(sentence + ".")
        return " ".join(sentences)

    def notes(self) -> list[str]:
        return [
            "Within a seed all classifiers share sentences and query; differences are taken within a seed.",
            "Scores after a fixed number of epochs also depend on when descent began: scores at equal loss are given "
            "beside them.",
            "P1 has FC, TC and TL (width 10); other widths and depths are ours.",
            f"{self.order.preset}: {SEEDS[self.order.preset]} seeds for each classifier.",
        ]


def score_at(course: TopicCourse, level: float = EQUAL_LOSS) -> float | None:
    """The topic words' mean score at the first evaluation with a loss below ``level``."""
    below = np.flatnonzero(course.column("loss") < level)
    return float(course.words("score")[below[0]].mean()) if len(below) else None
