"""``attnlab forecast`` as people run it."""

import gzip
import importlib
import json
import os
import subprocess
import sys
import time
from itertools import permutations

import pytest
from typer.testing import CliRunner

import attnlab
from attnlab.cli.main import app
from attnlab.errors import UsageError


def run(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "attnlab", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def corpus(tmp_path):
    names = [f"Name{k}" for k in range(6)]
    source = ["das Haus", "ein Haus", "das Buch", "ein Buch", "", "das Kind", "ein Kind"]
    target = ["the house", "a house", "the book", "a book", "", "the child", "a child"]
    source, target = ([f"{line} {name}" if line else "" for name in names for line in s] for s in (source, target))
    (tmp_path / "a.de").write_text("\n".join(source) + "\n", encoding="utf-8")
    with gzip.open(tmp_path / "a.en.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(target) + "\n")
    return tmp_path


def test_a_parallel_corpus_with_page_and_json(corpus):
    got = run("forecast", "--source", "a.de", "--target", "a.en.gz", "--out", "told", "--json", cwd=corpus)
    assert got.returncode == 0, got.stderr
    told = json.loads(got.stdout)
    assert told["verdict"] == "likely to be learned"
    assert told["sentences"] == 36
    assert {(word["word"], word["partner"]) for word in told["strongest"]} >= {("house", "Haus"), ("book", "Buch")}
    assert {path.name for path in (corpus / "told").iterdir()} == {"forecast.html", "forecast.json"}


def test_labelled_texts_are_told_in_words(tmp_path):
    films = [[f"a lovely film {k},good", f"an awful film {k},bad", ",bad"] for k in range(12)]
    rows = ["text,label", *(row for film in films for row in film)]
    (tmp_path / "a.csv").write_text("\n".join(rows), encoding="utf-8")
    got = run("forecast", "a.csv", cwd=tmp_path)
    assert got.returncode == 0, got.stderr
    assert "which word of a text its label comes from" in " ".join(got.stdout.split())
    assert "lovely" in got.stdout and "The hopeless words" in got.stdout
    assert " ".join(got.stderr.split()) == (
        "a.csv: 12 rows without words or label are left out (rows 3, 6, 9, 12, 15, ...). "
        "Rows are counted without the header: row 1 is the first below it."
    )
    quiet = run("forecast", "a.csv", "--quiet", cwd=tmp_path)
    assert quiet.stdout.count("\n") == 1


def test_a_label_with_one_text_is_told(tmp_path, monkeypatch):
    rows = [row for k in range(12) for row in (f"a lovely film {k},good", f"an awful film {k},bad", "")]
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *rows, "odd,[red]rare", "...,good"]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    got = CliRunner().invoke(app, ["forecast", "a.csv", "--json", "--out", "told"])
    told = json.loads(got.stdout)
    assert told["notes"] == [
        "a.csv: 13 rows without words or label are left out (rows 3, 6, 9, 12, 15, ...).",
        "a.csv: 1 label ('[red]rare' in row 37) has one text only, so nothing is said about it.",
        "Rows are counted without the header: row 1 is the first below it.",
    ]
    assert " ".join(told["notes"]) == " ".join(got.stderr.split())
    assert json.loads((tmp_path / "told" / "forecast.json").read_text(encoding="utf-8"))["notes"] == told["notes"]
    lines = [{"text": f"film {n}", "label": n // 2 if n < 10 else n} for n in range(17)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert json.loads(CliRunner().invoke(app, ["forecast", "a.jsonl", "--json"]).stdout)["notes"] == [
        "a.jsonl: 7 labels ('10' in row 11, '11' in row 12, '12' in row 13, '13' in row 14, '14' in row 15, ...) have "
        "one text only, so nothing is said about them."
    ]


def test_people_who_wait_see_what_is_done(tmp_path, monkeypatch):
    rows = [f"a lovely film {k},good\nan awful film {k},bad\n" for k in range(12)]
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes the other end for a terminal
    command, read = importlib.import_module("attnlab.cli.forecast"), importlib.import_module("attnlab.data.texts")
    slow = read.read_texts

    def slowly(*words, **options):
        time.sleep(0.4)
        return slow(*words, **options)

    monkeypatch.setattr(read, "read_texts", slowly)
    assert "reading a.csv" not in CliRunner().invoke(app, ["forecast", "a.csv"]).stderr
    monkeypatch.setattr(command, "PATIENCE", 0.05)
    assert "reading a.csv ..." in CliRunner().invoke(app, ["forecast", "a.csv"]).stderr
    assert "reading a.csv" not in CliRunner().invoke(app, ["forecast", "a.csv", "--quiet"]).stderr


def test_repeated_rows_are_counted_aloud(tmp_path):
    rows = [f"a lovely film {k},good\nan awful film {k},bad\n" for k in range(12)]
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(rows) * 3)
    got = run("forecast", "a.csv", cwd=tmp_path)
    assert got.returncode == 0, got.stderr
    assert "48 of 72 sentences repeat another one." in " ".join(got.stderr.split())
    assert "Each label" in got.stdout and "mutual information" not in got.stdout


def test_a_label_in_a_reason_is_no_markup(tmp_path, monkeypatch):
    rows = [f"a lovely film {k},[/red]\nan awful film {k},bad\n" for k in range(12)]
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(rows) + "odd,[/b]\nvery odd,[/b]\n")
    monkeypatch.chdir(tmp_path)
    got = CliRunner().invoke(app, ["forecast", "a.csv"])
    assert got.exception is None
    assert "different texts): '[/b]'." in " ".join(got.stdout.split())


