"""Is the bag-of-words proxy a logistic regression? (P3 A.10: Table 10)

The proxy's p = sigmoid(1/L sum_l w^T e_{x_l}) is a logistic regression on word counts over length, whose weights are
the words' scores w^T e_i. Here both are fitted to the same texts, and compared by their agreement with beta_uf, by
accuracy, and word by word. Two classes, which all the corpora have.
"""

from collections.abc import Mapping
from pathlib import Path

import altair as alt
import numpy as np

from attnlab.experiments.logistic_proxy.bag_fits import (
    FITTED_SIZE,
    LEAST_COUNT,
    SHOWN,
    Fitted,
    Weights,
    fit,
    proxy_accuracies,
)
from attnlab.experiments.texts.classification import SIZES, Role, TextExperiment
from attnlab.experiments.texts.text_agreement import Series
from attnlab.experiments.texts.text_curves import cross_read, follow
from attnlab.experiments.texts.text_notes import LEFT_OUT, left_out, text_notes
from attnlab.experiments.texts.text_parts import bounds
from attnlab.experiments.texts.text_pictures import heading, over_training
from attnlab.experiments.texts.text_report import write_text_report
from attnlab.experiments.texts.text_runs import TextRuns
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.experiment import Order, Result, Table
from attnlab.models.logistic import Logistic, beta_log
from attnlab.pages.charts import COLOURS, INK, SIZE
from attnlab.runs.loop import Trained

ROLES: tuple[Role, ...] = ("uniform", "proxy")
PX, LOG = "A(beta_uf, beta_px)", "A(beta_uf, beta_log)"
PASSES = 60
"""Passes over the training texts by which the paper trains its proxy."""
MARGIN = 0.02
"""Agreements within 2 points of each other are nearly the same."""
TENTH = 0.1
"""Weights are the same word by word where they differ by less than this share of their spread."""


class LogisticProxy(TextExperiment):
    """The proxy beside logistic regression, one corpus at a time."""

    name = "logistic-proxy"
    title = "The bag-of-words proxy and logistic regression"
    source = "P3 A.10"
    roles = ROLES

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        runs = TextRuns(order, done)
        fitted = fit(runs)
        series = agreements(runs, fitted.swept.chosen)
        accuracies = accuracy_table(runs, fitted)
        table = table_10(runs, series, fitted, accuracies)
        curves = curve_table(runs, series)
        return Result(
            summary=tell(order.row, table),
            tables={"table10": table, "accuracy": accuracies, "words": fitted.words_table(runs), "curves": curves},
            figures=figures(order.row, curves, fitted.words_table(runs), float(runs.chance("valid").mean())),
            findings=()
            if order.row in LEFT_OUT
            else decide(order.row, series[PX], series[LOG], fitted.weights, converged=fitted.converged),
            notes=notes(runs, fitted),
            seeds={role: runs.seeds(role) for role in ROLES},
        )

    def report(self, folder: Path) -> Path:
        return write_text_report(
            folder,
            self.title,
            "How often the position that the lexicon of uniform training values most is among the top 5 % of the "
            "proxy's word scores and of a logistic regression's weights, and how far the two differ word by word. "
            "Accuracies are those of the paper's choice, made on the very texts they are measured on, and clean ones, "
            "chosen on other texts.",
            main="table10",
            columns={
                f"{PX}, held out": PX,
                f"{LOG}, held out": LOG,
                "low": "difference from",
                "high": "to",
                "chance": "chance",
                "proxy_accuracy": "accuracy, proxy",
                "logistic_accuracy": "accuracy, logistic",
                "proxy_clean_accuracy": "clean, proxy",
                "logistic_clean_accuracy": "clean, logistic",
                "weights_apart": "weights apart",
                "weights_spread": "spread",
            },
            tables=("accuracy",),
        )


# --- verdicts and what they need


def agreements(runs: TextRuns, logistic: Logistic) -> dict[str, Series]:
    """Both agreements over the uniform runs' training, and both with the argmax taken from the other side."""
    fields = {"beta_px": runs.beta_px("valid"), "beta_log": beta_log(logistic, runs.texts["valid"])}
    found = {}
    for name, field in fields.items():
        ahead, back = f"A(beta_uf, {name})", f"A({name}, beta_uf)"
        found[ahead] = follow(runs, ahead, [field], runs.of("uniform"), "gamma", first=False)
        found[back] = follow(runs, back, [field], runs.of("uniform"), "gamma")
    return found


