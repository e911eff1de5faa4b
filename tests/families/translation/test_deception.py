"""A translator's deceptive twin: what it goes down, what is measured of it, how it finds its original."""

import numpy as np
import pytest
import torch
from scipy.stats import entropy
from tests.number_pairs import write_numbers

from attnlab.data.piece_batches import pair_batch
from attnlab.errors import StoreError, UsageError
from attnlab.families.registry import build_problem
from attnlab.families.translation.deception import PairTwinSpec
from attnlab.families.translation.spec import TranslationProxySpec, TranslatorSpec
from attnlab.families.translation.task import BitextFiles, BitextSpec
from attnlab.probes.translators_apart import translators_apart
from attnlab.runs.loop import Interrupted, train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec, read_stored
from attnlab.runs.store import RunStore

FLOOR = 0.01


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A store with a trained P, its spec and the step that its twins are of."""
    folder = tmp_path_factory.mktemp("deceived pairs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(folder / "cache"))
        task = BitextSpec.of_files(BitextFiles.of(*write_numbers(folder, pairs=300)), pieces=40)
        settings = {"model": TranslatorSpec(hidden=16, layers=2), "optimiser": AdamSpec(learning_rate=0.01)}
        spec = RunSpec(task=task, batch=16, evaluation_batch=12, init_seed=0, data_seed=0, **settings)
        store = RunStore(folder / "runs")
        train(spec, Schedule.every(100, steps=200, keep=True), store)
        yield store, spec, 200


def twin_of(spec, step, weight=0.5, **changes):
    deception = PairTwinSpec(run=spec.id, step=step, weight=weight)
    return spec.model_copy(update={"init_seed": 7, "data_seed": 7, "deception": deception, **changes})


def original_of(store, spec, step):
    network = build_problem(spec).model
    network.load_state_dict(store.weights(spec.id, step))
    return network.eval()


def by_loops(p, q, batch, weight):
    """TVD - weight KL, word by word, from two networks' outputs."""
    parts = []
    for k in range(len(batch.source)):
        source = int(batch.source_lengths[k])
        for t in range(int(batch.target_lengths[k])):
            right, seen = (one.log_probabilities[k, t].exp().double().numpy() for one in (p, q))
            alpha_p, alpha_q = (one.alpha[k, t, :source].double().numpy() for one in (p, q))
            mixed = (1 - FLOOR) * alpha_q + FLOOR / source
            parts.append(np.abs(right - seen).sum() / 2 - weight * entropy(alpha_p / alpha_p.sum(), mixed))
    return parts


def test_the_loss_is_the_slides_equation_for_every_output_word(world):
    store, spec, step = world
    problem = build_problem(twin_of(spec, step), weights=store.weights)
    original, batch = original_of(store, spec, step), pair_batch(problem.pairs, problem.rows(3))
    lengths = {"source_lengths": batch.source_lengths, "target_lengths": batch.target_lengths}
    with torch.no_grad():
        p, q = (net.eval()(batch.source, batch.previous, **lengths) for net in (original, problem.model))
    assert problem.loss(3).item() == pytest.approx(np.mean(by_loops(p, q, batch, 0.5)), abs=1e-5)


def test_a_twin_starts_from_its_original_but_for_attention_and_moves_away_at_close_predictions(world):
    store, spec, step = world
    fresh = build_problem(twin_of(spec, step), weights=store.weights).model.state_dict()
    own = store.weights(spec.id, step)
    drawn_anew = {name for name, value in own.items() if not torch.equal(value, fresh[name])}
    assert drawn_anew == {"query.weight", "query.bias"}
    far, near = (train(twin_of(spec, step, w), Schedule.every(50, steps=100), store).rows[-1] for w in (0.3, 0.0))
    assert far["jsd"] > near["jsd"] + 0.1
    assert near["tvd"] < 0.15
    for row in (far, near):
        weight = 0.3 if row is far else 0.0
        assert row["objective"] == pytest.approx(row["tvd"] - weight * row["kl"], abs=1e-9)
        assert {f"train_{name}" for name in ("tvd", "jsd", "kl", "same", "objective")} <= set(row)
    assert all(torch.equal(value, store.weights(spec.id, step)[name]) for name, value in own.items())


def test_two_translators_apart_by_loops_and_one_beside_itself(world):
    store, spec, step = world
    problem, original = build_problem(spec), original_of(store, spec, step)
    other, pairs = build_problem(spec.model_copy(update={"init_seed": 3})).model, problem.evaluated["valid"]
    apart = translators_apart(original, other, pairs)
    expected = []
    for k in range(len(pairs)):
        batch = pair_batch(pairs, np.array([k]))
        with torch.no_grad():
            p, q = (net.eval()(batch.source, batch.previous) for net in (original, other))
        expected += by_loops(p, q, batch, 1.0)
    np.testing.assert_allclose(apart.tvd - apart.kl, expected, atol=1e-5)
    itself = translators_apart(original, original, pairs)
    assert itself.tvd.max() == 0 and itself.same.all() and itself.kl.max() < 0.05
    with pytest.raises(UsageError, match="only the same can be compared"):
        translators_apart(original, TranslatorSpec(hidden=4).build(9, 0), pairs)


def test_it_goes_on_exactly_after_an_interruption_and_needs_its_original(world, tmp_path):
    store, spec, step = world
    twin, schedule = twin_of(spec, step, 0.25), Schedule.every(3, steps=6)
    assert twin.id != twin_of(spec, step + 1, 0.25).id
    assert read_stored(twin.model_dump(mode="json"), twin.id) == twin
    whole = train(twin, schedule, store)
    weights = store.weights(twin.id, 6)
    store.remove(twin.id)
    asked = iter([False] * 4 + [True] * 9)
    with pytest.raises(Interrupted):
        train(twin, schedule, store, interrupted=lambda: next(asked))
    assert train(twin, schedule, store).rows == whole.rows
    assert all(torch.equal(value, store.weights(twin.id, 6)[name]) for name, value in weights.items())
    with pytest.raises(StoreError, match=spec.id):
        train(twin, schedule, RunStore(tmp_path))
    with pytest.raises(StoreError, match="do not fit its twin"):
        train(twin_of(spec, step, model=TranslatorSpec(hidden=8, layers=2)), schedule, store)


def test_only_learned_attention_can_be_moved(world):
    _, spec, step = world
    for model in (TranslatorSpec(hidden=16, attention="uniform"), TranslationProxySpec()):
        with pytest.raises(ValueError, match="learned attention"):
            RunSpec(**{**dict(twin_of(spec, step)), "model": model})
