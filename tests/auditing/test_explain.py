"""One text explained: the numbers are the probes' own, and no text commands page or terminal."""

import json
import re
import shutil

import numpy as np
import pytest
import torch
from tests.runs.forged import WAYS, forge
from typer.testing import CliRunner

import attnlab as al
from attnlab.auditing.network import best_kept_step, load_classifier
from attnlab.cli.main import app
from attnlab.cli.options import settings
from attnlab.errors import StoreError, UsageError
from attnlab.runs.run import StoreWarning
from attnlab.specs import (
    ClassifierSpec,
    CopyingSpec,
    LabelledTextSpec,
    PermutationsSpec,
    RunSpec,
    Schedule,
    Seq2SeqSpec,
)

HOSTILE = '<script>alert(1)</script> --> "quoted" \u202egnorw \x00 \U0001f600 =1+1 film'


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained")
    file = folder / "films.csv"
    file.write_text("text,label\n" + "a lovely film,<b>good</b>\nan awful film,bad\nso so,fair\n" * 8, encoding="utf-8")
    store = al.RunStore(folder / "runs")
    model = ClassifierSpec(embedding_size=8, hidden=4)
    task = LabelledTextSpec.of_file(file)
    spec = RunSpec(task=task, model=model, batch=4, init_seed=0, data_seed=0, evaluation_batch=20)
    done = al.train(spec, Schedule.every(5, steps=20, keep="best"), store)
    return store, done


def test_the_numbers_are_the_networks_own(trained):
    store, done = trained
    made = al.explain(done.id[:6], "A lovely surprise, a film!", store=store, label="bad")
    assert made.words == ("a", "lovely", "surprise", "a", "film")
    assert made.unknown == (False, False, True, False, False)
    # Equation by equation (P3 2.4), without the probes.
    found = load_classifier(store.run(done.id))
    ids = torch.tensor([[found.corpus.words.index(word) if word != "surprise" else 0 for word in made.words]])
    model, bad = found.model, found.corpus.classes.index("bad")
    with torch.no_grad():
        h = model.encoder(ids, torch.tensor([5]), embedding=model.embedding).states[0]
        alpha = model.score(h).squeeze(1).softmax(0)
        predicted = model.output(alpha @ h).softmax(0)
        beta = model.output(h).softmax(1)[:, bad]
    np.testing.assert_allclose(made.alpha, alpha, atol=1e-6)
    np.testing.assert_allclose(made.probabilities, predicted, atol=1e-6)
    np.testing.assert_allclose(made.beta, beta, atol=1e-6)
    assert made.predicted == found.corpus.classes[int(predicted.argmax())]
    gates = torch.ones(1, 5, requires_grad=True)
    model(ids, torch.tensor([5]), gates=gates).log_probabilities[0, bad].backward()
    np.testing.assert_allclose(made.delta, gates.grad[0], atol=1e-5)


def test_the_weights_are_those_of_the_best_evaluation(trained):
    store, done = trained
    best = max(done.rows, key=lambda row: row["accuracy"])
    assert best_kept_step(store.run(done.id)) == best["step"]
    assert al.explain(done.id, "film", store=store).step == best["step"]


def test_a_page_runs_nothing_that_a_text_says(trained, tmp_path):
    store, done = trained
    made = al.explain(done.id, HOSTILE + " " + "w" * 10_000, store=store)
    page = made.save(tmp_path / "one.html").read_text(encoding="utf-8")
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)  # the page's own, named in its policy by hashes
    assert "<script" not in body and "<b>" not in body and "alert(1)</" not in page
    assert re.search(r"script-src (&#39;sha256-[^;]*&#39; ?)+\"", page) and "unsafe-eval" not in page
    assert "w" * 41 not in page  # a word of 10,000 characters is cut
    numbers = json.loads(made.save(tmp_path / "one.json").read_text())
    assert numbers["alpha"] == list(made.alpha) and numbers["predicted"] == made.predicted
    with pytest.raises(UsageError, match=r"\.html"):
        made.save(tmp_path / "one.txt")


def run(*words):
    got = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(got.exception, UsageError):
        raise got.exception
    assert got.exit_code == 0, got.output
    return got.stdout


def test_the_command_says_the_same(trained, tmp_path):
    store, done = trained
    out = tmp_path / "one.html"
    said = run("explain", done.id, "a lovely film", "--store", store.root, "--out", out)
    assert said.startswith("Predicted: ") and "alpha" in said and "delta" in said and out.is_file()
    numbers = json.loads(run("explain", done.id, "a lovely film", "--store", store.root, "--json"))
    assert numbers == json.loads(json.dumps(al.explain(done.id, "a lovely film", store=store).to_json()))
    assert "\x1b" not in run("explain", done.id, "film \x1b[31m", "--store", store.root)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["!?"], "has no word"),
        (["film " * 2001], "at most 2000"),
        (["film", "--label", "x" * 100], "no class"),
        (["film", "--out", "one.txt"], r"\.html"),
    ],
)
def test_what_cannot_be_explained_is_said_in_a_sentence(trained, words, sentence):
    store, done = trained
    with pytest.raises(UsageError, match=sentence):
        run("explain", done.id, *words, "--store", store.root)