def decide(row: str, px: Series, log: Series, weights: Weights, *, converged: bool) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    return (
        Finding("logistic-equals-proxy", (same_agreement(row, px, log),)),
        Finding("proxy-weights-are-logistic", (same_weights(row, weights, converged=converged),)),
    )


def same_agreement(row: str, px: Series, log: Series) -> Part:
    """Holds if the interval of the difference lies within 2 points of 0, fails if it lies outside."""
    first, second = (cross_read(series.values["expected"]) for series in (px, log))
    difference = first - second
    detail = f"{PX} is {first.mean():.3f} and {LOG} {second.mean():.3f}, each text read at steps that others chose."
    return Part(
        row, _within(bounds(difference), MARGIN), float(difference.mean()), bounds(difference), "examples", detail
    )


def same_weights(row: str, weights: Weights, *, converged: bool) -> Part:
    """Holds if the mean size of a word's difference, by the weights' spread, lies below a tenth; fails if above."""
    apart = weights.apart / weights.spread
    interval = bounds(apart)
    verdict = _within(interval, TENTH) if converged else "undecided"
    detail = f"Over {len(apart)} words the mean difference is {apart.mean():.2g} of their spread, {weights.spread:.3f}."
    if not converged:
        detail += " A fit has not converged."
    return Part(row, verdict, float(apart.mean()), interval, "words", detail)


def _within(interval: tuple[float, float] | None, margin: float) -> Verdict:
    """Whether an interval lies within ``margin`` of 0 (holds), outside (fails), or neither."""
    if interval is None:
        return "undecided"
    if -margin <= interval[0] and interval[1] <= margin:
        return "holds"
    return "fails" if interval[0] > margin or interval[1] < -margin else "undecided"


# --- tables


def accuracy_table(runs: TextRuns, fitted: Fitted) -> Table:
    """Accuracies in the comparable form (chosen on the texts that are read) and the clean one (on other texts)."""
    comparable, clean = proxy_accuracies(runs)
    uniform = [runs.curve(run) for run in runs.of("uniform")]
    return [
        {"model": "proxy", "chosen": "pass, by loss", "comparable": comparable, "clean": clean},
        {
            "model": "logistic regression",
            "chosen": f"C, by accuracy: {fitted.swept.chosen.C:g}",
            "comparable": fitted.swept.comparable,
            "clean": fitted.swept.clean,
        },
        {
            "model": "uniform attention",
            "chosen": "step, by accuracy",
            "comparable": float(np.mean([curve.max() for curve in uniform])),
            "clean": None,
        },
        {"model": "commonest class", "chosen": "", "comparable": runs.majority, "clean": runs.majority},
    ]


def table_10(runs: TextRuns, series: Mapping[str, Series], fitted: Fitted, accuracies: Table) -> Table:
    """The corpus' line of the paper's table, and how far the two models differ."""
    read = {name: cross_read(series[name].values["expected"]) for name in (PX, LOG)}
    interval = bounds(read[PX] - read[LOG])
    weights = fitted.weights
    apart = bounds(weights.apart)
    proxy, logistic, *_ = accuracies
    return [
        {
            f"{PX}, largest": series[PX].value(),
            f"{LOG}, largest": series[LOG].value(),
            f"{PX}, held out": float(read[PX].mean()),
            f"{LOG}, held out": float(read[LOG].mean()),
            "difference": float((read[PX] - read[LOG]).mean()),
            "low": interval[0] if interval else None,
            "high": interval[1] if interval else None,
            "chance": float(runs.chance("valid").mean()),
            "A(beta_px, beta_uf), largest": series["A(beta_px, beta_uf)"].value(),
            "A(beta_log, beta_uf), largest": series["A(beta_log, beta_uf)"].value(),
            "C": fitted.swept.chosen.C,
            "proxy_accuracy": proxy["comparable"],
            "proxy_clean_accuracy": proxy["clean"],
            "logistic_accuracy": logistic["comparable"],
            "logistic_clean_accuracy": logistic["clean"],
            "words": len(fitted.common),
            "weights_apart": float(weights.apart.mean()),
            "apart_low": apart[0] if apart else None,
            "apart_high": apart[1] if apart else None,
            "weights_spread": weights.spread,
            "trained_proxy_correlation": float(
                np.corrcoef(fitted.trained[fitted.common], fitted.swept.chosen.weights[0, fitted.common])[0, 1]
            ),
        }
    ]


