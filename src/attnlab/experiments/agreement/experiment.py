"""Does attention follow lexical knowledge? (P3 3.1, 3.2, 4.2, 5.1, A.4: Tables 1, 2, 4 and 6, text classification)

A row for each corpus. The paper compares a reference run's attention alpha with what other runs know about single
words: beta of a run from another seed, beta_uf of a run under uniform attention, beta_px of a bag-of-words proxy; and
reads each agreement A as xi, how good a model is when its attention is as far along.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.agreement.rules import decide
from attnlab.experiments.texts.classification import Role, TextExperiment
from attnlab.experiments.texts.text_agreement import Agreements, measure
from attnlab.experiments.texts.text_context import IN_CONTEXT, Context, contexts_of
from attnlab.experiments.texts.text_notes import LEFT_OUT, left_out, text_notes
from attnlab.experiments.texts.text_pictures import heading, over_training
from attnlab.experiments.texts.text_report import write_text_report
from attnlab.experiments.texts.text_runs import TextRuns
from attnlab.lab.experiment import Order, Result, Table
from attnlab.models.logistic import counts, sweep
from attnlab.pages.charts import COLOURS, INK, SIZE
from attnlab.runs.loop import Trained

LOGISTIC = "logistic regression"
SHORT = 0.02
"""A reference run further than this below logistic regression is explained in the result's notes."""
ROLES: tuple[Role, ...] = ("reference", "uniform", "comparison", "proxy")
AUTHORS: Mapping[tuple[str, str, str], float] = {
    ("imdb", "valid", "alpha, beta_uf"): 0.5255,
    ("imdb", "valid", "beta_px, beta_uf"): 0.8160,
    ("imdb", "valid", "delta, beta_uf"): 0.6155,
    ("imdb", "train", "alpha, beta_uf"): 0.5153,
    ("imdb", "train", "beta_px, beta_uf"): 0.8010,
    ("sms", "valid", "alpha, beta_uf"): 0.017,
}
"""Figures of the authors' own notebooks (runs of November 2020; the published tables could not be had). Their code
takes the argmax from beta_px where the text takes it from beta_uf. SMS: the larger of two."""
AUTHORS_XI: Mapping[tuple[str, str], float] = {
    ("imdb", "alpha, beta_uf"): 0.8681,
    ("imdb", "beta_uf, beta_px"): 0.8889,
    ("imdb", "delta, beta_uf"): 0.8681,
}


class AgreementExperiment(TextExperiment):
    """The paper's main table, one corpus at a time."""

    name = "agreement"
    title = "Attention follows lexical knowledge: the main table on text classification"
    source = "P3 3.1, 3.2, 4.2, 5.1, A.4"
    roles = ROLES

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        runs = TextRuns(order, done)
        valid, train = measure(runs, "valid"), measure(runs, "train")
        best = float(np.mean([runs.curve(run).max() for run in runs.of("reference")]))
        trained = float(np.mean([runs.curve(run, "train_accuracy").max() for run in runs.of("reference")]))
        contexts = {
            ("valid", "A"): contexts_of(valid, "expected", best),
            ("valid", "tau"): contexts_of(valid, "tau", best),
            ("train", "A"): contexts_of(train, "expected", trained),
        }
        table = agreement_table(order.row, (valid, train), contexts)
        trainings = runs_table(runs)
        untrained = max(float(valid.accuracy[:, 0].mean()), runs.majority)
        decided = order.row not in LEFT_OUT
        findings = decide(valid, train, contexts["valid", "A"], untrained, best) if decided else ()
        return Result(
            summary=tell(order, runs, valid, trainings),
            tables={
                "agreement": table,
                "paper": paper_table(valid, train, contexts, best, trained),
                "choices": choices_table(valid),
                "curves": curve_table(runs, valid),
                "runs": trainings,
            },
            figures=figures(order.row, runs, valid, table),
            findings=findings,
            notes=(
                *text_notes(runs, ROLES),
                *left_out(order.row),
                *shortfall(trainings, len(runs.corpus.train), len(runs.corpus.words)),
            ),
            seeds={role: runs.seeds(role) for role in ROLES},
        )

    def report(self, folder: Path) -> Path:
        return write_text_report(
            folder,
            self.title,
            "How often the position that one quantity values most is among the top 5 % of another, and how good a "
            "model is when its attention agrees as much. Known figures are the authors' own where they could be had. "
            "The first table is in per cent, its rows numbered as the paper's tables: 1 and 4 are A, 2 is Kendall's "
            "tau, 6 is A on training texts.",
            main="paper",
            tables=("agreement", "choices", "runs"),
        )


# --- tables


