"""Topic ablation (P1 5): with keys or embeddings frozen, training loses what the two do for each other.

Embeddings start at a standard deviation of 0.1 here, so that frozen ones are not nothing. That also lets score and norm
fall together at first, where the classifier points the wrong way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.topics.topics import (
    CLASSIFIERS,
    Outcome,
    Setting,
    compare,
    curve_table,
    group,
    jobs_of,
    outcomes_of,
    ranges,
    seeds_of,
)
from attnlab.lab.claims import Finding, Part, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, curves, panels
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.stats.rates import wilson

EPOCHS = 6000
LEARNED = 0.5
"""The loss whose crossing says when a run has learned."""
ALWAYS = 20
"""Fewest seeds among which a fall that never shows can be said not to happen."""
TENTH = EPOCHS // 10
DRAWN = 5


def make_setting(classifier: str, frozen: str, paper: int = 5) -> Setting:
    """Attn-X, Attn-X-KF (keys frozen) or Attn-X-EF (embeddings frozen)."""
    model = CLASSIFIERS[classifier].model_copy(update={"embedding_std": 0.1, "train_embedding": frozen != "EF"})
    return Setting(
        f"{classifier}-{frozen}" if frozen else classifier,
        model,
        {"quick": 2, "reduced": 5, "paper": paper},
        train="all-but-attention" if frozen == "KF" else "all",
        epochs=EPOCHS,
        evaluations=tuple(range(0, TENTH, 5)),
    )


TRAINED_LINEAR = make_setting("TC", "", paper=ALWAYS)
JOINT = {"FC": make_setting("FC", ""), "TC": TRAINED_LINEAR, "TL": make_setting("TL", "")}
ALONE = {name: (make_setting(name, "KF"), make_setting(name, "EF")) for name in CLASSIFIERS}
SETTINGS = tuple(setting for name in CLASSIFIERS for setting in (JOINT[name], *ALONE[name]))

AUTHORS = {
    ("FC", "epoch_of_loss_1.0"): 601,
    ("FC", "epoch_of_loss_0.5"): 781,
    ("FC", "epoch_of_loss_0.1"): 1135,
    ("FC", "epoch_of_loss_0.01"): 1885,
    ("FC", "final_loss"): 0.0016,
    ("FC", "final_score"): 3.73,
    ("FC", "final_norm"): 3.42,
    ("FC-KF", "epoch_of_loss_1.0"): 1969,
    ("FC-KF", "final_loss"): 0.567,
    ("FC-KF", "final_score"): 0.0,
    ("FC-KF", "final_norm"): 9.05,
    ("FC-EF", "final_loss"): 1.385,
    ("FC-EF", "final_score"): 0.107,
    ("FC-EF", "final_norm"): 0.2777,
}
"""Read out of the authors' own plots: one run each."""


class TopicAblation(Experiment):
    """Keys frozen, embeddings frozen, both trained; fixed linear, trained linear and two-layer classifiers."""

    name = "topic-ablation"
    title = "What keys and embeddings do for each other"
    source = "P1 5"

    def jobs(self, order: Order) -> list[Job]:
        return jobs_of(SETTINGS, order)

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
                "suppression": suppression_table(outcomes),
                "curves": [row for row in curve_table(drawn) if row["step"] % 100 == 0],
            },
            figures=figures(drawn),
            findings=decide(outcomes),
            notes=notes(order),
            seeds={setting.name: seeds_of(setting, order) for setting in SETTINGS},
        )


# --- claims


