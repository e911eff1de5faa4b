"""The run store under real faults: killed processes, full disks, folders that may not be written, two writers.

The faults happen in processes of their own, which run the scripts below and fail where an expectation does.
"""

import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from attnlab.errors import RunBusy
from attnlab.runs.store import Run, RunStore

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL: run it on Linux or macOS")

COMMON = """
import os, random, signal, sys, time, warnings
from pathlib import Path
import torch
from attnlab.errors import RunBusy, StoreError
from attnlab.runs.checkpoint import Checkpoint
from attnlab.runs.store import RunStore

warnings.simplefilter("error")  # a checkpoint passed over as damaged is a failure
root = Path(sys.argv[1])
run = RunStore(root).run("faulty")

def state(step, kind=0):
    noise = torch.Generator().manual_seed(1000 * kind + step)
    weights = {f"model.{name}": torch.randn(150, 150, generator=noise) for name in "abc"}
    return Checkpoint(step, weights, {"kind": kind, "thirds": [step / 3]})

def same(found, expected):
    return found is not None and (found.step, found.record) == (expected.step, expected.record) and all(
        torch.equal(found.tensors[name], tensor) for name, tensor in expected.tensors.items())

def names(folder=None):
    return sorted(path.name for path in (folder or run.path / "checkpoints").iterdir())
"""


