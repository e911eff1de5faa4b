"""Does good translation need good alignment? (ours; practitioners ask it of every translator)

Attention is read as word alignment and scored against hand alignments while a translator is trained, beside its lexical
probe, the probe of its twin under uniform attention, IBM Model 1 on the same pairs, and the diagonal, which knows no
words. Two texts: 50,000 pairs of the Hansards, seen once, and Europarl's 5401, seen nine times.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnlab.data.bitext import Bitext
from attnlab.data.sentence_pairs import SentencePairs
from attnlab.families.translation.pieces import ibm1_field, sentence_pairs, task_of
from attnlab.families.translation.reading import network_at, stored_field, stored_words
from attnlab.families.translation.spec import TranslatorSpec
from attnlab.families.translation.task import BitextSpec
from attnlab.fields import ScoreField, first_largest
from attnlab.lab.claims import Part, Preset
from attnlab.lab.experiment import Experiment, Figures, Setting, Table, claim
from attnlab.lab.outcomes import Outcome, Runs
from attnlab.lab.rules import Estimate, exceeds, low_high, over_examples
from attnlab.measures.bleu_counts import bleu_of, sentence_counts
from attnlab.models.decoding import translate
from attnlab.pages.charts import COLOURS, headed, hue, inline, rounded, shares
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.stats.bootstrap import Floats, drawn_counts, percentiles
from attnlab.theory.alignment import Coverage, Score, scores_by_sentence
from attnlab.theory.links import Ints
from attnlab.theory.piece_alignment import align_words, gold_words
from attnlab.theory.symmetrise import Alignment, from_positions

# --- settings

Mode = Literal["learned", "uniform"]
SEEDS: Mapping[Mode, int] = {"learned": 20, "uniform": 12}
BATCH = 16
EVALUATIONS = (0, 50, 100, 250, 500, 1000, 1500, 2000, 2500, 3125)
"""3125 updates are one pass over 50,000 pairs."""
STEPS: Mapping[Preset, int] = {"quick": 100, "reduced": 1000, "paper": EVALUATIONS[-1]}
VALIDATION = 447
"""Pairs of an evaluation: all that were aligned by hand, 447 of the Hansards and 200 of Europarl."""
ATTENTION, PROBE, UNIFORM, IBM1, DIAGONAL = "attention", "beta", "beta_uf", "IBM Model 1", "diagonal"
ALIGNERS = (ATTENTION, PROBE, UNIFORM, IBM1, DIAGONAL)
ENDS: Mapping[str, int] = {"start_mark": 0, "last_piece": -2, "end_mark": -1}
"""Places at the ends of an input, where attention may settle, as they are counted from its start or its end."""


@dataclass(frozen=True)
class GoldText:
    """A bitext whose validation pairs were aligned by hand."""

    name: str
    corpus: str
    training_pairs: int | None = None

    @property
    def task(self) -> BitextSpec:
        return task_of(self.corpus).model_copy(update={"training_pairs": self.training_pairs})

    def setting(self, mode: Mode, preset: Preset) -> Setting:
        """A translator on it; evaluations read all pairs aligned by hand."""
        steps = STEPS[preset]
        evaluations = tuple(sorted({*(step for step in EVALUATIONS if step < steps), steps}))
        schedule = Schedule(steps=steps, evaluations=evaluations, checkpoint_every=500)

        def spec(seed: int) -> RunSpec:
            model, seeds = TranslatorSpec(attention=mode), {"init_seed": seed, "data_seed": seed}
            return RunSpec(task=self.task, model=model, batch=BATCH, evaluation_batch=VALIDATION, **seeds)

        return Setting(f"{self.name}, {mode}", spec, {preset: (SEEDS[mode],)}, schedule)


HANSARDS = GoldText("Hansards, English to French", "hansards/en-fr", training_pairs=50_000)
EUROPARL = GoldText("Europarl, English to Spanish", "europarl/en-es")
TEXTS: Mapping[Preset, tuple[GoldText, ...]] = {
    "quick": (EUROPARL,),
    "reduced": (EUROPARL, HANSARDS),
    "paper": (EUROPARL, HANSARDS),
}


class AttentionAlignment(Experiment):
    """Attention against hand alignments, as a translator learns."""

    name = "attention-alignment"
    title = "Attention as word alignment: does good translation need it?"
    source = "ours, after P3 4.2"
    decides_at = ("reduced", "paper")

    def settings_at(self, preset: Preset) -> list[Setting]:
        return [text.setting(mode, preset) for text in TEXTS[preset] for mode in SEEDS]

    def measure(self, runs: Runs) -> None:
        self.scored = [examine(text, runs) for text in TEXTS[self.order.preset]]

    # --- rules

    def gap(self, other: str) -> Iterator[Part]:
        """The error rate of attention less that of another alignment, at the last evaluation."""
        for row in self.record.rows("gaps", against=other):
            detail = f"Error rate of attention {row['attention']:.3f}, of {other} {row['other']:.3f}."
            yield exceeds(row["text"], Estimate.of(row, "gap", over="examples", runs=1), 0.0, detail)

    @claim("attention-aligns-words", reads=("gaps",))
    def better_than_the_diagonal(self) -> Iterator[Part]:
        """The diagonal's error rate less attention's."""
        for row in self.record.rows("gaps", against=DIAGONAL):
            better = {"value": -row["gap"], "low": None, "high": None}
            if row["low"] is not None:
                better |= {"low": -row["high"], "high": -row["low"]}
            detail = f"Error rate of the diagonal {row['other']:.3f}, of attention {row['attention']:.3f}."
            yield exceeds(row["text"], Estimate.of(better, runs=1), 0.0, detail)

    @claim("counts-align-better", reads=("gaps",))
    def worse_than_counts(self) -> Iterator[Part]:
        return self.gap(IBM1)

    @claim("lexicon-aligns-better", reads=("gaps",))
    def worse_than_its_own_lexicon(self) -> Iterator[Part]:
        return self.gap(PROBE)

    @claim("translation-needs-alignment", reads=("accuracies",))
    def worth_its_alignment(self) -> Iterator[Part]:
        """Token accuracy under learned attention less that under uniform attention, at the same update."""
        for row in self.record.rows("accuracies"):
            detail = f"Token accuracy {row['learned']:.3f} with attention, {row['uniform']:.3f} without."
            yield exceeds(row["text"], Estimate.of(row, "difference", runs=1), 0.0, detail)

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "errors": [row for one in self.scored for row in one.rows()],
            "gaps": [row for one in self.scored for row in one.gaps()],
            "accuracies": [one.accuracies() for one in self.scored],
            "places": [{"text": one.text.name, **row} for one in self.scored for row in one.places],
        }

    def figures(self) -> Figures:
        rows = [row for one in self.scored for row in one.rows()]
        return {"errors": error_figure(rows), "translation": translation_figure(rows)}

    def summary(self) -> str:
        return " ".join(one.in_words() for one in self.scored)

    def notes(self) -> list[str]:
        return [
            "Pieces are joined to words: over an input word's pieces attention is summed and a probability's largest "
            "is taken, over an output word's pieces either is averaged. Every output word is linked to the input word "
            "of the largest value; marks take no part.",
            "IBM Model 1 is trained for five iterations on the same training pairs in pieces, without NULL, and joined "
            "as the probe is; experiment alignment has it on words.",
            "Intervals are over the gold's sentences; one run of each kind, so they say nothing about other seeds.",
            *(note for one in self.scored for note in one.notes()),
            *self.at_preset(quick="quick: Europarl alone, 100 updates.", reduced="reduced: 1000 updates, not 3125."),
        ]


# --- measures


@dataclass(frozen=True, eq=False)
class Scored:
    """One text. ``coverage``: the share of the gold's words that training pairs have. ``tallies``: by alignment and
    step (None where nothing is trained), links by gold sentence (sentences, 5). ``accuracy`` and ``bleu`` by mode.
    ``right``: by mode, whether each output word is the likeliest at the end, and ``pair`` whose it is. ``places``:
    where attention is, evaluation by evaluation.
    """

    text: GoldText
    bitext: Bitext
    coverage: Coverage
    tallies: Mapping[tuple[str, int | None], Ints]
    accuracy: Mapping[Mode, Mapping[int, float]]
    bleu: Mapping[Mode, float]
    right: Mapping[Mode, NDArray[np.bool_]]
    pair: NDArray[np.int64]
    places: Table

    @property
    def last(self) -> int:
        return max(step for _, step in self.tallies if step is not None)

    def of(self, aligner: str, step: int) -> Ints:
        """An alignment's links at a step; those of what is not trained are the same at all."""
        return self.tallies[(aligner, step)] if (aligner, step) in self.tallies else self.tallies[(aligner, None)]

    @property
    def known(self) -> bool:
        """Whether enough of the gold's words were seen in training for an error rate to be one of alignment."""
        return self.coverage.enough

    def rows(self) -> list[dict[str, Any]]:
        """Every alignment at every evaluation, with the network's accuracy there."""
        table = []
        for aligner in ALIGNERS if self.known else ():
            mode: Mode = "uniform" if aligner == UNIFORM else "learned"
            for step, accuracy in self.accuracy[mode].items():
                score, (low, high) = score_of(self.of(aligner, step)), percentiles(resampled(self.of(aligner, step)))
                named = {"text": self.text.name, "alignment": aligner, "step": step}
                rates = {"precision": score.precision, "recall": score.recall, "aer": score.aer}
                network = accuracy if aligner in (ATTENTION, PROBE, UNIFORM) else None
                table.append({**named, **rates, "low": low, "high": high, "accuracy": network})
        return table

    def gaps(self) -> list[dict[str, Any]]:
        """The error rate of attention at the end less that of every other alignment, with its interval."""
        table, ours = [], self.of(ATTENTION, self.last)
        for aligner in ALIGNERS[1:] if self.known else ():
            theirs = self.of(aligner, self.last)
            rates = score_of(ours).aer, score_of(theirs).aer
            several = len(ours) > 1
            interval = percentiles(resampled(ours) - resampled(theirs)) if several else None
            row = {"text": self.text.name, "against": aligner, "attention": rates[0], "other": rates[1]}
            table.append({**row, "gap": rates[0] - rates[1], **low_high(interval)})
        return table

    def accuracies(self) -> dict[str, Any]:
        """Token accuracy of both networks at the end, their difference with its interval over sentences, and BLEU."""
        apart = self.right["learned"].astype(np.float64) - self.right["uniform"]
        return {
            "text": self.text.name,
            "step": self.last,
            **{mode: float(self.right[mode].mean()) for mode in SEEDS},
            "difference": float(apart.mean()),
            **low_high(over_examples(apart, self.pair)),
            **{f"bleu_{mode}": self.bleu[mode] for mode in SEEDS},
        }

    def in_words(self) -> str:
        rates = ", ".join(f"{aligner} {score_of(self.of(aligner, self.last)).aer:.3f}" for aligner in ALIGNERS)
        ends = rates if self.known else "are not given, as too few of the gold's words are known"
        line = self.accuracies()
        return (
            f"{self.text.name}, {len(self.bitext.train)} pairs, {self.last} updates: alignment error rates {ends}. "
            f"Token accuracy {line['learned']:.3f} with learned attention ({line['bleu_learned']:.1f} BLEU), "
            f"{line['uniform']:.3f} with uniform attention ({line['bleu_uniform']:.1f}). Attention is largest at the "
            f"input's last piece for {self.places[-1]['last_piece']:.0%} of the output words."
        )

    def notes(self) -> list[str]:
        return [
            f"{self.text.name}: of the gold's words {self.coverage.source:.1%} (input) and {self.coverage.target:.1%} "
            "(output) occur in the training pairs.",
            *(f"{self.text.name}: {note}" for note in self.bitext.notes),
        ]


