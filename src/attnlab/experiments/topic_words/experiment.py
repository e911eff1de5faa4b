"""Topic words (P1 4, 5): score and embedding norm of a topic word grow together, on one curve for every classifier."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.topics.topics import (
    CLASSIFIERS,
    Outcome,
    Setting,
    below_bound,
    compare,
    curve_table,
    distribution_table,
    group,
    jobs_of,
    outcomes_of,
    path_table,
    ranges,
    seeds_of,
)
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, INK, SIZE, curves, panels
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.stats.rates import wilson

IDENTITY = 0.05
"""The identity holds where norms deviate from it by less than this, relatively."""
ALWAYS = 20
"""Fewest seeds on which "must converge" can be said to hold."""
CONVERGED = 0.05
"""Training loss below which a run counts as converged."""
STANDS_OUT = 0.2
STILL = 0.1
DRAWN = 5
"""Seeds that figures show; the further ones are there for the claim about all seeds."""

SETTINGS = tuple(
    Setting(name, model, {"quick": 2, "reduced": 5, "paper": 20 if name == "FC" else 5})
    for name, model in CLASSIFIERS.items()
)
FIXED = SETTINGS[0]

AUTHORS = {
    ("FC", "epoch_of_loss_1.0"): 595,
    ("FC", "epoch_of_loss_0.5"): 778,
    ("FC", "epoch_of_loss_0.1"): 1089,
    ("FC", "epoch_of_loss_0.01"): 1843,
    ("TC", "epoch_of_loss_1.0"): 1676,
    ("TC", "epoch_of_loss_0.5"): 1843,
    ("TC", "epoch_of_loss_0.1"): 2035,
    ("TC", "epoch_of_loss_0.01"): 2439,
    ("FC", "final_loss"): 0.0019,
    ("TC", "final_loss"): 0.0010,
    ("TL", "final_loss"): 0.0021,
    ("FC", "final_score"): 3.86,
    ("TC", "final_score"): 3.41,
    ("FC", "final_norm"): 3.53,
    ("TC", "final_norm"): 3.16,
    ("FC", "largest_deviation"): 0.0076,
    ("TC", "largest_deviation"): 0.0060,
    ("TL", "largest_deviation"): 0.0057,
}
"""Read out of the authors' own plots: one run each; scores and norms are means of their histograms, deviations those of
one word."""


class TopicWords(Experiment):
    """P1's synthetic experiment: fixed linear (FC), trained linear (TC) and two-layer (TL) classifiers."""

    name = "topic-words"
    title = "Score and norm of topic words grow on one curve"
    source = "P1 4, 5"

    def jobs(self, order: Order) -> list[Job]:
        return jobs_of(SETTINGS[::-1], order)  # the slowest first: no worker is left alone with one of them

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        outcomes = outcomes_of(SETTINGS, order, done)
        drawn = [outcome for outcome in outcomes if outcome.seed < DRAWN]
        spread = ranges(outcomes)
        return Result(
            summary=tell(outcomes),
            tables={
                "seeds": [outcome.row() for outcome in outcomes],
                "ranges": spread,
                "authors": compare(spread, AUTHORS),
                "curves": curve_table(drawn),
                "paths": path_table(drawn, every=100),
                "distributions": distribution_table(drawn),
                "knowledge": knowledge_table(outcomes),
            },
            figures=figures(drawn),
            findings=decide(outcomes),
            notes=notes(order),
            seeds={setting.name: seeds_of(setting, order) for setting in SETTINGS},
        )


# --- claims


