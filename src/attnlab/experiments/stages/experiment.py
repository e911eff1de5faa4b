"""Does "words first" survive beside "language model first"? (ours, after P3 1 and Voita et al. 2021)

Voita, Sennrich and Titov (arXiv 2109.01396) describe the training of translators as three stages: a language model of
the target side, then word by word, then word order. P3 says that words come before attention. Both are followed here in
the same runs, those of experiment knowledge-first on Multi30k.

Of every evaluation: how often the network says what a trigram of the target side would say; how often the lexical probe
and attention point to the word that IBM Model 1 aligns; and whether attention goes back where the alignment does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnlab.data.bitext import Bitext, PieceSplit
from attnlab.data.pieces import BEGIN, END
from attnlab.experiments.knowledge_first.experiment import FEWEST, PAIRS, TRANSLATING
from attnlab.experiments.knowledge_first.stages import Course, evaluated_pairs, ibm1_of, pair_course
from attnlab.families.translation.pieces import sentence_pairs
from attnlab.families.translation.reading import stored_field, stored_words
from attnlab.fields import ScoreField
from attnlab.lab.claims import Part
from attnlab.lab.experiment import Experiment, Figures, Table, Watched, by_preset, claim
from attnlab.lab.outcomes import Outcome, Runs, median
from attnlab.lab.rules import above, low_high, missing
from attnlab.pages.charts import COLOURS, metric_curves
from attnlab.pages.replay import CAPTION
from attnlab.runs.schedule import Schedule
from attnlab.stats.bootstrap import Floats, bootstrap_interval
from attnlab.theory.ngrams import NGrams

# --- settings

QUICK = tuple(step for step in TRANSLATING if step <= 100)
_WHOLE = Schedule(steps=TRANSLATING[-1], evaluations=TRANSLATING)
TRANSLATOR = replace(
    PAIRS, seeds=by_preset(1, 5, 5), schedule=by_preset(Schedule(steps=QUICK[-1], evaluations=QUICK), _WHOLE, _WHOLE)
)
"""The runs of knowledge-first on Multi30k; quick has one that is short."""
Said: TypeAlias = tuple[Floats, NDArray[np.int64]]
"""Of every output word: the log-probability that the target-only model gives it, and which word it says itself."""
ORDER = 3
"""The target-only model is a trigram."""
STAGES = ("language", "lexicon", "attention", "reordering")
NAMES = {
    "language": "says what a trigram says",
    "lexicon": "probe at the aligned word",
    "attention": "attention at the aligned word",
    "reordering": "attention goes back where the alignment does",
}


@dataclass(frozen=True, eq=False)
class Followed:
    """A run's curves (evaluations,), by name; ``course``: probe and attention over all words, ``unsaid``: the same over
    words that the trigram does not say.
    """

    outcome: Outcome
    steps: NDArray[np.int64]
    curves: Mapping[str, Floats]
    course: Course
    unsaid: Course

    def half_height(self, name: str) -> int | None:
        """The first evaluation half way from a curve's start to its highest; None where it never exceeds its start."""
        values = self.curves[name]
        start, highest = values[0], values.max()
        if highest <= start:
            return None
        return int(self.steps[(values >= (start + highest) / 2).argmax()])

    def row(self) -> dict[str, Any]:
        """How one seed went: when each stage is half way, and the leads that decide claims."""
        steps = {name: self.half_height(name) for name in STAGES}
        return {
            "seed": self.outcome.seed,
            **{f"{name}_step": step for name, step in steps.items()},
            "lexicon_after_language": difference(steps["lexicon"], steps["language"]),
            "reordering_after_attention": difference(steps["reordering"], steps["attention"]),
            "attention_after_lexicon": self.course.lead,
            "unsaid_words": float(self.curves["unsaid_words"][0]),
            "attention_after_lexicon_unsaid": self.unsaid.lead,
            "run": self.outcome.run.id,
        }

    def rows(self) -> list[dict[str, Any]]:
        """A line for every evaluation."""
        named = {"setting": self.outcome.setting, "seed": self.outcome.seed}
        return [
            {**named, "step": int(step), **{name: float(values[at]) for name, values in self.curves.items()}}
            for at, step in enumerate(self.steps)
        ]