def examine(text: GoldText, runs: Runs) -> Scored:
    """Read the fields of every evaluation as alignments of the pairs aligned by hand."""
    bitext = text.task.build()
    gold, split = gold_words(bitext), bitext.validation
    tallies: dict[tuple[str, int | None], Ints] = {}
    places: list[dict[str, Any]] = []

    def score(aligner: str, step: int | None, alignment: Alignment) -> None:
        tallies[aligner, step] = scores_by_sentence(alignment, gold.gold)

    score(DIAGONAL, None, diagonal(gold.words.pairs))
    score(IBM1, None, align_words(ibm1_field(bitext, split), gold.words, "largest"))
    outcomes: dict[Mode, Outcome] = {mode: runs[f"{text.name}, {mode}"][0] for mode in SEEDS}
    right: dict[Mode, NDArray[np.bool_]] = {}
    for mode, outcome in outcomes.items():
        assert outcome.run.run is not None
        for row in outcome.run.rows:
            step = int(row["step"])
            table = outcome.run.run.fields(step)
            log_beta = stored_field(table, "valid", "log_beta")
            beta = ScoreField(np.exp(log_beta.values), log_beta.offsets)
            score(PROBE if mode == "learned" else UNIFORM, step, align_words(beta, gold.words, "largest"))
            if mode == "learned":
                alpha = stored_field(table, "valid", "alpha")
                score(ATTENTION, step, align_words(alpha, gold.words, "sum"))
                places.append({"step": step, **at_the_ends(alpha)})
        right[mode] = stored_words(table, "valid", "predicted") == sentence_pairs(split, bitext).target
    return Scored(
        text,
        bitext,
        gold.known,
        tallies,
        {mode: {int(row["step"]): row["accuracy"] for row in one.run.rows} for mode, one in outcomes.items()},
        {mode: bleu_at_end(outcome, bitext) for mode, outcome in outcomes.items()},
        right,
        np.repeat(np.arange(len(split)), split.target.lengths + 1),
        places,
    )


