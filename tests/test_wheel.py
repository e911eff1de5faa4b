"""Installed from its wheel, away from the clone, attnlab forecasts, says how claims stand, and runs an experiment."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from attnlab.lab.claims import decide

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.more


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built as anybody would build it, with the build tool that is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("attnlab-*.whl")
    return built


@pytest.fixture(scope="module")
def attnlab(wheel, tmp_path_factory):
    """The command in a fresh environment: attnlab from the wheel, what it depends on from this one."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home / "venv", with_pip=False, symlinks=os.name != "nt")
    python = home / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home / "venv"), "platbase": str(home / "venv")}))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)  # a wheel of Python files is installed by this
    # A path alone: its own .pth files, such as that of the clone, are not followed.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (home / "work").mkdir()

    def run(*words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ATTNLAB"))}
        done = subprocess.run(
            [str(python), "-m", "attnlab", *words],
            cwd=home / "work",
            capture_output=True,
            text=True,
            timeout=600,
            env={**environment, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = [str(python), "-c", "import attnlab; print(attnlab.__file__)"]
    came = subprocess.run(where, cwd=home / "work", capture_output=True, text=True, timeout=60).stdout
    assert str(packages) in came, "the clone is not what runs here"
    run.home = home / "work"
    return run


def test_a_wheel_carries_the_document_of_every_committed_result_and_nothing_else_of_them(wheel):
    with zipfile.ZipFile(wheel) as archive:
        carried = {
            name.removeprefix("attnlab/"): archive.read(name)
            for name in archive.namelist()
            if name.startswith("attnlab/results/")
        }
    committed = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in ROOT.glob("results/**/result.json")}
    assert carried == committed
    assert wheel.stat().st_size < 3_000_000


def test_claims_are_those_that_are_committed(attnlab):
    said = {entry["id"]: entry["outcome"] for entry in json.loads(attnlab("claims", "--json"))}
    assert said == {decision.id: decision.outcome for decision in decide(ROOT / "results")}
    assert "as the paper says" in said.values()
    assert "those that came with attnlab" in attnlab("claims")
    listed = {entry["name"]: entry for entry in json.loads(attnlab("experiments", "--json"))}
    assert listed["copying"]["cpu_hours"] > 1


def test_a_file_is_forecast(attnlab):
    rows = "".join(
        f"the {word} film number {n},{label}\n" for n in range(20) for word, label in (("fine", 1), ("dull", 0))
    )
    (attnlab.home / "films.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    assert json.loads(attnlab("forecast", "films.csv", "--json"))["verdict"] == "likely to be learned"


def test_a_quick_experiment_runs_and_its_result_counts(attnlab):
    out = attnlab("run", "gated-toy")
    assert (attnlab.home / "results" / "gated-toy" / "quick" / "result.json").is_file()
    assert (attnlab.home / "results" / "gated-toy" / "report.html").stat().st_size > 10_000
    assert "toy-uniform-start: As the paper says." in out
    said = {entry["id"]: entry["preset"] for entry in json.loads(attnlab("claims", "--json"))}
    assert said["toy-uniform-start"] == "paper", "what came with attnlab is stronger"
    own = {entry["id"]: entry["preset"] for entry in json.loads(attnlab("claims", "--json", "--results", "results"))}
    assert own["toy-uniform-start"] == "quick"
