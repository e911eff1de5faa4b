"""Topic words in real text (P1 5, released code): the identity and the order of attention on SST2 and SST5.

No word of a real sentence is a topic word by definition. How much a word tells about the class is its purity
delta(w) = |n_pos - n_neg| / (n_pos + n_neg), over the training sentences of each class that contain it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from attnlab.experiments.topic_sst.treebank import SETTINGS, Outcome, Setting, corpus_of
from attnlab.experiments.topics.topics import SEEN
from attnlab.lab.claims import Finding, Part, Preset, Verdict
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import COLOURS, INK, SIZE, curves, panels
from attnlab.protocols import Row
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.theory.norms import norm_of_score

PATIENCE = 2000
"""Epochs without a lower validation loss after which a run ends."""
MOST: dict[Preset, int] = {"quick": 2000, "reduced": 8000, "paper": 20_000}
"""Most epochs of a run."""
LARGEST = 100
"""Words of largest final score that the identity is tried on."""
DESCRIBES = 0.1
"""The identity describes words whose median deviation lies below this."""
TRACED = ("powerful", "stupid", "solid", "suffers", "mess")
COMMON = 20
"""Sentences that a word must be in to be traced with all others."""
SENTENCE = ("powerful", "sequel", "one", "best", "films", "year")
"""Words that only the traced sentence has all of; the first and the fourth are followed."""


def settings_of(order: Order) -> tuple[Setting, ...]:
    """All at reduced and paper; SST2 with padding masked at quick."""
    return SETTINGS[:2] if order.preset == "quick" else SETTINGS


class TopicSst(Experiment):
    """Fixed and trained linear classifiers on the treebank, with padding masked, and as released."""

    name = "topic-sst"
    title = "Score, norm and purity of words in real sentences"
    source = "P1 5, released code"

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        return [setting.job(epochs(setting, order, done)) for setting in settings_of(order)]

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:  # noqa: ARG002 (runs may end early)
        return [setting.job(MOST[order.preset]) for setting in settings_of(order)]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        outcomes = [
            Outcome(setting, done[setting.spec().id], corpus_of(setting.classes, setting.padded))
            for setting in settings_of(order)
        ]
        binary = [outcome for outcome in outcomes if outcome.setting.classes == 2]
        return Result(
            summary=tell(outcomes),
            tables={
                "runs": [outcome.row() for outcome in outcomes],
                "identity": [row for outcome in outcomes for row in identity_table(outcome)],
                "purity": [row for outcome in binary for row in purity_table(outcome)],
                "sentence": [row for outcome in binary for row in sentence_table(outcome)],
            },
            figures=figures(outcomes),
            findings=decide(outcomes),
            notes=notes(order),
            seeds={outcome.setting.name: [0] for outcome in outcomes},
        )


def epochs(setting: Setting, order: Order, done: Mapping[str, Trained]) -> int:
    """How long a run goes on, as far as its validation losses tell: until they have not fallen for 2000 epochs."""
    most, run = MOST[order.preset], done.get(setting.spec().id)
    if run is None:
        return min(2 * PATIENCE, most)
    rows = [row for row in run.rows if row["step"] <= most]
    return int(rows[-1]["step"]) if has_ended(rows) else min(int(rows[-1]["step"]) + PATIENCE // 2, most)


def has_ended(rows: Sequence[Row]) -> bool:
    """Whether the last evaluation lies 2000 epochs behind that of the lowest validation loss."""
    best = min(rows, key=lambda row: row["valid_loss"])
    return rows[-1]["step"] - best["step"] >= PATIENCE


# --- claims


def decide(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """The verdicts; `claims.toml` says the rules in words."""
    binary = [outcome for outcome in outcomes if outcome.setting.classes == 2]
    return (
        Finding("real-frequency-then-purity", tuple(part for outcome in binary for part in turned(outcome))),
        Finding("real-norm-identity", tuple(described(outcome) for outcome in outcomes)),
    )


def described(outcome: Outcome) -> Part:
    """Holds if the median deviation has an upper bound over words below 0.1."""
    name, values = outcome.setting.name, outcome.deviations(outcome.largest(LARGEST))
    known = values[np.isfinite(values)]
    if len(known) < LARGEST:
        return Part(name, "undecided", None, None, "words", f"Only {len(known)} words have a score above {SEEN}.")
    interval = bootstrap_interval(known, "median")
    assert interval is not None  # a hundred values have one
    verdict: Verdict = "holds" if interval[1] < DESCRIBES else "fails" if interval[0] > DESCRIBES else "undecided"
    median = float(np.median(known))
    detail = f"Median deviation {median:.3f} over {len(known)} words; the largest is {known.max():.3f}."
    return Part(name, verdict, median, interval, "words", detail)


def turned(outcome: Outcome) -> tuple[Part, Part]:
    """Frequency falls and purity rises from frequency's peak, chosen on one half of the sentences, to the end."""
    frequency = outcome.counts.sum(1)[outcome.top_words].astype(float)  # (evaluations, sentences)
    purity = outcome.purity[outcome.top_words]
    # At the start all scores are equal and no word is attended to more than another.
    peak = 1 + int(np.argmax(frequency[1:, ::2].mean(1)))
    when = f"from epoch {outcome.steps[peak]} to {outcome.steps[-1]}"
    parts = []
    for what, values, sign in (("frequency falls", frequency, -1), ("purity rises", purity, 1)):
        change = values[-1, 1::2] - values[peak, 1::2]
        mean, interval = float(change.mean()), bootstrap_interval(change, resamples=2000)
        verdict: Verdict = "undecided"
        if interval is not None and min(sign * bound for bound in interval) > 0:
            verdict = "holds"
        elif interval is not None and max(sign * bound for bound in interval) < 0:
            verdict = "fails"
        before, after = values[peak, 1::2].mean(), values[-1, 1::2].mean()
        detail = f"The top word's mean {what.split()[0]} goes from {before:.3g} to {after:.3g}, {when}."
        parts.append(Part(f"{outcome.setting.name}: {what}", verdict, mean, interval, "examples", detail))
    return parts[0], parts[1]


