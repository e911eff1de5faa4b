"""What does each choice that the paper's text and its released code make differently do to the agreement? (P3 A.8)

On SST one choice is changed at a time: embeddings from GloVe, marks at both ends of a text as positions, the released
vocabulary rule, and 1,421 validation texts. On other corpora only the first. Read are A(alpha, beta_uf) and xi*, the
accuracy of the reference runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from attnlab.data.corpora import data_folder
from attnlab.data.labelled_text import load_corpus
from attnlab.data.vectors import find_vectors
from attnlab.experiments.texts import corpora as shared
from attnlab.families.texts.reading import corpus_of
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, VectorsSpec
from attnlab.lab.claims import Preset
from attnlab.lab.corpus_runs import curve_of
from attnlab.lab.experiment import Figures, Order, Table
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import low_high, over_examples

SEEDS: Mapping[str, int] = {"sst": 3}
"""Runs of each role; on other corpora one."""
SHORT_STEPS = 1000
"""Updates on corpora of long texts: A(alpha, beta_uf) is highest in the first hundreds."""
VALID = 1421
"""Validation texts of SST that the authors' own fractions are of; which ones is not known, so they are drawn."""


@dataclass(frozen=True)
class Choice:
    """One way to train: its name, the one it is compared with, and what is chosen in it.

    ``texts``: validation texts at most. ``released``: the released vocabulary rule.
    """

    name: str
    beside: str = ""
    size: int = 300
    vectors: bool = False
    ends: bool = False
    released: bool = False
    texts: int | None = None

    def task(self, row: str) -> LabelledTextSpec:
        """The corpus as it is read."""
        if self.released:
            content = load_corpus(row, vocabulary="released").content
            return LabelledTextSpec(corpus=row, content=content, vocabulary="released")
        return LabelledTextSpec(corpus=row, content=corpus_of(row).content, ends=self.ends)

    def model(self) -> ClassifierSpec:
        root = data_folder(None)
        vectors = VectorsSpec.of_file(str(find_vectors(root).relative_to(root))) if self.vectors else None
        return ClassifierSpec(embedding_size=self.size, vectors=vectors)


ELSEWHERE = Choice("as everywhere")
RANDOM = Choice("random 100", size=100)
GLOVE = Choice("GloVe 100", RANDOM.name, size=100, vectors=True)
OTHERS = (
    Choice("marks at both ends", ELSEWHERE.name, ends=True),
    Choice("released vocabulary", ELSEWHERE.name, released=True),
    Choice(f"{VALID} validation texts", ELSEWHERE.name, texts=VALID),
)
CHOICES: Mapping[str, tuple[Choice, ...]] = {"sst": (ELSEWHERE, *OTHERS, RANDOM, GLOVE)}
"""By row; on other corpora random numbers and GloVe's."""


def choices_of(row: str) -> tuple[Choice, ...]:
    """Those of a row."""
    return CHOICES.get(row, (RANDOM, GLOVE))


def size_of(row: str, preset: Preset, choice: Choice) -> shared.Size:
    """The preset's, with as many runs as the row has."""
    size, runs = shared.SIZES[preset], 1 if preset == "quick" else SEEDS.get(row, 1)
    steps = min(size.steps, SHORT_STEPS) if row in shared.LONG else size.steps
    return replace(size, runs=dict.fromkeys(Choices.roles, runs), steps=steps, texts=choice.texts or size.texts)


