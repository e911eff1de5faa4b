"""Topic capacity (P1 5): the more a classifier can do by itself, the less attention has to."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np

from attnlab.experiments.topics.topics import (
    FC,
    TC,
    TL,
    Outcome,
    Setting,
    curve_table,
    group,
    jobs_of,
    outcomes_of,
    ranges,
    seeds_of,
)
from attnlab.families.topics.spec import TopicModelSpec
from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, curves, panels
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import bootstrap_interval

SEEDS: dict[Preset, int] = {"quick": 2, "reduced": 5, "paper": 5}
EQUAL_LOSS = 0.1
"""The loss at which scores are compared too: classifiers that start later are then not called weaker."""


def layers(*hidden: int) -> TopicModelSpec:
    """A classifier with ReLU layers of these widths."""
    return TL.model_copy(update={"hidden": hidden})


FIXED, LINEAR, TWO_LAYERS = (Setting(name, m, SEEDS) for name, m in (("FC", FC), ("TC", TC), ("TL", TL)))
SETTINGS = (
    FIXED,
    LINEAR,
    Setting("TL, width 5", layers(5), SEEDS),
    TWO_LAYERS,
    Setting("TL, width 50", layers(50), SEEDS),
    Setting("TL, width 200", layers(200), SEEDS),
    Setting("TL, depth 2", layers(10, 10), SEEDS),
    Setting("TL, depth 3", layers(10, 10, 10), SEEDS),
)


class TopicCapacity(Experiment):
    """Fixed linear, trained linear, two layers of growing width, and more layers."""

    name = "topic-capacity"
    title = "A weaker classifier gives attention a stronger signal"
    source = "P1 1, 5"

    def jobs(self, order: Order) -> list[Job]:
        return jobs_of(SETTINGS, order)

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        outcomes = outcomes_of(SETTINGS, order, done)
        return Result(
            summary=tell(outcomes),
            tables={
                "seeds": [{**outcome.row(), "score_at_loss_0.1": score_at(outcome)} for outcome in outcomes],
                "ranges": ranges(outcomes),
                "capacity": capacity_table(outcomes),
            },
            figures=figures(outcomes),
            findings=decide(outcomes),
            notes=notes(order),
            seeds={setting.name: seeds_of(setting, order) for setting in SETTINGS},
        )


# --- claims


def decide(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    steps = ((FIXED, LINEAR), (LINEAR, TWO_LAYERS))
    parts = tuple(stronger(group(outcomes, weak), group(outcomes, strong)) for weak, strong in steps)
    return (Finding("capacity-weakens-attention", parts),)


def stronger(weak: Sequence[Outcome], strong: Sequence[Outcome]) -> Part:
    """Holds if the topic words' final score is higher with the weaker classifier: an interval over seeds above 0."""
    other = {outcome.seed: outcome.final_score() for outcome in strong}
    differences = [outcome.final_score() - other[outcome.seed] for outcome in weak]
    mean, interval = float(np.mean(differences)), bootstrap_interval(differences)
    verdict: Verdict = "undecided"
    if interval is not None:
        verdict = "holds" if interval[0] > 0 else "fails" if interval[1] < 0 else "undecided"
    names = weak[0].setting.name, strong[0].setting.name
    detail = (
        f"Mean final score {np.mean([o.final_score() for o in weak]):.3f} with {names[0]} and "
        f"{np.mean(list(other.values())):.3f} with {names[1]}, over {len(weak)} seeds."
    )
    return Part(f"{names[0]} above {names[1]}", verdict, mean, interval, "seeds", detail)


def score_at(outcome: Outcome, level: float = EQUAL_LOSS) -> float | None:
    """The topic words' mean score at the first evaluation with a loss below ``level``."""
    below = np.flatnonzero(outcome.column("loss") < level)
    return float(outcome.words("score")[below[0]].mean()) if len(below) else None


# --- words and figures


def capacity_table(outcomes: Sequence[Outcome]) -> Table:
    """For each classifier: its parameters, and means over seeds of what attention ends with."""
    table = []
    for setting in SETTINGS:
        runs = group(outcomes, setting)
        reached = [score for o in runs if (score := score_at(o)) is not None]
        final = [o.final_score() for o in runs]
        interval = bootstrap_interval(final)
        table.append(
            {
                "setting": setting.name,
                "hidden": " ".join(map(str, setting.model.hidden)) if setting.model.classifier == "layers" else "",
                "seeds": len(runs),
                "final_score": float(np.mean(final)),
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
                "final_weight": float(np.mean([o.end("weight_mean") for o in runs])),
                "final_loss": float(np.mean([o.end("loss") for o in runs])),
                "reached_loss_0.1": len(reached),
                "score_at_loss_0.1": float(np.mean(reached)) if reached else None,
            }
        )
    return table


def tell(outcomes: Sequence[Outcome]) -> str:
    """The result in plain words."""
    sentences = []
    for row in capacity_table(outcomes):
        sentence = f"{row['setting']}: topic words end with a mean score of {row['final_score']:.2f}"
        if row["score_at_loss_0.1"] is not None:
            sentence += f", and have {row['score_at_loss_0.1']:.2f} where the loss falls below {EQUAL_LOSS}"
        if row["reached_loss_0.1"] < row["seeds"]:
            sentence += f" ({row['reached_loss_0.1']} of {row['seeds']} seeds reach it)"
        sentences.append(sentence + ".")
    return " ".join(sentences)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    return (
        "Within a seed all classifiers share sentences and query; differences are taken within a seed.",
        "Scores after a fixed number of epochs also depend on when descent began: scores at equal loss stand beside.",
        "P1 has FC, TC and TL (width 10); other widths and depths are ours.",
        f"{order.preset}: {SEEDS[order.preset]} seeds for each classifier.",
    )


def figures(outcomes: Sequence[Outcome]) -> dict[str, alt.TopLevelMixin]:
    """Final score against capacity; score against loss on the way."""
    table = [row for row in curve_table(outcomes, ("loss",)) if row["step"] % 50 == 0]
    order = [setting.name for setting in SETTINGS]
    rows = [
        {"setting": o.setting.name, "seed": o.seed, "score": score, "when": when}
        for o in outcomes
        for when, score in (("at the end", o.final_score()), ("at loss 0.1", score_at(o)))
        if score is not None
    ]
    dots = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=45, opacity=0.7)
        .encode(
            x=alt.X("score:Q", title="mean score of topic words"),
            y=alt.Y("setting:N", title=None, sort=order),
            color=alt.Color(
                "when:N", title=None, scale=alt.Scale(range=list(COLOURS)), legend=alt.Legend(orient="top")
            ),
        )
        .properties(
            width=420, height=220, title=alt.TitleParams("Score by classifier, every seed", anchor="start", fontSize=14)
        )
    )
    return {
        "capacity": dots,
        "score": panels(
            table,
            column="setting",
            layer=curves(
                x="step",
                y="score",
                group="seed",
                x_title="epochs",
                y_title="mean score of topic words",
                scale=alt.Scale(zero=True),
            ),
            title="Score of topic words through training",
        ),
    }
