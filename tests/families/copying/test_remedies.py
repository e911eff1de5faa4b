"""Remedies: part of the id, exact when resumed, doing what they say, and refused where they have nothing to work on."""

import math

import numpy as np
import pytest
import torch

from attnlab.data.sentence_pairs import SentencePairs
from attnlab.errors import UsageError
from attnlab.families.copying.spec import (
    AlignmentLossSpec,
    CopyingSpec,
    FreshAttentionSpec,
    MirroredReadoutSpec,
    PermutationsSpec,
    SelectionsSpec,
    Seq2SeqSpec,
    WarmStartSpec,
    WarmUpSpec,
)
from attnlab.families.copying.task import CopyingTask, Permutations, Selections
from attnlab.families.registry import build_problem
from attnlab.records import validated
from attnlab.runs.loop import Interrupted, train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.seeds import numpy_generator
from attnlab.theory.counts import alpha_ibm
from attnlab.theory.ibm1 import train_ibm1

TASK = CopyingSpec(distribution=PermutationsSpec(words=6))
FEWER = SelectionsSpec(length=4, words=6)
REMEDIES = {
    "warm-up": WarmUpSpec(updates=8),
    "warm-start": WarmStartSpec(distribution=FEWER, updates=5),
    "alignment-loss": AlignmentLossSpec(distribution=FEWER, pairs=50, iterations=5),
    "fresh-attention": FreshAttentionSpec(step=7, seed=90),
    "mirrored-readout": MirroredReadoutSpec(),
}


def make(remedy=None, **changes):
    values = {"task": TASK, "model": Seq2SeqSpec(hidden=8), "batch": 8, "evaluation_batch": 10, "init_seed": 2}
    return RunSpec(**{**values, "data_seed": 2, "remedy": remedy, **changes})


def weights(store, spec, step):
    return store.run(spec.id).load(step).tensors


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_a_remedy_is_part_of_the_id_and_none_leaves_it_as_it_was():
    specs = [make(remedy) for remedy in (None, *REMEDIES.values(), WarmUpSpec(updates=9))]
    assert len({spec.id for spec in specs}) == len(specs)
    for spec in specs:
        assert RunSpec.model_validate_json(spec.model_dump_json()) == spec
    assert "remedy" not in make().identity()


def test_runs_that_differ_in_seeds_alone_are_one_kind_of_work():
    def kinds(*specs):
        return len({spec.unseeded().id for spec in specs})

    heads = [Seq2SeqSpec(hidden=8, heads=2, head_seeds=seeds) for seeds in ((1, 2), (3, 4))]
    assert kinds(*(make(model=model, init_seed=seed) for seed, model in enumerate(heads))) == 1
    assert kinds(*(make(FreshAttentionSpec(step=7, seed=seed), data_seed=seed) for seed in (1, 2))) == 1
    assert kinds(make(), make(model=heads[0]), make(batch=9), *map(make, REMEDIES.values())) == 8


@pytest.mark.parametrize("name", REMEDIES)
@pytest.mark.parametrize("stop", [4, 7, 9])
def test_a_run_that_was_interrupted_ends_with_the_same_bits(name, stop, tmp_path):
    """Before, at and after the step at which the remedy acts."""
    spec, schedule = make(REMEDIES[name]), Schedule.every(3, steps=12)
    whole, broken = RunStore(tmp_path / "whole"), RunStore(tmp_path / "broken")
    rows = train(spec, schedule, whole).rows
    answers = iter([False] * stop + [True])
    with pytest.raises(Interrupted):
        train(spec, schedule, broken, interrupted=lambda: next(answers))
    assert broken.run(spec.id).steps() == [stop]
    assert train(spec, schedule, broken).rows == rows
    assert same(weights(whole, spec, 12), weights(broken, spec, 12))


def test_a_warm_up_makes_the_first_updates_smaller_and_the_later_ones_whole(store):
    """Adam's first update moves every weight by the learning rate times the sign of its gradient."""
    spec = make(WarmUpSpec(updates=4))
    before = build_problem(spec).model.state_dict()
    train(spec, Schedule(steps=1, evaluations=()), store)
    moved = weights(store, spec, 1)["model.readout.output.weight"] - before["readout.output.weight"]
    assert moved.abs().max().item() == pytest.approx(1e-3 / 4, rel=1e-3)
    by_hand = build_problem(spec)
    optimiser = torch.optim.Adam(by_hand.model.parameters(), lr=1.0, fused=True)
    for step, rate in enumerate([0.25e-3, 0.5e-3, 0.75e-3, 1e-3, 1e-3]):
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        by_hand.loss(step).backward()
        optimiser.step()
    train(spec, Schedule(steps=5, evaluations=()), store)
    for name, value in by_hand.model.state_dict().items():
        torch.testing.assert_close(weights(store, spec, 5)[f"model.{name}"], value, atol=1e-7, rtol=0)


def test_a_warm_start_draws_other_sequences_first_and_is_never_measured_on_them():
    problem, plain = build_problem(make(REMEDIES["warm-start"])), build_problem(make())
    other = build_problem(make(task=CopyingSpec(distribution=FEWER)))
    assert problem.loss(4).item() == other.loss(4).item() != plain.loss(4).item()
    assert problem.loss(5).item() == plain.loss(5).item()
    assert problem.evaluate(0) == plain.evaluate(0)


