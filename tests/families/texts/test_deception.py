"""Deceptive runs on texts: what they go down, what is measured of them, and how a twin finds its original."""

import shutil

import numpy as np
import pytest
import torch
from scipy.stats import entropy
from tests.runs.forged import forge

from attnlab.data.altered import keywords
from attnlab.data.batch import padded
from attnlab.errors import StoreError, UsageError
from attnlab.families.registry import build_problem
from attnlab.families.texts.deception import OffWordsSpec, TwinSpec
from attnlab.families.texts.spec import ClassifierSpec, LabelledTextSpec
from attnlab.runs.loop import Interrupted, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec, read_stored
from attnlab.runs.store import RunStore
from attnlab.specs import CopyingSpec, OffPositionSpec, PermutationsSpec, Seq2SeqSpec

SCHEDULE = Schedule.every(10, steps=40, keep="best")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A store with a trained P, and its spec."""
    folder = tmp_path_factory.mktemp("deceived")
    words = ["lovely", "awful", "film", "the", "a", "so", "very", "plot"]
    rng = np.random.default_rng(0)
    rows = []
    for k in range(60):
        label = ("good", "bad")[k % 2]
        text = [words[k % 2], *rng.choice(words[2:], rng.integers(1, 6))]
        rows.append(f"{' '.join(rng.permutation(text))},{label}")
    (folder / "films.csv").write_text("text,label\n" + "\n".join(rows), encoding="utf-8")
    task = LabelledTextSpec.of_file(folder / "films.csv")
    model, optimiser = ClassifierSpec(embedding_size=8, hidden=8), {"kind": "adam", "learning_rate": 0.03}
    settings = {"model": model, "optimiser": optimiser, "batch": 8, "evaluation_batch": 12}
    spec = RunSpec(task=task, init_seed=0, data_seed=0, **settings)
    store = RunStore(folder / "runs")
    done = train(spec, SCHEDULE, store)
    best = max(done.rows, key=lambda row: row["accuracy"])["step"]
    return store, spec, int(best)


def twin_of(spec, step, weight=0.5, **changes):
    deception = TwinSpec(run=spec.id, step=step, weight=weight)
    return spec.model_copy(update={"init_seed": 7, "data_seed": 7, "deception": deception, **changes})


def test_the_twins_loss_is_the_slides_equation(world):
    store, spec, step = world
    twin = twin_of(spec, step)
    problem = build_problem(twin, weights=store.weights)
    original = build_problem(spec).model
    original.load_state_dict(store.weights(spec.id, step))
    batch = padded(problem.texts, problem.rows(3))
    with torch.no_grad():
        p, q = original(batch.tokens, batch.lengths), problem.model(batch.tokens, batch.lengths)
    parts = []
    for k, length in enumerate(batch.lengths.tolist()):
        y_p, y_q = p.log_probabilities[k].exp(), q.log_probabilities[k].exp()
        noisy = 0.99 * q.alpha[k, :length].double() + 0.01 / length
        tvd = sum(abs(float(a - b)) for a, b in zip(y_p, y_q, strict=True)) / 2
        parts.append(tvd - 0.5 * entropy(p.alpha[k, :length].double(), noisy))
    assert float(problem.loss(3).detach()) == pytest.approx(np.mean(parts), abs=1e-6)


def test_the_original_stays_as_it_is_and_the_twin_moves_away(world):
    store, spec, step = world
    before = store.weights(spec.id, step)
    far, near = (train(twin_of(spec, step, weight), Schedule.every(30, steps=60), store) for weight in (1.0, 0.0))
    assert far.rows[-1]["jsd"] > near.rows[-1]["jsd"] + 0.1
    assert near.rows[-1]["tvd"] < near.rows[0]["tvd"]
    after = store.weights(spec.id, step)
    assert all(torch.equal(before[name], after[name]) for name in before)
    row = far.rows[-1]
    assert row["objective"] == pytest.approx(row["tvd"] - row["kl"])
    assert 0 <= row["jsd"] <= 1 and 0 <= row["same"] <= 1


def test_a_twin_beside_itself_is_nowhere_apart(world):
    store, spec, step = world
    problem = build_problem(twin_of(spec, step), weights=store.weights)
    problem.model.load_state_dict(store.weights(spec.id, step))
    row = problem.evaluate(0)
    assert row["tvd"] == pytest.approx(0, abs=1e-6) and row["jsd"] == pytest.approx(0, abs=1e-6)
    assert row["same"] == 1 and row["train_same"] == 1


def test_a_twin_is_named_by_its_original_and_goes_on_exactly_after_a_kill(world, tmp_path):
    store, spec, step = world
    twin = twin_of(spec, step, 0.25)
    assert twin.id != twin_of(spec, step + 1, 0.25).id
    assert twin.id != twin_of(spec.model_copy(update={"init_seed": 1}), step, 0.25).id
    assert read_stored(twin.model_dump(mode="json"), twin.id) == twin
    schedule = Schedule.every(3, steps=9, checkpoint_every=2)
    whole = train(twin, schedule, store)
    weights = store.weights(twin.id, 9)
    store.remove(twin.id)
    asked = iter([False] * 4 + [True])
    with pytest.raises(Interrupted):
        train(twin, schedule, store, interrupted=lambda: next(asked))
    again = train(twin, schedule, store)
    assert again.rows == whole.rows
    assert all(torch.equal(value, store.weights(twin.id, 9)[name]) for name, value in weights.items())


def test_without_its_original_a_twin_is_refused_in_a_sentence(world, tmp_path):
    _, spec, step = world
    with pytest.raises(StoreError, match=f"no weights of run {spec.id} at step {step}"):
        train(twin_of(spec, step), SCHEDULE, RunStore(tmp_path))
    store, *_ = world
    larger = twin_of(spec, step, model=ClassifierSpec(embedding_size=8, hidden=6))
    with pytest.raises(StoreError, match="do not fit its twin"):
        train(larger, SCHEDULE, store)
    copy = RunStore(shutil.copytree(store.root, tmp_path / "forged"))
    forge(copy.run(spec.id), step, "numbers")
    with pytest.raises(StoreError, match="do not fit its twin"):
        train(twin_of(spec, step, weight=0.7), SCHEDULE, copy)


def test_attention_is_kept_off_the_keywords(world):
    store, spec, _ = world
    plain = spec.model_copy(update={"init_seed": 9})
    kept = plain.model_copy(update={"deception": OffWordsSpec(words=2, weight=2.0)})
    problem = build_problem(kept)
    named = {problem.corpus.words[word] for word in keywords(problem.corpus)[:2]}
    assert named == {"lovely", "awful"}
    batch = padded(problem.texts, problem.rows(0))
    with torch.no_grad():
        seen = problem.model(batch.tokens, batch.lengths)
    parts = []
    for k, length in enumerate(batch.lengths.tolist()):
        words = [problem.corpus.words[word] for word in batch.tokens[k, :length].tolist()]
        mass = sum(float(a) for a, word in zip(seen.alpha[k], words, strict=False) if word in named)
        penalty = -np.log(0.99 * (1 - mass) + 0.01) if set(words) - named else 0
        parts.append(-float(seen.log_probabilities[k, batch.labels[k]]) + 2.0 * penalty)
    assert float(problem.loss(0).detach()) == pytest.approx(np.mean(parts), abs=1e-5)
    far = Schedule.every(40, steps=80)
    row, ordinary = train(kept, far, store).rows[-1], train(plain, far, store).rows[-1]
    assert row["mass"] < 0.1 and row["accuracy"] > 0.8  # the states beside a keyword know of it
    assert "mass" not in ordinary


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": ClassifierSpec(attention="uniform")}, "learned attention"),
        ({"train": "attention-only"}, "learned attention"),
        ({"deception": OffPositionSpec(weight=1)}, "needs the task copying"),
        ({"deception": {"kind": "twins", "weight": 1}}, "'twin', 'off-words'"),
        ({"deception": {"kind": "twin", "run": "a", "step": 0, "weight": -1}}, "weight"),
    ],
)
def test_what_cannot_deceive_is_refused(world, changes, sentence):
    _, spec, step = world
    with pytest.raises(UsageError, match=sentence):
        RunSpec(**{**dict(twin_of(spec, step)), **changes})


def test_copying_with_attention_off_the_right_position():
    task = CopyingSpec(distribution=PermutationsSpec(words=6))
    spec = RunSpec(task=task, model=Seq2SeqSpec(hidden=8), batch=4, init_seed=0, data_seed=0)
    kept = spec.model_copy(update={"deception": OffPositionSpec(weight=0.5)})
    plain, problem = build_problem(spec), build_problem(kept)
    batch = problem._batch(problem.task, 4, "training", 2)
    alpha = problem.model(batch.source, batch.previous).alpha
    penalty = [
        -np.log(0.99 * (1 - float(alpha[k, t, batch.position[t]].detach())) + 0.01)
        for k in range(alpha.shape[0])
        for t in range(alpha.shape[1])
    ]
    assert float(problem.loss(2).detach()) == pytest.approx(
        float(plain.loss(2).detach()) + 0.5 * np.mean(penalty), abs=1e-5
    )
    assert kept.id != spec.id
    with pytest.raises(UsageError, match="learned attention"):
        RunSpec(**{**dict(kept), "model": Seq2SeqSpec(hidden=8, attention="uniform")})
