"""What a plan says it will cost: as a result took, else timed in a moment."""

import json

import pytest
from tests.lab.test_conduct import Small, spec_of

from attnlab.lab import costs
from attnlab.lab.costs import TIMED_HERE, estimate
from attnlab.lab.experiment import Order
from attnlab.runs.engine import Job
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore
from attnlab.specs import RunSpec, Seq2SeqSpec, TopicModelSpec, TopicsSpec


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


def result(folder, seconds, preset="quick", **more):
    place = folder / "small" / preset
    place.mkdir(parents=True)
    (place / "result.json").write_text(json.dumps({"training_seconds": seconds, **more}))


class Named(Small):
    name = "small"

    def at_most(self, order, done):
        return [Job(f"{seed}", spec_of(seed), Schedule.every(5, steps=20)) for seed in range(2)]

    plan = at_most


def test_updates_cost_what_they_cost_in_the_result(store, tmp_path):
    result(tmp_path, 36.0)
    told = estimate(Named(), Order("quick"), store, None, [tmp_path / "nowhere", tmp_path])
    assert (told.updates, told.cpu_hours, told.source) == (40, pytest.approx(0.01), "as the result at quick took")
    assert told.bytes > 0


def test_runs_that_the_result_did_not_train_are_not_counted_in_it(store, tmp_path):
    result(tmp_path, 36.0, recalled_runs={"other/paper": [spec_of(1).id]})
    assert estimate(Named(), Order("quick"), store, None, [tmp_path]).cpu_hours == pytest.approx(0.02)


def test_a_plan_that_has_grown_since_does_not_make_its_runs_cheaper(store, tmp_path):
    result(tmp_path, 36.0)
    tables = tmp_path / "small" / "quick" / "tables"
    tables.mkdir()
    (tables / "runs.csv").write_text(f"seed,run\n0,{spec_of(0).id}\n")
    assert estimate(Named(), Order("quick"), store, None, [tmp_path]).cpu_hours == pytest.approx(0.02)


def test_a_damaged_result_or_one_without_training_is_passed_over(store, tmp_path):
    result(tmp_path / "a", 0.0)
    (tmp_path / "b" / "small" / "quick").mkdir(parents=True)
    (tmp_path / "b" / "small" / "quick" / "result.json").write_text("{")
    assert estimate(Named(), Order("quick"), store, None, [tmp_path / "a", tmp_path / "b"]).source == TIMED_HERE


def test_timing_stops_with_its_budget(store, monkeypatch):
    class Many(Named):
        def at_most(self, order, done):
            return [Job(f"{n}", spec_of(0, rate=1e-3 * (n + 1)), Schedule.every(5, steps=20)) for n in range(50)]

        plan = at_most

    asked = []

    def timed(job):
        asked.append(job)
        return costs.Cost(1.0, 0.0, 8)

    clock = iter(range(10**6))
    monkeypatch.setattr(costs, "_timed", timed)
    monkeypatch.setattr(costs.time, "monotonic", lambda: 0.6 * next(clock))
    told = estimate(Many(), Order("quick"), store)
    assert 1 <= len(asked) <= 3
    assert told.cpu_hours == pytest.approx(50 * 20 / 3600)
    assert told.bytes == 50 * 2 * 8


def test_a_grid_that_begins_with_its_cheapest_runs_is_not_taken_for_cheap(store, monkeypatch):
    class Grid(Named):
        def at_most(self, order, done):
            return [Job(f"{n}", spec_of(0, rate=1e-3 * (n + 1)), Schedule.every(5, steps=20)) for n in range(50)]

        plan = at_most

    clock = iter(range(10**6))
    monkeypatch.setattr(costs, "_timed", lambda job: costs.Cost(float(job.label), 0.0, 8))
    monkeypatch.setattr(costs.time, "monotonic", lambda: 0.3 * next(clock))  # six of the 50 are timed
    spent = sum(20 * n for n in range(50)) / 3600
    assert estimate(Grid(), Order("quick"), store).cpu_hours == pytest.approx(spent, rel=0.3)


def test_another_sort_of_network_is_no_measure_of_ones_own(store, monkeypatch):
    """As in the main table: one cheap proxy of many updates, some expensive translators."""
    lstm, gru = spec_of(0), spec_of(0).model_copy(update={"model": Seq2SeqSpec(cell="gru", hidden=8)})
    topics = RunSpec(task=TopicsSpec(), model=TopicModelSpec(), batch=None, init_seed=0, data_seed=0)

    class Mixed(Named):
        def at_most(self, order, done):
            cheap = Job("cheap", topics, Schedule.every(100, steps=1000))
            return [cheap, *(Job("dear", one, Schedule.every(5, steps=20)) for one in (lstm, gru))]

        plan = at_most

    clock = iter(range(10**6))
    price = {"topics": 0.001, "copying": 10.0}
    monkeypatch.setattr(costs, "_timed", lambda job: costs.Cost(price[job.spec.task.kind], 0.0, 8))
    monkeypatch.setattr(costs.time, "monotonic", lambda: 10.0 * next(clock))  # no time for more than one of each sort
    assert estimate(Mixed(), Order("quick"), store).cpu_hours == pytest.approx((1 + 40 * 10) / 3600)
