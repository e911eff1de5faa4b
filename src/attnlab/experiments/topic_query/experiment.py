"""Topic query (P1 3, its footnote): where the identity between score and norm breaks, and by how much."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np

from attnlab.experiments.topics.topics import (
    CLASSIFIERS,
    EPOCHS,
    FC,
    TC,
    Outcome,
    Setting,
    below_bound,
    group,
    jobs_of,
    outcomes_of,
    path_table,
    seeds_of,
)
from attnlab.families.topics.spec import TopicModelSpec, TopicsSpec
from attnlab.lab.claims import Finding, Preset
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, INK, SIZE
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import bootstrap_interval

SEEDS: dict[Preset, int] = {"quick": 1, "reduced": 3, "paper": 5}
MOST = 0.1
"""Most of the identity is left where the median topic word deviates by less than this."""

FINER = TopicsSpec(dictionary=20_000)


def changed(model: TopicModelSpec, **changes: object) -> TopicModelSpec:
    """The model with some settings changed."""
    return model.model_copy(update=changes)


REFERENCE = tuple(Setting(name, model, SEEDS) for name, model in CLASSIFIERS.items())
FINE = tuple(
    Setting(f"{name}, finer", model, SEEDS, task=FINER, rate=0.05, epochs=2 * EPOCHS)
    for name, model in CLASSIFIERS.items()
)
BELOW_LINEAR = Setting("FC, linear layer below", changed(FC, below="linear"), SEEDS)
BELOW_LSTM = Setting("FC, LSTM below", changed(FC, below="lstm"), {**SEEDS, "paper": 3})
SETTINGS = (
    *REFERENCE,
    *FINE,
    Setting("FC, query trained", changed(FC, train_query=True), SEEDS),
    Setting("TC, query trained", changed(TC, train_query=True), SEEDS),
    Setting("FC, m = 5", FC, SEEDS, task=TopicsSpec(others=5)),
    Setting("FC, m = 40", FC, SEEDS, task=TopicsSpec(others=40)),
    Setting("FC, m from 10 to 30", FC, SEEDS, task=TopicsSpec(others=(10, 30))),
    Setting("FC, two topic words a sentence", FC, SEEDS, task=TopicsSpec(words=4, per_sentence=2)),
    BELOW_LINEAR,
    BELOW_LSTM,
)


class TopicQuery(Experiment):
    """The reference, a finer one (dictionary times four, half the rate), and one assumption broken at a time."""

    name = "topic-query"
    title = "Where the identity of score and norm breaks"
    source = "P1 3, footnote"

    def jobs(self, order: Order) -> list[Job]:
        return jobs_of(SETTINGS, order)

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        outcomes = outcomes_of(SETTINGS, order, done)
        return Result(
            summary=tell(outcomes),
            tables={
                "seeds": [outcome.row() for outcome in outcomes],
                "deviations": deviation_table(outcomes),
                "paths": path_table([outcome for outcome in outcomes if outcome.seed == 0], every=200),
            },
            figures=figures(outcomes),
            findings=decide(outcomes),
            notes=notes(order),
            seeds={setting.name: seeds_of(setting, order) for setting in SETTINGS},
        )


def decide(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    parts = tuple(
        below_bound(
            setting.name,
            [outcome.median_deviation() for outcome in group(outcomes, setting)],
            MOST,
            "median over topic words of their largest relative deviation",
        )
        for setting in (BELOW_LINEAR, BELOW_LSTM)
    )
    return (Finding("norm-identity-through-layers", parts),)


def deviation_table(outcomes: Sequence[Outcome]) -> Table:
    """For each setting: deviations from the identity, means over seeds, and the range over seeds of the largest.

    ``final_excess`` is signed: how far the mean topic word's norm at the end exceeds what the identity says.
    """
    table = []
    for setting in SETTINGS:
        runs = group(outcomes, setting)
        largest = [value for o in runs if (value := o.largest_deviation()) is not None]
        median = [value for o in runs if (value := o.median_deviation()) is not None]
        excess = [float((o.words("norm")[-1] / o.identity()[-1]).mean() - 1) for o in runs if o.final_score() > 0.05]
        interval = bootstrap_interval(largest) if largest else None
        table.append(
            {
                "setting": setting.name,
                "seeds": len(runs),
                "seen": len(largest),
                "largest_deviation": float(np.mean(largest)) if largest else None,
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
                "worst_seed": max(largest, default=None),
                "median_deviation": float(np.mean(median)) if median else None,
                "final_excess": float(np.mean(excess)) if excess else None,
                "final_score": float(np.mean([o.final_score() for o in runs])),
                "final_loss": float(np.mean([o.end("loss") for o in runs])),
                "query_norm_growth": float(np.mean([o.end("query_norm") / o.query_norm for o in runs])),
            }
        )
    return table


def tell(outcomes: Sequence[Outcome]) -> str:
    """The result in plain words."""
    sentences = []
    for row in deviation_table(outcomes):
        if row["largest_deviation"] is None:
            sentences.append(f"{row['setting']}: no topic word's score exceeds 0.05.")
        else:
            sentences.append(
                f"{row['setting']}: norms deviate from the identity by at most {row['largest_deviation']:.2%} on "
                f"average over {row['seen']} seeds, {row['median_deviation']:.2%} for the median topic word."
            )
    return " ".join(sentences)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    return (
        "Deviations are relative, of the embedding's norm, where the score exceeds 0.05; the identity is given the "
        "query's norm and the word's score and norm at the start.",
        "finer: a dictionary of 20,000 words and a rate of 0.05 for 10,000 epochs.",
        "With m from 10 to 30 the identity is given the mean, 20; with two topic words a sentence each topic has four.",
        "Below the attention: a trained linear layer with bias, or a trained LSTM that reads the sentence from left to "
        "right; keys and scores still belong to words.",
        f"{order.preset}: {SEEDS[order.preset]} seeds for each setting, at most 3 with the LSTM, whose runs are long.",
    )


def figures(outcomes: Sequence[Outcome]) -> dict[str, alt.TopLevelMixin]:
    """Deviations of every seed by setting; the paths of seed 0 beside the identity's."""
    order = [setting.name for setting in SETTINGS]
    rows = [
        {"setting": o.setting.name, "seed": o.seed, "what": what, "deviation": value}
        for o in outcomes
        for what, value in (("largest", o.largest_deviation()), ("median word", o.median_deviation()))
        if value is not None
    ]
    dots = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=45, opacity=0.7)
        .encode(
            x=alt.X("deviation:Q", title="relative deviation from the identity", scale=alt.Scale(type="log")),
            y=alt.Y("setting:N", title=None, sort=order),
            color=alt.Color(
                "what:N", title=None, scale=alt.Scale(range=list(COLOURS)), legend=alt.Legend(orient="top")
            ),
        )
        .properties(
            width=420,
            height=320,
            title=alt.TitleParams("How far norms deviate from the identity, every seed", anchor="start", fontSize=14),
        )
    )
    paths = path_table([outcome for outcome in outcomes if outcome.seed == 0], every=200)
    words = alt.Chart().mark_line(strokeWidth=2, opacity=0.5, color=COLOURS[0])
    words = words.encode(
        x=alt.X("score:Q", title="score"), y=alt.Y("norm:Q", title="‖q‖ · norm"), detail="word:N", order="step:Q"
    )
    curve = alt.Chart().mark_line(strokeWidth=1, color=INK, strokeDash=[4, 3])
    curve = curve.encode(x="score:Q", y="identity:Q", detail="word:N", order="step:Q")
    grid = (
        alt.layer(words, curve, data=alt.InlineData(values=[dict(row) for row in paths]))
        .properties(**SIZE)
        .facet(facet=alt.Facet("setting:N", title=None, sort=order), columns=4)
        .resolve_scale(x="independent", y="independent")
        .properties(title=alt.TitleParams("Topic words of seed 0; dashed: the identity", anchor="start", fontSize=14))
    )
    return {"deviations": dots, "paths": grid}
