"""Runs as bytes: whole or refused, in their folder or not at all."""

import hashlib
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs.small import proxy_spec

from attnlab import files
from attnlab.errors import AttnlabError, ForeignFile, StoreError
from attnlab.runs.loop import finished, train
from attnlab.runs.parcel import Parcel, collect, lay_out, pack, receive, unpack
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore, StoreWarning

RUN = "0123456789abcdef"
SCHEDULE = Schedule.every(4, steps=12, checkpoint_every=4, keep=True)
NAMES = ["spec.json", "metrics.parquet", "checkpoints/0/tensors.safetensors", "fields/12.parquet"]


def bits(store):
    return {
        str(path.relative_to(store.root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in store.root.rglob("*")
        if path.is_file() and ".locks" not in path.parts
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run with fields, and its store."""
    store = RunStore(tmp_path_factory.mktemp("trained"))
    train(proxy_spec(), SCHEDULE, store)
    return store, store.run(proxy_spec().id)


@given(st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=200)), st.lists(st.integers(0, 10**6), max_size=3))
def test_what_is_packed_is_unpacked(contents, steps):
    parcel = Parcel(RUN, contents, tuple(steps))
    assert unpack(pack(parcel)) == parcel


@given(st.data())
def test_one_altered_byte_is_noticed(data):
    whole = pack(Parcel(RUN, {"spec.json": b"abc", "fields/0.parquet": b"\0" * 40}, (0,)))
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(AttnlabError):
        unpack(bytes(damaged))
    with pytest.raises(AttnlabError):
        unpack(whole[:place])
    with pytest.raises(AttnlabError):
        unpack(whole + b"x")


@pytest.mark.parametrize(
    "name",
    [
        "../spec.json",
        "/etc/passwd",
        "checkpoints/../../spec.json",
        "checkpoints/0/x.pt",
        "checkpoints/00/record.json",
        "fields/-1.parquet",
        "spec.json\n",
        "spec.json/",
        "",
    ],
)
def test_no_name_leaves_its_folder(name):
    with pytest.raises(StoreError, match="is no file of a run"):
        unpack(pack(Parcel(RUN, {name: b""}, ())))


@pytest.mark.parametrize("run", ["..", "a/b", "", "CON", ".locks"])
def test_no_run_leaves_its_store(run):
    with pytest.raises(AttnlabError):
        unpack(pack(Parcel(run, {}, ())))


def test_a_run_arrives_as_it_was_sent(trained, tmp_path):
    store, run = trained
    home = RunStore(tmp_path)
    receive(unpack(pack(collect(run))), home)
    assert bits(home) == bits(store)
    assert finished(proxy_spec(), SCHEDULE, home) is not None
    assert home.verify() == []


def test_what_was_sent_is_not_sent_again(trained):
    _, run = trained
    seen = {}
    assert collect(run, seen).files
    assert not collect(run, seen).files
    assert collect(run, seen).steps == tuple(run.steps())


def test_checkpoints_that_the_sender_dropped_are_dropped(trained, tmp_path):
    _, run = trained
    home, parcel = RunStore(tmp_path), collect(run)
    receive(parcel, home)
    assert home.run(run.id).steps() == [0, 4, 8, 12]
    last = {name: data for name, data in parcel.files.items() if name.startswith("checkpoints/12")}
    receive(Parcel(run.id, last, (8, 12)), home)
    assert home.run(run.id).steps() == [8, 12]


@pytest.mark.parametrize(
    "name", ["metrics.parquet", "fields/4.parquet", "checkpoints/8/record.json", "spec.json", "status.json"]
)
def test_a_damaged_file_in_a_whole_parcel_changes_nothing(name, trained, tmp_path):
    """Its header agrees with it; the store's own seals and manifests do not."""
    _, run = trained
    whole = collect(run)
    damaged = bytearray(whole.files[name])
    damaged[len(damaged) // 2] ^= 4
    home = RunStore(tmp_path)
    with pytest.raises(StoreError):
        receive(unpack(pack(Parcel(run.id, {**whole.files, name: bytes(damaged)}, whole.steps))), home)
    assert bits(home) == {}


def test_another_runs_files_are_refused(trained, tmp_path):
    _, run = trained
    with pytest.raises(ForeignFile):
        receive(Parcel(RUN, collect(run).files, ()), RunStore(tmp_path))
    assert bits(RunStore(tmp_path)) == {}


def test_training_goes_on_from_a_parcel_to_the_same_bits(trained, tmp_path):
    store, run = trained
    parts = collect(run).files
    early = {name: data for name, data in parts.items() if name.endswith(".json") and "/" not in name}
    early |= {name: data for name, data in parts.items() if name.startswith(("checkpoints/0", "checkpoints/4"))}
    early |= {name: data for name, data in parts.items() if name in ("fields/0.parquet", "fields/4.parquet")}
    del early["status.json"]
    lay_out(unpack(pack(Parcel(run.id, early, (0, 4)))), tmp_path)
    far = RunStore(tmp_path)
    with pytest.warns(StoreWarning, match=r"metrics\.parquet is missing; when the run goes on, the checkpoint gives"):
        train(proxy_spec(), SCHEDULE, far)
    different = {name for name, value in bits(far).items() if bits(store).get(name) != value}
    assert {files.as_path(name).name for name in different} <= {"timing.json"}
    shutil.rmtree(tmp_path / ".locks")
