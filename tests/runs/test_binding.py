"""Every file says which run and step it is of: what was copied from another run is named, and never relied on."""

import json
import shutil
import warnings

import pytest
from tests.runs.small import proxy_spec

from attnlab.errors import ForeignFile, StoreError
from attnlab.files import to_sealed_json
from attnlab.runs.loop import finished, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore, StoreWarning
from attnlab.runs.tables import from_parquet, owner, to_parquet

SCHEDULE = Schedule.every(5, steps=10, checkpoint_every=5)
LONGER = Schedule.every(5, steps=15, checkpoint_every=5)


@pytest.fixture
def pair(store):
    """Two finished runs that differ in their seeds."""
    specs = [proxy_spec(seed) for seed in (0, 1)]
    for spec in specs:
        train(spec, SCHEDULE, store)
    assert store.verify() == []
    return specs


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("checkpoints/10", "checkpoints/10"),
        ("checkpoints/5", "checkpoints/5"),
        ("metrics.parquet", "metrics.parquet"),
        ("fields/10.parquet", "fields/10.parquet"),
        ("fields/0.parquet", "fields/0.parquet"),
    ],
)
def test_a_file_of_another_run_is_named_and_refused(pair, store, source, target):
    one, other = (store.run(spec.id).path for spec in pair)
    path = one / target
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(other / source, path) if (other / source).is_dir() else shutil.copy(other / source, path)
    (problem,) = store.verify()
    assert problem.path.is_relative_to(path)
    assert f"belongs to run {pair[1].id!r}, not to {pair[0].id}" in problem.sentence
    with pytest.raises(ForeignFile, match=r"belongs to run .* it was copied"):
        train(pair[0], LONGER, store)
    with pytest.raises(ForeignFile, match=r"belongs to run"):
        train(pair[0], SCHEDULE, store)


@pytest.mark.parametrize("name", ["status.json", "timing.json", "environment.json"])
def test_a_document_of_another_run_is_named_and_not_relied_on(pair, store, name):
    one, other = (store.run(spec.id).path for spec in pair)
    shutil.copy(other / name, one / name)
    assert [problem.path for problem in store.verify()] == [one / name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(pair[0], LONGER, store)
    assert f"{name} belongs to run" in str(caught[0].message)
    assert store.verify() == []


def test_fields_under_another_steps_name_are_named_and_refused(pair, store):
    run = store.run(pair[0].id)
    shutil.copy(run.path / "fields/10.parquet", run.path / "fields/5.parquet")
    assert ["belongs to step '10'" in problem.sentence for problem in store.verify()] == [True]
    with pytest.raises(ForeignFile, match="step '10'"):
        run.fields(5)


@pytest.mark.filterwarnings("ignore::attnlab.runs.store.StoreWarning")
def test_a_run_under_another_id_is_named_refused_and_not_finished(store):
    specs = [proxy_spec(seed) for seed in (0, 1)]
    train(specs[0], SCHEDULE, store)
    shutil.copytree(store.run(specs[0].id).path, store.run(specs[1].id).path)
    named = {problem.path.name for problem in store.verify()}
    assert {"spec.json", "metrics.parquet", "manifest.json", "10.parquet", "status.json"} <= named
    assert finished(specs[1], SCHEDULE, store) is None
    with pytest.raises(StoreError, match=r"another run|belongs to run"):
        train(specs[1], SCHEDULE, store)


def test_another_runs_spec_is_named_and_its_run_is_not_finished(pair, store):
    one, other = (store.run(spec.id).path for spec in pair)
    shutil.copy(other / "spec.json", one / "spec.json")
    assert [problem.path for problem in store.verify()] == [one / "spec.json"]
    assert finished(pair[0], SCHEDULE, store) is None
    with pytest.raises(StoreError, match=r"spec\.json describes another run"):
        train(pair[0], SCHEDULE, store)


def unbind(store: RunStore) -> None:
    """Make all files as versions before wrote them: without their run."""
    for path in store.root.rglob("*.parquet"):
        path.write_bytes(to_parquet(from_parquet(path.read_bytes())))
    for path in store.root.rglob("*.json"):
        if path.name not in ("spec.json", "record.json"):
            document = json.loads(path.read_bytes())
            path.write_bytes(to_sealed_json({key: document[key] for key in document if key not in ("run", "seal")}))


def test_a_store_of_before_is_read_called_unbound_and_bound(pair, store):
    before = [finished(spec, SCHEDULE, store) for spec in pair]
    assert None not in before
    unbind(store)
    assert [finished(spec, SCHEDULE, store) for spec in pair] == before
    problems = store.verify()
    assert [problem.run_id for problem in problems] == sorted(spec.id for spec in pair)
    assert all("is unbound" in problem.sentence and "--bind" in problem.sentence for problem in problems)
    assert sum(store.run(spec.id).bind() for spec in pair) == 2 * (3 + 1 + 3 + 2)  # documents, metrics, fields, states
    assert store.verify() == []
    assert sum(store.run(spec.id).bind() for spec in pair) == 0
    assert [finished(spec, SCHEDULE, store) for spec in pair] == before


def test_a_run_of_before_goes_on_to_the_same_bits(pair, store, tmp_path):
    unbind(store)
    whole = RunStore(tmp_path / "whole")
    for place in (store, whole):
        train(pair[0], LONGER, place)
    for name in ("metrics.parquet", "checkpoints/15/tensors.safetensors", "checkpoints/15/record.json"):
        assert (store.run(pair[0].id).path / name).read_bytes() == (whole.run(pair[0].id).path / name).read_bytes()


def test_what_does_not_agree_is_not_bound(pair, store):
    """A checkpoint of another run, from before files said so, shows by the metrics in it."""
    unbind(store)
    one, other = (store.run(spec.id) for spec in pair)
    shutil.rmtree(one.path / "checkpoints/10")
    shutil.copytree(other.path / "checkpoints/10", one.path / "checkpoints/10")
    assert one.bind() == 0
    assert any("disagrees with the rows" in problem.sentence for problem in one.verify())


@pytest.mark.parametrize("left", [0, 1, 2])
def test_metrics_that_have_lost_rows_are_named_and_made_again(pair, store, left):
    one = store.run(pair[0].id)
    path = one.path / "metrics.parquet"
    table = from_parquet(path.read_bytes())
    path.write_bytes(to_parquet(table.slice(0, left), owner(one.id)))
    assert f"{path} lacks rows in the newest checkpoint." in [fault.sentence for fault in one.verify()]
    with pytest.warns(StoreWarning, match=r"metrics\.parquet lacks rows that .*record\.json has; when the run goes on"):
        assert one.metrics() == []
    with pytest.warns(StoreWarning, match="lacks rows"):
        train(pair[0], SCHEDULE, store)
    assert one.verify() == []
    assert one.metrics() == table.to_pylist()
