"""Conducting an experiment end to end: real training, follow-up runs, result folder."""

import csv
import json
import time
from collections.abc import Mapping

import altair as alt
import pytest
from tests.lab.in_this_process import InThisProcess

from attnlab.errors import RunFailed, StoreError
from attnlab.families.copying.problem import PairProblem
from attnlab.families.copying.spec import CopyingSpec, SelectionsSpec, Seq2SeqSpec
from attnlab.lab.claims import Finding, Part
from attnlab.lab.conduct import conduct
from attnlab.lab.costs import estimate
from attnlab.lab.experiment import Experiment, Order, Result
from attnlab.lab.result import write_result
from attnlab.runs.engine import Job, LocalEngine
from attnlab.runs.loop import Trained, train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore


def spec_of(seed, rate=1e-3):
    return RunSpec(
        task=CopyingSpec(distribution=SelectionsSpec(length=3, words=5)),
        model=Seq2SeqSpec(hidden=8),
        optimiser=AdamSpec(learning_rate=rate),
        batch=8,
        evaluation_batch=10,
        init_seed=seed,
        data_seed=seed,
    )


class Small(Experiment):
    """Two runs; the second goes on to step 20 once the first is there."""

    name, title, source = "copying", "a small one", "here"
    rate = 1e-3

    def plan(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        first, second = (spec_of(seed, self.rate) for seed in (0, 1))
        longer = 20 if first.id in done else 10
        return [
            Job("first", first, Schedule.every(5, steps=10)),
            Job("second", second, Schedule.every(5, steps=longer)),
        ]

    def at_most(self, order: Order, done: Mapping[str, Trained]) -> list[Job]:
        return [Job(f"seed {n}", spec_of(n, self.rate), Schedule.every(5, steps=20)) for n in (0, 1)]

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        table = [{"run": run.id, "rows": len(run.rows), "nothing": None} for run in done.values()]
        chart = alt.Chart(alt.InlineData(values=[{"x": 1, "y": 2}])).mark_point().encode(x="x:Q", y="y:Q")
        part = Part("all", "holds", 0.5, (0.4, 0.6), "seeds", "a sentence")
        figures = {"dots": chart, "again": chart}
        return Result("it ran", {"runs": table}, figures, (Finding("copy-k-of-n-learns", (part,)),), ("a note",))


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


def test_follow_up_runs_and_the_result_folder(store, tmp_path):
    done = conduct(
        Small(), Order("quick"), store, LocalEngine(2), tmp_path / "results", command="attnlab run <copying>"
    )
    assert done.folder == tmp_path / "results" / "copying" / "quick"
    document = json.loads((done.folder / "result.json").read_text())
    assert document["claims"][0]["claim"] == "copy-k-of-n-learns"
    assert document["command"] == "attnlab run <copying>"
    assert {"torch", "attnlab", "processor", "threads"} <= set(document["versions"])
    assert document["duration_seconds"] > 0
    assert document["rules"] == {}, "this experiment marks no rule"
    rows = list(csv.DictReader((done.folder / "tables" / "runs.csv").read_text().splitlines()))
    assert [row["rows"] for row in rows] == ["3", "5"], "the second run should have gone on to step 20"
    assert rows[0]["nothing"] == ""
    assert (done.folder / "figures" / "dots.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (done.folder / "figures" / "dots.svg").read_text()
    assert document["figures"] == ["dots", "again"], "the first is the first to be read"
    assert sorted(p.name for p in (tmp_path / "results" / "copying").iterdir()) == ["quick"]


def test_a_second_call_trains_nothing_and_replaces_the_result(store, tmp_path):
    conduct(Small(), Order("quick"), store, LocalEngine(1), tmp_path, command="one")
    stray = tmp_path / "copying" / "quick" / "stray.txt"
    stray.write_text("from before")
    stamp = (store.run(spec_of(0).id).path / "status.json").stat().st_mtime_ns
    told = []
    conduct(Small(), Order("quick"), store, LocalEngine(1), tmp_path, command="two", watch=told.append)
    assert told == []
    assert (store.run(spec_of(0).id).path / "status.json").stat().st_mtime_ns == stamp
    assert not stray.exists()
    assert json.loads((tmp_path / "copying" / "quick" / "result.json").read_text())["command"] == "two"


def test_runs_of_two_environments_are_named(store, tmp_path):
    spec, schedule = spec_of(1), Schedule.every(5, steps=5)
    train(spec, schedule, store, thread_count=2)
    done = conduct(Small(), Order("quick"), store, LocalEngine(1), tmp_path, command="x")
    assert json.loads((done.folder / "result.json").read_text())["inexact_runs"] == [spec.id]


def test_a_failed_run_leaves_no_result(store, tmp_path):
    experiment = Small()
    experiment.rate = 1e38
    with pytest.raises(RunFailed, match=r"2 of 2 runs failed.*first: .*second: "):
        conduct(experiment, Order("quick"), store, LocalEngine(1), tmp_path / "results", command="x")
    assert not (tmp_path / "results").exists()


def test_the_estimate_shrinks_with_what_is_there(store, tmp_path):
    before = estimate(Small(), Order("quick"), store)
    assert (before.runs, before.to_train, before.updates) == (2, 2, 40)
    assert before.cpu_hours > 0
    assert before.bytes > 0
    assert not store.root.exists(), "a plan writes nothing"
    conduct(Small(), Order("quick"), store, LocalEngine(1), tmp_path, command="x")
    after = estimate(Small(), Order("quick"), store)
    assert (after.runs, after.to_train, after.updates, after.cpu_hours) == (2, 0, 0, 0)


def test_nothing_is_left_of_a_finished_experiment_that_might_have_needed_more(store, tmp_path):
    """A screening may end early: what it did not try is no run still to be trained."""

    class Screening(Small):
        def at_most(self, order, done):
            return [*super().at_most(order, done), Job("third", spec_of(2), Schedule.every(5, steps=20))]

    assert estimate(Screening(), Order("quick"), store).to_train == 3
    conduct(Screening(), Order("quick"), store, LocalEngine(1), tmp_path, command="x")
    after = estimate(Screening(), Order("quick"), store)
    assert (after.runs, after.to_train, after.updates, after.bytes) == (2, 0, 0, 0)


def test_a_run_that_is_to_go_on_because_of_its_own_outcome_is_estimated(store, tmp_path):
    """As those of copying that have not learned by step 200: the sweep may have been interrupted right there."""

    class GoesOn(Small):
        def plan(self, order, done):
            spec = spec_of(0)
            return [Job("it", spec, Schedule.every(5, steps=20 if spec.id in done else 10))]

        def at_most(self, order, done):
            assert list(done) == [spec_of(0).id], "what the plan is known from is told"
            return self.plan(order, done)

    train(spec_of(0), Schedule.every(5, steps=10), store)
    told = estimate(GoesOn(), Order("quick"), store)
    assert (told.runs, told.to_train, told.updates) == (1, 1, 10)


def test_the_estimate_does_not_count_the_time_that_others_take(store, monkeypatch):
    """On a busy machine an update waits for its turn; that costs no CPU hours."""
    real = PairProblem.loss

    def held_up(problem, step):
        time.sleep(0.2)
        return real(problem, step)

    monkeypatch.setattr(PairProblem, "loss", held_up)
    told = estimate(Small(), Order("quick"), store)
    assert 0 < told.cpu_hours * 3600 < told.updates * 0.2


def test_a_result_that_cannot_be_written_is_told_in_a_sentence(tmp_path):
    (tmp_path / "results").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="results"):
        write_result(
            Result("", {}, {}, ()),
            tmp_path / "results" / "copying" / "quick",
            experiment="copying",
            order=Order("quick"),
            command="x",
            seconds=1,
            training_seconds=1,
        )


class Weighed(Small):
    """One that reads the last weights of its runs."""

    def analyse(self, order: Order, done: Mapping[str, Trained]) -> Result:
        for run in done.values():
            run.run.load(run.step)
        return super().analyse(order, done)


@pytest.mark.filterwarnings("ignore::attnlab.runs.store.StoreWarning")
def test_damaged_weights_are_noticed_when_they_are_read_and_the_run_is_trained_again(store, tmp_path):
    conduct(Weighed(), Order("quick"), store, InThisProcess(), tmp_path, command="attnlab")
    path = store.run(spec_of(0).id).path / "checkpoints/10/tensors.safetensors"
    whole = path.read_bytes()
    path.write_bytes(bytes([*whole[:-9], whole[-9] ^ 1, *whole[-8:]]))
    conduct(Weighed(), Order("quick"), store, InThisProcess(), tmp_path, command="attnlab")
    assert path.read_bytes() == whole
    assert store.verify() == []
