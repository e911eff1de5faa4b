"""The house stays small: how many files one reads for an experiment, and what a folder of one holds."""

import ast
import re
from pathlib import Path

import pytest

import attnlab.experiments
from attnlab.lab.registry import CLASSES

HERE = Path(attnlab.experiments.__file__).parent
MOST = {"even-steps": 1, "rescue": 2, "early-verdict": 4, "agreement": 4}
"""Files below experiments/ that these import, themselves included; any other may have four."""


def imported(path):
    """The modules of experiments that a file imports, as files."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            inside = name.removeprefix("attnlab.experiments.")
            if inside != name and (file := HERE / f"{inside.replace('.', '/')}.py").is_file():
                yield file


def files_of(name):
    """An experiment's file and all of experiments that it imports, directly or not."""
    seen, waiting = set(), [HERE / name.replace("-", "_") / "experiment.py"]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += imported(file)
    return seen


@pytest.mark.parametrize("name", CLASSES)
def test_an_experiment_is_read_in_a_few_files(name):
    files = files_of(name)
    assert len(files) <= MOST.get(name, 4), sorted(str(file.relative_to(HERE)) for file in files)


@pytest.mark.parametrize("name", CLASSES)
def test_an_experiment_is_one_folder_with_its_story_its_page_and_its_words(name):
    folder = HERE / name.replace("-", "_")
    assert {"experiment.py", "page.toml", "README.md"} <= {path.name for path in folder.iterdir()}


def test_no_file_is_too_long_to_read():
    root = Path(attnlab.__file__).parent
    long = {path.name: n for path in root.rglob("*.py") if (n := len(path.read_text().splitlines())) > 400}
    assert long == {}


@pytest.mark.parametrize("name", ["Problem", "Verdict", "Corpus", "Setting", "Outcome"])
def test_a_name_has_one_meaning(name):
    root = Path(attnlab.__file__).parent
    defined = re.compile(rf"^(class {name}\b|{name}(: \S+)? = )", re.MULTILINE)
    homes = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if defined.search(path.read_text())]
    assert len(homes) == 1, homes


def test_values_are_named_by_what_they_are():
    """Not told, tell, stands or behind: nobody knows from these what a value is."""
    vague = re.compile(r"told|tell|tells|stands|behind")
    root = Path(attnlab.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None)
            parts = name.lower().split("_") if isinstance(name, str) else []
            assert not any(vague.fullmatch(part) for part in parts), f"{path.relative_to(root)} has {name}"
