"""Topic words in real text (P1 5, released code): the identity and the order of attention on SST2 and SST5.

No word of a real sentence is a topic word by definition. How much a word says about the class is its purity
delta(w) = |n_pos - n_neg| / (n_pos + n_neg), over the training sentences of each class that contain it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import altair as alt
import numpy as np

from attnlab.errors import UsageError
from attnlab.families.topics.course import SEEN, Floats
from attnlab.families.topics.spec import SstSpec, TopicModelSpec
from attnlab.families.topics.sst import Classes, Treebank, read_sst, sst_folder
from attnlab.families.topics.word_course import WordCourse
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Figures, Order, Setting, Table, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import Estimate, below, estimate_row, higher, lower, missing
from attnlab.pages.charts import COLOURS, INK, SIZE, panels, seed_curves
from attnlab.protocols import Row
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained
from attnlab.runs.optimisers import SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import bootstrap_interval
from attnlab.theory.norms import norm_of_score

# --- settings

EVERY = 500
"""Epochs between evaluations."""
PATIENCE = 2000
"""Epochs without a lower validation loss after which a run ends."""
MOST: dict[Preset, int] = {"quick": 2000, "reduced": 8000, "paper": 40_000}
"""Most epochs of a run."""
QUERIES = 5
"""Starts of a setting at ``paper``, each with a query of its own: how large it is moves everything."""
MODELS = {
    "FC": TopicModelSpec(classifier="fixed", size=200, key_size=10),
    "TC": TopicModelSpec(classifier="linear", size=100, key_size=10),
}

BOTH: tuple[Classes, ...] = (2, 5)

LARGEST = 100
"""Words of largest final score that the identity is tried on."""
DESCRIBES = 0.1
"""The identity describes words whose median deviation is below this."""
TRACED = ("powerful", "stupid", "solid", "suffers", "mess")
COMMON = 20
"""Sentences that a word must be in to be traced with all others."""
SENTENCE = ("powerful", "sequel", "one", "best", "films", "year")
"""Words that only the traced sentence has all of; the first and the fourth are followed."""


def until(steps: int) -> Schedule:
    """So many epochs."""
    return Schedule.every(EVERY, steps=steps, checkpoint_every=1000)


def setting(classes: Classes, padded: bool, classifier: str) -> Setting:
    """A run, at ``paper`` one for each query; ``padded``: padding is attended to, as released.

    At ``quick`` only SST2 with padding masked is run.
    """
    return Setting(
        f"SST{classes} {classifier}, {'padding attended' if padded else 'padding masked'}",
        lambda seed: RunSpec(
            task=SstSpec(classes=classes, padded=padded),
            model=MODELS[classifier],
            optimiser=SgdSpec(),
            batch=None,
            init_seed=seed,
            data_seed=seed,
        ),
        {"quick": int(classes == 2 and not padded), "reduced": 1, "paper": QUERIES},
        {preset: until(most) for preset, most in MOST.items()},
    )


@cache
def corpus_of(classes: Classes, padded: bool) -> Treebank:
    """The corpus, read once."""
    return read_sst(sst_folder(), classes, padded=padded)


class TopicSst(Experiment):
    """Fixed and trained linear classifiers on the treebank, with padding masked, and as released."""

    name = "topic-sst"
    title = "Score, norm and purity of words in real sentences"
    source = "P1 5, released code"
    settings = tuple(
        setting(classes, padded, classifier) for classes in BOTH for padded in (False, True) for classifier in MODELS
    )

    def jobs(self, order: Order) -> list[Job]:
        """The first of each setting is named without its seed: at most presets it is the only one."""
        return [replace(job, label=job.label.removesuffix(", seed 0")) for job in super().jobs(order)]

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        """A run goes on, as far as its validation losses say, until they have not fallen for 2000 epochs."""
        return [
            replace(job, schedule=until(epochs(done.get(job.spec.id), MOST[order.preset]))) for job in self.jobs(order)
        ]

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:  # noqa: ARG002 (runs may end early)
        return self.jobs(order)

    # --- measures

    def measure(self, runs: Runs) -> None:
        """Words through training are kept of the first query only: those of all take a gigabyte."""
        self.words: dict[str, WordCourse] = {}
        self.ends: dict[str, dict[str, float | None]] = {}
        self.turned: dict[str, list[Turn]] = {}
        for outcome in runs.all():
            words = words_of(outcome)
            self.words.setdefault(outcome.setting, words)
            deviations = finite(words.deviations(words.largest(LARGEST)).tolist())
            median = float(np.median(deviations)) if len(deviations) >= LARGEST else None
            self.ends[outcome.run.id] = {"largest_score": float(words.scores[-1].max()), "median_deviation": median}
            if words.corpus.classes == 2:
                self.turned.setdefault(outcome.setting, []).append(turn_of(words))
        self.binary = {name: self.words[name] for name in self.turned}

    # --- rules

    @claim("real-frequency-then-purity", reads=("turns",))
    def frequency_then_purity(self) -> Iterator[Part]:
        for row in self.record.rows("turns"):
            found, rule = Estimate.of(row), lower if row["what"].endswith("falls") else higher
            verdict, runs = rule(found.interval, 0), self.record.runs(row["what"].rpartition(": ")[0])
            yield Part(row["what"], verdict, found.value, found.interval, "examples", row["detail"], runs=runs)

    @claim("real-norm-identity", reads=("identity", "runs"))
    def identity_describes(self) -> Iterator[Part]:
        """Over queries where there are several, else over the words of one."""
        for name in self.record.seeds:
            if self.record.runs(name) > 1:
                medians = [row["median_deviation"] for row in self.record.rows("runs", setting=name)]
                yield described_by_queries(name, medians)
            else:
                yield described(name, [row["largest_deviation"] for row in self.record.rows("identity", setting=name)])

    # --- tables, figures, words

    def run_row(self, outcome: Outcome) -> dict[str, Any]:
        last = up_to_best(outcome.run.rows)[-1]
        return {
            "setting": outcome.setting,
            "seed": outcome.seed,
            "query_norm": last["query_norm"],
            "best_epoch": int(last["step"]),
            "last_epoch": outcome.run.step,
            **{name: last[name] for name in ("loss", "valid_loss", "test_accuracy")},
            **self.ends[outcome.run.id],
            "run": outcome.run.id,
        }

    def tables(self) -> Mapping[str, Table]:
        return {
            "turns": [row for name, group in self.turned.items() for row in turns(name, group)],
            "identity": [row for name, words in self.words.items() for row in identity_table(name, words)],
            "purity": [row for name, words in self.binary.items() for row in purity_table(name, words)],
            "sentence": [row for name, words in self.binary.items() for row in sentence_table(name, words)],
        }

    def figures(self) -> Figures:
        return figures(**{name: self.record.tables[name] for name in ("identity", "purity", "sentence")})

    def summary(self) -> str:
        sentences = []
        for outcome in self.runs.all():
            if outcome.seed != self.runs[outcome.setting][0].seed:
                continue
            row, words = self.run_row(outcome), self.words[outcome.setting]
            part = described(outcome.setting, words.deviations(words.largest(LARGEST)).tolist())
            sentences.append(
                f"{row['setting']}: lowest validation loss at epoch {row['best_epoch']}, test accuracy "
                f"{row['test_accuracy']:.1%}. {part.detail}"
            )
        return " ".join(sentences)

    def notes(self) -> list[str]:
        preset = self.order.preset
        return [
            f"{QUERIES} queries a setting. The identity's intervals are over queries, those of frequency and purity "
            "over sentences, each with its mean over queries. Figures, and tables but for runs and turns, show the "
            "first query."
            if preset == "paper"
            else "One seed a setting: intervals are over words or sentences, and say nothing about other seeds.",
            "A run ends 2000 epochs after its lowest validation loss (looked at every 500 epochs) and is read up to "
            "there.",
            "The identity's m is the mean length of the training sentences that contain a word, less one.",
            f"No run goes beyond {MOST[preset]} epochs at {preset}.",
            *(["quick: SST2 with padding masked only."] if preset == "quick" else []),
        ]


def epochs(run: Trained | None, most: int) -> int:
    """How many epochs a run is to have, of at most so many: 4000 at first, then 1000 more until it has ended."""
    if run is None:
        return min(2 * PATIENCE, most)
    rows = [row for row in run.rows if row["step"] <= most]
    last, best = (int(some[-1]["step"]) for some in (rows, up_to_best(rows, first=0)))
    return last if last - best >= PATIENCE else min(last + PATIENCE // 2, most)


def up_to_best(rows: Sequence[Row], first: int = 1) -> Sequence[Row]:
    """The evaluations up to that of the lowest validation loss, looked for from number ``first`` on."""
    best = min(range(first, len(rows)), key=lambda at: rows[at]["valid_loss"])
    return rows[: best + 1]


def words_of(outcome: Outcome) -> WordCourse:
    """A run's words, up to its lowest validation loss."""
    assert outcome.spec is not None
    task = outcome.spec.task
    assert isinstance(task, SstSpec)
    run, rows = outcome.run.run, up_to_best(outcome.run.rows)
    if run is None:
        raise UsageError(f"Run {outcome.run.id} has no folder to read its words from.")
    steps = [int(row["step"]) for row in rows]
    scores, norms = (
        np.stack([np.asarray(run.fields(step)[name], dtype=float) for step in steps]) for name in ("score", "norm")
    )
    return WordCourse(corpus_of(task.classes, task.padded), steps, scores, norms * rows[0]["query_norm"])


