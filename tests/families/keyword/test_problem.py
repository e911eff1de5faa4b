"""Runs on the keyword task: the loss, every measured figure against a loop over positions, and resuming."""

from math import isnan, log

import numpy as np
import pytest
import torch
from tests.runs.killed import assert_same_bits
from torch.nn import functional

from attnlab.errors import UsageError
from attnlab.families.keyword.problem import keyword_metrics
from attnlab.families.keyword.spec import KeywordSpec
from attnlab.families.keyword.task import KeywordBatch, KeywordTask
from attnlab.families.registry import build_problem
from attnlab.families.texts.spec import ClassifierSpec
from attnlab.records import validated
from attnlab.runs.loop import train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.seeds import numpy_generator

GATED = ClassifierSpec(embedding_size=6, hidden=8, score="linear", bidirectional=False)


def keyword_spec(**changes):
    values = {
        "task": KeywordSpec(length=6, words=5),
        "model": GATED,
        "optimiser": AdamSpec(learning_rate=1e-2),
        "batch": 16,
        "evaluation_batch": 40,
        "init_seed": 2,
        "data_seed": 2,
        **changes,
    }
    return RunSpec(**values)


def test_the_blog_s_gated_lstm_learns_it_and_attends_to_the_keyword(store):
    rows = train(keyword_spec(evaluation_batch=200), Schedule.every(100, steps=200), store).rows
    assert rows[-1]["accuracy"] > 0.95
    assert rows[-1]["attention_mean"] > 2 * rows[0]["attention_mean"]
    assert rows[0]["attention_entropy"] > 0.99 * log(6)
    assert rows[-1]["attention_entropy"] < rows[0]["attention_entropy"]


def test_the_loss_is_the_mean_over_a_fresh_batch():
    problem = build_problem(keyword_spec())
    batch = KeywordTask(6, 5).batch(16, numpy_generator(2, "training", 3))
    seen = problem.model(batch.tokens, torch.full((16,), 6))
    torch.testing.assert_close(problem.loss(3), functional.nll_loss(seen.log_probabilities, batch.labels))
    assert not torch.equal(problem.loss(3), problem.loss(4))


@pytest.mark.parametrize("model", [GATED, ClassifierSpec(embedding_size=4, hidden=3)], ids=["gated", "P3"])
def test_what_is_measured_is_what_a_loop_over_sequences_finds(model):
    problem = build_problem(keyword_spec(model=model))
    network = problem.model.eval()
    batch = KeywordTask(6, 5).draw(np.arange(60) % 2, numpy_generator(5))
    with torch.no_grad():
        row = keyword_metrics(network, batch)
        lengths = torch.full((60,), 6)
        seen = network(batch.tokens, lengths, labels=batch.labels)
    wanted = {name: [] for name in ("keyword", "after", "mean", "last", "first")}
    tops, entropies, left_out = [], [], 0
    for gamma, alpha, label, at in zip(seen.gamma, seen.alpha, batch.labels, batch.position.tolist(), strict=True):
        if not label:
            continue
        beta = gamma.sigmoid().double()
        tops.append((float(gamma.argmax() == at), float(alpha.argmax() == at), float(beta[at]), float(alpha[at])))
        share = beta / beta.sum()
        entropies.append((-float((share * share.log()).sum()), -float((alpha * alpha.log()).sum())))
        if at == 5:
            left_out += 1
            continue
        for name, value in (("keyword", gamma[at]), ("after", gamma[at + 1]), ("mean", gamma.mean())):
            wanted[name].append(float(value))
        wanted["last"].append(float(gamma[-1]))
        if at > 0:
            wanted["first"].append(float(gamma[0]))
    assert 0 < left_out < 30 and left_out == row["left_out"]
    assert row["positives"] == 30 - left_out
    for name, values in wanted.items():
        assert row[f"gamma_{name}"] == pytest.approx(np.mean(values), abs=1e-6)
    names = ("probe_accuracy", "attention_accuracy", "probe_mean", "attention_mean")
    assert [row[name] for name in names] == pytest.approx(np.mean(tops, axis=0), abs=1e-6)
    measured = [row["probe_entropy"], row["attention_entropy"]]
    assert measured == pytest.approx(np.mean(entropies, axis=0), abs=1e-6)
    assert row["accuracy"] == float((seen.log_probabilities.argmax(1) == batch.labels).double().mean())


def test_both_classes_keywords_are_measured_as_a_loop_over_positions_finds():
    """The same of negative sequences, for their own class; each word's log-odds of the positive class."""
    task = KeywordSpec(length=6, words=5, negative=True)
    network = build_problem(keyword_spec(task=task)).model.eval()
    batch = task.build().draw(np.arange(60) % 2, numpy_generator(5))
    with torch.no_grad():
        row = keyword_metrics(network, batch)
        states = network.encoder(batch.tokens, None, embedding=network.embedding).states
        logits = network.output(states).squeeze(2).double()  # W h + b, the log-odds of the positive class
        alpha = network(batch.tokens, torch.full((60,), 6)).alpha
    by_word, tops, means = {word: [] for word in range(5)}, [], []
    for n in range(60):
        for place in range(6):
            by_word[int(batch.tokens[n, place])].append(float(logits[n, place]))
        if batch.labels[n] == 0:
            at = int(batch.position[n])
            tops.append((float(logits[n].argmin() == at), float(alpha[n].argmax() == at)))
            means.append((float(torch.sigmoid(-logits[n, at])), float(alpha[n, at])))
    for word, values in by_word.items():
        assert row[f"relevance_{word}"] == pytest.approx(np.mean(values), abs=1e-6)
    measured = [row["negative_probe_accuracy"], row["negative_attention_accuracy"]]
    assert measured == pytest.approx(np.mean(tops, axis=0), abs=1e-9)
    measured = [row["negative_probe_mean"], row["negative_attention_mean"]]
    assert measured == pytest.approx(np.mean(means, axis=0), abs=1e-6)


