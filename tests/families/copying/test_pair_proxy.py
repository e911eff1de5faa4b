"""Training the bag-of-words proxy on copying: its loss and measures, what it can and cannot learn, its mistakes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.errors import UsageError
from attnlab.families.copying.spec import (
    CopyingSpec,
    PairProxySpec,
    PermutationSetsSpec,
    PermutationsSpec,
    SelectionsSpec,
    Seq2SeqSpec,
)
from attnlab.families.registry import build_problem
from attnlab.families.texts.spec import ProxySpec
from attnlab.records import validated
from attnlab.runs.loop import train
from attnlab.runs.optimisers import AdamSpec, SgdSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.seeds import numpy_generator

PERMUTATIONS = PermutationsSpec(words=6)
SELECTIONS = SelectionsSpec(length=4, words=6)


def proxy_spec(distribution=SELECTIONS, *, size=64, seed=0, order=None, **changes):
    return RunSpec(
        task=CopyingSpec(distribution=distribution, order=order),
        model=PairProxySpec(size=size),
        **{"batch": 32, "evaluation_batch": 20, "init_seed": seed, "data_seed": seed, **changes},
    )


def theta_of(model):
    """softmax(W e_i) with NumPy, in double precision: (inputs, outputs)."""
    logits = model.embedding.detach().double().numpy() @ model.weight.detach().double().numpy().T
    raised = np.exp(logits)
    return raised / raised.sum(1, keepdims=True)


def drawn(spec, purpose, count, step=3):
    batch = spec.task.build().batch(count, numpy_generator(spec.data_seed, purpose, step))
    return batch.source[:, :-1].numpy(), batch.target[:, :-1].numpy(), batch.position[:-1].numpy()


def test_the_loss_is_that_of_the_mean_embedding():
    spec = proxy_spec(order=(2, 0, 3, 1))
    problem = build_problem(spec)
    source, target, _ = drawn(spec, "training", 32)
    embedding, weight = (value.detach().double().numpy() for value in (problem.model.embedding, problem.model.weight))
    expected = []
    for words, outputs in zip(source, target, strict=True):
        logits = weight @ embedding[words].mean(0)
        expected += [np.log(np.exp(logits).sum()) - logits[word] for word in outputs]
    assert float(problem.loss(3).detach()) == pytest.approx(np.mean(expected), rel=1e-5)


def test_an_evaluation_measures_the_probe_at_every_position():
    spec = proxy_spec(order=(2, 0, 3, 1))
    problem = build_problem(spec)
    theta = theta_of(problem.model)
    source, target, position = drawn(spec, "evaluation", 20)
    hits, means, spreads = [], [], []
    for words, outputs in zip(source, target, strict=True):
        for word, right in zip(outputs, position, strict=True):
            beta = theta[words, word]
            hits.append(beta.argmax() == right)
            means.append(beta[right])
            spreads.append(beta.std() / beta.mean())
    row = problem.evaluate(3)
    assert row["probe_accuracy"] == pytest.approx(np.mean(hits))
    assert row["probe_mean"] == pytest.approx(np.mean(means), rel=1e-5)
    assert row["probe_spread"] == pytest.approx(np.mean(spreads), rel=1e-4)
    assert 0 <= row["accuracy"] <= 1 / 4  # one word of four different ones can be the likeliest
    fields = problem.fields()
    stored = np.stack([fields[name].to_numpy() for name in fields.column_names], 1)
    assert fields.column_names[:2] == ["theta_0", "theta_1"]
    assert stored == pytest.approx(theta, rel=1e-5)


@given(words=st.integers(2, 9), seed=st.integers(0, 20))
def test_on_permutations_every_input_word_is_taught_the_same(words, seed):
    problem = build_problem(proxy_spec(PermutationsSpec(words=words), seed=seed, size=8))
    problem.loss(0).backward()
    gradient = problem.model.embedding.grad.numpy()
    assert np.abs(gradient - gradient[0]).max() <= 1e-6 * max(1.0, np.abs(gradient).max())


def test_training_tells_words_apart_where_they_come_and_go_and_not_in_permutations(store):
    schedule, adam = Schedule(steps=150, evaluations=(0, 150)), AdamSpec(learning_rate=2e-2)
    some = train(proxy_spec(SELECTIONS, optimiser=adam), schedule, store).rows
    assert some[-1]["probe_accuracy"] > 0.95
    assert some[-1]["probe_spread"] > 1
    assert some[-1]["loss"] < some[0]["loss"]
    sets = train(proxy_spec(PermutationSetsSpec(size=6), optimiser=adam), schedule, store)
    theta = np.stack([column.to_numpy() for column in sets.run.fields(150).itercolumns()], 1)
    assert theta[:6, :6].sum(1).min() > 0.95  # which set it is, is learned ...
    assert theta[6:, :6].sum(1).max() < 0.05
    same = train(proxy_spec(PERMUTATIONS, optimiser=adam), schedule, store).rows
    assert same[-1]["loss"] == pytest.approx(np.log(6), abs=1e-4)
    assert same[-1]["probe_spread"] < 2 * same[0]["probe_spread"] < 0.2  # ... and no word of it from another


def test_a_run_goes_on_where_it_stopped_and_keeps_its_tables(store, tmp_path):
    spec = proxy_spec(optimiser=SgdSpec(learning_rate=5.0))
    train(spec, Schedule.every(5, steps=5), store)
    on = train(spec, Schedule.every(5, steps=10), store)
    whole = train(spec, Schedule.every(5, steps=10), RunStore(tmp_path / "other"))
    assert on.rows == whole.rows
    assert on.run.field_steps() == [0, 5, 10]
    assert on.run.fields(10).equals(whole.run.fields(10))


def test_its_runs_are_told_apart_from_the_networks():
    spec = proxy_spec()
    assert validated(RunSpec, spec.model_dump(mode="json")).id == spec.id
    ids = {spec.id, proxy_spec(size=32).id, spec.model_copy(update={"model": Seq2SeqSpec()}).id}
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"train": "attention-only"}, "the proxy has none"),
        ({"train": "all-but-attention"}, "the proxy has none"),
        ({"batch": None}, "needs a task with a training set; copying has none"),
        ({"model": {"kind": "pair-proxy", "size": 0}}, "model.size"),
        ({"model": {"kind": "pair-proxy", "heads": 1}}, "model.heads.*"),
        ({"model": ProxySpec().model_dump()}, "copying needs a model of kind seq2seq or pair-proxy, not proxy"),
        ({"task": {"kind": "topics"}}, "topics needs a model of kind topic, not pair-proxy"),
    ],
)
def test_a_mistake_is_one_sentence(changes, named):
    with pytest.raises(UsageError, match=named) as caught:
        validated(RunSpec, proxy_spec().model_dump(mode="json") | changes)
    assert "\n" not in str(caught.value)
