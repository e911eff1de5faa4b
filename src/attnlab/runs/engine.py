"""Engines: where the runs of a sweep are trained.

An engine takes jobs and reports events; it decides nothing about training. The local engine keeps a few worker
processes of one thread each, because two one-threaded processes beat one two-threaded process on this work. Workers are
plain commands that speak lines of JSON, so no pickle crosses a process border and a script needs no main guard. Events
come through a pipe of their own: whatever a library prints to standard output or standard error is kept as complaints.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import TypeAdapter, ValidationError

from attnlab.errors import UsageError
from attnlab.families.registry import from_outside
from attnlab.protocols import Row
from attnlab.runs.schedule import Schedule
from attnlab.runs.spec import RunSpec


@dataclass(frozen=True)
class Job:
    """One run to be trained, and the name its progress is shown under."""

    label: str
    spec: RunSpec
    schedule: Schedule


@dataclass(frozen=True)
class Event:
    """News of job number ``job``: it began, waits for the process that ``error`` names to leave the run alone, moved on
    to ``step``, ended, or failed with the sentence ``error``.
    """

    job: int
    kind: Literal["began", "waits", "moved", "finished", "failed"]
    step: int = 0
    row: Row | None = None
    error: str = ""


EVENT = TypeAdapter(Event)


def order_of(number: int, job: Job) -> dict[str, Any]:
    """A job as a worker takes it, in plain values."""
    return {
        "job": number,
        "families": from_outside(),
        "spec": job.spec.model_dump(mode="json"),
        "schedule": job.schedule.model_dump(mode="json"),
    }


class Engine(Protocol):
    """Trains jobs somewhere."""

    def run(self, jobs: Sequence[Job], store: str, report: Callable[[Event], None]) -> None:
        """Train every job into the store at path ``store``; report in the caller's thread; return when all ended."""
        ...


@dataclass
class LocalEngine:
    """Worker processes on this machine."""

    workers: int = 2
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise UsageError(f"A sweep needs at least 1 worker process, not {self.workers}.")

    def run(self, jobs: Sequence[Job], store: str, report: Callable[[Event], None]) -> None:
        waiting = list(enumerate(jobs))[::-1]
        news: News = queue.Queue()
        workers = {_Worker(store, self.device, news) for _ in range(min(self.workers, len(jobs)))}
        try:
            for worker in workers:
                worker.take(waiting.pop())
            while workers:
                try:
                    worker, event = news.get(timeout=0.5)  # an endless wait could not be interrupted on Windows
                except queue.Empty:
                    continue
                if event is None:  # the process is gone
                    workers.discard(worker)
                    worker.stop()
                    if worker.job is not None:
                        report(Event(worker.job, "failed", error=worker.epitaph()))
                        if waiting:
                            replacement = _Worker(store, self.device, news)
                            workers.add(replacement)
                            replacement.take(waiting.pop())
                    continue
                report(event)
                if event.kind in ("finished", "failed"):
                    if waiting:
                        worker.take(waiting.pop())
                    else:
                        worker.dismiss()
        finally:
            for worker in workers:
                worker.process.terminate()  # all at once: each saves a checkpoint first where the system lets it
            for worker in workers:
                worker.stop()


class _Worker:
    """A worker process and the threads that listen to it."""

    def __init__(self, store: str, device: str, news: "News") -> None:
        settings = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        events, theirs = os.pipe()
        # A group of its own, so that Ctrl-C in the terminal reaches the parent alone, which then stops the workers.
        how: dict[str, Any] = {"start_new_session": True, "pass_fds": [theirs]}
        channel = theirs
        if sys.platform == "win32":
            import msvcrt

            channel = msvcrt.get_osfhandle(theirs)
            os.set_handle_inheritable(channel, True)
            inherited = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [channel]})
            how = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP, "startupinfo": inherited}
        self.job: int | None = None
        self.process = subprocess.Popen(
            # -P: no file of the folder one stands in is imported in place of a module of the same name.
            [sys.executable, "-P", "-m", "attnlab.runs.worker", store, device, str(channel)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **settings},
            **how,
        )
        os.close(theirs)
        self._complaints: list[str] = []
        self._wrong = ""
        targets = (lambda: self._listen(events, news), self._overhear)
        self._listeners = [threading.Thread(target=target, daemon=True) for target in targets]
        for listener in self._listeners:
            listener.start()

    def take(self, numbered: tuple[int, Job]) -> None:
        """Hand over a job."""
        self.job, job = numbered
        line = order_of(self.job, job)
        assert self.process.stdin is not None
        with suppress(OSError):  # it is gone; the listener says so
            self.process.stdin.write(json.dumps(line).encode() + b"\n")
            self.process.stdin.flush()

    def dismiss(self) -> None:
        """No more jobs: the process ends by itself."""
        self.job = None
        assert self.process.stdin is not None
        self.process.stdin.close()

    def stop(self) -> None:
        """Wait for a process that was asked to end, kill it if it does not, and close its pipes."""
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdin is not None
        with suppress(OSError):  # what was still to be written has no reader any more
            self.process.stdin.close()
        for listener in self._listeners:
            listener.join(timeout=5)  # a process that the worker has left on its own may hold the pipes open

    def epitaph(self) -> str:
        """Why a process that is gone may have gone."""
        if self._wrong:
            return f"The worker process was ended because it sent {self._wrong}, which is no event of its run."
        code = self.process.returncode
        last = self._complaints[-1].strip() if self._complaints else "it left no message"
        return f"The worker process ended with code {code}: {last}"

    def _listen(self, events: int, news: "News") -> None:
        with os.fdopen(events, "rb") as lines:
            for line in lines:
                try:
                    event = EVENT.validate_json(line)
                except ValidationError:
                    event = None
                if event is None or event.job != self.job:
                    self._wrong = repr(line[:60])
                    self.process.kill()
                    break
                news.put((self, event))
        news.put((self, None))

    def _overhear(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._complaints = [*self._complaints[-20:], line.decode(errors="replace")]


News = queue.Queue[tuple[_Worker, Event | None]]
"""What workers report; None: the process is gone."""