def decide(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    promotion = [
        sooner(group(outcomes, JOINT[name]), group(outcomes, alone)) for name in CLASSIFIERS for alone in ALONE[name]
    ]
    return (
        Finding("mutual-promotion", tuple(promotion)),
        Finding("mutual-suppression", (suppressed(group(outcomes, TRAINED_LINEAR)),)),
    )


def sooner(joint: Sequence[Outcome], alone: Sequence[Outcome]) -> Part:
    """Holds if both together learn sooner, by half at least; seeds are paired, the last step stands for never."""
    name = f"{joint[0].setting.name} against {alone[0].setting.name}"
    together = {outcome.seed: outcome.crossing(LEARNED) for outcome in joint}
    pairs = [(together[outcome.seed], outcome.crossing(LEARNED)) for outcome in alone]
    both = np.array([EPOCHS if first is None else first for first, _ in pairs], dtype=float)
    single = np.array([EPOCHS if second is None else second for _, second in pairs], dtype=float)
    saved, interval = float((single - both).mean()), bootstrap_interval(single - both)
    twice = bootstrap_interval(single - 2 * both)
    verdict: Verdict = "undecided"
    if interval is not None and twice is not None:
        never = any(second is None for _, second in pairs)
        if interval[0] > 0 and both.mean() <= single.mean() / 2:
            verdict = "holds"
        elif interval[1] < 0 or (twice[1] < 0 and not never):
            verdict = "fails"
    unlearned = sum(second is None for _, second in pairs)
    detail = (
        f"Loss {LEARNED} at epoch {both.mean():.0f} together and {single.mean():.0f} alone on average; alone "
        f"{unlearned} of {len(pairs)} seeds never reach it within {EPOCHS}."
    )
    return Part(name, verdict, saved, interval, "seeds", detail)


def suppressed(outcomes: Sequence[Outcome]) -> Part:
    """Holds if in one of at least 20 seeds a topic word's score and norm fall below their start together, early."""
    fallen, n = sum(fall(outcome) is not None for outcome in outcomes), len(outcomes)
    verdict: Verdict = "undecided"
    if n >= ALWAYS:
        verdict = "holds" if fallen else "fails"
    detail = f"In {fallen} of {n} seeds a topic word's score and norm both fall below their start by epoch {TENTH}."
    return Part("TC", verdict, fallen / n, wilson(fallen, n), "seeds", detail)


def fall(outcome: Outcome) -> tuple[int, float, float, float] | None:
    """The deepest joint fall in the first tenth: epoch, score, norm at the start, norm then; None if there is none."""
    early = outcome.steps <= TENTH
    scores, norms = outcome.words("score")[early], outcome.words("norm")[early]
    both = (scores < scores[0]) & (norms < norms[0])
    if not both.any():
        return None
    at, word = np.unravel_index(np.argmin(np.where(both, norms / norms[0], np.inf)), both.shape)
    return int(outcome.steps[at]), float(scores[at, word]), float(norms[0, word]), float(norms[at, word])


# --- words


def suppression_table(outcomes: Sequence[Outcome]) -> Table:
    """For each run with both trained: how many topic words fall together, and the deepest fall; norms times ||q||."""
    table = []
    for outcome in outcomes:
        if outcome.setting not in JOINT.values():
            continue
        early = outcome.steps <= TENTH
        scores, norms = outcome.words("score")[early], outcome.words("norm")[early]
        falling = int(((scores < scores[0]) & (norms < norms[0])).any(0).sum())
        step, score, start, norm = fall(outcome) or (None, None, None, None)
        scale = outcome.query_norm
        table.append(
            {
                "setting": outcome.setting.name,
                "seed": outcome.seed,
                "topic_words": scores.shape[1],
                "falling_words": falling,
                "epoch": step,
                "score": score,
                "start_norm": None if start is None else start * scale,
                "norm": None if norm is None else norm * scale,
            }
        )
    return table


def tell(outcomes: Sequence[Outcome]) -> str:
    """The result in plain words."""
    sentences = []
    for setting in SETTINGS:
        runs = group(outcomes, setting)
        epochs = [epoch for o in runs if (epoch := o.crossing(LEARNED)) is not None]
        losses = [o.end("loss") for o in runs]
        when = f"loss {LEARNED} at epoch {min(epochs):.0f} to {max(epochs):.0f}" if epochs else f"never loss {LEARNED}"
        if 0 < len(epochs) < len(runs):
            when += f" in {len(epochs)} of {len(runs)} seeds"
        sentences.append(f"{setting.name}: {when}, final loss {min(losses):.2g} to {max(losses):.2g}.")
    return " ".join(sentences)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "KF: keys frozen at 0, so attention stays uniform. EF: embeddings frozen at their start. TC's and TL's "
        "classifiers are trained in every variant.",
        "The variants of one seed share their sentences, query and start; differences are taken within a seed.",
        "The released run list has FC and TC; TL is ours.",
    ]
    if order.preset == "paper":
        told.append("TC with both trained runs 20 seeds, which the claim about suppression needs; all others run 5.")
    else:
        told.append(f"{order.preset}: {SETTINGS[0].seeds[order.preset]} seeds for each variant.")
    return tuple(told)


# --- figures


VARIANTS = {"": "both trained", "KF": "keys frozen", "EF": "embeddings frozen"}


def figures(outcomes: Sequence[Outcome]) -> dict[str, alt.TopLevelMixin]:
    """Loss, score and norm of all variants through training; score and norm at the very beginning under TC."""
    table = [
        {**row, "classifier": row["setting"][:2], "variant": VARIANTS[row["setting"][3:]], "line": f"{row['seed']}"}
        for row in curve_table(outcomes, ("loss",))
    ]
    lines: dict[str, Any] = {"x": "step", "group": "line", "colour": "variant", "colours": COLOURS, "x_title": "epochs"}
    whole = [row for row in table if row["step"] % 100 == 0]
    drawn: dict[str, alt.TopLevelMixin] = {
        name: panels(
            whole,
            column="classifier",
            layer=curves(y=name, y_title=title, scale=scale, **lines),
            title=f"{title.capitalize()} with keys or embeddings frozen, and with both trained",
        )
        for name, title, scale in (
            ("loss", "training loss", alt.Scale(type="log")),
            ("score", "mean score of topic words", alt.Scale(zero=True)),
            ("norm", "mean ‖q‖ · norm of topic words", alt.Scale(zero=True)),
        )
    }
    drawn["suppression"] = panels(
        early_words(outcomes),
        column="measure",
        layer=curves(
            x="step",
            y="change",
            group="word",
            x_title="epochs",
            y_title="change since the start",
            scale=alt.Scale(zero=True),
        ),
        title="Topic words under TC, both trained, in the first tenth of training",
    )
    return drawn


def early_words(outcomes: Sequence[Outcome]) -> Table:
    """Score and ||q|| times norm of every topic word since the start, in the first tenth of training under TC."""
    table = []
    for outcome in group(outcomes, TRAINED_LINEAR):
        for measure, scale in (("score", 1.0), ("norm", outcome.query_norm)):
            values = (outcome.words(measure) - outcome.words(measure)[0]) * scale
            table += [
                {"measure": measure, "word": f"{outcome.seed}: {word}", "step": int(step), "change": change}
                for step, line in zip(outcome.steps, values, strict=True)
                if step <= TENTH and step % 20 == 0
                for word, change in enumerate(line)
            ]
    return table