@dataclass(frozen=True, eq=False)
class Turn:
    """From frequency's peak, chosen on one half of the sentences, to a run's end, on the other half: frequency and
    purity of each sentence's top word, then and at the end, (2, sentences) each; and both epochs.
    """

    frequency: Floats
    purity: Floats
    epochs: tuple[int, int]


def turn_of(words: WordCourse) -> Turn:
    """That of one run. At the start all scores are equal and no word is attended to more than another."""
    frequency = words.frequency[words.top_words].astype(float)  # (evaluations, sentences)
    peak = 1 + int(np.argmax(frequency[1:, ::2].mean(1)))
    both = [peak, -1]
    purity = words.purity[words.top_words[both]]
    return Turn(frequency[both, 1::2], purity[:, 1::2], (words.steps[peak], words.steps[-1]))


def turns(name: str, runs: Sequence[Turn]) -> Iterator[dict[str, Any]]:
    """How frequency and purity of the top word change in a setting, each sentence in its mean over runs."""
    first, last = (" and ".join(map(str, sorted({run.epochs[at] for run in runs}))) for at in (0, 1))
    for what in ("frequency falls", "purity rises"):
        measure = what.split()[0]
        before, after = np.mean([getattr(run, measure) for run in runs], axis=0)  # (sentences,) each
        change = after - before
        detail = (
            f"The top word's mean {measure} goes from {before.mean():.3g} to {after.mean():.3g}, from epoch {first} to "
            f"{last}."
        )
        estimate = Estimate(float(change.mean()), bootstrap_interval(change, resamples=2000))
        yield estimate_row(f"{name}: {what}", estimate, "examples", detail)


