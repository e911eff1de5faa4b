"""Training on sentence pairs: it learns, its evaluations and fields, exact resuming after a kill, the proxy."""

import hashlib
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from tests.number_pairs import write_numbers
from tests.runs.killed import assert_same_bits
from torch.nn import functional

from attnlab.data.piece_batches import pair_batch
from attnlab.errors import UsageError
from attnlab.families.registry import build_problem
from attnlab.families.translation.problem import evaluated
from attnlab.families.translation.reading import network_at, stored_field
from attnlab.families.translation.spec import TranslationProxySpec, TranslatorSpec
from attnlab.families.translation.task import BitextFiles, BitextSpec
from attnlab.measures.bleu import bleu
from attnlab.models.decoding import translate
from attnlab.probes.translation import translation_fields
from attnlab.runs.loop import train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

SMALL = TranslatorSpec(hidden=16, influence=True, bleu=True, beam=2)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))
    return write_numbers(tmp_path / "data")


def run_spec(files, **changes):
    values = {
        "task": BitextSpec.of_files(BitextFiles.of(*files), pieces=40),
        "model": SMALL,
        "optimiser": AdamSpec(learning_rate=1e-2),
        "batch": 16,
        "evaluation_batch": 10,
        "init_seed": 1,
        "data_seed": 1,
        **changes,
    }
    return RunSpec(**values)


def test_it_learns_to_translate_numbers(tmp_path, store):
    more, model = write_numbers(tmp_path / "more", pairs=800), TranslatorSpec(hidden=48, dropout=0.1, bleu=True)
    spec = run_spec(more, model=model, optimiser=AdamSpec(learning_rate=4e-3), evaluation_batch=50)
    trained = train(spec, Schedule.every(250, steps=500), store)
    first, last = trained.rows[0], trained.rows[-1]
    assert first["accuracy"] < 0.2 and last["accuracy"] > 0.9 and last["train_accuracy"] > 0.9
    assert first["bleu"] < 5 and last["bleu"] > 70
    assert last["loss"] < 0.3 * first["loss"]


def test_an_evaluation_measures_both_splits_and_keeps_their_fields(files):
    problem = build_problem(run_spec(files))
    row, table = problem.evaluate(0), problem.fields()
    names = ["loss", "accuracy", "bleu"]
    assert list(row) == [*names, *(f"train_{name}" for name in names)]
    assert problem.fields() is None  # handed over once
    bitext = problem.bitext
    assert {split: len(pairs) for split, pairs in problem.evaluated.items()} == {"valid": 10, "train": 10}
    for split, before in (("valid", ""), ("train", "train_")):
        pairs = problem.evaluated[split]
        fields = translation_fields(problem.model, pairs, influence=True)
        assert row[f"{before}loss"] == fields.loss and row[f"{before}accuracy"] == fields.accuracy
        texts = translate(problem.model, bitext.pieces, pairs.source, beam=2)
        assert row[f"{before}bleu"] == bleu(texts, pairs.target.texts()).score
        for name in ("alpha", "log_beta", "delta"):
            stored, made = stored_field(table, split, name), getattr(fields, name)
            assert stored.offsets.tolist() == made.offsets.tolist()
            np.testing.assert_array_equal(stored.values, made.values.astype(np.float32))
        lengths = pairs.source.lengths + 2  # both marks count
        assert stored.lengths.tolist() == np.repeat(lengths, pairs.target.lengths + 1).tolist()
    assert table.column_names == ["split", "pair", "predicted", "log_p", "alpha", "log_beta", "delta"]


def test_evaluating_leaves_no_trace_in_the_run(files):
    problem = build_problem(run_spec(files))
    before = {name: value.clone() for name, value in problem.model.state_dict().items()}
    loss = float(problem.loss(3).detach())
    problem.evaluate(0)
    assert float(problem.loss(3).detach()) == loss
    assert all(torch.equal(value, before[name]) for name, value in problem.model.state_dict().items())


def test_uniform_attention_keeps_no_alpha_and_the_linear_read_out_beta_without_gamma_s(files):
    for model, missing, extra in (
        ({"attention": "uniform"}, {"alpha", "delta"}, set()),
        ({"readout": "linear"}, {"delta"}, {"context_beta"}),
    ):
        problem = build_problem(run_spec(files, model=TranslatorSpec(hidden=8, **model)))
        row = problem.evaluate(0)
        assert "bleu" not in row
        every = {"split", "pair", "predicted", "log_p", "alpha", "log_beta", "delta"}
        assert set(problem.fields().column_names) == every - missing | extra


def test_the_same_pairs_are_evaluated_in_every_run(files):
    one, other = (build_problem(run_spec(files, init_seed=seed, data_seed=seed)) for seed in (1, 2))
    for split in ("valid", "train"):
        assert one.evaluated[split].rows.tolist() == other.evaluated[split].rows.tolist()
    few = evaluated(one.bitext, 10**6)
    assert len(few["valid"]) == len(few["train"]) == len(one.bitext.validation)


