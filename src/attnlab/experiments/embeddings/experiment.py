"""Do word vectors change the agreement? SST from random embeddings and from GloVe's (P3 A.8).

The paper's text says that embeddings start from GloVe; the released code draws them anew after loading GloVe, so its
runs start at random. Here one corpus is trained both ways. GloVe's 100 numbers a word are compared with 100 random
ones, so that nothing but the start differs; the main table's 300 random ones stand beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt

from attnlab.data.corpora import data_folder
from attnlab.data.vectors import find_vectors
from attnlab.experiments.texts.classification import Role, classifier_job
from attnlab.experiments.texts.text_agreement import Series, compared, stacked
from attnlab.experiments.texts.text_notes import departures
from attnlab.experiments.texts.text_parts import bounds, told
from attnlab.experiments.texts.text_pictures import over_training
from attnlab.experiments.texts.text_runs import TextRuns
from attnlab.families.texts.spec import ClassifierSpec, VectorsSpec
from attnlab.fields import ScoreField
from attnlab.lab.experiment import Experiment, Order, Result, Table
from attnlab.runs.engine import Job
from attnlab.runs.loop import Trained

CORPUS = "sst"
ROLES: tuple[Role, ...] = ("reference", "uniform")
SEEDS: Mapping[Role, int] = {"reference": 20, "uniform": 12}
AGREEMENT = "alpha, beta_uf"


@dataclass(frozen=True)
class Start:
    """Where embeddings start."""

    name: str
    size: int
    vectors: bool

    def job(self, role: Role, order: Order) -> Job:
        """The run of a role."""
        root = data_folder(None)
        vectors = VectorsSpec.of_file(str(find_vectors(root).relative_to(root))) if self.vectors else None
        model = ClassifierSpec(embedding_size=self.size, vectors=vectors)
        return classifier_job(CORPUS, role, SEEDS[role], order.preset, model, self.name)


STARTS = (Start("random 300", 300, False), Start("random 100", 100, False), Start("GloVe 100", 100, True))


class Embeddings(Experiment):
    """One corpus from random embeddings and from GloVe's."""

    name = "embeddings"
    title = "Do word vectors change the agreement?"
    source = "P3 A.8, released code"

    def jobs(self, order: Order) -> list[Job]:
        return [start.job(role, order) for start in STARTS for role in ROLES]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        runs = TextRuns(Order(order.preset, row=CORPUS), done)
        found = {start.name: followed(start, order, runs, done) for start in STARTS}
        table = [row(start, order, done, found) for start in STARTS]
        curves = curve_table(found)
        return Result(
            summary=tell(table),
            tables={"starts": table, "curves": curves},
            figures={"training": figure(curves, float(runs.chance("valid").mean()))},
            findings=(),
            notes=(
                *departures(order.preset),
                "The GloVe file may be a part of the official table; words without a vector start at random.",
                "One reference and one uniform run of each start: intervals are over examples and say nothing about "
                "other seeds.",
            ),
            seeds={role: [SEEDS[role]] for role in ROLES},
        )


def followed(start: Start, order: Order, runs: TextRuns, done: Mapping[str, Trained]) -> Series:
    """A(alpha, beta_uf(step)) on the validation texts."""
    reference, uniform = (done[start.job(role, order).spec.id] for role in ROLES)
    alpha: ScoreField = runs.field(reference, runs.best_step(reference), "valid", "alpha")
    steps = tuple(runs.steps(uniform))
    pair = [compared(alpha, runs.field(uniform, step, "valid", "gamma")) for step in steps]
    return stacked(AGREEMENT, [pair], steps)


def row(start: Start, order: Order, done: Mapping[str, Trained], found: Mapping[str, Series]) -> dict[str, object]:
    """A start's accuracies and agreement, and the agreement's difference to 100 random numbers a word."""
    reference, uniform = (done[start.job(role, order).spec.id] for role in ROLES)
    series, other = found[start.name], found[STARTS[1].name]
    interval = bounds(series.at_best())
    differences = series.at_best() - other.at_best()
    difference = bounds(differences) if start != STARTS[1] else None
    return {
        "start": start.name,
        "accuracy": max(line["accuracy"] for line in reference.rows),
        "uniform_accuracy": max(line["accuracy"] for line in uniform.rows),
        "agreement": series.value(),
        "low": interval[0] if interval else None,
        "high": interval[1] if interval else None,
        "tau": series.value("tau"),
        "difference": float(differences.mean()),
        "difference_low": difference[0] if difference else None,
        "difference_high": difference[1] if difference else None,
    }


def curve_table(found: Mapping[str, Series]) -> Table:
    """A(alpha, beta_uf(step)) of each start."""
    return [
        {"what": name, "seeds": name, "step": step, "value": float(value)}
        for name, series in found.items()
        for step, value in zip(series.steps, series.curve()[0], strict=True)
    ]


def figure(curves: Table, chance: float) -> alt.TopLevelMixin:
    """The curves of all starts."""
    return over_training(curves, title="A(alpha, beta_uf) on SST, by the start of embeddings", chance=chance)


def tell(table: Table) -> str:
    """The effect in a sentence."""
    by_name = {line["start"]: line for line in table}
    glove, drawn = by_name["GloVe 100"], by_name["random 100"]
    low, high = glove["difference_low"], glove["difference_high"]
    change = told(None if low is None else (low, high))
    return (
        f"On SST attention and the lexicon of uniform training agree in {glove['agreement']:.1%} of the texts if "
        f"embeddings start from GloVe and in {drawn['agreement']:.1%} if they start at random, both with 100 numbers a "
        f"word: a difference of {glove['difference']:.3f} ({change}). Best accuracy {glove['accuracy']:.3f} against "
        f"{drawn['accuracy']:.3f}."
    )
