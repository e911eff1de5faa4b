"""Word alignment by IBM Model 1 against hand alignments (ours): both directions and their symmetrisations.

It asks how far co-occurrence alone finds which word translates which, where people have said so link by link.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from attnlab.data.conventions import Conventions
from attnlab.data.sentence_pairs import SentencePairs, read_pairs
from attnlab.errors import UsageError
from attnlab.lab.claims import Preset
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.pages.charts import CONTRAST, INK, SIZE
from attnlab.runs.loop import Trained
from attnlab.stats.bootstrap import RESAMPLES, drawn_rows, percentiles
from attnlab.theory.aligner import Aligned, align, apply
from attnlab.theory.alignment import Coverage, Score, coverage, read_gold, scores_by_sentence
from attnlab.theory.links import Floats, Ints
from attnlab.theory.symmetrise import DIRECTIONS

ITERATIONS = 5
BEST = "grow-diag-final-and"


@dataclass(frozen=True)
class GoldSet:
    """A text to train on and hand alignments of another, both in the folder that ATTNLAB_DATA names."""

    name: str
    text: tuple[str, str]
    gold_text: tuple[str, str]
    gold: str
    conventions: tuple[Conventions, Conventions] = (Conventions(), Conventions())

    def read(self, root: Path, share: float = 1.0) -> tuple[SentencePairs, SentencePairs]:
        """The first ``share`` of the text, and the text that was aligned by hand."""
        pairs = _read(root, self.text, self.conventions)
        kept = self.conventions[0].keeping_positions(), self.conventions[1].keeping_positions()
        return pairs.first(round(share * len(pairs))), _read(root, self.gold_text, kept)


def _read(root: Path, files: tuple[str, str], rules: tuple[Conventions, Conventions]) -> SentencePairs:
    return read_pairs(
        root / files[0], root / files[1], source_conventions=rules[0], target_conventions=rules[1], tell_empty=False
    )


_COLLINS, _NAACL = "alignment_gold/europarl_enes_collins", "alignment_gold/hansards_naacl2003"
_ENGLISH = Conventions(lower=True, strip_accents=True, tokenise=True)
_FRENCH = Conventions(lower=True, strip_accents=True, tokenise=True, split_contractions=True)
EUROPARL = GoldSet(
    "Europarl, English to Spanish",
    (f"{_COLLINS}/corpus.en", f"{_COLLINS}/corpus.es"),
    (f"{_COLLINS}/dev.en", f"{_COLLINS}/dev.es"),
    f"{_COLLINS}/dev.key",
)
HANSARDS = GoldSet(
    "Hansards, English to French",
    ("hansards_enfr/training.en.xz", "hansards_enfr/training.fr.xz"),
    (f"{_NAACL}/test.e", f"{_NAACL}/test.f"),
    f"{_NAACL}/test.wa.nonullalign",
    (_ENGLISH, _FRENCH),
)
SETS: dict[Preset, tuple[tuple[GoldSet, float], ...]] = {
    "quick": ((EUROPARL, 1.0),),
    "reduced": ((EUROPARL, 1.0), (HANSARDS, 0.1)),
    "paper": ((EUROPARL, 1.0), (HANSARDS, 1.0)),
}
"""What each preset aligns, and how much of its text it trains on."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One gold set: what was trained, what of the gold it knows, and each direction's links by sentence."""

    gold: GoldSet
    pairs: int
    trained: Aligned
    known: Coverage
    tallies: Mapping[str, Ints]

    def score(self, direction: str) -> Score:
        tallies = self.tallies[direction]
        return Score(len(tallies), *tallies.sum(axis=0).tolist())

    def resampled(self, direction: str) -> Floats:
        """``(resamples,)``: error rates over sentences drawn with replacement, the same for every direction."""
        tallies = self.tallies[direction]
        drawn = drawn_rows(len(tallies), "alignment")[1:]
        links, sure, _, right_sure, right_possible = tallies[drawn].sum(axis=1).T
        rates: Floats = 1 - (right_sure + right_possible) / np.maximum(links + sure, 1)
        return rates


class Alignments(Experiment):
    """IBM Model 1 on the Europarl sample and the Hansards, every direction scored."""

    name = "alignment"
    title = "Word alignment from co-occurrence, against hand alignments"
    source = "ours; the model is that of P3 4.2"

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:  # noqa: ARG002 (nothing to train)
        outcomes = [examine(gold, share) for gold, share in SETS[order.preset]]
        scores = [row for outcome in outcomes for row in score_rows(outcome)]
        differences = [row for outcome in outcomes for row in difference_rows(outcome)]
        return Result(
            summary=" ".join(tell(outcome) for outcome in outcomes),
            tables={
                "scores": scores,
                "differences": differences,
                "log-likelihood": [row for outcome in outcomes for row in likelihood_rows(outcome)],
            },
            figures={"error-rates": figure(scores)} if scores else {},
            findings=(),
            notes=notes(order),
        )


