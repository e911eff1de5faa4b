"""The treebank experiment: when runs end, what is read out of them, and verdicts whose answer is known."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.lab.drawn import drawn
from tests.lab.ended import after

from attnlab.errors import UsageError
from attnlab.experiments.topic_sst import experiment as topic_sst
from attnlab.experiments.topic_sst.experiment import SENTENCE, TRACED, TopicSst
from attnlab.families.registry import build_problem
from attnlab.families.topics.spec import SstSpec, TopicModelSpec
from attnlab.families.topics.sst import read_sst
from attnlab.families.topics.word_course import WordCourse
from attnlab.lab.claims import load_claims
from attnlab.lab.experiment import Order
from attnlab.lab.outcomes import Outcome
from attnlab.runs.loop import Trained, train
from attnlab.runs.optimisers import SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.theory.norms import norm_of_score

SETTINGS = TopicSst.settings
FREQUENT = "the"


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A treebank of our own: every sentence has a frequent word and one that says its class."""
    folder = tmp_path / "data" / "sst"
    folder.mkdir(parents=True)
    sentences = [f"(3 (2 {word}) (2 {FREQUENT}))" for word in TRACED for _ in range(8)]
    sentences += [f"(1 (2 {word}{k}) (2 {FREQUENT}))" for word in "abcdefgh" for k in range(5)]
    sentences.append(f"(4 {' '.join(f'(2 {word})' for word in (*SENTENCE, FREQUENT))})")
    for name in ("train", "dev", "test"):
        (folder / f"{name}.txt").write_text("\n".join(sentences))
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path / "data"))
    topic_sst.corpus_of.cache_clear()
    yield folder
    topic_sst.corpus_of.cache_clear()


class Folder:
    """A run's fields, from memory."""

    def __init__(self, fields):
        self.fields = fields.__getitem__


def outcome(data, *, off=0.0, reverse=False, setting=SETTINGS[0], seed=0):
    """Attention on the frequent word in the middle, on the others at the end (``reverse``: the other way round)."""
    spec = setting.spec(seed)
    corpus = read_sst(data, spec.task.classes, padded=spec.task.padded)
    fields, rows = {}, []
    others = WordCourse(corpus, [], np.empty(0), np.empty(0)).others
    for step in (0, 500, 1000, 1500):
        scores = np.full(len(corpus.words), step / 500)
        if step:
            scores[corpus.id(FREQUENT)] += 1.0 if (step == 500) != reverse else -1.0
        norms = np.array([norm_of_score(s, m, query_norm=2.0) for s, m in zip(scores, others, strict=True)])
        fields[step] = pa.table({"score": scores, "norm": norms * (1 + off)})
        losses = {"loss": 1.0, "valid_loss": 2 - step / 1000 if step < 1500 else 3.0, "test_accuracy": 0.8}
        rows.append({"step": step, "query_norm": 2.0, **losses})
    return Outcome(setting.name, seed, Trained(spec.id, rows, 1500, Folder(fields)), spec)


def course(data, **changes):
    return topic_sst.words_of(outcome(data, **changes))


def test_counts_purity_and_lengths(data):
    run = course(data)
    ids = {word: run.corpus.id(word) for word in ("powerful", FREQUENT, "a0", "best")}
    assert run.counts[ids["powerful"]].tolist() == [0, 9]
    assert run.counts[ids[FREQUENT]].tolist() == [40, 41]
    assert run.purity[ids[FREQUENT]] == pytest.approx(1 / 81)
    assert run.purity[ids["a0"]] == run.purity[ids["best"]] == 1
    assert run.others[ids["powerful"]] == pytest.approx((8 * 2 + 7) / 9 - 1)
    padded = course(data, setting=SETTINGS[2])
    assert set(padded.others[[padded.corpus.id(word) for word in ids]]) == {6.0}


def test_it_is_read_up_to_the_lowest_validation_loss(data):
    story = after(TopicSst(), [outcome(data)])
    assert story.words[SETTINGS[0].name].steps == [0, 500, 1000]
    (row,) = story.run_tables()["runs"]
    assert row["best_epoch"] == 1000 and row["last_epoch"] == 1500


def test_a_run_without_its_fields_is_refused(data):
    made = outcome(data)
    bare = replace(made, run=replace(made.run, run=None))
    with pytest.raises(UsageError, match="has no folder to read its words from"):
        topic_sst.words_of(bare)


def test_top_words_are_those_of_largest_score(data):
    run = course(data)
    frequent = run.corpus.id(FREQUENT)
    assert (run.top_words[1] == frequent).all()
    assert (run.top_words[2] != frequent).all()
    table = {(row["sentences_of"], row["step"]): row for row in topic_sst.purity_table("x", run)}
    assert table["all sentences", 500]["frequency"] == 81
    assert table["powerful", 1000]["purity"] == 1
    weights = [row["weight"] for row in topic_sst.sentence_table("x", run) if row["word"] == "powerful"]
    assert weights == pytest.approx([1 / 7, np.e / (6 * np.e + np.e**2), np.e**2 / (6 * np.e**2 + np.e)])


