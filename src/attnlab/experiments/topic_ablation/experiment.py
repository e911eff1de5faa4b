"""Topic ablation (P1 5): with keys or embeddings frozen, training loses what the two do for each other.

Embeddings start at a standard deviation of 0.1 here, so that frozen ones are not nothing. That also lets score and norm
fall together at first, where the classifier points the wrong way.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.topics.runs import CLASSIFIERS, TopicExperiment, released, setting
from attnlab.families.topics.course import TopicCourse, curve_table, ranges
from attnlab.families.topics.spec import TopicModelSpec
from attnlab.lab.claims import Part, Verdict
from attnlab.lab.experiment import Figures, Setting, Table, claim
from attnlab.lab.rules import higher
from attnlab.pages.charts import COLOURS, seed_curves
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.stats.proportions import wilson

# --- settings

EPOCHS = 6000
LEARNED = 0.5
"""The loss whose crossing says when a run has learned."""
ALWAYS = 20
"""Fewest seeds among which a fall that never shows can be said not to happen."""
TENTH = EPOCHS // 10
DRAWN = 5
"""Seeds that figures show."""
VARIANTS = {"": "both trained", "KF": "keys frozen", "EF": "embeddings frozen"}


def variant(classifier: str, frozen: str) -> Setting:
    """Attn-X, Attn-X-KF (keys frozen) or Attn-X-EF (embeddings frozen)."""
    name, model, more = _variant(classifier, frozen)
    return setting(name, model, {"quick": 2, "reduced": 5, "paper": ALWAYS if name == "TC" else 5}, **more)


def _variant(classifier: str, frozen: str) -> tuple[str, TopicModelSpec, dict[str, Any]]:
    """Its name, its model, and how it is trained."""
    name = f"{classifier}-{frozen}" if frozen else classifier
    model = CLASSIFIERS[classifier].model_copy(update={"embedding_std": 0.1, "train_embedding": frozen != "EF"})
    train = "all-but-attention" if frozen == "KF" else "all"
    return name, model, {"train": train, "epochs": EPOCHS, "evaluations": range(0, TENTH, 5)}


def _released(classifier: str, frozen: str) -> Setting:
    """The same from the authors' start; their list of runs has FC and TC."""
    name, model, more = _variant(classifier, frozen)
    return released(name, model, **more)


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
"""Read out of the authors' own plots: one run each; scores and norms are those of one word, the first."""


