"""``attnlab store``: list, show, verify and remove, on a real store."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from click.testing import Result
from tests.runs.conftest import small_spec
from typer.testing import CliRunner

from attnlab.cli.store import app
from attnlab.errors import RunBusy, UsageError
from attnlab.files import names_in
from attnlab.runs.checkpoint import Checkpoint
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore, StoreWarning
from attnlab.runs.tables import from_parquet, to_parquet

IDS = ["aaaa0001", "bbbb0002", "cccc0003"]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Three runs that differ in their seeds: one finished, one interrupted, one failed."""
    store = RunStore(tmp_path / "runs")
    states = (("finished", ""), ("running", ""), ("failed", "the loss is [not] finite"))
    for seed, (run_id, (status, message)) in enumerate(zip(IDS, states, strict=True)):
        run = store.run(run_id)
        run.begin({"task": {"name": "copying"}, "init_seed": seed}, {"torch": "2.13.0"})
        run.write_metrics([{"step": 5, "accuracy": 0.5}])
        run.save(Checkpoint(5, {"w": torch.zeros(3)}, {"metrics": [{"step": 5, "accuracy": 0.5}]}))
        run.write_fields(5, pa.table({"alpha": [1.0]}))
        run.set_status(status, 5, message)
    return store


def call(store: RunStore, *words: str, answer: str | None = None) -> Result:
    environment = {"ATTNLAB_STORE": str(store.root), "COLUMNS": "200", "TERM": "dumb"}
    return CliRunner().invoke(app, list(words), env=environment, input=answer, catch_exceptions=False)