def parts(*outcomes):
    return {f.claim: [p.verdict for p in f.parts] for f in after(TopicSst(), outcomes).findings()}


def test_verdicts(data, monkeypatch):
    monkeypatch.setattr(topic_sst, "LARGEST", 30)
    right = parts(outcome(data, off=0.05))
    assert right == {"real-frequency-then-purity": ["holds", "holds"], "real-norm-identity": ["holds"]}
    assert parts(outcome(data, off=0.3))["real-norm-identity"] == ["fails"]
    assert parts(outcome(data, reverse=True))["real-frequency-then-purity"] == ["undecided"] * 2
    monkeypatch.setattr(topic_sst, "LARGEST", 1000)
    assert parts(outcome(data))["real-norm-identity"] == ["undecided"]


def queries(data, *offs, **changes):
    """A run for each query, whose words are so far off the identity."""
    return [outcome(data, off=off, seed=seed, **changes) for seed, off in enumerate(offs)]


@pytest.mark.parametrize(
    ("offs", "verdict"),
    [
        ((0.05, 0.06, 0.04, 0.12, 0.05), "holds"),  # one query beyond a tenth
        ((0.3, 0.2, 0.25, 0.08, 0.3), "fails"),  # one within it
        ((0.05, 0.2, 0.03, 0.2, 0.05), "undecided"),
        ((0.05, 0.06, 0.04, 0.05), "undecided"),  # four queries
    ],
)
def test_several_queries_decide_by_their_mean(data, monkeypatch, offs, verdict):
    monkeypatch.setattr(topic_sst, "LARGEST", 30)
    story = after(TopicSst(), queries(data, *offs))
    (part,) = next(f.parts for f in story.findings() if f.claim == "real-norm-identity")
    assert (part.verdict, part.over) == (verdict, "queries")
    assert part.effect == pytest.approx(np.mean(offs))  # every word of a query is as far off
    assert [row["median_deviation"] for row in story.run_tables()["runs"]] == pytest.approx(offs)


def test_a_query_with_too_few_words_leaves_it_open(data, monkeypatch):
    monkeypatch.setattr(topic_sst, "LARGEST", 1000)
    (part,) = next(
        f.parts for f in after(TopicSst(), queries(data, *[0.01] * 5)).findings() if f.claim == "real-norm-identity"
    )
    assert part.verdict == "undecided"
    assert part.detail == "In 5 of 5 queries fewer than 1000 words score above 0.05."


def test_a_sentence_turns_by_its_mean_over_queries(data):
    there, back = outcome(data), outcome(data, reverse=True, seed=1)
    alone = {row["what"]: row for one in (there, back) for row in topic_sst.turns(f"{one.seed}", [turned(one)])}
    both = list(topic_sst.turns("both", [turned(there), turned(back)]))
    for row in both:
        what = row["what"].removeprefix("both: ")
        assert row["value"] == pytest.approx(np.mean([alone[f"{seed}: {what}"]["value"] for seed in (0, 1)]))
    parts_of_both = after(TopicSst(), [there, back]).findings()[0].parts
    assert {part.runs for part in parts_of_both} == {2}


def turned(one):
    return topic_sst.turn_of(topic_sst.words_of(one))


def test_it_fills_its_tables_and_figures(data, monkeypatch):
    monkeypatch.setattr(topic_sst, "LARGEST", 10)
    done = {setting.spec(0).id: outcome(data, setting=setting).run for setting in SETTINGS[:2]}
    result = TopicSst().analyse(Order("quick"), done)
    named = {claim.id for claim in load_claims() if "topic-sst" in claim.experiments}
    assert {finding.claim for finding in result.findings} == named
    assert all(table and all(list(row) == list(table[0]) for row in table) for table in result.tables.values())
    assert all(chart.to_dict()["$schema"] for chart in result.figures.values())


