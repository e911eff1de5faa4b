"""Training on labelled texts: batches, evaluations, fields, resuming, the best checkpoint, the proxy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.news import write_news
from tests.runs.killed import assert_same_bits
from torch.nn import functional

from attnlab.data.labelled_text import load_corpus
from attnlab.errors import UsageError
from attnlab.families.registry import build_problem
from attnlab.families.texts.problem import drawn_rows, relative_entropy
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec, ProxySpec
from attnlab.fields import ScoreField
from attnlab.probes.texts import text_fields
from attnlab.records import validated
from attnlab.runs.loop import finished, train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec


@pytest.fixture(autouse=True)
def news(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ATTNLAB_DATA", str(write_news(tmp_path / "data")))


def text_spec(**changes):
    corpus = load_corpus("ag_news")
    values = {
        "task": LabelledTextSpec(corpus="ag_news", content=corpus.content),
        "model": ClassifierSpec(embedding_size=10, hidden=8),
        "optimiser": AdamSpec(learning_rate=1e-2),
        "batch": 16,
        "evaluation_batch": 20,
        "init_seed": 1,
        "data_seed": 1,
        **changes,
    }
    return RunSpec(**values)


def test_it_learns_and_attends_to_the_words_that_tell(store):
    trained = train(text_spec(), Schedule.every(60, steps=120), store)
    assert trained.rows[-1]["accuracy"] >= 0.9
    assert trained.rows[-1]["train_accuracy"] > 0.9
    assert trained.rows[0]["entropy"] > 0.99  # uniform at the start
    assert trained.rows[-1]["entropy"] < trained.rows[0]["entropy"]


@given(texts=st.integers(1, 50), batch=st.integers(1, 20), seed=st.integers(0, 5))
def test_every_pass_sees_every_text_once(texts, batch, seed):
    a_pass = -(-texts // batch)
    for number in (0, 3):
        seen = torch.cat([drawn_rows(texts, batch, seed, number * a_pass + step) for step in range(a_pass)])
        assert sorted(seen.tolist()) == list(range(texts))


def test_the_loss_is_the_mean_over_the_batch():
    problem = build_problem(text_spec())
    rows = drawn_rows(len(problem.texts), 16, 1, 5)
    one_by_one = []
    for row in rows:
        text = problem.texts.select(row[None])
        seen = problem.model(text.words[None], text.lengths)
        one_by_one.append(functional.nll_loss(seen.log_probabilities, text.labels))
    torch.testing.assert_close(problem.loss(5), torch.stack(one_by_one).mean())


def test_an_evaluation_keeps_the_fields_of_both_splits(store):
    spec = text_spec()
    run = train(spec, Schedule(steps=6, evaluations=(0, 6)), store).run
    problem = build_problem(spec)
    weights = run.load(6).tensors
    problem.model.load_state_dict({n.removeprefix("model."): v for n, v in weights.items() if n.startswith("model.")})
    table = run.fields(6)
    for split, texts in problem.evaluated.items():
        assert len(texts) == 20
        fields = text_fields(problem.model, texts)
        kept = table.filter(np.asarray(table["split"].to_pylist()) == split)
        for name in ("alpha", "gamma"):
            values = np.concatenate([np.asarray(row) for row in kept[name].to_pylist()])
            np.testing.assert_allclose(values, getattr(fields, name).values, rtol=1e-6)


def test_fields_do_not_pile_up():
    """An evaluation's fields are handed over once and then forgotten: memory does not grow with evaluations."""
    problem = build_problem(text_spec())
    problem.evaluate(0)
    assert problem.fields().num_rows == 40
    assert problem.fields() is None


def test_uniform_attention_keeps_the_probe_alone(store):
    run = train(
        text_spec(model=ClassifierSpec(embedding_size=10, hidden=8, attention="uniform")),
        Schedule(steps=2, evaluations=(2,)),
        store,
    ).run
    assert run.fields(2).column_names == ["split", "gamma"]


def test_only_attention_is_trained_where_that_is_asked(store):
    spec = text_spec(train="attention-only")
    train(spec, Schedule(steps=5, evaluations=()), store)
    before, after = build_problem(spec).model.state_dict(), store.run(spec.id).load(5).tensors
    for name, value in before.items():
        changed = not torch.equal(value, after[f"model.{name}"])
        assert changed == name.startswith("score.")


