"""A stranger's store: links out of it, and files that are correctly sealed but not what they should be."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from safetensors.torch import save
from typer.testing import CliRunner

from attnlab.cli.store import app
from attnlab.errors import AttnlabError, StoreError
from attnlab.files import sha256, to_json, to_sealed_json
from attnlab.runs.loop import finished, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import Run, RunStore, StoreWarning
from attnlab.runs.tables import to_parquet

SCHEDULE = Schedule.every(5, steps=10, checkpoint_every=5)
needs_unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes: run it on Linux or macOS")


@pytest.fixture
def run(spec, store) -> Run:
    train(spec, SCHEDULE, store)
    assert store.verify() == []
    return store.run(spec.id)


def command(store: RunStore, *words: str) -> tuple[int, str]:
    """Exit code and what is said by ``attnlab store``: nothing but one of our errors may leave it."""
    done = CliRunner().invoke(app, [*words, "--store", str(store.root)], env={"COLUMNS": "300"})
    if isinstance(done.exception, AttnlabError):
        return done.exception.exit_code, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout


def verified(store: RunStore) -> str:
    code, said = command(store, "verify")
    assert code == 1
    return said


def assert_survived(spec, store, path: Path) -> None:
    """It is named by verify; every command ends in a sentence; training goes on without it or refuses in one."""
    assert str(path) in verified(store)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for words in (["list"], ["show", spec.id], ["show", spec.id, "--json"], ["list", "--json"]):
            assert command(store, *words)[0] in (0, 1)
        try:
            train(spec, Schedule.every(5, steps=15, checkpoint_every=5), store)
            told = " ".join(str(one.message) for one in caught)
            assert store.run(spec.id).metrics()[-1]["step"] == 15
        except AttnlabError as error:
            told = str(error)
    assert str(path) in told


# --- links and what is no file


@needs_unix
@pytest.mark.parametrize("name", [".holder", ".lock"])
def test_no_file_of_the_users_is_written_through_a_lock(spec, store, tmp_path, name):
    """In a process of its own, as a user would train into a store that was sent to them."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    locks = store.root / ".locks"
    locks.mkdir(parents=True)
    (locks / f"{spec.id}{name}").symlink_to(precious)
    body = "import sys; from attnlab.runs.store import RunStore; RunStore(sys.argv[1]).run(sys.argv[2]).begin({}, {})"
    done = subprocess.run([sys.executable, "-c", body, str(store.root), spec.id], capture_output=True, text=True)
    assert precious.read_text() == "mine"
    assert done.returncode == 0 if name == ".holder" else f"{spec.id}.lock is no plain file" in done.stderr
    assert precious.exists()


