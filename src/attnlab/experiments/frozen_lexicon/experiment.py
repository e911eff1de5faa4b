"""Can attention be learned over a lexicon that cannot? (P3 3.3, A.6: Table 9)

In a *frozen* run attention alone is trained, and all else stays as random as it began; its attention is alpha_fr. The
paper compares A(alpha, alpha_fr) with A(alpha, beta_uf), each at its best step: a lexicon can be learned without
attention, but not attention without a lexicon.
"""

from collections.abc import Mapping
from pathlib import Path

import altair as alt
import numpy as np

from attnlab.experiments.texts.classification import Role, TextExperiment
from attnlab.experiments.texts.text_agreement import Series
from attnlab.experiments.texts.text_curves import alphas, first_half, follow, held_out
from attnlab.experiments.texts.text_notes import LEFT_OUT, left_out, text_notes
from attnlab.experiments.texts.text_parts import bounds, sign_of
from attnlab.experiments.texts.text_pictures import over_training
from attnlab.experiments.texts.text_report import write_text_report
from attnlab.experiments.texts.text_runs import TextRuns
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.experiment import Order, Result, Table
from attnlab.runs.loop import Trained

ROLES: tuple[Role, ...] = ("reference", "uniform", "frozen")
FROZEN, UNIFORM = "A(alpha, alpha_fr)", "A(alpha, beta_uf)"


class FrozenLexicon(TextExperiment):
    """Attention over a frozen random lexicon against a lexicon under uniform attention, one corpus at a time."""

    name = "frozen-lexicon"
    title = "Attention trained over a frozen lexicon"
    source = "P3 3.3, A.6"
    roles = ROLES

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        runs = TextRuns(order, done)
        alpha = alphas(runs)
        frozen = follow(runs, FROZEN, alpha, runs.of("frozen"), "alpha")
        uniform = follow(runs, UNIFORM, alpha, runs.of("uniform"), "gamma")
        table = table_9(runs, frozen, uniform)
        curves = [*curve_table(runs, frozen, "frozen"), *curve_table(runs, uniform, "uniform")]
        return Result(
            summary=tell(order.row, table),
            tables={"table9": table, "pairs": pair_table(runs, frozen, uniform), "curves": curves},
            figures=figures(order.row, curves, float(runs.chance("valid").mean())),
            findings=() if order.row in LEFT_OUT else (decide(order.row, frozen, uniform),),
            notes=(
                *text_notes(runs, ROLES),
                *left_out(order.row),
                "The paper's own Table 9 could not be had; only the direction of its difference is known.",
            ),
            seeds={role: runs.seeds(role) for role in ROLES},
        )

    def report(self, folder: Path) -> Path:
        return write_text_report(
            folder,
            self.title,
            "How often the position that attention values most is among the top 5 % of an attention that was trained "
            "over a frozen random lexicon, and of a lexicon that was trained under uniform attention.",
            main="table9",
            columns={
                f"{FROZEN}, held out": FROZEN,
                f"{UNIFORM}, held out": UNIFORM,
                "difference": "difference",
                "low": "from",
                "high": "to",
                "chance": "chance",
                f"{FROZEN}, largest": f"{FROZEN}, as in the paper",
                f"{UNIFORM}, largest": f"{UNIFORM}, as in the paper",
            },
            tables=("pairs",),
        )


def decide(row: str, frozen: Series, uniform: Series) -> Finding:
    """Holds if the difference, read on the texts that did not choose the steps, lies below 0; fails if above."""
    first, second = (held_out(series.values["expected"]) for series in (frozen, uniform))
    difference = first - second
    interval = bounds(difference)
    verdict: Verdict = "holds" if sign_of(interval) < 0 else "fails" if sign_of(interval) > 0 else "undecided"
    detail = (
        f"{FROZEN} is {first.mean():.3f} and {UNIFORM} {second.mean():.3f} on the {len(difference)} texts that did not "
        "choose the steps."
    )
    part = Part(row, verdict, float(difference.mean()), interval, "examples", detail)
    return Finding("frozen-lexicon-fails", (part,))