def decide(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    groups = {setting.name: group(outcomes, setting) for setting in SETTINGS}
    return (
        Finding("norm-identity", (identity("all classifiers", worst_of_each_seed(outcomes)),)),
        Finding(
            "norm-identity-any-classifier",
            tuple(identity(name, [o.largest_deviation() for o in group]) for name, group in groups.items()),
        ),
        Finding("norm-converges", (converges(groups[FIXED.name]),)),
        Finding("topic-words-stand-out", tuple(stands_out(name, group) for name, group in groups.items())),
        Finding("non-topic-words-still", tuple(still(name, group) for name, group in groups.items())),
    )


def worst_of_each_seed(outcomes: Sequence[Outcome]) -> list[float | None]:
    """For each seed that all classifiers were trained with, the largest deviation of any of them."""
    by_seed: dict[int, list[float | None]] = {}
    for outcome in outcomes:
        by_seed.setdefault(outcome.seed, []).append(outcome.largest_deviation())
    whole = [values for values in by_seed.values() if len(values) == len(SETTINGS)]
    return [None if None in values else max(v for v in values if v is not None) for values in whole]


def identity(name: str, deviations: Sequence[float | None]) -> Part:
    """Holds if the largest relative deviation has an upper bound over seeds below 0.05."""
    return below_bound(name, deviations, IDENTITY, "largest relative deviation")


def converges(outcomes: Sequence[Outcome]) -> Part:
    """Holds if all of at least 20 seeds converge; fails if one does not."""
    converged = sum(has_converged(outcome) for outcome in outcomes)
    n = len(outcomes)
    verdict: Verdict = "fails" if converged < n else "holds" if n >= ALWAYS else "undecided"
    detail = (
        f"In {converged} of {n} seeds the topic word has the largest weight of every training sentence at the end, "
        f"still rising, and the loss is below {CONVERGED}."
    )
    return Part(FIXED.name, verdict, converged / n, wilson(converged, n), "seeds", detail)


def has_converged(outcome: Outcome) -> bool:
    """Every sentence's largest weight is the topic word's, their mean still rises, the loss is low."""
    weight = outcome.column("weight_mean")
    return bool(outcome.end("attention_accuracy") == 1 and weight[-1] > weight[-2] and outcome.end("loss") < CONVERGED)


def stands_out(name: str, outcomes: Sequence[Outcome]) -> Part:
    """Holds if the share grows, by an interval above 0 and by 0.2 at least, until the loss has halved."""
    grown = [share_grown(outcome) for outcome in outcomes]
    known = [value for value in grown if value is not None]
    if len(known) < len(grown):
        detail = f"In {len(grown) - len(known)} of {len(grown)} seeds the loss never halved."
        return Part(name, "undecided", None, None, "seeds", detail)
    mean, interval = float(np.mean(known)), bootstrap_interval(known)
    verdict: Verdict = "undecided"
    if interval is not None and interval[0] > 0 and mean >= STANDS_OUT:
        verdict = "holds"
    elif interval is not None and interval[1] < STANDS_OUT:
        verdict = "fails"
    detail = f"The share grows by {mean:.3f} on average over {len(known)} seeds until the loss has halved."
    return Part(name, verdict, mean, interval, "seeds", detail)


def share_grown(outcome: Outcome) -> float | None:
    """How much the topic words' share of the context vector grows until the first evaluation with half the loss."""
    loss, share = outcome.column("loss"), outcome.column("share")
    halved = np.flatnonzero(loss < loss[0] / 2)
    return float(share[halved[0]] - share[0]) if len(halved) else None


def still(name: str, outcomes: Sequence[Outcome]) -> Part:
    """Holds if non-topic words' outer percentiles lie below a tenth of the topic words' mean, score and norm."""
    return below_bound(name, [moved(outcome) for outcome in outcomes], STILL, "non-topic words' part of topic words'")


def moved(outcome: Outcome) -> float:
    """The larger of two ratios at the end: the 1st or 99th percentile's size by the topic words' mean."""
    score = max(abs(outcome.end("other_score_1")), abs(outcome.end("other_score_99"))) / abs(outcome.final_score())
    norm = outcome.end("other_norm_99") / float(outcome.words("norm")[-1].mean())
    return max(score, norm)


# --- words


def tell(outcomes: Sequence[Outcome]) -> str:
    """The result in plain words."""
    sentences = []
    for setting in SETTINGS:
        runs = group(outcomes, setting)
        worst = max((o.largest_deviation() or 0.0) for o in runs)
        halves = [epoch for o in runs if (epoch := o.crossing(0.5)) is not None]
        when = f"epoch {min(halves):.0f} to {max(halves):.0f}" if halves else "no epoch"
        scores = [o.final_score() for o in runs]
        sentences.append(
            f"{setting.name}: over {len(runs)} seeds norms deviate from the identity by at most {worst:.2%} where the "
            f"score exceeds 0.05; the loss falls below 0.5 at {when}; topic words end with a mean score of "
            f"{min(scores):.2f} to {max(scores):.2f}."
        )
    return " ".join(sentences)


def knowledge_table(outcomes: Sequence[Outcome]) -> Table:
    """By rank: the first evaluation at which probe, and attention, are largest at the topic word in half the sentences;
    and the first at which the mean of each exceeds one half."""
    table = []
    for outcome in outcomes:
        firsts = {}
        for name, column in (
            ("probe_rank", "probe_accuracy"),
            ("attention_rank", "attention_accuracy"),
            ("probe_half", "probe_mean"),
            ("attention_half", "weight_mean"),
        ):
            reached = np.flatnonzero(outcome.column(column) >= 0.5)
            firsts[name] = int(outcome.steps[reached[0]]) if len(reached) else None
        table.append({"setting": outcome.setting.name, "seed": outcome.seed, **firsts})
    return table


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "Norms in tables and figures are ||q|| times the embedding's norm, as in P1's figures.",
        "Crossings are read off evaluations every 25 epochs, the logarithm of the loss being linear in between.",
        "The training set is the first 3999 of 5000 sentences, as released; topic words per topic: two.",
        "The query's norm differs from seed to seed and moves every crossing; the authors' is not known.",
    ]
    if order.preset == "paper":
        told.append(
            "FC runs 20 seeds, which the claim about convergence needs; TC and TL run 5. Figures show 5 of each."
        )
    else:
        told.append(f"{order.preset}: {SETTINGS[0].seeds[order.preset]} seeds for each classifier.")
    return tuple(told)


# --- figures


