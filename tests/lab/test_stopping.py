"""Ending runs that the early verdict gives up: results of their own, and only where it can be done."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from math import log

import pytest
import torch

from attnlab.errors import UsageError
from attnlab.experiments.copying.experiment import ON_TO_LATE, PERMUTATIONS
from attnlab.families.copying import early_verdict as in_training
from attnlab.families.copying.early_verdict import shipped
from attnlab.families.copying.success import first_learned
from attnlab.lab.conduct import conduct
from attnlab.lab.costs import estimate
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.registry import EXPERIMENTS
from attnlab.lab.stopping import Planner, check_stoppable
from attnlab.runs.checkpoint import Checkpoint
from attnlab.runs.engine import LocalEngine
from attnlab.runs.loop import Trained
from attnlab.runs.store import RunStore


def measured(step, accuracy=1 / 41):
    """An evaluation of a run that guesses, whatever its accuracy says."""
    return {
        "step": step,
        "loss": log(41),
        "accuracy": accuracy,
        "attention_entropy": 0.5 * log(41),
        "attention_accuracy": 1 / 41,
        "probe_accuracy": 1 / 41,
        "probe_mean": 1 / 41,
    }


class Few(Experiment):
    """Two runs on permutations, the first of which goes on to step 1000 where it failed."""

    name, title, source = "copying", "a small one", "here"

    def plan(self, order, done):
        jobs = [PERMUTATIONS.job(seed, "paper") for seed in (0, 1)]
        late = any(first_learned(run.rows) is None for run in done.values())
        return [replace(jobs[0], schedule=ON_TO_LATE), jobs[1]] if late else jobs

    def at_most(self, order, done):
        return self.plan(order, {})

    def analyse(self, order, done):
        rows = [{"run": id, "rows": len(run.rows), "last": run.step} for id, run in done.items()]
        return Result("it ran", {"runs": rows}, {}, ())


def keep(store, seed, rows):
    """A run in the store that was trained to its last row, as far as anybody can tell."""
    spec = PERMUTATIONS.spec(seed)
    run, last = store.run(spec.id), int(rows[-1]["step"])
    run.begin(spec.model_dump(mode="json"), {"threads": 1})
    run.write_metrics(rows)
    run.save(Checkpoint(last, {"model.x": torch.zeros(1)}, {"metrics": rows, "inexact": False}))
    run.set_status("finished", last)
    return spec.id


@pytest.fixture
def without_hope(monkeypatch):
    """A verdict that gives up what has an accuracy of chance."""
    hopeless = shipped().model_copy(
        update={
            "give_up_below": 0.1,
            "regression": in_training.Regression(
                intercept=-4.0,
                time=(0.0, 0.0),
                features=(in_training.Feature(name="accuracy", mean=0.0, scale=1.0, weight=4.0),),
            ),
        }
    )
    for module in ("attnlab.families.copying.early_verdict", "attnlab.lab.stopping"):
        monkeypatch.setattr(f"{module}.shipped", lambda: hopeless)


def test_ended_runs_stand_in_a_result_of_their_own(without_hope, tmp_path):
    store = RunStore(tmp_path / "runs")
    dull = [measured(step) for step in range(0, 201, 10)]
    bright = [measured(step, accuracy=0.5 if step < 60 else 0.99) for step in range(0, 201, 10)]
    ids = [keep(store, 0, dull), keep(store, 1, bright)]
    before = estimate(Few(), Order("paper", stop_hopeless=True), store)
    assert before.to_train == 0
    done = conduct(Few(), Order("paper", stop_hopeless=True), store, LocalEngine(1), tmp_path / "results", command="x")
    assert done.folder == tmp_path / "results" / "copying" / "paper-stop-hopeless"
    document = json.loads((done.folder / "result.json").read_text(encoding="utf-8"))
    assert document["notes"][0].startswith("--stop-hopeless: 1 of 2 runs were ended early and count as not learned")
    assert "not comparable" in document["notes"][0]
    tables = {
        name: list(csv.DictReader((done.folder / "tables" / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
        for name in ("runs", "ended_early")
    }
    assert [row["last"] for row in tables["runs"]] == ["30", "200"], "a run that was given up does not go on"
    assert tables["ended_early"] == [{"run": ids[0], "label": "permutations of 40, seed 0", "ended_at": "30"}]


def test_without_the_option_a_plan_is_the_experiments_own(without_hope):
    order = Order("paper")
    rows = [measured(step) for step in range(0, 201, 10)]
    dull = {job.spec.id: Trained(job.spec.id, rows, 200) for job in Few().plan(order, {})}
    assert Planner(Few(), order).plan(dull) == Few().plan(order, dull)
    assert order.folder == "paper"


def attnlab(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "attnlab", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1"},
    )


def test_the_option_is_refused_where_it_can_end_nothing(tmp_path):
    got = attnlab("run", "gated-toy", "--stop-hopeless", cwd=tmp_path)
    assert got.returncode == 2
    assert "not what gated-toy asks; it is for copying, mixture" in " ".join(got.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_experiments_that_need_to_know_the_end_are_not_ended():
    order = Order("paper", stop_hopeless=True)
    with pytest.raises(UsageError, match="not what early-verdict asks"):
        check_stoppable(EXPERIMENTS["early-verdict"], order)
    for name in ("copying", "mixture", "symmetry", "forecast-copying"):
        check_stoppable(EXPERIMENTS[name], order)
    with pytest.raises(UsageError, match="at quick no run of symmetry goes on to step 200"):
        check_stoppable(EXPERIMENTS["symmetry"], Order("quick", stop_hopeless=True))