def described(name: str, deviations: Sequence[float | None]) -> Part:
    """Holds if the median deviation of the words of largest score has an upper bound over words below 0.1."""
    known = finite(deviations)
    if len(known) < LARGEST:
        return missing(name, "words", f"Only {len(known)} words have a score above {SEEN}.")
    interval, median = bootstrap_interval(known, "median"), float(np.median(known))
    detail = f"Median deviation {median:.3f} over {len(known)} words; the largest is {known.max():.3f}."
    return Part(name, lower(interval, DESCRIBES), median, interval, "words", detail)


def described_by_queries(name: str, medians: Sequence[float | None]) -> Part:
    """Holds if the mean over queries of the words' median deviation has an upper bound below 0.1; fails if the lower is
    above. A query with too few words of a score that can be seen leaves the part undecided.
    """
    known = finite(medians)
    if len(known) < len(medians):
        few = f"In {len(medians) - len(known)} of {len(medians)} queries fewer than {LARGEST} words score above {SEEN}."
        return missing(name, "queries", few)
    detail = f"Median deviation {known.mean():.3f} on average over {len(known)} queries, {known.max():.3f} at most."
    return below(name, known.tolist(), DESCRIBES, detail, least=QUERIES, over="queries")


def finite(values: Sequence[float | None]) -> Floats:
    """Those that are numbers."""
    numbers = np.array([np.nan if value is None else value for value in values])
    return np.asarray(numbers[np.isfinite(numbers)])


