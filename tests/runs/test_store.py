"""The run store through its public interface: what is written comes back, and only what is asked for is dropped."""

import json
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnlab.errors import DamagedCheckpoint, StoreError, UsageError
from attnlab.runs.checkpoint import Checkpoint
from attnlab.runs.store import Run, RunStore, StoreWarning

SPEC = {"task": {"name": "copying", "length": 4}, "rate": 1e-3, "init_seed": 0}
ENVIRONMENT = {"torch": "2.13.0", "threads": 1}
RUN_ID = "5f3a9c01d2e4"

anywhere = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def state(step: int, shift: float = 0.0) -> Checkpoint:
    rows = [{"step": s, "loss": 1 / (s + 1) + shift} for s in range(0, step + 1, 10)]
    return Checkpoint(step, {"model.weight": torch.arange(50.0) + step + shift}, {"metrics": rows})


def assert_state(loaded: Checkpoint | None, expected: Checkpoint) -> None:
    assert loaded is not None
    assert (loaded.step, loaded.record) == (expected.step, expected.record)
    assert loaded.tensors.keys() == expected.tensors.keys()
    assert all(torch.equal(loaded.tensors[name], tensor) for name, tensor in expected.tensors.items())


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


@pytest.fixture
def run(store: RunStore) -> Run:
    """A run with everything a run can have."""
    run = store.run(RUN_ID)
    run.begin(SPEC, ENVIRONMENT)
    for step in (10, 20):
        run.save(state(step))
        run.write_fields(step, pa.table({"alpha": [0.25, 0.75]}))
    run.write_metrics(state(20).record["metrics"])
    run.write_timing({"seconds": 1.5})
    run.set_status("finished", 20)
    return run


def test_nothing_is_created_until_something_is_written(store: RunStore) -> None:
    run = store.run(RUN_ID)
    assert not run.exists()
    assert not run.is_locked()
    assert (run.steps(), run.latest(), run.metrics(), run.status(), run.timing()) == ([], None, [], None, {})
    assert (store.runs(), store.ids(), store.verify(), run.size()) == ([], [], [], 0)
    assert not store.root.exists()


def test_what_is_written_comes_back_from_a_new_handle(store: RunStore, run: Run) -> None:
    again = RunStore(str(store.root)).existing(RUN_ID)
    assert again.exists()
    assert (again.spec(), again.environment(), again.timing()) == (SPEC, ENVIRONMENT, {"seconds": 1.5})
    assert again.status() == {"status": "finished", "step": 20, "message": ""}
    assert again.metrics() == state(20).record["metrics"]
    assert again.field_steps() == [10, 20]
    assert again.fields(20).equals(pa.table({"alpha": [0.25, 0.75]}))
    assert again.steps() == [10, 20]
    assert_state(again.load(10), state(10))
    assert_state(again.latest(), state(20))
    assert_state(again.latest(at_most=19), state(10))
    assert again.latest(at_most=9) is None
    assert again.verify() == []
    assert again.size() == sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())


def test_the_folder_is_as_documented(run: Run) -> None:
    found = {path.relative_to(run.path).as_posix() for path in run.path.rglob("*") if path.is_file()}
    checkpoints = {
        f"checkpoints/{step}/{name}"
        for step in (10, 20)
        for name in ("tensors.safetensors", "record.json", "manifest.json")
    }
    documents = {"spec.json", "environment.json", "status.json", "timing.json", "metrics.parquet"}
    assert found == checkpoints | documents | {"fields/10.parquet", "fields/20.parquet"}
    written = json.loads((run.path / "spec.json").read_text())
    assert written.pop("seal").startswith("attnlab-sha256:")
    assert written == SPEC


def test_beginning_again_changes_nothing_and_another_spec_is_refused(run: Run) -> None:
    before = {name: (run.path / name).read_bytes() for name in ("spec.json", "environment.json")}
    run.begin(dict(reversed(SPEC.items())), {"torch": "another"})
    with pytest.raises(StoreError, match=r"spec\.json describes another run"):
        run.begin({**SPEC, "init_seed": 1}, ENVIRONMENT)
    assert {name: (run.path / name).read_bytes() for name in before} == before


# --- ids