def test_a_killed_run_ends_with_the_same_bits(tmp_path):
    assert_same_bits(text_spec(), tmp_path, *(f"fields/{n}.parquet" for n in (0, 4, 12)))


def test_the_best_evaluation_is_kept(store):
    spec = text_spec()
    schedule = Schedule(steps=60, evaluations=tuple(range(0, 61, 5)), checkpoint_every=7, keep="best")
    trained = train(spec, schedule, store)
    best = int(max(trained.rows, key=lambda row: row["accuracy"])["step"])
    assert best < 50, "the test needs a best evaluation that is not among the last two checkpoints"
    steps = store.run(spec.id).steps()
    assert best in steps
    assert len(steps) <= 3
    assert finished(spec, schedule, store) == trained


def test_a_best_evaluation_that_was_not_kept_is_made_again(store):
    spec = text_spec()
    plain = Schedule(steps=60, evaluations=tuple(range(0, 61, 5)), checkpoint_every=60)
    rows = train(spec, plain, store).rows
    best = int(max(rows, key=lambda row: row["accuracy"])["step"])
    assert best not in store.run(spec.id).steps()
    kept = plain.model_copy(update={"keep": "best"})
    assert finished(spec, kept, store) is None
    assert train(spec, kept, store).rows == rows
    assert best in store.run(spec.id).steps()


def test_a_corpus_that_changed_is_refused(tmp_path, monkeypatch, store):
    spec = text_spec()
    monkeypatch.setenv("ATTNLAB_DATA", str(write_news(tmp_path / "other", seed=1)))
    with pytest.raises(UsageError, match="has changed: its content is"):
        train(spec, Schedule(steps=1, evaluations=()), store)


def test_a_run_is_known_by_the_content_of_its_corpus():
    """Not by the corpus's name or vocabulary rule, which say only how to find it."""
    spec = text_spec()
    named = spec.model_copy(update={"task": spec.task.model_copy(update={"corpus": "sst"})})
    other = spec.model_copy(update={"task": spec.task.model_copy(update={"content": "0" * 16})})
    assert named.id == spec.id != other.id


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model": {"kind": "seq2seq"}}, "needs a model of kind classifier or proxy"),
        ({"model": {"kind": "proxy"}, "train": "attention-only"}, "the proxy has none"),
        ({"model": {"kind": "classifier", "attention": "uniform"}, "train": "attention-only"}, "nothing else to train"),
        ({"model": {"kind": "classifier", "hidden": 0}}, "model.hidden"),
    ],
)
def test_settings_that_do_not_fit_are_told(changes, told):
    values = text_spec().model_dump(mode="json") | changes
    with pytest.raises(UsageError, match=told):
        validated(RunSpec, values)


# --- the proxy


def test_the_proxy_learns_and_its_words_add_up(store):
    spec = text_spec(model=ProxySpec(size=16), batch=None)
    trained = train(spec, Schedule(steps=60, evaluations=(0, 60)), store)
    assert trained.rows[-1]["accuracy"] >= 0.9
    scores = np.asarray(trained.run.fields(60)["score_0"])
    corpus = load_corpus("ag_news")
    for k in range(5):  # by hand: a text's logit is the mean of its words' scores
        words = corpus.valid.select(torch.tensor([k])).words.numpy()
        problem = build_problem(spec)
        tensors = trained.run.load(60).tensors
        problem.model.load_state_dict({"embedding": tensors["model.embedding"], "weight": tensors["model.weight"]})
        told = problem.model(torch.from_numpy(words), torch.tensor([0, len(words)]))
        odds = float((told[0, 1] - told[0, 0]).detach())
        assert odds == pytest.approx(scores[words].mean(), abs=1e-5)
    word = {name: scores[place] for place, name in enumerate(corpus.words)}
    assert min(word[w] for w in ("market", "bank")) > max(word[w] for w in ("minister", "war"))


# --- entropy


@given(st.lists(st.integers(2, 9), min_size=1, max_size=5))
def test_entropy_is_one_for_uniform_and_zero_for_one_hot(lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    uniform = ScoreField(np.concatenate([np.full(n, 1 / n) for n in lengths]), offsets)
    one_hot = ScoreField(np.concatenate([np.eye(n)[0] for n in lengths]), offsets)
    assert relative_entropy(uniform) == pytest.approx(1)
    assert relative_entropy(one_hot) == pytest.approx(0)
