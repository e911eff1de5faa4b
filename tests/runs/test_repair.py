"""A run that lost a part of itself: it is named by verify, and made again to the same bits by training."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from tests.runs.small import proxy_spec

from attnlab.runs import checkpoint
from attnlab.runs.loop import INEXACT, finished, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import Run, RunStore, StoreWarning
from attnlab.runs.tables import owner, to_parquet

ROOT = Path(__file__).parents[2]
SCHEDULE = Schedule.every(5, steps=20, checkpoint_every=5)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def odd_fields(path: Path, step: int) -> None:
    """Sealed and marked rightly, and of another form."""
    data = to_parquet(pa.table({"other": [1.0]}), owner(path.name, step))
    (path / f"fields/{step}.parquet").write_bytes(data)


def content(run: Run) -> dict[str, bytes]:
    """All files but those with clock times."""
    paths = [path for path in run.path.rglob("*") if path.is_file() and path.name != "timing.json"]
    return {path.relative_to(run.path).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def run(store) -> Run:
    train(proxy_spec(0), SCHEDULE, store)
    assert store.verify() == []
    return store.run(proxy_spec(0).id)


DAMAGE = {
    "a flipped bit of the last weights": lambda path: flip(path / "checkpoints/20/tensors.safetensors"),
    "a flipped bit of earlier weights": lambda path: flip(path / "checkpoints/15/tensors.safetensors"),
    "a flipped bit of fields": lambda path: flip(path / "fields/10.parquet"),
    "missing fields": lambda path: (path / "fields/0.parquet").unlink(),
    "no fields at all": lambda path: shutil.rmtree(path / "fields"),
    "fields with other columns": lambda path: odd_fields(path, 10),
    "no status": lambda path: (path / "status.json").unlink(),
    "a damaged status": lambda path: flip(path / "status.json"),
    "no checkpoints": lambda path: shutil.rmtree(path / "checkpoints"),
    "no last checkpoint": lambda path: shutil.rmtree(path / "checkpoints/20"),
    "no metrics": lambda path: (path / "metrics.parquet").unlink(),
    "damaged metrics": lambda path: flip(path / "metrics.parquet"),
    "no spec": lambda path: (path / "spec.json").unlink(),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_and_made_again_to_the_same_bits(run, store, kind):
    before = content(run)
    DAMAGE[kind](run.path)
    assert store.verify() != []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train(proxy_spec(0), SCHEDULE, store)
    after = content(run)
    last = {name: data for name, data in before.items() if "checkpoints/15" not in name}
    assert {name: after[name] for name in last} == last
    assert store.verify() == []
    assert finished(proxy_spec(0), SCHEDULE, store) is not None


def test_kept_weights_are_made_again(store):
    spec, schedule = proxy_spec(0), Schedule.every(5, steps=20, keep=True)
    train(spec, schedule, store)
    run = store.run(spec.id)
    before = content(run)
    flip(run.path / "checkpoints/10/tensors.safetensors")
    with pytest.warns(StoreWarning, match=r"10/tensors\.safetensors is altered"):
        train(spec, schedule, store)
    assert content(run) == before


def test_strays_are_named(run, store):
    for name in (
        "notes.txt",
        "spec_json",
        "checkpoints/020",
        "checkpoints/20/extra",
        "checkpoints/20/.new-x",
        "fields/y.csv",
    ):
        (run.path / name).write_text("")
    assert {problem.path.relative_to(run.path).as_posix() for problem in store.verify()} == {
        "notes.txt", "spec_json", "checkpoints/020", "checkpoints/20/extra", "checkpoints/20/.new-x", "fields/y.csv",
    }  # fmt: skip


# --- the end of a run, and its environment

KILLED = """
import os, signal, sys
from attnlab.runs import loop
from attnlab.runs.run import Run
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore
from tests.runs.small import proxy_spec

def set_status(self, status, step, message=""):
    if status == "finished":
        (self.path / "checkpoints/.new-25").mkdir()
        os.kill(os.getpid(), signal.SIGKILL)
    written(self, status, step, message)

