"""Word alignment by IBM Model 1 against hand alignments (ours): both directions and their symmetrisations.

It asks how far co-occurrence alone finds which word translates which, where people have said so link by link.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import numpy as np

from attnlab.data.conventions import Conventions
from attnlab.data.sentence_pairs import SentencePairs, read_pairs
from attnlab.errors import UsageError
from attnlab.lab.experiment import Experiment, Figures, Table, by_preset
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import low_high
from attnlab.pages.charts import CONTRAST, SIZE, headed, inline, rounded
from attnlab.seeds import numpy_generator
from attnlab.stats.bootstrap import percentiles
from attnlab.theory.aligner import Aligned, align, apply
from attnlab.theory.alignment import Coverage, Score, coverage, read_gold, scores_by_sentence
from attnlab.theory.links import Floats, Ints
from attnlab.theory.symmetrise import DIRECTIONS

# --- settings

ITERATIONS = 5
RESAMPLES = 2000
BEST = "grow-diag-final-and"


@dataclass(frozen=True)
class GoldText:
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
        root / files[0], root / files[1], source_conventions=rules[0], target_conventions=rules[1], warn_empty=False
    )


_COLLINS, _NAACL = "alignment_gold/europarl_enes_collins", "alignment_gold/hansards_naacl2003"
_ENGLISH = Conventions(lower=True, strip_accents=True, tokenise=True)
_FRENCH = Conventions(lower=True, strip_accents=True, tokenise=True, split_contractions=True)
EUROPARL = GoldText(
    "Europarl, English to Spanish",
    (f"{_COLLINS}/corpus.en", f"{_COLLINS}/corpus.es"),
    (f"{_COLLINS}/dev.en", f"{_COLLINS}/dev.es"),
    f"{_COLLINS}/dev.key",
)
HANSARDS = GoldText(
    "Hansards, English to French",
    ("hansards_enfr/training.en.xz", "hansards_enfr/training.fr.xz"),
    (f"{_NAACL}/test.e", f"{_NAACL}/test.f"),
    f"{_NAACL}/test.wa.nonullalign",
    (_ENGLISH, _FRENCH),
)
TEXTS = by_preset({EUROPARL: 1.0}, {EUROPARL: 1.0, HANSARDS: 0.1}, {EUROPARL: 1.0, HANSARDS: 1.0})
"""What each preset aligns, and how much of its text it trains on."""


@dataclass(frozen=True, eq=False)
class Scored:
    """One text: what was trained, what of the gold it knows, and each direction's links by sentence."""

    gold: GoldText
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
        drawn = numpy_generator(0, "alignment").integers(len(tallies), size=(RESAMPLES, len(tallies)))
        links, sure, _, right_sure, right_possible = tallies[drawn].sum(axis=1).T
        rates: Floats = 1 - (right_sure + right_possible) / np.maximum(links + sure, 1)
        return rates


class Alignments(Experiment):
    """IBM Model 1 on the Europarl sample and the Hansards, every direction scored."""

    name = "alignment"
    title = "Word alignment from co-occurrence, against hand alignments"
    source = "ours; the model is that of P3 4.2"

    def measure(self, runs: Runs) -> None:  # noqa: ARG002 (nothing is trained in the store)
        self.scored = [examine(text, share) for text, share in TEXTS[self.order.preset].items()]

    def tables(self) -> Mapping[str, Table]:
        return {
            "scores": [row for scored in self.scored for row in score_rows(scored)],
            "differences": [row for scored in self.scored for row in difference_rows(scored)],
            "log-likelihood": [row for scored in self.scored for row in likelihood_rows(scored)],
        }

    def figures(self) -> Figures:
        scores = [row for scored in self.scored for row in score_rows(scored)]
        return {"error-rates": error_rates(scores)} if scores else {}

    def summary(self) -> str:
        return " ".join(in_words(scored) for scored in self.scored)

    def notes(self) -> list[str]:
        hansards = (
            "The Hansards text is lower-cased and tokenised, French contractions are split and accents taken off, so "
            "that it is spelled as its hand alignments are, of which only case and accents are changed."
        )
        return [
            f"{ITERATIONS} iterations with a NULL word. The Europarl sample ends with the 200 sentences aligned by "
            "hand, as it is distributed, so its words are all known; the Hansards text does not hold those aligned by "
            "hand.",
            f"Intervals are over the gold's sentences, drawn with replacement {RESAMPLES} times; each text has one "
            "table.",
            *self.at_preset(quick="Quick: the Europarl sample alone.", reduced=hansards, paper=hansards),
            *self.at_preset(reduced="Reduced: the first tenth of the Hansards."),
        ]