# --- tables


def identity_table(outcome: Outcome) -> Table:
    """The words of largest final score: where they end, and how far from the identity they get."""
    words = outcome.largest(LARGEST)
    rows = zip(words, outcome.deviations(words), strict=True)
    return [
        {
            "setting": outcome.setting.name,
            "word": outcome.corpus.words[word],
            "sentences": int(outcome.counts[word].sum()),
            "others": outcome.others[word],
            "score": outcome.scores[-1, word],
            "norm": outcome.norms[-1, word],
            "identity": float(norm_of_score(outcome.scores[-1, word], outcome.others[word])),
            "largest_deviation": None if np.isnan(value) else value,
        }
        for word, value in rows
    ]


def purity_table(outcome: Outcome) -> Table:
    """Purity and frequency of the top words in the sentences of each traced word, of all common words, and of all."""
    bags = outcome.corpus.split.train
    frequency = outcome.counts.sum(1)
    sentence, words = bags.sentence.numpy(), bags.words.numpy()
    common = np.isin(words, np.flatnonzero(frequency >= COMMON))
    pairs = np.unique(np.stack([words[common], sentence[common]]), axis=1)
    weights = 1 / frequency[pairs[0]]  # each common word counts once
    groups = {word: sentence[words == outcome.corpus.id(word)] for word in TRACED}
    told = [(word, np.unique(rows), None) for word, rows in groups.items()]
    told += [
        (f"words in at least {COMMON} sentences", pairs[1], weights),
        ("all sentences", np.arange(len(bags)), None),
    ]
    return [
        {
            "setting": outcome.setting.name,
            "sentences_of": name,
            "step": step,
            "purity": float(np.average(outcome.purity[tops[rows]], weights=share)),
            "frequency": float(np.average(frequency[tops[rows]], weights=share)),
        }
        for name, rows, share in told
        for step, tops in zip(outcome.steps[1:], outcome.top_words[1:], strict=True)
    ]


