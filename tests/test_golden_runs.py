"""Short runs of every kind of model, optimiser and remedy: what they measure is what they measured.

``golden/trained.json`` has all metrics of every evaluation, and the means of the fields (scores of words and positions)
at the last one. Numbers are compared to `NEAR`, because 32-bit sums come out otherwise in another order, and processors
and their libraries choose the order: with PyTorch's plain and AVX2 kernels and MKL's compatible mode, in place of those
for AVX-512, no number of these runs moved by more than 3e-7. Other platforms are given some hundred times that; an
equation that changes moves them much further. Topic models start from embeddings large enough to leave no ties.

``PYTHONPATH=.:src python tests/test_golden_runs.py`` writes the file anew, for a change of arithmetic that is meant:
then `NUMERICS` goes up, too.
"""

import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.news import write_news
from tests.number_pairs import write_numbers

from attnlab.data.labelled_text import load_corpus
from attnlab.families.copying.spec import (
    AlignmentLossSpec,
    CopyingSpec,
    FreshAttentionSpec,
    IndependentSpec,
    MirroredReadoutSpec,
    MixtureSpec,
    PairProxySpec,
    PermutationSetsSpec,
    PermutationsSpec,
    SelectionsSpec,
    Seq2SeqSpec,
    WarmStartSpec,
    WarmUpSpec,
    ZipfSpec,
)
from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.registry import FAMILIES
from attnlab.families.teacher.spec import StudentSpec, TeacherSpec
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, ProxySpec
from attnlab.families.topics.spec import SstSpec, TopicModelSpec, TopicsSpec
from attnlab.families.translation.spec import TranslationProxySpec, TranslatorSpec
from attnlab.families.translation.task import BitextFiles, BitextSpec
from attnlab.runs.loop import train
from attnlab.runs.optimisers import AdamSpec, SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

GOLDEN = Path(__file__).parent / "golden" / "trained.json"
NEAR = 1e-4
"""Relative; absolute it is a hundredth of that."""

SCHEDULE = Schedule.every(4, steps=12)
FEWER = SelectionsSpec(length=4, words=6)
COPYING = CopyingSpec(distribution=PermutationsSpec(words=6))
ADAM, SGD = AdamSpec(learning_rate=5e-3), SgdSpec(learning_rate=0.5)


def copying(remedy=None, task=COPYING, optimiser=ADAM, train="all", **model):
    return {
        "task": task,
        "model": Seq2SeqSpec(**{"hidden": 12, **model}),
        "optimiser": optimiser,
        "train": train,
        "batch": 16,
        "evaluation_batch": 30,
        "remedy": remedy,
    }


def on_text(model, corpus="ag_news", **others):
    task = {"task": LabelledTextSpec(corpus=corpus, content=load_corpus(corpus).content)}
    return task | {"model": model, "optimiser": ADAM, "batch": 16, "evaluation_batch": 20, **others}


def on_pairs(**model):
    files = write_numbers(Path(os.environ["ATTNLAB_DATA"]), pairs=80)
    task = {"task": BitextSpec.of_files(BitextFiles.of(*files), pieces=40)}
    spec = TranslatorSpec(**{"hidden": 12, **model})
    return task | {"model": spec, "optimiser": ADAM, "batch": 16, "evaluation_batch": 8}


def topics(task=None, **others):
    task = task or TopicsSpec(topics=3, dictionary=40, others=(3, 6), sentences=80)
    return {"task": task, "model": TopicModelSpec(embedding_std=0.3), "optimiser": SGD, "batch": None, **others}


def with_order(distribution):
    return CopyingSpec(distribution=distribution, order=(2, 0, 3, 1))


