"""An audit from file to page: what is planted is found, nothing hostile runs, the same data gives the same bytes."""

import csv
import io
import json
import re

import numpy as np
import pytest
import torch
from tests.lab.in_this_process import InThisProcess
from typer.testing import CliRunner

import attnlab as al
from attnlab.auditing import budget as budgets
from attnlab.auditing.audit import audit, own_task
from attnlab.auditing.budget import Budget
from attnlab.auditing.findings import find_in_data
from attnlab.auditing.numbers import concentration
from attnlab.auditing.result import neutral, to_csv
from attnlab.cli.main import app
from attnlab.data.batch import Bags
from attnlab.errors import UsageError
from attnlab.fields import ScoreField
from attnlab.models.classifier import Classifier

TINY = Budget("small", 8, 12, 40, 60, (0.1,), 20, 50)
FILLER = ["the", "a", "of", "film", "plot", "was", "with", "and", "so", "it"]


@pytest.fixture(autouse=True)
def _tiny(tmp_path, monkeypatch):
    monkeypatch.setitem(budgets.BUDGETS, "small", TINY)
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))


def write(path, count=240, seed=0, planted=True, labels=("bad", "good"), header=("text", "label"), more=()):
    """Texts of filler words; a planted word says the label."""
    rng = np.random.default_rng(seed)
    stream = io.StringIO(newline="")
    rows = csv.writer(stream)
    rows.writerow(header)
    for k in range(count):
        words = list(rng.choice(FILLER, rng.integers(5, 9)))
        if planted:
            words.insert(int(rng.integers(len(words))), ("awful", "lovely")[k % 2])
        rows.writerow([" ".join(words), labels[k % 2]])
    rows.writerows(more)
    path.write_text(stream.getvalue(), encoding="utf-8")
    return path


def run(texts, tmp_path, **settings):
    settings = {"store": tmp_path / "runs", "out": tmp_path / "out", "engine": InThisProcess(), **settings}
    return audit(texts, **settings)


def test_what_is_planted_is_found(tmp_path):
    texts = al.read_texts(write(tmp_path / "films.csv"))
    found = find_in_data(texts, own_task(texts, TINY)[1])
    assert found.word.decides and found.word.word in ("awful", "lovely") and found.word.accuracy == 1
    assert "One word alone decides the label" in " ".join(found.sentences) and len(found.deciding) == 1
    assert found.too_little == "" and found.majority == 0.5
    plain = al.read_texts(write(tmp_path / "plain.csv", planted=False))
    assert not find_in_data(plain, own_task(plain, TINY)[1]).word.decides


def test_duplicates_contradictions_leaks_and_characters(tmp_path):
    twice = (
        [["the film, the plot!! \U0001f600", "good"]] * 30 + [["The film the plot", "bad"]] * 2 + [["so it was", ""]]
    )
    texts = al.read_texts(write(tmp_path / "films.csv", more=twice))
    found = find_in_data(texts, own_task(texts, TINY)[1])
    repeated = len(texts) - len({tuple(re.findall(r"\w+", text.lower())) for text in texts.texts})
    assert found.duplicates == repeated >= 7
    assert found.contradictory >= 2
    assert found.leaked >= 1
    assert found.discarded > 0 and "!" in found.commonest
    assert any("without a label" in note for note in found.notes)


@pytest.mark.parametrize(("count", "labels"), [(60, ("bad", "good")), (240, ("bad", "good"))])
def test_too_little_data_is_said_and_the_numbers_are_given(tmp_path, count, labels):
    more = [["a film of its own", "fair"]] * 6 if count > 200 else []
    made = run(al.read_texts(write(tmp_path / "films.csv", count, labels=labels, more=more)), tmp_path, seeds=1)
    assert made.card.headline.startswith("Too little data for a verdict.")
    assert {answer.grade for answer in made.card.answers} == {"unknown"}
    assert made.numbers.accuracy.value is not None


def test_the_same_file_gives_the_same_bytes_and_nothing_is_done_twice(tmp_path):
    texts = al.read_texts(write(tmp_path / "films.csv"))
    first = run(texts, tmp_path, seeds=2)
    written = {path.name: path.read_bytes() for path in first.write(tmp_path / "out")}
    fields = {path.name: path.read_bytes() for path in (tmp_path / "out" / "fields").iterdir()}
    assert len(fields) == 3  # two seeds and a twin
    said = []
    again = run(texts, tmp_path, seeds=2, say=said.append)
    assert said == ["reading the texts"]  # no network is read again
    fresh = run(texts, tmp_path, seeds=2, store=tmp_path / "other runs", out=tmp_path / "other")
    for other, folder in ((again, tmp_path / "again"), (fresh, tmp_path / "other")):
        for path in other.write(folder):
            stamp = re.compile(rb"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC")
            assert stamp.sub(b"", path.read_bytes()) == stamp.sub(b"", written[path.name]), path.name
    assert {path.name: path.read_bytes() for path in (tmp_path / "other" / "fields").iterdir()} == fields