class Choices(shared.TextExperiment):
    """One choice at a time, one corpus at a time."""

    name = "choices"
    title = "What each choice that the paper leaves open does"
    source = "P3 A.8, released code"
    rows = ("sst", "sms", "20newsgroups", "amazon")
    answers_with = ("sst",)
    roles = ("reference", "uniform")
    left_out = ()
    lead = (
        "How often the position that attention values most is among the top 5 % of the lexicon of uniform training, "
        "and the accuracy that the reference runs reach, one choice changed at a time."
    )
    main = "choices"
    columns: ClassVar[Mapping[str, str]] = {
        "choice": "choice",
        "agreement": "A(alpha, beta_uf)",
        "low": "from",
        "high": "to",
        "difference": "difference",
        "xi_star": "xi*",
        "xi_star_difference": "difference of xi*",
    }
    shown = ("pairs",)

    def default_rows(self, preset: Preset) -> list[str]:
        return ["sst"] if preset == "quick" else shared.corpora_at_hand(self.rows)

    def settings_for(self, order: Order) -> list[shared.TextSetting]:
        return [
            shared.text_setting(
                order.row,
                role,
                order.preset,
                model=choice.model(),
                label=choice.name,
                size=size_of(order.row, order.preset, choice),
                task=choice.task(order.row),
            )
            for choice in choices_of(order.row)
            for role in self.roles
        ]

    # --- measures

    def measure(self, runs: Runs) -> None:
        """A(alpha, beta_uf(step)) of every pair of a reference and a uniform run, with every choice."""
        row, preset = self.order.row, self.order.preset
        self.trained = {
            one.name: shared.TextRuns(row, preset, runs, one.name, size_of(row, preset, one).texts, one.task(row))
            for one in choices_of(row)
        }
        self.texts = next(iter(self.trained.values()))
        self.series = {
            name: one.follow(f"A(alpha, beta_uf), {name}", one.alphas(), "uniform", "gamma")
            for name, one in self.trained.items()
        }

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {
            "choices": [self.line(choice) for choice in choices_of(self.order.row)],
            "pairs": [row for choice in choices_of(self.order.row) for row in self.pair_rows(choice)],
            "curves": self.curve_table(),
        }

    def line(self, choice: Choice) -> dict[str, Any]:
        """A choice's agreement and accuracy, and how far both are from those of what it is compared with.

        The difference has an interval over texts where both are read on the same ones.
        """
        series, other = self.series[choice.name], self.series.get(choice.beside)
        ours, theirs = self.best(choice.name), self.best(choice.beside) if choice.beside else None
        line: dict[str, Any] = {"choice": choice.name, "runs": len(ours), "texts": series.values["expected"].shape[2]}
        line |= {"agreement": series.value(), **low_high(series.interval()), "chance": self.trained[choice.name].chance}
        line |= {
            "beside": choice.beside or None,
            "difference": None if other is None else series.value() - other.value(),
        }
        same = other is not None and other.values["expected"].shape[2] == line["texts"]
        apart = over_examples(series.at_best() - other.at_best()) if same and other is not None else None
        line |= low_high(apart, "difference_")
        line |= {"xi_star": float(np.mean(ours)), "least_xi_star": min(ours), "most_xi_star": max(ours)}
        gained = None if theirs is None else float(np.mean(ours) - np.mean(theirs))
        return line | {"xi_star_difference": gained, "words": len(self.trained[choice.name].corpus.words)}

    def best(self, name: str) -> list[float]:
        """The highest accuracy of each reference run."""
        return [float(curve_of(run).max()) for run in self.trained[name].of("reference")]

    def pair_rows(self, choice: Choice) -> Table:
        """Every pair of a reference and a uniform run: its largest agreement and where that is."""
        series, pairs = self.series[choice.name], self.trained[choice.name].pairs("uniform")
        found = zip(pairs, series.values["expected"], series.best(), strict=True)
        return [
            {"choice": choice.name, "reference_seed": one, "uniform_seed": other}
            | {"best_step": series.steps[at], "agreement": float(of_pair[at].mean())}
            for (one, other), of_pair, at in found
        ]

    def curve_table(self) -> Table:
        """A(alpha, beta_uf(step)) of every pair of runs."""
        return [
            row | {"what": name}
            for name, series in self.series.items()
            for row in self.trained[name].rows(series, "uniform")
        ]

    def figures(self) -> Figures:
        return {"training": self.over_training(self.curve_table(), "A(alpha, beta_uf), one choice changed at a time")}

    def summary(self) -> str:
        said = []
        for line in self.tables()["choices"]:
            beside = "" if line["beside"] is None else f", {line['difference']:+.3f} against {line['beside']}"
            said.append(
                f"{line['choice']}: agreement {line['agreement']:.1%}{beside}; accuracy {line['xi_star']:.1%} over "
                f"{line['runs']} runs."
            )
        return f"{self.order.row}. {' '.join(said)}"

    def notes(self) -> list[str]:
        size = size_of(self.order.row, self.order.preset, choices_of(self.order.row)[0])
        return [
            *self.corpus_notes(size.steps, size.texts),
            "One choice is changed at a time. GloVe's 100 numbers a word, what is at hand, are compared with 100 "
            "random ones, all else with the 300 random ones of the main table.",
            f"{size.runs['reference']} runs of each role with each choice. Intervals are over examples; a text's "
            "agreement is its mean over all pairs of runs.",
        ]

    def seeds(self) -> dict[str, list[int]]:
        return {role: self.texts.seeds(role) for role in self.roles}