def difference(later: int | None, earlier: int | None) -> int | None:
    """By how many updates; None where one never came."""
    return None if later is None or earlier is None else later - earlier


SENTENCE = ("A small dog sleeps under the old table.", "Ein kleiner Hund schläft unter dem alten Tisch.")
"""Ours: no corpus text is shown."""


class Stages(Experiment):
    """Language, words, order: which comes first in a translator."""

    name = "stages"
    title = "Stages of translation training: language, words, order"
    source = "ours, after P3 1 and Voita et al. 2021"
    settings = (TRANSLATOR,)
    watched = (Watched(TRANSLATOR, 0, "Multi30k, seed 0, on a sentence that we wrote", example=SENTENCE),)
    replay_caption = CAPTION
    decides_at = ("reduced", "paper")

    def measure(self, runs: Runs) -> None:
        said = trigram(*evaluated_pairs(runs[TRANSLATOR][0]))  # the same pairs in all runs
        self.followed = [follow(outcome, said) for outcome in runs[TRANSLATOR]]

    # --- rules

    def later(self, column: str, what: str) -> Part:
        """Over seeds the mean of a difference in updates lies above 0."""
        values = [float(row[column]) for row in self.record.rows("steps") if row[column] is not None]
        if not values:
            return missing("Multi30k")
        many = len(self.record.rows("steps"))
        detail = f"{what} by {np.mean(values):.0f} updates, over {len(values)} of {many} seeds."
        return above("Multi30k", values, 0.0, detail, least=FEWEST)

    @claim("language-before-lexicon", reads=("steps",))
    def language_first(self) -> Part:
        return self.later("lexicon_after_language", "The probe is half way later than the trigram's words")

    @claim("reordering-last", reads=("steps",))
    def reordering_last(self) -> Part:
        return self.later("reordering_after_attention", "Going back is half way later than attention")

    @claim("lexicon-first-beside-language", reads=("steps",))
    def words_still_before_attention(self) -> Part:
        return self.later(
            "attention_after_lexicon_unsaid", "Of words that a trigram does not say, attention after probe"
        )

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"steps": [one.row() for one in self.followed], "orders": list(self.orders())}

    def orders(self) -> Iterator[dict[str, Any]]:
        """Each difference with its interval over seeds."""
        rows = [one.row() for one in self.followed]
        for column in (name for name in rows[0] if "_after_" in name):
            values = [float(row[column]) for row in rows if row[column] is not None]
            mean = float(np.mean(values)) if values else None
            interval = bootstrap_interval(values) if values else None
            yield {"what": column.replace("_", " "), "seeds": len(values), "updates": mean, **low_high(interval)}

    def run_tables(self) -> dict[str, Table]:
        runs = [self.run_row(outcome) for outcome in self.runs.all()]
        return {"runs": runs, "curves": [row for one in self.followed for row in one.rows()]}

    def figures(self) -> Figures:
        """The four stages, and how much of the output needs more than a language model."""
        rows = [row for one in self.followed for row in one.rows()]
        stages = {NAMES[name]: name for name in STAGES}
        as_well = {"trigram gives the right word as much": "as_well", "network is right": "accuracy"}
        as_well |= {"attention does not go back": "monotone"}
        return {
            "stages": metric_curves(
                rows, stages, y_title="share of the output words", title="What is learned when", colours=COLOURS
            ),
            "language": metric_curves(
                rows, as_well, y_title="share of the output words", title="More than a language model", colours=COLOURS
            ),
        }

    def summary(self) -> str:
        rows = [one.row() for one in self.followed]
        said = ", ".join(f"{name} {_shown(median(row[f'{name}_step'] for row in rows))}" for name in STAGES)
        return (
            f"Half way to their highest, medians over {len(rows)} seeds in updates: {said}. Of words that a trigram of "
            f"the target side does not say ({np.mean([row['unsaid_words'] for row in rows]):.0%}), attention gets to "
            f"the aligned word {_shown(median(row['attention_after_lexicon_unsaid'] for row in rows))} updates after "
            f"the probe; of all words {_shown(median(row['attention_after_lexicon'] for row in rows))}."
        )

    def notes(self) -> list[str]:
        return [
            "The target-only model is an interpolated Kneser-Ney trigram over the pieces of the training pairs' target "
            "side. Voita et al. train transformers on far more text and measure with other tools: their order is "
            "asked for, not their figures.",
            "The aligned word is that of largest Trans in IBM Model 1 over pieces, after five iterations. End marks "
            "are left out.",
            "Going back: of neighbouring output words whose aligned words stand in the opposite order, the share in "
            "which attention's largest positions do, less that share where they stand in the same order.",
            f"Runs end after {self.followed[0].steps[-1]} updates, when attention is learned and translation is not: a "
            "curve's highest value is that of these updates.",
            *self.at_preset(quick="quick: one seed and 100 updates."),
        ]