def table_9(runs: TextRuns, frozen: Series, uniform: Series) -> Table:
    """The corpus' line of the paper's table: the largest agreements, and those at steps chosen on other texts."""
    held = [held_out(series.values["expected"]) for series in (frozen, uniform)]
    interval = bounds(held[0] - held[1])
    best = {role: float(np.mean([runs.curve(run).max() for run in runs.of(role)])) for role in ROLES}
    return [
        {
            f"{FROZEN}, largest": frozen.value(),
            f"{UNIFORM}, largest": uniform.value(),
            f"{FROZEN}, held out": float(held[0].mean()),
            f"{UNIFORM}, held out": float(held[1].mean()),
            "difference": float((held[0] - held[1]).mean()),
            "low": interval[0] if interval else None,
            "high": interval[1] if interval else None,
            "chance": float(runs.chance("valid").mean()),
            "held_out_texts": len(held[0]),
            "frozen_accuracy": best["frozen"],
            "uniform_accuracy": best["uniform"],
            "reference_accuracy": best["reference"],
            "commonest_class": runs.majority,
        }
    ]


def pair_table(runs: TextRuns, frozen: Series, uniform: Series) -> Table:
    """Every pair of runs: its best step and agreement by all texts, and those by the halves."""
    table = []
    followed: tuple[tuple[Series, Role], ...] = ((frozen, "frozen"), (uniform, "uniform"))
    for series, role in followed:
        values, half = series.values["expected"], first_half(series.values["expected"].shape[2])
        pairs = [(one, other) for one in runs.seeds("reference") for other in runs.seeds(role)]
        for (one, other), of_pair, best in zip(pairs, values, series.best(), strict=True):
            chosen = int(of_pair[:, half].mean(axis=1).argmax())
            table.append(
                {
                    "agreement": series.name,
                    "reference_seed": one,
                    "other_seed": other,
                    "best_step": series.steps[best],
                    "largest": float(of_pair[best].mean()),
                    "chosen_step": series.steps[chosen],
                    "held_out": float(of_pair[chosen, ~half].mean()),
                }
            )
    return table


def curve_table(runs: TextRuns, series: Series, role: Role) -> Table:
    """The agreement of every pair of runs at every evaluation."""
    pairs = [f"{one}, {other}" for one in runs.seeds("reference") for other in runs.seeds(role)]
    return [
        {"what": series.name, "seeds": pair, "step": step, "value": float(value)}
        for pair, curve in zip(pairs, series.curve(), strict=True)
        for step, value in zip(series.steps, curve, strict=True)
    ]


def tell(row: str, table: Table) -> str:
    """The result in plain words."""
    (line,) = table
    interval = "" if line["low"] is None else f" (95 % interval over texts {line['low']:.3f} to {line['high']:.3f})"
    frozen, uniform = line[f"{FROZEN}, held out"], line[f"{UNIFORM}, held out"]
    return (
        f"On {row} the position that attention values most is among the top 5 % of the attention trained over a frozen "
        f"random lexicon in {frozen:.1%} of the texts at its best step, and of the lexicon trained under uniform "
        f"attention in {uniform:.1%}: a difference of {line['difference']:.3f}{interval}. Chance is "
        f"{line['chance']:.1%}. The best accuracy with a frozen lexicon is {line['frozen_accuracy']:.3f}; the "
        f"commonest class alone gives {line['commonest_class']:.3f}, and the whole network reaches "
        f"{line['reference_accuracy']:.3f}."
    )


def figures(row: str, curves: Table, chance: float) -> dict[str, alt.TopLevelMixin]:
    """Both agreements over training."""
    title = f"{row}: agreement with the reference attention over training"
    return {"curves": over_training(curves, title=title, chance=chance)}