def agreement_table(
    row: str, splits: Sequence[Agreements], contexts: Mapping[tuple[str, str], Mapping[str, Context]]
) -> Table:
    """Every agreement on both splits, with intervals, chance, the choice of the evaluation, and the authors' figure."""
    table = []
    for agreements in splits:
        for name, series in agreements.series.items():
            interval, over_seeds, tau_interval = series.interval(), series.seed_interval(), series.interval("tau")
            context = contexts[agreements.split, "A"].get(name)
            known = AUTHORS.get((row, agreements.split, name))
            value = series.value()
            table.append(
                {
                    "split": agreements.split,
                    "agreement": f"A({name})",
                    "value": value,
                    "low": interval.low if interval else None,
                    "high": interval.high if interval else None,
                    "seed_low": over_seeds.low if over_seeds else None,
                    "seed_high": over_seeds.high if over_seeds else None,
                    "chance": float(agreements.chance.mean()),
                    "held_out": series.held_out(),
                    "best_steps": " ".join(str(series.steps[step]) for step in sorted(set(series.best()))),
                    "tau": series.value("tau"),
                    "tau_low": tau_interval.low if tau_interval else None,
                    "tau_high": tau_interval.high if tau_interval else None,
                    "released_ties": series.value("released"),
                    "xi": None if context is None else "never" if context.step is None else context.performance,
                    "xi_step": None if context is None else context.step,
                    "authors": known,
                    "difference": None if known is None else value - known,
                    "authors_xi": AUTHORS_XI.get((row, name)) if agreements.split == "valid" else None,
                }
            )
    return table


def paper_table(
    valid: Agreements,
    train: Agreements,
    contexts: Mapping[tuple[str, str], Mapping[str, Context]],
    best: float,
    trained: float,
) -> Table:
    """The row of the paper's Tables 1 and 4 (A), 2 (tau) and 6 (A on training texts), in per cent."""
    chosen = (
        ("1, 4", valid, "expected", ("valid", "A"), best),
        ("2", valid, "tau", ("valid", "tau"), best),
        ("6", train, "expected", ("train", "A"), trained),
    )
    table = []
    for name, agreements, measured, key, top in chosen:
        row: dict[str, Any] = {"table": name}
        for pair in IN_CONTEXT:
            row[f"A({pair})"] = round(100 * agreements.series[pair].value(measured), 2)
        row["chance"] = 0.0 if measured == "tau" else round(100 * float(agreements.chance.mean()), 2)
        for pair in IN_CONTEXT:
            told = contexts[key][pair].performance
            row[f"xi({pair})"] = "never" if told is None else round(100 * told, 2)
        row["xi*"] = round(100 * top, 2)
        table.append(row)
    return table


def choices_table(valid: Agreements) -> Table:
    """What a choice that the paper leaves open, or its code makes otherwise, changes."""

    def row(choice: str, name: str, ours: float, other: float) -> dict[str, Any]:
        return {"choice": choice, "agreement": f"A({name})", "ours": ours, "other": other, "change": other - ours}

    table = []
    for name in IN_CONTEXT:
        series = valid.series[name]
        table.append(row("ties as released", name, series.value(), series.value("released")))
        table.append(row("evaluation chosen on other texts", name, series.value(), series.held_out()))
        at_end = float(np.nanmean(series.curve()[:, -1]))
        table.append(row("last evaluation instead of the best", name, series.value(), at_end))
    text, code = valid.series["beta_uf, beta_px"], valid.series["beta_px, beta_uf"]
    table.append(row("argmax from beta_px, as released", "beta_uf, beta_px", text.value(), code.value()))
    right, wrong = valid.series["delta, beta_uf"], valid.series["-delta, beta_uf"]
    table.append(row("sign of delta turned round, as released", "delta, beta_uf", right.value(), wrong.value()))
    return table


def curve_table(runs: TextRuns, valid: Agreements) -> Table:
    """Agreements and accuracies at every evaluation, for each pair of runs."""
    table = []
    for name, series in valid.series.items():
        if len(series.steps) > 1:
            for pair, curve in enumerate(series.curve()):
                table += [
                    {"what": f"A({name})", "seeds": f"{name} {pair}", "step": step, "value": float(value)}
                    for step, value in zip(series.steps, curve, strict=True)
                ]
    for role in ("reference", "uniform", "comparison"):
        for seed, run in zip(runs.seeds(role), runs.of(role), strict=True):
            table += [
                {
                    "what": f"accuracy ({role})",
                    "seeds": f"{role} {seed}",
                    "step": int(row["step"]),
                    "value": row["accuracy"],
                }
                for row in run.rows
            ]
    return table


def runs_table(runs: TextRuns) -> Table:
    """Each run at its best evaluation, and logistic regression on the same words with the best C.

    ``clean_accuracy``: with C chosen on other texts than it is read on.
    """
    table = []
    for role in ("reference", "comparison", "uniform", "proxy"):
        for seed, run in zip(runs.seeds(role), runs.of(role), strict=True):
            best = max(run.rows, key=lambda row: row["accuracy"])
            table.append(
                {
                    "run": role,
                    "seed": seed,
                    "best_step": int(best["step"]),
                    "accuracy": best["accuracy"],
                    "train_accuracy": best["train_accuracy"],
                    "loss": best["loss"],
                    "last_accuracy": run.rows[-1]["accuracy"],
                    "clean_accuracy": None,
                    "entropy": best.get("entropy"),
                }
            )
    train, valid, words = runs.corpus.train, runs.texts["valid"], len(runs.corpus.words)
    fitted = sweep(counts(train, words), train.labels, counts(valid, words), valid.labels)
    table.append(
        {
            "run": LOGISTIC,
            "seed": None,
            "best_step": None,
            "accuracy": fitted.comparable,
            "train_accuracy": None,
            "loss": None,
            "last_accuracy": None,
            "clean_accuracy": fitted.clean,
            "entropy": None,
        }
    )
    return table