def test_the_loss_is_the_mean_over_the_pairs_words_of_that_step(files):
    problem = build_problem(run_spec(files, model=SMALL.model_copy(update={"dropout": 0.0})))
    batch = pair_batch(problem.pairs, problem.rows(7))
    assert len(batch.source) == 16 and problem.rows(7).tolist() != problem.rows(8).tolist()
    problem.model.eval()
    seen = problem.model(
        batch.source,
        batch.previous,
        source_lengths=batch.source_lengths,
        target_lengths=batch.target_lengths,
    )
    expected = functional.nll_loss(seen.log_probabilities.flatten(0, 1), batch.labels.flatten(), ignore_index=-1)
    torch.testing.assert_close(problem.loss(7), expected)


# --- resuming


@pytest.mark.parametrize("model", [SMALL, TranslationProxySpec(size=8)], ids=lambda model: model.kind)
def test_a_run_that_was_stopped_ends_with_the_same_bits(files, tmp_path, model):
    assert_same_bits(run_spec(files, model=model), tmp_path, "fields/12.parquet")


CHILD = """
import sys
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
spec, schedule = RunSpec.model_validate_json(sys.argv[2]), Schedule.model_validate_json(sys.argv[3])
train(spec, schedule, RunStore(sys.argv[1]), observe=lambda step, row: print(step, flush=True))
"""


def test_a_run_that_was_killed_ends_with_the_same_bits_dropout_included(files, tmp_path):
    spec = run_spec(files, model=TranslatorSpec(hidden=16))
    assert spec.model.dropout == 0.5
    schedule = Schedule(steps=60, evaluations=(0, 30, 60), checkpoint_every=7)
    killed, whole = RunStore(tmp_path / "killed"), RunStore(tmp_path / "whole")
    documents = [str(killed.root), spec.model_dump_json(), schedule.model_dump_json()]
    for reached in (17, 44):
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD), *documents], stdout=subprocess.PIPE, text=True
        ) as child:
            while int(child.stdout.readline()) < reached:
                pass
            child.send_signal(signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
    train(spec, schedule, killed)
    train(spec, schedule, whole)
    one, other = (
        [
            hashlib.sha256((store.run(spec.id).path / name).read_bytes()).hexdigest()
            for name in ("metrics.parquet", "checkpoints/60/tensors.safetensors", "fields/60.parquet")
        ]
        for store in (killed, whole)
    )
    assert one == other


def test_the_network_of_a_run_is_read_from_its_kept_weights(files, store):
    spec = run_spec(files)
    trained = train(spec, Schedule(steps=6, evaluations=(0, 3, 6), keep=True), store)
    for row in trained.rows:
        problem = build_problem(spec)
        problem.model = network_at(trained.run, spec, row["step"])
        assert {"step": row["step"], **problem.evaluate(row["step"])} == row


# --- the proxy


def test_the_proxy_is_a_softmax_over_the_mean_embedding(files):
    problem = build_problem(run_spec(files, model=TranslationProxySpec(size=8)))
    e, w = problem.model.embedding.detach(), problem.model.weight.detach()
    batch = pair_batch(problem.pairs, problem.rows(0))
    losses = []
    for source, length, labels in zip(batch.source, batch.source_lengths, batch.labels, strict=True):
        log_p = (w @ e[source[:length]].mean(0)).log_softmax(0)
        losses += [-log_p[y] for y in labels.tolist() if y >= 0]
    torch.testing.assert_close(problem.loss(0).detach(), torch.stack(losses).mean())
    problem.evaluate(0)
    table, pairs = problem.fields(), problem.evaluated["valid"]
    field, row = stored_field(table, "valid", "log_beta"), 0
    for k in range(len(pairs)):
        batch = pair_batch(pairs, np.array([k]))
        for y in batch.target[0].tolist():
            expected = [float((w @ e[x]).log_softmax(0)[y]) for x in batch.source[0].tolist()]
            np.testing.assert_allclose(field.row(row), expected, rtol=1e-5)
            row += 1
    assert row == len(field)


def test_the_proxy_learns_which_words_go_together(files, store):
    spec = run_spec(files, model=TranslationProxySpec(size=16))
    trained = train(spec, Schedule.every(200, steps=200), store)
    assert trained.rows[-1]["loss"] < trained.rows[0]["loss"] - 0.5


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": TranslatorSpec(readout="linear", projected=False)}, "readout = linear adds context and decoder"),
        ({"model": TranslatorSpec(attention="uniform"), "train": "attention-only"}, "needs learned attention"),
        ({"model": TranslationProxySpec(), "train": "attention-only"}, "needs a model with attention"),
        ({"model": {"kind": "translator", "dropout": 1.0}}, "model.dropout: Input should be less than 1"),
        ({"model": {"kind": "seq2seq"}}, "needs a model of kind translator or translation-proxy, not seq2seq"),
    ],
)
def test_settings_that_make_no_sense_are_refused(files, changes, sentence):
    with pytest.raises(UsageError, match=sentence):
        run_spec(files, **changes)


def test_attention_alone_can_be_trained(files, store):
    spec = run_spec(files, train="attention-only")
    problem = build_problem(spec)
    assert sorted(problem.trained_parameters()) == ["query.bias", "query.weight"]
    assert train(spec, Schedule.every(3, steps=3), store).step == 3