class TopicAblation(TopicExperiment):
    """Keys frozen, embeddings frozen, both trained; fixed linear, trained linear and two-layer classifiers."""

    name = "topic-ablation"
    title = "What keys and embeddings do for each other"
    source = "P1 5"
    authors_word = 0
    settings = (
        *(variant(classifier, frozen) for classifier in CLASSIFIERS for frozen in VARIANTS),
        *(_released(classifier, frozen) for classifier in ("FC", "TC") for frozen in VARIANTS),
    )

    # --- rules

    @claim("mutual-promotion", reads=("runs",))
    def both_learn_sooner(self) -> Iterator[Part]:
        """In direction: sooner than either alone. With our margin: in half as many steps."""
        reached = f"epoch_of_loss_{LEARNED}"
        for classifier in CLASSIFIERS:
            together = {row["seed"]: row[reached] for row in self.record.rows("runs", setting=classifier)}
            for alone in (f"{classifier}-KF", f"{classifier}-EF"):
                rows = self.record.rows("runs", setting=alone)
                yield sooner(f"{classifier} against {alone}", [(together[row["seed"]], row[reached]) for row in rows])

    @claim("mutual-suppression", reads=("suppression",))
    def both_fall_at_first(self) -> Part:
        group = self.record.rows("suppression", setting="TC")
        fallen, n = sum(row["epoch"] is not None for row in group), len(group)
        verdict: Verdict = "undecided"
        if n >= ALWAYS:
            verdict = "holds" if fallen else "fails"
        detail = f"In {fallen} of {n} seeds a topic word's score and norm both fall below their start by epoch {TENTH}."
        return Part("TC", verdict, fallen / n, wilson(fallen, n), "seeds", detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        spread = ranges(self.all_courses())
        return {
            "ranges": spread,
            "authors": self.beside_authors(AUTHORS),
            "suppression": [fall_row(course) for name in CLASSIFIERS for course in self.courses[name]],
            "curves": curve_table(self.all_courses(DRAWN), every=100),
        }

    def figures(self) -> Figures:
        return figures(self.all_courses(DRAWN))

    def summary(self) -> str:
        return " ".join(in_words(name, group) for name, group in self.courses.items())

    def notes(self) -> list[str]:
        preset = self.order.preset
        return [
            "KF: keys frozen at 0, so attention stays uniform. EF: embeddings frozen at their start. TC's and TL's "
            "classifiers are trained in every variant.",
            "The variants of one seed share their sentences, query and start; differences are taken within a seed.",
            "The released run list has FC and TC; TL is ours.",
            *self.at_preset(
                reduced="released start: query, embeddings and classifier are those of the authors' code, and of 1000 "
                "sentences 799 are trained on. These runs are compared with the authors' plots, which follow the first "
                "topic word, and decide no claim."
            ),
            "TC with both trained runs 20 seeds, which the claim about suppression needs; all others run 5."
            if preset == "paper"
            else f"{preset}: {self.settings[0].seeds[preset]} seeds for each variant.",
        ]


def sooner(name: str, pairs: Sequence[tuple[float | None, float | None]]) -> Part:
    """Holds if both together learn sooner, by half at least; the last step counts for never.

    ``pairs``: for each seed, when it learned with both trained, and with one of them alone.
    """
    never = sum(second is None for _, second in pairs)
    both, single = np.array([[EPOCHS if at is None else at for at in pair] for pair in pairs], dtype=float).T
    saved, interval = float((single - both).mean()), bootstrap_interval(single - both)
    twice = bootstrap_interval(single - 2 * both)
    verdict: Verdict = "undecided"
    if interval is not None and twice is not None:
        if interval[0] > 0 and both.mean() <= single.mean() / 2:
            verdict = "holds"
        elif interval[1] < 0 or (twice[1] < 0 and not never):
            verdict = "fails"
    detail = (
        f"Loss {LEARNED} at epoch {both.mean():.0f} together and {single.mean():.0f} alone on average; alone "
        f"{never} of {len(pairs)} seeds never reach it within {EPOCHS}."
    )
    return Part(name, verdict, saved, interval, "seeds", detail, higher(interval, 0))


# --- the fall of score and norm at first


def fall(course: TopicCourse) -> tuple[int, float, float, float] | None:
    """The deepest joint fall in the first tenth: epoch, score, norm at the start, norm then; None if there is none."""
    scores, norms, both = early(course)
    if not both.any():
        return None
    at, word = np.unravel_index(np.argmin(np.where(both, norms / norms[0], np.inf)), both.shape)
    return int(course.steps[at]), float(scores[at, word]), float(norms[0, word]), float(norms[at, word])


def early(course: TopicCourse) -> tuple[Any, Any, Any]:
    """Scores, norms, and whether both are below their start, in the first tenth: each (evaluations, words)."""
    first = course.steps <= TENTH
    scores, norms = course.words("score")[first], course.words("norm")[first]
    return scores, norms, (scores < scores[0]) & (norms < norms[0])


def fall_row(course: TopicCourse) -> dict[str, Any]:
    """How many topic words fall together, and the deepest fall; norms times ||q||."""
    falling = early(course)[2].any(0)
    step, score, start, norm = fall(course) or (None, None, None, None)
    return {
        "setting": course.setting,
        "seed": course.seed,
        "topic_words": len(falling),
        "falling_words": int(falling.sum()),
        "epoch": step,
        "score": score,
        "start_norm": None if start is None else start * course.query_norm,
        "norm": None if norm is None else norm * course.query_norm,
    }


def early_words(courses: Sequence[TopicCourse]) -> Table:
    """Score and ||q|| times norm of every topic word since the start, in the first tenth of training."""
    table = []
    for course in courses:
        for measure, scale in (("score", 1.0), ("norm", course.query_norm)):
            values = (course.words(measure) - course.words(measure)[0]) * scale
            table += [
                {"measure": measure, "word": f"{course.seed}: {word}", "step": int(step), "change": change}
                for step, line in zip(course.steps, values, strict=True)
                if step <= TENTH and step % 20 == 0
                for word, change in enumerate(line)
            ]
    return table


# --- words and figures


def in_words(name: str, group: Sequence[TopicCourse]) -> str:
    """A variant's runs as a sentence."""
    epochs = [epoch for course in group if (epoch := course.crossing(LEARNED)) is not None]
    losses = [course.end("loss") for course in group]
    when = f"loss {LEARNED} at epoch {min(epochs):.0f} to {max(epochs):.0f}" if epochs else f"never loss {LEARNED}"
    if 0 < len(epochs) < len(group):
        when += f" in {len(epochs)} of {len(group)} seeds"
    return f"{name}: {when}, final loss {min(losses):.2g} to {max(losses):.2g}."


def figures(courses: Sequence[TopicCourse]) -> Figures:
    """Loss, score and norm of all variants through training; score and norm at the very beginning under TC."""
    table = [
        {**row, "classifier": row["setting"][:2], "variant": VARIANTS[row["setting"][3:]], "line": f"{row['seed']}"}
        for row in curve_table(courses, ("loss",), every=100)
    ]
    lines = partial(seed_curves, x_title="epochs")
    by_variant = partial(lines, table, column="classifier", group="line", colour="variant", colours=COLOURS)
    from_zero, frozen = alt.Scale(zero=True), "with keys or embeddings frozen, and with both trained"
    measures = {
        "loss": ("training loss", alt.Scale(type="log")),
        "score": ("mean score of topic words", from_zero),
        "norm": ("mean ‖q‖ · norm of topic words", from_zero),
    }
    drawn: dict[str, alt.TopLevelMixin] = {
        name: by_variant(name, y_title, f"{y_title.capitalize()} {frozen}", scale=scale)
        for name, (y_title, scale) in measures.items()
    }
    rows = early_words([course for course in courses if course.setting == "TC"])
    change, title = "change since the start", "Topic words under TC, both trained, in the first tenth of training"
    drawn["suppression"] = lines(rows, "change", change, title, column="measure", group="word", scale=from_zero)
    return drawn