def test_the_alignment_loss_is_the_cross_entropy_to_the_theorys_alignment():
    remedy = AlignmentLossSpec(distribution=FEWER, pairs=50, iterations=5, weight=2.0)
    spec = make(remedy, model=Seq2SeqSpec(hidden=8, heads=2))
    task = CopyingTask(Permutations(6))
    sample = CopyingTask(Selections(4, 6)).batch(50, numpy_generator(2, "alignment"))
    batch = task.batch(8, numpy_generator(2, "training", 3))
    sample_pairs, pairs = (
        SentencePairs.from_ids(b.source.numpy(), b.target.numpy(), task.vocabulary) for b in (sample, batch)
    )
    alignment = alpha_ibm(train_ibm1(sample_pairs, iterations=5).table, pairs).values.reshape(8, 1, 7, 7)
    problem = build_problem(spec)
    with torch.no_grad():
        attention = problem.model(batch.source, batch.previous).attention.double().numpy()
    expected = -2 * np.mean(np.sum(alignment * np.log(attention), axis=-1))
    plain = build_problem(spec.model_copy(update={"remedy": None})).loss(3).item()
    assert problem.loss(3).item() - plain == pytest.approx(expected, abs=1e-5)


def test_on_permutations_ibm_1_knows_nothing_so_the_loss_pulls_to_uniform_attention(store):
    spec = make(AlignmentLossSpec(pairs=20, weight=50.0), optimiser=AdamSpec(learning_rate=0.01))
    entropy = train(spec, Schedule(steps=200, evaluations=(0, 200)), store).rows[-1]["attention_entropy"]
    assert entropy == pytest.approx(math.log(7), abs=1e-3)


def test_fresh_attention_changes_the_scores_alone_and_once(tmp_path):
    spec, plain = make(REMEDIES["fresh-attention"]), make()
    ours, theirs = RunStore(tmp_path / "ours"), RunStore(tmp_path / "theirs")
    for store, run in ((ours, spec), (theirs, plain)):
        train(run, Schedule.every(1, steps=9, keep=True), store)
    assert same(weights(ours, spec, 7), weights(theirs, plain, 7))
    fresh = build_problem(make(init_seed=90)).model.attention.weight[0]
    after = weights(ours, spec, 8)
    # One update of Adam's, its first, moves a weight by at most the learning rate.
    assert (after["model.attention.weight.0"] - fresh).abs().max().item() <= 1.001e-3
    assert after["optimiser.step.attention.weight.0"].item() == 1
    assert after["optimiser.step.readout.output.weight"].item() == 8
    body = weights(ours, spec, 7)["model.encoder.weight_hh_l0"] - after["model.encoder.weight_hh_l0"]
    assert 0 < body.abs().max().item() < 0.01
    assert (weights(ours, spec, 9)["model.attention.weight.0"] - fresh).abs().max().item() <= 2.1e-3


@pytest.mark.parametrize("readout", ["tanh", "relu", "context"])
def test_a_mirrored_readout_turns_the_sign_of_what_the_context_says_and_nothing_else(readout):
    model = Seq2SeqSpec(hidden=8, readout=readout)
    drawn, mirrored = (build_problem(make(remedy, model=model)).model for remedy in (None, MirroredReadoutSpec()))
    generator = torch.Generator().manual_seed(0)
    context, state = (torch.randn(5, 8, generator=generator) for _ in range(2))
    with torch.no_grad():
        assert torch.equal(mirrored.readout(-context, state), drawn.readout(context, state))
        assert not torch.equal(mirrored.readout(context, state), drawn.readout(context, state))
    turned = "readout.output.weight" if readout == "context" else "readout.hidden.weight"
    others = [{k: v for k, v in network.state_dict().items() if k != turned} for network in (drawn, mirrored)]
    assert same(*others)


def test_a_linear_readout_has_nothing_to_mirror():
    with pytest.raises(UsageError, match="cannot be mirrored"):
        Seq2SeqSpec(hidden=8, readout="linear").build(9, 9, 0).readout.mirror()


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"remedy": {"kind": "warmup"}}, "remedy.*'warm-up', 'warm-start', 'alignment-loss', 'fresh-attention'"),
        ({"remedy": {"kind": "warm-up", "updates": 0}}, "updates.*greater than or equal to 1"),
        (
            {"remedy": {"kind": "warm-start", "distribution": {"kind": "selections", "length": 7, "words": 6}}},
            "7 different words cannot be drawn from 6",
        ),
        (
            {"remedy": {"kind": "warm-start", "distribution": {"kind": "permutations", "words": 5}}},
            "the task's 6 words, not over 5",
        ),
        ({"remedy": {"kind": "alignment-loss", "weight": 0}}, "weight.*greater than 0"),
        ({"remedy": {"kind": "alignment-loss"}, "model": {"attention": "uniform"}}, "needs learned attention"),
        ({"remedy": {"kind": "fresh-attention", "seed": 1}, "model": {"score": "dot"}}, "dot has none"),
        ({"remedy": {"kind": "mirrored-readout"}, "model": {"readout": "linear"}}, "for the context; linear has none"),
        ({"remedy": {"kind": "warm-up"}, "optimiser": {"kind": "sgd"}}, "needs the optimiser adam, not sgd"),
        (
            {"remedy": {"kind": "warm-up"}, "task": {"kind": "topics"}, "model": {"kind": "topic"}},
            "a remedy needs the task copying",
        ),
        (
            {
                "remedy": {"kind": "warm-start", "distribution": FEWER.model_dump()},
                "task": TASK.model_dump() | {"order": [5, 4, 3, 2, 1, 0]},
            },
            "order of positions names each of 0 .. 3 once",
        ),
    ],
)
def test_a_remedy_that_has_nothing_to_work_on_is_refused_in_one_sentence(values, named):
    whole = {"task": TASK.model_dump(), "init_seed": 0, "data_seed": 0, **values}
    with pytest.raises(UsageError, match=named) as caught:
        validated(RunSpec, whole)
    assert "\n" not in str(caught.value)
