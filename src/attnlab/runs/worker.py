"""A sweep's worker process: reads jobs as lines of JSON, trains them, writes events as lines of JSON.

Started by `attnlab.runs.engine.LocalEngine` as ``python -P -m attnlab.runs.worker STORE DEVICE EVENTS``. Jobs come from
standard input; events go to the pipe EVENTS, so whatever a library or a user's class prints does not meet them.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from attnlab.errors import AttnlabError, RunBusy
from attnlab.families.registry import register
from attnlab.own import locate
from attnlab.protocols import Row
from attnlab.records import validated
from attnlab.runs.environment import keep_memory
from attnlab.runs.loop import Interrupted, train
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec
from attnlab.runs.store import RunStore

NEWS_INTERVAL = 0.25
"""Seconds between reports of a run that merely moves on."""
PATIENCE = 0.5
"""Seconds for which a run that another process trains is waited for before this is reported, and reported again."""

Jobs = queue.SimpleQueue[dict[str, Any] | None]


def main(store_path: str, device: str, channel: str) -> None:
    """Train jobs until there are no more."""
    keep_memory()
    events = os.fdopen(_opened(int(channel)), "w", encoding="utf-8")
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # who asks for input gets none, not a job
    stopping = threading.Event()
    jobs: Jobs = queue.SimpleQueue()  # the one queue into which a signal's handler may put

    def stop(*_: object) -> None:
        stopping.set()
        jobs.put(None)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_read, args=(lines, jobs, stopping), daemon=True).start()
    store = RunStore(store_path)
    while (job := jobs.get()) is not None and not stopping.is_set():
        _work(job, store, device, events, stopping)


def _opened(channel: int) -> int:
    """The descriptor of the pipe for events, which processes started from here do not inherit."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.open_osfhandle(channel, os.O_WRONLY)
    os.set_inheritable(channel, False)
    return channel


def _read(lines: TextIO, jobs: Jobs, stopping: threading.Event) -> None:
    """Take jobs until the parent closes the pipe; a parent that dies closes it too, in the middle of a run."""
    for line in lines:
        jobs.put(json.loads(line))
    jobs.put(None)
    stopping.set()


def _work(job: dict[str, Any], store: RunStore, device: str, events: TextIO, stopping: threading.Event) -> None:
    def post(event: dict[str, Any]) -> None:
        try:
            events.write(json.dumps(event) + "\n")
            events.flush()
        except OSError:  # nobody listens any more: the run is saved where it is, like any that is asked to stop
            stopping.set()

    work(job, store, device, post, stopping)


def work(
    job: dict[str, Any],
    store: RunStore,
    device: str,
    post: Callable[[dict[str, Any]], None],
    stopping: threading.Event,
    after: Callable[[], None] | None = None,
) -> None:
    """Train one job, as `attnlab.runs.engine` describes it, and ``post`` its events, the last of which is its end.

    ``after``: called after every update and evaluation.
    """
    number = job["job"]
    last_news = 0.0

    def report(kind: str, step: int = 0, row: Row | None = None, error: str = "") -> None:
        post({"job": number, "kind": kind, "step": step, "row": row, "error": error})

    def observe(step: int, row: Row | None) -> None:
        nonlocal last_news
        now = time.monotonic()
        if row is not None or now - last_news >= NEWS_INTERVAL:
            last_news = now
            report("moved", step, row)
        if after is not None:
            after()

    try:
        report("began")
        for name, family in job["families"].items():
            locate(family["module"])
            register(name, **family)
        spec, schedule = validated(RunSpec, job["spec"]), validated(Schedule, job["schedule"])
        while not stopping.is_set():
            try:
                trained = train(
                    spec, schedule, store, observe=observe, interrupted=stopping.is_set, device=device, wait=PATIENCE
                )
            except RunBusy as busy:
                report("waits", error=str(busy))
            else:
                report("finished", trained.step, trained.rows[-1] if trained.rows else None)
                return
    except Interrupted:
        return
    except AttnlabError as error:
        report("failed", error=str(error))
    except Exception as error:  # one run's trouble must not end the sweep
        report("failed", error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    warnings.simplefilter("always")
    main(*sys.argv[1:])