@needs_unix
def test_no_temporary_file_is_written_through_a_link(run, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in (".new-status.json", ".new-metrics.parquet", ".new-timing.json"):
        (run.path / name).symlink_to(precious)
    run.set_status("finished", 10)
    run.write_timing({})
    run.write_metrics([])
    assert precious.read_text() == "mine"


@needs_unix
def test_a_linked_run_does_not_hide_the_others(run, store, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (store.root / "abcd").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    code, listed = command(store, "list")
    assert code == 0
    assert run.id in listed
    assert "1 more cannot be read" in listed
    assert f"{store.root / 'abcd'} is a link to another place" in verified(store)


KINDS = {
    "a pipe": os.mkfifo if hasattr(os, "mkfifo") else None,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link": lambda path: path.symlink_to(path.with_name("spec.json")),
    "a folder": Path.mkdir,
}
STATE = ["manifest.json", "record.json", "tensors.safetensors"]
PLACES = ["spec.json", "environment.json", "status.json", "timing.json", "metrics.parquet"]
PLACES += [f"checkpoints/10/{name}" for name in STATE]


@needs_unix
@pytest.mark.filterwarnings("ignore::attnlab.runs.store.StoreWarning")  # by list, which goes on without the file
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_file_is_named_and_not_read(run, store, kind):
    for name in PLACES:
        path = run.path / name
        whole = path.read_bytes()
        path.unlink()
        KINDS[kind](path)
        assert str(path) in verified(store)
        assert command(store, "list")[0] == 0
        path.rmdir() if path.is_dir() else path.unlink()
        path.write_bytes(whole)
    assert store.verify() == []


@needs_unix
def test_a_linked_checkpoint_is_named_and_its_place_left_alone(spec, run, store, tmp_path):
    outside = (run.path / "checkpoints/10").rename(tmp_path / "outside")
    (run.path / "checkpoints/10").symlink_to(outside, target_is_directory=True)
    assert_survived(spec, store, run.path / "checkpoints/10")
    assert sorted(path.name for path in outside.iterdir()) == ["manifest.json", "record.json", "tensors.safetensors"]


# --- sealed, and not what it should be

DEEP = b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b',"seal":"attnlab-sha256:' + b"0" * 64 + b'"}'


def sealed_bytes(data: bytes) -> bytes:
    return data.replace(b"0" * 64, sha256(data).encode())


def put_state(run: Run, name: str, data: bytes) -> Path:
    """Write a file of the newest checkpoint and a manifest that says it is right."""
    place = run.path / "checkpoints/10"
    (place / name).write_bytes(data)
    manifest = json.loads((place / "manifest.json").read_bytes())
    del manifest["seal"]
    manifest["files"][name] = {"bytes": len(data), "sha256": sha256(data)}
    (place / "manifest.json").write_bytes(to_sealed_json(manifest))
    return place / name


def document(name: str, **content: object):
    def craft(run: Run) -> Path:
        (run.path / name).write_bytes(to_sealed_json(content))
        return run.path / name

    return craft


def raw(name: str, data: bytes):
    def craft(run: Run) -> Path:
        (run.path / name).write_bytes(data)
        return run.path / name

    return craft


def manifest(**changes: object):
    def craft(run: Run) -> Path:
        path = run.path / "checkpoints/10/manifest.json"
        content = json.loads(path.read_bytes()) | changes
        path.write_bytes(to_sealed_json({key: value for key, value in content.items() if key != "seal"}))
        return path

    return craft


def record(value: object):
    return lambda run: put_state(run, "record.json", to_json(value))


def tensors(make):
    return lambda run: put_state(run, "tensors.safetensors", make(run.load(10).tensors))


def header(value: object, body: bytes = b"") -> bytes:
    text = json.dumps(value).encode()
    return len(text).to_bytes(8, "little") + text + body


def metrics(table: pa.Table):
    return raw("metrics.parquet", to_parquet(table))


CRAFTED = {
    "a manifest that is a spec": document("checkpoints/10/manifest.json", task={"kind": "copying"}, init_seed=0),
    "a manifest without files": manifest(files={}),
    "a manifest of a list": manifest(files=[1]),
    "a manifest of texts": manifest(files={n: {"bytes": "9", "sha256": 1} for n in STATE}),
    "a manifest of a huge file": lambda run: manifest(
        files={name: {"bytes": 2**60, "sha256": "0"} for name in STATE[1:]}
    )(run).with_name("tensors.safetensors"),
    "a step that is a text": manifest(step="10"),
    "a status without keys": document("status.json"),
    "a status of a list": document("status.json", status=["finished"], step=10, message=""),
    "a status at no step": document("status.json", status="finished", step=-1, message=""),
    "times that are texts": document("timing.json", seconds="long", updates=[]),
    "a spec of nothing": document("spec.json"),
    "a spec of a status": document("spec.json", status="finished", step=3, message=""),
    "a sealed list": raw("status.json", sealed_bytes(b'["attnlab-sha256:' + b"0" * 64 + b'"]')),
    "no JSON": raw("status.json", sealed_bytes(b"attnlab-sha256:" + b"0" * 64)),
    "deep nesting": raw("status.json", sealed_bytes(DEEP)),
    "deep nesting in a spec": raw("spec.json", sealed_bytes(DEEP)),
    "a number of 5000 digits": raw("timing.json", sealed_bytes(b'{"a":' + b"9" * 5000 + DEEP[-90:])),
    "a float that is none": document("environment.json", torch={"$float": ["x"]}),
    "an environment of lists": document("environment.json", torch=["2.13"]),
    "JSON as metrics": document("metrics.parquet", step=1),
    "metrics of texts": metrics(pa.table({"step": ["a"], "loss": ["b"]})),
    "metrics without steps": metrics(pa.table({"loss": [0.5]})),
    "metrics with one step twice": metrics(pa.table({"step": [5, 5]})),
    "metrics of a billion rows": metrics(pa.table({"step": pa.array([0]).take(pa.array([0] * 10_000_001))})),
    "a record that is a list": record([]),
    "a record of other rows": record({"metrics": [{"loss": 1}]}),
    "a record of huge steps": record({"metrics": [{"step": 10**30}]}),
    "a record of later steps": record({"metrics": [{"step": 11, "accuracy": 1.0}]}),
    "a record that is deep": lambda run: put_state(run, "record.json", b"[" * 50_000 + b"]" * 50_000),
    "a header that lies on its length": tensors(lambda _: (2**62).to_bytes(8, "little") + b"{}"),
    "a header that lies on sizes": tensors(
        lambda _: header({"model.w": {"dtype": "F32", "shape": [10**9], "data_offsets": [0, 4 * 10**9]}}, b"1234")
    ),
    "a header of no type": tensors(
        lambda _: header({"w": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}, b"1234")
    ),
    "wrong tensor names": tensors(lambda whole: save({"x" + name: value for name, value in whole.items()})),
    "no optimiser": tensors(
        lambda whole: save({name: value for name, value in whole.items() if not name.startswith("optimiser.exp_avg.")})
    ),
    "wrong shapes": tensors(lambda whole: save({name: torch.zeros(3) for name in whole})),
    "wrong types": tensors(lambda whole: save({name: value.double() for name, value in whole.items()})),
}  # fmt: skip


@pytest.mark.parametrize("kind", CRAFTED)
def test_crafted_files_are_named_and_never_relied_on(spec, run, store, kind):
    assert_survived(spec, store, CRAFTED[kind](run))


@pytest.mark.parametrize("name", ["metrics.parquet", "record.json"])
def test_metrics_that_the_newest_checkpoint_denies_are_used_by_nobody(spec, run, store, name):
    """Each of the two files is sealed rightly, and one number of one of them was altered."""
    rows = run.metrics()
    rows[-1] = {**rows[-1], "accuracy": 0.77}
    if name == "metrics.parquet":
        run.write_metrics(rows)
    else:
        put_state(run, name, to_json({"metrics": rows, "inexact": False}))
    assert str(run.path / "metrics.parquet") in verified(store)
    assert finished(spec, SCHEDULE, store) is None
    sentence = rf"metrics\.parquet disagrees with the rows in .*{run.id}/checkpoints/10/record\.json.*; delete that one"
    for schedule in (SCHEDULE, Schedule.every(5, steps=15, checkpoint_every=5)):
        with pytest.raises(StoreError, match=sentence):
            train(spec, schedule, store)
    with pytest.raises(StoreError, match=sentence):
        run.whole_metrics()
    code, said = command(store, "show", run.id)
    assert code == 1
    assert "disagrees" in said
    # As it says: without the one that is wrong, the run is whole again.
    (run.path / "metrics.parquet" if name == "metrics.parquet" else run.path / "checkpoints/10" / name).unlink()
    with pytest.warns(StoreWarning, match=f"{name} is missing"):
        trained = train(spec, SCHEDULE, store)
    assert trained.rows[-1]["accuracy"] != 0.77
    assert store.verify() == []


def test_a_document_larger_than_any_is_not_read(run, store):
    with (run.path / "status.json").open("wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    assert f"{run.path / 'status.json'} has {2**40} bytes" in verified(store)


def test_verifying_runs_no_code_of_a_strangers(store, tmp_path, monkeypatch):
    """A spec may name a task of the user's own; to look at a store is not to ask for it."""
    (tmp_path / "stranger.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = store.run("ab" * 8)
    task = {"kind": "own", "task": "stranger:Task", "content": "0" * 16}
    run.begin({"task": task, "init_seed": 0, "data_seed": 0}, {})
    verified(store)
    assert not (tmp_path / "ran").exists()