def at_the_ends(alpha: ScoreField) -> dict[str, float]:
    """For how many output words attention is largest at each of `ENDS`, and how much of it is at its largest place."""
    largest = first_largest(alpha.values, alpha.offsets[:-1])
    rows = {name: alpha.offsets[:-1] if place == 0 else alpha.offsets[1:] + place for name, place in ENDS.items()}
    shares = {name: float((largest == at).mean()) for name, at in rows.items()}
    return {**shares, "largest_weight": float(alpha.values[largest].mean())}


def diagonal(words: SentencePairs) -> Alignment:
    """Every output word linked to the input word at the same share of the way through the sentence."""
    source, target = np.diff(words.source_offsets), np.diff(words.target_offsets)
    place = np.arange(len(words.target)) - np.repeat(words.target_offsets[:-1], target)
    best = (place + 0.5) * np.repeat(source, target) / np.repeat(target, target)
    return from_positions(words, best.astype(np.int64))


def bleu_at_end(outcome: Outcome, bitext: Bitext) -> float:
    """BLEU of the pairs aligned by hand, with the weights of the run's end."""
    assert outcome.run.run is not None
    assert outcome.spec is not None
    network = network_at(outcome.run.run, outcome.spec, outcome.kept_step())
    translations = translate(network, bitext.pieces, bitext.validation.source)
    return float(bleu_of(sentence_counts(translations, bitext.validation.target.texts()).sum(axis=0)))


