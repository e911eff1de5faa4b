"""Mean states of copying runs: against loops over sequences, on encoders whose answer is known, and where left out."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attnlab.families.copying.mean_states import mean_state_metrics
from attnlab.families.copying.spec import CopyingSpec, PermutationsSpec, SelectionsSpec, Seq2SeqSpec
from attnlab.families.copying.task import CopyingTask, Permutations, Selections
from attnlab.families.registry import build_problem
from attnlab.runs.spec import RunSpec
from attnlab.seeds import numpy_generator

TASKS = {"selections": CopyingTask(Selections(4, 6)), "permutations": CopyingTask(Permutations(5))}


def made_of(states, words):
    """A network whose encoder turns embeddings (batch, length, size) into states by a function."""
    vectors = torch.from_numpy(numpy_generator(3).normal(size=(words, 7)))

    def encoder(tokens, lengths, *, embedding):
        assert lengths is None
        return SimpleNamespace(states=states(embedding[tokens]))

    return SimpleNamespace(encoder=encoder, source_embedding=vectors)


def measured(states, name, count=1200):
    task = TASKS[name]
    source = task.batch(count, numpy_generator(1)).source
    return mean_state_metrics(made_of(states, task.vocabulary), task, source, numpy_generator(2))


@pytest.mark.parametrize("name", TASKS)
def test_states_about_their_own_words_are_a_bag(name):
    """Any function of the word alone: the mean is linear in the words' shares, and order changes nothing."""
    row = measured(lambda e: (3 * e).tanh(), name)
    assert row["mean_state_mixed"] == pytest.approx(1)
    assert row["mean_state_order"] == pytest.approx(0, abs=1e-20)
    assert ("mean_state" in row) == (name == "selections")
    assert row.get("mean_state", 1) == pytest.approx(1)


@pytest.mark.parametrize("name", TASKS)
def test_states_about_the_first_word_alone_are_mostly_order(name):
    """All states are the first word's embedding v: the words' shares explain 1/4 or so of v, never more than a half."""
    row = measured(lambda e: e[:, :1].expand(e.shape), name)
    assert row["mean_state_mixed"] < 0.5
    assert row.get("mean_state", 0) < 0.5
    # Orders of one permutation and words drawn each on their own have the same first words: the same variance.
    assert row["mean_state_order"] == (
        pytest.approx(1, rel=0.1) if name == "permutations" else pytest.approx(0.8, abs=0.2)
    )


def test_a_real_network_s_numbers_are_those_of_a_loop_over_sequences():
    task = TASKS["selections"]
    network = Seq2SeqSpec(hidden=6).build(task.vocabulary, task.vocabulary, seed=4).double()
    source = task.batch(600, numpy_generator(1)).source
    with torch.no_grad():
        row = mean_state_metrics(network, task, source, numpy_generator(2))
        rng = numpy_generator(2)
        mixed = rng.integers(6, size=(600, 4))  # the same draws, in the same order
        shuffled = rng.permuted(source[:, :-1].numpy(), axis=1)

        def mean_of(words):
            tokens = torch.tensor([[*words, task.end]])
            states = network.encoder(tokens, None, embedding=network.source_embedding).states[0]
            return sum(states[place] for place in range(5)).numpy() / 5

        own, again, others = (
            np.array([mean_of(w) for w in words]) for words in (source[:, :-1].tolist(), shuffled, mixed)
        )
        embeddings = network.source_embedding.detach().numpy()
    distance = np.mean([np.sum((a - b) ** 2) for a, b in zip(own, again, strict=True)]) / 2
    spread = np.sum((others - others.mean(0)) ** 2) / 599
    assert row["mean_state_order"] == pytest.approx(distance / spread)
    for name, words, means in (("mean_state", source[:, :-1].numpy(), own), ("mean_state_mixed", mixed, others)):
        inputs = np.array([[1, *embeddings[[*w, task.end]].mean(0)] for w in words])
        weights = np.linalg.pinv(inputs[:400], rcond=1e-10) @ means[:400]
        error = np.sum((means[400:] - inputs[400:] @ weights) ** 2)
        assert row[name] == pytest.approx(1 - error / np.sum((means[400:] - means[:400].mean(0)) ** 2), abs=1e-6)


def run(distribution, count):
    return RunSpec(
        task=CopyingSpec(distribution=distribution),
        model=Seq2SeqSpec(hidden=4),
        batch=4,
        evaluation_batch=count,
        init_seed=0,
        data_seed=0,
    )


def test_an_evaluation_of_few_sequences_says_nothing_of_them_and_is_as_it_was():
    few = build_problem(run(SelectionsSpec(length=3, words=4), 599)).evaluate(0)
    assert not any(name.startswith("mean_state") for name in few)
    many = build_problem(run(SelectionsSpec(length=3, words=4), 600)).evaluate(0)
    assert {name for name in many if name.startswith("mean_state")} == {
        "mean_state",
        "mean_state_mixed",
        "mean_state_order",
    }
    assert set(many) - set(few) == {name for name in many if name.startswith("mean_state")}
    assert many == build_problem(run(SelectionsSpec(length=3, words=4), 600)).evaluate(0)
    wide = build_problem(run(PermutationsSpec(words=40), 600)).evaluate(0)
    assert not any(name.startswith("mean_state") for name in wide), "400 are fewer than ten for each of 41"
