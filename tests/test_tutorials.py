"""The tutorials, followed to the letter: what they say to type is typed, and what they show is printed."""

import io
import re
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from attnlab.cli.main import app, general_first

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def typed(line):
    """What a command prints, at 80 columns."""
    program, *words = line.split()
    assert program == "attnlab"
    data = io.BytesIO()
    out = io.TextIOWrapper(data, encoding="utf-8", write_through=True)
    with redirect_stdout(out), redirect_stderr(out):
        app(general_first(words), prog_name="attnlab", standalone_mode=False)
    return data.getvalue().decode()


def squeezed(text):
    return " ".join(text.split())


def follow(page, folder, monkeypatch, save=()):
    """Do what a page says, in a folder of its own; every block without a language is what was printed just before.

    ``save``: names of files that the Python blocks are saved as, in turn, instead of being run.
    """
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "argv", ["attnlab"])
    names, printed, shown, files = {}, "", [], list(save)
    for language, block in BLOCK.findall((TUTORIALS / page).read_text(encoding="utf-8")):
        if language == "python" and files:
            Path(files.pop(0)).write_text(block, encoding="utf-8")
        elif language == "python":
            out = io.StringIO()
            with redirect_stdout(out):
                exec(block, names)
            printed = out.getvalue()
        elif language == "sh":
            printed = "".join(typed(line) for line in block.splitlines())
            shown.append(printed)
        else:
            assert squeezed(block) in squeezed(printed), page
    return names, shown


def test_every_tutorial_is_followed_here():
    assert {path.name for path in TUTORIALS.glob("*.md")} == {"csv.md", "watch.md", "experiment.md"}


def test_will_attention_be_learned_on_my_csv(tmp_path, monkeypatch):
    shutil.copy(TUTORIALS / "reviews.csv", tmp_path)
    names, _ = follow("csv.md", tmp_path, monkeypatch)
    assert names["forecast"].verdict == "likely to be learned"
    assert (tmp_path / "forecast.html").stat().st_size > 10_000


def test_watch_two_runs_part(tmp_path, monkeypatch):
    names, _ = follow("watch.md", tmp_path, monkeypatch)
    films = names["al"].replay(names["runs"]).films
    on_the_diagonal = [[(one.tops[-1] == range(11)).mean() for one in film.fields] for film in films]
    assert min(on_the_diagonal[0]) > 0.7 and max(on_the_diagonal[1]) < 0.3
    assert 30_000 < (tmp_path / "two-starts.html").stat().st_size < 500_000


def test_an_experiment_of_your_own(tmp_path, monkeypatch):
    _, (ran,) = follow("experiment.md", tmp_path, monkeypatch, save=["leaving_out.py"])
    assert "6 runs, 6 of them still to be trained" in ran
    assert "leaving-out-helps: " in ran and "Look at it: python -m webbrowser" in ran
    assert "Does leaving words out help attention?" in (tmp_path / "results/leaving-out/report.html").read_text("utf-8")