def test_figures_draw_the_right_columns(data, monkeypatch):
    monkeypatch.setattr(topic_sst, "LARGEST", 100)
    five = outcome(data, setting=SETTINGS[4], off=0.5)
    figures = after(TopicSst(), [outcome(data, off=0.2), five]).figures()
    ends = {(row["setting"], row["word"]): row for row in drawn(figures["identity"])}
    pure, frequent = ends[SETTINGS[0].name, "powerful"], ends[SETTINGS[4].name, FREQUENT]
    assert (pure["score"], frequent["score"]) == (2.0, 1.0)
    assert pure["norm"] / pure["identity"] == pytest.approx(1.2)
    assert frequent["norm"] / frequent["identity"] == pytest.approx(1.5)
    words, crosses = figures["identity"].to_dict()["spec"]["layer"]
    assert (words["encoding"]["y"]["field"], crosses["encoding"]["y"]["field"]) == ("norm", "identity")
    for name in ("purity", "frequency"):
        assert figures[name].to_dict()["spec"]["encoding"]["y"]["field"] == name
        rows = drawn(figures[name])
        assert {row["setting"] for row in rows} == {SETTINGS[0].name}, "purity is that of two classes"
        points = {(row["sentences_of"], row["step"]): row for row in rows}
        assert points["stupid", 500]["frequency"] == 81 and points["stupid", 1000]["frequency"] == 8
        assert points["stupid", 500]["purity"] == pytest.approx(1 / 81) and points["stupid", 1000]["purity"] == 1
    weights = {(row["word"], row["step"]): row["weight"] for row in drawn(figures["sentence"])}
    assert {word for word, _ in weights} == {"powerful", "best"}
    assert weights["best", 500] == pytest.approx(1 / (6 + np.e))
    assert figures["sentence"].to_dict()["spec"]["encoding"]["y"]["field"] == "weight"


@pytest.mark.parametrize(
    ("losses", "wanted"),
    [
        ([3.0, 2.0, 1.5], 2000),  # still falling: a thousand more
        ([3.0, 1.0, 1.5, 1.6, 1.7, 1.8], 2500),  # the lowest lies 2000 epochs back: it has ended
        ([3.0, 1.0, 1.5, 1.6, 1.7], 3000),
    ],
)
def test_a_run_ends_two_thousand_epochs_after_its_lowest_validation_loss(losses, wanted):
    rows = [{"step": 500 * k, "valid_loss": loss} for k, loss in enumerate(losses)]
    done = {SETTINGS[0].spec(0).id: Trained("x", rows, rows[-1]["step"])}
    assert TopicSst().plan(Order("paper"), {})[0].schedule.steps == 4000
    assert TopicSst().plan(Order("paper"), done)[0].schedule.steps == wanted
    assert TopicSst().plan(Order("quick"), {})[0].schedule.steps == 2000


def build_query(spec):
    return tuple(spec.model.build(5, spec.task.classes, spec.init_seed).query.tolist())


def test_plans_are_the_papers():
    jobs = TopicSst().plan(Order("paper"), {})
    assert len({job.spec.id for job in jobs}) == len(jobs) == 8 * 5
    assert jobs[0].label == "SST2 FC, padding masked" and jobs[4].label == "SST2 FC, padding masked, seed 4"
    assert len({build_query(job.spec) for job in jobs[:5]}) == 5, "each has a query of its own"
    assert [(job.spec.model.classifier, job.spec.model.size, job.spec.model.key_size) for job in jobs[:10:5]] == [
        ("fixed", 200, 10),
        ("linear", 100, 10),
    ]
    assert {job.schedule.steps for job in TopicSst().at_most(Order("paper"), {})} == {40_000}
    assert len(TopicSst().plan(Order("quick"), {})) == 2


def test_a_run_keeps_every_words_score_and_norm(data, tmp_path):
    spec = RunSpec(
        task=SstSpec(),
        model=TopicModelSpec(classifier="linear", size=6, key_size=3, embedding_std=0.1),
        optimiser=SgdSpec(),
        batch=None,
        init_seed=0,
        data_seed=0,
    )
    store = RunStore(tmp_path / "runs")
    done = train(spec, Schedule.every(5, steps=10), store)
    assert done.run.field_steps() == [0, 5, 10]
    problem = build_problem(spec)
    problem.model.load_state_dict(
        {name.removeprefix("model."): value for name, value in store.run(spec.id).load(10).tensors.items()}
    )
    words = done.run.fields(10)
    assert torch.equal(torch.tensor(words["score"].to_pylist()), problem.model.scores().detach())
    assert words["norm"].to_pylist() == problem.model.embedding.norm(dim=1).tolist()
    assert done.rows[-1]["valid_loss"] == done.rows[-1]["test_loss"] == pytest.approx(done.rows[-1]["loss"])
    assert store.run(spec.id).verify() == []


@pytest.mark.needs_data("sst")
def test_the_traced_sentence_is_found_by_its_words(data_root):
    bags = (corpus := read_sst(data_root / "sst", 2)).split.train
    sentences = [set(bags.sentence[bags.words == corpus.id(word)].tolist()) for word in SENTENCE]
    (found,) = set.intersection(*sentences)
    assert int(bags.labels[found]) == 1 and int(bags.lengths[found]) == 12
    assert int(bags.words[bags.offsets[found] + 1]) == corpus.id("powerful")
    assert int(bags.words[bags.offsets[found] + 7]) == corpus.id("best")
