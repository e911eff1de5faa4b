"""``attnlab align`` as a user meets it: what is printed where, what is written, and mistakes told in one sentence."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab.cli.main import main

OURS = "das Haus ||| the house\n\ndas Buch ||| the book\nein Buch ||| a book\n"
LINES = "0-0 1-1\n\n0-0 1-1\n0-0 1-1\n"


def run(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "attnlab", "align", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120", "NO_COLOR": "1"},
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "both").write_text(OURS, encoding="utf-8")
    for name, side in (("de", 0), ("en", 1)):
        lines = [line.split(" ||| ")[side] if line else "" for line in OURS.splitlines()]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "gold").write_text("1 1 1\n1 2 2\n", encoding="utf-8")
    return tmp_path


def test_links_go_to_standard_output_and_all_else_beside_it(folder):
    got = run("both", cwd=folder)
    assert got.returncode == 0, got.stderr
    assert got.stdout == LINES
    assert "1 empty line: both:2." in got.stderr
    assert "4 pairs, 4 source words, 4 target words; 6 links by grow-diag-final-and" in got.stderr
    quiet = run("--source", "de", "--target", "en", "--quiet", cwd=folder)
    assert quiet.stdout == LINES
    assert "2 empty lines: de:2, en:2." in quiet.stderr
    assert "links" not in quiet.stderr


def test_files_tables_and_scores(folder):
    words = ["both", "--out", "links", "--table-out", "t.parquet", "--table-out", "t.tsv", "--gold", "gold", "--json"]
    got = run(*words, cwd=folder)
    report = json.loads(got.stdout)
    assert (folder / "links").read_text() == LINES
    assert (folder / "t.tsv").read_text(encoding="utf-8").startswith("source\ttarget\tforward\treverse\ndas\tthe\t0.8")
    assert report["empty_pairs"] == [2]
    assert len(report["models"]["reverse"]["log_likelihoods"]) == 6
    assert report["gold"]["coverage"] == {"source": 1.0, "target": 1.0}
    assert [score["aer"] for score in report["gold"]["scores"]] == [0.0] * 5
    again = run("both", "--table", "t.parquet", "--direction", "reverse", "--gold", "gold", cwd=folder)
    assert again.stdout == LINES
    assert "AER" in again.stderr


def test_no_error_rate_where_the_table_does_not_know_the_words(folder):
    (folder / "DE").write_text("DAS HÄUS\n", encoding="utf-8")
    (folder / "EN").write_text("the house\n", encoding="utf-8")
    words = ["both", "--gold", "gold", "--gold-source", "DE", "--gold-target", "EN"]
    got = run(*words, cwd=folder)
    assert "knows 0.0% of the gold's source words and 100.0% of its target words" in got.stderr
    assert "AER" not in got.stderr
    (folder / "both").write_text(OURS.replace("das Haus", "das Häus"), encoding="utf-8")
    known = run(*words, "--lower", "--strip-accents", cwd=folder)
    assert "knows 100.0% (source) and 100.0% (target)" in known.stderr
    assert "AER" in known.stderr


@pytest.mark.filterwarnings("ignore:.*empty line")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "either as one FILE"),
        (["both", "--source", "de", "--target", "en"], "either as one FILE"),
        (["--source", "de"], "either as one FILE"),
        (["nowhere"], "There is no file nowhere"),
        (["de"], "line 1 has ||| 0 times"),
        (["--source", "de", "--target", "one"], "de has 4 lines and one has 1"),
        (["--source", "latin", "--target", "one"], "latin, line 1 is not UTF-8"),
        (["--source", "empty", "--target", "empty"], "no sentence pair with words on both sides in empty"),
        (["both", "--direction", "onion"], "no direction 'onion'; directions are forward"),
        (["both", "--direction", "onion"], "Did you mean union?"),
        (["both", "--iterations", "0"], "at least one iteration"),
        (["both", "--iterations", "9" * 30], "at most 10000 iterations"),
        (["both", "--tolerance", "inf"], "a share, at least 0 and below 1, not inf"),
        (["both", "--gold", "huge"], "huge, line 1 is no link such as"),
        (["n" * 300], "n cannot be read: File name too long"),
        (["both", "--gold", "n" * 300], "n cannot be read: File name too long"),
        (["both", "--table", "n" * 300], "n cannot be read: File name too long"),
        (["both", "--table", "/dev/zero"], "/dev/zero is a device"),
        (["both", "--table-out", "t.csv"], ".parquet or .tsv, not as t.csv"),
        (["both", "--table", "both"], "both is no lexical table"),
        (["both", "--gold", "one"], "one, line 1 is no link such as"),
        (["both", "--gold", "gold", "--gold-source", "de"], "all three of --gold"),
        (["both", "--split-contractions", "french"], "source or target, not 'french'"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(words, told, folder, monkeypatch, capsys):
    """In this process: starting one takes longer than all the rest."""
    (folder / "one").write_text("x\n", encoding="utf-8")
    (folder / "empty").write_text("", encoding="utf-8")
    (folder / "huge").write_text(f"1 1 {2**63}\n", encoding="utf-8")
    (folder / "latin").write_bytes("é\n".encode("latin1"))
    before = sorted(folder.iterdir())
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["attnlab", "align", *words, "--out", "links"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert told in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["both", "--out", "taken"], "taken cannot be written: it is a folder"),
        (["both", "--out", "both"], "both cannot be written: it is read, too"),
        (["--source", "de", "--target", "en", "--out", "taken/../de"], "de cannot be written: it is read, too"),
        (["--source", "de", "--target", "en", "--out", "hard"], "hard cannot be written: it is read, too"),
        (["both", "--gold", "gold", "--out", "gold"], "gold cannot be written: it is read, too"),
        (["both", "--table", "t.parquet", "--table-out", "t.parquet"], "t.parquet cannot be written: it is read, too"),
        (["both", "--out", "new.tsv", "--table-out", "new.tsv"], "new.tsv cannot be written: it is named for two"),
        (["both", "--out", "pipe"], "pipe cannot be written: it is a device or a pipe"),
        (["both", "--out", "null"], "null cannot be written: it is a device or a pipe"),
        (["both", "--out", "mine"], "mine cannot be written: it is a link to gold; name the file itself"),
        (["both", "--out", "lost"], "lost cannot be written: it is a link to nowhere; name the file itself"),
        (["both", "--table-out", "both/t.tsv"], "both/t.tsv cannot be written: both is a file"),
        (["both", "--out", "circle/links"], "circle/links cannot be written: "),
        (["both", "--out", "n" * 252], "n cannot be written: File name too long"),
        (["both", "--out", f"folder/{'n' * 300}/links"], "/links cannot be written: File name too long"),
    ],
)
def test_an_output_that_would_destroy_something_is_refused_before_anything_is_read(
    words, why, folder, monkeypatch, capsys
):
    os.link(folder / "de", folder / "hard")
    os.mkfifo(folder / "pipe")
    (folder / "null").symlink_to("/dev/null")
    (folder / "circle").symlink_to("circle")
    (folder / "mine").symlink_to("gold")
    (folder / "lost").symlink_to("nowhere")
    (folder / "taken").mkdir()
    (folder / "t.parquet").write_bytes(b"")
    before = {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()}
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["attnlab", "align", *words])
    with pytest.raises(SystemExit) as left:
        main()
    error = capsys.readouterr().err
    assert (left.value.code, error.count("\n")) == (2, 1), error
    assert why in error
    assert {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()} == before
    assert (folder / "pipe").is_fifo()
    assert all((folder / name).is_symlink() for name in ("null", "mine", "lost"))


def test_the_link_to_standard_output_is_refused_even_where_it_leads_to_a_file(folder):
    with (folder / "printed").open("w") as file:
        words = [sys.executable, "-m", "attnlab", "align", "both", "--out", "/dev/stdout"]
        got = subprocess.run(words, cwd=folder, stdout=file, stderr=subprocess.PIPE, text=True)
    assert (got.returncode, (folder / "printed").read_text()) == (2, "")
    assert got.stderr == "error: /dev/stdout cannot be written: it is a device or a pipe; name a file.\n"
    assert Path("/dev/stdout").is_symlink()


def test_help_needs_no_torch(tmp_path):
    program = "import sys, attnlab.cli.main, attnlab.theory.aligner; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path).returncode == 0


def test_the_documentation_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs" / "align.md").read_text(encoding="utf-8")
    text, links = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    (tmp_path / "pairs.txt").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["attnlab", "align", "pairs.txt"])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out == links
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out.strip() == re.search(r"# (\[.*\])", example)[1]
