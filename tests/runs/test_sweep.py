"""Sweeps over real worker processes: failures, kills, interrupts, and work never done twice."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from attnlab.errors import UsageError
from attnlab.runs.engine import Event, Job, LocalEngine
from attnlab.runs.loop import train
from attnlab.runs.optimisers import AdamSpec
from attnlab.runs.schedule import Schedule
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import pending, sweep


def make_jobs(make_spec, seeds, steps=12, **changes):
    schedule = Schedule.every(4, steps=steps, checkpoint_every=4)
    return [Job(f"seed {seed}", make_spec(seed, **changes), schedule) for seed in seeds]


def test_runs_are_those_of_one_process_bit_for_bit(make_spec, store, tmp_path):
    jobs = make_jobs(make_spec, range(3))
    events: list[tuple[str, Event]] = []
    swept = sweep(jobs, store, LocalEngine(2), lambda job, event: events.append((job.label, event)))
    alone = RunStore(tmp_path / "alone")
    for job in jobs:
        assert swept.finished[job.spec.id] == train(job.spec, job.schedule, alone)
        one, other = (s.run(job.spec.id).path / "checkpoints/12/tensors.safetensors" for s in (store, alone))
        assert one.read_bytes() == other.read_bytes()
    assert swept.failed == {}
    assert {label for label, event in events if event.kind == "finished"} == {"seed 0", "seed 1", "seed 2"}


def test_finished_runs_are_left_alone(make_spec, store):
    jobs = make_jobs(make_spec, range(2))
    sweep(jobs[:1], store, LocalEngine(1))
    assert pending(jobs, store) == jobs[1:]
    seen = []
    sweep(jobs, store, LocalEngine(1), lambda job, event: seen.append(job.label))
    assert set(seen) == {"seed 1"}

    class NoEngine:
        def run(self, jobs, store, report):
            raise AssertionError("everything is there, so nothing should be trained")

    assert len(sweep(jobs, store, NoEngine()).finished) == 2


def test_a_failing_run_is_named_and_the_others_finish(make_spec, store):
    bad = Job("bad", make_spec(5, optimiser=AdamSpec(learning_rate=1e38)), Schedule.every(4, steps=40))
    jobs = [bad, *make_jobs(make_spec, range(2))]
    swept = sweep(jobs, store, LocalEngine(1))
    assert set(swept.finished) == {job.spec.id for job in jobs[1:]}
    assert list(swept.failed) == ["bad"]
    assert "learning rate 1e+38" in swept.failed["bad"]


def test_a_run_that_another_process_trains_is_waited_for_and_that_is_told(make_spec, store):
    jobs = make_jobs(make_spec, [0])
    with ExitStack() as elsewhere:
        elsewhere.enter_context(store.run(jobs[0].spec.id).locked())
        events = []

        def report(job, event):
            events.append(event)
            if event.kind == "waits":
                elsewhere.close()

        swept = sweep(jobs, store, LocalEngine(1), report)
    assert [event.kind for event in events[:2]] == ["began", "waits"]
    assert f"process {os.getpid()} on" in events[1].error
    assert set(swept.finished) == {jobs[0].spec.id}


def test_a_sweep_that_waits_can_be_stopped(make_spec, store, monkeypatch):
    """Its worker ends by itself when told to; it has nothing to save and need not be killed."""
    jobs = make_jobs(make_spec, [0])
    killed = []
    monkeypatch.setattr(subprocess.Popen, "kill", lambda process: killed.append(process) or process.send_signal(9))

    def report(job, event):
        if event.kind == "waits":
            raise KeyboardInterrupt

    with store.run(jobs[0].spec.id).locked(), pytest.raises(KeyboardInterrupt):
        sweep(jobs, store, LocalEngine(1), report)
    assert killed == []


def test_a_worker_that_is_killed_fails_its_run_only(make_spec, store):
    jobs = [
        Job("victim", make_spec(9), Schedule.every(50, steps=100_000, checkpoint_every=50)),
        *make_jobs(make_spec, [1]),
    ]
    children = []

    def kill_first(job, event):
        if job.label == "victim" and event.kind == "moved" and not children:
            children.append(worker_of(store, make_spec(9).id))
            os.kill(children[0], signal.SIGKILL)

    swept = sweep(jobs, store, LocalEngine(1), kill_first)
    assert list(swept.failed) == ["victim"]
    assert "ended with code -9" in swept.failed["victim"]
    assert set(swept.finished) == {jobs[1].spec.id}


def worker_of(store, run_id):
    """The process that holds the run's lock: our only child process."""
    listed = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="], capture_output=True, text=True, check=True
    )
    return next(int(line.split()[0]) for line in listed.stdout.splitlines() if "attnlab.runs.worker" in line)