def test_list_says_how_runs_stand_and_what_sets_them_apart(store: RunStore) -> None:
    result = call(store, "list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for line, run_id, state, seed in zip(lines[1:], IDS, ("finished", "interrupted", "failed"), range(3), strict=False):
        words = line.split()
        assert words[:3] == [run_id, state, "5"]
        assert words[-1] == f"init_seed={seed}"
    assert "copying" not in result.stdout  # the same in all of them
    assert lines[-1] == f"3 runs in {store.root}."


def test_a_run_that_is_held_is_running(store: RunStore) -> None:
    with store.run(IDS[1]).locked():
        assert call(store, "list").stdout.splitlines()[2].split()[1] == "running"


def test_list_counts_runs_that_cannot_be_read(store: RunStore) -> None:
    (store.run(IDS[0]).path / "spec.json").write_bytes(b"")
    lines = call(store, "list").stdout.splitlines()
    assert lines[-2:] == [
        f"2 runs in {store.root}.",
        "1 more cannot be read; `attnlab store verify` says why.",
    ]
    done = call(store, "list", "--json")
    assert len(json.loads(done.stdout)) == 2
    assert done.stderr == "1 more cannot be read; `attnlab store verify` says why.\n"


def test_an_empty_store_is_listed_and_one_that_is_not_there_cannot_be_verified(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "nothing")
    assert call(store, "list").stdout == f"0 runs in {store.root}.\n"
    assert call(store, "list", "--json").stdout == "[]\n"
    with pytest.raises(UsageError, match="There is no folder"):
        call(store, "verify")
    assert not store.root.exists()
    store.root.mkdir()
    assert call(store, "verify").exit_code == 0


def test_the_option_outranks_the_environment(store: RunStore, tmp_path: Path) -> None:
    assert call(store, "list", "--store", str(tmp_path / "other")).stdout.startswith("0 runs")


def test_list_and_show_as_json(store: RunStore) -> None:
    listed = json.loads(call(store, "list", "--json").stdout)
    assert [run["id"] for run in listed] == IDS
    assert [run["spec"]["init_seed"] for run in listed] == [0, 1, 2]
    shown = json.loads(call(store, "show", "cccc", "--json").stdout)
    assert shown["state"] == "failed"
    assert shown["message"] == "the loss is [not] finite"
    assert (shown["step"], shown["checkpoints"], shown["fields"]) == (5, [5], [5])
    assert shown["bytes"] == store.run(IDS[2]).size()
    assert shown["spec"] == {"task": {"name": "copying"}, "init_seed": 2}
    assert shown["metrics"] == [{"step": 5, "accuracy": 0.5}]


def test_show_tells_settings_state_and_metrics(store: RunStore) -> None:
    rows = [line.split(maxsplit=1) for line in call(store, "show", "cccc0003").stdout.splitlines()]
    for row in (
        ["state", "failed the loss is [not] finite"],
        ["task.name", "copying"],
        ["init_seed", "2"],
        ["torch", "2.13.0"],
        ["accuracy", "0.5"],
    ):
        assert row in [[word.strip() for word in found] for found in rows]


@pytest.mark.parametrize("command", ["show", "verify", "remove"])
def test_an_unknown_run_is_the_users_mistake(store: RunStore, command: str) -> None:
    with pytest.raises(UsageError, match="There is no run 'zzzz'"):
        call(store, command, "zzzz")


def test_verify_names_each_damaged_file_and_fails(store: RunStore) -> None:
    assert call(store, "verify").stdout == f"The store {store.root} (3 runs) is whole.\n"
    damaged = [store.run(IDS[0]).path / "checkpoints/5/record.json", store.run(IDS[2]).path / "metrics.parquet"]
    for path in damaged:
        path.write_bytes(b"")
    result = call(store, "verify")
    assert result.exit_code == 1
    sentences = result.stdout.splitlines()
    assert [sentence.split()[0] for sentence in sentences[:2]] == [str(path) for path in damaged]
    assert sentences[2] == f"The store {store.root} (3 runs): 2 problems."
    one = call(store, "verify", IDS[2], "--json")
    assert one.exit_code == 1
    assert [(problem["run_id"], problem["path"]) for problem in json.loads(one.stdout)] == [(IDS[2], str(damaged[1]))]
    assert call(store, "verify", IDS[1]).exit_code == 0


def test_remove_asks_first(store: RunStore) -> None:
    assert call(store, "remove", IDS[0], answer="n\n").exit_code == 1
    assert call(store, "remove", IDS[0], answer="").exit_code == 1
    assert store.ids() == IDS
    assert call(store, "remove", IDS[0], answer="y\n").exit_code == 0
    assert call(store, "remove", "bbbb", "--yes").stdout.startswith(f"Removed run {IDS[1]}")
    assert store.ids() == IDS[2:]


def test_a_damaged_run_can_be_removed(store: RunStore) -> None:
    (store.run(IDS[0]).path / "spec.json").unlink()
    call(store, "remove", IDS[0], "--yes")
    assert store.ids() == IDS[1:]


def test_removing_a_run_in_use_is_refused_in_another_thread(store: RunStore) -> None:
    with store.run(IDS[0]).locked(), ThreadPoolExecutor(1) as pool, pytest.raises(RunBusy, match=IDS[0]):
        pool.submit(call, store, "remove", IDS[0], "--yes").result()
    assert store.ids() == IDS


def test_a_store_of_before_is_bound_by_verify(store: RunStore) -> None:
    for path in store.root.rglob("metrics.parquet"):
        path.write_bytes(to_parquet(from_parquet(path.read_bytes())))
    before = call(store, "verify")
    assert before.exit_code == 1
    assert before.stdout.count("is unbound: one file does not say") == 3
    bound = call(store, "verify", "--bind")
    assert bound.stdout.splitlines() == ["Bound 3 files to their runs.", f"The store {store.root} (3 runs) is whole."]
    assert call(store, "verify").exit_code == 0


def test_asking_again_for_an_interrupted_removal_ends_it(store: RunStore) -> None:
    store.run(IDS[0]).path.rename(store.root / f".old-{IDS[0]}")
    result = call(store, "remove", IDS[0])
    assert result.stdout == f"Removed what an interrupted removal had left of run {IDS[0]}.\n"
    assert not list(store.root.glob(".old-*"))


def test_verify_says_which_tensors_it_could_not_check(tmp_path: Path) -> None:
    """A run on code of the user's own: to verify it is not to run that code."""
    store = RunStore(tmp_path / "runs")
    spec = small_spec(0)
    train(spec, Schedule.every(5, steps=5), store)
    assert "Not checked" not in call(store, "verify").stdout
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnlab.runs.verify.build_problem", lambda spec: 1 / 0)
        result = call(store, "verify")
    assert result.exit_code == 0
    assert "Not checked: the tensors' names and shapes of 1 kinds of runs" in result.stdout


def test_metrics_that_are_gone_are_not_shown_as_none_in_silence(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "trained")
    run = store.run(train(small_spec(0), Schedule.every(5, steps=5), store).id)
    (run.path / "metrics.parquet").unlink()
    with pytest.warns(StoreWarning, match=r"metrics\.parquet is missing; when the run goes on, the checkpoint gives"):
        assert json.loads(call(store, "show", run.id, "--json").stdout)["metrics"] == []


def test_a_store_that_is_a_link_in_a_circle_is_a_mistake_of_the_call(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(UsageError, match=r"circle cannot be read \(Too many levels"):
        names_in(tmp_path / "circle")