def sentence_table(outcome: Outcome) -> Table:
    """Weight, score and norm of two words of the traced sentence: one pure and rare, one frequent and mixed."""
    bags = outcome.corpus.split.train
    sentences = [set(bags.sentence[bags.words == outcome.corpus.id(word)].tolist()) for word in SENTENCE]
    (found,) = set.intersection(*sentences)
    inside = bags.words[bags.offsets[found] : bags.offsets[found + 1]].numpy()
    table = []
    for at, step in enumerate(outcome.steps):
        scores = outcome.scores[at]
        for name in (SENTENCE[0], SENTENCE[3]):
            word = outcome.corpus.id(name)
            table.append(
                {
                    "setting": outcome.setting.name,
                    "word": name,
                    "step": step,
                    "weight": float(np.exp(scores[word]) / np.exp(scores[inside]).sum()),
                    "score": scores[word],
                    "norm": outcome.norms[at, word],
                }
            )
    return table


# --- words and figures


def tell(outcomes: Sequence[Outcome]) -> str:
    """The result in plain words."""
    sentences = []
    for outcome in outcomes:
        row, part = outcome.row(), described(outcome)
        sentences.append(
            f"{row['setting']}: lowest validation loss at epoch {row['best_epoch']}, test accuracy "
            f"{row['test_accuracy']:.1%}. {part.detail}"
        )
    return " ".join(sentences)


def notes(order: Order) -> tuple[str, ...]:
    """What a reader should know about how it was run."""
    told = [
        "One seed a setting: intervals are over words or sentences, and say nothing about other seeds.",
        "A run ends 2000 epochs after its lowest validation loss (looked at every 500 epochs) and is read up to there.",
        "The identity's m is the mean length of the training sentences that contain a word, less one.",
        f"No run goes beyond {MOST[order.preset]} epochs at {order.preset}.",
    ]
    if order.preset == "quick":
        told.append("quick: SST2 with padding masked only.")
    return tuple(told)


def figures(outcomes: Sequence[Outcome]) -> dict[str, alt.TopLevelMixin]:
    """Where words end beside the identity; purity and frequency of top words; the traced sentence."""
    ends = [row for outcome in outcomes for row in identity_table(outcome)]
    binary = [outcome for outcome in outcomes if outcome.setting.classes == 2]
    purity = [row for outcome in binary for row in purity_table(outcome)]
    order = list(dict.fromkeys(row["setting"] for row in ends))
    words = alt.Chart().mark_circle(size=30, opacity=0.6, color=COLOURS[0])
    words = words.encode(
        x=alt.X("score:Q", title="final score"),
        y=alt.Y("norm:Q", title="‖q‖ · norm"),
        tooltip=["word:N", "sentences:Q"],
    )
    rules = alt.Chart().mark_point(size=12, color=INK, shape="cross").encode(x="score:Q", y="identity:Q")
    identity = (
        alt.layer(words, rules, data=alt.InlineData(values=[dict(row) for row in ends]))
        .properties(**SIZE)
        .facet(facet=alt.Facet("setting:N", title=None, sort=order), columns=4)
        .properties(title=alt.TitleParams("The 100 words of largest score; crosses: the identity", anchor="start"))
    )
    lines: dict[str, Any] = {"x": "step", "group": "sentences_of", "colour": "sentences_of", "colours": COLOURS}
    drawn: dict[str, alt.TopLevelMixin] = {
        "identity": identity,
        "purity": panels(
            purity,
            column="setting",
            layer=curves(y="purity", x_title="epochs", y_title="mean purity of the top word", **lines),
            title="Purity of the words attended to",
        ),
        "frequency": panels(
            purity,
            column="setting",
            layer=curves(
                y="frequency",
                x_title="epochs",
                y_title="mean sentences with the top word",
                scale=alt.Scale(zero=True),
                **lines,
            ),
            title="Frequency of the words attended to",
        ),
        "sentence": panels(
            [row for outcome in binary for row in sentence_table(outcome)],
            column="setting",
            layer=curves(
                x="step", y="weight", group="word", colour="word", x_title="epochs", y_title="weight in the sentence"
            ),
            title="A pure and a frequent word of one sentence",
        ),
    }
    return drawn