def test_where_the_negative_class_has_no_keyword_nothing_is_said_of_it():
    plain, row = keyword_spec(), build_problem(keyword_spec()).evaluate(0)
    assert not any(name.startswith(("negative_", "relevance_")) for name in row)
    assert keyword_spec(task=KeywordSpec(length=6, words=5, negative=False)).id == plain.id
    assert keyword_spec(task=KeywordSpec(length=6, words=5, negative=True)).id != plain.id


def test_uniform_attention_is_uniform_and_hits_by_chance():
    problem = build_problem(keyword_spec(model=ClassifierSpec(embedding_size=4, hidden=3, attention="uniform")))
    row = problem.evaluate(0)
    assert row["attention_accuracy"] == pytest.approx(1 / 6)
    assert row["attention_entropy"] == pytest.approx(log(6))


def mean_state_by_hand(network, batch, fitted):
    """R^2 from the mean embeddings themselves, by the pseudoinverse."""
    with torch.no_grad():
        means = network.encoder(batch.tokens, None, embedding=network.embedding).states.mean(1).double()
        inputs = network.embedding.double()[batch.tokens].mean(1)
    design = torch.cat([torch.ones(len(inputs), 1), inputs], 1)
    weights = torch.linalg.pinv(design[:fitted], rtol=1e-10) @ means[:fitted]
    error = ((means[fitted:] - design[fitted:] @ weights) ** 2).sum()
    return float(1 - error / ((means[fitted:] - means[:fitted].mean(0)) ** 2).sum())


def test_a_map_of_word_shares_is_one_of_mean_embeddings():
    problem = build_problem(keyword_spec())  # six numbers for each of five words: linearly independent
    batch = KeywordTask(6, 5).draw(np.arange(300) % 2, numpy_generator(1))
    with torch.no_grad():
        row = keyword_metrics(problem.model, batch)
    assert row["mean_state"] == pytest.approx(mean_state_by_hand(problem.model, batch, 200), abs=1e-6)
    assert 0.5 < row["mean_state"] < 1


def test_too_few_sequences_fit_no_map():
    assert "mean_state" not in build_problem(keyword_spec(evaluation_batch=74)).evaluate(0)
    assert "mean_state" in build_problem(keyword_spec(evaluation_batch=75)).evaluate(0)


def test_a_keyword_that_is_always_last_has_no_position_after_it():
    tokens = torch.tensor([[1, 2, 1, 0]])
    batch = KeywordBatch(tokens, torch.tensor([1]), torch.tensor([3]))
    with torch.no_grad():
        row = keyword_metrics(build_problem(keyword_spec()).model, batch)
    assert (row["positives"], row["left_out"]) == (0, 1)
    assert isnan(row["gamma_after"]) and not isnan(row["probe_mean"])


def test_a_killed_run_ends_with_the_same_bits(tmp_path):
    assert_same_bits(keyword_spec(), tmp_path)


def test_only_attention_is_trained_where_that_is_asked():
    problem = build_problem(keyword_spec(train="attention-only"))
    assert set(problem.trained_parameters()) == {"score.0.weight", "score.0.bias"}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"task": {"kind": "keyword", "length": 1}}, "length of at least 2"),
        ({"task": {"kind": "keyword", "words": 0}}, "words"),
        ({"task": {"kind": "keyword", "lenght": 5}}, "lenght.*known keys|known keys.*length"),
        ({"model": {"kind": "seq2seq"}}, "keyword needs a model of kind classifier, not seq2seq"),
        ({"batch": None}, "keyword has none"),
        ({"model": {"kind": "classifier", "attention": "uniform"}, "train": "attention-only"}, "nothing else to train"),
    ],
    ids=["length", "words", "key", "model", "batch", "train"],
)
def test_a_mistake_is_one_sentence(values, named):
    whole = {"task": {"kind": "keyword"}, "model": {"kind": "classifier"}, "init_seed": 0, "data_seed": 0, **values}
    with pytest.raises(UsageError, match=named) as caught:
        validated(RunSpec, whole)
    assert "\n" not in str(caught.value)


def test_ids_tell_tasks_apart_and_defaults_do_not():
    plain = keyword_spec(task=KeywordSpec())
    assert plain.id == keyword_spec(task=KeywordSpec(length=40, words=40)).id
    assert len({plain.id, keyword_spec().id, keyword_spec(task=KeywordSpec(length=6)).id}) == 3