SCRIPT = """
    import signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background would ignore it
    sys.path.insert(0, sys.argv[2])
    from conftest import small_spec
    from attnlab.runs.engine import Job, LocalEngine
    from attnlab.runs.schedule import Schedule
    from attnlab.runs.store import RunStore
    from attnlab.runs.sweep import sweep

    jobs = [Job(f"seed {n}", small_spec(n), Schedule.every(100, steps=100_000)) for n in range(2)]
    try:
        sweep(jobs, RunStore(sys.argv[1]), LocalEngine(2), lambda job, event: print(job.label, event.step, flush=True))
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_or_a_killed_parent_leaves_everything_resumable(how, make_spec, store):
    """A script without a main guard works, its workers end with it, and their runs go on exactly."""
    here = Path(__file__).parent
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(store.root), str(here)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as script:
        seen = {}
        while len(seen) < 2 or min(seen.values()) < 5:
            label, number, step = script.stdout.readline().split()
            seen[f"{label} {number}"] = int(step)
        script.send_signal(how)
        rest = script.stdout.read()
    if how == signal.SIGINT:
        assert rest.endswith("stopped\n")
    for seed in range(2):
        run = store.run(make_spec(seed).id)
        deadline = time.monotonic() + 30
        while run.is_locked():
            assert time.monotonic() < deadline, "the worker outlived its parent"
            time.sleep(0.05)
        assert run.verify() == []
        reached = max(run.steps())  # it saved where it was told to stop, not only every hundred updates
        assert reached > 0
        train(make_spec(seed), Schedule(steps=reached + 3, evaluations=()), store)
        alone = RunStore(store.root.parent / "alone")
        train(make_spec(seed), Schedule(steps=reached + 3, evaluations=()), alone)
        one, other = (s.run(run.id).load(reached + 3).tensors for s in (store, alone))
        assert all((one[name] == other[name]).all() for name in other)


NOISY = """
import os, sys
class Rule:
    reason = "it was told to"
    def __init__(self):
        if "attnlab.runs.worker" in sys.orig_argv:
            os.write(1, b"\\xff{}\\nno newline")  # as a library in C does
            print("hello")
            assert sys.stdin.read() == ""
    def stops_at(self, rows):
        return None
    def chance(self, rows, step):
        return None
"""


def test_neither_files_here_nor_what_is_printed_disturb_a_sweep(make_spec, store, tmp_path, monkeypatch):
    """Files that are called as modules of ours do not run; code of one's own is found in the current folder."""
    for name in ("queue", "filelock", "json"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__)")
    (tmp_path / "noisy.py").write_text(NOISY)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import os; os.write(1, b'at the start')")
    here = [str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]  # an empty one is this folder
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(here))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    schedule = Schedule(steps=2, evaluations=(0, 2), give_up="noisy:Rule")
    swept = sweep([Job("one", make_spec(), schedule)], store, LocalEngine(1))
    assert (list(swept.finished), swept.failed) == ([make_spec().id], {})
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        r"\377",
        r'{"job": 7, "kind": "moved"}',
        r'{"job": 0}',
        r'{"job": 0, "kind": "moved", "step": "x"}',
        "[",
    ],
)
def test_a_worker_that_sends_what_is_no_event_fails_its_run(line, make_spec, store, tmp_path, monkeypatch):
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\nprintf '{line}\\n' > /dev/fd/$6\nexec sleep 60\n")
    fake.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(fake))
    swept = sweep(make_jobs(make_spec, range(2)), store, LocalEngine(1))
    assert list(swept.failed) == ["seed 0", "seed 1"]
    assert all("which is no event of its run" in sentence for sentence in swept.failed.values())


def test_no_workers_is_refused():
    with pytest.raises(UsageError, match="at least 1 worker"):
        LocalEngine(0)