def curve_table(runs: TextRuns, series: Mapping[str, Series]) -> Table:
    """The agreements of every uniform run at every evaluation."""
    return [
        {"what": name, "seeds": str(seed), "step": step, "value": float(value)}
        for name, one in series.items()
        for seed, curve in zip(runs.seeds("uniform"), one.curve(), strict=True)
        for step, value in zip(one.steps, curve, strict=True)
    ]


# --- words and pictures


def tell(row: str, table: Table) -> str:
    """The result in plain words."""
    (line,) = table
    interval = "" if line["low"] is None else f" (95 % interval over texts {line['low']:.3f} to {line['high']:.3f})"
    return (
        f"On {row} the top position of the lexicon of uniform training is among the top 5 % of the proxy's words in "
        f"{line[f'{PX}, held out']:.1%} of the texts and of logistic regression's in {line[f'{LOG}, held out']:.1%}: a "
        f"difference of {line['difference']:.3f}{interval}; chance is {line['chance']:.1%}. Their accuracies are "
        f"{line['proxy_accuracy']:.3f} and {line['logistic_accuracy']:.3f} chosen as in the paper, "
        f"{line['proxy_clean_accuracy']:.3f} and {line['logistic_clean_accuracy']:.3f} chosen on other texts. Fitted "
        f"to the end with the same penalty (C = {line['C']:g}) their weights of {line['words']} words differ by "
        f"{line['weights_apart']:.2g} on average, where the spread is {line['weights_spread']:.2g}; the proxy as "
        f"trained correlates with the logistic weights by {line['trained_proxy_correlation']:.2f}."
    )


def notes(runs: TextRuns, fitted: Fitted) -> tuple[str, ...]:
    """Departures, and how the models were fitted."""
    told = [
        *text_notes(runs, ROLES),
        *left_out(runs.order.row),
        "The released code takes the argmax from beta_px, the text from beta_uf: the text's direction decides, both "
        "are in the table.",
        "Word by word neither model has an intercept, as in the paper's equations; the logistic regression whose "
        "accuracy and agreement are told has one, as in the released code.",
        f"The proxy that is fitted to the end has embeddings of {FITTED_SIZE} instead of 256: its minimum is the same.",
        f"Words compared occur at least {LEAST_COUNT} times in training; {SHOWN} of them at most are in the table, "
        "evenly spaced by rank of their weight.",
    ]
    passes = SIZES[runs.order.preset].passes
    if passes < PASSES:
        told.append(f"The proxy is trained for {passes} passes over the texts instead of {PASSES}.")
    if fitted.swept.unconverged:
        told.append(f"{fitted.swept.unconverged} of {len(fitted.swept.fits)} logistic regressions did not converge.")
    return tuple(told)


def figures(row: str, curves: Table, words: Table, chance: float) -> dict[str, alt.TopLevelMixin]:
    """Agreements over training, and the weights word by word."""
    drawn = [line for line in curves if line["what"] in (PX, LOG)]
    kinds = {"fitted_proxy": "fitted, same penalty", "trained_proxy": "as trained"}
    points = [
        {"word": line["word"], "logistic": line["logistic"], "proxy": line[column], "kind": kind}
        for column, kind in kinds.items()
        for line in words
    ]
    ends = [min(line["logistic"] for line in words), max(line["logistic"] for line in words)]
    diagonal = alt.Chart(alt.InlineData(values=[{"logistic": end, "proxy": end} for end in ends])).mark_line(
        color=INK, strokeDash=[4, 3], strokeWidth=1
    )
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_circle(size=16, opacity=0.5)
        .encode(
            x=alt.X("logistic:Q", title="weight in logistic regression"),
            y=alt.Y("proxy:Q", title="score in the proxy"),
            color=alt.Color(
                "kind:N", title=None, scale=alt.Scale(range=list(COLOURS[1::-1])), legend=alt.Legend(orient="top")
            ),
            tooltip=["word:N", alt.Tooltip("logistic:Q", format=".3f"), alt.Tooltip("proxy:Q", format=".3f")],
        )
    )
    weights = alt.layer(diagonal.encode(x="logistic:Q", y="proxy:Q"), dots).properties(
        width=2 * SIZE["width"], height=2 * SIZE["height"], title=heading(f"{row}: one point a word; dashed: equal")
    )
    title = f"{row}: agreement with the lexicon of uniform training"
    return {"curves": over_training(drawn, title=title, chance=chance), "weights": weights}