def examine(gold: GoldSet, share: float) -> Outcome:
    """Train on the text, align what was aligned by hand, compare."""
    root = os.environ.get("ATTNLAB_DATA")
    if not root:
        raise UsageError("Corpora are needed: set ATTNLAB_DATA to a folder with alignment_gold and hansards_enfr.")
    pairs, text = gold.read(Path(root), share)
    trained = align(pairs, iterations=ITERATIONS)
    known = coverage(trained.lexicon, text)
    links = read_gold(Path(root) / gold.gold)
    tallies: dict[str, Ints] = {
        direction: scores_by_sentence(apply(trained.lexicon, text, direction=direction), links)
        for direction in (DIRECTIONS if known.enough else ())
    }
    return Outcome(gold, len(pairs), trained, known, tallies)


# --- tables


def score_rows(outcome: Outcome) -> Table:
    """Precision, recall and error rate of every direction; none where too few of the gold's words are known."""
    rows = []
    for direction in outcome.tallies:
        score = outcome.score(direction)
        low, high = percentiles(outcome.resampled(direction))
        rows.append(
            {
                "gold": outcome.gold.name,
                "trained_on": outcome.pairs,
                "source_coverage": outcome.known.source,
                "target_coverage": outcome.known.target,
                "direction": direction,
                "sentences": score.sentences,
                "links": score.links,
                "precision": score.precision,
                "recall": score.recall,
                "aer": score.aer,
                "aer_low": low,
                "aer_high": high,
            }
        )
    return rows


def difference_rows(outcome: Outcome) -> Table:
    """The error rate of grow-diag-final-and less that of each other, with its interval over sentences."""
    rows = []
    for direction in outcome.tallies:
        if direction != BEST:
            gain = outcome.resampled(BEST) - outcome.resampled(direction)
            low, high = percentiles(gain)
            difference = outcome.score(BEST).aer - outcome.score(direction).aer
            names = {"gold": outcome.gold.name, "direction": BEST, "against": direction}
            rows.append({**names, "difference": difference, "low": low, "high": high})
    return rows


def likelihood_rows(outcome: Outcome) -> Table:
    """The log-likelihood of the training text before the first iteration and after each."""
    models = {"forward": outcome.trained.forward, "reverse": outcome.trained.reverse}
    return [
        {"gold": outcome.gold.name, "direction": name, "iteration": k, "log_likelihood": value}
        for name, model in models.items()
        if model is not None
        for k, value in enumerate(model.log_likelihoods)
    ]


# --- words and pictures


def tell(outcome: Outcome) -> str:
    """What came out, in plain words."""
    known = f"of its words the tables know {outcome.known.source:.1%} (source) and {outcome.known.target:.1%} (target)"
    if not outcome.known.enough:
        return f"{outcome.gold.name}: {known}, too few for an error rate to mean anything."
    rates = {direction: outcome.score(direction).aer for direction in outcome.tallies}
    against = [row for row in difference_rows(outcome) if row["against"] in ("forward", "reverse")]
    if all(row["high"] < 0 for row in against):
        verdict = "is better than either direction"
    elif all(row["low"] > 0 for row in against):
        verdict = "is worse than either direction"
    else:
        verdict = "is not clearly better than both directions"
    told = ", ".join(f"{name} {rate:.3f}" for name, rate in rates.items())
    return (
        f"{outcome.gold.name}, trained on {outcome.pairs} pairs: {known}. Alignment error rates are {told}: {BEST} "
        f"{verdict} (95 % interval over sentences)."
    )


def figure(scores: Sequence[Mapping[str, Any]]) -> alt.FacetChart:
    """Error rates with their intervals, a panel for each gold set."""
    base = alt.Chart().encode(y=alt.Y("direction:N", title=None, sort=list(DIRECTIONS)))
    bars = base.mark_rule(strokeWidth=2, color=CONTRAST[1]).encode(
        x=alt.X("aer_low:Q", title="alignment error rate"), x2="aer_high:Q"
    )
    dots = base.mark_point(filled=True, size=60, color=CONTRAST[0]).encode(
        x=alt.X("aer:Q", title="alignment error rate", scale=alt.Scale(domain=[0, 1])),
        tooltip=["direction:N", *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("aer", "precision", "recall"))],
    )
    title = "Grow-diag-final-and against either direction"
    chart: alt.FacetChart = (
        alt.layer(bars, dots, data=alt.InlineData(values=[dict(row) for row in scores]))
        .properties(**SIZE)
        .facet(column=alt.Column("gold:N", title=None, header=alt.Header(labelFontSize=12)))
        .properties(title=alt.TitleParams(title, anchor="start", fontSize=14, color=INK))
    )
    return chart


def notes(order: Order) -> tuple[str, ...]:
    """What was decided, and what a preset left out."""
    told = [
        f"{ITERATIONS} iterations with a NULL word. The Europarl sample ends with the 200 sentences aligned by hand, "
        "as it is distributed, so its words are all known; the Hansards text does not hold those aligned by hand.",
        f"Intervals are over the gold's sentences, drawn with replacement {RESAMPLES} times; each text has one table.",
    ]
    if order.preset != "quick":
        told.append(
            "The Hansards text is lower-cased and tokenised, French contractions are split and accents taken off, so "
            "that it is spelled as its hand alignments are, of which only case and accents are changed."
        )
    if order.preset == "quick":
        told.append("Quick: the Europarl sample alone.")
    if order.preset == "reduced":
        told.append("Reduced: the first tenth of the Hansards.")
    return tuple(told)
