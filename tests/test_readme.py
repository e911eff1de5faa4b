"""What the README says can be typed, and what it shows can be seen."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands():
    """Every `attnlab ...` of the README up to its first argument in capitals."""
    found = re.findall(r"`attnlab ([a-z][^`]*)`", README)
    words = [re.split(r"[ ,]+(?=[A-Z-])", command)[0].split(",")[0].split() for command in found]
    return sorted({tuple(command) for command in words})


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_is_there(words):
    got = subprocess.run([sys.executable, "-m", "attnlab", *words, "--help"], capture_output=True, text=True)
    assert got.returncode == 0, got.stderr


def test_every_link_and_picture_is_there():
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_make_target_is_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_python_example_runs(tmp_path, monkeypatch):
    """As it stands, but for a handful of updates instead of two hundred."""
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert "steps=200" in block
    monkeypatch.chdir(tmp_path)
    exec(block.replace("steps=200", "steps=1"), {})
    assert (tmp_path / "runs").is_dir()
