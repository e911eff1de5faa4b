"""Do word vectors change the agreement? SST from random embeddings and from GloVe's (P3 A.8).

The paper's text says that embeddings start from GloVe; the released code draws them anew after loading GloVe, so its
runs start at random. Here one corpus is trained both ways. GloVe's 100 numbers a word are compared with 100 random
ones, so that nothing but the start differs; the main table's 300 random ones are beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnlab.data.corpora import data_folder
from attnlab.data.vectors import find_vectors
from attnlab.experiments.texts import corpora as shared
from attnlab.families.texts.spec import ClassifierSpec, VectorsSpec
from attnlab.lab.corpus_runs import steps_of
from attnlab.lab.experiment import Figures, Order, Table
from attnlab.lab.outcomes import Runs
from attnlab.lab.rules import in_words, low_high, over_examples
from attnlab.measures.series import Series, compared
from attnlab.pages.charts import over_training

CORPUS = "sst"


@dataclass(frozen=True)
class Start:
    """Where embeddings start: how many numbers a word, from word ``vectors`` or at random."""

    name: str
    size: int
    vectors: bool

    def setting(self, role: shared.Role, order: Order) -> shared.TextSetting:
        root = data_folder(None)
        vectors = VectorsSpec.of_file(str(find_vectors(root).relative_to(root))) if self.vectors else None
        model = ClassifierSpec(embedding_size=self.size, vectors=vectors)
        return shared.text_setting(
            CORPUS, role, order.preset, seeds=shared.SEEDS[role][:1], model=model, label=self.name
        )


RANDOM = Start("random 100", 100, False)
GLOVE = Start("GloVe 100", 100, True)
STARTS = (Start("random 300", 300, False), RANDOM, GLOVE)


class Embeddings(shared.TextExperiment):
    """One corpus from random embeddings and from GloVe's."""

    name = "embeddings"
    title = "Do word vectors change the agreement?"
    source = "P3 A.8, released code"
    rows = ()
    roles = ("reference", "uniform")

    def settings_for(self, order: Order) -> list[shared.TextSetting]:
        return [start.setting(role, order) for start in STARTS for role in self.roles]

    def measure(self, runs: Runs) -> None:
        """A(alpha, beta_uf(step)) on the validation texts, from every start."""
        self.trained = {start.name: shared.TextRuns(CORPUS, self.order.preset, runs, start.name) for start in STARTS}
        self.series = {}
        for name, one in self.trained.items():
            (alpha,), (uniform,) = one.alphas(), one.of("uniform")
            steps = steps_of(uniform)
            pair = [compared(alpha, one.field(uniform, step, "valid", "gamma")) for step in steps]
            self.series[name] = Series.stacked("alpha, beta_uf", [pair], steps)
        self.chance = self.trained[RANDOM.name].chance

    # --- tables, figures, words

    def tables(self) -> Mapping[str, Table]:
        return {"starts": [self.line(start) for start in STARTS], "curves": self.curve_table()}

    def line(self, start: Start) -> dict[str, Any]:
        """A start's accuracies and agreement, and the agreement's difference to 100 random numbers a word."""
        runs, series = self.trained[start.name], self.series[start.name]
        differences = series.at_best() - self.series[RANDOM.name].at_best()
        return {
            "start": start.name,
            "accuracy": runs.accuracy("reference"),
            "uniform_accuracy": runs.accuracy("uniform"),
            "agreement": series.value(),
            **low_high(series.interval()),
            "tau": series.value("tau"),
            "difference": float(differences.mean()),
            **low_high(over_examples(differences) if start != RANDOM else None, "difference_"),
        }

    def curve_table(self) -> Table:
        """A(alpha, beta_uf(step)) of each start."""
        return [row for name, series in self.series.items() for row in series.rows(name, [name])]

    def figures(self) -> Figures:
        title = "A(alpha, beta_uf) on SST, by the start of embeddings"
        return {"training": over_training(self.curve_table(), title=title, chance=self.chance)}

    def summary(self) -> str:
        glove, drawn = self.line(GLOVE), self.line(RANDOM)
        low, high = glove["difference_low"], glove["difference_high"]
        return (
            f"On SST attention and the lexicon of uniform training agree in {glove['agreement']:.1%} of the texts if "
            f"embeddings start from GloVe and in {drawn['agreement']:.1%} if they start at random, both with 100 "
            f"numbers a word: a difference of {glove['difference']:.3f} "
            f"({in_words(None if low is None else (low, high))}). Best accuracy {glove['accuracy']:.3f} against "
            f"{drawn['accuracy']:.3f}."
        )

    def notes(self) -> list[str]:
        return [
            *shared.departures(self.order.preset),
            "The GloVe file may be a part of the official table; words without a vector start at random.",
            "One reference and one uniform run of each start: intervals are over examples and say nothing about other "
            "seeds.",
        ]

    def seeds(self) -> dict[str, list[int]]:
        return {role: self.trained[RANDOM.name].seeds(role) for role in self.roles}