SMALL = ClassifierSpec(embedding_size=10, hidden=8)
LINEAR = SMALL.model_copy(update={"score": "linear", "cell": "gru"})
MIXTURE = MixtureSpec(parts=(FEWER, IndependentSpec(length=4, words=6)), shares=(0.3, 0.7))
SUBSTITUTED = CopyingSpec(distribution=IndependentSpec(length=5, words=6), substitution=(1, 2, 3, 4, 5, 0))
RUNS = {
    "seq2seq": copying,
    "seq2seq, sgd": lambda: copying(optimiser=SGD),
    "seq2seq, gru of two layers": lambda: copying(cell="gru", layers=2),
    "seq2seq, both directions": lambda: copying(bidirectional=True, projected_context=True),
    "seq2seq, dropout": lambda: copying(layers=2, dropout=0.3),
    "seq2seq, heads of their own seeds": lambda: copying(heads=2, head_seeds=(5, 9), combine="mean"),
    "seq2seq, projected heads": lambda: copying(heads=2, projected_context=True, readout="relu"),
    "seq2seq, dot and linear": lambda: copying(score="dot", readout="linear"),
    "seq2seq, context alone": lambda: copying(readout="context"),
    "seq2seq, uniform attention": lambda: copying(attention="uniform"),
    "seq2seq, attention alone": lambda: copying(train="attention-only"),
    "seq2seq, all but attention": lambda: copying(train="all-but-attention"),
    "seq2seq, words in another order": lambda: copying(task=with_order(FEWER)),
    "seq2seq, substituted words": lambda: copying(task=SUBSTITUTED),
    "seq2seq, Zipf's words": lambda: copying(task=CopyingSpec(distribution=ZipfSpec(length=4, words=6))),
    "seq2seq, sets": lambda: copying(task=CopyingSpec(distribution=PermutationSetsSpec(size=3))),
    "seq2seq, mixture": lambda: copying(task=CopyingSpec(distribution=MIXTURE)),
    "seq2seq, warm-up": lambda: copying(WarmUpSpec(updates=8)),
    "seq2seq, warm-start": lambda: copying(WarmStartSpec(distribution=FEWER, updates=5)),
    "seq2seq, alignment-loss": lambda: copying(AlignmentLossSpec(distribution=FEWER, pairs=50, iterations=5)),
    "seq2seq, fresh-attention": lambda: copying(FreshAttentionSpec(step=6, seed=90)),
    "seq2seq, mirrored-readout": lambda: copying(MirroredReadoutSpec()),
    "topic, fixed classifier": topics,
    "topic, linear classifier": lambda: topics(model=TopicModelSpec(embedding_std=0.3, classifier="linear")),
    "topic, layers": lambda: topics(model=TopicModelSpec(embedding_std=0.3, classifier="layers", train_query=True)),
    "topic, below a linear map": lambda: topics(
        model=TopicModelSpec(embedding_std=0.3, below="linear", train_embedding=False)
    ),
    "topic, below an lstm": lambda: topics(
        model=TopicModelSpec(embedding_std=0.3, below="lstm", classifier="orthonormal")
    ),
    "topic, adam in batches": lambda: topics(optimiser=ADAM, batch=7),
    "topic, several topic words": lambda: topics(TopicsSpec(topics=3, words=3, per_sentence=2, others=4)),
    "topic, sst": lambda: topics(SstSpec(), batch=32),
    "classifier, keyword": lambda: on_keyword(SMALL),
    "classifier, keyword, linear score": lambda: on_keyword(
        SMALL.model_copy(update={"score": "linear", "cell": "gru"})
    ),
    "classifier, text": lambda: on_text(SMALL),
    "classifier, text, sgd": lambda: on_text(SMALL, optimiser=SGD),
    "classifier, text, one direction": lambda: on_text(SMALL.model_copy(update={"bidirectional": False})),
    "classifier, text, uniform attention": lambda: on_text(SMALL.model_copy(update={"attention": "uniform"})),
    "classifier, text, attention alone": lambda: on_text(SMALL, train="attention-only"),
    "classifier, sst": lambda: on_text(SMALL, "sst", batch=32, evaluation_batch=100),
    "proxy, text": lambda: on_text(ProxySpec(size=12)),
    "proxy, sst": lambda: on_text(ProxySpec(size=12), "sst", batch=64, evaluation_batch=100),
    "translator": lambda: on_pairs(influence=True, bleu=True),
    "translator, the text's equations": lambda: on_pairs(projected=False, score_bias=False, start="last"),
    "translator, linear": lambda: on_pairs(readout="linear"),
    "translator, context alone": lambda: on_pairs(readout="context"),
    "translator, uniform attention": lambda: on_pairs(attention="uniform", layers=1),
    "translation-proxy": lambda: on_pairs() | {"model": TranslationProxySpec(size=12)},
    "pair-proxy": lambda: copying(task=CopyingSpec(distribution=FEWER)) | {"model": PairProxySpec(size=12)},
    "pair-proxy, sgd": lambda: copying(task=with_order(FEWER), optimiser=SGD) | {"model": PairProxySpec(size=12)},
    "student": lambda: of_teacher(),
    "student, known attention, several problems": lambda: of_teacher(problems=3, network="known"),
    "student, self-attention": lambda: of_teacher(form="words", inputs=6, relevant=2, network="attention"),
    "student, newton": lambda: of_teacher(steps="newton", precision="double", ridge=1e-3, tau0=5.0, starts=2),
}
"""Runs by name; the part before the first comma is the kind of model."""