def score_of(tallies: Ints) -> Score:
    """Over all gold sentences."""
    return Score(len(tallies), *tallies.sum(axis=0).tolist())


def resampled(tallies: Ints) -> Floats:
    """(resamples,): error rates over sentences drawn again, the same for every alignment."""
    links, sure, _, right_sure, right_possible = (drawn_counts(len(tallies), "alignment") @ tallies).T
    return np.asarray(1 - (right_sure + right_possible) / np.maximum(links + sure, 1))


# --- figures


def error_figure(rows: Table) -> alt.TopLevelMixin:
    """Error rates through training, a panel for each text."""
    lines = (
        alt.Chart()
        .mark_line(point=True, strokeWidth=1.4)
        .encode(
            x=alt.X("step:Q", title="updates", scale=alt.Scale(type="symlog", constant=50)),
            y=shares("aer", "alignment error rate"),
            color=hue("alignment", COLOURS, domain=ALIGNERS),
            tooltip=["alignment:N", "step:Q", rounded("aer"), rounded("accuracy")],
        )
    )
    panels = lines.properties(data=inline(rows), width=300, height=230).facet(column=alt.Column("text:N", title=None))
    return headed(panels, "Alignment error through training")


def translation_figure(rows: Table) -> alt.TopLevelMixin:
    """Where a network is in translating and in aligning, evaluation by evaluation."""
    network = [row for row in rows if row["accuracy"] is not None]
    lines = (
        alt.Chart()
        .mark_line(point=True, strokeWidth=1.4)
        .encode(
            x=alt.X("accuracy:Q", title="token accuracy"),
            y=shares("aer", "alignment error rate"),
            order="step:Q",
            color=hue("alignment", COLOURS, domain=ALIGNERS[:3]),
            tooltip=["alignment:N", "step:Q", rounded("aer"), rounded("accuracy")],
        )
    )
    panels = lines.properties(data=inline(network), width=300, height=230).facet(
        column=alt.Column("text:N", title=None)
    )
    return headed(panels, "Translating and aligning: one line goes through training")
