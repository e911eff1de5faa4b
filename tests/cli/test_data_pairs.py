"""``attnlab data`` for parallel corpora, as people run it."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from attnlab.cli.main import app
from attnlab.data.bitext import load_bitext, load_bitext_files
from attnlab.data.bitext_sizes import bitext_sizes, count_sentence
from attnlab.errors import UsageError

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
SIDES = [[f"{a} {b} {c}." for a in words for b in words[:4] for c in words[:3]] for words in (NUMBERS, ZAHLEN)]


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def folder(tmp_path):
    """A data folder with a small Multi30k of English and German, and its training files as a user's own."""
    (tmp_path / "multi30k").mkdir()
    for language, lines in zip(("en", "de"), SIDES, strict=True):
        for split, part in (("train", lines), ("val", lines[:7]), ("test_2016_flickr", lines[:5])):
            (tmp_path / "multi30k" / f"{split}.{language}").write_text("\n".join(part) + "\n", encoding="utf-8")
    return tmp_path


def run(*words):
    got = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(got.exception, UsageError):
        raise got.exception
    assert got.exit_code == 0, got.output
    return got.stdout


def test_directions_that_are_there_are_listed(folder):
    assert "multi30k (en-de)" in run("data", "--data", folder)
    rows = {row["name"]: row for row in json.loads(run("data", "--data", folder, "--json"))["bitexts"]}
    assert rows["multi30k"]["directions"] == ["multi30k/en-de", "multi30k/de-en"]
    assert (rows["multi30k"]["files"], rows["multi30k"]["found"]) == (6, "multi30k")


def test_lengths_of_both_sides(folder):
    """Table 8's figures are those of the arrays; both directions are counted against the paper's 16,180 pieces."""
    words = ["data", "show", "multi30k/en-de", "--data", folder, "--pieces", 35]
    document = json.loads(run(*words, "--json", "--samples", 1))
    assert (document["languages"], document["pieces"]) == (["en", "de"], 35)
    assert {name: size["pairs"] for name, size in document["sizes"].items()} == {
        "train": 120,
        "validation": 7,
        "test": 5,
    }
    side = document["sizes"]["train"]["source"]
    lengths = load_bitext("multi30k/en-de", root=folder, pieces=35).train.source.lengths
    assert side["mean"] == pytest.approx(sum(lengths) / 120)
    assert (side["median"], side["longest"]) == (np.median(lengths), max(lengths))
    assert side["scored"] == sum(lengths) + 120
    assert len(document["samples"]) == 1
    shown = run(*words)
    lines = shown.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("train "))
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[first : first + 2]]
    assert rows[0][:3] == ["train", "120", "en"] and rows[1][:1] == ["de"]
    assert rows[0][3:6] == [f"{side['mean']:.1f}", f"{side['median']:g}", str(side["longest"])]
    assert rows[0][6] == f"{side['scored']:,}"
    assert "The paper scored 16,180 validation target pieces" in shown and "neither fits" in shown
    assert "7 of the 7 validation pairs are training pairs, too." in shown
    assert "▁" in shown and "▁" not in run(*words, "--no-texts")


def test_the_count_fits_one_direction(folder):
    files = folder / "multi30k/train.en", folder / "multi30k/train.de"
    bitext = load_bitext_files(*files, languages=("en", "de"), pieces=35)
    sizes = bitext_sizes(bitext)["validation"]
    lengths = np.diff(bitext.validation.target.offsets)
    assert sizes.target.scored == lengths.sum() + 12
    assert (sizes.target.median, sizes.target.longest) == (np.median(lengths), lengths.max())
    assert count_sentence(bitext, sizes.target.scored + 1).endswith("de fits.")
    assert count_sentence(bitext, sizes.source.scored).endswith("en fits.")


def test_files_of_ones_own(folder):
    files = folder / "multi30k/train.en", folder / "multi30k/train.de"
    document = json.loads(run("data", "show", *files, "--json", "--no-texts"))
    assert document["sizes"]["train"]["pairs"] == 108 and "samples" not in document
    assert "not 8000" in document["notes"][0]
    one = folder / "pairs.tsv"
    one.write_text("".join(f"{a}\t{b}\n" for a, b in zip(*SIDES, strict=True)), encoding="utf-8")
    assert json.loads(run("data", "show", one, "--pairs", "--json"))["content"] == document["content"]
    one.write_text("n\tde\ten\n" + "".join(f"1\t{b}\t{a}\n" for a, b in zip(*SIDES, strict=True)), encoding="utf-8")
    named = json.loads(run("data", "show", one, "--columns", "en,de", "--json"))
    assert named["content"] == document["content"]
    assert json.loads(run("data", "show", *files, "--longest", 2, "--json"))["sizes"]["train"]["source"]["longest"] == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["multi30k"], "'multi30k' is a corpus of several directions"),
        (["multi31k/en-de"], "There is no bitext 'multi31k/en-de'; .* Did you mean 'multi30k'"),
        (["multi30k/en-xx"], "multi30k has no languages 'en-xx'"),
        (["multi30k/en-de"], "No data folder is given"),
        (["multi30k/en-de", "--text", "x"], "--text is for labelled texts; multi30k/en-de has sentence pairs"),
        (["multi30k/en-de", "--hub"], "--hub is for labelled texts"),
        (["none.en", "none.de"], r"There is no file none\.en"),
        (["none.tsv", "--columns", "en"], "--columns names the source column and the target column"),
    ],
)
def test_mistakes(words, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=sentence):
        run("data", "show", *words)
