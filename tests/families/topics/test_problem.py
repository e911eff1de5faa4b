"""Runs on topic sentences: their specs, exactness, and every number an evaluation tells."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import RunFailed, UsageError
from attnlab.families.registry import build_problem
from attnlab.families.topics.problem import top_share
from attnlab.families.topics.spec import TopicModelSpec, TopicsSpec
from attnlab.models.bag_attention import index_bags
from attnlab.records import validated
from attnlab.runs.loop import train
from attnlab.runs.optimisers import AdamSpec, SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

TASK = TopicsSpec(topics=3, dictionary=40, others=(3, 6), sentences=80)


def topic_spec(seed=0, **changes):
    values = {
        "task": TASK,
        "model": TopicModelSpec(classifier="layers"),
        "optimiser": SgdSpec(),
        "batch": None,
        "init_seed": seed,
        "data_seed": seed,
        **changes,
    }
    return RunSpec(**values)


@pytest.mark.parametrize("changes", [{}, {"batch": 7}, {"optimiser": AdamSpec()}], ids=["full", "stochastic", "adam"])
def test_a_run_in_parts_ends_with_the_same_bits(changes, tmp_path):
    spec = topic_spec(**changes)
    parts, whole = RunStore(tmp_path / "parts"), RunStore(tmp_path / "whole")
    for steps in (7, 15, 30):
        last = train(spec, Schedule.every(5, steps=steps), parts)
    first = train(spec, Schedule.every(5, steps=30), whole)
    ours, theirs = (place.run(spec.id).load(30).tensors for place in (parts, whole))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    common = {row["step"]: row for row in last.rows}
    assert all(common[row["step"]] == row for row in first.rows)


def test_ids_tell_every_setting_apart():
    changes = [
        {},
        {"batch": 7},
        {"optimiser": SgdSpec(learning_rate=0.2)},
        {"optimiser": AdamSpec(learning_rate=0.1)},
        {"train": "all-but-attention"},
        {"model": TopicModelSpec(classifier="fixed")},
        {"model": TopicModelSpec(classifier="fixed", train_query=True)},
        {"model": TopicModelSpec(classifier="fixed", train_embedding=False)},
        {"model": TopicModelSpec(classifier="fixed", below="lstm")},
        {"model": TopicModelSpec(classifier="layers", hidden=(10, 10))},
        {"task": TopicsSpec()},
        {"task": TopicsSpec(topics=(("a",), ("b", "c")))},
    ]
    specs = [topic_spec(**change) for change in changes]
    assert len({spec.id for spec in specs}) == len(specs)
    assert all(RunSpec.model_validate_json(spec.model_dump_json()).id == spec.id for spec in specs)


@pytest.mark.parametrize(
    ("changes", "still"),
    [
        ({"model": TopicModelSpec(classifier="fixed")}, {"query", "classifier.weight"}),
        ({"model": TopicModelSpec(classifier="linear")}, {"query"}),
        ({"model": TopicModelSpec(classifier="linear", train_query=True)}, set()),
        ({"model": TopicModelSpec(classifier="linear", train_embedding=False)}, {"query", "embedding"}),
        ({"model": TopicModelSpec(classifier="linear"), "train": "all-but-attention"}, {"query", "key"}),
        (
            {"model": TopicModelSpec(classifier="linear"), "train": "attention-only"},
            {"query", "embedding", "classifier.weight"},
        ),
    ],
)
def test_only_what_is_to_be_trained_changes(changes, still, store):
    changes["model"] = changes["model"].model_copy(update={"embedding_std": 0.5})
    spec = topic_spec(**changes)
    before = build_problem(spec).model.state_dict()
    train(spec, Schedule(steps=5, evaluations=()), store)
    tensors = store.run(spec.id).load(5).tensors
    assert {name for name, value in before.items() if torch.equal(tensors[f"model.{name}"], value)} == still


@torch.no_grad()
def test_an_evaluation_tells_what_it_says():
    """Every number once more, a sentence and a word at a time."""
    problem = build_problem(topic_spec(model=TopicModelSpec(classifier="linear", embedding_std=0.5)))
    model, bags = problem.model, problem.train_bags
    model.key.normal_(generator=torch.Generator().manual_seed(1))
    row = problem.evaluate(0)
    topic_words = problem.task.topic_words
    embedding, scores = model.embedding.detach(), (model.key @ model.query).detach()
    told = {name: [] for name in ("loss", "accuracy", "weight_mean", "share", "attention_accuracy", "probe_accuracy")}
    probes = []
    for number, label in enumerate(bags.labels):
        words = bags.words[bags.offsets[number] : bags.offsets[number + 1]]
        topical = words < topic_words
        alpha = torch.softmax(scores[words], 0)
        log_p = torch.log_softmax(model.classifier(alpha @ embedding[words]), 0)
        beta = torch.softmax(model.classifier(embedding[words]), 1)[:, label]
        lengths = alpha * embedding[words].norm(dim=1)
        told["loss"].append(-log_p[label])
        told["accuracy"].append(log_p.argmax() == label)
        told["weight_mean"].append(alpha[topical].sum())
        told["share"].append(lengths[topical].sum() / lengths.sum())
        told["attention_accuracy"].append(topical[alpha.argmax()])
        told["probe_accuracy"].append(topical[beta.argmax()])
        probes.append(beta[topical].mean())
    for name, values in told.items():
        assert row[name] == pytest.approx(float(torch.stack(values).double().mean()), abs=1e-6), name
    assert row["probe_mean"] == pytest.approx(float(torch.stack(probes).mean()), abs=1e-6)
    assert row["weight_min"] == pytest.approx(float(min(told["weight_mean"])), abs=1e-6)
    assert row["query_norm"] == pytest.approx(float(model.query.norm()))
    assert [row[f"score_{w}"] for w in range(topic_words)] == pytest.approx(scores[:topic_words].tolist())
    assert row["norm_2"] == pytest.approx(float(embedding[2].norm()))
    assert row["other_score_100"] == pytest.approx(float(scores[topic_words:].max()))
    assert row["other_norm_50"] == pytest.approx(float(np.median(embedding[topic_words:].norm(dim=1))))
    assert 0 <= row["test_accuracy"] <= 1


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=5), min_size=1, max_size=5))
def test_ties_share_the_hit(sentences):
    field = torch.tensor([float(value) for sentence in sentences for value, _ in sentence])
    wanted = torch.tensor([right for sentence in sentences for _, right in sentence])
    offsets = torch.tensor([0, *np.cumsum([len(sentence) for sentence in sentences])])
    expected = []
    for sentence in sentences:
        best = [right for value, right in sentence if value == max(value for value, _ in sentence)]
        expected.append(sum(best) / len(best))
    bags = index_bags(torch.zeros(len(field), dtype=torch.long), offsets, 1)
    assert top_share(field, wanted, bags).tolist() == pytest.approx(expected)


def test_the_papers_start(store):
    """Zero keys: uniform attention and, with tiny embeddings, the loss of a blind guess."""
    row = train(topic_spec(model=TopicModelSpec(classifier="fixed")), Schedule.every(5, steps=5), store).rows[0]
    assert row["loss"] == pytest.approx(np.log(3), abs=1e-5)
    lengths = build_problem(topic_spec()).train_bags.lengths
    assert row["weight_mean"] == pytest.approx(float((1 / lengths).mean()))
    assert row["attention_accuracy"] == pytest.approx(float((1 / lengths).mean()))


def test_it_learns_to_attend_to_topic_words(store):
    spec = topic_spec(optimiser=SgdSpec(learning_rate=1.0), model=TopicModelSpec(classifier="fixed", query_std=1.0))
    last = train(spec, Schedule.every(100, steps=400), store).rows[-1]
    assert last["accuracy"] == last["attention_accuracy"] == last["probe_accuracy"] == 1
    assert last["weight_min"] > 0.5


def test_a_rate_that_diverges_is_named_and_the_run_marked_failed(store):
    spec = topic_spec(optimiser=SgdSpec(learning_rate=1e38))
    with pytest.raises(RunFailed, match=r"loss at step \d+ is (nan|inf) with learning rate 1e\+38"):
        train(spec, Schedule.every(10, steps=50), store)
    assert store.run(spec.id).status()["status"] == "failed"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"task": {"kind": "topics", "topics": [["a"], []]}}, "Topic 1 has no words"),
        ({"task": {"kind": "topics", "topics": [["a", "b"], ["b"]]}}, "'b' is in topics 0 and 1"),
        ({"task": {"kind": "topics", "others": 0}}, "not m = 0"),
        ({"task": {"kind": "topics", "dictionary": 5, "replace": False}}, "20 different .* dictionary of 5 without"),
        ({"model": {"kind": "topic", "classifier": "cubic"}}, "model.classifier.*'orthonormal'"),
        ({"model": {"kind": "seq2seq"}}, "topics needs a model of kind topic, not seq2seq"),
        ({"optimiser": {"kind": "sgd", "learning_rate": -1}}, "optimiser.learning_rate"),
        ({"optimiser": {"kind": "sgd", "momentum": 0.9}}, "optimiser.momentum"),
    ],
)
def test_a_mistake_is_one_sentence(values, named):
    whole = {"task": {"kind": "topics"}, "model": {"kind": "topic"}, "init_seed": 0, "data_seed": 0, **values}
    with pytest.raises(UsageError, match=named) as caught:
        validated(RunSpec, whole)
    assert "\n" not in str(caught.value)


def test_copying_needs_a_batch():
    task = {"kind": "copying", "distribution": {"kind": "permutations", "words": 4}}
    with pytest.raises(UsageError, match="copying has none"):
        validated(RunSpec, {"task": task, "batch": None, "init_seed": 0, "data_seed": 0})


def test_a_run_with_nothing_to_train_is_refused():
    model = TopicModelSpec(classifier="fixed", train_embedding=False)
    with pytest.raises(UsageError, match="leaves no parameter"):
        build_problem(topic_spec(model=model, train="all-but-attention"))