# --- words and pictures


def tell(order: Order, runs: TextRuns, valid: Agreements, trainings: Table) -> str:
    """The row in sentences."""
    logistic = next(line["accuracy"] for line in trainings if line["run"] == LOGISTIC)
    told = {name: valid.series[name].value() for name in IN_CONTEXT}
    level = float(valid.chance.mean())
    best = float(np.mean([runs.curve(run).max() for run in runs.of("reference")]))
    return (
        f"On {order.row} ({len(runs.texts['valid'])} validation texts) the position that attention values most is "
        f"among the top 5 % of the lexical probe in {told['alpha, beta']:.0%} of the texts, and of the probe learned "
        f"under uniform attention in {told['alpha, beta_uf']:.0%}; chance is {level:.1%}. Uniform training and the "
        f"bag-of-words proxy agree in {told['beta_uf, beta_px']:.0%}, gradient influence and uniform training in "
        f"{told['delta, beta_uf']:.0%}. The reference runs' best accuracy is {best:.3f}, "
        f"{100 * abs(best - logistic):.1f} points {'above' if best >= logistic else 'below'} that of a "
        "logistic regression on the same words."
    )


def shortfall(trainings: Table, texts: int, words: int) -> tuple[str, ...]:
    """Where networks with attention predict worse than word counts do: whether attention is why, or learning by heart.

    The first would show in uniform runs that do better, the second in training texts that are all right.
    """
    means = {
        name: {role: float(np.mean([line[name] for line in trainings if line["run"] == role])) for role in roles}
        for name, roles in (
            ("accuracy", ("reference", "comparison", "uniform", LOGISTIC)),
            ("train_accuracy", ("reference", "comparison", "uniform")),
        )
    }
    best, logistic = means["accuracy"]["reference"], means["accuracy"][LOGISTIC]
    if logistic - best <= SHORT:
        return ()
    told = ", ".join(
        f"{role} {means['accuracy'][role]:.1%} ({seen:.1%} on training texts)"
        for role, seen in means["train_accuracy"].items()
    )
    too = logistic - means["accuracy"]["uniform"] > SHORT
    return (
        f"The reference runs are {100 * (logistic - best):.1f} points below logistic regression's {logistic:.1%}. Best "
        f"accuracies of the networks: {told}; they learn the vectors of {words} words from {texts} texts. Under "
        f"uniform attention they are {'also' if too else 'not'} more than {100 * SHORT:.0f} points below, so attention "
        f"{'is not what costs it' if too else 'has a part in it'}.",
    )


def figures(row: str, runs: TextRuns, valid: Agreements, table: Table) -> dict[str, alt.TopLevelMixin]:
    """How agreements grow with training, and where they end against chance."""
    followed = {f"A({name})" for name in (*IN_CONTEXT, "alpha, alpha(step)")} | {"accuracy (comparison)"}
    training = over_training(
        [line for line in curve_table(runs, valid) if line["what"] in followed],
        title=f"{row}: agreement through training",
        chance=float(valid.chance.mean()),
        y_title="agreement, accuracy",
    )
    shown = [dict(line) for line in table if line["agreement"] != "A(alpha, alpha(step))"]
    order, splits = (list(dict.fromkeys(line[name] for line in shown)) for name in ("agreement", "split"))
    base = alt.Chart(alt.InlineData(values=shown)).encode(
        y=alt.Y("agreement:N", title=None, sort=order),
        yOffset=alt.YOffset("split:N", sort=splits),
        color=alt.Color("split:N", title=None, sort=splits, scale=alt.Scale(range=list(COLOURS[1::-1]))),
    )
    bars = base.mark_rule(strokeWidth=3).encode(
        x=alt.X("low:Q", title="agreement, 95 % interval over examples", scale=alt.Scale(domain=[0, 1])), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=45).encode(x="value:Q")
    chances = base.mark_tick(color=INK, thickness=1.5).encode(x="chance:Q", color=alt.value(INK))
    known = base.transform_filter("isValid(datum.authors)").mark_point(shape="diamond", size=70).encode(x="authors:Q")
    ends = (bars + points + chances + known).properties(
        width=2 * SIZE["width"],
        title=heading(f"{row}: agreement at the best evaluation; ticks are chance, diamonds the authors' figures"),
    )
    return {"training": training, "agreement": ends}
