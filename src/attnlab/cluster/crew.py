"""Workers that each hold a part of something, and exchange: on Ray, or within this process.

A crew calls methods of its workers by name. What goes in and comes out is bytes, texts and numbers. Where a worker dies
a call raises `WorkerDied`; whoever uses the crew then asks for another in its place, and gives that one its part again.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, Self

from attnlab.cluster.connection import ONE_THREAD, ClusterError, Need, check_room, connect, look_everywhere

IN_FLIGHT = 4
"""Calls of `Crew.call` that one worker may not have answered yet: so no text piles up on its way."""
DEATHS = 5
"""Workers that are replaced, before the work itself is taken for the cause."""
LOOK_AGAIN = 10.0
"""Seconds that a new worker may take to start, before the cluster's room is looked at again."""


class WorkerDied(ClusterError):
    """A worker is gone, and what it held with it."""


class ClusterWarning(UserWarning):
    """Something of the cluster was lost, and work goes on."""


class Crew(Protocol):
    """Workers by number."""

    size: int

    def call(self, worker: int, method: str, *values: Any) -> None:
        """Call a method of one worker without waiting for it; what it answers is kept for `answers`."""
        ...

    def answers(self) -> list[Any]:
        """What all calls of `call` since the last time answered; those of one worker in their order."""
        ...

    def ask(self, method: str, *values: Any, each: Sequence[Sequence[Any]] | None = None) -> list[Any]:
        """Call a method of all workers at once, with the same ``values`` and then its own of ``each``."""
        ...

    def exchange(self, out: str, into: str, *values: Any) -> list[Any]:
        """What ``out`` of each worker gives for each goes to ``into`` of that one; what these answer."""
        ...

    def keep(self, first: int) -> None:
        """Go on with the first workers alone."""
        ...

    def replace(self) -> list[int]:
        """Put new workers, which hold nothing, in the places of those that died; their numbers. What had been called
        and not answered is forgotten.
        """
        ...


class HereCrew:
    """Workers within this process, one after the other."""

    def __init__(self, make: Callable[[int], Any], size: int) -> None:
        self.size = size
        self.workers = [make(number) for number in range(size)]
        self._answers: list[Any] = []

    def call(self, worker: int, method: str, *values: Any) -> None:
        self._answers.append(getattr(self.workers[worker], method)(*values))

    def answers(self) -> list[Any]:
        answers, self._answers = self._answers, []
        return answers

    def ask(self, method: str, *values: Any, each: Sequence[Sequence[Any]] | None = None) -> list[Any]:
        own = each or [()] * self.size
        return [getattr(worker, method)(*values, *more) for worker, more in zip(self.workers, own, strict=True)]

    def exchange(self, out: str, into: str, *values: Any) -> list[Any]:
        made = self.ask(out, *values)
        return self.ask(into, each=[[part[number] for part in made] for number in range(self.size)])

    def keep(self, first: int) -> None:
        self.workers, self.size = self.workers[:first], first

    def replace(self) -> list[int]:
        self._answers = []
        return []