@pytest.mark.parametrize("run_id", ["5f3a9c01", "a", "demo-run-2", "0" * 64, "console", "com"])
def test_plain_ids_are_taken(store: RunStore, run_id: str) -> None:
    assert store.run(run_id).path == store.root / run_id


@pytest.mark.parametrize(
    "run_id",
    ["", ".", "..", "../x", "a/b", "a\\b", "/etc", "C:x", "a.", "a b", "-x", "A", "é", "x\n", "x\0", "con", "lpt1",
     "a" * 65, ".locks", "~"],
)  # fmt: skip
def test_ids_that_could_leave_the_folder_are_refused(store: RunStore, run_id: str) -> None:
    for use in (store.run, store.existing, store.remove):
        with pytest.raises(UsageError):
            use(run_id)


@given(run_id=st.text(st.characters() | st.sampled_from("abc019./\\-:~ "), max_size=70))
def test_no_text_leads_outside_the_store(run_id: str) -> None:
    root = Path("root", "runs")
    try:
        path = RunStore(root).run(run_id).path
    except UsageError:
        return
    assert os.path.normpath(path) == str(path)
    assert path.parent == root
    assert path.name == run_id


@pytest.mark.parametrize("link", [RUN_ID, f"{RUN_ID}/checkpoints", f"{RUN_ID}/fields", ".locks"])
def test_links_that_lead_elsewhere_are_refused(store: RunStore, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    path = store.root / link
    path.parent.mkdir(parents=True)
    try:
        path.symlink_to(outside, target_is_directory=True)
    except OSError:
        pytest.skip("links may not be made here: on Windows, switch developer mode on")
    for use in (store.run, store.remove):
        with pytest.raises(UsageError):
            use(RUN_ID)
    assert [file.name for file in outside.iterdir()] == ["precious"]


def test_a_store_reached_through_a_link_works(run: Run, store: RunStore, tmp_path: Path) -> None:
    link = tmp_path / "link"
    try:
        link.symlink_to(store.root, target_is_directory=True)
    except OSError:
        pytest.skip("links may not be made here: on Windows, switch developer mode on")
    assert_state(RunStore(link).existing(RUN_ID).latest(), state(20))


def test_a_run_is_found_by_the_beginning_of_its_id(store: RunStore, run: Run) -> None:
    store.run("5f3a9c77aaaa").begin({}, {})
    assert store.existing("5f3a9c0").id == RUN_ID
    assert store.existing(RUN_ID).id == RUN_ID
    with pytest.raises(UsageError, match="begins the ids of 2 runs: 5f3a9c01d2e4, 5f3a9c77aaaa"):
        store.existing("5f3a")
    with pytest.raises(UsageError, match="There is no run '5f3'"):  # too short to be meant as a beginning
        store.existing("5f3")
    with pytest.raises(UsageError, match="it has 5f3a9c01d2e4"):  # a slip of the finger
        store.existing("5f3a9c01d2e5")
    with pytest.raises(UsageError, match="has no runs"):
        RunStore(store.root / "nowhere").existing(RUN_ID)


def test_an_id_that_begins_another_is_itself(store: RunStore) -> None:
    for run_id in ("demo", "demo-2"):
        store.run(run_id).begin({}, {})
    assert store.existing("demo").id == "demo"


def test_runs_are_those_with_a_readable_spec(store: RunStore, run: Run) -> None:
    store.run("begun").begin({}, {})
    store.run("begun-not").set_status("running", 0)
    (store.root / "Notes").mkdir()
    (store.root / "stray").write_text("a file")
    assert [run.id for run in store.runs()] == [RUN_ID, "begun"]
    assert store.ids() == [RUN_ID, "begun", "begun-not"]
    assert [problem.run_id for problem in store.verify()] == ["begun-not", "begun-not"]


def test_a_removed_run_is_gone_and_can_be_begun_anew(store: RunStore, run: Run) -> None:
    store.run("other").begin({}, {})
    store.remove("5f3a9c")
    assert store.ids() == ["other"]
    assert sorted(path.name for path in store.root.iterdir()) == [".locks", "other"]
    run.begin({"another": True}, {})
    assert (run.spec(), run.latest(), store.verify()) == ({"another": True}, None, [])


def test_an_interrupted_removal_is_reported_and_finished_by_the_next(store: RunStore, run: Run) -> None:
    store.run("other").begin({}, {})
    run.path.rename(store.root / f".old-{RUN_ID}")
    assert [problem.path.name for problem in store.verify()] == [f".old-{RUN_ID}"]
    store.remove("other")
    assert [path.name for path in store.root.iterdir()] == [".locks"]


# --- checkpoints


@given(
    increments=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    keep=st.integers(1, 3),
    pinned=st.sets(st.integers(0, 40)),
)
@settings(anywhere, max_examples=25)
def test_the_last_checkpoints_and_the_pinned_ones_are_kept(
    tmp_path_factory: pytest.TempPathFactory, increments: list[int], keep: int, pinned: set[int]
) -> None:
    run = RunStore(tmp_path_factory.mktemp("store")).run("run")
    steps = [sum(increments[: end + 1]) for end in range(len(increments))]
    for step in steps:
        run.save(Checkpoint(step, {}, {}), keep=keep, pinned=pinned)
    assert run.steps() == [step for step in steps if step in steps[-keep:] or step in pinned]


def test_a_checkpoint_saved_behind_the_newest_drops_only_what_is_older(run: Run) -> None:
    run.save(state(15), keep=1)
    assert run.steps() == [15, 20]


def test_keeping_none_is_refused(run: Run) -> None:
    with pytest.raises(UsageError, match="keep is 0"):
        run.save(state(30), keep=0)
    assert run.steps() == [10, 20]


def test_an_unknown_step_is_named_with_the_known_ones(run: Run) -> None:
    with pytest.raises(StoreError, match=r"no checkpoint of step 11; it has \[10, 20\]"):
        run.load(11)


def test_damaged_checkpoints_are_passed_over_with_a_sentence(run: Run) -> None:
    run.save(state(30), keep=9)
    (run.path / "checkpoints/30/tensors.safetensors").write_bytes(b"")
    (run.path / "checkpoints/20/manifest.json").unlink()
    assert run.steps() == [10]
    with pytest.raises(DamagedCheckpoint):
        run.load(30)
    with pytest.warns(StoreWarning) as caught:
        assert_state(run.latest(), state(10))
    messages = [str(warning.message) for warning in caught]
    assert [name in message for name, message in zip(["30/tens", "20/mani"], messages, strict=True)] == [True, True]
    assert all(message.endswith("; the checkpoint of step 10 is used.") for message in messages)
    assert {problem.path for problem in run.verify()} == {
        run.path / "checkpoints/20/manifest.json",
        run.path / "checkpoints/30/tensors.safetensors",
    }


def test_where_no_checkpoint_is_whole_there_is_none(run: Run) -> None:
    for step in (10, 20):
        (run.path / f"checkpoints/{step}/record.json").write_bytes(b"{}")
    with pytest.warns(StoreWarning, match="no whole checkpoint is left"):
        assert run.latest() is None


def test_leftovers_of_a_killed_process_are_reported_and_cleared_by_the_next_save(run: Run) -> None:
    (run.path / "checkpoints/.new-30").mkdir()
    (run.path / "checkpoints/.new-30/tensors.safetensors").write_bytes(b"half")
    (run.path / ".new-metrics.parquet").write_bytes(b"half")
    (run.path / "fields/.new-30.parquet").write_bytes(b"half")
    names = {".new-30", ".new-metrics.parquet", ".new-30.parquet"}
    assert {problem.path.name for problem in run.verify()} == names
    with run.locked():  # whoever holds the run may be writing them just now
        assert run.is_locked()
        assert run.verify() == []
    run.write_metrics(state(30).record["metrics"])
    run.save(state(30))
    assert run.verify() == []


# --- tables

rows_of_metrics = st.lists(
    st.dictionaries(st.sampled_from(["loss", "accuracy", "entropy"]), st.floats() | st.integers(-9, 9)), max_size=6
).map(lambda rows: [{"step": 3 * index, **row} for index, row in enumerate(rows)])


@given(rows=rows_of_metrics, data=st.data())
@settings(anywhere, max_examples=40)
def test_metrics_come_back_by_step_and_the_same_rows_give_the_same_bytes(
    tmp_path: Path, rows: list[dict[str, float | int]], data: st.DataObject
) -> None:
    run = RunStore(tmp_path).run("metrics")
    run.write_metrics(rows)
    first = (run.path / "metrics.parquet").read_bytes()
    told = [{name: repr(float(value)) for name, value in row.items()} for row in run.metrics()]
    assert told == [{name: repr(float(value)) for name, value in row.items()} for row in rows]
    run.write_metrics(data.draw(st.permutations(rows)))
    assert (run.path / "metrics.parquet").read_bytes() == first


def test_metrics_are_plain_parquet_for_other_readers(run: Run) -> None:
    table = pq.read_table(run.path / "metrics.parquet", page_checksum_verification=True)
    assert table.column_names == ["step", "loss"]
    assert table["step"].to_pylist() == [0, 10, 20]


def test_metrics_that_disagree_with_the_checkpoint_are_reported(run: Run) -> None:
    rows = state(20).record["metrics"]
    run.write_metrics([*rows, {"step": 30, "loss": math.nan}])  # ahead: killed before the next checkpoint
    assert run.verify() == []
    run.write_metrics([{"step": 5, "loss": 2.0}, *rows])  # with a row of another schedule
    assert run.verify() == []
    run.write_metrics(rows[:2])  # older, though metrics are written before a checkpoint
    assert [fault.sentence.split(" ", 1)[1] for fault in run.verify()] == ["lacks rows in the newest checkpoint."]
    run.write_metrics([rows[0], {**rows[1], "loss": 0.5}, rows[2]])
    assert [problem.sentence.split(" ", 1)[1] for problem in run.verify()] == [
        "disagrees with the rows in the newest checkpoint."
    ]
    (run.path / "metrics.parquet").unlink()
    assert [problem.sentence.split(" ", 1)[1] for problem in run.verify()] == ["is missing."]


def test_fields_keep_their_types_and_metadata(run: Run) -> None:
    lists = pa.array([[1.0], [], [2.0, 3.0]], pa.large_list(pa.float32()))
    table = pa.table({"alpha": lists, "word": pa.array(["a", "b", "a"]).dictionary_encode()})
    table = table.replace_schema_metadata({"unit": "probability"})
    run.write_fields(30, table)
    assert run.fields(30).schema.equals(table.schema, check_metadata=True)
    assert run.fields(30).equals(table)
    with pytest.raises(StoreError, match=r"31\.parquet is missing"):
        run.fields(31)


# --- damage outside the checkpoints

READERS: dict[str, Callable[[Run], object]] = {
    "spec.json": Run.spec,
    "environment.json": Run.environment,
    "status.json": Run.status,
    "timing.json": Run.timing,
    "metrics.parquet": Run.metrics,
    "fields/10.parquet": lambda run: run.fields(10),
}


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(anywhere, max_examples=25)
def test_an_altered_file_is_never_taken_for_a_whole_one(run: Run, name: str, data: st.DataObject) -> None:
    path = run.path / name
    whole = path.read_bytes()
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    for altered in (bytes(flipped), whole[: bit // 8], b""):
        path.write_bytes(altered)
        assert [problem.path for problem in run.verify()] == [path]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                assert not READERS[name](run)  # nothing: None, {} or []
                message = str(caught[0].message)
            except StoreError as fault:
                message = str(fault)
        assert str(path) in message
        assert message.endswith(".")
    path.write_bytes(whole)
    assert run.verify() == []


def test_damaged_documents_are_written_anew_when_the_run_begins_again(run: Run) -> None:
    for name in ("spec.json", "environment.json"):
        (run.path / name).write_bytes(b"{}")
    with pytest.warns(StoreWarning, match="it is written anew"):
        run.begin(SPEC, ENVIRONMENT)
    assert (run.spec(), run.environment(), run.verify()) == (SPEC, ENVIRONMENT, [])


@pytest.mark.parametrize("name", ["spec.json", "environment.json"])
def test_a_missing_document_is_reported(run: Run, name: str) -> None:
    (run.path / name).unlink()
    assert [problem.sentence for problem in run.verify()] == [f"{run.path / name} is missing."]
