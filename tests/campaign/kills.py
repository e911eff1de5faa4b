"""Kills of training, in the loop and in a sweep's workers, at any moment and at any file operation.

Promised: the run goes on from its last whole checkpoint, and ends with the same bits as one never killed.
"""

import os
import signal
import sys
import threading
import time
import warnings
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from tests.campaign.cases import Case, Outcome
from tests.campaign.nursery import Ended, Nursery
from tests.campaign.template import SPECS

from attnlab.runs import engine
from attnlab.runs.engine import Job, LocalEngine
from attnlab.runs.loop import train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore
from attnlab.runs.sweep import sweep

SCHEDULES = {
    "a few checkpoints": Schedule.every(5, steps=40, checkpoint_every=10),
    "a checkpoint at every update": Schedule.every(10, steps=20, checkpoint_every=1),
    "all weights kept": Schedule.every(5, steps=30, keep=True),
    "the best weights kept": Schedule.every(5, steps=30, keep="best", checkpoint_every=7),
}
OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "os.scandir"}
"""What Python tells of before it does it."""
WORKERS = 6
"""Every so many-th case is a sweep with worker processes, which take seconds to start."""


def play(case: Case, folder: Path, template: Path, nursery: Nursery) -> Outcome:
    """Kill a training a few times, let it end, and compare it with one that was never killed."""
    random, in_workers = case.random, case.number % WORKERS == 0
    schedule = random.choice(list(SCHEDULES))
    able = [name for name in SPECS if name != "of topics" or "best" not in schedule]  # topics measure no accuracy
    specs = random.sample(able, 2 if in_workers else 1)
    what, kills = f"{' and '.join(specs)}, {schedule}", 0
    for _ in range(random.choice([1, 2, 3])):
        words, ended = _killed(random, in_workers, [str(folder / "killed"), specs, schedule], nursery)
        what += f"; {words}"
        kills += ended.code == -signal.SIGKILL or bool(ended.value)
        if ended.code not in (0, -signal.SIGKILL):
            return Outcome(what, "not met", f"It ended with {ended.code}: {ended.err[-700:]}", kills)
    ended = nursery.call(f"{__name__}:compared", str(folder), specs, schedule)
    if ended.code:
        return Outcome(what, "not met", f"It does not go on ({ended.code}): {ended.err[-700:]}", kills)
    return Outcome(what, "the same bits", ended.value, kills)


def _killed(random: Random, in_workers: bool, training: list[Any], nursery: Nursery) -> tuple[str, Ended]:
    """Begin or go on with a training, and kill it or one of its workers; in words, and how it ended."""
    after = random.uniform(0.01, 5.0 if in_workers else 0.25)
    if in_workers and random.random() < 0.6:
        return f"a worker killed after {after:.2f} s", nursery.call(f"{__name__}:swept", *training, after)
    if in_workers:
        return f"a sweep killed after {after:.2f} s", nursery.call(f"{__name__}:swept", *training, kill_after=after)
    if random.random() < 0.5:
        return f"killed after {after:.2f} s", nursery.call(f"{__name__}:trained", *training, kill_after=after)
    operation = random.randint(1, 150)
    return f"killed at file operation {operation}", nursery.call(f"{__name__}:trained", *training, operation)


def trained(store: str, specs: list[str], schedule: str, operation: int = 0) -> None:
    """Train in this process, which is killed before its so many-th file operation in the store, or from outside."""
    if operation:
        count = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            if event in OPERATIONS and any(str(one).startswith(store) for one in arguments[:2]):
                count += 1
                if count == operation:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
    for name in specs:
        train(SPECS[name], SCHEDULES[schedule], RunStore(store))


def swept(store: str, specs: list[str], schedule: str, after: float | None = None) -> bool:
    """Train in worker processes, of which one is killed after some seconds; whether it was there to be killed."""
    started: list[int] = []
    killed: list[int] = []
    start = engine.subprocess.Popen

    def popen(*words: Any, **settings: Any) -> Any:
        process = start(*words, **settings)
        started.append(process.pid)
        return process

    def kill() -> None:
        time.sleep(after or 0.0)
        for pid in Random(after).sample(started, len(started)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.append(pid)
            return

    engine.subprocess.Popen = popen
    thread = threading.Thread(target=kill)
    if after is not None:
        thread.start()
    sweep(_jobs(specs, schedule), RunStore(store), LocalEngine(workers=len(specs)))
    if after is not None:
        thread.join()
    return bool(killed)


def _jobs(specs: list[str], schedule: str) -> list[Job]:
    return [Job(name, SPECS[name], SCHEDULES[schedule]) for name in specs]


def compared(folder: str, specs: list[str], schedule: str) -> str:
    """Let the killed runs end, in this process, and say how they differ from whole ones."""
    stores = [RunStore(Path(folder, name)) for name in ("killed", "whole")]
    for name in specs:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            digests = [_digests(SPECS[name], schedule, store) for store in stores]
        for file in digests[1]:
            if digests[0].get(file) != digests[1][file]:
                return f"{name}: {file} differs from that of a run that was never killed."
    problems = stores[0].verify()
    return problems[0].sentence if problems else ""


def _digests(spec: RunSpec, schedule: str, store: RunStore) -> dict[str, str]:
    """Of all files of a run but its clock times; of checkpoints the last, since a killed run may keep others beside."""
    train(spec, SCHEDULES[schedule], store)
    run = store.run(spec.id)
    paths = [path for path in run.path.rglob("*") if path.is_file() and path.name != "timing.json"]
    last = {f"checkpoints/{step}" for step in (run.steps() if "weights" in schedule else run.steps()[-1:])}
    named = {path.relative_to(run.path).as_posix(): path for path in paths}
    return {
        name: sha256(path.read_bytes()).hexdigest()
        for name, path in named.items()
        if not name.startswith("checkpoints/") or any(name.startswith(f"{one}/") for one in last)
    }
