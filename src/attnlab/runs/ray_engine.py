"""The engine Ray: each run of a sweep is a task somewhere on a cluster, or on a Ray that is started here.

The driver keeps the store. Where all nodes see it, runs are trained in it; elsewhere finished runs, and their
checkpoints every few minutes, come back as parcels and are written by the driver, which holds the runs' locks. A worker
or node that dies costs what its run did since its last checkpoint came back: the run goes on elsewhere from there. A
run that fails by itself is tried three times.
"""

import json
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attnlab.cluster.connection import (
    ONE_THREAD,
    ClusterError,
    Need,
    check_room,
    check_versions,
    connect,
    look_everywhere,
)
from attnlab.data.cache import cached_bytes
from attnlab.errors import RunBusy, StoreError, UsageError
from attnlab.families.registry import kept_data
from attnlab.runs.engine import EVENT, Event, Job, order_of
from attnlab.runs.environment import cores
from attnlab.runs.parcel import collect, pack, receive, unpack
from attnlab.runs.ray_task import EVENT as NEWS
from attnlab.runs.ray_task import PARCEL, VERSIONS, train_on_ray
from attnlab.runs.store import RunStore

TRIES = 3
"""Times that a run may fail by itself."""
DEATHS = 10
"""Times that a worker may die under one run, before the run is taken for the cause."""
EVERY = 180.0
"""Seconds between two checkpoints of a run that come back."""


@dataclass
class RayEngine:
    """Tasks on the cluster at ``address``, or (None) on a Ray started here with so many ``workers``.

    ``workers``: runs at once at most; None: as many as there is room for. ``every``: seconds between checkpoints that
    come back. ``shared``: whether all nodes see the store's folder; None: they are asked.
    """

    address: str | None = None
    workers: int | None = None
    need: Need = field(default_factory=Need)
    device: str = "cpu"
    every: float = EVERY
    shared: bool | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"A sweep needs at least 1 run at once, not {self.workers}.")

    def run(self, jobs: Sequence[Job], store: str, report: Callable[[Event], None]) -> None:
        ray = connect(self.address, (self.workers or cores()) * max(self.need.cpus, 1e-9))
        room = check_room(ray, self.need)
        home = RunStore(Path(store).absolute())
        with _token(home.root) as token:
            seen = look_everywhere(ray, str(home.root), token)
            shared = seen if self.shared is None else self.shared
            most = self.workers or 2 * room + 2  # a few wait at Ray, which starts more nodes for them if it may
            _Sweep(self, ray, jobs, home, report, token if shared else None, most).go()


@contextmanager
def _token(root: Path) -> Iterator[str]:
    """A file in the store by which a node knows that it sees this very folder; its name."""
    name = os.path.join(".locks", f"cluster-{secrets.token_hex(8)}")  # noqa: PTH118 (a name, not a path)
    path = root / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as fault:
        raise StoreError(f"{path} could not be written: {fault.strerror or fault}.") from None
    try:
        yield name
    finally:
        with suppress(OSError):
            path.unlink()


@dataclass
class _Errand:
    """A job and what became of it so far."""

    number: int
    job: Job
    failures: int = 0
    deaths: int = 0
    held: ExitStack = field(default_factory=ExitStack)


