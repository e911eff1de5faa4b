"""One choice at a time: what each changes and nothing else, and a whole result on a little corpus of our own."""

import csv

import numpy as np
import pytest
from tests.news import WORLD, write_news

from attnlab.data.labelled_text import load_corpus
from attnlab.experiments.choices import experiment as choices
from attnlab.experiments.choices.experiment import ELSEWHERE, GLOVE, RANDOM, Choice, Choices
from attnlab.experiments.texts import corpora
from attnlab.experiments.texts.corpora import Size
from attnlab.families.registry import build_problem
from attnlab.families.texts.reading import corpus_of
from attnlab.lab.conduct import conduct
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Runs
from attnlab.measures.agreement import top_agreement
from attnlab.runs.engine import LocalEngine
from attnlab.runs.store import RunStore

TINY = Size({"reference": 1, "comparison": 1, "uniform": 1, "frozen": 1, "proxy": 1}, 10, 1, 16)
FEWER = Choice("8 validation texts", ELSEWHERE.name, texts=8)
ENDS, RELEASED = Choice("marks at both ends", ELSEWHERE.name, ends=True), choices.OTHERS[1]
ROW = "ag_news"


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Our news, vectors of some of its words and of one that is too rare for an id of its own."""
    root = write_news(tmp_path / "data")
    (root / "glove").mkdir()
    vectors = [f"{word} " + " ".join(["0.50"] * 100) for word in (*WORLD, "tsunami")]
    (root / "glove" / "tiny.txt").write_text("\n".join(vectors) + "\n", encoding="utf-8")
    monkeypatch.setenv("ATTNLAB_DATA", str(root))
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(corpora.SIZES, "quick", TINY)
    monkeypatch.setattr(choices, "CHOICES", {ROW: (ELSEWHERE, ENDS, FEWER, RANDOM, GLOVE)})
    monkeypatch.setattr(Choices, "rows", (ROW,))
    corpus_of.cache_clear()
    yield load_corpus(ROW)
    corpus_of.cache_clear()


def specs():
    jobs = Choices().plan(Order("quick", row=ROW), {})
    return {job.label: job.spec for job in jobs}


def test_each_choice_changes_one_thing(corpus):
    of = {name.removesuffix(" reference 20"): spec for name, spec in specs().items() if name.endswith("reference 20")}
    assert list(of) == [ELSEWHERE.name, ENDS.name, FEWER.name, RANDOM.name, GLOVE.name]
    base = of[ELSEWHERE.name]
    assert len({spec.id for spec in of.values()}) == 5
    assert of[ENDS.name].model_copy(update={"task": base.task}) == base
    assert of[FEWER.name].model_copy(update={"evaluation_batch": base.evaluation_batch}) == base
    assert of[RANDOM.name].model_copy(update={"model": base.model}) == base
    assert of[GLOVE.name].model.model_copy(update={"vectors": None}) == of[RANDOM.name].model


def test_marks_are_positions_of_every_text(corpus):
    marked = specs()["marks at both ends reference 20"].task.build()
    begin, end = len(corpus.words), len(corpus.words) + 1
    assert marked.words[begin:] == ("<bos>", "<eos>")
    for plain, texts in ((corpus.train, marked.train), (corpus.valid, marked.valid)):
        assert texts.labels.tolist() == plain.labels.tolist()
        for n in range(len(plain)):
            inside = plain.words[plain.offsets[n] : plain.offsets[n + 1]].tolist()
            assert texts.words[texts.offsets[n] : texts.offsets[n + 1]].tolist() == [begin, *inside, end]


def test_the_released_vocabulary_is_read_from_the_vectors(corpus):
    task = RELEASED.task(ROW)
    assert task.vocabulary == "released"
    assert task.build().content == load_corpus(ROW, vocabulary="released").content == task.content


def test_a_whole_result(corpus, tmp_path):
    store = RunStore(tmp_path / "runs")
    done = conduct(Choices(), Order("quick", row=ROW), store, LocalEngine(1), tmp_path / "results", command="here")
    with (done.folder / "tables" / "choices.csv").open(newline="", encoding="utf-8") as lines:
        rows = {row["choice"]: row for row in csv.DictReader(lines)}
    assert done.result.findings == () and done.result.summary and done.result.notes
    for choice in choices.choices_of(ROW):
        row, runs = rows[choice.name], specs()
        reference, uniform = (runs[f"{choice.name} {role}"] for role in ("reference 20", "uniform 12"))
        by_step = {at["step"]: at for at in store.run(reference.id).metrics()}
        best = max(by_step.values(), key=lambda at: at["accuracy"])
        assert float(row["xi_star"]) == pytest.approx(best["accuracy"])
        texts = corpora.TextRuns(ROW, "quick", Runs([]), texts=choice.texts, task=choice.task(ROW))
        assert int(row["texts"]) == len(texts.texts["valid"])
        alpha = texts.stored(store.run(reference.id).fields(int(best["step"])), "valid", "alpha")
        gammas = [texts.stored(store.run(uniform.id).fields(step), "valid", "gamma") for step in (0, 10)]
        largest = max(top_agreement(alpha, gamma).expected.mean() for gamma in gammas)
        assert float(row["agreement"]) == pytest.approx(largest)
    glove, drawn = rows[GLOVE.name], rows[RANDOM.name]
    assert float(glove["difference"]) == pytest.approx(float(glove["agreement"]) - float(drawn["agreement"]))
    assert float(glove["difference_low"]) <= float(glove["difference"]) <= float(glove["difference_high"])
    assert drawn["difference"] == rows[FEWER.name]["difference_low"] == ""
    assert int(rows[FEWER.name]["texts"]) == 8
    assert np.isclose(float(rows[ENDS.name]["words"]), len(corpus.words) + 2)
    model = build_problem(specs()["GloVe 100 reference 20"]).model
    assert (model.embedding.detach()[corpus.words.index(WORLD[0])] == 0.5).all()


@pytest.mark.needs_data("sst", "glove")
def test_sst_has_three_runs_of_each_role_with_each_choice():
    jobs = Choices().plan(Order("reduced", row="sst"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == 6 * 2 * 3
    assert {job.spec.evaluation_batch for job in jobs} == {4000, 1421}
    assert {job.spec.task.vocabulary for job in jobs} == {"text", "released"}


@pytest.mark.needs_data("amazon_blitzer", "glove")
def test_other_corpora_have_a_row_with_glove():
    jobs = Choices().plan(Order("reduced", row="amazon"), {})
    assert [(job.spec.model.vectors is not None, job.schedule.steps) for job in jobs] == [
        (False, 1000),
        (False, 1000),
        (True, 1000),
        (True, 1000),
    ]
