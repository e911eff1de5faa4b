"""Workers that each hold a part of something, and exchange: on Ray, or within this process.

A crew calls methods of its workers by name. What goes in and comes out is bytes, texts and numbers.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from attnlab.cluster.connection import ONE_THREAD, ClusterError, Need, check_room, connect, look_everywhere

IN_FLIGHT = 4
"""Calls of `Crew.tell` that one worker may not have answered yet: so no text piles up on its way."""


class Crew(Protocol):
    """Workers by number."""

    size: int

    def tell(self, worker: int, method: str, *values: Any) -> None:
        """Call a method of one worker without waiting for it; what it answers is kept for `answers`."""
        ...

    def answers(self) -> list[Any]:
        """What all calls of `tell` since the last time answered."""
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


class HereCrew:
    """Workers within this process, one after the other."""

    def __init__(self, make: Callable[[int], Any], size: int) -> None:
        self.size = size
        self.workers = [make(number) for number in range(size)]
        self._answers: list[Any] = []

    def tell(self, worker: int, method: str, *values: Any) -> None:
        self._answers.append(getattr(self.workers[worker], method)(*values))

    def answers(self) -> list[Any]:
        told, self._answers = self._answers, []
        return told

    def ask(self, method: str, *values: Any, each: Sequence[Sequence[Any]] | None = None) -> list[Any]:
        own = each or [()] * self.size
        return [getattr(worker, method)(*values, *more) for worker, more in zip(self.workers, own, strict=True)]

    def exchange(self, out: str, into: str, *values: Any) -> list[Any]:
        made = self.ask(out, *values)
        return self.ask(into, each=[[part[number] for part in made] for number in range(self.size)])

    def keep(self, first: int) -> None:
        self.workers, self.size = self.workers[:first], first


class RayCrew:
    """Workers on a cluster, each an actor; what they exchange goes from one to the other, not through this process."""

    def __init__(self, kind: type, size: int | None, address: str | None = None, need: Need | None = None) -> None:
        need = need or Need()
        self.ray = connect(address, (size or os.cpu_count() or 1) * need.cpus)
        room = check_room(self.ray, need)
        size = size or room
        if size > room:
            raise ClusterError(f"{size} workers are asked for, and the cluster has room for {room}; ask for fewer.")
        look_everywhere(self.ray)
        remote = self.ray.remote(kind)
        how = {"num_cpus": need.cpus, "num_gpus": need.gpus, "runtime_env": ONE_THREAD, "scheduling_strategy": "SPREAD"}
        self.size = size
        self.workers = [remote.options(**how).remote(number) for number in range(size)]
        self._pending: list[list[Any]] = [[] for _ in range(size)]
        self._answers: list[Any] = []

    def tell(self, worker: int, method: str, *values: Any) -> None:
        pending = self._pending[worker]
        while len(pending) >= IN_FLIGHT:
            self._answers.append(self._get([pending.pop(0)])[0])
        pending.append(getattr(self.workers[worker], method).remote(*values))

    def answers(self) -> list[Any]:
        for pending in self._pending:
            self._answers += self._get(pending)
            pending.clear()
        told, self._answers = self._answers, []
        return told

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

    def close(self) -> None:
        """Let the workers go."""
        self.keep(0)

    def _get(self, references: list[Any]) -> list[Any]:
        failure = self.ray.exceptions
        try:
            return list(self.ray.get(references))
        except failure.RayTaskError as error:
            reason = str(error.cause or error).strip().split("\n")[-1][:300]
            raise ClusterError(f"A worker failed ({reason}).") from None
        except failure.RayError as error:
            raise ClusterError(
                f"A worker died ({type(error).__name__}); its part is lost with it. Call again, with more memory for "
                "each worker or more workers if it had too little."
            ) from None
