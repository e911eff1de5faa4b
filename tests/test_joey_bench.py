"""The bench beside JoeyNMT, with a stand-in that says what JoeyNMT would; `make bench-joey` runs the real one."""

import json
import sys
from pathlib import Path

import pytest

from attnlab.data.bitext import load_bitext_files

STAND_IN = """
import json, pathlib, sys, time
mode, path, skip = sys.argv[1:]
assert (mode, skip) == ("train", "--skip-test")
settings = json.loads(pathlib.Path(path).read_text())
model = pathlib.Path(settings["model_dir"])
model.mkdir()
busy = time.process_time()
while time.process_time() - busy < 0.5: pass  # reading the corpus
print("EPOCH 1", flush=True)
time.sleep(1)  # no processor time: whoever watches has read the line by then
lines = ""
for step, bleu in ((1000, 12.5), (2000, 30.25), (3000, 31)):
    busy = time.process_time()
    if step == 3000: time.sleep(600)  # nobody waits for it
    while time.process_time() - busy < 1: pass
    lines += f"Steps: {step}\\tloss: 6.19085\\tacc: 0.08869\\tppl: 488.26031\\tbleu: {bleu:.5f}\\tLR: 0.00100000\\t*\\n"
    (model / "validations.txt").write_text(lines)
"""


@pytest.fixture
def joey(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import joey

    return joey


@pytest.fixture
def bitext(tmp_path):
    english = [f"a man number {k} sees the {'red' if k % 2 else 'green'} house ." for k in range(60)]
    german = [f"ein Mann Nummer {k} sieht das {'rote' if k % 2 else 'grüne'} Haus ." for k in range(60)]
    for name, lines in (("en", english), ("de", german)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return load_bitext_files(tmp_path / "en", tmp_path / "de", pieces=60)


def test_joeynmt_gets_the_pairs_and_pieces_of_ours(joey, bitext, tmp_path):
    settings = json.loads(joey.write_settings(bitext, tmp_path).read_text())
    for name, split in (("train", bitext.train), ("dev", bitext.validation)):
        for language, side in (("en", split.source), ("de", split.target)):
            place = Path(f"{settings['data'][name]}.{language}")
            assert place.read_text(encoding="utf-8").splitlines() == side.texts()
    pieces = Path(settings["data"]["src"]["voc_file"]).read_text(encoding="utf-8").splitlines()
    assert ["<pad>", "<unk>", "<s>", "</s>", *pieces] == list(bitext.pieces.names)
    assert settings["data"]["trg"]["voc_file"] == settings["data"]["src"]["voc_file"]
    assert (settings["training"]["batch_size"], settings["training"]["validation_freq"]) == (16, 1000)


def test_training_ends_at_the_first_validation_that_reaches_the_goal(joey, bitext, tmp_path, monkeypatch):
    package = tmp_path / "joeynmt"
    package.mkdir()
    (package / "__main__.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    seconds, step, reached = joey.joeys(bitext, Path(sys.executable))
    assert (step, reached) == (2000, 30.25)
    assert 1.9 < seconds < 2.3  # processor time of two seconds' training; the half second before them does not count


def test_a_joeynmt_that_fails_is_reported_with_its_last_words(joey, bitext, tmp_path, monkeypatch):
    package = tmp_path / "joeynmt"
    package.mkdir()
    (package / "__main__.py").write_text("raise SystemExit('no such optimiser')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"(?s)JoeyNMT ended before BLEU 30.*no such optimiser"):
        joey.joeys(bitext, Path(sys.executable))


def test_ours_stops_at_the_goal(joey, bitext, monkeypatch, capsys):
    monkeypatch.setattr(joey, "EVERY", 2)
    monkeypatch.setattr(joey, "GOAL", 0.0)
    seconds, step, reached = joey.ours(bitext)
    assert step == 2
    assert reached >= 0
    assert seconds > 0
    assert "ours: 2 updates" in capsys.readouterr().out