written, Run.set_status = Run.set_status, set_status
schedule = Schedule.every(5, steps=20, checkpoint_every=5)
loop.train(proxy_spec(0), schedule, RunStore(sys.argv[1]), thread_count=int(sys.argv[2]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL: run it on Linux or macOS")
@pytest.mark.parametrize("inexact", [False, True])
def test_killed_just_before_its_end_a_run_ends_as_finished(store, inexact):
    spec = proxy_spec(0)
    if inexact:
        train(spec, Schedule.every(5, steps=5), store)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(store.root), "2" if inexact else "1"], capture_output=True, cwd=ROOT
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    run = store.run(spec.id)
    assert run.status()["status"] == "running"
    assert finished(spec, SCHEDULE, store) is None
    trained = train(spec, SCHEDULE, store)
    assert (trained.step, trained.rows[-1]["step"]) == (20, 20)
    assert run.status() == {"status": "finished", "step": 20, "message": INEXACT if inexact else ""}
    assert store.verify() == []


def test_ending_a_whole_run_elsewhere_does_not_make_it_inexact(run, store):
    (run.path / "status.json").unlink()
    train(proxy_spec(0), SCHEDULE, store, thread_count=2)
    assert run.status()["message"] == ""


@pytest.mark.parametrize("harm", [Path.unlink, flip, lambda path: path.write_bytes(b"")])
def test_a_lost_environment_never_makes_a_run_exact(store, harm):
    spec = proxy_spec(0)
    train(spec, Schedule.every(5, steps=5), store)
    run = store.run(spec.id)
    harm(run.path / "environment.json")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(spec, Schedule.every(5, steps=10), store, thread_count=2)
    assert "lost its environment.json" in str(caught[-1].message)
    assert run.status()["message"] == INEXACT
    assert run.load(10).record["inexact"] is True
    assert store.verify() == []


@pytest.mark.parametrize("name", ["status.json", "environment.json", "metrics.parquet"])
def test_an_inexact_run_stays_so_whatever_is_lost(store, name):
    spec = proxy_spec(0)
    train(spec, Schedule.every(10, steps=10), store)
    with pytest.warns(StoreWarning, match="marked inexact"):
        train(spec, Schedule.every(5, steps=10), store, thread_count=2)  # measured again, and no weights saved
    run = store.run(spec.id)
    assert run.status()["message"] == INEXACT
    (run.path / name).unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train(spec, Schedule.every(5, steps=15), store)
    assert run.status()["message"] == INEXACT


# --- what goes away, or is in the way


def test_checkpoints_that_vanish_during_a_save_do_not_end_it(run, monkeypatch):
    saved = checkpoint.save_checkpoint

    def vanishing(folder, *rest):
        saved(folder, *rest)
        shutil.rmtree(folder)

    monkeypatch.setattr(checkpoint, "save_checkpoint", vanishing)
    run.save(checkpoint.Checkpoint(25, {}, {}))
    monkeypatch.undo()
    run.save(checkpoint.Checkpoint(30, {}, {}))
    assert run.steps() == [30]


def test_what_is_in_the_way_of_a_save_is_cleared(run, store):
    (run.path / "checkpoints/.new-25").write_text("a file where a folder is written")
    (run.path / ".new-status.json").mkdir()
    (run.path / "checkpoints/10").write_text("a file where a checkpoint was")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train(proxy_spec(0), Schedule.every(5, steps=25, checkpoint_every=5), store)
    assert run.steps() == [20, 25]
    assert store.verify() == []


def test_a_removal_that_was_killed_is_ended_by_asking_again(run, store):
    other = store.root / f".old-{run.id}"
    shutil.copytree(run.path, other)  # killed inside the deletion, and then trained again
    store.remove(run.id)
    assert [path.name for path in store.root.iterdir()] == [".locks"]
    (other / "fields").mkdir(parents=True)  # killed after the rename
    store.remove(run.id)
    assert [path.name for path in store.root.iterdir()] == [".locks"]


FORBIDDEN = """
import os, sys, warnings
from pathlib import Path
from typer.testing import CliRunner
from attnlab.cli.store import app
from attnlab.errors import AttnlabError
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore
from tests.runs.small import proxy_spec

warnings.simplefilter("ignore")
if os.geteuid() == 0:  # whom permissions do not bind
    os.setgid(65534)
    os.setuid(65534)
store = RunStore(sys.argv[1])
for name in ("checkpoints", "checkpoints/20", "fields", "."):
    folder = Path(os.path.normpath(store.root / proxy_spec(0).id / name))
    for mode in (0o000, 0o444, 0o333):
        if (mode, name) == (0o333, "checkpoints/20"):
            continue  # nothing is listed there
        folder.chmod(mode)
        try:
            for command in ("verify", "list"):
                done = CliRunner().invoke(app, [command, "--store", str(store.root)], env={"COLUMNS": "300"})
                said = done.stdout + str(done.exception)
                assert isinstance(done.exception, (AttnlabError, SystemExit, type(None))), (name, mode, done.exception)
                if command == "verify":
                    assert done.exit_code and str(folder) in said and "cannot be read" in said, (name, oct(mode), said)
            if name != "checkpoints/20":
                try:
                    train(proxy_spec(0), Schedule.every(5, steps=25), store)
                except AttnlabError as error:
                    assert str(folder) in str(error), error
                else:
                    raise SystemExit(f"{folder} was trained")
        finally:
            folder.chmod(0o777)
assert store.verify() == [], store.verify()
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs permissions as Linux and macOS have them")
def test_folders_that_may_not_be_read_are_named() -> None:
    with tempfile.TemporaryDirectory() as folder:  # which others may enter, as they may not pytest's
        store = RunStore(Path(folder, "runs"))
        train(proxy_spec(0), SCHEDULE, store)
        Path(folder).chmod(0o777)
        for path in Path(folder).rglob("*"):
            path.chmod(0o777)
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
        done = subprocess.run(
            [sys.executable, "-c", FORBIDDEN, str(store.root)], capture_output=True, text=True, cwd=ROOT
        )
        assert done.returncode == 0, done.stdout + done.stderr