def _shown(step: float | None) -> str:
    return "never" if step is None else f"{step:g}"


# --- measures


def follow(outcome: Outcome, said_by_trigram: Said) -> Followed:
    """Read a run's fields, evaluation by evaluation."""
    split, bitext = evaluated_pairs(outcome)
    target, ends = (getattr(sentence_pairs(split, bitext), name) for name in ("target", "target_offsets"))
    words = np.flatnonzero(target != END)
    said_log_p, said = said_by_trigram
    unsaid = words[said[words] != target[words]]
    aligned = ibm1_of(outcome)
    back, ahead = neighbours(tops(aligned), words, ends)
    course = pair_course(outcome)
    names = ("language", "as_well", "monotone", "reordering")
    curves: dict[str, Floats] = {name: np.empty(len(outcome.run.rows)) for name in names}
    for at, row in enumerate(outcome.run.rows):
        assert outcome.run.run is not None
        table = outcome.run.run.fields(int(row["step"]))
        predicted, log_p = (stored_words(table, "valid", name)[words] for name in ("predicted", "log_p"))
        curves["language"][at] = (predicted == said[words]).mean()
        curves["as_well"][at] = (said_log_p[words] >= log_p).mean()
        position = tops(stored_field(table, "valid", "alpha"))
        goes_back = position[1:] < position[:-1]
        both = np.concatenate([back, ahead])
        curves["monotone"][at] = 1 - goes_back[both].mean()
        curves["reordering"][at] = goes_back[back].mean() - goes_back[ahead].mean()
    curves |= {"lexicon": course.top["probe"], "attention": course.top["attention"], "accuracy": course.accuracy}
    curves["unsaid_words"] = np.full(len(outcome.run.rows), len(unsaid) / len(words))
    return Followed(outcome, course.steps, curves, course, pair_course(outcome, unsaid))


def tops(field: ScoreField) -> NDArray[np.int64]:
    """(output words,): the position of each word's largest value, the first of several."""
    return np.array([field.row(k).argmax() for k in range(len(field))], dtype=np.int64)


def neighbours(
    positions: NDArray[np.int64], words: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Output words whose next one is in the same sentence and no end mark, by number: those whose aligned position
    (``positions``) is after the next one's, and those whose is before it. Equal ones say nothing of order.
    """
    sentence = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    inner = np.zeros(len(positions), dtype=np.bool_)
    inner[words] = True
    here = np.flatnonzero(inner[:-1] & inner[1:] & (sentence[:-1] == sentence[1:]))
    step = positions[here + 1] - positions[here]
    return here[step < 0], here[step > 0]


def trigram(split: PieceSplit, bitext: Bitext) -> Said:
    """What a trigram of the training pairs' target side says of the pairs of ``split``."""
    train, valid = (sentence_pairs(pairs, bitext) for pairs in (bitext.train, split))
    read = (np.split(pairs.target, pairs.target_offsets[1:-1]) for pairs in (train, valid))
    return NGrams(next(read), len(bitext.pieces), BEGIN, ORDER).read(next(read))