def examine(gold: GoldText, share: float) -> Scored:
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
    return Scored(gold, len(pairs), trained, known, tallies)


# --- tables


def score_rows(scored: Scored) -> Table:
    """Precision, recall and error rate of every direction; none where too few of the gold's words are known."""
    rows = []
    for direction in scored.tallies:
        score = scored.score(direction)
        rows.append(
            {
                "gold": scored.gold.name,
                "trained_on": scored.pairs,
                "source_coverage": scored.known.source,
                "target_coverage": scored.known.target,
                "direction": direction,
                **{name: getattr(score, name) for name in ("sentences", "links", "precision", "recall", "aer")},
                **low_high(percentiles(scored.resampled(direction)), "aer_"),
            }
        )
    return rows


def difference_rows(scored: Scored) -> Table:
    """The error rate of grow-diag-final-and less that of each other, with its interval over sentences."""
    rows = []
    for direction in scored.tallies:
        if direction != BEST:
            gain = scored.resampled(BEST) - scored.resampled(direction)
            difference = scored.score(BEST).aer - scored.score(direction).aer
            names = {"gold": scored.gold.name, "direction": BEST, "against": direction}
            rows.append({**names, "difference": difference, **low_high(percentiles(gain))})
    return rows


def likelihood_rows(scored: Scored) -> Table:
    """The log-likelihood of the training text before the first iteration and after each."""
    models = {"forward": scored.trained.forward, "reverse": scored.trained.reverse}
    return [
        {"gold": scored.gold.name, "direction": name, "iteration": k, "log_likelihood": value}
        for name, model in models.items()
        if model is not None
        for k, value in enumerate(model.log_likelihoods)
    ]


# --- words and figures


def in_words(scored: Scored) -> str:
    """A text's error rates as sentences."""
    known = f"of its words the tables know {scored.known.source:.1%} (source) and {scored.known.target:.1%} (target)"
    if not scored.known.enough:
        return f"{scored.gold.name}: {known}, too few for an error rate to mean anything."
    rates = {direction: scored.score(direction).aer for direction in scored.tallies}
    against = [row for row in difference_rows(scored) if row["against"] in ("forward", "reverse")]
    if all(row["high"] < 0 for row in against):
        verdict = "is better than either direction"
    elif all(row["low"] > 0 for row in against):
        verdict = "is worse than either direction"
    else:
        verdict = "is not clearly better than both directions"
    listed = ", ".join(f"{name} {rate:.3f}" for name, rate in rates.items())
    return (
        f"{scored.gold.name}, trained on {scored.pairs} pairs: {known}. Alignment error rates are {listed}: {BEST} "
        f"{verdict} (95 % interval over sentences)."
    )


def error_rates(scores: Table) -> alt.TopLevelMixin:
    """Error rates with their intervals, a panel for each text."""
    base = alt.Chart().encode(y=alt.Y("direction:N", title=None, sort=list(DIRECTIONS)))
    bars = base.mark_rule(strokeWidth=2, color=CONTRAST[1]).encode(
        x=alt.X("aer_low:Q", title="alignment error rate"), x2="aer_high:Q"
    )
    dots = base.mark_point(filled=True, size=60, color=CONTRAST[0]).encode(
        x=alt.X("aer:Q", title="alignment error rate", scale=alt.Scale(domain=[0, 1])),
        tooltip=["direction:N", *map(rounded, ("aer", "precision", "recall"))],
    )
    layers = alt.layer(bars, dots, data=inline(scores)).properties(**SIZE)
    column = alt.Column("gold:N", title=None, header=alt.Header(labelFontSize=12))
    return headed(layers.facet(column=column), "Grow-diag-final-and against either direction")
