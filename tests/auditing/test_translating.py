"""Translating by a trained run: the words are those of its search, the picture is the network's own attention."""

import io
import json
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tests.runs.forged import WAYS, forge
from typer.testing import CliRunner

import attnlab as al
from attnlab.auditing.training_pairs import bitext_task, pairs_schedule, translator_spec, validation_bleu
from attnlab.auditing.translating import load_translator
from attnlab.cli.main import app
from attnlab.data.bitext import LONGEST
from attnlab.data.pieces import BEGIN, END
from attnlab.errors import StoreError, UsageError
from attnlab.models.decoding import beam_search
from attnlab.specs import CopyingSpec, PermutationsSpec, RunSpec, Schedule, Seq2SeqSpec

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]
PLACES = [(a, b, c) for a in range(8) for b in range(8) for c in range(4)]
SIDES = [[" ".join(words[k] for k in place) + "." for place in PLACES] for words in (NUMBERS, ZAHLEN)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small translator of number words that has nearly learned them."""
    folder = tmp_path_factory.mktemp("translated")
    for name, lines in zip(("a.en", "a.de"), SIDES, strict=True):
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    task, _ = bitext_task(str(folder / "a.en"), folder / "a.de", known=False, pieces=60)
    spec = translator_spec(task)
    model = spec.model.model_copy(update={"hidden": 32, "layers": 1, "dropout": 0.0})
    fast = spec.optimiser.model_copy(update={"learning_rate": 0.01})
    spec = spec.model_copy(update={"model": model, "evaluation_batch": 20, "optimiser": fast})
    store = al.RunStore(folder / "runs")
    done = al.train(spec, Schedule.every(100, steps=300, keep=True), store)
    return SimpleNamespace(store=store, id=done.id, folder=folder, rows=done.rows, spec=spec)


def run(*words, standard_input=""):
    given = standard_input if isinstance(standard_input, bytes) else standard_input.encode()
    got = CliRunner().invoke(app, ["translate", *map(str, words)], input=given)
    if isinstance(got.exception, UsageError):
        raise got.exception
    assert got.exit_code == 0, got.output
    return got


def test_it_has_learned_its_words(trained):
    made = al.translate(trained.id[:6], ["one two three.", "eight one four."], store=trained.store)
    assert [one.text for one in made] == ["eins zwei drei.", "acht eins vier."]
    assert validation_bleu(trained.store.run(trained.id)).score > 80


def test_words_and_attention_are_the_networks_own(trained):
    translator = load_translator(trained.store.run(trained.id))
    pieces, model = translator.bitext.pieces, translator.model
    for beam in (1, 5):
        for sentence, made in zip(SIDES[0][:3], translator.translate(SIDES[0][:3], beam=beam), strict=True):
            source = torch.tensor([[BEGIN, *pieces.encode([sentence]).values.tolist(), END]])
            (output,) = beam_search(model, source, torch.tensor([source.shape[1]]), beam=beam)
            assert made.text == pieces.decode(output)
            assert made.target == tuple(pieces.names[one] for one in [*output, END])
            assert made.source == tuple(pieces.names[one] for one in source[0].tolist())
            # P3 A.8, without the network's own forward.
            with torch.no_grad():
                h = model.encode(source)
                d = model.decoder(torch.tensor([[BEGIN, *output]]), embedding=model.embedding, initial=h.start).states
                alpha = (model.query(d)[0] @ h.states[0].T).softmax(-1)
            np.testing.assert_allclose(made.alpha, alpha, atol=1e-6)


def test_the_weights_of_a_step(trained):
    run = trained.store.run(trained.id)
    assert [load_translator(run, step).step for step in (0, 100)] == [0, 100]
    assert load_translator(run).step == max(trained.rows, key=lambda row: row["accuracy"])["step"]
    before = al.translate(trained.id, ["one two three."], store=trained.store, step=0)[0].text
    assert before != "eins zwei drei."
    with pytest.raises(UsageError, match=r"has no weights of step 7 \(--step\); they are kept of 0, 100, 200, 300"):
        load_translator(run, 7)


@pytest.mark.parametrize("how", WAYS)
def test_weights_that_do_not_fit_are_refused_by_name(trained, tmp_path, how):
    copy = al.RunStore(shutil.copytree(trained.store.root, tmp_path / "runs"))
    forge(copy.run(trained.id), 300, how)
    with pytest.raises(StoreError, match=rf"{trained.id}/checkpoints/300/tensors\.safetensors does not fit"):
        al.translate(trained.id, ["one"], store=copy, step=300)


def test_lines_keep_their_places(trained):
    lines = "one two three.\n\n  eight\tone\x1b four.  \r\n"
    got = run(trained.id, "--store", trained.folder / "runs", standard_input=lines)
    assert got.stdout == "eins zwei drei.\n\nacht eins vier.\n"
    file = trained.folder / "in.txt"
    file.write_text(lines, encoding="utf-8")
    assert run(trained.id, file, "--store", trained.folder / "runs", "--beam", 1).stdout == got.stdout


def test_the_order_of_lines_does_not_matter(trained):
    sentences = SIDES[0][::7]
    texts = [made.text for made in al.translate(trained.id, sentences, store=trained.store)]
    back = [made.text for made in al.translate(trained.id, sentences[::-1], store=trained.store)]
    assert texts == back[::-1]


def test_pictures(trained):
    svg = trained.folder / "picture.svg"
    words = [trained.id, "--store", trained.folder / "runs", "--attention", "--svg", svg]
    got = run(*words, standard_input="one one two.\nfour two one.\n\n")
    assert got.stdout == "eins eins zwei.\nvier zwei eins.\n\n"
    assert "█" in got.stderr or "▓" in got.stderr
    assert re.search(r"zwei [ ░▒▓█]{6}  two [01]\.\d\d\n", got.stderr)
    assert got.stderr.count("</s>") == 2 * 2  # a legend and a line for each sentence; of nothing there is no picture
    drawn = svg.read_text(encoding="utf-8")
    assert drawn.startswith("<svg") and drawn.count(">one<") == 2 and drawn.count(">eins<") == 2
    assert (trained.folder / "picture-2.svg").exists()
    assert not (trained.folder / "picture-3.svg").exists()


def test_json(trained):
    words = [trained.id, "--store", trained.folder / "runs", "--json"]
    document = json.loads(run(*words, "--attention", standard_input="one two three.\n").stdout)
    assert document["run"] == trained.id
    (made,) = document["translations"]
    assert (made["sentence"], made["translation"]) == ("one two three.", "eins zwei drei.")
    assert np.array(made["attention"]).shape == (len(made["target"]), len(made["source"]))
    assert "attention" not in json.loads(run(*words, standard_input="one\n").stdout)["translations"][0]


def test_what_is_cut_or_unknown_is_said(trained):
    got = run(trained.id, "--store", trained.folder / "runs", "--beam", 1, standard_input="one Ж\n" + "two " * 5000)
    assert "Line 1: 1 of its pieces is unknown to the network." in got.stderr
    assert re.search(rf"Line 2: it has 5000 pieces and is cut to {LONGEST}\.", got.stderr)
    assert len(got.stdout.splitlines()) == 2
    assert "There was no line to translate." in run(trained.id, "--store", trained.folder / "runs").stderr


def test_mistakes(trained):
    store = trained.folder / "runs"
    task = CopyingSpec(distribution=PermutationsSpec(words=4))
    other = RunSpec(task=task, model=Seq2SeqSpec(hidden=4), batch=2, init_seed=0, data_seed=0)
    copying = al.train(other, Schedule.every(1, steps=1), trained.store).id
    cases = [
        ([copying], "", "is a seq2seq on the task copying; only a translator of sentence pairs translates"),
        (["nothere"], "", "nothere"),
        ([trained.id, "--step", "7"], "", "has no weights of step 7"),
        ([trained.id, "--svg", "a.png"], "", "the picture is written as .svg"),
        ([trained.id, "none.txt"], "", "There is no file none.txt"),
        ([trained.id], b"one\ncaf\xe9\n", "Line 2 of standard input is not UTF-8"),
    ]
    for words, given, sentence in cases:
        with pytest.raises(UsageError, match=re.escape(sentence)):
            run(*words, "--store", store, standard_input=given)
    with pytest.raises(UsageError, match="Sentences come as a list of texts"):
        al.translate(trained.id, "one two", store=store)


def test_training_from_the_command_line(trained, monkeypatch):
    """The same command on files of one's own: says how well it translates, keeps the run, and names the next step."""
    from attnlab.auditing import training_pairs

    small = {"hidden": 8, "layers": 1}
    made = translator_spec(trained.spec.task)
    tiny = made.model_copy(update={"model": made.model.model_copy(update=small), "evaluation_batch": 5})
    monkeypatch.setattr(training_pairs, "translator_spec", lambda task, **_: tiny.model_copy(update={"task": task}))
    files = [str(trained.folder / name) for name in ("a.en", "a.de")]
    words = ["train", *files, "--pieces", "60", "--steps", "30", "--store", str(trained.folder / "other")]
    got = CliRunner().invoke(app, words)
    assert got.exit_code == 0, got.output
    assert re.search(r"Run [0-9a-f]+: \d+\.\d% of .* right after \d+ updates, BLEU .*nrefs:1", got.stdout)
    assert "attnlab translate" in got.stdout
    again = CliRunner().invoke(app, [*words, "--json"])
    document = json.loads(again.stdout)
    assert document["content"] == trained.spec.task.content and document["signature"]
    refused = CliRunner().invoke(app, ["train", *files, "--label", "x"])
    assert "--label is for labelled texts" in str(refused.exception)


def test_pairs_are_measured_once_a_pass():
    assert pairs_schedule(pairs=800, steps=200, patience=2).evaluations == (0, 50, 100, 150, 200)
    assert pairs_schedule(pairs=10, steps=100, patience=2).evaluations == (0, 25, 50, 75, 100)
    assert pairs_schedule(pairs=29_000, steps=1000, patience=2).evaluations == (0, 500, 1000)
    assert pairs_schedule(pairs=800, steps=200, patience=2).keep == "best"


def test_standard_input_is_read_as_bytes(trained, monkeypatch):
    """Not by the terminal's encoding: translations of UTF-8 text are the same under every locale."""
    stdin = io.TextIOWrapper(io.BytesIO("fünf one\n".encode()), encoding="latin-1")
    stdin.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", stdin)
    from attnlab.cli.translate import _lines

    assert list(_lines(None)) == ["fünf one"]