def test_permutations_are_hopeless(tmp_path, monkeypatch):
    lines = [" ".join(order) for order in permutations("abcd")]
    (tmp_path / "a").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    told = json.loads(CliRunner().invoke(app, ["forecast", "--source", "a", "--target", "a", "--json"]).stdout)
    assert (told["gain"], told["verdict"]) == (0, "no reason to be learned")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "Name either a FILE"),
        (["a.csv", "--source", "a", "--target", "a"], "Name either a FILE"),
        (["--source", "a"], "Name either a FILE"),
        (["a.csv", "--text", "txt"], "no column 'txt'; its columns are 'text', 'label'. Did you mean 'text'?"),
        (["a.csv"], "a.csv: all texts with a word have the label 'x' in the column 'label'; a forecast needs two."),
        (
            ["b.csv", "--text", "t", "--label", "l"],
            "b.csv: all texts with a word have the label 'x' in the column 'l';",
        ),
        (["--source", "a", "--target", "b"], "a has 2 lines and b has 1"),
        (["--source", "a", "--target", "a"], "at least 12 sentences"),
        (["n" * 300 + ".csv"], ".csv cannot be read: File name too long"),
        (["n" * 300 + ".parquet"], ".parquet cannot be read: File name too long"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, monkeypatch, words, named):
    (tmp_path / "a.csv").write_text("text,label\n" + "one two,x\n" * 20, encoding="utf-8")
    (tmp_path / "b.csv").write_text("t,l\n" + "one two,x\n" * 20 + "...,y\n", encoding="utf-8")
    (tmp_path / "a").write_text("one two\nthree four\n", encoding="utf-8")
    (tmp_path / "b").write_text("one two\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    error = CliRunner().invoke(app, ["forecast", *words]).exception
    assert isinstance(error, UsageError), error
    assert named in str(error)
    assert "\n" not in str(error)


def test_a_mistake_ends_with_code_2_and_no_traceback(tmp_path):
    got = run("forecast", "nothing.csv", cwd=tmp_path)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr == "error: There is no file nothing.csv.\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["forecast", "a.csv", "--out", "a.csv"], "a.csv is a file, and a folder is needed there"),
        (["forecast", "forecast.json", "--out", "."], "forecast.json cannot be written: it is read, too"),
        (["forecast", "a.csv", "--out", "n" * 300], "File name too long"),
        (["demo", "--out", "taken"], "taken cannot be written: it is a folder"),
        (["demo", "--out", "a.csv/page.html"], "a.csv is a file, and a folder is needed there"),
        (["demo", "--out", "pages", "--store", "pages"], "pages cannot be written: it is read, too"),
        (["run", "copying", "--out", "a.csv"], "a.csv is a file, and a folder is needed there"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch, words, why):
    for name in ("a.csv", "forecast.json"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "taken").mkdir()
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, UsageError), error
    assert why in str(error) and "\n" not in str(error)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_saved_forecast_does_not_replace_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    words = [[str(w) for w in order] for order in permutations(range(4))]
    with pytest.raises(UsageError, match=r"pipe\.json cannot be written: it is a device or a pipe"):
        attnlab.forecast(attnlab.SentencePairs.from_tokens(words, words)).save(tmp_path / "pipe.json")
    assert [path.is_fifo() for path in tmp_path.iterdir()] == [True]


@pytest.mark.skipif(sys.platform == "darwin", reason="bring it back on a system whose files may have any name")
def test_a_name_that_is_no_utf_8_is_read_and_written(tmp_path):
    name, out = os.fsdecode(b"\xff.csv"), os.fsdecode(b"\xfe")
    rows = "".join(f"good film {n},1\nbad film {n},0\n" for n in range(12))
    (tmp_path / name).write_text(f"text,label\n{rows},1\n", encoding="utf-8")
    words = [sys.executable, "-m", "attnlab", "forecast", name, "--quiet"]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    got = subprocess.run([*words, "--out", out], cwd=tmp_path, env=env, capture_output=True)
    assert (got.returncode, got.stderr) == (0, b"")
    assert got.stdout.splitlines()[-1] == b"\xfe/forecast.json"
    written = json.loads((tmp_path / out / "forecast.json").read_text(encoding="utf-8"))
    assert written["data"] == name and written["notes"][0].startswith(name)
    assert r"Forecast for \udcff.csv" in (tmp_path / out / "forecast.html").read_text(encoding="utf-8")
    assert json.loads(subprocess.check_output([*words, "--json"], cwd=tmp_path, env=env)) == written


def test_the_python_name_is_there():
    words = [[str(w) for w in order] for order in permutations(range(4))]
    assert attnlab.forecast(attnlab.SentencePairs.from_tokens(words, words)).gain == 0


@pytest.mark.needs_data("multi30k")
def test_multi30k_is_likely_to_be_learned(data_root):
    from attnlab.data.sentence_pairs import read_pairs

    folder = data_root / "multi30k"
    told = attnlab.forecast(read_pairs(folder / "val.de.gz", folder / "val.en.gz"))
    assert told.verdict == "likely to be learned"
    assert told.derivative_gain < told.gain < told.mutual_information


def test_too_few_sentences_are_said_of_their_file(tmp_path):
    for name in ("few.de", "few.en"):
        (tmp_path / name).write_text("ein Wort\n", encoding="utf-8")
    done = run("forecast", "--source", "few.de", "--target", "few.en", cwd=tmp_path)
    assert done.returncode == 2
    assert "error: few.de: A forecast needs at least" in done.stderr
