"""Embeddings from random numbers and from word vectors: end to end on a little corpus with vectors of its own."""

import csv

import numpy as np
import pytest
from tests.lab.drawn import drawn as drawn_rows
from tests.news import BUSINESS, WORLD, write_news

from attnlab.data.labelled_text import load_corpus
from attnlab.errors import UsageError
from attnlab.experiments.embeddings import experiment as embeddings
from attnlab.experiments.embeddings.experiment import Embeddings
from attnlab.experiments.texts import corpora
from attnlab.experiments.texts.corpora import Size, TextRuns
from attnlab.families.registry import build_problem
from attnlab.families.texts.reading import corpus_of
from attnlab.lab.conduct import conduct
from attnlab.lab.corpus_runs import best_step
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Runs
from attnlab.measures.agreement import top_agreement
from attnlab.runs.engine import LocalEngine
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore

TINY = Size({"reference": 1, "comparison": 1, "uniform": 1, "frozen": 1, "proxy": 1}, 10, 1, 16)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Our news in the place of SST, and vectors of some of its words."""
    root = write_news(tmp_path / "data")
    (root / "glove").mkdir()
    vectors = [
        f"{word} " + " ".join(f"{number:.2f}" for number in np.full(100, place)) for place, word in enumerate(WORLD)
    ]
    (root / "glove" / "tiny.txt").write_text("\n".join(vectors) + "\n", encoding="utf-8")
    monkeypatch.setenv("ATTNLAB_DATA", str(root))
    monkeypatch.setattr(embeddings, "CORPUS", "ag_news")
    monkeypatch.setitem(corpora.SIZES, "quick", TINY)
    corpus_of.cache_clear()
    yield load_corpus("ag_news")
    corpus_of.cache_clear()


def run_of(start, role):
    """The spec of a start's run."""
    return start.setting(role, Order("quick")).spec(corpora.SEEDS[role][0])


def test_runs_start_from_the_vectors_where_there_are_some(corpus):
    drawn, glove = (run_of(start, "reference") for start in embeddings.STARTS[1:])
    assert drawn.id != glove.id
    before, after = (build_problem(spec).model.embedding.detach() for spec in (drawn, glove))
    for place, word in enumerate(WORLD):
        assert (after[corpus.words.index(word)] == place).all()
    for word in BUSINESS:
        assert (after[corpus.words.index(word)] == before[corpus.words.index(word)]).all()


def test_the_effect_is_given_with_its_interval(corpus, tmp_path):
    store, experiment = RunStore(tmp_path / "runs"), Embeddings()
    assert [job.label for job in experiment.plan(Order("paper"), {})] == [
        f"{start} {run}"
        for start in ("random 300", "random 100", "GloVe 100")
        for run in ("reference 20", "uniform 12")
    ]
    done = conduct(experiment, Order("quick"), store, LocalEngine(1), tmp_path / "results", command="here")
    with (done.folder / "tables" / "starts.csv").open(newline="", encoding="utf-8") as lines:
        rows = {row["start"]: row for row in csv.DictReader(lines)}
    assert list(rows) == ["random 300", "random 100", "GloVe 100"]
    glove, drawn = rows["GloVe 100"], rows["random 100"]
    assert float(glove["difference"]) == pytest.approx(float(glove["agreement"]) - float(drawn["agreement"]))
    assert float(glove["difference_low"]) <= float(glove["difference"]) <= float(glove["difference_high"])
    assert float(drawn["difference"]) == 0
    assert done.result.findings == ()
    assert done.result.seeds == {"reference": [20], "uniform": [12]}
    curves = {
        (row["what"], row["step"]): row["value"] for row in drawn_rows(done.result.figures["training"]) if "step" in row
    }
    for start in embeddings.STARTS:
        reference, uniform = (
            train(spec, Schedule.every(10, steps=10), store)
            for spec in (run_of(start, "reference"), run_of(start, "uniform"))
        )
        runs = TextRuns("ag_news", "quick", Runs([]))
        alpha = runs.field(reference, best_step(reference), "valid", "alpha")
        for step in (0, 10):
            by_hand = top_agreement(alpha, runs.field(uniform, step, "valid", "gamma")).expected.mean()
            assert curves[start.name, step] == pytest.approx(by_hand)


def test_vectors_that_changed_are_refused(corpus, tmp_path):
    spec = run_of(embeddings.GLOVE, "reference")
    path = tmp_path / "data" / "glove" / "tiny.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("war", "wars"), encoding="utf-8")
    with pytest.raises(UsageError, match="has changed"):
        build_problem(spec)


def test_without_vectors_it_says_what_is_needed(corpus, tmp_path):
    (tmp_path / "data" / "glove" / "tiny.txt").unlink()
    with pytest.raises(UsageError, match="word vectors"):
        Embeddings().plan(Order("quick"), {})