# --- tables


def identity_table(name: str, words: WordCourse) -> Table:
    """The words of largest final score: where they end, and how far from the identity they get."""
    largest = words.largest(LARGEST)
    return [
        {
            "setting": name,
            "word": words.corpus.words[word],
            "sentences": int(words.frequency[word]),
            "others": words.others[word],
            "score": words.scores[-1, word],
            "norm": words.norms[-1, word],
            "identity": float(norm_of_score(words.scores[-1, word], words.others[word])),
            "largest_deviation": None if np.isnan(value) else value,
        }
        for word, value in zip(largest, words.deviations(largest), strict=True)
    ]


def purity_table(name: str, words: WordCourse) -> Table:
    """Purity and frequency of the top words in the sentences of each traced word, of all common words, and of all."""
    sentence, word = words.pairs
    common = words.frequency[word] >= COMMON
    order = np.lexsort((sentence[common], word[common]))  # by word, then sentence: sums round as they always have
    shares = 1 / words.frequency[word[common][order]]  # each common word counts once
    groups: list[tuple[str, Any, Any]] = [(one, sentence[word == words.corpus.id(one)], None) for one in TRACED]
    groups += [
        (f"words in at least {COMMON} sentences", sentence[common][order], shares),
        ("all sentences", np.arange(len(words.corpus.split.train)), None),
    ]
    return [
        {
            "setting": name,
            "sentences_of": of,
            "step": step,
            "purity": float(np.average(words.purity[tops[rows]], weights=weights)),
            "frequency": float(np.average(words.frequency[tops[rows]], weights=weights)),
        }
        for of, rows, weights in groups
        for step, tops in zip(words.steps[1:], words.top_words[1:], strict=True)
    ]


def sentence_table(name: str, words: WordCourse) -> Table:
    """Weight, score and norm of two words of the traced sentence: one pure and rare, one frequent and mixed."""
    bags = words.corpus.split.train
    sentences = [set(bags.sentence[bags.words == words.corpus.id(word)].tolist()) for word in SENTENCE]
    (traced,) = set.intersection(*sentences)
    inside = bags.words[bags.offsets[traced] : bags.offsets[traced + 1]].numpy()
    return [
        {
            "setting": name,
            "word": followed,
            "step": step,
            "weight": float(np.exp(scores[word]) / np.exp(scores[inside]).sum()),
            "score": scores[word],
            "norm": norms[word],
        }
        for step, scores, norms in zip(words.steps, words.scores, words.norms, strict=True)
        for followed in (SENTENCE[0], SENTENCE[3])
        for word in [words.corpus.id(followed)]
    ]


# --- figures


def figures(identity: Table, purity: Table, sentence: Table) -> Figures:
    """Where words end beside the identity; purity and frequency of top words; the traced sentence."""
    words = alt.Chart().mark_circle(size=30, opacity=0.6, color=COLOURS[0])
    words = words.encode(
        x=alt.X("score:Q", title="final score"),
        y=alt.Y("norm:Q", title="‖q‖ · norm"),
        tooltip=["word:N", "sentences:Q"],
    )
    crosses = (
        alt.Chart()
        .mark_point(size=45, color=INK, shape="cross", filled=True, opacity=0.8)
        .encode(x="score:Q", y="identity:Q")
    )
    title = "The 100 words of largest score; crosses: the identity"
    lines = partial(seed_curves, x_title="epochs")
    tops: dict[str, Any] = {"group": "sentences_of", "colour": "sentences_of", "colours": COLOURS}
    seen, often = "Purity of the words attended to", "Frequency of the words attended to"
    followed, in_sentence = "A pure and a frequent word of one sentence", "weight in the sentence"
    return {
        "identity": panels(identity, layer=alt.layer(words, crosses).properties(**SIZE), title=title),
        "purity": lines(purity, "purity", "mean purity of the top word", seen, **tops),
        "frequency": lines(
            purity, "frequency", "mean sentences with the top word", often, scale=alt.Scale(zero=True), **tops
        ),
        "sentence": lines(sentence, "weight", in_sentence, followed, group="word", colour="word"),
    }