class _Sweep:
    """One call of `RayEngine.run`. ``token``: by which nodes see the store; None where it is not shared."""

    def __init__(
        self,
        engine: RayEngine,
        ray: Any,
        jobs: Sequence[Job],
        store: RunStore,
        report: Callable[[Event], None],
        token: str | None,
        most: int,
    ) -> None:
        self.engine, self.ray, self.store, self.report, self.token, self.most = engine, ray, store, report, token, most
        self.waiting = deque(_Errand(number, job) for number, job in enumerate(jobs))
        self.out: dict[Any, _Errand] = {}
        self.data: dict[str, list[Any]] = {}
        self.sent: dict[str, Any] = {}
        self.task = ray.remote(train_on_ray).options(
            num_returns="streaming",
            max_retries=0,  # another try begins where the last checkpoint that came back is
            num_cpus=engine.need.cpus,
            num_gpus=engine.need.gpus,
            runtime_env=ONE_THREAD,
        )

    def go(self) -> None:
        try:
            while self.waiting or self.out:
                self._hand_out()
                if not self.out:  # all that are left are in use by other processes
                    time.sleep(0.5)
                    continue
                ready, _ = self.ray.wait(list(self.out), timeout=0.5)
                for task in ready:
                    self._hear(task)
        finally:
            self._cancel()

    def _hand_out(self) -> None:
        for _ in range(len(self.waiting)):
            if len(self.out) >= self.most:
                return
            errand = self.waiting.popleft()
            try:
                task = self._start(errand)
            except RunBusy as busy:
                self.waiting.append(errand)
                self.report(Event(errand.number, "waits", error=str(busy)))
            except (StoreError, UsageError) as error:
                errand.held.close()
                self.report(Event(errand.number, "failed", error=str(error)))
            else:
                self.out[task] = errand

    def _start(self, errand: _Errand) -> Any:
        engine, spec = self.engine, errand.job.spec
        order: dict[str, Any] = order_of(errand.number, errand.job)
        order |= {"run": spec.id, "device": engine.device, "every": engine.every, "folder": str(Path.cwd())}
        order |= {"store": str(self.store.root) if self.token else None, "token": self.token}
        parcels: list[bytes] = []
        if self.token is None:
            run = self.store.run(spec.id)
            errand.held.enter_context(run.locked(0))
            if run.exists():
                run.mend()
                parcels.append(pack(collect(run)))
            original: tuple[str, int] | None = getattr(spec.deception, "original", None)
            if original is not None:
                parcels.append(pack(collect(self.store.run(original[0]), only=f"checkpoints/{original[1]}/")))
        return self.task.remote(json.dumps(order), self._data_of(errand.job), *parcels)

    def _data_of(self, job: Job) -> list[Any]:
        """The names of the data that a job needs, each with a reference to it: one for all jobs on the same data.

        A Ray that was started here has the data where this process has it.
        """
        if self.engine.address is None:
            return []
        key = json.dumps([part.model_dump(mode="json") for part in (job.spec.task, job.spec.model)], sort_keys=True)
        if key not in self.data:
            self.data[key] = []
            for name in kept_data(job.spec):
                if name not in self.sent and (content := cached_bytes(name)) is not None:
                    self.sent[name] = self.ray.put(content)
                self.data[key] += [name, self.sent[name]] if name in self.sent else []
        return self.data[key]

    def _hear(self, task: Any) -> None:
        """The next word of a task."""
        errand, failure = self.out[task], self.ray.exceptions
        try:
            message: bytes = self.ray.get(next(task))
            if message.startswith(VERSIONS):
                check_versions(json.loads(message[1:]))
            elif message.startswith(PARCEL):
                receive(unpack(message[1:]), self.store)
            elif message.startswith(NEWS):
                self._note(task, EVENT.validate_json(message[1:]))
        except StopIteration:
            self._failed(task, "The task ended without saying how.")
        except (StoreError, ValidationError) as error:  # what came back cannot be taken
            self.ray.cancel(task)
            self._failed(task, str(error).split("\n")[0])
        except failure.RuntimeEnvSetupError as error:
            raise ClusterError(f"Ray could not set up the environment of runs ({str(error)[:300]}).") from None
        except failure.RayTaskError as error:
            self._failed(task, str(error.cause or error).strip().split("\n")[-1][:300])
        except failure.RayError as error:  # a worker or a node that died, or what it sent was lost with it
            self._died(task, errand, type(error).__name__)

    def _note(self, task: Any, event: Event) -> None:
        if event.kind == "failed":
            self._failed(task, event.error)
        else:
            if event.kind == "finished":
                self._back(task)
            self.report(event)

    def _failed(self, task: Any, error: str) -> None:
        errand = self._back(task)
        errand.failures += 1
        if errand.failures < TRIES:
            self.waiting.append(errand)
        else:
            self.report(Event(errand.number, "failed", error=f"It failed {TRIES} times; the last time: {error}"))

    def _died(self, task: Any, errand: _Errand, how: str) -> None:
        self._back(task)
        errand.deaths += 1
        if errand.deaths < DEATHS:
            step = max(self.store.run(errand.job.spec.id).steps(), default=0)
            sentence = f"{errand.job.label}: its worker died ({how}); it goes on elsewhere from step {step}."
            self.report(Event(errand.number, "waits", error=sentence))
            self.waiting.appendleft(errand)
        else:
            sentence = f"Its worker died {DEATHS} times ({how}): the run itself may be why, such as by its memory."
            self.report(Event(errand.number, "failed", error=sentence))

    def _back(self, task: Any) -> _Errand:
        errand = self.out.pop(task)
        errand.held.close()
        return errand

    def _cancel(self) -> None:
        """End what is still out: runs in a shared store save a checkpoint first."""
        tasks = list(self.out)
        for task in tasks:
            with suppress(Exception):
                self.ray.cancel(task)
        deadline = time.monotonic() + 20
        for task in tasks:
            with suppress(Exception):
                while time.monotonic() < deadline:
                    self.ray.get(next(task), timeout=max(0.1, deadline - time.monotonic()))
            self._back(task)
