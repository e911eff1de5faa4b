"""The command line as a user meets it: real processes, exit codes, one-sentence mistakes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import attnlab
from attnlab.lab.claims import load_claims
from attnlab.lab.registry import EXPERIMENTS

RESULTS = Path(__file__).parents[2] / "results"


def run(*words, cwd, **env):
    return subprocess.run(
        [sys.executable, "-m", "attnlab", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120", "NO_COLOR": "1", **env},
    )


def test_version_and_help(tmp_path):
    assert run("--version", cwd=tmp_path).stdout == f"attnlab {attnlab.__version__}\n"
    shown = run("--help", cwd=tmp_path).stdout
    for word in ("The papers", "Housekeeping", "demo", "experiments", "run", "claims", "store", "completion"):
        assert word in shown
    for command in ("demo", "experiments", "run", "claims", "store"):
        assert run(command, "--help", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "copyng"], "no experiment 'copyng'; experiments are copying, "),
        (["run", "copyng"], "Did you mean copying?"),
        (["run", "copying", "--preset", "papr"], "no preset 'papr'; presets are quick, reduced, paper"),
        (["run", "copying", "--seeds", "0"], "--seeds 0"),
        (["run", "copying", "--jobs", "0"], "--jobs"),
        (["run", "copying", "--only", "sst"], "The experiment copying has no rows"),
        (["run", "agreement", "--only", "stt"], "no row 'stt'; rows are imdb, ag_news"),
        (["run", "agreement", "--only", "sst,stt"], "Did you mean sst?"),
        (["run", "agreement", "--only", "sst", "--data", "nowhere"], "nowhere"),
        (["--device", "abacus", "run", "copying"], "Device 'abacus' cannot be used here"),
        (["claims", "--outcome", "maybe"], "as the paper says, differs, open, not run"),
        (["report", "copyng"], "Did you mean copying?"),
        (["report", "copying"], "no result to report on; run the experiment first"),
        (["store", "show", "../../etc"], "../../etc"),
        (["store", "show", "0123456789abcdef"], "0123456789abcdef"),
        (["nonsense"], "nonsense"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(words, named, tmp_path):
    got = run(*words, cwd=tmp_path)
    assert got.returncode == 2
    assert named in got.stderr
    assert "Traceback" not in got.stderr
    assert list(tmp_path.iterdir()) == []


def test_plan_trains_and_writes_nothing(tmp_path):
    got = run("run", "copying", "--plan", "--json", "--seeds", "1", cwd=tmp_path)
    cost = json.loads(got.stdout)
    assert (cost["runs"], cost["to_train"]) == (3, 3)
    assert cost["cpu_hours"] > 0
    assert list(tmp_path.iterdir()) == []
    assert "CPU hours" in run("run", "copying", "--plan", "--preset", "paper", cwd=tmp_path).stdout
    assert run("run", "gated-toy", "--plan", cwd=tmp_path).stdout == "gated-toy at quick: nothing to train.\n"


def test_a_report_is_written_from_what_lies_on_disk(tmp_path):
    results = Path(__file__).parents[2] / "results"
    shutil.copytree(results / "copying", tmp_path / "results" / "copying")
    done = run("report", "copying", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(Path("results") / "copying" / "report.html")
    assert "as the paper says" in (tmp_path / "results" / "copying" / "report.html").read_text(encoding="utf-8")


def test_experiments_and_claims_as_json(tmp_path):
    listed = json.loads(run("experiments", "--json", cwd=tmp_path).stdout)
    assert [entry["name"] for entry in listed] == list(EXPERIMENTS)
    assert "copy-k-of-n-learns" in listed[0]["claims"]
    claims = json.loads(run("claims", "--json", cwd=tmp_path).stdout)
    assert len(claims) == len(load_claims())
    committed = json.loads(run("claims", "--json", "--results", str(RESULTS), cwd=tmp_path).stdout)
    assert claims == committed, "in a folder without results, those that came with attnlab"
    listed_outcomes = {entry["name"]: entry["outcomes"] for entry in listed}
    own = [claim for claim in committed if "multihead" in claim["experiment"].split(", ")]
    assert sum(listed_outcomes["multihead"].values()) == len(own) > 0
    hours = {entry["name"]: entry["cpu_hours"] for entry in listed}
    document = json.loads((RESULTS / "copying" / "paper" / "result.json").read_text(encoding="utf-8"))
    assert hours["copying"] == round(document["training_seconds"] / 3600, 3)
    keys = {"id", "source", "statement", "stance", "experiment", "direction", "strength", "effect", "unit", "interval"}
    assert all(set(claim) >= keys for claim in claims)


@pytest.mark.parametrize("columns", ["40", "80"])
def test_no_experiment_that_one_has_to_type_is_cut(columns, tmp_path):
    shown = run("experiments", cwd=tmp_path, COLUMNS=columns).stdout
    first = [line.split()[0] for line in shown.splitlines() if line and not line.startswith(" ")]
    assert set(EXPERIMENTS) <= set(first)
    assert max(map(len, shown.splitlines())) <= int(columns)


def test_a_plan_says_where_its_hours_come_from(tmp_path):
    results = tmp_path / "results" / "copying" / "paper"
    results.mkdir(parents=True)
    shutil.copy(RESULTS / "copying" / "paper" / "result.json", results)
    told = json.loads(run("run", "copying", "--plan", "--json", "--preset", "paper", cwd=tmp_path).stdout)
    seconds = json.loads((results / "result.json").read_text(encoding="utf-8"))["training_seconds"]
    assert told["source"] == "as the result at paper took"
    assert told["cpu_hours"] == pytest.approx(seconds / 3600)
    half = json.loads(
        run("run", "copying", "--plan", "--json", "--preset", "paper", "--seeds", "20", cwd=tmp_path).stdout
    )
    assert 0.3 < half["cpu_hours"] / told["cpu_hours"] < 0.9


def test_a_run_ends_with_what_was_found_and_how_to_look_at_it(tmp_path):
    got = run("run", "gated-toy", cwd=tmp_path)
    assert got.returncode == 0, got.stderr
    for id in ("toy-uniform-start", "toy-reversed-start"):
        assert f"{id}: As the paper says." in got.stdout
    page = tmp_path / "results" / "gated-toy" / "report.html"
    assert got.stdout.splitlines()[-1] == str(page.relative_to(tmp_path))
    last = got.stderr.splitlines()[-1]
    assert last == f"Look at it: python -m webbrowser -t {page.as_uri()}"


def test_general_options_may_stand_behind_the_command(tmp_path):
    got = run("run", "copying", "--plan", "--seeds", "1", "--quiet", "--device", "cpu", cwd=tmp_path)
    assert got.returncode == 0, got.stderr
    assert run("run", "copying", "--device", cwd=tmp_path).returncode == 2


def test_the_python_names_are_there_and_nothing_else():
    for name in attnlab.__all__:
        assert getattr(attnlab, name).__doc__
    with pytest.raises(AttributeError, match="it offers"):
        attnlab.nonsense  # noqa: B018


def test_every_experiment_is_registered_under_its_own_name():
    assert all(experiment.name == name for name, experiment in EXPERIMENTS.items())


def test_files_in_the_current_folder_do_not_run(tmp_path):
    for name in ("filelock", "queue", "rich", "json", "typing", "re", "enum"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'a').write(__name__)")
    got = run("store", "list", cwd=tmp_path)
    assert (got.returncode, got.stdout) == (0, "0 runs in runs.\n"), got.stderr
    assert not (tmp_path / "ran").exists()