def test_a_damaged_file_of_fields_is_read_again(tmp_path):
    texts = al.read_texts(write(tmp_path / "films.csv"))
    first = run(texts, tmp_path, seeds=1)
    for path in (tmp_path / "out" / "fields").iterdir():
        path.write_bytes(path.read_bytes()[:-40] + b"x" * 40)
    assert run(texts, tmp_path, seeds=1).numbers == first.numbers


HOSTILE = [
    "<script>alert(1)</script>",
    '"quoted" --> \'; DROP',
    "\u202egnorw",
    "\U0001f600\U0001f600",
    "=HYPERLINK(1)",
    "w" * 10_000,
]


def test_nothing_in_a_text_a_label_or_a_column_runs(tmp_path):
    labels, header = ("<img src=x onerror=alert(1)>", "=cmd|' /C calc'!A0"), ("<b>te</b>xt", "la<i>bel\u202e")
    more = [[f"{one} lovely film and plot", labels[1]] for one in HOSTILE * 3]
    path = write(tmp_path / "<script>films.csv", labels=labels, header=header, more=more)
    made = run(al.read_texts(path, text=header[0], label=header[1]), tmp_path, seeds=2)
    files = {
        path.name: path.read_text(encoding="utf-8")
        for path in made.write(tmp_path / "out")
        if path.suffix != ".parquet"
    }
    page = files["audit.html"]
    assert page.count("<script") == page.count("</script>")
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    for forbidden in ("<script", "<img", "<b>", "<i>", "onerror=alert(1)>", "w" * 60):
        assert forbidden not in body
    assert "Content-Security-Policy" in page
    for row in csv.reader(io.StringIO(files["card.csv"])):
        assert not any(cell.startswith(("=", "@", "+")) for cell in row)
    json.loads(files["audit.json"])


def test_csv_cells_are_no_formulas():
    assert [neutral(value) for value in ("=1", " +1", "-x", "@a", "\t=1", "a=1", -0.5, None)] == [
        "'=1",
        "' +1",
        "'-x",
        "'@a",
        "'\t=1",
        "a=1",
        -0.5,
        None,
    ]
    assert to_csv([{"a": "=1", "b": None}]) == b"a,b\r\n'=1,\r\n"


def test_concentration_is_0_for_uniform_and_1_for_one_word():
    field = ScoreField.from_rows([[0.25] * 4, [1, 0, 0], [1.0], [0.5, 0.5, 0, 0]])
    np.testing.assert_allclose(concentration(field), [0, 1, np.nan, 0.5], atol=1e-12)


def test_a_model_of_ones_own(tmp_path):
    rng = np.random.default_rng(0)
    words = torch.from_numpy(rng.integers(1, 20, 1500))
    texts = Bags(words, torch.arange(0, 1501, 5), torch.arange(300) % 2)
    made = al.audit(texts, models=[Classifier(20, embedding_size=4, hidden=3, seed=seed) for seed in (0, 1)])
    assert made.card.answers[0].grade == "poor"  # untrained: no better than the commonest class
    assert made.numbers.compared["attention, attention of another seed"].top.value is not None
    assert made.save(tmp_path / "one.html").is_file()
    one = al.audit(texts, models=Classifier(20, embedding_size=4, hidden=3))
    assert "attention, attention of another seed" not in one.numbers.compared
    with pytest.raises(UsageError, match="read_texts"):
        al.audit(texts)
    with pytest.raises(UsageError, match="read_texts"):
        al.audit("films.csv")


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr("attnlab.runs.engine.LocalEngine", lambda *_: InThisProcess())
    monkeypatch.setenv("COLUMNS", "160")
    file = write(tmp_path / "films.csv")
    words = ["audit", str(file), "--seeds", "1", "--out", str(tmp_path / "out"), "--store", str(tmp_path / "runs")]
    got = CliRunner().invoke(app, words)
    assert got.exit_code == 0, got.output
    assert "Is attention learned?" in got.stdout and str(tmp_path / "out" / "audit.html") in got.stdout
    numbers = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert numbers["settings"]["seeds"] == 1 and len(numbers["card"]["answers"]) == 5
    for wrong, sentence in (
        (["--budget", "huge"], "budgets are small"),
        (["--map", "bad=one good=one"], "two or more"),
    ):
        assert sentence in str(CliRunner().invoke(app, [*words, *wrong]).exception)
    one = write(tmp_path / "one.csv", labels=("good", "good"))
    assert "an audit needs two" in str(
        CliRunner().invoke(app, ["audit", str(one), "--out", str(tmp_path / "o")]).exception
    )