def script(body: str, *arguments: object, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [*before, sys.executable, "-c", COMMON + textwrap.dedent(body), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, env=environment)


def ended_well(process: subprocess.Popen[str]) -> str:
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out


def succeed(body: str, *arguments: object, before: tuple[str, ...] = ()) -> str:
    return ended_well(script(body, *arguments, before=before))


# --- kill -9


@needs_fork
def test_killed_at_random_moments_the_newest_checkpoint_is_whole_and_the_last_saved(tmp_path: Path) -> None:
    body = """
        delays = random.Random(0)
        inside = 0
        for _ in range(30):
            newest = run.latest()
            begin = newest.step + 1 if newest else 0
            read, write = os.pipe()
            child = os.fork()
            if not child:
                with run.locked():
                    run.begin({}, {})
                    for step in range(begin, begin + 100_000):
                        run.save(state(step))
                        os.write(write, b"%d\\n" % step)
                        run.write_metrics([{"step": step, "loss": 1 / 3}])
            os.close(write)
            with os.fdopen(read) as pipe:
                returned = [int(pipe.readline())]
                time.sleep(delays.uniform(0, 0.1))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                returned += [int(line) for line in pipe]
            inside += any(name.startswith(".") for name in names())
            newest = run.latest()
            assert newest.step in (returned[-1], returned[-1] + 1), (newest.step, returned[-3:])
            assert same(newest, state(newest.step))
            assert all(row == {"step": row["step"], "loss": 1 / 3} for row in run.metrics())
        run.save(state(newest.step + 1))
        assert run.verify() == [], run.verify()
        print(newest.step, inside)
        """
    steps, inside = map(int, succeed(body, tmp_path).split())
    assert steps >= 30
    assert inside > 0  # some of the kills hit a save


@needs_fork
@pytest.mark.parametrize("before", ["older", "damaged", "other"])
def test_killed_at_every_file_operation_of_a_save_nothing_is_lost(tmp_path: Path, before: str) -> None:
    """``before`` is what stands at the step that is saved: nothing yet, a damaged checkpoint, or another whole one."""
    body = """
        before, moment, killed = sys.argv[2], 0, True
        while killed:
            moment += 1
            run = RunStore(root).run(f"killed-{moment}")
            run.begin({}, {})
            run.save(state(1))
            if before != "older":
                run.save(state(2, kind=1))
            if before == "damaged":
                (run.path / "checkpoints/2/record.json").write_bytes(b"{}")
            standing = state(2, kind=1) if before == "other" else state(1)
            child = os.fork()
            if not child:
                left = moment
                def hook(event, arguments):
                    global left
                    changes = event.startswith(("open", "os.", "shutil."))
                    if changes and arguments and str(arguments[0]).startswith(str(run.path)):
                        left -= 1
                        if not left:
                            os.kill(os.getpid(), signal.SIGKILL)
                sys.addaudithook(hook)
                run.save(state(2), keep=1)
                os._exit(0)
            killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
            warnings.simplefilter("ignore" if before == "damaged" else "error")
            if before != "other":  # between two renames neither is in its place, until the run begins again
                assert same(run.latest(), standing) or same(run.latest(), state(2)), moment
            run.begin({}, {})
            assert same(run.latest(), standing) or same(run.latest(), state(2)), moment
            assert killed or same(run.latest(), state(2))
            run.save(state(2), keep=1)
            assert same(run.latest(), state(2))
            assert names(run.path / "checkpoints") == ["2"]
            assert run.verify() == [], run.verify()
        print(moment)
        """
    assert int(succeed(body, tmp_path, before)) > 10


# --- full disk


@pytest.fixture
def own_mounts() -> tuple[str, ...]:
    """A command before a command, which may then mount file systems that nobody else sees and that end with it."""
    unshare = ("unshare", "--user", "--map-root-user", "--mount")
    try:
        subprocess.run([*unshare, "mount", "-t", "tmpfs", "none", "/mnt"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small file system cannot be mounted here: run it on Linux where user namespaces are allowed")
    return unshare


MOUNTED = """
import subprocess
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", root], check=True)
"""


def test_a_full_disk_is_said_and_the_earlier_checkpoints_stay(tmp_path: Path, own_mounts: tuple[str, ...]) -> None:
    body = """
        run.begin({}, {})
        run.save(state(0))
        last, full = 0, 0
        for step, room in enumerate(range(0, 400_000, 20_000), 1):
            with (root / "filler").open("wb") as filler:
                free = os.statvfs(root)
                filler.write(bytes(max(0, free.f_bavail * free.f_frsize - room)))
            try:
                run.save(state(step))
                last = step
            except StoreError as fault:
                full += 1
                assert "The disk is full" in str(fault) and str(run.path) in str(fault), fault
                assert not any(name.startswith(".") for name in names())
            assert same(run.latest(), state(last))
            try:
                run.set_status("failed", step, "x" * 9000)
            except StoreError as fault:
                assert "The disk is full" in str(fault), fault
            assert not any(name.startswith(".") for name in names(run.path))
            (root / "filler").unlink()
            assert run.verify() == [], run.verify()
        print(full, last)
        """
    out = succeed(MOUNTED + textwrap.dedent(body), tmp_path, before=own_mounts)
    full, last = map(int, out.split())
    assert full > 5
    assert last > full  # and with room again, saving went on


@needs_fork
def test_a_write_cut_short_at_any_size_leaves_the_earlier_checkpoints(tmp_path: Path) -> None:
    """The system's limit on a file's size stands in for a disk that fills up in the middle of a file."""
    body = """
        import resource

        run.begin({}, {})
        run.save(state(1))
        for limit in (0, 1, 100, 400, 4096, 100_000, 269_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            try:
                run.save(state(2))
                raise SystemExit("nothing was cut short")
            except StoreError as fault:
                assert "checkpoints/2 could not be written" in str(fault), fault
            assert names() == ["1"]
            assert same(run.latest(), state(1))
            assert run.verify() == []
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        run.save(state(2))
        assert same(run.latest(), state(2))
        """
    succeed(body, tmp_path)


# --- folders that may not be written

REFUSED = """
def refused(act, what):
    try:
        act()
    except StoreError as fault:
        assert "may not be written" in str(fault) and str(root) in str(fault), fault
    else:
        raise SystemExit(f"{what} was written")

def all_refused():
    refused(lambda: run.save(state(2)), "a checkpoint")
    refused(lambda: run.begin({}, {}), "a run begun before")
    refused(lambda: run.set_status("running", 2), "a status")
    refused(lambda: run.write_metrics([{"step": 2}]), "metrics")
    refused(lambda: RunStore(root).remove("faulty"), "a removal")
    refused(lambda: RunStore(root / "new").run("fresh").begin({}, {}), "a new store")
    assert same(run.latest(), state(1))
    assert RunStore(root).verify() == []
    assert not run.is_locked()
    assert [found.id for found in RunStore(root).runs()] == ["faulty"]
"""


def test_a_file_system_mounted_for_reading_only_is_said_and_read(tmp_path: Path, own_mounts: tuple[str, ...]) -> None:
    body = """
        run.begin({}, {})
        run.save(state(1))
        subprocess.run(["mount", "-o", "remount,ro", root], check=True)
        all_refused()
        """
    succeed(MOUNTED + REFUSED + textwrap.dedent(body), tmp_path, before=own_mounts)


@needs_fork
def test_a_folder_of_somebody_else_is_said_and_read() -> None:
    with tempfile.TemporaryDirectory() as folder:  # which others may enter, as they may not pytest's
        body = """
            root.chmod(0o755)
            run.begin({}, {})
            run.save(state(1))
            for path in (root, *root.rglob("*")):
                path.chmod(0o555 if path.is_dir() else 0o444)
            if os.geteuid() == 0:  # whom permissions do not bind
                os.setgid(65534)
                os.setuid(65534)
            all_refused()
            """
        succeed(REFUSED + textwrap.dedent(body), folder)
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o755)


# --- two processes

HOLD = """
with run.locked():
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = script(HOLD, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return RunStore(tmp_path).run("faulty")


def test_a_run_in_use_says_who_uses_it_and_the_others_are_free(
    holder: subprocess.Popen[str], run: Run, tmp_path: Path
) -> None:
    (run.path / "precious").mkdir(parents=True)
    assert run.is_locked()
    told = f"Run faulty is in use by process {holder.pid} on {socket.gethostname()}"
    for wait in (0, 0.3):
        with pytest.raises(RunBusy, match=told), run.locked(wait):
            pass
    with pytest.raises(RunBusy, match=told):
        RunStore(tmp_path).remove("faulty")
    assert (run.path / "precious").exists()
    with RunStore(tmp_path).run("another").locked(wait=0):
        pass


def test_a_waiting_process_goes_on_when_the_other_ends(holder: subprocess.Popen[str], tmp_path: Path, run: Run) -> None:
    waiter = script("""
        print("waiting", flush=True)
        with run.locked():
            run.begin({"by": "waiter"}, {})
        """, tmp_path)  # fmt: skip
    assert waiter.stdout is not None
    assert waiter.stdout.readline() == "waiting\n"
    with pytest.raises(subprocess.TimeoutExpired):
        waiter.wait(0.5)
    assert not run.exists()
    holder.communicate("let go\n")
    ended_well(waiter)
    assert run.spec() == {"by": "waiter"}


def test_a_killed_holder_holds_nothing(holder: subprocess.Popen[str], run: Run) -> None:
    holder.kill()
    holder.wait()
    with run.locked(wait=0):
        run.begin({}, {})


def test_a_lock_may_be_taken_again_by_its_holder(run: Run, tmp_path: Path) -> None:
    with run.locked(wait=0), RunStore(tmp_path).run("faulty").locked(wait=0):
        run.begin({}, {})
    assert not run.is_locked()
    assert [path.name for path in (tmp_path / ".locks").iterdir()] == ["faulty.lock"]


@pytest.mark.parametrize("read", ["run.latest()", "run.verify()"])
def test_a_checkpoint_dropped_while_it_is_read_is_no_damage(tmp_path: Path, read: str) -> None:
    """The writer's save, which drops step 1, happens at the very moment a file of step 1 is opened."""
    body = f"""
        run.begin({{}}, {{}})
        run.save(state(1))
        dropped = False
        def hook(event, arguments):
            global dropped
            if event == "open" and str(arguments[0]).endswith("tensors.safetensors") and not dropped:
                dropped = True
                run.save(state(2), keep=1)
        sys.addaudithook(hook)
        found = {read}
        assert dropped and run.steps() == [2]
        assert found == [] if isinstance(found, list) else same(found, state(2)), found
        """
    succeed(body, tmp_path)


def test_two_writers_lose_no_step_and_a_reader_never_sees_damage(run: Run, tmp_path: Path) -> None:
    run.begin({}, {})
    writer = """
        for _ in range(25):
            with run.locked():
                newest = run.latest()
                step = newest.step + 1 if newest else 1
                assert newest is None or same(newest, state(newest.step))
                run.save(state(step), keep=1)
                run.write_metrics([{"step": s, "loss": 0.5} for s in range(step + 1)])
    """
    reader = """
        seen = 0
        while seen < 50:
            newest = run.latest()
            step = newest.step if newest else 0
            assert step >= seen and (newest is None or same(newest, state(step)))
            seen = step
            rows = run.metrics()
            assert [row["step"] for row in rows] == list(range(len(rows)))
            time.sleep(0.01)
    """
    for process in [script(body, tmp_path) for body in (writer, writer, reader)]:
        ended_well(process)
    assert run.steps() == [50]
    assert run.verify() == []
