"""``attnlab data`` as people run it."""

import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from attnlab.cli.main import app
from attnlab.errors import UsageError

TREES = "(3 (2 A) (3 (3 good) (2 film)))\n(0 (2 A) (0 (0 bad) (2 film)))\n(2 (2 A) (2 film))\n"


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sst").mkdir()
    for name in ("train.txt", "test.txt"):
        (tmp_path / "sst" / name).write_text(TREES * 3, encoding="utf-8")
    return tmp_path


def run(*words):
    got = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(got.exception, UsageError):
        raise got.exception
    assert got.exit_code == 0, got.output
    return got.stdout


def test_what_is_known_found_and_missing(folder):
    shown = run("data", "--data", folder)
    assert "sst (trees)" in shown
    assert shown.count("missing") == 7 + 7  # corpora, GloVe among them, and bitexts
    assert "multi30k: get the Multi30k dataset" in shown
    assert "imdb: get the Large Movie Review Dataset (Maas et al. 2011" in shown
    assert "sst: get" not in shown
    rows = {row["name"]: row for row in json.loads(run("data", "--data", folder, "--json"))["corpora"]}
    assert list(rows) == ["imdb", "ag_news", "20newsgroups", "sst", "amazon", "yelp", "sms", "glove"]
    assert rows["sst"]["files"] == 2
    assert rows["sst"]["bytes"] == 6 * len(TREES)
    assert rows["imdb"]["found"] == "" and rows["imdb"]["get"]
    bitexts = json.loads(run("data", "--data", folder, "--json"))["bitexts"]
    assert [row["name"] for row in bitexts][:2] == ["multi30k", "iwslt14"]
    assert all(row["directions"] == [] and row["get"] for row in bitexts)


def test_without_a_folder_all_is_missing(monkeypatch, folder):
    assert "No data folder is given: name one by --data or ATTNLAB_DATA." in run("data")
    monkeypatch.setenv("ATTNLAB_DATA", str(folder))
    assert "sst (trees)" in run("data")
    with pytest.raises(UsageError, match="is not there"):
        run("data", "--data", folder / "none")


def test_samples_and_statistics_beside_the_papers(folder):
    shown = run("data", "show", "sst", "--data", folder)
    rows = {cells[0]: cells[1:] for line in shown.splitlines() if (cells := re.split(r"\s{2,}", line.strip()))}
    assert rows["validation texts"] == ["6", "1,421"]
    assert rows["training texts"] == ["6", "not known"]
    assert rows["vocabulary, training"] == ["5", "11,022"]
    assert rows["positive"] == ["3", "50.0%", "3", "50.0%"]
    assert "positive: a good film" in shown and "negative: a bad film" in shown
    assert "3 training and 3 test sentences with the middle label are left out." in shown
    assert run("data", "--data", folder, "show", "sst") == shown


def test_statistics_alone(folder):
    shown = run("data", "show", "sst", "--data", folder, "--no-texts")
    assert "good" not in shown and "vocabulary" in shown
    told = json.loads(run("data", "show", "sst", "--data", folder, "--no-texts", "--json"))
    assert told.keys() == {"name", "classes", "sizes", "paper", "notes", "content"}
    assert told["sizes"]["median_length"] == 3
    assert told["paper"]["vocabulary"] == 11022
    assert len(json.loads(run("data", "show", "sst", "--data", folder, "--json", "--samples", "1"))["samples"]) == 2


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "reviews.csv"
    rows = "awful film,1\nbad film,2\nso so,3\nfine film,4\nlovely film,5\n" * 5
    path.write_text("review,stars\n" + rows, encoding="utf-8")
    words = ["data", "show", path, "--text", "review", "--label", "stars", "--map", "1,2=neg 4,5=pos"]
    shown = run(*words)
    assert "the paper" not in shown
    assert "reviews.csv: 5 rows with the label '3' are left out." in shown
    told = json.loads(run(*words, "--json"))
    assert told["classes"] == ["neg", "pos"] and told["sizes"]["train"] == 16 and told["paper"] is None
    valid = tmp_path / "valid.csv"
    valid.write_text("review,stars\nawful film,1\nfine,4\n", encoding="utf-8")
    assert json.loads(run(*words, "--valid", valid, "--longest", "2", "--json"))["sizes"]["valid"] == 2


def test_the_longest_text_is_seen_in_either_part(tmp_path):
    path = tmp_path / "a.csv"
    for long in range(10):
        texts = ["word " * 5000 if row == long else "some words" for row in range(10)]
        path.write_text("text,label\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts)), encoding="utf-8")
        shown = run("data", "show", path, "--no-texts")
        cells = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]
        rows = {row[0]: row[1] for row in cells if len(row) > 1}
        lengths = [rows[f"longest (words), {part}"] for part in ("training", "validation")]
        assert sorted(lengths) == ["2", "5,000"]
        size = json.loads(run("data", "show", path, "--json"))["sizes"]
        assert [f"{size[name]:,}" for name in ("longest", "valid_longest")] == lengths
    assert rows["median length (words), training"] == "2"


def test_hostile_texts_and_labels_do_nothing_to_the_terminal(tmp_path):
    path = tmp_path / "a[red].jsonl"
    labels = ["[bold red]\x1b]0;title\x07", "\x9b2J\u202ewrong\r\nnew line"]
    rows = [{"text": f"[link=x]\x1b[31m film {n} \x00", "label": label} for n in range(4) for label in labels]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for words in (["data", "show", path], ["data", "show", path, "--json"]):
        shown = run(*words)
        assert not [char for char in shown if not char.isprintable() and char != "\n"]
    assert "[bold red]\\x1b]0;title\\x07: " in run("data", "show", path)
    assert json.loads(run("data", "show", path, "--json"))["classes"] == sorted(labels)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "sts"], r"no corpus 'sts'; .* Did you mean 'sst'\?"),
        (["show", "sst"], "No data folder is given"),
        (["show", "none.csv"], r"There is no file none\.csv"),
        (["show", "sst", "--map", "1=a 2=b"], "--map is for a file of your own"),
        (["show", "sst", "--vocabulary", "glove"], "no vocabulary rule 'glove'"),
        (["show", "none.csv", "--hub"], "--hub is for a corpus known by name"),
        (["show", "."], "is a folder; a file is needed"),
        (["show", "n" * 300], "There is no corpus 'nnn"),
        (["show", "n" * 300 + ".csv"], r"n\.csv cannot be read: File name too long"),
        (["show", "sst", "--data", "n" * 300], "The data folder n+ is not there"),
    ],
    ids=["unknown", "no-folder", "no-file", "map", "rule", "hub", "folder", "long", "long-file", "long-folder"],
)
def test_mistakes(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=told):
        run("data", *words)


def test_help_and_list_do_not_wait_for_torch(folder):
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from attnlab.cli.main import app\n"
        "for words in (['data', '--help'], ['data', 'show', '--help'], ['data', '--data', sys.argv[1]]):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0, words\n"
        "assert 'torch' not in sys.modules\n"
    )
    got = subprocess.run(
        [sys.executable, "-c", script, str(folder)], env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert got.returncode == 0, got.stderr