class RayCrew:
    """Workers on a cluster, each an actor; what they exchange goes from one to the other, not through this process."""

    def __init__(self, kind: type, size: int | None, address: str | None = None, need: Need | None = None) -> None:
        self.need = need or Need()
        self.ray = connect(address, (size or os.cpu_count() or 1) * self.need.cpus)
        room = check_room(self.ray, self.need)
        size = size or room
        if size > room:
            raise ClusterError(f"{size} workers are asked for, and the cluster has room for {room}; ask for fewer.")
        look_everywhere(self.ray)
        self.kind = self.ray.remote(kind)
        self.size, self.deaths = size, 0
        self.workers = [self._start(number) for number in range(size)]
        self._forget()

    def _start(self, number: int, crowded: bool = False) -> Any:
        """A new worker. ``crowded``: it reserves nothing, and shares the processors of others."""
        cpus, gpus = (0, 0) if crowded else (self.need.cpus, self.need.gpus)
        how = {"num_cpus": cpus, "num_gpus": gpus, "runtime_env": ONE_THREAD, "scheduling_strategy": "SPREAD"}
        return self.kind.options(**how).remote(number)

    def _forget(self) -> None:
        self._pending: list[list[Any]] = [[] for _ in range(self.size)]
        self._answers: list[Any] = []

    def call(self, worker: int, method: str, *values: Any) -> None:
        pending = self._pending[worker]
        while len(pending) >= IN_FLIGHT:
            self._answers.append(self._get([pending.pop(0)])[0])
        pending.append(getattr(self.workers[worker], method).remote(*values))

    def answers(self) -> list[Any]:
        for pending in self._pending:
            self._answers += self._get(pending)
            pending.clear()
        answers, self._answers = self._answers, []
        return answers

    def ask(self, method: str, *values: Any, each: Sequence[Sequence[Any]] | None = None) -> list[Any]:
        own = each or [()] * self.size
        calls = [getattr(worker, method) for worker in self.workers]
        return self._get([call.remote(*values, *more) for call, more in zip(calls, own, strict=True)])

    def exchange(self, out: str, into: str, *values: Any) -> list[Any]:
        if self.size == 1:
            (made,) = self.ask(out, *values)
            return self.ask(into, *made)
        made = [getattr(worker, out).options(num_returns=self.size).remote(*values) for worker in self.workers]
        takes = [getattr(worker, into) for worker in self.workers]
        return self._get([take.remote(*(part[number] for part in made)) for number, take in enumerate(takes)])

    def keep(self, first: int) -> None:
        for worker in self.workers[first:]:
            self.ray.kill(worker)
        self.workers, self.size, self._pending = self.workers[:first], first, self._pending[:first]

    def replace(self) -> list[int]:
        self._forget()
        dead = [number for number, worker in enumerate(self.workers) if not self._answers_to_name(worker)]
        self.deaths += max(1, len(dead))
        if self.deaths > DEATHS:
            raise ClusterError(
                f"{self.deaths} workers died. If they had too little memory, call again with more for each, or with "
                "more workers."
            )
        for number in dead:
            sentence = f"Worker {number + 1} of {self.size} died; another takes its place and its part is done again."
            warnings.warn(sentence, ClusterWarning, stacklevel=2)
            self.workers[number] = self._place(number)
        return dead

    def _answers_to_name(self, worker: Any) -> bool:
        """Whether a worker is there, once it has done what it had been called for."""
        try:
            self.ray.get(worker.__ray_ready__.remote())
        except self.ray.exceptions.RayError:
            with suppress(Exception):  # one that cannot be reached, but lives, must not go on
                self.ray.kill(worker)
            return False
        return True

    def _place(self, number: int) -> Any:
        """A new worker, started. A node that is gone may have left too little room: then it is among the others."""
        if check_room(self.ray, self.need) >= self.size:
            worker = self._start(number)
            ready = [worker.__ray_ready__.remote()]
            while check_room(self.ray, self.need) >= self.size:  # a node's death may be noticed after its workers'
                if self.ray.wait(ready, timeout=LOOK_AGAIN)[0]:
                    return worker
            self.ray.kill(worker)
        return self._start(number, crowded=True)

    def close(self) -> None:
        """Let the workers go."""
        self.keep(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, references: list[Any]) -> list[Any]:
        failure = self.ray.exceptions
        try:
            return list(self.ray.get(references))
        except failure.RayTaskError as error:
            cause: Any = error
            while isinstance(cause, failure.RayTaskError) and cause.cause is not None:
                cause = cause.cause  # what it was to be given may have been lost with another worker
            if isinstance(cause, failure.RayError) and type(cause) not in (failure.RayError, failure.RayTaskError):
                raise _died(cause) from None
            reason = str(cause).strip().split("\n")[-1][:300]
            raise ClusterError(f"A worker failed ({reason}).") from None
        except failure.RayError as error:
            raise _died(error) from None


def _died(error: Exception) -> WorkerDied:
    return WorkerDied(
        f"A worker died ({type(error).__name__}); its part is lost with it. Call again, with more memory for each "
        "worker or more workers if it had too little."
    )
