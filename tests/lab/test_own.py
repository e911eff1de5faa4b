"""A task and an experiment of the user's own: what docs/extend.md says, run as it stands there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab.errors import UsageError
from attnlab.lab.registry import find_experiment
from attnlab.specs import OwnTaskSpec

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"


def code() -> str:
    """The page's one block of Python."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return block


def attnlab(folder, *words):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-m", "attnlab", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "sorting_lab.py").write_text(code(), encoding="utf-8")
    return tmp_path


def test_it_fits_in_forty_lines():
    assert sum(bool(line.strip()) for line in code().splitlines()) < 40


def test_it_runs_as_it_stands(lab):
    done = attnlab(lab, "run", "sorting_lab:SortingLab", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    folder = lab / "results" / "sorting" / "quick"
    assert json.loads((folder / "result.json").read_text(encoding="utf-8"))["experiment"] == "sorting"
    assert (folder / "figures" / "curves.svg").is_file()
    again = attnlab(lab, "run", "sorting_lab:SortingLab", "--seeds", "1", "--plan", "--json")
    assert json.loads(again.stdout)["to_train"] == 0
    said = attnlab(lab, "run", "sorting_lab:SortingLab", "--seeds", "1", "--plan").stdout
    assert said == "sorting at quick: all 2 runs are there; only their analysis is left.\n"
    # Another text of the task is another task.
    (lab / "sorting_lab.py").write_text(code() + "\n# changed\n", encoding="utf-8")
    changed = attnlab(lab, "run", "sorting_lab:SortingLab", "--seeds", "1", "--plan", "--json")
    assert json.loads(changed.stdout)["to_train"] == 2


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("", "nowhere:Lab", "There is no module 'nowhere'"),
        ("", "mine:Lab", "has no 'Lab'"),
        ("raise RuntimeError('broken')", "mine:Lab", "cannot be imported"),
        ("class Lab: name = 'mine'", "mine:Lab", "mine:Lab is no experiment: it should be a class made from"),
        (
            "from attnlab.lab.experiment import Experiment\nclass Lab(Experiment): name = 'mine'",
            "mine:Lab",
            "mine:Lab is no experiment: it has no title and no source",
        ),
        ("", "mine:", "write module:name"),
    ],
    ids=["no-module", "no-class", "broken", "no-experiment", "incomplete", "no-name"],
)
def test_mistakes_are_told_in_a_sentence(tmp_path, text, name, told):
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    done = attnlab(tmp_path, "run", name)
    assert done.returncode == 2
    assert told in re.sub(r"\s+", " ", done.stderr)
    assert "Traceback" not in done.stderr


LAB = """
from attnlab.lab.experiment import Experiment
from attnlab.specs import CopyingSpec, MixtureSpec, PermutationsSpec, SelectionsSpec, Seq2SeqSpec

THREE = PermutationsSpec(words=3)

class Lab(Experiment):
    name, title, source = "mine", "Mine", "ours"

    def plan(self, order, done):
        return {made}
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("CopyingSpec(distribution=SelectionsSpec(length=4, words=3))", "4 different words cannot be drawn from 3"),
        ("CopyingSpec(distribution=THREE, order=())", "names each of 0 .. 2 once; it has 0 entries"),
        ("CopyingSpec(distribution=THREE, order=(0, 0, 1))", "names each of 0 .. 2 once"),
        ("Seq2SeqSpec(heads=0)", "heads: Input should be greater than or equal to 1"),
        ("CopyingSpec(distribution=MixtureSpec(parts=(THREE, THREE), shares=(0.5, 0.6)))", "add up to 1"),
    ],
    ids=["k-above-n", "empty-order", "repeated-position", "no-heads", "shares"],
)
def test_an_experiment_s_bad_settings_are_told_in_a_sentence(tmp_path, made, told):
    (tmp_path / "mine.py").write_text(LAB.format(made=made), encoding="utf-8")
    done = attnlab(tmp_path, "run", "mine:Lab")
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1
    assert told in re.sub(r"\s+", " ", done.stderr)
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["mine.py"]


@pytest.mark.parametrize("name", ["copying", "Up", "../up", "a/b", ""])
def test_a_name_that_is_no_folder_of_its_own_is_refused(tmp_path, monkeypatch, name):
    text = (
        "from attnlab.lab.experiment import Experiment\n"
        f"class Lab(Experiment):\n    name, title, source = {name!r}, 'a', 'b'\n"
    )
    (tmp_path / "named.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "named", raising=False)
    with pytest.raises(UsageError, match="calls itself"):
        find_experiment("named:Lab")


def test_a_task_that_changed_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "changing.py"
    path.write_text("class Task:\n    vocabulary, batch = 3, None\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    spec = OwnTaskSpec.of("changing:Task")
    assert spec.build().vocabulary == 3
    path.write_text("class Task:\n    vocabulary, batch = 4, None\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has changed"):
        spec.build()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("class Task:\n    vocabulary = 3\n", "owned:Task is no task: it has no batch"),
        ("class Task:\n    def __init__(self, words): pass\n", "owned:Task makes no task .TypeError.*words"),
        ("Task = None\n", "owned:Task makes no task .TypeError"),
    ],
)
def test_a_task_that_is_none_is_refused(tmp_path, monkeypatch, text, sentence):
    (tmp_path / "owned.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "owned", raising=False)
    with pytest.raises(UsageError, match=sentence):
        OwnTaskSpec.of("owned:Task").build()


def test_an_experiment_that_cannot_be_made_is_refused(tmp_path, monkeypatch):
    text = "from attnlab.lab.experiment import Experiment\nclass Lab(Experiment):\n    def __init__(self, size): pass\n"
    (tmp_path / "sized.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sized", raising=False)
    with pytest.raises(UsageError, match=r"sized:Lab makes no experiment .TypeError.*size"):
        find_experiment("sized:Lab")