@pytest.mark.parametrize("how", WAYS)
def test_weights_that_do_not_fit_are_refused_by_name(trained, tmp_path, how):
    """Even where the manifest says they are right: neither a traceback nor another network is explained."""
    store, done = trained
    copy = al.RunStore(shutil.copytree(store.root, tmp_path / "runs"))
    step = best_kept_step(copy.run(done.id))
    forge(copy.run(done.id), step, how)
    with pytest.raises(StoreError, match=rf"{done.id}/checkpoints/{step}/tensors\.safetensors does not fit"):
        al.explain(done.id, "film", store=copy)


def test_a_damaged_checkpoint_is_not_passed_over_for_another(trained, tmp_path):
    store, done = trained
    copy = al.RunStore(shutil.copytree(store.root, tmp_path / "runs")).run(done.id)
    best, *others = sorted(copy.steps(), key=lambda step: step != best_kept_step(copy))
    assert others
    manifest = copy.path / "checkpoints" / str(best) / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-9])
    with pytest.raises(StoreError, match=rf"{done.id}/checkpoints/{best}/manifest\.json"):
        al.explain(done.id, "film", store=tmp_path / "runs")


def test_it_is_said_where_the_best_weights_are_gone(trained, tmp_path):
    store, done = trained
    copy = al.RunStore(shutil.copytree(store.root, tmp_path / "runs")).run(done.id)
    best = best_kept_step(copy)
    shutil.rmtree(copy.path / "checkpoints" / str(best))
    with pytest.warns(StoreWarning, match=rf"{done.id}/checkpoints/{best} is not there, though the run was best then"):
        assert best_kept_step(copy) in copy.steps()
    for step in copy.steps():
        shutil.rmtree(copy.path / "checkpoints" / str(step))
    with pytest.raises(StoreError, match=rf"{done.id}/checkpoints has no weights"):
        al.explain(done.id, "film", store=tmp_path / "runs")


@pytest.mark.parametrize("harm", ["gone", "damaged"])
def test_without_its_metrics_the_best_step_is_not_guessed(trained, tmp_path, harm):
    store, done = trained
    shutil.copytree(store.root, tmp_path / "runs")
    path = tmp_path / "runs" / done.id / "metrics.parquet"
    path.unlink() if harm == "gone" else path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match=rf"{done.id}/metrics\.parquet"):
        al.explain(done.id, "film", store=tmp_path / "runs")


def test_other_runs_cannot_be_explained(tmp_path):
    store = al.RunStore(tmp_path)
    task = CopyingSpec(distribution=PermutationsSpec(words=4))
    spec = RunSpec(task=task, model=Seq2SeqSpec(hidden=4), batch=4, init_seed=0, data_seed=0)
    done = al.train(spec, Schedule.every(1, steps=1), store)
    with pytest.raises(UsageError, match="only a classifier of labelled texts"):
        al.explain(done.id, "film", store=store)
    with pytest.raises(UsageError, match="as text"):
        al.explain(3, "film")


def test_train_and_explain_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "films.tsv"
    rows = "a lovely film\t5\nan awful film\t1\nso so\t3\n" * 8
    file.write_text("review\tstars\n" + rows + "none\t\n", encoding="utf-8")
    words = ("train", file, "--text", "review", "--label", "stars", "--map", "1=bad 5=good", "--steps", 2)
    numbers = json.loads(run(*words, "--json"))
    assert numbers["classes"] == ["bad", "good"] and numbers["majority"] == 0.5
    assert "films.tsv: 1 row without a label is left out (row 25)." in numbers["notes"]
    said = run(*words)
    assert f"Run {numbers['run']}: accuracy" in said and f'attnlab explain {numbers["run"]} "a sentence"' in said
    assert json.loads(run("explain", numbers["run"], "lovely", "--json"))["classes"] == ["bad", "good"]
    uniform = json.loads(run(*words, "--attention", "uniform", "--json"))
    assert uniform["run"] != numbers["run"] and uniform["entropy"] == pytest.approx(1)
    with pytest.raises(UsageError, match="learned or uniform"):
        run(*words, "--attention", "given")
    with pytest.raises(UsageError, match="for a file of your own"):
        run("train", "sst", "--text", "review")
    assert not settings.quiet