def on_keyword(model):
    return {"task": KeywordSpec(length=8, words=10), "model": model, "optimiser": ADAM, "batch": 16}


def of_teacher(form="features", inputs=8, relevant=3, problems=1, **student):
    """A student of P2's; Newton steps have no other rate than 1."""
    task = TeacherSpec(form=form, inputs=inputs, relevant=relevant, samples=40, tests=50, problems=problems)
    optimiser = SgdSpec(learning_rate=1.0) if "steps" in student else ADAM
    return {"task": task, "model": StudentSpec(hidden=4, **student), "optimiser": optimiser, "batch": None}


def measured(name, folder):
    """A run's id, the metrics of its evaluations, and the size, mean and spread of its last one's fields."""
    with pytest.MonkeyPatch.context() as patch:
        if "sst" not in name:  # the news of tests, not those of the data folder
            patch.setenv("ATTNLAB_CACHE", str(folder / "cache"))
            patch.setenv("ATTNLAB_DATA", str(write_news(folder / "data")))
        spec = RunSpec(**RUNS[name](), init_seed=4, data_seed=7)
        trained = train(spec, SCHEDULE, RunStore(folder / "runs"))
    fields = trained.run.fields(SCHEDULE.steps) if trained.run.field_steps() else pa.table({})
    told = {name: _told(fields[name].combine_chunks()) for name in fields.column_names}
    return {"id": spec.id, "rows": trained.rows, "fields": {name: numbers for name, numbers in told.items() if numbers}}


def _told(column):
    """How many numbers a column has, their mean and their mean size; None of one without numbers."""
    while pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = column.flatten()
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return None
    numbers = np.asarray(column, dtype=np.float64)
    return [len(numbers), float(numbers.mean()), float(np.abs(numbers).mean())]


def _marks(name):
    return [pytest.mark.needs_data("sst")] if "sst" in name else []


def test_every_kind_of_model_has_runs():
    known = {kind for family in FAMILIES.values() for kind in import_module(family.module).NUMERICS}
    assert {name.partition(",")[0] for name in RUNS} == known
    assert set(json.loads(GOLDEN.read_text(encoding="utf-8"))) == set(RUNS)


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in RUNS])
def test_a_run_measures_what_it_measured(name, tmp_path):
    kept, found = json.loads(GOLDEN.read_text(encoding="utf-8"))[name], measured(name, tmp_path)
    assert found["id"] == kept["id"]
    assert [list(row) for row in found["rows"]] == [list(row) for row in kept["rows"]]
    for ours, theirs in zip(found["rows"], kept["rows"], strict=True):
        assert ours == pytest.approx(theirs, rel=NEAR, abs=NEAR * 1e-2), f"at step {theirs['step']}"
    assert found["fields"].keys() == kept["fields"].keys()
    for field, numbers in found["fields"].items():
        assert numbers == pytest.approx(kept["fields"][field], rel=NEAR, abs=NEAR * 1e-2), field


if __name__ == "__main__":
    told = []
    for name in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            told.append(f"{json.dumps(name)}: {json.dumps(measured(name, Path(folder)))}")
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    place.write_text("{\n" + ",\n".join(told) + "\n}\n", encoding="utf-8")