def figures(outcomes: Sequence[Outcome]) -> dict[str, alt.TopLevelMixin]:
    """Paths beside the identity's curve (also as a chart to step through), losses, shares, final distributions."""
    thinned = [row for row in curve_table(outcomes) if row["step"] % 50 == 0]
    lines: dict[str, Any] = {"x": "step", "group": "seed", "x_title": "epochs"}
    knowledge = [
        {"setting": row["setting"], "seed": row["seed"], "step": row["step"], "what": what, "value": row[key]}
        for row in curve_table(outcomes, ("weight_mean", "probe_mean"))
        if row["step"] % 50 == 0
        for what, key in (("attention", "weight_mean"), ("lexical probe", "probe_mean"))
    ]
    return {
        "identity": identity_chart(path_table(outcomes, every=200)),
        "walk": walk_chart(path_table([outcome for outcome in outcomes if outcome.seed == 0], every=100)),
        "loss": panels(
            thinned,
            column="setting",
            layer=curves(y="loss", y_title="training loss", scale=alt.Scale(type="log"), **lines),
            title="Training loss of every seed",
        ),
        "share": panels(
            thinned,
            column="setting",
            layer=curves(y="share", y_title="topic word's share of the context vector", **lines),
            title="How the topic word stands out",
        ),
        "knowledge": panels(
            knowledge,
            column="setting",
            layer=curves(y="value", y_title="mean at the topic word", colour="what", **lines),
            title="What the topic word's embedding knows, and the attention it gets",
        ),
        "distributions": distribution_chart(distribution_table(outcomes)),
    }


def _data(rows: Table) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in rows])


def _axes() -> dict[str, alt.SchemaBase]:
    return {"x": alt.X("score:Q", title="score"), "y": alt.Y("norm:Q", title="‖q‖ · norm of the embedding")}


def identity_chart(rows: Table) -> alt.TopLevelMixin:
    """Every topic word's path, and the identity as a black line; one panel a classifier."""
    order = list(dict.fromkeys(row["setting"] for row in rows))
    words = alt.Chart().mark_line(strokeWidth=2.5, opacity=0.35, color=COLOURS[0]).encode(**_axes(), detail="word:N")
    curve = alt.Chart().mark_line(strokeWidth=1, color=INK, strokeDash=[4, 3])
    curve = curve.encode(x="score:Q", y="identity:Q", order="score:Q")
    chart: alt.TopLevelMixin = (
        alt.layer(words, curve, data=_data(rows))
        .properties(**SIZE)
        .facet(column=alt.Column("setting:N", title=None, sort=order, header=alt.Header(labelFontSize=12)))
        .properties(title=alt.TitleParams("Every topic word of every seed; dashed: the identity", anchor="start"))
    )
    return chart


def walk_chart(rows: Table) -> alt.TopLevelMixin:
    """The topic words of one seed at one epoch, chosen with a slider, upon the identity's curve."""
    steps = sorted({row["step"] for row in rows})
    interval = max(1, int(np.median(np.diff(steps)))) if len(steps) > 1 else 1
    top = int(steps[-1])
    slider = alt.param(
        name="epoch", value=interval * 10, bind=alt.binding_range(min=0, max=top, step=interval, name="epoch ")
    )
    parts = []
    for setting in dict.fromkeys(row["setting"] for row in rows):
        data = _data([row for row in rows if row["setting"] == setting])
        base = alt.Chart(data).properties(title=setting, **SIZE)
        curve = base.mark_line(color=INK, strokeWidth=1, strokeDash=[4, 3]).encode(
            x=alt.X("score:Q", title="score"),
            y=alt.Y("identity:Q", title="‖q‖ · norm of the embedding"),
            order="score:Q",
        )
        words = base.mark_circle(size=70, color=COLOURS[0]).encode(
            **_axes(),
            tooltip=["word:N", "step:Q", alt.Tooltip("score:Q", format=".3f"), alt.Tooltip("norm:Q", format=".3f")],
        )
        parts.append(curve + words.transform_filter("datum.step == epoch"))
    chart: alt.TopLevelMixin = (
        alt.hconcat(*parts)
        .add_params(slider)
        .properties(
            title=alt.TitleParams("Topic words of seed 0 on their way along the identity's curve", anchor="start")
        )
    )
    return chart


def distribution_chart(rows: Table) -> alt.TopLevelMixin:
    """Final scores and norms as cumulative curves: non-topic words near 0, topic words far out."""
    chart: alt.TopLevelMixin = (
        alt.Chart(_data([{**row, "line": f"{row['words']} {row['seed']}"} for row in rows]))
        .mark_line(opacity=0.7, strokeWidth=1.3)
        .encode(
            x=alt.X("value:Q", title=None),
            y=alt.Y("percentile:Q", title="percentile of words"),
            order="percentile:Q",
            detail="line:N",
            color=alt.Color(
                "words:N", title=None, scale=alt.Scale(range=list(COLOURS)), legend=alt.Legend(orient="top")
            ),
        )
        .properties(**SIZE)
        .facet(
            column=alt.Column("setting:N", title=None, sort=["FC", "TC", "TL"]),
            row=alt.Row("measure:N", title=None, sort=["score", "norm"]),
        )
        .resolve_scale(x="independent")
        .properties(title=alt.TitleParams("Words at the end: score, and ‖q‖ · norm", anchor="start"))
    )
    return chart
